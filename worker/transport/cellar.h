/*
 * transport/shelf.h - where what comes before it is wanted is kept
 *
 * A peer that is a call ahead is the rule, not the exception: the memory of a
 * small arrival is kept for the next one, and so is the index's.
 */

#ifndef TRANSPORT_SHELF_H
#define TRANSPORT_SHELF_H

#include "transport/peer.h"

/* Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
shelf_init(struct transport *transport);
/* Nothing is kept any more. Zeroed memory is fine. */
void
shelf_deinit(struct transport *transport);

struct arrival *
shelf_find(const struct transport *transport, const struct flow_key *key);
/* Zeroed but for its key, with room for n_tensors, indexed; NULL: no memory.
 * There is none of that key. */
struct arrival *
shelf_add(struct transport *transport,
          const struct flow_key *key,
          unsigned n_tensors);
/* Its parts are gone. */
void
shelf_remove(struct transport *transport, struct arrival *arrival);

/* With room for n_bytes; NULL: no memory. */
struct stash *
shelf_stash_take(struct transport *transport, size_t n_bytes);
/* NULL is fine. */
void
shelf_stash_give(struct transport *transport, struct stash *stash);

#endif
