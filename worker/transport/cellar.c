/*
 * transport/cellar.c - where what comes before it is wanted is kept
 *
 * One index for all peers, which is never empty: uthash gives its table back
 * with the last entry, and would make a new one for every frame that comes
 * early and alone.
 */

/* Keys come from peers that have proved themselves; two multiplications do. */
#define HASH_FUNCTION(key, n_bytes, hash)                                      \
    ((hash) = (unsigned)key_hash((const void *)(key)))

#include "transport/cellar.h"

#include <stdlib.h>

#include "base/error.h"

enum {
    /* What a few small peers are ahead by. */
    SPARES_MAX = 64,
    SPARE_BYTES = 1024,
};

static uint64_t
key_hash(const struct flow_key *key)
{
    const uint64_t place = (uint64_t)key->step << 32 | key->peer;
    uint64_t hash = (key->op + key->comm) * 0x9e3779b97f4a7c15u;

    hash = (hash ^ (hash >> 32) ^ place) * 0xd6e8feb86659fd93u;
    return hash >> 32;
}

static bool
index_add(struct transport *transport, struct arrival *arrival)
{
    HASH_ADD(hh, transport->cellar_index, key, sizeof(arrival->key), arrival);
    return arrival->hh.tbl != NULL;
}

enum hoop_status
cellar_init(struct transport *transport)
{
    struct arrival *anchor = calloc(1, sizeof(*anchor));

    early_init(&transport->early);
    TAILQ_INIT(&transport->spare_arrivals);
    TAILQ_INIT(&transport->spare_stashes);
    if (anchor) {
        /* No other key has that. */
        anchor->key.unused = 1;
        transport->cellar_anchor = anchor;
        if (index_add(transport, anchor))
            return HOOP_OK;
    }
    return error_raise(HOOP_E_EXHAUSTED, "no memory for what comes early");
}

void
cellar_deinit(struct transport *transport)
{
    struct arrival *arrival;
    struct stash *stash;

    HASH_CLEAR(hh, transport->cellar_index);
    free(transport->cellar_anchor);
    transport->cellar_anchor = NULL;
    while ((arrival = transport->spare_arrivals.tqh_first)) {
        TAILQ_REMOVE(&transport->spare_arrivals, arrival, link);
        free(arrival);
    }
    while ((stash = transport->spare_stashes.tqh_first)) {
        TAILQ_REMOVE(&transport->spare_stashes, stash, link);
        free(stash);
    }
}

struct arrival *
cellar_find(const struct transport *transport, const struct flow_key *key)
{
    struct arrival *arrival;

    if (HASH_COUNT(transport->cellar_index) == 1)
        return NULL;
    HASH_FIND(hh, transport->cellar_index, key, sizeof(*key), arrival);
    return arrival;
}

static struct arrival *
arrival_take(struct transport *transport, unsigned n_tensors)
{
    struct arrival *arrival = TAILQ_FIRST(&transport->spare_arrivals);

    if (!arrival || n_tensors > 0)
        return calloc(1, sizeof(*arrival) +
                             n_tensors * sizeof(arrival->tensors[0]));
    TAILQ_REMOVE(&transport->spare_arrivals, arrival, link);
    transport->n_spare_arrivals--;
    *arrival = (struct arrival){0};
    return arrival;
}

static void
arrival_give(struct transport *transport, struct arrival *arrival)
{
    if (arrival->n_tensors > 0 || transport->n_spare_arrivals == SPARES_MAX) {
        free(arrival);
        return;
    }
    TAILQ_INSERT_HEAD(&transport->spare_arrivals, arrival, link);
    transport->n_spare_arrivals++;
}

struct arrival *
cellar_add(struct transport *transport,
           const struct flow_key *key,
           unsigned n_tensors)
{
    struct arrival *arrival = arrival_take(transport, n_tensors);

    if (!arrival)
        return NULL;
    arrival->key = *key;
    arrival->n_tensors = n_tensors;
    TAILQ_INIT(&arrival->parts);
    if (!index_add(transport, arrival)) {
        arrival_give(transport, arrival);
        return NULL;
    }
    return arrival;
}

void
cellar_remove(struct transport *transport, struct arrival *arrival)
{
    HASH_DELETE(hh, transport->cellar_index, arrival);
    arrival_give(transport, arrival);
}

struct stash *
cellar_stash_take(struct transport *transport, size_t n_bytes)
{
    struct stash *stash = TAILQ_FIRST(&transport->spare_stashes);
    const size_t n_room = n_bytes < SPARE_BYTES ? SPARE_BYTES : n_bytes;

    if (stash && n_room == SPARE_BYTES) {
        TAILQ_REMOVE(&transport->spare_stashes, stash, link);
        transport->n_spare_stashes--;
        return stash;
    }
    stash = malloc(sizeof(*stash) + n_room);
    if (stash)
        stash->n_room = n_room;
    return stash;
}

void
cellar_stash_give(struct transport *transport, struct stash *stash)
{
    if (!stash)
        return;
    if (stash->n_room > SPARE_BYTES ||
        transport->n_spare_stashes == SPARES_MAX) {
        free(stash);
        return;
    }
    TAILQ_INSERT_HEAD(&transport->spare_stashes, stash, link);
    transport->n_spare_stashes++;
}
