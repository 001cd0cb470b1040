/*
 * transport/unexpected_queue.c - what came before it was wanted
 *
 * One hash table serves all peers. An anchor entry keeps it from ever being
 * empty: uthash frees its table with the last entry, and would allocate a new
 * one for every frame that comes early and alone.
 */

/* Keys come only from authenticated peers, so two multiplications suffice. */
#define HASH_FUNCTION(key, n_bytes, hash)                                      \
    ((hash) = (unsigned)key_hash((const void *)(key)))

#include "transport/unexpected_queue.h"

#include <stdlib.h>

#include "base/error.h"
#include "transport/peer.h"

/* The index of unexpected messages by operation number. */

static void
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
        &unexpected_index
             ->lists[unexpected_index_list_number(unexpected->key.op)],
        unexpected, index_link);
}

void
unexpected_index_remove(struct unexpected_index *unexpected_index,
                        struct unexpected *unexpected)
{
    TAILQ_REMOVE(&unexpected_index
                      ->lists[unexpected_index_list_number(unexpected->key.op)],
                 unexpected, index_link);
}

static bool
is_flow_key_of_op(const struct flow_key *key, uint64_t comm, uint64_t op)
{
    return key->kind == FLOW_COLLECTIVE && key->comm == comm && key->op == op;
}

static void
peer_drop_early_grants(struct peer *peer, uint64_t comm, uint64_t op)
{
    struct early_grant *next;

    for (struct early_grant *at = TAILQ_FIRST(&peer->send.early_grants); at;
         at = next) {
        next = TAILQ_NEXT(at, link);
        if (is_flow_key_of_op(&at->key, comm, op))
            early_grant_destroy(peer, at);
    }
}

bool
transport_has_unexpected(const struct transport *transport, uint64_t op)
{
    return unexpected_index_may_have(&transport->unexpected_index, op);
}

bool
transport_find_unexpected(const struct transport *transport,
                          const struct transport_unexpected_filter *wanted,
                          uint32_t *out_peer,
                          struct frame *out_first)
{
    const struct unexpected_list *list =
        &transport->unexpected_index
             .lists[unexpected_index_list_number(wanted->op)];
    const struct unexpected *unexpected;

    TAILQ_FOREACH(unexpected, list, index_link)
    {
        if (!is_flow_key_of_op(&unexpected->key, wanted->comm, wanted->op) ||
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
transport_drop_op_unexpected(struct transport *transport,
                             uint64_t comm,
                             uint64_t op)
{
    const struct unexpected_list *list =
        &transport->unexpected_index.lists[unexpected_index_list_number(op)];
    struct unexpected *next;

    transport_drop_early_grants(transport, comm, op);
    for (struct unexpected *at = TAILQ_FIRST(list); at; at = next) {
        next = TAILQ_NEXT(at, index_link);
        if (is_flow_key_of_op(&at->key, comm, op))
            unexpected_destroy(peer_get_or_init(transport, at->key.peer), at);
    }
}

static void
peer_drop_unwanted_comms(struct peer *peer,
                         bool (*wants)(void *owner, uint64_t comm))
{
    void *owner = peer->transport->owner;
    struct unexpected *unexpected_next;
    struct early_grant *early_grant_next;

    for (struct unexpected *unexpected =
             TAILQ_FIRST(&peer->receive.unexpected_messages);
         unexpected; unexpected = unexpected_next) {
        unexpected_next = TAILQ_NEXT(unexpected, link);
        if (!unexpected->is_claimed && !wants(owner, unexpected->key.comm))
            unexpected_destroy(peer, unexpected);
    }
    for (struct early_grant *early_grant =
             TAILQ_FIRST(&peer->send.early_grants);
         early_grant; early_grant = early_grant_next) {
        early_grant_next = TAILQ_NEXT(early_grant, link);
        if (!wants(owner, early_grant->key.comm))
            early_grant_destroy(peer, early_grant);
    }
}

void
transport_drop_unwanted_comms(struct transport *transport,
                              bool (*wants)(void *owner, uint64_t comm))
{
    struct peer *peer;

    TAILQ_FOREACH(peer, &transport->known, known_link)
    peer_drop_unwanted_comms(peer, wants);
}

/* The table of unexpected messages by key, and memory kept for more. */

enum {
    /* as much as a few small peers are ahead by */
    FREE_LIST_MAX = 64,
    SMALL_FRAGMENT_BYTES = 1024,
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
unexpected_table_add(struct transport *transport, struct unexpected *unexpected)
{
    HASH_ADD(hh, transport->unexpected_by_key, key, sizeof(unexpected->key),
             unexpected);
    return unexpected->hh.tbl != NULL;
}

enum hoop_status
unexpected_queue_init(struct transport *transport)
{
    struct unexpected *anchor = calloc(1, sizeof(*anchor));

    unexpected_index_init(&transport->unexpected_index);
    TAILQ_INIT(&transport->free_unexpected);
    TAILQ_INIT(&transport->free_fragments);
    if (anchor) {
        /* No other key has this value. */
        anchor->key.unused = 1;
        transport->unexpected_table_anchor = anchor;
        if (unexpected_table_add(transport, anchor))
            return HOOP_OK;
    }
    return error_raise(HOOP_E_EXHAUSTED, "no memory for unexpected messages");
}

void
unexpected_queue_deinit(struct transport *transport)
{
    struct unexpected *unexpected;
    struct fragment *fragment;

    HASH_CLEAR(hh, transport->unexpected_by_key);
    free(transport->unexpected_table_anchor);
    transport->unexpected_table_anchor = NULL;
    while ((unexpected = transport->free_unexpected.tqh_first)) {
        TAILQ_REMOVE(&transport->free_unexpected, unexpected, link);
        free(unexpected);
    }
    while ((fragment = transport->free_fragments.tqh_first)) {
        TAILQ_REMOVE(&transport->free_fragments, fragment, link);
        free(fragment);
    }
}

struct unexpected *
unexpected_queue_find(const struct transport *transport,
                      const struct flow_key *key)
{
    struct unexpected *unexpected;

    if (HASH_COUNT(transport->unexpected_by_key) == 1)
        return NULL;
    HASH_FIND(hh, transport->unexpected_by_key, key, sizeof(*key), unexpected);
    return unexpected;
}

static struct unexpected *
unexpected_alloc(struct transport *transport, unsigned n_tensors)
{
    struct unexpected *unexpected = TAILQ_FIRST(&transport->free_unexpected);

    if (!unexpected || n_tensors > 0)
        return calloc(1, sizeof(*unexpected) +
                             n_tensors * sizeof(unexpected->tensors[0]));
    TAILQ_REMOVE(&transport->free_unexpected, unexpected, link);
    transport->n_free_unexpected--;
    *unexpected = (struct unexpected){0};
    return unexpected;
}

static void
unexpected_free(struct transport *transport, struct unexpected *unexpected)
{
    if (unexpected->n_tensors > 0 ||
        transport->n_free_unexpected == FREE_LIST_MAX) {
        free(unexpected);
        return;
    }
    TAILQ_INSERT_HEAD(&transport->free_unexpected, unexpected, link);
    transport->n_free_unexpected++;
}

struct unexpected *
unexpected_queue_add(struct transport *transport,
                     const struct flow_key *key,
                     unsigned n_tensors)
{
    struct unexpected *unexpected = unexpected_alloc(transport, n_tensors);

    if (!unexpected)
        return NULL;
    unexpected->key = *key;
    unexpected->n_tensors = n_tensors;
    TAILQ_INIT(&unexpected->parts);
    if (!unexpected_table_add(transport, unexpected)) {
        unexpected_free(transport, unexpected);
        return NULL;
    }
    return unexpected;
}

void
unexpected_queue_remove(struct transport *transport,
                        struct unexpected *unexpected)
{
    HASH_DELETE(hh, transport->unexpected_by_key, unexpected);
    unexpected_free(transport, unexpected);
}

struct fragment *
unexpected_fragment_alloc(struct transport *transport, size_t n_bytes)
{
    struct fragment *fragment = TAILQ_FIRST(&transport->free_fragments);
    const size_t n_room =
        n_bytes < SMALL_FRAGMENT_BYTES ? SMALL_FRAGMENT_BYTES : n_bytes;

    if (fragment && n_room == SMALL_FRAGMENT_BYTES) {
        TAILQ_REMOVE(&transport->free_fragments, fragment, link);
        transport->n_free_fragments--;
        return fragment;
    }
    fragment = malloc(sizeof(*fragment) + n_room);
    if (fragment)
        fragment->n_room = n_room;
    return fragment;
}

void
unexpected_fragment_free(struct transport *transport, struct fragment *fragment)
{
    if (!fragment)
        return;
    if (fragment->n_room > SMALL_FRAGMENT_BYTES ||
        transport->n_free_fragments == FREE_LIST_MAX) {
        free(fragment);
        return;
    }
    TAILQ_INSERT_HEAD(&transport->free_fragments, fragment, link);
    transport->n_free_fragments++;
}

/* The unexpected messages of one peer, and its early grants. */

struct unexpected *
unexpected_find(struct peer *peer, const struct frame *frame)
{
    const struct flow_key key = flow_key_of_frame(frame, peer->rank);

    return unexpected_queue_find(peer->transport, &key);
}

struct unexpected *
unexpected_add(struct peer *peer,
               const struct frame *frame,
               const struct frame_tensor *tensor)
{
    const struct flow_key key = flow_key_of_frame(frame, peer->rank);
    struct unexpected *unexpected =
        unexpected_queue_find(peer->transport, &key);

    if (unexpected)
        return unexpected;
    if (peer->receive.n_unexpected_messages >= LIMIT_UNEXPECTED)
        return NULL;
    unexpected = unexpected_queue_add(peer->transport, &key, tensor ? 1 : 0);
    if (!unexpected)
        return NULL;
    if (tensor)
        unexpected->tensors[0] = *tensor;
    unexpected->first = *frame;
    unexpected->sequence = peer->transport->unexpected_next++;
    TAILQ_INSERT_TAIL(&peer->receive.unexpected_messages, unexpected, link);
    peer->receive.n_unexpected_messages++;
    if (unexpected->key.kind == FLOW_COLLECTIVE)
        unexpected_index_add(&peer->transport->unexpected_index, unexpected);
    return unexpected;
}

void
unexpected_destroy(struct peer *peer, struct unexpected *unexpected)
{
    struct receive_half *receive = &peer->receive;
    struct fragment *part;

    if (receive->is_reading_payload && receive->unexpected == unexpected) {
        receive->unexpected = NULL;
        receive->target = READ_INTO_DISCARD_BUFFER;
        receive->n_unexpected_bytes -=
            eager_window_frame_cost(receive->fragment->frame.stored);
        unexpected_fragment_free(peer->transport, receive->fragment);
        receive->fragment = NULL;
    }
    while ((part = TAILQ_FIRST(&unexpected->parts))) {
        TAILQ_REMOVE(&unexpected->parts, part, link);
        receive->n_unexpected_bytes -=
            eager_window_frame_cost(part->frame.stored);
        peer_return_credit(peer, &part->frame);
        unexpected_fragment_free(peer->transport, part);
    }
    TAILQ_REMOVE(&receive->unexpected_messages, unexpected, link);
    receive->n_unexpected_messages--;
    if (unexpected->key.kind == FLOW_COLLECTIVE)
        unexpected_index_remove(&peer->transport->unexpected_index, unexpected);
    unexpected_queue_remove(peer->transport, unexpected);
}

bool
early_grant_add(struct peer *peer, const struct frame *frame)
{
    struct early_grant *early_grant = NULL;

    if (peer->send.n_early_grants < LIMIT_UNEXPECTED)
        early_grant = calloc(1, sizeof(*early_grant));
    if (!early_grant)
        return false;
    early_grant->key = flow_key_of_frame(frame, peer->rank);
    early_grant->granted = frame->offset;
    TAILQ_INSERT_TAIL(&peer->send.early_grants, early_grant, link);
    peer->send.n_early_grants++;
    peer->transport->n_early_grants++;
    return true;
}

void
early_grant_destroy(struct peer *peer, struct early_grant *early_grant)
{
    TAILQ_REMOVE(&peer->send.early_grants, early_grant, link);
    peer->send.n_early_grants--;
    peer->transport->n_early_grants--;
    free(early_grant);
}

uint64_t
early_grant_take(struct peer *peer, const struct send_request *flow)
{
    struct early_grant *next;
    uint64_t granted = 0;

    for (struct early_grant *at = TAILQ_FIRST(&peer->send.early_grants); at;
         at = next) {
        next = TAILQ_NEXT(at, link);
        if (!flow_key_equal(&at->key, &flow->key))
            continue;
        if (at->granted > granted)
            granted = at->granted;
        early_grant_destroy(peer, at);
    }
    return granted;
}
