/*
 * engine/executor.c - executes the steps of a plan as the data permit
 *
 * The tracker (plan/tracker.h) says how far each active step may go. Sends and
 * receives become transport requests whose limits are raised; local steps are
 * done at once; what a request reports is given back to the tracker. The only
 * order is that of the data: pieces of many rounds are in flight at a time.
 */

#include "engine/executor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "algorithms/algorithms.h"
#include "base/error.h"
#include "engine/call_record.h"
#include "engine/op.h"
#include "engine/state.h"
#include "engine/wire_loss.h"
#include "transport/stream/payload.h"

/* A ready part of a message is sent at once, unless the whole message is at
 * most this large: a further frame costs more than the delay of the whole.
 * Where ranks share processors a frame also costs the other ranks time. */
enum {
    SEND_WHOLE_BYTES_MAX = 16 << 10,
    SEND_WHOLE_BYTES_MAX_OVERSUBSCRIBED = 64 << 10,
};

/* Returns a flow whose out or in the caller must set. */
static struct step_flow *
flow_alloc(struct op *op)
{
    struct step_flow *flow = TAILQ_FIRST(&op->cache.free_flows);

    if (flow)
        TAILQ_REMOVE(&op->cache.free_flows, flow, link);
    else
        flow = malloc(sizeof(*flow));
    if (!flow)
        return NULL;
    flow->op = op;
    flow->is_receive = false;
    flow->has_peer_called = false;
    flow->is_peer_in_other_call = false;
    flow->n_done_bytes_at_last_check = 0;
    TAILQ_INSERT_TAIL(&op->run.step_flows, flow, link);
    return flow;
}

struct step_flow *
op_flow_alloc(struct op *op)
{
    struct step_flow *flow = flow_alloc(op);

    if (!flow)
        return NULL;
    flow->tracked_step = NULL;
    flow->in = (struct recv_request){.owner = NULL};
    flow->out = (struct send_request){.owner = NULL};
    return flow;
}

void
op_flow_free(struct step_flow *flow)
{
    TAILQ_REMOVE(&flow->op->run.step_flows, flow, link);
    TAILQ_INSERT_HEAD(&flow->op->cache.free_flows, flow, link);
}

uint32_t
op_member_world_rank(const struct op *op, uint32_t rank)
{
    const struct comm_context *context = op->run.context;

    /* All members of the context take part in the check of a call. */
    return op->run.members && !op->run.is_call_check_stage
               ? context->ranks[op->run.members[rank]]
               : context->ranks[rank];
}

static struct flow_key
step_flow_key(const struct op *op, const struct plan_step *step)
{
    assert(step->message >> STAGE_IN_STEP_SHIFT == 0);
    return (struct flow_key){
        .comm = op->run.context->id,
        .op = op->run.number,
        .step = op_stage(op) << STAGE_IN_STEP_SHIFT | step->message,
        .peer = op_member_world_rank(op, step->peer),
        .kind = FLOW_COLLECTIVE,
    };
}

/* Returns how much of a send may leave. */
static uint64_t
send_ready_bytes(const struct op *op, const struct tracked_step *tracked_step)
{
    const uint64_t limit =
        tracker_step_limit_bytes(&op->cache.tracker, tracked_step);
    const bool is_oversubscribed =
        atomic_load_explicit(&op->engine->host_wait_policy,
                             memory_order_relaxed) != WAIT_POLICY_SPIN;
    const uint64_t whole = is_oversubscribed
                               ? SEND_WHOLE_BYTES_MAX_OVERSUBSCRIBED
                               : SEND_WHOLE_BYTES_MAX;

    return limit < tracked_step->total && tracked_step->total <= whole ? 0
                                                                       : limit;
}

static void
post_send(struct op *op, struct step_flow *flow)
{
    const struct tracked_step *tracked_step = flow->tracked_step;

    flow->out = (struct send_request){
        .key = step_flow_key(op, &tracked_step->step),
        .label = &op->run.label,
        .bytes = op_span_address(op, &tracked_step->step.from),
        .round = tracked_step->round,
        .loss = op_wire_loss(op),
        .total = tracked_step->total,
        .ready = send_ready_bytes(op, tracked_step),
        .owner = flow,
    };
    transport_send(op->engine->transport, &flow->out);
}

static void
post_receive(struct op *op, struct step_flow *flow)
{
    const struct tracked_step *tracked_step = flow->tracked_step;

    flow->is_receive = true;
    flow->in = (struct recv_request){
        .key = step_flow_key(op, &tracked_step->step),
        .label = &op->run.label,
        .place = tracked_step->step.kind == PLAN_STORE
                     ? op_span_address(op, &tracked_step->step.to)
                     : NULL,
        .element_size = op->run.element_size,
        .total = tracked_step->total,
        .allowed = tracker_step_limit_bytes(&op->cache.tracker, tracked_step),
        .owner = flow,
    };
    transport_receive(op->engine->transport, &flow->in);
}

static bool
is_local_plan_step(const struct tracked_step *tracked_step)
{
    return tracked_step->step.kind == PLAN_COPY ||
           tracked_step->step.kind == PLAN_COMBINE;
}

static enum hoop_status
post_steps(struct op *op, struct tracked_step *first)
{
    for (struct tracked_step *tracked_step = first; tracked_step;
         tracked_step = TAILQ_NEXT(tracked_step, link)) {
        if (is_local_plan_step(tracked_step))
            continue;

        struct step_flow *flow = flow_alloc(op);
        if (!flow)
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory for a step of the operation");
        flow->tracked_step = tracked_step;
        tracked_step->owner = flow;
        if (tracked_step->step.kind == PLAN_SEND)
            post_send(op, flow);
        else
            post_receive(op, flow);
    }
    return HOOP_OK;
}

static const struct algorithm *
op_current_algorithm(const struct op *op)
{
    return op->run.is_call_check_stage ? &algorithm_barrier_dissemination
                                       : op->run.algorithm;
}

static struct plan_shape
op_current_shape(const struct op *op)
{
    return op->run.is_call_check_stage
               ? (struct plan_shape){.rank = op->run.context->rank,
                                     .size = op->run.context->size}
               : op->run.shape;
}

enum hoop_status
op_scratch_ensure(struct op *op, const struct plan_shape *shape)
{
    const size_t n_elements =
        algorithm_n_scratch(op_current_algorithm(op), shape);
    const size_t n_bytes = n_elements * op->run.element_size;

    if (n_bytes <= op->cache.scratch_capacity)
        return HOOP_OK;
    free(op->cache.scratch);
    op->cache.scratch_capacity = 0;
    /* Page-aligned like large user buffers, so that copies stay in phase. */
    op->cache.scratch = aligned_alloc(4096, (n_bytes + 4095) / 4096 * 4096);
    if (!op->cache.scratch)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for %zu bytes of scratch", n_bytes);
    op->cache.scratch_capacity = n_bytes;
    /* A barrier sends the first byte, which must not be old memory. */
    op->cache.scratch[0] = 0;
    return HOOP_OK;
}

/* The inline path has done some steps of the plan, all of whose rounds are
 * active. They are known by their places in the cached plan of another
 * operation, which is the same: a plan is a pure function of the call, and one
 * of which not all rounds are active at once is not made inline. Returns the
 * first step that is left. */
static struct tracked_step *
skip_steps_done_inline(struct op *op)
{
    struct tracker *tracker = &op->cache.tracker;
    struct tracked_step *next;
    uint64_t done = op->run.steps_done_inline;

    assert(!done || tracker->n_active <= INLINE_PLAN_STEPS_MAX);
    op->run.steps_done_inline = 0;
    for (struct tracked_step *tracked_step = TAILQ_FIRST(&tracker->active);
         tracked_step; tracked_step = next, done >>= 1) {
        next = TAILQ_NEXT(tracked_step, link);
        if (done & 1)
            tracker_advance_step(tracker, tracked_step, tracked_step->total);
    }
    return TAILQ_FIRST(&tracker->active);
}

enum hoop_status
executor_begin(struct op *op)
{
    const struct plan_shape shape = op_current_shape(op);
    struct tracked_step *first = NULL;

    enum hoop_status status = op_scratch_ensure(op, &shape);
    if (status != HOOP_OK)
        return error_pass(status);
    tracker_init(&op->cache.tracker, op_current_algorithm(op), &shape,
                 op->run.element_size);
    status = tracker_activate_rounds(&op->cache.tracker, &first);
    if (status != HOOP_OK)
        return error_pass(status);
    if (op->run.steps_done_inline)
        first = skip_steps_done_inline(op);
    return post_steps(op, first);
}

/* Combine n_bytes at arrived with the step's own operand. */
static void
combine_arrived(struct op *op,
                const struct tracked_step *tracked_step,
                const uint8_t *arrived,
                size_t n_bytes)
{
    const struct plan_step *step = &tracked_step->step;
    const bool is_combine = step->kind == PLAN_COMBINE;
    const uint8_t *own =
        op_span_address(op, is_combine ? &step->to : &step->from) +
        tracked_step->done;
    uint8_t *to = op_span_address(op, &step->to) + tracked_step->done;
    const size_t count = n_bytes / op->run.element_size;

    const bool is_left = step->side == PLAN_RECEIVED_IS_LEFT_OPERAND;
    const struct wire_rounding_operands operands = {
        .left = is_left ? arrived : own,
        .right = is_left ? own : arrived,
        .arrived = is_combine ? NULL : arrived,
    };
    const bool is_lossy = op_wire_loss(op) != LOSS_NONE;

    if (is_lossy)
        wire_rounding_combine(op, &operands, to, count);
    else
        op->run.reduce(to, operands.left, operands.right, count);
    if (step->is_final && op->run.divide)
        op->run.divide(to, count, op->run.shape.size);
    if (step->is_final && is_lossy)
        wire_rounding_finish_block(op, to, count);
}

/* Copy or combine n_bytes more. */
static void
run_local_step(struct op *op,
               const struct tracked_step *tracked_step,
               size_t n_bytes)
{
    const uint8_t *from =
        op_span_address(op, &tracked_step->step.from) + tracked_step->done;

    if (tracked_step->step.kind == PLAN_COPY)
        memmove(op_span_address(op, &tracked_step->step.to) +
                    tracked_step->done,
                from, n_bytes);
    else
        combine_arrived(op, tracked_step, from, n_bytes);
}

static bool
advance_local_step(struct op *op,
                   struct tracked_step *tracked_step,
                   uint64_t limit)
{
    const size_t n_bytes = limit - tracked_step->done;

    if (n_bytes == 0)
        return false;
    run_local_step(op, tracked_step, n_bytes);
    tracker_advance_step(&op->cache.tracker, tracked_step, n_bytes);
    return true;
}

static bool
advance_step(struct op *op, struct tracked_step *tracked_step)
{
    struct step_flow *flow = tracked_step->owner;

    if (is_local_plan_step(tracked_step))
        return advance_local_step(
            op, tracked_step,
            tracker_step_limit_bytes(&op->cache.tracker, tracked_step));
    const uint64_t limit =
        flow->is_receive
            ? tracker_step_limit_bytes(&op->cache.tracker, tracked_step)
            : send_ready_bytes(op, tracked_step);
    if (flow->is_receive && limit > flow->in.allowed) {
        flow->in.allowed = limit;
        transport_receive_buffer_grew(op->engine->transport, &flow->in);
    }
    if (!flow->is_receive && limit > flow->out.ready) {
        flow->out.ready = limit;
        transport_send_data_ready(op->engine->transport, &flow->out);
    }
    return false;
}

bool
executor_can_progress(const struct op *op)
{
    const struct tracked_step *tracked_step;

    if (op_is_shm(op) || op->cache.tracker.n_active == 0)
        return true;
    TAILQ_FOREACH(tracked_step, &op->cache.tracker.active, link)
    {
        if (is_local_plan_step(tracked_step) &&
            tracker_step_limit_bytes(&op->cache.tracker, tracked_step) >
                tracked_step->done)
            return true;
    }
    return false;
}

/* Returns how many elements at the beginning of output are the contribution of
 * one rank alone, which no step has combined with anything. */
static size_t
uncombined_prefix_count(const struct op *op)
{
    const struct plan_shape *shape = &op->run.shape;
    bool is_of_one = call_is_reduction(&op->run.label.call) && shape->size == 1;

    if (op->run.label.call.name == CALL_SCAN)
        is_of_one = shape->rank == 0;
    if (op->run.label.call.name == CALL_EXSCAN)
        is_of_one = shape->rank == 1;
    if (!is_of_one)
        return 0;
    return shape->counts ? shape->counts[0] : shape->count;
}

/* All steps are done: apply what the type and the loss require of the
 * result. */
static void
finish_result(struct op *op)
{
    if (op->run.is_call_check_stage)
        return;
    if (op->run.loss != LOSS_NONE)
        wire_rounding_finish(op);
    reduction_of_one((enum hoop_dtype)op->run.label.call.dtype, op->run.output,
                     uncombined_prefix_count(op));
}

enum hoop_status
executor_advance(struct op *op, bool *out_is_complete)
{
    bool has_moved = true;

    while (has_moved) {
        struct tracked_step *next;
        struct tracked_step *first = NULL;

        has_moved = false;
        for (struct tracked_step *tracked_step =
                 TAILQ_FIRST(&op->cache.tracker.active);
             tracked_step; tracked_step = next) {
            next = TAILQ_NEXT(tracked_step, link);
            has_moved |= advance_step(op, tracked_step);
        }
        enum hoop_status status =
            tracker_activate_rounds(&op->cache.tracker, &first);
        if (status == HOOP_OK)
            status = post_steps(op, first);
        if (status != HOOP_OK)
            return error_pass(status);
        has_moved |= first != NULL;
    }
    *out_is_complete = tracker_is_done(&op->cache.tracker);
    if (*out_is_complete &&
        (op->run.loss != LOSS_NONE || op->run.label.call.dtype == HOOP_BOOL))
        finish_result(op);
    return HOOP_OK;
}

void
executor_abort(struct op *op)
{
    struct step_flow *flow;

    while ((flow = TAILQ_FIRST(&op->run.step_flows))) {
        if (flow->is_receive)
            transport_receive_cancel(op->engine->transport, &flow->in);
        else
            transport_send_cancel(op->engine->transport, &flow->out);
        op_flow_free(flow);
    }
}

void
executor_on_sent(struct step_flow *flow, uint64_t n_bytes)
{
    struct op *op = flow->op;

    if (tracker_advance_step(&op->cache.tracker, flow->tracked_step, n_bytes))
        op_flow_free(flow);
    op_mark_dirty(op);
}

void
executor_on_received(struct step_flow *flow,
                     const uint8_t *piece,
                     size_t n_bytes)
{
    struct op *op = flow->op;

    if (piece)
        combine_arrived(op, flow->tracked_step, piece, n_bytes);
    if (tracker_advance_step(&op->cache.tracker, flow->tracked_step, n_bytes)) {
        transport_receive_cancel(op->engine->transport, &flow->in);
        op_flow_free(flow);
    }
    op_mark_dirty(op);
}

/*
 * The inline path.
 *
 * The steps of a small plan are done in the order of their rounds, in each
 * round the sends first. Steps of one round do not depend on each other.
 */

/* Returns whether the step can be done inline: its block is small, and of
 * another rank. */
static bool
is_inline_step(const struct op *op, const struct tracked_step *tracked_step)
{
    return is_local_plan_step(tracked_step) ||
           (tracked_step->total <= TRANSPORT_INLINE_BYTES_MAX &&
            tracked_step->step.peer != op->run.shape.rank);
}

/* Tell whether the plan is short enough. Its dependencies, whose number grows
 * with the square of the steps, are searched only then. */
static enum hoop_status
check_inline_length(struct op *op, bool *out_is_short)
{
    const struct plan_shape *shape = &op->run.shape;
    const uint32_t n_rounds = algorithm_n_rounds(op->run.algorithm, shape);
    struct plan *round_plan = &op->cache.round_plan;
    size_t n_steps = 0;

    for (uint32_t i = 0; i < n_rounds && n_steps <= INLINE_PLAN_STEPS_MAX;
         i++) {
        plan_clear(round_plan);
        algorithm_plan_round(op->run.algorithm, round_plan, shape, i);
        const enum hoop_status status = plan_status(round_plan);
        if (status != HOOP_OK)
            return error_pass(status);
        n_steps += round_plan->n_steps;
    }
    *out_is_short = n_steps <= INLINE_PLAN_STEPS_MAX;
    return HOOP_OK;
}

/* Have the tracker cache the plan. */
static enum hoop_status
cache_inline_plan(struct op *op)
{
    struct tracked_step *first;
    const enum hoop_status status = op_scratch_ensure(op, &op->run.shape);

    if (status != HOOP_OK)
        return error_pass(status);
    tracker_init(&op->cache.tracker, op->run.algorithm, &op->run.shape,
                 op->run.element_size);
    return tracker_activate_rounds(&op->cache.tracker, &first);
}

/* Put the steps of the cached plan in order, if all can be done inline. */
static void
order_inline_steps(const struct op *op, struct inline_plan *plan)
{
    const struct tracker *tracker = &op->cache.tracker;

    for (size_t i = 0; i < tracker->n_cached; i++) {
        if (!is_inline_step(op, tracker->cache[i]))
            return;
    }
    for (unsigned turn = 0; turn < 2 * tracker->n_rounds; turn++) {
        for (size_t i = 0; i < tracker->n_cached; i++) {
            const struct tracked_step *tracked_step = tracker->cache[i];
            const bool is_send = tracked_step->step.kind == PLAN_SEND;

            if (2 * tracked_step->round + !is_send == turn)
                plan->order[plan->n_steps++] = (uint8_t)i;
        }
    }
}

void
executor_plan_inline(struct op *op)
{
    struct inline_plan *plan = &op->cache.inline_plan;
    bool is_short = false;
    enum hoop_status status = check_inline_length(op, &is_short);

    plan->n_steps = 0;
    if (status == HOOP_OK && is_short)
        status = cache_inline_plan(op);
    plan->is_made = status == HOOP_OK;
    if (!plan->is_made)
        /* The call may succeed all the same. */
        error_clear();
    else if (is_short)
        order_inline_steps(op, plan);
}

static bool
send_inline(struct op *op, const struct tracked_step *tracked_step)
{
    struct send_request flow = {
        .key = step_flow_key(op, &tracked_step->step),
        .label = &op->run.label,
        .bytes = op_span_address(op, &tracked_step->step.from),
        .total = tracked_step->total,
        .ready = tracked_step->total,
    };

    if (!transport_send_inline(op->engine->transport, &flow))
        return false;
    op_record_moved(op, flow.key.peer);
    return true;
}

static enum transport_inline_result
receive_inline(struct op *op, const struct tracked_step *tracked_step)
{
    const bool is_store = tracked_step->step.kind == PLAN_STORE;
    _Alignas(16) uint8_t arrived[TRANSPORT_INLINE_BYTES_MAX];
    struct recv_request flow = {
        .key = step_flow_key(op, &tracked_step->step),
        .label = &op->run.label,
        .place =
            is_store ? op_span_address(op, &tracked_step->step.to) : arrived,
        .element_size = op->run.element_size,
        .total = tracked_step->total,
    };
    const enum transport_inline_result result =
        transport_receive_inline(op->engine->transport, &flow);

    if (result == TRANSPORT_INLINE_DONE && op->run.record)
        op_record_arrived(op, flow.key.peer);
    if (result == TRANSPORT_INLINE_DONE && !is_store)
        combine_arrived(op, tracked_step, arrived, tracked_step->total);
    return result;
}

/* Returns whether no receive is sure to need an operation, which would have to
 * go on with what has been sent before. */
static bool
can_receive_all_inline(const struct op *op)
{
    const struct inline_plan *plan = &op->cache.inline_plan;

    for (unsigned i = 0; i < plan->n_steps; i++) {
        const struct tracked_step *tracked_step =
            op->cache.tracker.cache[plan->order[i]];

        if (!is_local_plan_step(tracked_step) &&
            tracked_step->step.kind != PLAN_SEND &&
            !transport_can_receive_block(
                op->engine->transport,
                op_member_world_rank(op, tracked_step->step.peer)))
            return false;
    }
    return true;
}

enum transport_inline_result
executor_advance_inline(struct op *op)
{
    const struct inline_plan *plan = &op->cache.inline_plan;

    if (op->run.n_inline_steps == 0 && !can_receive_all_inline(op))
        return TRANSPORT_INLINE_NEEDS_PROGRESS;
    for (; op->run.n_inline_steps < plan->n_steps; op->run.n_inline_steps++) {
        const struct tracked_step *tracked_step =
            op->cache.tracker.cache[plan->order[op->run.n_inline_steps]];
        enum transport_inline_result result = TRANSPORT_INLINE_DONE;

        if (is_local_plan_step(tracked_step))
            run_local_step(op, tracked_step, tracked_step->total);
        else if (tracked_step->step.kind != PLAN_SEND)
            result = receive_inline(op, tracked_step);
        else if (!send_inline(op, tracked_step))
            result = TRANSPORT_INLINE_NEEDS_PROGRESS;
        if (result != TRANSPORT_INLINE_DONE)
            return result;
    }
    return transport_has_unused_blocks(
               op->engine->transport,
               &(struct flow_key){.comm = op->run.context->id,
                                  .op = op->run.number,
                                  .kind = FLOW_COLLECTIVE})
               ? TRANSPORT_INLINE_NEEDS_PROGRESS
               : TRANSPORT_INLINE_DONE;
}

void
executor_continue_inline(struct op *op, struct op *inline_op)
{
    uint8_t *scratch = op->cache.scratch;
    const size_t capacity = op->cache.scratch_capacity;

    if (inline_op->run.n_inline_steps == 0)
        return;
    for (unsigned i = 0; i < inline_op->run.n_inline_steps; i++)
        op->run.steps_done_inline |= 1ull
                                     << inline_op->cache.inline_plan.order[i];
    op->cache.scratch = inline_op->cache.scratch;
    op->cache.scratch_capacity = inline_op->cache.scratch_capacity;
    inline_op->cache.scratch = scratch;
    inline_op->cache.scratch_capacity = capacity;
    /* A plan that is made has room for all it needs. */
    if (capacity < op->cache.scratch_capacity)
        inline_op->cache.inline_plan.is_made = false;
}

/* Returns whether a step other than by will still write into range. */
static bool
is_range_still_written(const struct op *op,
                       const struct tracked_step *by,
                       const struct tracked_step_range *range)
{
    const struct tracked_step *tracked_step;

    TAILQ_FOREACH(tracked_step, &op->cache.tracker.active, link)
    {
        if (tracked_step != by &&
            tracked_step->writes.buffer == range->buffer &&
            tracked_step->writes.begin + tracked_step->done < range->end &&
            range->begin < tracked_step->writes.end)
            return true;
    }
    return false;
}

/* Returns the part of encoded within what tracked_step reads or writes. */
static struct tracked_step_range
encoded_range_of(const struct op *op,
                 const struct tracked_step *tracked_step,
                 const struct encoded *encoded)
{
    const bool is_send = tracked_step->step.kind == PLAN_SEND;
    const struct plan_span *span =
        is_send ? &tracked_step->step.from : &tracked_step->step.to;
    const uint64_t begin =
        (is_send ? tracked_step->reads : tracked_step->writes).begin +
        (uint64_t)(encoded->raw - op_span_address(op, span));

    return (struct tracked_step_range){span->buffer, begin,
                                       begin + encoded->n_raw};
}

/*
 * An active send that has not come this far will send the bytes that were last
 * written there. Those are the bytes that came or leave now, unless a step that
 * writes there is still to come.
 */
void
executor_on_encoded(struct step_flow *flow, const struct encoded *encoded)
{
    struct op *op = flow->op;
    const struct tracked_step_range range =
        encoded_range_of(op, flow->tracked_step, encoded);
    struct step_flow *other;

    TAILQ_FOREACH(other, &op->run.step_flows, link)
    {
        if (other == flow || other->is_receive || !other->out.is_queued ||
            other->tracked_step->reads.buffer != range.buffer ||
            other->tracked_step->reads.begin > range.begin ||
            other->tracked_step->reads.end < range.end)
            continue;
        if (is_range_still_written(op, flow->tracked_step, &range))
            return;
        transport_cache_encoded(op->engine->transport, &other->out, encoded);
    }
}

void
executor_deinit(struct op *op)
{
    struct step_flow *flow;

    while ((flow = TAILQ_FIRST(&op->cache.free_flows))) {
        TAILQ_REMOVE(&op->cache.free_flows, flow, link);
        free(flow);
    }
    tracker_deinit(&op->cache.tracker);
    plan_deinit(&op->cache.round_plan);
    plan_deinit(&op->cache.next_round_plan);
    free(op->cache.scratch);
    free(op->cache.counts);
}
