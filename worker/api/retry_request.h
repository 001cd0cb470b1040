/*
 * api/retry_request.h - a call that can be repeated among fewer ranks
 *
 * It keeps what the call began with: the members, and a copy of the input if
 * the result overwrites it. A repeated call is what the call would have been
 * with only the surviving members: with their inputs alone, their blocks
 * packed, and the root's new rank.
 */

#ifndef API_RETRY_REQUEST_H
#define API_RETRY_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "api/collective.h"
#include "base/cleanup.h"

struct retry_request {
    const struct collective *asked; /* borrowed, as is comm */
    hoop_comm_t *comm;
    uint32_t root; /* world rank; HOOP_NO_RANK: the call has no root */
    bool is_kept;  /* everything that a repetition needs was saved */
    /* the call to make on comm with its current members */
    struct collective now;
    uint32_t *entry; /* world ranks that were members at first */
    uint32_t n_entry;
    uint32_t *members; /* world ranks that are members now, n_members of them */
    uint32_t n_members;
    const void *input; /* the saved copy; NULL: the input is where it was */
    void *output;
    size_t *counts; /* of the current members */
    void *packed;   /* blocks for the current members */
};

/*
 * Save what a repetition of asked, which has been checked, needs. Copies of
 * inputs are kept in comm->retry.
 * Handle: HOOP_E_EXHAUSTED (this rank cannot make the call, but
 * retry_request_has_lost_root() and retry_request_rebuild() can be called).
 */
enum hoop_status
retry_request_init(struct retry_request *retry_request,
                   const struct collective *asked,
                   hoop_comm_t *comm);
/* Zeroed memory is fine. */
void
retry_request_deinit(struct retry_request *retry_request);

/* Whether the call has a root that is no longer a member of comm. */
bool
retry_request_has_lost_root(const struct retry_request *retry_request);

/* Update retry_request->now after the members of comm have changed.
 * Handle: HOOP_E_PEER_LOST (the root is lost), HOOP_E_EXHAUSTED (no memory now,
 * or when the call began). */
enum hoop_status
retry_request_rebuild(struct retry_request *retry_request);

#endif
