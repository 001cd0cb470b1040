/*
 * engine/shm_executor.c - executes the rounds of a shared-memory plan through
 * the context's shared region
 *
 * A round first posts what the plan posts, once no rank reads the slot's old
 * contents. When all peers whose posts it fetches have published theirs, and
 * have made the same call, it fetches, and announces that it has read
 * everything. No byte of the user's buffers is written before the calls have
 * been compared. The shared-memory operations of a context run one after
 * another, in the order of their numbers, so that all ranks use the slots
 * alike.
 *
 * What a round combines and the next round posts is written to both places
 * while it is in the nearest cache, if the second place is free already: the
 * post would read it again from the second-level cache. No peer sees it before
 * it is published, and if it is not used it is written again. The place may be
 * used once the others have read this round's post, because no plan with such
 * rounds fetches its own post.
 *
 * Waking sleeping peers costs a fence. They are woken when a round has been
 * read, and for a small post only then: peers that poll have seen the post long
 * before, whereas a fence right after it would wait for the cache line.
 */

#include "engine/shm_executor.h"

#include <assert.h>
#include <string.h>

#include "base/copy.h"
#include "base/error.h"
#include "engine/call_record.h"
#include "engine/executor.h"
#include "engine/failure/mismatch.h"
#include "engine/failure/op_history.h"
#include "engine/fault_injection.h"
#include "engine/shm_reduce.h"
#include "engine/state.h"
#include "net/wakeup.h"
#include "transport/sequence.h"
#include "transport/shm/region.h"

enum {
    /* A larger post takes so long to read that sleeping peers must be woken
     * before. */
    WAKE_DEFERRED_POST_BYTES_MAX = 8 << 10,
    /* Rounds done in one go. A rank that is behind never has to wait, but must
     * still answer peers that ask for a sign of life. */
    ROUNDS_PER_ADVANCE_MAX = 16,
    /* About ten times what moving a byte takes on an idle processor. */
    WORK_ESTIMATE_NS_PER_BYTE = 1,
};

_Static_assert((int)STAGES_MAX < SEQUENCE_N_STAGES, "stages fit");
_Static_assert((int)OP_HISTORY_ENTRIES > SHM_REGION_AHEAD_OPS,
               "what a rank is ahead is known");

/* Returns the sequence number of the current round. */
static uint64_t
op_round_sequence(const struct op *op)
{
    return sequence_make(op->run.number, op->run.stage, op->run.rounds.round);
}

/* Count the steps of the round. Posts come first in a plan. */
static void
round_count_steps(struct op *op)
{
    struct shm_execution *rounds = &op->run.rounds;
    const struct plan *plan = &op->cache.round_plan;
    size_t i = 0;

    rounds->n_posted_elements = 0;
    for (; i < plan->n_steps && plan->steps[i].kind == PLAN_POST_TO_SLOT; i++)
        rounds->n_posted_elements += plan->steps[i].from.count;
    rounds->n_posts = i;
    rounds->n_touched_elements = rounds->n_posted_elements;
    for (; i < plan->n_steps; i++) {
        if (plan->steps[i].kind != PLAN_EXPOSE)
            rounds->n_touched_elements += plan->steps[i].from.count;
    }
}

/* Returns how many bytes are published in the shared region. */
static size_t
round_post_bytes(const struct op *op)
{
    return op->run.algorithm->is_direct
               ? SHM_DIRECT_LINE_BYTES
               : op->run.rounds.n_posted_elements * op->run.element_size;
}

static enum hoop_status
round_plan(struct op *op)
{
    struct shm_execution *rounds = &op->run.rounds;

    if (rounds->is_next_round_planned) {
        const struct plan plan = op->cache.round_plan;

        op->cache.round_plan = op->cache.next_round_plan;
        op->cache.next_round_plan = plan;
    } else {
        plan_clear(&op->cache.round_plan);
        op->run.algorithm->plan_round(&op->cache.round_plan, &op->run.shape,
                                      rounds->round);
    }
    rounds->is_next_round_planned = false;
    round_count_steps(op);
    return plan_status(&op->cache.round_plan);
}

/* Plan the current round, if there is one. */
static enum hoop_status
round_begin(struct op *op)
{
    struct shm_execution *rounds = &op->run.rounds;

    rounds->is_posted = false;
    rounds->n_steps_with_published_peers = 0;
    return rounds->round < rounds->n_rounds ? round_plan(op) : HOOP_OK;
}

enum hoop_status
shm_executor_begin(struct op *op)
{
    struct shm_execution *rounds = &op->run.rounds;

    assert(op->run.context->shm_region);
    rounds->n_rounds = op->run.algorithm->n_rounds(&op->run.shape);
    rounds->round = rounds->n_rounds_done_inline;
    rounds->n_rounds_done_inline = 0;
    rounds->is_next_round_planned = false;
    rounds->prefetch = NULL;
    rounds->is_retracted = false;
    const enum hoop_status status = round_begin(op);
    rounds->is_posted = rounds->was_next_round_posted;
    rounds->was_next_round_posted = false;
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* This rank has published or finished a round: wake the peers that sleep. The
 * inline path does so under the lock: whoever gets that next may own progress,
 * lose a peer and close the pipe that wakes it. */
static void
wake_sleeping_peers(const struct comm_context *context)
{
    uint64_t sleepers = shm_region_take_sleepers(context->shm_region);

    while (sleepers > 0) {
        const unsigned rank = (unsigned)__builtin_ctzll(sleepers);

        sleepers &= sleepers - 1;
        wakeup_signal(
            atomic_load(&context->engine->wakeup_fds[context->ranks[rank]]));
    }
}

void
shm_executor_wake_peers(struct op *op)
{
    if (!op->run.rounds.is_wake_pending)
        return;
    op->run.rounds.is_wake_pending = false;
    wake_sleeping_peers(op->run.context);
}

/* Copy the round's posts, one after another, to their place in the region, or
 * the addresses of exposed buffers. Returns how many bytes were posted or
 * exposed. */
static size_t
posts_copy_to_slot(struct op *op, uint8_t *to)
{
    struct shm_execution *rounds = &op->run.rounds;

    if (op->run.algorithm->is_direct)
        return shm_direct_publish_addresses(op, to);
    const size_t n_there =
        rounds->prefetch == to ? rounds->prefetch_post_index : rounds->n_posts;

    for (size_t i = 0; i < rounds->n_posts; i++) {
        const struct plan_span *from = &op->cache.round_plan.steps[i].from;
        const size_t n_bytes = from->count * op->run.element_size;

        if (i != n_there)
            copy_bytes(to, op_span_address(op, from), n_bytes);
        to += n_bytes;
    }
    rounds->prefetch = NULL;
    return rounds->n_posted_elements * op->run.element_size;
}

static enum hoop_status
round_publish_post(struct op *op, uint64_t sequence)
{
    struct shm_region *shm_region = op->run.context->shm_region;
    struct shm_execution *rounds = &op->run.rounds;
    const size_t n_bytes = round_post_bytes(op);
    const struct shm_region_header header = {
        .sequence = sequence,
        .signature = op->run.label.signature,
        .count = op->run.label.call.count,
        .failed = op->run.context->op_history.failed_newest,
        .root = op->run.label.call.root,
        .name = (uint8_t)op->run.label.call.name,
        .dtype = (uint8_t)op->run.label.call.dtype,
        .reduce_op = (uint8_t)op->run.label.call.reduce_op,
        .flags = (uint8_t)(op->run.label.flags & FRAME_CHECKED),
    };

    assert(n_bytes <= shm_region_bytes_per_slot(shm_region));
    if (FAULT_IS_BUILT && op->run.label.faults)
        op_inject_fault(op, FAULT_AT_SEND, op->run.rounds.round);
    uint8_t *place = shm_region_reserve(shm_region, sequence, n_bytes);
    if (!place)
        return error_pass(HOOP_E_EXHAUSTED);
    const size_t n_given = posts_copy_to_slot(op, place);
    shm_region_publish(shm_region, &header, n_bytes);
    transport_count_bytes(op->engine->transport, n_given, 0);
    rounds->is_posted = true;
    rounds->is_wake_pending = true;
    if (n_bytes > WAKE_DEFERRED_POST_BYTES_MAX)
        shm_executor_wake_peers(op);
    return HOOP_OK;
}

/* rank published a round of another call: end the operation of that number. */
static void
round_report_mismatch(struct comm_context *context,
                      uint32_t rank,
                      const struct shm_region_header *header)
{
    const struct frame frame = shm_header_to_frame(context, header);

    mismatch_report_calls(context, context->ranks[rank], &frame);
}

/* Compare rank's previous post, which this rank had no use for. Without this,
 * two roots that only post would never find out that they differ. */
static void
mismatch_check_unread_post(struct comm_context *context, uint32_t rank)
{
    struct shm_region_header header;

    if (!shm_region_take_unseen_post(context->shm_region, rank, &header))
        return;
    const uint64_t number = sequence_number(header.sequence);
    const uint32_t stage = sequence_stage(header.sequence);
    const struct op_history_entry *ended_op =
        op_history_find(&context->op_history, number);
    if (ended_op && !ended_op->has_failed && stage < STAGES_MAX &&
        ended_op->signatures[stage] != header.signature)
        round_report_mismatch(context, rank, &header);
}

/* Returns whether rank has published with its post that an earlier operation
 * failed there, and the failure notice on that has not arrived. */
static bool
is_notice_awaited(const struct op *op, uint32_t rank)
{
    const struct comm_context *context = op->run.context;
    const uint64_t failed =
        shm_region_header_without_call(context->shm_region, rank)->failed;

    return failed != 0 && failed < op->run.number &&
           !op_history_has_failed(&context->op_history, failed);
}

/* Returns SHM_ROUND_AWAITS_POSTS if op may read what rank has published, which
 * is then of the same call; else what must happen first. */
static enum shm_round_wait
published_post_check(struct op *op, uint32_t rank)
{
    struct comm_context *context = op->run.context;
    const struct shm_region_header *header =
        shm_region_header_without_call(context->shm_region, rank);

    if (header->signature != op->run.label.signature) {
        if (!op_is_inline(op))
            round_report_mismatch(
                context, rank,
                shm_region_header_with_call(context->shm_region, rank));
        return SHM_ROUND_MISMATCHED;
    }
    if (shm_region_has_unseen_post(context->shm_region, rank)) {
        if (context->is_inline_under_lock)
            return SHM_ROUND_AWAITS_OWNER;
        mismatch_check_unread_post(context, rank);
    }
    return is_notice_awaited(op, rank) ? SHM_ROUND_AWAITS_NOTICE
                                       : SHM_ROUND_AWAITS_POSTS;
}

/* Returns whether all peers whose posts are fetched have published them for the
 * same call. op may have ended on return. */
static bool
are_posts_ready(struct op *op, uint64_t sequence)
{
    struct shm_region *shm_region = op->run.context->shm_region;
    struct shm_execution *rounds = &op->run.rounds;

    for (; rounds->n_steps_with_published_peers < op->cache.round_plan.n_steps;
         rounds->n_steps_with_published_peers++) {
        const struct plan_step *step =
            &op->cache.round_plan.steps[rounds->n_steps_with_published_peers];

        if (!step_reads_post(step))
            continue;
        if (!shm_region_poll(shm_region, step->peer, sequence)) {
            op_record_waits(op, step->peer);
            return false;
        }
        rounds->wait = published_post_check(op, step->peer);
        if (rounds->wait != SHM_ROUND_AWAITS_POSTS)
            return false;
    }
    return true;
}

/* Returns whether the round can be posted; if not, *out_rank still reads the
 * slot. */
static bool
is_round_post_slot_free(const struct op *op,
                        uint64_t sequence,
                        uint32_t *out_rank)
{
    return shm_region_can_publish(op->run.context->shm_region, sequence,
                                  round_post_bytes(op), out_rank);
}

static bool
is_same_span(const struct plan_span *a, const struct plan_span *b)
{
    return a->buffer == b->buffer && a->first == b->first &&
           a->count == b->count;
}

static bool
is_span_overlapping(const struct plan_span *span, const struct plan_span *by)
{
    return by->buffer == span->buffer &&
           by->first < span->first + span->count &&
           span->first < by->first + by->count;
}

/* Returns the last step that touches span, if that step combines exactly it
 * into its final value; else n_steps. span is what the next round posts. */
static size_t
span_final_writer(const struct plan *plan, const struct plan_span *span)
{
    for (size_t i = plan->n_steps; i-- > 0;) {
        const struct plan_step *step = &plan->steps[i];

        if (step->kind != PLAN_POST_TO_SLOT &&
            is_span_overlapping(span, &step->to))
            return step->is_final && is_same_span(&step->to, span)
                       ? i
                       : plan->n_steps;
    }
    return plan->n_steps;
}

/* Returns how many elements the next round posts, and finds which post this
 * round produces. */
static size_t
prefetch_find_combine(struct op *op)
{
    struct shm_execution *rounds = &op->run.rounds;
    size_t n_posted_elements = 0;

    rounds->prefetch_combine_step = op->cache.round_plan.n_steps;
    for (size_t i = 0; i < op->cache.next_round_plan.n_steps; i++) {
        const struct plan_step *step = &op->cache.next_round_plan.steps[i];

        if (step->kind != PLAN_POST_TO_SLOT)
            break;
        const size_t maker =
            span_final_writer(&op->cache.round_plan, &step->from);
        if (maker < op->cache.round_plan.n_steps) {
            rounds->prefetch_combine_step = maker;
            rounds->prefetch_post_index = i;
            rounds->prefetch_offset_bytes =
                n_posted_elements * op->run.element_size;
        }
        n_posted_elements += step->from.count;
    }
    return n_posted_elements;
}

/* Plan the next round. If it posts what this round combines and its slot is
 * free, rounds.prefetch points to the slot. Call before shm_reduce_run(), in
 * all rounds but the last. */
static void
prefetch_prepare(struct op *op)
{
    struct shm_region *shm_region = op->run.context->shm_region;
    struct shm_execution *rounds = &op->run.rounds;
    const uint64_t sequence =
        sequence_make(op->run.number, op->run.stage, rounds->round + 1);
    uint32_t late;

    plan_clear(&op->cache.next_round_plan);
    op->run.algorithm->plan_round(&op->cache.next_round_plan, &op->run.shape,
                                  rounds->round + 1);
    rounds->is_next_round_planned = true;
    const size_t n_bytes = prefetch_find_combine(op) * op->run.element_size;
    if (rounds->prefetch_combine_step < op->cache.round_plan.n_steps &&
        shm_region_can_publish(shm_region, sequence, n_bytes, &late))
        rounds->prefetch = shm_region_reserve(shm_region, sequence, n_bytes);
}

/* op is first in the queue: announce that this rank reads no posts of earlier
 * operations that failed here, so that their slots become free. */
static void
skip_failed_ops(const struct op *op)
{
    struct comm_context *context = op->run.context;

    if (context->op_history.failed_newest <= context->last_announced_failed_op)
        return;
    context->last_announced_failed_op = op->run.number - 1;
    shm_region_skip_to_op(context->shm_region, op->run.number);
    wake_sleeping_peers(context);
}

enum hoop_status
shm_executor_try_round(struct op *op, bool *out_is_done)
{
    struct shm_execution *rounds = &op->run.rounds;
    struct shm_region *shm_region = op->run.context->shm_region;
    const uint64_t sequence = op_round_sequence(op);
    enum hoop_status status = HOOP_OK;
    uint32_t late;

    *out_is_done = false;
    rounds->wait = SHM_ROUND_AWAITS_POSTS;
    if (rounds->is_retracted)
        return HOOP_OK;
    if (!rounds->is_posted) {
        skip_failed_ops(op);
        if (!is_round_post_slot_free(op, sequence, &late))
            return HOOP_OK;
        status = round_publish_post(op, sequence);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    if (!are_posts_ready(op, sequence) ||
        (op_is_inline(op) && op->run.context->failure.has_deferred))
        return HOOP_OK;
    if (!op->run.context->is_inline_under_lock)
        recorder_goes_on(op->engine->recorder, op->run.record);
    if (rounds->round + 1 < rounds->n_rounds)
        prefetch_prepare(op);
    status = shm_reduce_run(op);
    if (status != HOOP_OK)
        return error_pass(status);
    if (rounds->is_retracted)
        return HOOP_OK;
    shm_region_mark_finished(shm_region, sequence);
    rounds->is_wake_pending = true;
    shm_executor_wake_peers(op);
    rounds->round++;
    *out_is_done = true;
    return round_begin(op);
}

/* Drop the flows that were made to describe the wait. */
static void
wait_description_flows_drop(struct op *op)
{
    struct step_flow *flow;

    while ((flow = TAILQ_FIRST(&op->run.step_flows)))
        op_flow_free(flow);
}

enum hoop_status
shm_executor_advance(struct op *op, bool *out_is_complete)
{
    struct shm_execution *rounds = &op->run.rounds;
    bool is_done = shm_queue_first(op->run.context) == op;

    *out_is_complete = false;
    for (unsigned i = 0; is_done && rounds->round < rounds->n_rounds; i++) {
        /* op can continue: shm_queue_stop_sleeping() will find that. */
        if (i == ROUNDS_PER_ADVANCE_MAX)
            return HOOP_OK;
        const enum hoop_status status = shm_executor_try_round(op, &is_done);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    shm_executor_wake_peers(op);
    *out_is_complete = is_done;
    if (is_done)
        wait_description_flows_drop(op);
    return HOOP_OK;
}

bool
shm_executor_can_progress(const struct op *op)
{
    const struct shm_execution *rounds = &op->run.rounds;
    uint32_t late;

    if (rounds->round == rounds->n_rounds)
        return true;
    if (rounds->is_retracted)
        return false;
    if (!rounds->is_posted)
        return is_round_post_slot_free(op, op_round_sequence(op), &late);
    assert(rounds->n_steps_with_published_peers < op->cache.round_plan.n_steps);
    const uint32_t peer =
        op->cache.round_plan.steps[rounds->n_steps_with_published_peers].peer;

    return shm_region_poll(op->run.context->shm_region, peer,
                           op_round_sequence(op)) &&
           (rounds->wait != SHM_ROUND_AWAITS_NOTICE ||
            !is_notice_awaited(op, peer));
}

/* All ranks do about as much work as this one. */
uint64_t
shm_executor_work_ns(const struct op *op)
{
    return op_is_shm(op) ? op->run.rounds.n_touched_elements *
                               op->run.element_size * WORK_ESTIMATE_NS_PER_BYTE
                         : 0;
}

void
shm_executor_abort(struct op *op)
{
    /* A peer that comes later must not find the posts of a failed operation. */
    shm_region_retract_posts(op->run.context->shm_region, op->run.number);
    shm_region_mark_finished(op->run.context->shm_region,
                             sequence_end(op->run.number));
    wake_sleeping_peers(op->run.context);
}

/* Returns whether op waits for rank, and *out_n_bytes, the bytes it waits
 * for. */
static bool
op_awaits_rank_in_shm(const struct op *op, uint32_t rank, uint64_t *out_n_bytes)
{
    const struct shm_execution *rounds = &op->run.rounds;
    uint32_t late = rank;

    *out_n_bytes = 0;
    /* op is done and about to end. */
    if (rounds->round == rounds->n_rounds)
        return false;
    if (rounds->is_retracted)
        return rank == rounds->retracted_by;
    if (!rounds->is_posted && shm_queue_first(op->run.context) == op &&
        !is_round_post_slot_free(op, op_round_sequence(op), &late))
        return late == rank;
    for (size_t i = rounds->n_steps_with_published_peers;
         i < op->cache.round_plan.n_steps; i++) {
        const struct plan_step *step = &op->cache.round_plan.steps[i];

        if (step_reads_post(step) && step->peer == rank)
            *out_n_bytes += step->from.count * op->run.element_size;
        else
            continue;
        if (shm_region_has_posted(op->run.context->shm_region, rank,
                                  op_round_sequence(op)))
            return rounds->wait == SHM_ROUND_AWAITS_NOTICE &&
                   i == rounds->n_steps_with_published_peers &&
                   is_notice_awaited(op, rank);
        late = UINT32_MAX;
    }
    return late == UINT32_MAX;
}

static struct step_flow *
op_find_flow_to_rank(const struct op *op, uint32_t world_rank)
{
    struct step_flow *flow;

    TAILQ_FOREACH(flow, &op->run.step_flows, link)
    {
        if (step_flow_peer(flow) == world_rank)
            break;
    }
    return flow;
}

uint32_t
shm_executor_awaited_rank(const struct op *op)
{
    uint64_t n_bytes;

    for (uint32_t rank = 0; rank < op->run.context->size; rank++) {
        if (rank != op->run.context->rank &&
            op_awaits_rank_in_shm(op, rank, &n_bytes))
            return op->run.context->ranks[rank];
    }
    return HOOP_NO_RANK;
}

void
shm_executor_list_awaited(struct op *op)
{
    uint64_t n_bytes;

    for (uint32_t rank = 0; rank < op->run.context->size; rank++) {
        const uint32_t world_rank = op->run.context->ranks[rank];
        struct step_flow *flow = op_find_flow_to_rank(op, world_rank);
        const bool is_wanted = rank != op->run.context->rank &&
                               op_awaits_rank_in_shm(op, rank, &n_bytes);

        if (flow && !is_wanted)
            op_flow_free(flow);
        if (is_wanted && !flow)
            flow = op_flow_alloc(op);
        if (!is_wanted || !flow)
            continue;
        /* A connection is needed to ask the peer what it has called. */
        transport_request_connect(op->engine->transport, world_rank);
        flow->is_receive = true;
        flow->in.key = (struct flow_key){.comm = op->run.context->id,
                                         .op = op->run.number,
                                         .peer = world_rank,
                                         .kind = FLOW_COLLECTIVE};
        flow->in.total = n_bytes;
    }
}
