/*
 * engine/failure_details.c - what is known of a failure beside its text
 *
 * The details and the text (engine/failure_notice.c, engine/wait_diagnosis.c)
 * are made in one place from the same facts, so that a program which reacts to
 * a failure need not parse texts.
 */

#include <stdio.h>

#include "hoop/comm.h"

#include "base/clock.h"
#include "dtype/dtype.h"
#include "engine/state.h"
#include "engine/wait_diagnosis.h"

_Static_assert(sizeof(((struct hoop_failure *)0)->host) == LIMIT_NAME &&
                   sizeof(((struct hoop_failure *)0)->communicator) ==
                       LIMIT_NAME,
               "names are not cut");

struct hoop_failure
failure_details(const struct roster *roster,
                const struct failure_notice *failure_notice)
{
    struct hoop_failure failure = {
        .status = failure_notice->status,
        .rank = failure_notice->rank,
        .waited_for = HOOP_NO_RANK,
    };

    if (failure_notice->rank >= roster->size)
        return failure;
    failure.pid = roster->members[failure_notice->rank].pid;
    snprintf(failure.host, sizeof(failure.host), "%s",
             roster->members[failure_notice->rank].host);
    return failure;
}

/* Returns the size as the caller counts it. */
static uint64_t
bytes_of(const struct op *op)
{
    const struct step_flow *flow = &op->message;

    if (op->is_message)
        return flow->is_receive ? flow->in.total : flow->out.total;
    if (op->call.name == CALL_BARRIER)
        return 0;
    return op->call.count * dtype_size((enum hoop_dtype)op->call.dtype);
}

struct hoop_failure
failure_details_of_op(const struct op *op,
                      uint64_t number,
                      const struct failure_notice *failure_notice)
{
    const struct roster *roster = op->engine->roster;
    struct hoop_failure failure = failure_details(roster, failure_notice);

    failure.operation = call_text((enum call_name)op->call.name);
    failure.sequence = number;
    context_copy_name(op->context, failure.communicator);
    failure.n_bytes = bytes_of(op);
    failure.elapsed_ms = (clock_now_ns() - op->started_ns) / CLOCK_NS_PER_MS;
    failure.allowed_ms = op->allowed_ns / CLOCK_NS_PER_MS;
    /* A failure of this rank itself waited for nobody. */
    if (op->state == OP_RUNNING && failure_notice->rank != roster->rank)
        failure.waited_for = op_awaited_rank(op);
    return failure;
}
