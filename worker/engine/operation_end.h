/*
 * engine/operation_end.h - operations end, well or with a failure
 *
 * Private to engine/. Thread: the progress owner's.
 */

#ifndef ENGINE_OPERATION_END_H
#define ENGINE_OPERATION_END_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/failure/failure_record.h"
#include "engine/op.h"

struct comm_context;
struct op;

/* End op with a failure whose text begins with the call, and tell the other
 * ranks of the context. */
void
op_fail(struct op *op, const struct failure_notice *failure_notice);
/* End op with a failure that the other ranks know already. */
void
op_fail_without_notice(struct op *op,
                       const struct failure_notice *failure_notice);
/* End op with this thread's last error, whose status is given. This rank is at
 * fault, unless op's rounds name a peer. */
void
op_fail_with_error(struct op *op, enum hoop_status status);
/* End op successfully, unless more data came for it than it takes. */
void
op_complete(struct op *op);
/* Returns whether op's partner has failed, so that op must end in the same
 * way. */
static inline bool
op_has_failed_partner(const struct op *op)
{
    const struct op *partner = op->run.partner;

    return partner && partner->run.state == OP_FAILED;
}
void
op_fail_as_partner(struct op *op);
/* The collective that has that number cannot begin on this rank: record it as
 * if it had begun and failed, and make it fail on all members. */
void
context_fail_numbered_call(struct comm_context *context,
                           uint64_t number,
                           enum hoop_status status,
                           const char *why);
/* Make the next collective fail on all members. */
void
context_fail_next_execute(struct comm_context *context,
                          enum hoop_status status,
                          const char *why);

#endif
