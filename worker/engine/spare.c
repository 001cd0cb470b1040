/*
 * engine/spare.c - operations that have ended are kept for the next
 *
 * With their plan, their scratch, which stays touched, and their flows: what
 * is called again allocates nothing.
 */

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/patience.h"
#include "engine/residue.h"
#include "engine/state.h"

enum {
    /* More would cost more than planning. */
    SPARES_LOOKED_AT = 4,
};

/* One that has done the same before has its plan still. */
static struct op *
spare_find(const struct engine *engine,
           const struct channel *channel,
           const struct algorithm *algorithm)
{
    struct op *op = TAILQ_FIRST(&engine->spares);

    for (unsigned i = 0; op && i < SPARES_LOOKED_AT; i++) {
        if (op->algorithm == algorithm && op->channel_id == channel->id)
            return op;
        op = TAILQ_NEXT(op, link);
    }
    return TAILQ_FIRST(&engine->spares);
}

/* False: there are enough. */
static bool
spare_give(struct engine *engine, struct op *op)
{
    pthread_mutex_lock(&engine->gate);
    const bool is_wanted = engine->n_spares < LIMIT_SPARE_OPS;

    if (is_wanted) {
        TAILQ_INSERT_HEAD(&engine->spares, op, link);
        engine->n_spares++;
    }
    pthread_mutex_unlock(&engine->gate);
    return is_wanted;
}

/* The one that is kept, if it has done the same before. */
static struct op *
kept_take(const struct channel *channel, const struct algorithm *algorithm)
{
    struct engine *engine = channel->engine;
    struct op *op = atomic_exchange(&engine->kept, NULL);

    /* To a message its plan is nothing, and stays. */
    if (!op || !algorithm ||
        (op->algorithm == algorithm && op->channel_id == channel->id))
        return op;
    if (!spare_give(engine, op))
        op_destroy(op);
    return NULL;
}

static struct op *
spare_take(const struct channel *channel, const struct algorithm *algorithm)
{
    struct engine *engine = channel->engine;
    struct op *op = kept_take(channel, algorithm);

    if (op)
        return op;
    pthread_mutex_lock(&engine->gate);
    op = spare_find(engine, channel, algorithm);
    if (op) {
        TAILQ_REMOVE(&engine->spares, op, link);
        engine->n_spares--;
    }
    pthread_mutex_unlock(&engine->gate);
    return op;
}

struct op *
op_take(struct channel *channel, const struct algorithm *algorithm)
{
    struct op *op = spare_take(channel, algorithm);

    if (!op) {
        op = calloc(1, sizeof(*op));
        if (!op)
            return NULL;
        TAILQ_INIT(&op->flows);
        TAILQ_INIT(&op->spare_flows);
    }
    /* Its nodes may lie where another's did. */
    if (op->channel_id != channel->id)
        tracker_forget(&op->tracker);
    op->engine = channel->engine;
    op->channel = channel;
    op->channel_id = channel->id;
    op->state = OP_NEW;
    op->n_graces = 0;
    op->status = HOOP_OK;
    op->waiter = NULL;
    op->notified_fd = -1;
    op->partner = NULL;
    op->received = NULL;
    op->label.faults = 0;
    op->stage = 0;
    op->is_held = false;
    op->is_checking = false;
    op->is_shm = false;
    op->is_quick = false;
    op->rounds.n_before = 0;
    op->rounds.was_posted = false;
    op->rounds.is_untold = false;
    atomic_init(&op->is_cancelled, false);
    memset(op->signatures, 0, sizeof(op->signatures));
    op->started_ns = clock_now_ns();
    op->ask_after_ns = OP_ASK_FIRST_NS;
    op->ask_ns = op->started_ns + op->ask_after_ns;
    op->allowed_ns = atomic_load(&channel->timeout_ms) * CLOCK_NS_PER_MS;
    op->deadline_ns = op->started_ns + op->allowed_ns;
    op->purpose = atomic_load(&channel->purpose);
    lateness_plan(op);
    atomic_init(&op->is_done, false);
    return op;
}

void
op_destroy(struct op *op)
{
    residue_drop(op);
    executor_deinit(op);
    free(op);
}

void
op_free(struct op *op)
{
    struct engine *engine = op->engine;
    struct op *none = NULL;

    stages_deinit(&op->stages);
    if (op->status == HOOP_OK)
        residue_keep(op);
    residue_drop(op);
    if (op->scratch_capacity <= LIMIT_SPARE_SCRATCH &&
        (atomic_compare_exchange_strong(&engine->kept, &none, op) ||
         spare_give(engine, op)))
        return;
    op_destroy(op);
}
