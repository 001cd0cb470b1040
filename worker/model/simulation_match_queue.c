/*
 * model/simulation_match_queue.c - messages in transit, and steps that wait
 *
 * A hash table with chains. An address has either messages that were posted or
 * steps that wait, never both.
 */

#include "model/simulation_match_queue.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"

enum {
    MATCH_QUEUE_CAPACITY_MIN = 256
};

static const uint32_t MATCH_QUEUE_END = UINT32_MAX; /* ends a chain */

struct simulation_match_entry {
    struct simulation_message_address address;
    struct simulation_arrival_times arrival;
    uint32_t step; /* SIMULATION_NO_STEP: the entry is a posted message */
    uint32_t next;
};

void
simulation_match_queue_deinit(struct simulation_match_queue *match_queue)
{
    free(match_queue->entries);
    free(match_queue->buckets);
    *match_queue = (struct simulation_match_queue){0};
}

static bool
address_is_same(const struct simulation_message_address *one,
                const struct simulation_message_address *other)
{
    return one->from == other->from && one->to == other->to &&
           one->message == other->message && one->crosses == other->crosses;
}

static uint32_t *
address_bucket(const struct simulation_match_queue *match_queue,
               const struct simulation_message_address *address)
{
    uint64_t hash = ((uint64_t)address->from << 32 | address->to) +
                    address->message * UINT64_C(0x9e3779b97f4a7c15) +
                    (uint64_t)address->crosses * UINT64_C(0xc2b2ae3d27d4eb4f);

    hash = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return &match_queue->buckets[(hash >> 32) & (match_queue->n_buckets - 1)];
}

static void
bucket_chain_append(struct simulation_match_queue *match_queue, uint32_t entry)
{
    uint32_t *at =
        address_bucket(match_queue, &match_queue->entries[entry].address);

    while (*at != MATCH_QUEUE_END)
        at = &match_queue->entries[*at].next;
    match_queue->entries[entry].next = MATCH_QUEUE_END;
    *at = entry;
}

/* Chains keep the order of their entries. */
static enum hoop_status
match_queue_grow(struct simulation_match_queue *match_queue)
{
    const uint32_t n_old = match_queue->n_buckets;
    const uint32_t capacity = match_queue->capacity ? 2 * match_queue->capacity
                                                    : MATCH_QUEUE_CAPACITY_MIN;
    uint32_t *const old = match_queue->buckets;
    uint32_t *buckets = calloc(capacity, sizeof(*buckets));
    struct simulation_match_entry *entries =
        reallocarray(match_queue->entries, capacity, sizeof(*entries));

    if (entries)
        match_queue->entries = entries;
    if (!entries || !buckets) {
        free(buckets);
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to simulate %u messages at once",
                           capacity);
    }
    match_queue->capacity = capacity;
    match_queue->buckets = buckets;
    match_queue->n_buckets = capacity;
    for (uint32_t i = 0; i < capacity; i++)
        buckets[i] = MATCH_QUEUE_END;
    for (uint32_t i = 0; i < n_old; i++) {
        uint32_t next;

        for (uint32_t entry = old[i]; entry != MATCH_QUEUE_END; entry = next) {
            next = match_queue->entries[entry].next;
            bucket_chain_append(match_queue, entry);
        }
    }
    free(old);
    return HOOP_OK;
}

static enum hoop_status
match_entry_add(struct simulation_match_queue *match_queue,
                const struct simulation_match_entry *entry)
{
    if (match_queue->n_entries == match_queue->n_used &&
        match_queue->n_used == match_queue->capacity) {
        const enum hoop_status status = match_queue_grow(match_queue);
        if (status != HOOP_OK)
            return error_pass(status);
    }

    uint32_t place = match_queue->n_used;

    if (match_queue->n_entries < match_queue->n_used) {
        place = match_queue->spare;
        match_queue->spare = match_queue->entries[place].next;
    } else {
        match_queue->n_used++;
    }
    match_queue->n_entries++;
    match_queue->entries[place] = *entry;
    bucket_chain_append(match_queue, place);
    return HOOP_OK;
}

/* at points to the link that refers to the entry. */
static struct simulation_match_entry
match_entry_remove(struct simulation_match_queue *match_queue, uint32_t *at)
{
    const uint32_t place = *at;
    const struct simulation_match_entry entry = match_queue->entries[place];

    *at = entry.next;
    match_queue->entries[place].next = match_queue->spare;
    match_queue->spare = place;
    match_queue->n_entries--;
    return entry;
}

/* The link to the first entry of an address; NULL if there is none. */
static uint32_t *
match_entry_find(struct simulation_match_queue *match_queue,
                 const struct simulation_message_address *address)
{
    if (match_queue->n_entries == 0)
        return NULL;
    for (uint32_t *at = address_bucket(match_queue, address);
         *at != MATCH_QUEUE_END; at = &match_queue->entries[*at].next)
        if (address_is_same(&match_queue->entries[*at].address, address))
            return at;
    return NULL;
}

enum hoop_status
simulation_match_queue_post(struct simulation_match_queue *match_queue,
                            const struct simulation_message_address *address,
                            const struct simulation_arrival_times *arrival,
                            uint32_t *out_step)
{
    uint32_t *at = match_entry_find(match_queue, address);

    if (at && match_queue->entries[*at].step != SIMULATION_NO_STEP) {
        *out_step = match_entry_remove(match_queue, at).step;
        return HOOP_OK;
    }

    const enum hoop_status status =
        match_entry_add(match_queue, &(struct simulation_match_entry){
                                         .address = *address,
                                         .arrival = *arrival,
                                         .step = SIMULATION_NO_STEP,
                                     });
    if (status != HOOP_OK)
        return error_pass(status);
    *out_step = SIMULATION_NO_STEP;
    return HOOP_OK;
}

enum hoop_status
simulation_match_queue_await(struct simulation_match_queue *match_queue,
                             const struct simulation_message_address *address,
                             uint32_t step,
                             struct simulation_arrival_times *out_arrival,
                             bool *out_is_here)
{
    uint32_t *at = match_entry_find(match_queue, address);

    assert(step != SIMULATION_NO_STEP);
    if (at && match_queue->entries[*at].step == SIMULATION_NO_STEP) {
        *out_arrival = match_entry_remove(match_queue, at).arrival;
        *out_is_here = true;
        return HOOP_OK;
    }

    const enum hoop_status status =
        match_entry_add(match_queue, &(struct simulation_match_entry){
                                         .address = *address,
                                         .step = step,
                                     });
    if (status != HOOP_OK)
        return error_pass(status);
    *out_is_here = false;
    return HOOP_OK;
}

uint32_t
simulation_match_queue_pop_waiter(struct simulation_match_queue *match_queue)
{
    for (uint32_t i = 0;
         match_queue->n_entries > 0 && i < match_queue->n_buckets; i++) {
        const uint32_t bucket =
            (match_queue->sweep + i) & (match_queue->n_buckets - 1);

        for (uint32_t *at = &match_queue->buckets[bucket];
             *at != MATCH_QUEUE_END; at = &match_queue->entries[*at].next) {
            if (match_queue->entries[*at].step == SIMULATION_NO_STEP)
                continue;
            match_queue->sweep = bucket;
            return match_entry_remove(match_queue, at).step;
        }
    }
    return SIMULATION_NO_STEP;
}
