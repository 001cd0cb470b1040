/*
 * engine/context_command.c - commands on a context
 *
 * Any thread may call these functions. It waits until the progress owner has
 * executed the command.
 */

#include "engine/context_command.h"

#include "engine/wait.h"

static void
context_command_submit_unforked(struct context_command *context_command)
{
    struct engine *engine = context_command->context->engine;

    if (!engine->is_forked_child)
        context_command_submit_and_wait(engine, context_command);
}

void
context_close(struct comm_context *context)
{
    context_command_submit_unforked(&(struct context_command){
        .context = context, .kind = CONTEXT_COMMAND_END});
}

uint64_t
context_revoke_if_failed(struct comm_context *context)
{
    struct context_command context_command = {
        .context = context, .kind = CONTEXT_COMMAND_REVOKE_IF_FAILED};

    context_command_submit_unforked(&context_command);
    return context_command.unfinished;
}

void
context_revoke(struct comm_context *context, const char *why)
{
    context_command_submit_unforked(&(struct context_command){
        .context = context, .kind = CONTEXT_COMMAND_REVOKE, .why = why});
}

void
context_watch(struct comm_context *context, enum context_watch watch)
{
    context_command_submit_unforked(&(struct context_command){
        .context = context, .kind = CONTEXT_COMMAND_WATCH, .watch = watch});
}

void
context_fail_next_call(struct comm_context *context,
                       enum hoop_status status,
                       const char *why)
{
    context_command_submit_unforked(
        &(struct context_command){.context = context,
                                  .kind = CONTEXT_COMMAND_FAIL_NEXT_CALL,
                                  .status = status,
                                  .why = why});
}

void
context_get_failed_members(struct comm_context *context, bool *out_has_failed)
{
    context_command_submit_unforked(
        &(struct context_command){.context = context,
                                  .kind = CONTEXT_COMMAND_QUERY_FAILED,
                                  .failed = out_has_failed});
}

void
context_get_lost_members(struct comm_context *context, bool *out_is_lost)
{
    context_command_submit_unforked(
        &(struct context_command){.context = context,
                                  .kind = CONTEXT_COMMAND_QUERY_LOST,
                                  .failed = out_is_lost});
}
