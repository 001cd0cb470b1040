/* transport/unexpected_index.c - unexpected messages by operation number */

#include "transport/unexpected_index.h"

#include "transport/match.h"
#include "transport/peer.h"

static size_t
op_list_index(uint64_t op)
{
    return op % UNEXPECTED_INDEX_LISTS;
}

void
unexpected_index_init(struct unexpected_index *unexpected_index)
{
    for (size_t i = 0; i < UNEXPECTED_INDEX_LISTS; i++)
        TAILQ_INIT(&unexpected_index->lists[i]);
}

void
unexpected_index_add(struct unexpected_index *unexpected_index,
                     struct unexpected *unexpected)
{
    TAILQ_INSERT_TAIL(
        &unexpected_index->lists[op_list_index(unexpected->key.op)], unexpected,
        index_link);
}

void
unexpected_index_remove(struct unexpected_index *unexpected_index,
                        struct unexpected *unexpected)
{
    TAILQ_REMOVE(&unexpected_index->lists[op_list_index(unexpected->key.op)],
                 unexpected, index_link);
}

static bool
is_key_of_op(const struct flow_key *key, uint64_t comm, uint64_t op)
{
    return key->kind == FLOW_COLLECTIVE && key->comm == comm && key->op == op;
}

static void
peer_drop_early_grants(struct peer *peer, uint64_t comm, uint64_t op)
{
    struct early_grant *next;

    for (struct early_grant *at = TAILQ_FIRST(&peer->early_grants); at;
         at = next) {
        next = TAILQ_NEXT(at, link);
        if (is_key_of_op(&at->key, comm, op))
            match_early_grant_destroy(peer, at);
    }
}

bool
transport_has_unexpected(const struct transport *transport, uint64_t op)
{
    return !TAILQ_EMPTY(&transport->unexpected_index.lists[op_list_index(op)]);
}

bool
transport_find_unexpected(const struct transport *transport,
                          const struct transport_unexpected_filter *wanted,
                          uint32_t *out_peer,
                          struct frame *out_first)
{
    const struct unexpected_list *list =
        &transport->unexpected_index.lists[op_list_index(wanted->op)];
    const struct unexpected *unexpected;

    TAILQ_FOREACH(unexpected, list, index_link)
    {
        if (!is_key_of_op(&unexpected->key, wanted->comm, wanted->op) ||
            unexpected->key.step < wanted->step_first ||
            unexpected->key.step > wanted->step_last ||
            unexpected->first.signature == wanted->except)
            continue;
        *out_peer = unexpected->key.peer;
        *out_first = unexpected->first;
        return true;
    }
    return false;
}

void
transport_drop_early_grants(struct transport *transport,
                            uint64_t comm,
                            uint64_t op)
{
    struct peer *peer;

    if (transport->n_early_grants == 0)
        return;
    TAILQ_FOREACH(peer, &transport->known, known_link)
    peer_drop_early_grants(peer, comm, op);
}

void
transport_drop_op(struct transport *transport, uint64_t comm, uint64_t op)
{
    const struct unexpected_list *list =
        &transport->unexpected_index.lists[op_list_index(op)];
    struct unexpected *next;

    transport_drop_early_grants(transport, comm, op);
    for (struct unexpected *at = TAILQ_FIRST(list); at; at = next) {
        next = TAILQ_NEXT(at, index_link);
        if (is_key_of_op(&at->key, comm, op))
            match_unexpected_destroy(peer_get(transport, at->key.peer), at);
    }
}

void
transport_drop_unwanted(struct transport *transport,
                        bool (*wants)(void *owner, uint64_t comm))
{
    struct peer *peer;

    TAILQ_FOREACH(peer, &transport->known, known_link)
    match_drop_unwanted(peer, wants);
}
