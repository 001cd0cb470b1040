/*
 * engine/shortcut.c - a flat collective by the one who calls it
 *
 * Where nobody drives, nothing is under way or handed in and no rank is known
 * to be lost, a caller that waits at once needs no operation that others could
 * find: it posts, looks until all have posted, and fetches. The channel keeps
 * an operation for that, which is in no list, with its plan and what else the
 * next call of the same needs. A few looks are taken under the gate, where
 * nobody can come; then with the drive right. Whatever is out of the ordinary,
 * also that the others take their time, makes it an ordinary one, which goes on
 * from the round where this was.
 */

#include "engine/shortcut.h"

#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "fault/fault.h"
#include "transport/shm_region.h"

/* All but the numbers of what is copied here is the same for all calls of one
 * channel. */
static bool
is_same_plan(const struct op *op, const struct engine_collective *collective)
{
    const struct plan_shape *old = &op->shape;
    const struct plan_shape *new = &collective->shape;

    return op->algorithm == collective->algorithm && old->count == new->count &&
           old->root == new->root && old->is_in_place == new->is_in_place &&
           old->n_slot == new->n_slot && old->granule == new->granule;
}

static bool
needs_scratch(const struct engine_collective *collective)
{
    const struct algorithm *algorithm = collective->algorithm;

    return algorithm->n_scratch && algorithm->n_scratch(&collective->shape) > 0;
}

/* Whether it can be one at all; cheap. */
static bool
is_short(const struct channel *channel,
         const struct engine_collective *collective)
{
    const struct engine *engine = channel->engine;

    return channel->quick && collective->algorithm->is_shm &&
           !collective->members && !collective->stages.owner &&
           !collective->stages.next && !collective->shape.counts &&
           !needs_scratch(collective) &&
           engine->options.checking == ENGINE_CHECK_FRAMES &&
           !engine->is_orphan &&
           (is_same_plan(channel->quick, collective) ||
            collective->algorithm->n_rounds(&collective->shape) > 0);
}

/* The gate, which stays shut, and nothing that needs the drive right. By the
 * gate's order, the number is the next. */
static bool
shortcut_enter(struct channel *channel, const struct call *call)
{
    struct engine *engine = channel->engine;
    const struct frame_call called = call_frame(call);
    const bool has_root = call_has_root(&called);

    pthread_mutex_lock(&engine->gate);
    const bool is_free =
        channel_is_quiet(channel) && channel->n_early_verdicts == 0 &&
        channel->n_farewells == 0 && (has_root || channel->n_unheard_flat == 0);
    if (is_free)
        channel->quick->number = atomic_fetch_add(&channel->op_next, 1);
    else
        pthread_mutex_unlock(&engine->gate);
    return is_free;
}

/* Instead of the gate. */
static void
shortcut_drive(struct engine *engine)
{
    engine->is_driven = true;
    pthread_mutex_unlock(&engine->gate);
}

struct op *
quick_create(struct channel *channel)
{
    struct op *op = op_take(channel, NULL);

    if (!op)
        return NULL;
    op->algorithm = NULL;
    op->is_message = false;
    op->is_shm = true;
    op->is_quick = true;
    return op;
}

static bool
is_same_call(const struct op *op, const struct call *call)
{
    const struct frame_call *old = &op->call;

    return old->name == (uint32_t)call->name &&
           old->dtype == (uint32_t)call->dtype &&
           old->reduce_op == (uint32_t)call->reduce_op &&
           old->root == call->root && old->count == call->count;
}

/* What differs when the same is called again. */
static void
shortcut_renew(struct op *op, const struct engine_collective *collective)
{
    op->input = collective->input;
    op->output = collective->output;
}

/* All as it was, but for the buffers, what is called and the number. */
static enum hoop_status
shortcut_prepare(struct channel *channel,
                 const struct engine_collective *collective)
{
    struct op *op = channel->quick;
    const bool is_same = is_same_plan(op, collective);
    const bool is_again = is_same && channel->is_quick_plain &&
                          collective->call.n_counts == 0 &&
                          is_same_call(op, &collective->call);
    enum hoop_status status = HOOP_OK;

    channel->is_quick_plain = collective->call.n_counts == 0;
    op->rounds.is_odd = false;
    op->rounds.is_posted = false;
    if (is_again)
        shortcut_renew(op, collective);
    else
        status = op_set_collective(op, collective);
    if (status == HOOP_OK && is_same && op->rounds.n_rounds == 1)
        rounds_again(op);
    else if (status == HOOP_OK)
        status = rounds_begin(op);
    /* Its plan is none: it must not be taken for that of the next. */
    if (status != HOOP_OK)
        op->algorithm = NULL;
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static bool
is_disturbed(const struct channel *channel)
{
    return channel->quick->rounds.is_odd || channel->is_owed ||
           atomic_load_explicit(&channel->engine->has_mail,
                                memory_order_relaxed);
}

/* A look is as long as a line takes from one processor to the other. */
static unsigned
looks_at_once(const struct engine *engine)
{
    return engine_endurance(engine) == ENDURANCE_SPINS ? LOOKS_PER_ADVICE
                                                       : LOOKS_CROWDED;
}

/* Under the gate. False: it is not done yet. */
static bool
shortcut_try(struct channel *channel)
{
    struct op *op = channel->quick;
    bool is_done = false;

    if (op->rounds.n_rounds > 1)
        return false;
    op->is_hasty = true;
    for (unsigned i = looks_at_once(channel->engine);
         i > 0 && !is_done && !op->rounds.is_odd; i--) {
        if (rounds_try(op, &is_done) != HOOP_OK)
            break;
    }
    op->is_hasty = false;
    op->rounds.is_odd = false;
    return is_done;
}

/* Not all have posted yet. False: they take too long. */
static bool
shortcut_endure(struct channel *channel, struct endurance *endurance)
{
    struct engine *engine = channel->engine;

    rounds_tell(channel->quick);
    switch (endurance_advise(endurance, engine_endurance(engine),
                             rounds_work_ns(channel->quick))) {
    case ENDURANCE_LOOK:
        perch_take(&engine->perch);
        return true;
    case ENDURANCE_YIELD:
        engine_yield(engine);
        return true;
    case ENDURANCE_SLEEP:
        break;
    }
    return false;
}

/* One round. False: it takes too long, or is not that simple. */
static bool
shortcut_await(struct channel *channel)
{
    const unsigned n_looks = looks_at_once(channel->engine);
    struct endurance endurance = {0};
    bool is_done = false;

    for (unsigned i = 1; !is_done; i++) {
        if (rounds_try(channel->quick, &is_done) != HOOP_OK)
            return false;
        if (is_done)
            break;
        if (channel->quick->rounds.is_odd || channel->is_owed ||
            (i % n_looks == 0 &&
             (is_disturbed(channel) || !shortcut_endure(channel, &endurance))))
            return false;
    }
    return true;
}

/* All rounds; between two of them, others may want the drive right. What is so
 * long that the sockets must be looked at meanwhile is not short. */
static bool
shortcut_run(struct channel *channel)
{
    const struct rounds *rounds = &channel->quick->rounds;
    bool is_well = shortcut_await(channel);

    while (is_well && rounds->round < rounds->n_rounds)
        is_well = rounds->round < ROUNDS_PER_TURN && !is_disturbed(channel) &&
                  shortcut_await(channel);
    return is_well;
}

/* Ended, and how it will be known. */
static void
shortcut_end(struct channel *channel)
{
    struct engine *engine = channel->engine;
    const struct op *op = channel->quick;

    if (FAULT_IS_BUILT && op->label.faults)
        op_strike(op, FAULT_AT_END, 0);
    channel->begin_next = op->number + 1;
    if (call_has_root(&op->call))
        channel->n_unheard_flat = UNHEARD_LOOKS;
    if (!call_needs_all(&op->call))
        channel->n_unheard = UNHEARD_LOOKS;
    past_add_call(&channel->past, op->number, op->signatures[0],
                  &op->first_call);
    engine_count(engine);
    channel->n_turnless += op->rounds.n_rounds;
}

static void
shortcut_release(struct channel *channel)
{
    if (channel->n_turnless >= ROUNDS_PER_TURN) {
        channel->n_turnless = 0;
        engine_turn(channel->engine, 0);
    }
    engine_release(channel->engine);
}

/* It goes on as an operation like any other, whose number it has already. */
static enum hoop_status
shortcut_leave(struct channel *channel,
               const struct engine_collective *collective)
{
    struct op *quick = channel->quick;
    struct op *op = op_take(channel, collective->algorithm);
    enum hoop_status status = HOOP_OK;

    rounds_tell(quick);
    if (op) {
        op->label.faults = quick->label.faults;
        status = op_set_collective(op, collective);
    }
    if (!op || status != HOOP_OK) {
        engine_release(channel->engine);
        if (op)
            op_free(op);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for an operation");
    }
    op->is_message = false;
    op->stages = collective->stages;
    op->number = quick->number;
    op->rounds.n_before = quick->rounds.round;
    op->rounds.was_posted = quick->rounds.is_posted;
    op->is_held = true;
    return engine_wait_held(op, CLOCK_NEVER);
}

/* With the drive right, which is given up on return. */
static enum hoop_status
shortcut_go_on(struct channel *channel,
               const struct engine_collective *collective,
               bool is_ready)
{
    CLEANUP(cancel_release) const int held = cancel_hold();

    if (!is_ready || !shortcut_run(channel))
        return shortcut_leave(channel, collective);
    shortcut_end(channel);
    shortcut_release(channel);
    return HOOP_OK;
}

/* The gate is shut, and open on return. */
static enum hoop_status
shortcut_take(struct channel *channel,
              const struct engine_collective *collective)
{
    struct engine *engine = channel->engine;
    const bool is_ready = shortcut_prepare(channel, collective) == HOOP_OK;

    if (is_ready && shortcut_try(channel)) {
        shortcut_end(channel);
        if (channel->n_turnless < ROUNDS_PER_TURN) {
            pthread_mutex_unlock(&engine->gate);
            return HOOP_OK;
        }
        CLEANUP(cancel_release) const int held = cancel_hold();
        shortcut_drive(engine);
        shortcut_release(channel);
        return HOOP_OK;
    }
    shortcut_drive(engine);
    return shortcut_go_on(channel, collective, is_ready);
}

enum hoop_status
engine_run(struct channel *channel, const struct engine_collective *collective)
{
    const uint32_t faults =
        faults_of_call(channel->engine, collective->call.name);
    struct op *op = NULL;

    if (is_short(channel, collective) &&
        shortcut_enter(channel, &collective->call)) {
        channel->quick->label.faults = faults;
        return shortcut_take(channel, collective);
    }
    const enum hoop_status status = op_start(channel, collective, faults, &op);
    return status == HOOP_OK ? engine_wait(op, CLOCK_NEVER)
                             : error_pass(status);
}
