/*
 * engine/failure/departure.c - ranks that leave in good order
 *
 * Ranks that share a region need not be connected, so a leaving rank may be
 * unable to say goodbye to them, or to answer their state queries
 * (engine/failure/state_query.c). Instead it records in the region that it has
 * left and what it had called. A rank that cannot connect to it, or takes the
 * end of a connection for its death, looks there first. A rank that is about to
 * connect does not: a connection from the leaving rank may be on its way, with
 * its part of an operation.
 *
 * A rank that has left has ended its own operations, so an operation that still
 * waits for it cannot end. If it is known why the rank left, the failure says
 * so.
 */

#include "engine/failure/departure.h"

#include <stdio.h>
#include <string.h>

#include "engine/failure/failure_notice.h"
#include "engine/failure/lost_rank.h"
#include "engine/failure/mismatch.h"
#include "engine/failure/op_history.h"
#include "engine/failure/operations.h"
#include "engine/failure/state_query.h"
#include "engine/shm_executor.h"
#include "engine/state.h"
#include "transport/sequence.h"
#include "transport/shm/region.h"

static void
shm_departure_write_context(const struct comm_context *context)
{
    struct shm_region_departure *departure =
        shm_region_departure(context->shm_region, context->rank);
    char told[LIMIT_ERROR_TEXT];
    const uint64_t next = context->next_op_number_to_begin;
    uint64_t number = next > SHM_REGION_DEPARTURE_CALLS
                          ? next - SHM_REGION_DEPARTURE_CALLS
                          : 1;
    uint32_t n_calls = 0;

    for (; number < next; number++) {
        const struct op_history_entry *ended_op =
            op_history_find(&context->op_history, number);

        if (!ended_op || ended_op->has_failed)
            continue;
        departure->calls[n_calls++] = (struct shm_region_header){
            .sequence = sequence_make(number, 0, 0),
            .signature = ended_op->signatures[0],
            .count = ended_op->call.count,
            .root = ended_op->call.root,
            .name = (uint8_t)ended_op->call.name,
            .dtype = (uint8_t)ended_op->call.dtype,
            .reduce_op = (uint8_t)ended_op->call.reduce_op,
            .flags = (uint8_t)(ended_op->flags & FRAME_CHECKED),
        };
    }
    departure->n_calls = n_calls;
    departure->failed_op = context->failure.number;
    departure->failed_status = context->failure.notice.status;
    departure->failed_rank =
        failure_notice_pack_rank(context->failure.notice.rank);
    snprintf(departure->failed_text, sizeof(departure->failed_text), "%s",
             lost_rank_describe_to_others(context->engine,
                                          context->failure.notice.why, told));
    atomic_store_explicit(&departure->has_left, 1, memory_order_release);
}

void
shm_departure_write(struct engine *engine)
{
    const struct comm_context *context;

    pthread_mutex_lock(&engine->lock);
    TAILQ_FOREACH(context, &engine->contexts.open, link)
    {
        if (context->shm_region)
            shm_departure_write_context(context);
    }
    pthread_mutex_unlock(&engine->lock);
}

/* Only the progress owner removes contexts, so context stays in the list. */
static struct comm_context *
context_next(struct engine *engine, struct comm_context *context)
{
    pthread_mutex_lock(&engine->lock);
    struct comm_context *next = context ? TAILQ_NEXT(context, link)
                                        : TAILQ_FIRST(&engine->contexts.open);
    pthread_mutex_unlock(&engine->lock);
    return next;
}

/* The region may just be set by another thread. */
static const struct shm_region *
context_get_shm_region(const struct comm_context *context)
{
    pthread_mutex_lock(&context->engine->lock);
    const struct shm_region *shm_region = context->shm_region;
    pthread_mutex_unlock(&context->engine->lock);
    return shm_region;
}

/* Returns the departure record of world_rank in the context's region; NULL: it
 * has not left. */
static const struct shm_region_departure *
shm_departure_find(const struct comm_context *context, uint32_t world_rank)
{
    const struct shm_region *shm_region = context_get_shm_region(context);
    uint32_t rank = 0;

    while (rank < context->size && context->ranks[rank] != world_rank)
        rank++;
    if (!shm_region || rank == context->size)
        return NULL;
    const struct shm_region_departure *departure =
        shm_region_departure(shm_region, rank);
    return atomic_load_explicit(&departure->has_left, memory_order_acquire)
               ? departure
               : NULL;
}

/* Failure notices reached only ranks that were connected. */
static void
shm_departure_apply_failure(struct comm_context *context,
                            const struct shm_region_departure *departure)
{
    const struct frame failure_notice = {.kind = FRAME_FAILURE_NOTICE,
                                         .comm = context->id,
                                         .op = departure->failed_op,
                                         .tag = departure->failed_status,
                                         .call.root = departure->failed_rank};
    char text[LIMIT_ERROR_TEXT];

    memcpy(text, departure->failed_text, sizeof(text));
    text[sizeof(text) - 1] = '\0';
    if (failure_notice.op > 0)
        failure_notice_on_op(context, &failure_notice, text);
}

static void
shm_departure_apply_context(struct comm_context *context,
                            uint32_t world_rank,
                            const struct shm_region_departure *departure)
{
    const uint32_t n_calls = departure->n_calls;

    for (uint32_t i = 0; i < n_calls && i < SHM_REGION_DEPARTURE_CALLS; i++) {
        const struct shm_region_header header = departure->calls[i];
        struct frame answer = shm_header_to_frame(context, &header);

        answer.kind = FRAME_HEARTBEAT;
        answer.flags |= FRAME_ENDED;
        state_query_apply_answer(context, world_rank, &answer);
    }
    shm_departure_apply_failure(context, departure);
}

bool
shm_departure_exists(struct engine *engine, uint32_t rank)
{
    struct comm_context *context = NULL;

    while ((context = context_next(engine, context))) {
        if (shm_departure_find(context, rank))
            return true;
    }
    return false;
}

void
shm_departure_apply(struct engine *engine, uint32_t rank)
{
    struct comm_context *context = NULL;

    while ((context = context_next(engine, context))) {
        const struct shm_region_departure *departure =
            shm_departure_find(context, rank);

        if (departure)
            shm_departure_apply_context(context, rank, departure);
    }
}

/* Returns whether flow cannot end because its peer left before it sent or took
 * everything. */
static bool
flow_waits_for_departed(const struct engine *engine,
                        const struct step_flow *flow)
{
    const uint32_t peer = step_flow_peer(flow);

    if (peer == FLOW_ANY_PEER || !engine->liveness.ranks[peer].has_left)
        return false;
    return flow->is_receive
               ? !transport_has_all_bytes(&flow->in)
               : flow->out.framed < flow->out.total ||
                     !flow->out.is_first_frame_cut ||
                     flow->out.is_awaiting_confirmation ||
                     (flow->out.handed < flow->out.total &&
                      transport_is_disconnected(engine->transport, peer));
}

static bool
have_all_sources_left(const struct op *op)
{
    const struct engine *engine = op->engine;

    /* A single rank never had any source but itself. */
    if (op->message.flow.in.key.peer != FLOW_ANY_PEER ||
        op->run.context->size == 1)
        return false;
    for (uint32_t i = 0; i < op->run.context->size; i++) {
        if (i != op->run.context->rank &&
            !engine->liveness.ranks[op->run.context->ranks[i]].has_left)
            return false;
    }
    return true;
}

/* A rank that left early may have done so because of a loss that is known
 * here. */
static struct failure_notice
departed_failure_make(const struct engine *engine, uint32_t departed)
{
    char name[ROSTER_NAME_MAX];
    struct failure_notice failure_notice =
        failure_notice_make(HOOP_E_PEER_LOST, departed, "%s has left the job",
                            roster_format_name(engine->roster, departed, name));
    const size_t n_text = strlen(failure_notice.why);

    for (uint32_t rank = 0; rank < engine->roster->size; rank++) {
        if (!engine->liveness.ranks[rank].is_lost)
            continue;
        snprintf(failure_notice.why + n_text,
                 sizeof(failure_notice.why) - n_text, "; before that %s %s%s",
                 roster_format_name(engine->roster, rank, name),
                 engine->liveness.ranks[rank].has_given_up ? "" : "was lost: ",
                 engine->liveness.ranks[rank].why);
        break;
    }
    return failure_notice;
}

bool
op_waits_for_departed(struct op *op, struct failure_notice *out_notice)
{
    const struct engine *engine = op->engine;

    if (engine->liveness.n_left == 0)
        return false;
    if (op_is_shm(op))
        shm_executor_list_awaited(op);
    const struct step_flow *flow = op_is_message(op)
                                       ? &op->message.flow
                                       : TAILQ_FIRST(&op->run.step_flows);
    if (op_is_message(op) && op->message.flow.is_receive &&
        have_all_sources_left(op)) {
        *out_notice = failure_notice_make(HOOP_E_PEER_LOST, HOOP_NO_RANK,
                                          "every other rank has left the job");
        return true;
    }
    for (; flow; flow = op_is_message(op) ? NULL : TAILQ_NEXT(flow, link)) {
        if (!flow_waits_for_departed(engine, flow))
            continue;
        *out_notice = departed_failure_make(engine, step_flow_peer(flow));
        return true;
    }
    return false;
}

void
fail_ops_waiting_for_departed(struct engine *engine)
{
    struct failure_notice failure_notice;
    struct op *next;

    for (struct op *op = TAILQ_FIRST(&engine->progress.running); op;
         op = next) {
        next = TAILQ_NEXT(op, link);
        if (op_waits_for_departed(op, &failure_notice))
            op_fail(op, &failure_notice);
    }
}

void
engine_mark_left(struct engine *engine, uint32_t rank)
{
    struct rank_liveness *liveness = &engine->liveness.ranks[rank];

    if (engine->is_leaving || rank_is_gone(liveness))
        return;
    liveness->has_left = true;
    engine->liveness.n_left++;
    fail_ops_waiting_for_departed(engine);
}
