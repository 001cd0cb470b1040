/*
 * engine/shortcut.c - a flat collective of one round, by the one who calls it
 *
 * Where nobody drives, nothing is under way or handed in and no rank is known
 * to be lost, a caller that waits at once needs no operation that others could
 * find: it posts, looks until all have posted, and fetches. The channel keeps
 * an operation for that, which is in no list, with its plan. Whatever is out of
 * the ordinary, also that the others take their time, makes it an ordinary one,
 * which goes on from where this was.
 *
 * No test of its own: rounds_test.c takes it and has to leave it.
 */

#include "base/clock.h"
#include "base/error.h"
#include "engine/state.h"
#include "transport/hall.h"

enum {
    /* Then the sockets are looked at: a verdict may lie there. */
    SHORTCUTS_PER_TURN = 64,
    LOOKS_PER_ADVICE = 32,
};

/* All but the numbers of what is copied here is the same for all calls of one
 * channel; those with counts have no one-round plans worth keeping. */
static bool
is_same_plan(const struct op *op, const struct engine_collective *collective)
{
    const struct plan_shape *old = &op->shape;
    const struct plan_shape *new = &collective->shape;

    return op->algorithm == collective->algorithm && old->count == new->count &&
           old->root == new->root && old->is_in_place == new->is_in_place &&
           old->n_slot == new->n_slot && old->granule == new->granule;
}

/* Whether it can be one at all; cheap. */
static bool
is_short(const struct channel *channel,
         const struct engine_collective *collective)
{
    const struct engine *engine = channel->engine;

    return channel->quick && collective->algorithm->is_flat &&
           !collective->members && !collective->stages.owner &&
           !collective->stages.next && !collective->shape.counts &&
           !collective->algorithm->n_scratch &&
           engine->options.checking == ENGINE_CHECK_FRAMES &&
           !engine->is_orphan &&
           (is_same_plan(channel->quick, collective) ||
            collective->algorithm->n_rounds(&collective->shape) == 1);
}

/* The drive right, and nothing that needs it. By the gate's order, the number
 * is the next. */
static bool
shortcut_seize(struct channel *channel, const struct call *call)
{
    struct engine *engine = channel->engine;
    const struct frame_call called = call_frame(call);
    const bool has_root = call_has_root(&called);

    pthread_mutex_lock(&engine->gate);
    const bool is_free =
        !engine->is_driven &&
        !atomic_load_explicit(&engine->has_mail, memory_order_relaxed) &&
        TAILQ_EMPTY(&engine->running) && !engine->is_leaving &&
        engine->n_lost == 0 && engine->n_left == 0 && !channel->is_owed &&
        channel->n_foretold == 0 && channel->n_farewells == 0 &&
        (has_root || !channel->is_unheard);
    if (is_free) {
        engine->is_driven = true;
        channel->quick->number = atomic_fetch_add(&channel->op_next, 1);
    }
    pthread_mutex_unlock(&engine->gate);
    return is_free;
}

struct op *
quick_create(struct channel *channel)
{
    struct op *op = op_take(channel, NULL);

    if (!op)
        return NULL;
    op->algorithm = NULL;
    op->is_message = false;
    op->is_flat = true;
    op->is_quick = true;
    return op;
}

/* All as it was, but for the buffers, what is called and the number. */
static enum hoop_status
shortcut_prepare(struct op *op, const struct engine_collective *collective)
{
    const bool is_same = is_same_plan(op, collective);
    enum hoop_status status = op_set_collective(op, collective);

    op->rounds.is_odd = false;
    op->rounds.is_posted = false;
    if (status == HOOP_OK && is_same) {
        rounds_again(op);
        return HOOP_OK;
    }
    if (status == HOOP_OK)
        status = rounds_begin(op);
    /* Its plan is none: it must not be taken for that of the next. */
    if (status != HOOP_OK)
        op->algorithm = NULL;
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Until all have posted. False: it takes too long, or is not that simple. */
static bool
shortcut_await(struct channel *channel)
{
    struct engine *engine = channel->engine;
    struct endurance endurance = {0};
    bool is_done = false;

    for (unsigned n_looks = 1;; n_looks++) {
        if (rounds_try(channel->quick, &is_done) != HOOP_OK ||
            channel->quick->rounds.is_odd || channel->is_owed)
            return false;
        if (is_done)
            return true;
        if (n_looks % LOOKS_PER_ADVICE != 0)
            continue;
        if (atomic_load_explicit(&engine->has_mail, memory_order_relaxed))
            return false;
        switch (endurance_advise(&endurance, engine_endurance(engine))) {
        case ENDURANCE_LOOK:
            perch_take(&engine->perch);
            break;
        case ENDURANCE_YIELD:
            engine_yield(engine);
            break;
        case ENDURANCE_SLEEP:
            return false;
        }
    }
}

static void
shortcut_end(struct channel *channel)
{
    struct engine *engine = channel->engine;
    struct op *op = channel->quick;

    channel->begin_next = op->number + 1;
    channel->is_unheard = call_has_root(&op->call);
    past_add_call(&channel->past, op->number, op->signatures[0],
                  &op->first_call);
    atomic_store_explicit(
        &engine->n_ended,
        atomic_load_explicit(&engine->n_ended, memory_order_relaxed) + 1,
        memory_order_relaxed);
    if (++channel->n_shortcuts % SHORTCUTS_PER_TURN == 0)
        engine_turn(engine, 0);
    engine_release(engine);
}

/* It goes on as an operation like any other, whose number it has already. */
static enum hoop_status
shortcut_leave(struct channel *channel,
               const struct engine_collective *collective)
{
    const struct op *quick = channel->quick;
    struct op *op = op_take(channel, collective->algorithm);
    enum hoop_status status = HOOP_OK;

    if (op)
        status = op_set_collective(op, collective);
    if (!op || status != HOOP_OK) {
        engine_release(channel->engine);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for an operation");
    }
    op->is_message = false;
    op->stages = collective->stages;
    op->number = quick->number;
    op->rounds.was_posted = quick->rounds.is_posted;
    op->is_held = true;
    return engine_wait(op, CLOCK_NEVER);
}

enum hoop_status
engine_run(struct channel *channel, const struct engine_collective *collective)
{
    struct op *op = NULL;

    if (!is_short(channel, collective) ||
        !shortcut_seize(channel, &collective->call)) {
        const enum hoop_status status = engine_start(channel, collective, &op);

        return status == HOOP_OK ? engine_wait(op, CLOCK_NEVER)
                                 : error_pass(status);
    }
    if (shortcut_prepare(channel->quick, collective) != HOOP_OK ||
        !shortcut_await(channel))
        return shortcut_leave(channel, collective);
    shortcut_end(channel);
    return HOOP_OK;
}
