/*
 * engine/shm_direct.c - reads peers' buffers directly
 *
 * The post of a round holds the addresses of a rank's buffers (plan/plan.h). A
 * rank that fails the operation retracts its posts before its caller gets the
 * buffers back. So this file checks a peer's post again after each read; if it
 * is gone, the data are worthless and the round is marked as retracted. Such a
 * round never ends: the failure notice on the operation, or the loss of that
 * peer, is on its way.
 */

#include <string.h>

#include "base/error.h"
#include "engine/state.h"
#include "transport/sequence.h"
#include "transport/shm_region.h"

_Static_assert((size_t)SHM_DIRECT_LINE_BYTES <= (size_t)SHM_REGION_INLINE_BYTES,
               "they fit");

size_t
shm_direct_publish(const struct op *op, uint8_t *line)
{
    const struct plan *plan = &op->rounds.plan;
    uint64_t addresses[PLAN_EXPOSED_MAX] = {0};
    size_t n_shown = 0;

    for (size_t i = 0; i < plan->n_steps && plan->steps[i].kind == PLAN_EXPOSE;
         i++) {
        const struct plan_step *step = &plan->steps[i];

        addresses[step->message] =
            (uint64_t)(uintptr_t)op_span(op, &step->from);
        n_shown += step->from.count;
    }
    memcpy(line, addresses, sizeof(addresses));
    return n_shown * op->element_size;
}

/* Returns the address, in the peer's memory, of what step fetches. */
static uint64_t
address_of(const struct op *op, const struct plan_step *step)
{
    uint64_t addresses[PLAN_EXPOSED_MAX] = {0};
    const uint8_t *line = shm_region_bytes(op->context->shm_region, step->peer,
                                           0, sizeof(addresses));

    if (line)
        memcpy(addresses, line, sizeof(addresses));
    return addresses[step->message] + step->from.first * op->element_size;
}

/* A fetch step and where its data begin in the peer's memory. */
struct fetch {
    struct op *op;
    const struct plan_step *step;
    uint64_t address;
};

static enum hoop_status
read_refuse(const struct fetch *fetch, enum hoop_status status)
{
    const struct op *op = fetch->op;
    char name[ROSTER_NAME_MAX];

    return error_raise(status, "what %s shows cannot be read: %s",
                       roster_name(op->engine->roster,
                                   op->context->ranks[fetch->step->peer], name),
                       error_text());
}

static enum hoop_status
fetch_read(const struct fetch *fetch,
           size_t offset,
           uint8_t *to,
           size_t n_bytes)
{
    struct op *op = fetch->op;
    struct shm_region *shm_region = op->context->shm_region;
    const uint32_t peer = fetch->step->peer;
    const uint64_t sequence =
        sequence_of(op->number, op->stage, op->rounds.round);
    const enum hoop_status status = shm_region_cma_read(
        shm_region, peer, fetch->address + offset, to, n_bytes);

    /* The post must not be checked before the data have been read. */
    atomic_thread_fence(memory_order_acquire);
    if (status == HOOP_E_PEER_LOST ||
        !shm_region_has_posted(shm_region, peer, sequence)) {
        op->rounds.is_retracted = true;
        op->rounds.retracted_by = peer;
        return HOOP_OK;
    }
    return status == HOOP_OK ? HOOP_OK : read_refuse(fetch, status);
}

/* Read pieces into a buffer that stays in the cache, and combine them from
 * there. */
static enum hoop_status
fetch_combine(const struct fetch *fetch, const uint8_t *own)
{
    const struct op *op = fetch->op;
    uint8_t *piece = shm_region_cma_buffer(op->context->shm_region);
    struct plan_step tile = *fetch->step;
    size_t n_left = tile.to.count;
    size_t offset = 0;

    while (n_left > 0) {
        const size_t n_most = SHM_REGION_CMA_BUFFER / op->element_size;

        tile.to.count = n_left < n_most ? n_left : n_most;
        const size_t n_bytes = tile.to.count * op->element_size;
        const enum hoop_status status =
            fetch_read(fetch, offset, piece, n_bytes);

        if (status != HOOP_OK || op->rounds.is_retracted)
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
step_fetch(struct op *op, const struct plan_step *step, const uint8_t *own)
{
    const struct fetch fetch = {op, step, address_of(op, step)};
    enum hoop_status status;

    if (step->kind == PLAN_FETCH_REDUCE)
        status = fetch_combine(&fetch, own ? own : op_span(op, &step->to));
    else
        status = fetch_read(&fetch, 0, op_span(op, &step->to),
                            step->to.count * op->element_size);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
shm_direct_run(struct op *op, size_t *out_n_fetched)
{
    const struct plan *plan = &op->rounds.plan;
    const uint8_t *own = NULL;

    for (size_t i = 0; i < plan->n_steps; i++) {
        const struct plan_step *step = &plan->steps[i];
        const uint8_t *from =
            step->kind == PLAN_COPY ? op_span(op, &step->from) : NULL;

        if (step->to.count == 0)
            continue;
        if (!from) {
            const enum hoop_status status = step_fetch(op, step, own);

            if (status != HOOP_OK || op->rounds.is_retracted)
                return status == HOOP_OK ? HOOP_OK : error_pass(status);
            *out_n_fetched += step->to.count * op->element_size;
            own = NULL;
        } else if (i + 1 < plan->n_steps &&
                   shm_reduce_is_pair(step, step + 1)) {
            own = from;
        } else {
            shm_reduce_copy(op, step, from);
        }
    }
    return HOOP_OK;
}
