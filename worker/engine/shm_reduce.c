/*
 * engine/shm_reduce.c - executes the steps of a shared-memory round that follow
 * its posts
 *
 * All posts that the round reads have been published. The steps fetch, combine
 * and copy in the order of the plan.
 *
 * A direct plan reads peers' buffers instead: the post of a round holds the
 * addresses of a rank's buffers (plan/plan.h). A rank that fails the operation
 * retracts its posts before its caller gets the buffers back. So a peer's post
 * is checked again after each read; if it is gone, the data are worthless and
 * the round is marked as retracted. Such a round never ends: the failure notice
 * on the operation, or the loss of that peer, is on its way.
 */

#include "engine/shm_reduce.h"

#include <string.h>

#include "base/copy.h"
#include "base/error.h"
#include "engine/executor.h"
#include "engine/fault_injection.h"
#include "engine/state.h"
#include "transport/sequence.h"
#include "transport/shm/region.h"

enum {
    LAST_LEVEL_CACHE_BYTES_ASSUMED = 16 << 20, /* half of a third-level cache */
    FETCH_TILE_BYTES =
        4 << 10, /* copied while it is in the first-level cache */
};

_Static_assert((size_t)SHM_DIRECT_LINE_BYTES <= (size_t)SHM_REGION_INLINE_BYTES,
               "they fit");

/* Returns the address of the step's other operand, or NULL if the peer's post
 * is too short. */
static const uint8_t *
step_source_address(const struct op *op, const struct plan_step *step)
{
    if (!step_reads_post(step))
        return op_span_address(op, &step->from);
    return shm_region_payload(op->run.context->shm_region, step->peer,
                              step->from.first * op->run.element_size,
                              step->from.count * op->run.element_size);
}

/* to = own (op) arrived, in the order that side says. Inlined into its callers,
 * because every call runs it. */
__attribute__((always_inline)) static inline void
shm_reduce_combine(const struct op *op,
                   const struct plan_step *step,
                   const uint8_t *own,
                   const uint8_t *arrived)
{
    uint8_t *to = op_span_address(op, &step->to);

    if (step->side == PLAN_RECEIVED_IS_LEFT_OPERAND)
        op->run.reduce(to, arrived, own, step->to.count);
    else
        op->run.reduce(to, own, arrived, step->to.count);
    if (step->is_final && op->run.divide)
        op->run.divide(to, step->to.count, op->run.shape.size);
}

/* Like shm_reduce_combine(), but also copy each result to where the next round
 * posts it. */
static void
combine_and_prefetch(const struct op *op,
                     const struct plan_step *step,
                     const uint8_t *own,
                     const uint8_t *arrived)
{
    const size_t n_tile = FETCH_TILE_BYTES / op->run.element_size;
    uint8_t *prefetch =
        op->run.rounds.prefetch + op->run.rounds.prefetch_offset_bytes;
    struct plan_step tile = *step;

    for (size_t n_left = step->to.count; n_left > 0;) {
        tile.to.count = n_left < n_tile ? n_left : n_tile;
        shm_reduce_combine(op, &tile, own, arrived);
        const size_t n_bytes = tile.to.count * op->run.element_size;
        copy_bytes(prefetch, op_span_address(op, &tile.to), n_bytes);
        prefetch += n_bytes;
        own += n_bytes;
        arrived += n_bytes;
        tile.to.first += tile.to.count;
        n_left -= tile.to.count;
    }
}

static void
combine(const struct op *op,
        const struct plan_step *step,
        const uint8_t *own,
        const uint8_t *arrived)
{
    const struct shm_execution *rounds = &op->run.rounds;

    if (rounds->prefetch &&
        step == &op->cache.round_plan.steps[rounds->prefetch_combine_step])
        combine_and_prefetch(op, step, own, arrived);
    else
        shm_reduce_combine(op, step, own, arrived);
}

/* Returns whether next combines with what step brings, so that both can be done
 * at once. */
static bool
can_fuse_steps(const struct plan_step *step, const struct plan_step *next)
{
    return (step->kind == PLAN_FETCH ||
            (step->kind == PLAN_COPY &&
             step->from.buffer != step->to.buffer)) &&
           next->kind == PLAN_FETCH_REDUCE &&
           next->to.buffer == step->to.buffer &&
           next->to.first == step->to.first &&
           next->to.count == step->to.count && step->to.count > 0;
}

static void
blame_peer_of_step(struct op *op, const struct plan_step *step)
{
    op->run.rounds.is_peer_at_fault = true;
    op->run.rounds.peer_at_fault = op->run.context->ranks[step->peer];
}

static enum hoop_status
raise_post_corrupt(struct op *op, const struct plan_step *step)
{
    char name[ROSTER_NAME_MAX];

    blame_peer_of_step(op, step);
    return error_raise(HOOP_E_DATA_LOSS,
                       "what %s says of its part in the shared memory cannot "
                       "be",
                       roster_format_name(op->engine->roster,
                                          op->run.context->ranks[step->peer],
                                          name));
}

/* Returns whether the data of all ranks exceed the caches, given that each
 * touches about as much as this one, and the destination is not in the cache
 * because this rank has posted it. */
static bool
is_larger_than_caches(const struct op *op)
{
    const struct shm_execution *rounds = &op->run.rounds;
    const size_t n_bytes = rounds->n_touched_elements * rounds->n_rounds *
                           op->run.element_size * op->run.shape.size;

    return n_bytes > LAST_LEVEL_CACHE_BYTES_ASSUMED &&
           (!op->run.shape.is_in_place || rounds->n_posts == 0);
}

/* Copy what step copies, which stands at from. */
static void
shm_reduce_copy(const struct op *op,
                const struct plan_step *step,
                const uint8_t *from)
{
    const size_t n_bytes = step->to.count * op->run.element_size;

    if (is_larger_than_caches(op))
        copy_bytes_nontemporal(op_span_address(op, &step->to), from, n_bytes);
    else
        copy_bytes(op_span_address(op, &step->to), from, n_bytes);
}

/* Do one step, or a pair. Returns how many, or 0 if a peer's post is too
 * short. */
static size_t
shm_step_execute(const struct op *op,
                 const struct plan_step *step,
                 size_t n_steps)
{
    const uint8_t *from =
        step->kind == PLAN_POST_TO_SLOT ? NULL : step_source_address(op, step);
    const bool is_fused = n_steps > 1 && can_fuse_steps(step, step + 1);

    if (step->kind == PLAN_POST_TO_SLOT || (from && step->to.count == 0))
        return 1;
    if (!from)
        return 0;
    if (!is_fused && (step->kind == PLAN_FETCH || step->kind == PLAN_COPY)) {
        shm_reduce_copy(op, step, from);
        return 1;
    }
    const struct plan_step *reduce = is_fused ? step + 1 : step;
    const uint8_t *own = is_fused ? from : op_span_address(op, &step->to);
    const uint8_t *arrived = is_fused ? step_source_address(op, reduce) : from;
    if (!arrived)
        return 0;
    combine(op, reduce, own, arrived);
    return is_fused ? 2 : 1;
}

size_t
shm_direct_publish_addresses(const struct op *op, uint8_t *line)
{
    const struct plan *plan = &op->cache.round_plan;
    uint64_t addresses[PLAN_EXPOSED_MAX] = {0};
    size_t n_shown = 0;

    for (size_t i = 0; i < plan->n_steps && plan->steps[i].kind == PLAN_EXPOSE;
         i++) {
        const struct plan_step *step = &plan->steps[i];

        addresses[step->message] =
            (uint64_t)(uintptr_t)op_span_address(op, &step->from);
        n_shown += step->from.count;
    }
    memcpy(line, addresses, sizeof(addresses));
    return n_shown * op->run.element_size;
}

/* Returns the address, in the peer's memory, of what step fetches. */
static uint64_t
peer_buffer_address(const struct op *op, const struct plan_step *step)
{
    uint64_t addresses[PLAN_EXPOSED_MAX] = {0};
    const uint8_t *line = shm_region_payload(op->run.context->shm_region,
                                             step->peer, 0, sizeof(addresses));

    if (line)
        memcpy(addresses, line, sizeof(addresses));
    return addresses[step->message] + step->from.first * op->run.element_size;
}

/* A fetch step and where its data begin in the peer's memory. */
struct shm_fetch {
    struct op *op;
    const struct plan_step *step;
    uint64_t address;
};

static enum hoop_status
raise_fetch_error(const struct shm_fetch *fetch, enum hoop_status status)
{
    struct op *op = fetch->op;
    char name[ROSTER_NAME_MAX];

    if (status == HOOP_E_DATA_LOSS)
        blame_peer_of_step(op, fetch->step);
    return error_raise(
        status, "what %s shows cannot be read: %s",
        roster_format_name(op->engine->roster,
                           op->run.context->ranks[fetch->step->peer], name),
        error_text());
}

static enum hoop_status
shm_fetch_read(const struct shm_fetch *fetch,
               size_t offset,
               uint8_t *to,
               size_t n_bytes)
{
    struct op *op = fetch->op;
    struct shm_region *shm_region = op->run.context->shm_region;
    const uint32_t peer = fetch->step->peer;
    const uint64_t sequence =
        sequence_make(op->run.number, op->run.stage, op->run.rounds.round);
    const enum hoop_status status = shm_region_cma_read(
        shm_region, peer, fetch->address + offset, to, n_bytes);

    /* The post must not be checked before the data have been read. */
    atomic_thread_fence(memory_order_acquire);
    if (status == HOOP_E_PEER_LOST ||
        !shm_region_has_posted(shm_region, peer, sequence)) {
        op->run.rounds.is_retracted = true;
        op->run.rounds.retracted_by = peer;
        return HOOP_OK;
    }
    return status == HOOP_OK ? HOOP_OK : raise_fetch_error(fetch, status);
}

/* Read pieces into a buffer that stays in the cache, and combine them from
 * there. */
static enum hoop_status
shm_fetch_combine(const struct shm_fetch *fetch, const uint8_t *own)
{
    const struct op *op = fetch->op;
    uint8_t *piece = shm_region_cma_buffer(op->run.context->shm_region);
    struct plan_step tile = *fetch->step;
    size_t n_left = tile.to.count;
    size_t offset = 0;

    while (n_left > 0) {
        const size_t n_most =
            SHM_REGION_CMA_BUFFER_BYTES / op->run.element_size;

        tile.to.count = n_left < n_most ? n_left : n_most;
        const size_t n_bytes = tile.to.count * op->run.element_size;
        const enum hoop_status status =
            shm_fetch_read(fetch, offset, piece, n_bytes);

        if (status != HOOP_OK || op->run.rounds.is_retracted)
            return status == HOOP_OK ? HOOP_OK : error_pass(status);
        shm_reduce_combine(op, &tile, own + offset, piece);
        offset += n_bytes;
        tile.to.first += tile.to.count;
        n_left -= tile.to.count;
    }
    return HOOP_OK;
}

/* own: the operand to combine with, if a copy step before was merged into this
 * one; NULL: it is at the destination. */
static enum hoop_status
shm_step_fetch(struct op *op, const struct plan_step *step, const uint8_t *own)
{
    const struct shm_fetch fetch = {op, step, peer_buffer_address(op, step)};
    enum hoop_status status;

    if (step->kind == PLAN_FETCH_REDUCE)
        status = shm_fetch_combine(&fetch,
                                   own ? own : op_span_address(op, &step->to));
    else
        status = shm_fetch_read(&fetch, 0, op_span_address(op, &step->to),
                                step->to.count * op->run.element_size);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Like shm_reduce_run(). A peer may retract its buffers: then
 * rounds.is_retracted is set. *out_n_fetched counts bytes. */
static enum hoop_status
shm_direct_run(struct op *op, size_t *out_n_fetched)
{
    const struct plan *plan = &op->cache.round_plan;
    const uint8_t *own = NULL;

    for (size_t i = 0; i < plan->n_steps; i++) {
        const struct plan_step *step = &plan->steps[i];
        const uint8_t *from =
            step->kind == PLAN_COPY ? op_span_address(op, &step->from) : NULL;

        if (step->to.count == 0)
            continue;
        if (!from) {
            const enum hoop_status status = shm_step_fetch(op, step, own);

            if (status != HOOP_OK || op->run.rounds.is_retracted)
                return status == HOOP_OK ? HOOP_OK : error_pass(status);
            *out_n_fetched += step->to.count * op->run.element_size;
            own = NULL;
        } else if (i + 1 < plan->n_steps && can_fuse_steps(step, step + 1)) {
            own = from;
        } else {
            shm_reduce_copy(op, step, from);
        }
    }
    return HOOP_OK;
}

enum hoop_status
shm_reduce_run(struct op *op)
{
    const struct plan *plan = &op->cache.round_plan;
    size_t n_fetched = 0;
    enum hoop_status status = HOOP_OK;

    if (FAULT_IS_BUILT && op->run.label.faults)
        op_inject_fault(op, FAULT_AT_RECEIVE, op->run.rounds.round);
    if (op->run.algorithm->is_direct)
        status = shm_direct_run(op, &n_fetched);
    if (status != HOOP_OK)
        return error_pass(status);
    for (size_t i = 0; i < plan->n_steps && !op->run.algorithm->is_direct;) {
        const size_t n_done =
            shm_step_execute(op, &plan->steps[i], plan->n_steps - i);

        if (n_done == 0)
            return raise_post_corrupt(op, &plan->steps[i]);
        for (size_t end = i + n_done; i < end; i++) {
            if (step_reads_post(&plan->steps[i]) &&
                plan->steps[i].peer != op->run.context->rank)
                n_fetched += plan->steps[i].to.count * op->run.element_size;
        }
    }
    transport_count_bytes(op->engine->transport, 0, n_fetched);
    return HOOP_OK;
}
