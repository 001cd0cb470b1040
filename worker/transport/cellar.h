/*
 * transport/cellar.h - where what comes before it is wanted is kept
 *
 * A peer that is a call ahead is the rule, not the exception: the memory of a
 * small arrival is kept for the next one, and so is the index's.
 */

#ifndef TRANSPORT_CELLAR_H
#define TRANSPORT_CELLAR_H

#include "transport/peer.h"

/* Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
cellar_init(struct transport *transport);
/* Nothing is kept any more. Zeroed memory is fine. */
void
cellar_deinit(struct transport *transport);

struct arrival *
cellar_find(const struct transport *transport, const struct flow_key *key);
/* Zeroed but for its key, with room for n_tensors, indexed; NULL: no memory.
 * There is none of that key. */
struct arrival *
cellar_add(struct transport *transport,
           const struct flow_key *key,
           unsigned n_tensors);
/* Its parts are gone. */
void
cellar_remove(struct transport *transport, struct arrival *arrival);

/* With room for n_bytes; NULL: no memory. */
struct stash *
cellar_stash_take(struct transport *transport, size_t n_bytes);
/* NULL is fine. */
void
cellar_stash_give(struct transport *transport, struct stash *stash);

#endif
