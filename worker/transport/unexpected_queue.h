/*
 * transport/unexpected_queue.h - what came before it was wanted
 *
 * A peer that is one call ahead is the rule, not the exception: memory of a
 * small message is kept for the next one, and so is the memory of the index.
 *
 * Private to transport/. Thread: the progress owner.
 */

#ifndef TRANSPORT_UNEXPECTED_QUEUE_H
#define TRANSPORT_UNEXPECTED_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "transport/flow.h"

struct early_grant;
struct fragment;
struct frame;
struct frame_tensor;
struct peer;
struct transport;
struct unexpected;

/*
 * The index of unexpected messages by operation number. A rank that only sends
 * may be thousands of calls ahead of this one, which asks for every call what
 * came early for it. One list of all messages would be searched each time.
 */

enum {
    UNEXPECTED_INDEX_LISTS = 256,
};

TAILQ_HEAD(unexpected_list, unexpected);

/* List i has the messages of all peers whose operation number is i modulo
 * UNEXPECTED_INDEX_LISTS. */
struct unexpected_index {
    struct unexpected_list lists[UNEXPECTED_INDEX_LISTS];
};

static inline size_t
unexpected_index_list_number(uint64_t op)
{
    return op % UNEXPECTED_INDEX_LISTS;
}

/* As transport_has_unexpected(). */
static inline bool
unexpected_index_may_have(const struct unexpected_index *unexpected_index,
                          uint64_t op)
{
    return !TAILQ_EMPTY(
        &unexpected_index->lists[unexpected_index_list_number(op)]);
}

/* unexpected must be a FLOW_COLLECTIVE. */
void
unexpected_index_add(struct unexpected_index *unexpected_index,
                     struct unexpected *unexpected);
void
unexpected_index_remove(struct unexpected_index *unexpected_index,
                        struct unexpected *unexpected);

/* Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
unexpected_queue_init(struct transport *transport);
/* Free everything. The queue must be empty. A zeroed transport is fine. */
void
unexpected_queue_deinit(struct transport *transport);

struct unexpected *
unexpected_queue_find(const struct transport *transport,
                      const struct flow_key *key);
/* Add a message with this key, which must be new to the queue, with room for
 * n_tensors, 0 or 1. All other fields are zero. Returns NULL if there is no
 * memory. */
struct unexpected *
unexpected_queue_add(struct transport *transport,
                     const struct flow_key *key,
                     unsigned n_tensors);
/* Remove unexpected and free it. Its parts must be freed already. */
void
unexpected_queue_remove(struct transport *transport,
                        struct unexpected *unexpected);

/* Returns a fragment with room for n_bytes, or NULL if there is no memory. */
struct fragment *
unexpected_fragment_alloc(struct transport *transport, size_t n_bytes);
/* Free fragment, which may be NULL. */
void
unexpected_fragment_free(struct transport *transport,
                         struct fragment *fragment);

/*
 * The unexpected messages of one peer, and its grants for steps that have not
 * begun here.
 */

/* Returns the unexpected message that frame belongs to, or NULL if there is
 * none. */
struct unexpected *
unexpected_find(struct peer *peer, const struct frame *frame);
/* Returns the unexpected message that frame belongs to, made if there is none.
 * NULL if memory or the limit of unexpected messages is exhausted. */
struct unexpected *
unexpected_add(struct peer *peer,
               const struct frame *frame,
               const struct frame_tensor *tensor);
void
unexpected_destroy(struct peer *peer, struct unexpected *unexpected);

/* Keep the grant in frame, whose send request is not open yet, until
 * early_grant_take() asks for it. Returns false if there is no room for it. */
bool
early_grant_add(struct peer *peer, const struct frame *frame);
/* Returns how many bytes the peer granted to flow before it was opened, and
 * forgets those grants. */
uint64_t
early_grant_take(struct peer *peer, const struct send_request *flow);
void
early_grant_destroy(struct peer *peer, struct early_grant *early_grant);

#endif
