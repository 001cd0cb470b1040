/* transport/early.c - what came before it was wanted: found, and forgotten */

#include "transport/early.h"

#include "transport/match.h"
#include "transport/peer.h"

static size_t
list_of(uint64_t op)
{
    return op % EARLY_LISTS;
}

void
early_init(struct early *early)
{
    for (size_t i = 0; i < EARLY_LISTS; i++)
        TAILQ_INIT(&early->lists[i]);
}

void
early_add(struct early *early, struct arrival *arrival)
{
    TAILQ_INSERT_TAIL(&early->lists[list_of(arrival->key.op)], arrival,
                      early_link);
}

void
early_remove(struct early *early, struct arrival *arrival)
{
    TAILQ_REMOVE(&early->lists[list_of(arrival->key.op)], arrival, early_link);
}

static bool
is_of(const struct flow_key *key, uint64_t comm, uint64_t op)
{
    return key->kind == FLOW_COLLECTIVE && key->comm == comm && key->op == op;
}

static void
peer_forget_grants(struct peer *peer, uint64_t comm, uint64_t op)
{
    struct promise *next;

    for (struct promise *at = TAILQ_FIRST(&peer->promises); at; at = next) {
        next = TAILQ_NEXT(at, link);
        if (is_of(&at->key, comm, op))
            match_promise_destroy(peer, at);
    }
}

bool
transport_has_early(const struct transport *transport, uint64_t op)
{
    return !TAILQ_EMPTY(&transport->early.lists[list_of(op)]);
}

bool
transport_find_early(const struct transport *transport,
                     const struct transport_early *wanted,
                     uint32_t *out_peer,
                     struct frame *out_first)
{
    const struct arrival_list *list =
        &transport->early.lists[list_of(wanted->op)];
    const struct arrival *arrival;

    TAILQ_FOREACH(arrival, list, early_link)
    {
        if (!is_of(&arrival->key, wanted->comm, wanted->op) ||
            arrival->key.step < wanted->step_first ||
            arrival->key.step > wanted->step_last ||
            arrival->first.signature == wanted->except)
            continue;
        *out_peer = arrival->key.peer;
        *out_first = arrival->first;
        return true;
    }
    return false;
}

void
transport_forget_grants(struct transport *transport, uint64_t comm, uint64_t op)
{
    struct peer *peer;

    if (transport->n_promises == 0)
        return;
    TAILQ_FOREACH(peer, &transport->known, known_link)
    peer_forget_grants(peer, comm, op);
}

void
transport_forget(struct transport *transport, uint64_t comm, uint64_t op)
{
    const struct arrival_list *list = &transport->early.lists[list_of(op)];
    struct arrival *next;

    transport_forget_grants(transport, comm, op);
    for (struct arrival *at = TAILQ_FIRST(list); at; at = next) {
        next = TAILQ_NEXT(at, early_link);
        if (is_of(&at->key, comm, op))
            match_arrival_destroy(peer_at(transport, at->key.peer), at);
    }
}

void
transport_sweep(struct transport *transport,
                bool (*wants)(void *owner, uint64_t comm))
{
    struct peer *peer;

    TAILQ_FOREACH(peer, &transport->known, known_link)
    match_sweep(peer, wants);
}
