/*
 * transport/unexpected_queue.h - where what comes before it is wanted is kept
 *
 * A peer that is a call ahead is the rule, not the exception: the memory of a
 * small arrival is kept for the next one, and so is the index's.
 */

#ifndef TRANSPORT_UNEXPECTED_QUEUE_H
#define TRANSPORT_UNEXPECTED_QUEUE_H

#include "transport/peer.h"

/* Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
unexpected_queue_init(struct transport *transport);
/* Nothing is kept any more. Zeroed memory is fine. */
void
unexpected_queue_deinit(struct transport *transport);

struct unexpected *
unexpected_queue_find(const struct transport *transport,
                      const struct flow_key *key);
/* Zeroed but for its key, with room for n_tensors, indexed; NULL: no memory.
 * There is none of that key. */
struct unexpected *
unexpected_queue_add(struct transport *transport,
                     const struct flow_key *key,
                     unsigned n_tensors);
/* Its parts are gone. */
void
unexpected_queue_remove(struct transport *transport,
                        struct unexpected *unexpected);

/* With room for n_bytes; NULL: no memory. */
struct fragment *
unexpected_fragment_alloc(struct transport *transport, size_t n_bytes);
/* NULL is fine. */
void
unexpected_fragment_free(struct transport *transport,
                         struct fragment *fragment);

#endif
