/*
 * parallel/relay.c - a tensor taken from one layout to another
 *
 * Where everything will lie is known when it starts (parallel/legs.h), and all
 * memory is there then. Whoever drives packs what the next step sends; what the
 * last one brought is put in its place by the waiter.
 */

#include "parallel/relay.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "dtype/dtype.h"
#include "dtype/neutral.h"
#include "engine/engine.h"
#include "parallel/legs.h"
#include "session/comm.h"

enum {
    /* As any allocation of a tensor. */
    ALIGNMENT = 64,
};

struct relay {
    const struct redistribution *redistribution;
    enum hoop_dtype dtype;
    size_t count;
    struct stages hooks;
    struct legs legs;
    uint32_t at;           /* the next leg */
    struct leg *under_way; /* what it brings is still to be put in its place */
    void *rooms[N_ROOMS];
};

static void
relay_destroy(void *owner)
{
    struct relay *relay = owner;

    legs_deinit(&relay->legs);
    free(relay->rooms[ROOM_FIRST]);
    free(relay->rooms[ROOM_SECOND]);
    stages_deinit(&relay->hooks);
    free(relay);
}

static struct view_memory
memory_in(const struct relay *relay, enum room room)
{
    return (struct view_memory){relay->dtype, relay->rooms[room]};
}

static uint8_t *
element_in(const struct relay *relay, enum room room, size_t element)
{
    uint8_t *bytes = relay->rooms[room];

    return bytes ? bytes + element * dtype_size(relay->dtype) : NULL;
}

/* What came, and what stays here, to its place. */
static void
leg_land(const struct relay *relay, const struct leg *leg)
{
    const struct crossing *crossing = leg->crossing;
    const struct view_memory after = memory_in(relay, leg->after.room);

    if (leg->after.room == ROOM_NONE || leg->landed == leg->after.room)
        return;
    view_unpack(&leg->after.view, &after, crossing->in, crossing->n_in,
                relay->rooms[leg->landed]);
    if (!leg->has_kept)
        return;
    const struct view_memory before = memory_in(relay, leg->before.room);
    const struct view out = view_cut(&leg->before.view, &leg->kept_out);
    const struct view in = view_cut(&leg->after.view, &leg->kept_in);
    view_copy(&out, &before, &in, &after);
}

/* A step in which nothing is sent. A slice is a view already. */
static void
leg_stay(const struct relay *relay, const struct leg *leg)
{
    if (leg->is_filled)
        neutral_fill(relay->dtype, leg->step->after.partial_op,
                     relay->rooms[leg->after.room],
                     view_count(&leg->after.view.shape));
}

/* All up to the next leg in which anything is sent; NULL: there is none. */
static struct leg *
relay_go_on(struct relay *relay)
{
    if (relay->under_way)
        leg_land(relay, relay->under_way);
    relay->under_way = NULL;
    while (relay->at < relay->legs.n_legs) {
        struct leg *leg = &relay->legs.legs[relay->at++];

        if (leg->crossing)
            return leg;
        leg_stay(relay, leg);
    }
    return NULL;
}

/* Elsewhere a layout may say anything. */
static enum hoop_reduce_op
operator_of(const struct redistribution_step *step)
{
    return step->kind == HOOP_STEP_ALLREDUCE ||
                   step->kind == HOOP_STEP_REDUCE_SCATTER
               ? step->before.partial_op
               : HOOP_SUM;
}

static struct engine_collective
leg_send(struct relay *relay, struct leg *leg)
{
    const struct crossing *crossing = leg->crossing;
    const enum room source = leg->packed ? leg->packed : leg->before.room;
    const struct view_memory before = memory_in(relay, leg->before.room);
    struct engine_collective collective = {
        .call = {.name = CALL_REDISTRIBUTE,
                 .dtype = relay->dtype,
                 .reduce_op = operator_of(leg->step),
                 .count = relay->count},
        .algorithm = leg->step->algorithm,
        .shape = crossing->shape,
        .members = crossing_members(crossing),
        .input = element_in(relay, source, leg->first),
        .output = relay->rooms[leg->landed],
    };

    collective.call.counts = redistribution_signature(
        relay->redistribution, &collective.call.n_counts);
    if (leg->packed)
        view_pack(&leg->before.view, &before, crossing->out, crossing->n_out,
                  relay->rooms[leg->packed]);
    relay->under_way = leg;
    return collective;
}

/* Whether anything is still to be sent; what came last is the waiter's. */
static bool
has_more(const struct relay *relay)
{
    for (uint32_t i = relay->at; i < relay->legs.n_legs; i++) {
        if (relay->legs.legs[i].crossing)
            return true;
    }
    return false;
}

static enum hoop_status
relay_next(void *owner, uint32_t stage, struct engine_collective *out_next)
{
    struct relay *relay = owner;

    (void)stage;
    if (has_more(relay))
        *out_next = leg_send(relay, relay_go_on(relay));
    return HOOP_OK;
}

static enum hoop_status
relay_finish(void *owner)
{
    struct relay *relay = owner;
    const struct stay *last = &relay->legs.last;

    relay_go_on(relay);
    if (last->room != ROOM_NONE && last->room != ROOM_OUTPUT &&
        relay->rooms[last->room] != relay->rooms[ROOM_OUTPUT]) {
        const struct view_memory from = memory_in(relay, last->room);
        const struct view_memory to = memory_in(relay, ROOM_OUTPUT);
        const struct view whole = view_of(&last->view.shape);

        view_copy(&last->view, &from, &whole, &to);
    }
    return relay->hooks.finish ? relay->hooks.finish(relay->hooks.owner)
                               : HOOP_OK;
}

/* The two buffers, as far as they are used. */
static enum hoop_status
relay_allocate(struct relay *relay)
{
    const size_t element_size = dtype_size(relay->dtype);

    for (enum room room = ROOM_FIRST; room <= ROOM_SECOND; room++) {
        const size_t n_bytes = relay->legs.counts[room] * element_size;

        if (n_bytes == 0)
            continue;
        relay->rooms[room] = aligned_alloc(
            ALIGNMENT, (n_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
        if (!relay->rooms[room])
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory to sort %zu bytes by rank", n_bytes);
    }
    return HOOP_OK;
}

/* Takes hooks once it succeeds. */
static enum hoop_status
relay_create(const struct relay_request *request, struct relay **out_relay)
{
    const hoop_comm_t *comm = request->comm;
    const struct crossing_place place = {
        .redistribution = request->redistribution,
        .rank = request->rank,
        .n_ranks = comm ? channel_size(comm->channel) : 0,
    };
    struct relay *relay = calloc(1, sizeof(*relay));

    if (!relay)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a redistribution");
    relay->redistribution = request->redistribution;
    relay->dtype = request->dtype;
    relay->count = request->count;
    relay->rooms[ROOM_INPUT] = request->from ? request->from->data : NULL;
    relay->rooms[ROOM_OUTPUT] = request->to ? request->to->data : NULL;
    enum hoop_status status = legs_init(&relay->legs, &place, request->dtype);
    if (status == HOOP_OK)
        status = relay_allocate(relay);
    if (status != HOOP_OK) {
        relay_destroy(relay);
        return error_pass(status);
    }
    relay->hooks = request->hooks;
    *out_relay = relay;
    return HOOP_OK;
}

/* What needs no other rank: all of it, now. */
static enum hoop_status
relay_stay(struct relay *relay, struct op **out_op)
{
    const enum hoop_status status = relay_finish(relay);

    relay_destroy(relay);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_op = engine_start_nothing();
    return HOOP_OK;
}

static enum hoop_status
relay_set_out(struct relay *relay,
              struct channel *channel,
              enum engine_mode mode,
              struct op **out_op)
{
    struct engine_collective first = leg_send(relay, relay_go_on(relay));

    first.mode = mode;
    first.stages = (struct stages){
        .next = relay_next,
        .finish = relay_finish,
        .destroy = relay_destroy,
        .owner = relay,
    };
    return engine_start(channel, &first, out_op);
}

/* No rank of the communicator: nothing but the hooks. */
static enum hoop_status
start_outside(struct stages *hooks, struct op **out_op)
{
    const enum hoop_status status =
        hooks->finish ? hooks->finish(hooks->owner) : HOOP_OK;

    stages_deinit(hooks);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_op = engine_start_nothing();
    return HOOP_OK;
}

static enum hoop_status
start(const struct relay_request *request,
      enum engine_mode mode,
      struct op **out_op)
{
    struct stages hooks = request->hooks;
    struct relay *relay = NULL;

    if (request->rank == HOOP_NO_RANK)
        return start_outside(&hooks, out_op);
    enum hoop_status status = relay_create(request, &relay);
    if (status != HOOP_OK) {
        stages_deinit(&hooks);
        return error_pass(status);
    }
    assert(relay->legs.is_local || request->comm);
    status = relay->legs.is_local
                 ? relay_stay(relay, out_op)
                 : relay_set_out(relay, request->comm->channel, mode, out_op);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
relay_run(const struct relay_request *request)
{
    struct op *op = NULL;
    const enum hoop_status status = start(request, ENGINE_START_AND_WAIT, &op);

    if (status != HOOP_OK)
        return error_pass(status);
    return engine_wait(op, CLOCK_NEVER);
}

enum hoop_status
relay_start(const struct relay_request *request, hoop_op_t **out_op)
{
    struct op *op = NULL;
    const enum hoop_status status = start(request, ENGINE_START, &op);

    if (status != HOOP_OK)
        return error_pass(status);
    *out_op = (hoop_op_t *)op;
    return HOOP_OK;
}
