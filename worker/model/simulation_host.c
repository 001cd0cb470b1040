/*
 * model/simulation_host.c - processors and networks, and how long they are busy
 */

#include "model/simulation_host.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"

/*
 * Messages in transit, and steps that wait.
 *
 * A hash table with chains. An address has either messages that were posted
 * or steps that wait, never both.
 */

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

struct simulation_node {
    bool is_oversubscribed; /* it has more ranks than processors */
    struct simulation_busy_until processors;
    struct simulation_busy_until outgoing;
    struct simulation_busy_until incoming;
    /* 1 + the node that sent the last large message; 0: none has. */
    uint32_t last_sender;
};

enum {
    /* About what a switch buffers per port without loss. */
    CONTENDING_MESSAGE_BYTES = 256 * 1024,
};

/*
 * A node that receives from one node and then from another receives from both
 * for a while: their messages meet at its port, which has no room for both, and
 * are sent again. Messages then take longer by this factor. Measured were 1.2
 * to 1.5; there is no such effect if all messages come from one node.
 */
static const double NIC_CONTENTION_FACTOR = 1.25;

static double
larger(double one, double other)
{
    return one > other ? one : other;
}

/* Returns the time when the work ends. A message of one piece overtakes larger
 * flows, which move one piece at a time and may still be waiting for their
 * bytes. */
static double
busy_until_add_work(struct simulation_busy_until *queue,
                    const struct simulation_flow *flow,
                    double begin_ns,
                    double work_ns)
{
    queue->all_ns = larger(queue->all_ns, begin_ns) + work_ns;
    if (simulation_flow_piece_bytes(flow) < flow->bytes)
        return queue->all_ns;
    queue->pieces_ns = larger(queue->pieces_ns, begin_ns) + work_ns;
    return queue->pieces_ns;
}

/* Makes all later work wait ns longer. */
static void
busy_until_delay(struct simulation_busy_until *queue, double ns)
{
    queue->all_ns += ns;
    queue->pieces_ns += ns;
}

/* The factor by which a message from that node takes longer at this node's
 * port. */
static double
contention_factor(struct simulation_node *node,
                  uint32_t from,
                  const struct simulation_flow *flow)
{
    const uint32_t last_sender = node->last_sender;

    if (flow->bytes < CONTENDING_MESSAGE_BYTES)
        return 1;
    node->last_sender = from + 1;
    return last_sender == 0 || last_sender == node->last_sender
               ? 1
               : NIC_CONTENTION_FACTOR;
}

enum hoop_status
simulation_hosts_init(struct simulation_hosts *hosts,
                      const struct simulation_machine *machine,
                      const struct simulation_mapping *mapping)
{
    assert(machine->n_processors > 0);

    *hosts = (struct simulation_hosts){
        .machine = machine,
        .mapping = mapping,
        .threads = calloc(mapping->n_vranks, sizeof(*hosts->threads)),
        .nodes = calloc(mapping->n_nodes, sizeof(*hosts->nodes)),
    };
    if (!hosts->threads || !hosts->nodes) {
        simulation_hosts_deinit(hosts);
        return error_raise(HOOP_E_EXHAUSTED, "no memory to simulate %u ranks",
                           mapping->n_vranks);
    }
    for (uint32_t vrank = 0; vrank < mapping->n_vranks; vrank++)
        hosts->nodes[simulation_mapping_node_of(mapping, vrank)]
            .is_oversubscribed = simulation_mapping_node_size(mapping, vrank) >
                                 machine->n_processors;
    return HOOP_OK;
}

void
simulation_hosts_deinit(struct simulation_hosts *hosts)
{
    free(hosts->threads);
    free(hosts->nodes);
    *hosts = (struct simulation_hosts){0};
}

void
simulation_hosts_add_work(struct simulation_hosts *hosts,
                          uint32_t vrank,
                          struct simulation_flow *flow)
{
    struct simulation_node *node =
        &hosts->nodes[simulation_mapping_node_of(hosts->mapping, vrank)];
    const double work_ns = simulation_flow_processor_ns(flow);
    /* All ranks that the virtual rank stands for do the same at this time. */
    const double share = (double)hosts->mapping->n_represented_ranks /
                         (double)hosts->machine->n_processors;
    const bool is_woken = node->is_oversubscribed && flow->is_arrival &&
                          hosts->threads[vrank].all_ns < flow->start_ns;
    const double thread_ns = busy_until_add_work(&hosts->threads[vrank], flow,
                                                 flow->start_ns, work_ns);
    const double processors_ns = busy_until_add_work(
        &node->processors, flow, flow->start_ns, work_ns * share);

    flow->end_ns = larger(flow->end_ns, larger(thread_ns, processors_ns));
    if (is_woken)
        busy_until_delay(&node->processors, hosts->machine->wait_ns * share);
}

struct simulation_arrival_times
simulation_hosts_transmit(struct simulation_hosts *hosts,
                          uint32_t vrank,
                          uint32_t peer,
                          const struct simulation_flow *flow)
{
    const struct simulation_machine *machine = hosts->machine;
    const double out_ns = simulation_flow_first_piece_ns(flow);
    const double piece = simulation_flow_piece_bytes(flow);

    if (!simulation_mapping_crosses_nodes(hosts->mapping, vrank, peer)) {
        const double link_ns = machine->link_inside_ns;
        const double latency_ns = machine->latency_inside_ns;

        return (struct simulation_arrival_times){
            .first_ns = out_ns + piece * link_ns + latency_ns,
            .last_ns = larger(out_ns + flow->bytes * link_ns,
                              flow->end_ns + piece * link_ns) +
                       latency_ns,
        };
    }

    const double link_ns = machine->link_between_ns;
    const double latency_ns = machine->latency_between_ns;
    const uint32_t peer_vrank =
        simulation_mapping_vrank_of(hosts->mapping, peer);
    struct simulation_node *here =
        &hosts->nodes[simulation_mapping_node_of(hosts->mapping, vrank)];
    struct simulation_node *there =
        &hosts->nodes[simulation_mapping_node_of(hosts->mapping, peer_vrank)];
    const double sent_ns = busy_until_add_work(&here->outgoing, flow, out_ns,
                                               flow->bytes * link_ns);
    const double contention = contention_factor(
        there, simulation_mapping_node_of(hosts->mapping, vrank), flow);
    const double taken_ns =
        busy_until_add_work(&there->incoming, flow, out_ns + latency_ns,
                            flow->bytes * link_ns * contention);
    const double last_ns = larger(
        larger(sent_ns, flow->end_ns + piece * link_ns) + latency_ns, taken_ns);

    return (struct simulation_arrival_times){
        .first_ns = out_ns + piece * link_ns + latency_ns,
        .last_ns = last_ns,
    };
}
