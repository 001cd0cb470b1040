/* engine/failure/failure_record.c - what a context knows of its failures */

#include "engine/failure/failure_record.h"

#include <stdlib.h>
#include <string.h>

#include "engine/failure/operations.h"
#include "engine/state.h"

void
failure_record_set(struct comm_context *context,
                   uint64_t number,
                   const struct failure_notice *notice)
{
    struct failure_record *failure = &context->failure;

    failure->number = number;
    failure->notice = *notice;
}

/* Returns whether known is the failure that content says again. Sends of one
 * tag may fail for several reasons, and each reason is told. */
static bool
is_same_failure(const struct pending_failure *known,
                const struct pending_failure *content)
{
    if (known->number != content->number || content->number > 0)
        return known->number == content->number;
    return known->source == content->source && known->tag == content->tag &&
           known->notice.status == content->notice.status &&
           strcmp(known->notice.why, content->notice.why) == 0;
}

/* The number of failures of the same kind, collective or receive. */
static unsigned *
pending_failure_count(struct failure_record *failure,
                      const struct pending_failure *pending)
{
    return pending->number > 0 ? &failure->n_pending_collectives
                               : &failure->n_pending_receives;
}

enum pending_failure_result
pending_failure_add(struct comm_context *context,
                    const struct pending_failure *content)
{
    struct failure_record *failure = &context->failure;
    unsigned *n_known = pending_failure_count(failure, content);
    struct pending_failure *pending;

    TAILQ_FOREACH(pending, &failure->pending, link)
    {
        if (is_same_failure(pending, content)) {
            pending->n_alike++;
            return PENDING_FAILURE_KNOWN;
        }
    }
    if (*n_known >= LIMIT_EARLY_FAILURES)
        return PENDING_FAILURE_NO_ROOM;
    pending = malloc(sizeof(*pending));
    if (!pending)
        return PENDING_FAILURE_NO_MEMORY;
    *pending = *content;
    pending->n_alike = 1;
    TAILQ_INSERT_TAIL(&failure->pending, pending, link);
    (*n_known)++;
    return PENDING_FAILURE_NEW;
}

static void
pending_failure_free(struct comm_context *context,
                     struct pending_failure *pending)
{
    TAILQ_REMOVE(&context->failure.pending, pending, link);
    (*pending_failure_count(&context->failure, pending))--;
    free(pending);
}

void
pending_failure_drop(struct comm_context *context, uint64_t number)
{
    struct pending_failure *pending;

    TAILQ_FOREACH(pending, &context->failure.pending, link)
    {
        if (pending->number == number) {
            pending_failure_free(context, pending);
            return;
        }
    }
}

void
pending_failures_clear(struct comm_context *context)
{
    while (!TAILQ_EMPTY(&context->failure.pending))
        pending_failure_free(context, TAILQ_FIRST(&context->failure.pending));
}

static bool
is_failure_of_op(const struct pending_failure *pending, const struct op *op)
{
    return op_is_message(op)
               ? pending->number == 0 &&
                     op_receives_from(op, pending->source, pending->tag)
               : pending->number == op->run.number;
}

bool
op_take_pending_failure(const struct op *op, struct failure_notice *out_notice)
{
    struct comm_context *context = op->run.context;
    struct pending_failure *pending;

    TAILQ_FOREACH(pending, &context->failure.pending, link)
    {
        if (is_failure_of_op(pending, op))
            break;
    }
    if (!pending)
        return false;
    *out_notice = pending->notice;
    if (!op_is_message(op) || --pending->n_alike == 0)
        pending_failure_free(context, pending);
    return true;
}
