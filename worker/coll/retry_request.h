/*
 * coll/retry_request.h - a call that can be made again, among fewer ranks
 *
 * It holds what the call began with: the members, and a copy of the input where
 * the result takes its place. Made again it is what the call would have been,
 * had only those been members who are left: with their inputs alone, their
 * blocks packed, and the root's new rank.
 */

#ifndef COLL_RETRY_REQUEST_H
#define COLL_RETRY_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "coll/collective.h"

struct retry_request {
    const struct collective *asked; /* borrowed, as comm */
    hoop_comm_t *comm;
    uint32_t root;         /* of the world; HOOP_NO_RANK: the call has none */
    bool is_kept;          /* all that it began with */
    struct collective now; /* as it is to be called on comm as it is */
    uint32_t *entry;       /* ranks of the world that were members */
    uint32_t n_entry;
    uint32_t *members; /* ... that are, n_members of them */
    uint32_t n_members;
    const void *input; /* as it was; NULL: as asked */
    void *output;
    size_t *counts; /* of the members that are left */
    void *packed;   /* their blocks */
};

/*
 * asked has been checked. Copies of inputs lie in what comm has for that.
 * Handle: HOOP_E_EXHAUSTED (it is not to be called here, and can still be asked
 * about).
 */
enum hoop_status
retry_request_init(struct retry_request *retry_request,
                   const struct collective *asked,
                   hoop_comm_t *comm);
/* Zeroed is fine. */
void
retry_request_deinit(struct retry_request *retry_request);

/* The call has a root, which is no member of comm any more. */
bool
retry_request_is_rootless(const struct retry_request *retry_request);

/* comm has other members than before: what is to be called now.
 * Handle: HOOP_E_PEER_LOST (the root is), HOOP_E_EXHAUSTED (also: it was not kept
 * at first). */
enum hoop_status
retry_request_rebuild(struct retry_request *retry_request);

#endif
