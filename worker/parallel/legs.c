/* parallel/legs.c - where one rank's part lies, step by step */

#include "parallel/legs.h"

#include "base/error.h"
#include "dtype/neutral.h"

/* What follows a part in room is in the other. */
static enum room
other_than(enum room room)
{
    return room == ROOM_FIRST ? ROOM_SECOND : ROOM_FIRST;
}

/* After leg number nothing moves any more. */
static bool
is_last(const struct redistribution *redistribution, uint32_t number)
{
    const uint32_t n_steps = redistribution_n_steps(redistribution);

    for (uint32_t i = number + 1; i < n_steps; i++) {
        if (redistribution_step(redistribution, i)->kind != HOOP_STEP_FILL)
            return false;
    }
    return true;
}

/* Where a dense part behind the step goes, of which source is the other side.
 */
static enum room
target_of(const struct crossing_place *place, enum room source)
{
    return is_last(place->redistribution, place->step) ? ROOM_OUTPUT
                                                       : other_than(source);
}

static void
legs_need(struct legs *legs, enum room room, size_t count)
{
    if (legs->counts[room] < count)
        legs->counts[room] = count;
}

/* The dense part that this rank has before place's step; nowhere: it has none,
 * or none of its elements. */
static struct stay
stay_in(const struct crossing_place *place, enum room room)
{
    struct stay stay = {.room = ROOM_NONE};
    struct hoop_part part;

    if (!redistribution_part(place->redistribution, place->step, place->rank,
                             &part))
        return stay;
    stay.view = view_of(&part.shape);
    if (view_count(&part.shape) > 0)
        stay.room = room;
    return stay;
}

/* ... behind it. */
static struct stay
stay_behind(const struct crossing_place *place, enum room room)
{
    struct crossing_place next = *place;

    next.step++;
    return stay_in(&next, room);
}

static void
leg_slice(struct leg *leg, const struct crossing_place *place)
{
    const struct redistribution *redistribution = place->redistribution;
    struct hoop_part before;
    struct hoop_part after;

    leg->after = leg->before;
    if (!redistribution_part(redistribution, place->step, place->rank,
                             &before) ||
        !redistribution_part(redistribution, place->step + 1, place->rank,
                             &after))
        return;
    for (uint32_t i = 0; i < after.shape.n_dims; i++)
        after.offset[i] -= before.offset[i];
    leg->after.view = view_cut(&leg->before.view, &after);
    if (view_count(&after.shape) == 0)
        leg->after.room = ROOM_NONE;
}

/* The first of a line keeps what it has, the others have what adds nothing. */
static void
leg_fill(struct legs *legs,
         struct leg *leg,
         const struct crossing_place *place,
         enum hoop_dtype dtype)
{
    const struct redistribution *redistribution = place->redistribution;

    leg->after = leg->before;
    if (leg->before.room == ROOM_NONE ||
        !neutral_exists(dtype, leg->step->after.partial_op) ||
        redistribution_shape(redistribution, place->step, place->rank).rank ==
            0)
        return;
    leg->is_filled = true;
    leg->after = stay_behind(place, target_of(place, leg->before.room));
    legs_need(legs, leg->after.room, view_count(&leg->after.view.shape));
}

/* What needs sorting on both sides need not be sorted to stay here; what comes
 * must not lie where that still is. */
static void
leg_keep(struct leg *leg, const struct crossing_place *place)
{
    struct crossing *crossing = leg->crossing;

    /* On lines, blocks are numbered by the line, not by rank. */
    if (leg->step->kind != HOOP_STEP_EXCHANGE ||
        leg->before.room != ROOM_INPUT ||
        view_count(&crossing->out[place->rank].shape) == 0)
        return;
    leg->has_kept = true;
    leg->kept_out = crossing->out[place->rank];
    leg->kept_in = crossing->in[place->rank];
    crossing_leave_out(crossing, place->rank);
}

/* Whether what goes has to be sorted. An exchange takes it from anywhere, if
 * each rank's lies without gaps; else a plan wants one behind the other. */
static bool
leg_packs(struct leg *leg)
{
    struct crossing *crossing = leg->crossing;
    const struct view *view = &leg->before.view;

    if (leg->step->kind != HOOP_STEP_EXCHANGE)
        return !view_is_run(view, crossing->out, crossing->n_out, &leg->first);
    if (!view_is_runs(view, crossing->out, crossing->n_out, crossing->firsts))
        return true;
    crossing->shape.firsts = crossing->firsts;
    return false;
}

static bool
leg_unpacks(struct leg *leg)
{
    struct crossing *crossing = leg->crossing;
    const struct view *view = &leg->after.view;
    size_t *firsts = crossing->firsts + crossing->shape.size;
    size_t first;

    if (leg->step->kind != HOOP_STEP_EXCHANGE)
        return !view_is_run(view, crossing->in, crossing->n_in, &first);
    if (!view_is_runs(view, crossing->in, crossing->n_in, firsts))
        return true;
    crossing->shape.recv_firsts = firsts;
    return false;
}

/* Which rooms what is sent passes, from before to after. */
static void
leg_find_rooms(struct leg *leg, const struct crossing_place *place)
{
    const bool packs = leg_packs(leg);
    const bool unpacks = leg_unpacks(leg);
    enum room source = leg->before.room;

    if (packs) {
        leg->packed = other_than(source);
        leg->first = 0;
        source = leg->packed;
    }
    leg->landed = unpacks ? other_than(source) : target_of(place, source);
    leg->after.room = unpacks ? target_of(place, leg->landed) : leg->landed;
    if (packs && unpacks)
        leg_keep(leg, place);
}

static enum hoop_status
leg_cross(struct legs *legs,
          struct leg *leg,
          const struct crossing_place *place)
{
    const enum hoop_status status = crossing_create(place, &leg->crossing);

    if (status != HOOP_OK)
        return error_pass(status);
    legs->is_local = false;
    leg->after = stay_behind(place, ROOM_OUTPUT);
    const bool has_after = leg->after.room != ROOM_NONE;
    leg_find_rooms(leg, place);
    if (!has_after)
        leg->after.room = ROOM_NONE;
    legs_need(legs, leg->packed, leg->crossing->out_count);
    legs_need(legs, leg->landed, leg->crossing->in_count);
    legs_need(legs, leg->after.room, view_count(&leg->after.view.shape));
    return HOOP_OK;
}

enum hoop_status
legs_init(struct legs *legs,
          const struct crossing_place *place,
          enum hoop_dtype dtype)
{
    const uint32_t n_steps = redistribution_n_steps(place->redistribution);
    struct crossing_place at = *place;

    legs->is_local = true;
    at.step = 0;
    legs->last = stay_in(&at, ROOM_INPUT);
    for (; at.step < n_steps; at.step++) {
        struct leg *leg = &legs->legs[legs->n_legs++];
        enum hoop_status status = HOOP_OK;

        leg->step = redistribution_step(at.redistribution, at.step);
        leg->before = legs->last;
        if (leg->step->kind == HOOP_STEP_SLICE)
            leg_slice(leg, &at);
        else if (leg->step->kind == HOOP_STEP_FILL)
            leg_fill(legs, leg, &at, dtype);
        else
            status = leg_cross(legs, leg, &at);
        if (status != HOOP_OK)
            return error_pass(status);
        legs->last = leg->after;
    }
    return HOOP_OK;
}

void
legs_deinit(struct legs *legs)
{
    for (uint32_t i = 0; i < legs->n_legs; i++)
        crossing_destroy(legs->legs[i].crossing);
    legs->n_legs = 0;
}
