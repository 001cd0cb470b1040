/* plan/flat_actor.c - one rank of a flat rehearsal: its memory, its two slots */

#include "plan/flat_actor.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/expectation.h"

enum {
    ES = CHECKER_ELEMENT_BYTES
};

static bool
is_local(const struct plan_step *step)
{
    return step->kind == PLAN_COPY || step->kind == PLAN_COMBINE;
}

static bool
is_fetch(const struct plan_step *step)
{
    return step->kind == PLAN_FETCH || step->kind == PLAN_FETCH_REDUCE;
}

/* To the others: it stands first in its round. */
static bool
is_given(const struct plan_step *step)
{
    return step->kind == PLAN_POST || step->kind == PLAN_SHOW;
}

static bool
is_reduction(const struct plan_step *step)
{
    return step->kind == PLAN_COMBINE || step->kind == PLAN_FETCH_REDUCE;
}

static enum hoop_status
plan_wrong(const struct flat_actor *actor, size_t step, const char *what)
{
    return error_raise(HOOP_E_INTERNAL, "rank %u, round %u: step %zu %s",
                       actor->shape.rank, actor->round, step, what);
}

static bool
spans_overlap(const struct plan_span *a, const struct plan_span *b)
{
    return a->buffer == b->buffer && a->first < b->first + b->count &&
           b->first < a->first + a->count;
}

static bool
span_is_inside(const struct flat_actor *actor, const struct plan_span *span)
{
    const size_t count =
        expectation_size(actor->proof, actor->shape.rank, span->buffer) / ES;

    return span->first <= count && span->count <= count - span->first;
}

/* What is said of it where it stands in a buffer of this rank. */
static const char *
spans_fault(const struct flat_actor *actor, const struct plan_step *step)
{
    if (!is_fetch(step) && !span_is_inside(actor, &step->from))
        return "reads beyond its buffer";
    if (is_given(step))
        return NULL;
    if (!span_is_inside(actor, &step->to))
        return "writes beyond its buffer";
    if (step->from.count != step->to.count)
        return "has spans of different sizes";
    if (is_local(step) && spans_overlap(&step->from, &step->to))
        return "reads what it writes";
    return NULL;
}

static bool
is_same_span(const struct plan_span *a, const struct plan_span *b)
{
    return a->buffer == b->buffer && a->first == b->first &&
           a->count == b->count;
}

static bool
is_same_step(const struct plan_step *a, const struct plan_step *b)
{
    return a->kind == b->kind && a->peer == b->peer &&
           a->message == b->message && is_same_span(&a->from, &b->from) &&
           is_same_span(&a->to, &b->to);
}

static const char *
step_fault(const struct flat_actor *actor, size_t number)
{
    const struct plan_step *steps = actor->plan.steps;
    const struct plan_step *step = &steps[number];

    if (step->kind == PLAN_SEND || step->kind == PLAN_STORE ||
        step->kind == PLAN_REDUCE)
        return "is a message, which no flat plan has";
    if (step->kind ==
        (actor->proof->algorithm->is_direct ? PLAN_POST : PLAN_SHOW))
        return "is of the other kind of flat plans";
    if (step->peer >= actor->shape.size)
        return "names a peer that there is not";
    if (step->message >= PLAN_SHOWN)
        return "names what cannot be shown";
    if (is_given(step) && number > 0 && !is_given(&steps[number - 1]))
        return "posts behind steps that do not";
    for (size_t i = 0; i < number; i++)
        if (is_same_step(&steps[i], step))
            return "stands there twice";
    return spans_fault(actor, step);
}

/* What was posted has been fetched. */
static enum hoop_status
slot_check(const struct flat_actor *actor, const struct flat_slot *slot)
{
    for (size_t i = 0; i < slot->n_bytes; i++)
        if (slot->readers[i] == 0)
            return error_raise(HOOP_E_INTERNAL,
                               "rank %u: element %zu that it posted before "
                               "round %u was fetched by nobody",
                               actor->shape.rank, i / ES, actor->round);
    return HOOP_OK;
}

static enum hoop_status
round_begin(struct flat_actor *actor)
{
    struct flat_slot *slot = &actor->slots[actor->round % FLAT_SLOTS];
    const enum hoop_status status = slot_check(actor, slot);
    size_t n_posted = 0;

    if (status != HOOP_OK)
        return error_pass(status);
    slot->n_bytes = 0;
    memset(slot->n_shown, 0, sizeof(slot->n_shown));
    plan_clear(&actor->plan);
    actor->proof->algorithm->plan_round(&actor->plan, &actor->shape,
                                        actor->round);
    actor->is_planned = true;
    actor->step = 0;
    actor->step_bytes = 0;
    for (size_t i = 0; i < actor->plan.n_steps; i++) {
        const char *fault = step_fault(actor, i);

        if (actor->plan.steps[i].kind == PLAN_POST)
            n_posted += actor->plan.steps[i].from.count;
        if (!fault && n_posted > actor->shape.n_slot)
            fault = "posts more than the slot holds";
        if (fault)
            return plan_wrong(actor, i, fault);
    }
    return error_pass(plan_status(&actor->plan));
}

/* All are through with what this rank posted two rounds ago: they say so, or
 * have published what comes later. */
static bool
slot_is_free(const struct flat_actor *actor)
{
    if (actor->round < FLAT_SLOTS || actor->proof->slots == CHECKER_HURRIED)
        return true;

    const uint32_t round = actor->round - FLAT_SLOTS;

    for (uint32_t rank = 0; rank < actor->shape.size; rank++) {
        const struct flat_actor *other = &actor->cast[rank];

        if (other->finished <= round && other->published <= round + 1)
            return false;
    }
    return true;
}

static uint64_t *
span_at(const struct flat_actor *actor, const struct plan_span *span)
{
    const enum plan_buffer buffer =
        span->buffer == PLAN_INPUT && actor->shape.is_in_place ? PLAN_OUTPUT
                                                               : span->buffer;

    return actor->memory[buffer] + span->first * ES;
}

static void
combine(struct flat_actor *actor,
        const struct plan_step *step,
        const uint64_t *from,
        uint64_t *to)
{
    const bool own_is_left = step->side == PLAN_OWN_LEFT;
    const uint64_t sum =
        arithmetic_combine(actor->proof->arithmetic, own_is_left ? *to : *from,
                           own_is_left ? *from : *to);

    *to = step->is_final ? expectation_final(sum) : sum;
}

static void
bytes_write(struct flat_actor *actor,
            const struct plan_step *step,
            const uint64_t *from,
            uint64_t n_bytes)
{
    uint64_t *to = span_at(actor, &step->to) + actor->step_bytes;

    for (uint64_t i = 0; i < n_bytes; i++) {
        if (is_reduction(step))
            combine(actor, step, from + i, to + i);
        else
            to[i] = from[i];
    }
}

static void
bytes_post(struct flat_actor *actor,
           const struct plan_step *step,
           uint64_t n_bytes)
{
    struct flat_slot *slot = &actor->slots[actor->round % FLAT_SLOTS];
    const uint64_t *from = span_at(actor, &step->from) + actor->step_bytes;

    for (uint64_t i = 0; i < n_bytes; i++) {
        slot->bytes[slot->n_bytes] = from[i];
        slot->readers[slot->n_bytes++] = 0;
    }
}

static void
span_show(struct flat_actor *actor, const struct plan_step *step)
{
    struct flat_slot *slot = &actor->slots[actor->round % FLAT_SLOTS];

    slot->shown[step->message] = span_at(actor, &step->from);
    slot->n_shown[step->message] = step->from.count * ES;
}

static enum hoop_status
bytes_read(struct flat_actor *actor,
           const struct plan_step *step,
           uint64_t n_bytes)
{
    const struct flat_actor *peer = &actor->cast[step->peer];
    const struct flat_slot *slot = &peer->slots[actor->round % FLAT_SLOTS];
    const size_t first = step->from.first * ES + actor->step_bytes;

    if (flat_actor_is_done(peer))
        return plan_wrong(actor, actor->step, "reads of one who has ended");
    if (first + n_bytes > slot->n_shown[step->message])
        return plan_wrong(actor, actor->step, "reads what nobody shows");
    bytes_write(actor, step, slot->shown[step->message] + first, n_bytes);
    return HOOP_OK;
}

static enum hoop_status
bytes_fetch(struct flat_actor *actor,
            const struct plan_step *step,
            uint64_t n_bytes)
{
    struct flat_slot *slot =
        &actor->cast[step->peer].slots[actor->round % FLAT_SLOTS];
    const size_t first = step->from.first * ES + actor->step_bytes;
    const uint64_t bit = UINT64_C(1) << actor->shape.rank % 64;

    if (first + n_bytes > slot->n_bytes)
        return plan_wrong(actor, actor->step, "fetches what nobody posted");
    for (uint64_t i = 0; i < n_bytes; i++) {
        if (slot->readers[first + i] & bit)
            return plan_wrong(actor, actor->step, "fetches something again");
        slot->readers[first + i] |= bit;
    }
    bytes_write(actor, step, slot->bytes + first, n_bytes);
    return HOOP_OK;
}

/* How much of a step there is; elements are not torn. */
static uint64_t
step_rest(const struct flat_actor *actor,
          const struct plan_step *step,
          uint64_t n_bytes_max)
{
    const uint64_t n_all = step->from.count * ES - actor->step_bytes;
    const uint64_t n_most = (n_bytes_max + ES - 1) / ES * ES;

    return n_all < n_most ? n_all : n_most;
}

static bool
has_published(const struct flat_actor *actor, uint32_t peer)
{
    return actor->proof->slots == CHECKER_UNAWAITED ||
           actor->cast[peer].published > actor->round;
}

static enum hoop_status
step_move(struct flat_actor *actor,
          const struct plan_step *step,
          uint64_t n_bytes_max)
{
    const uint64_t n_bytes = step_rest(actor, step, n_bytes_max);
    enum hoop_status status = HOOP_OK;

    if (step->kind == PLAN_POST)
        bytes_post(actor, step, n_bytes);
    else if (step->kind == PLAN_SHOW)
        span_show(actor, step);
    else if (is_local(step))
        bytes_write(actor, step,
                    span_at(actor, &step->from) + actor->step_bytes, n_bytes);
    else if (actor->proof->algorithm->is_direct && n_bytes > 0)
        status = bytes_read(actor, step, n_bytes);
    else
        status = bytes_fetch(actor, step, n_bytes);
    if (is_fetch(step))
        actor->has_heard[step->peer] = true;

    actor->step_bytes += n_bytes;
    if (actor->step_bytes == step->from.count * ES) {
        actor->step++;
        actor->step_bytes = 0;
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static void
round_end(struct flat_actor *actor)
{
    actor->finished = ++actor->round;
    actor->is_planned = false;
}

enum hoop_status
flat_actor_move(struct flat_actor *actor,
                uint64_t n_bytes_max,
                bool *out_has_moved)
{
    enum hoop_status status = HOOP_OK;

    *out_has_moved = false;
    if (flat_actor_is_done(actor))
        return HOOP_OK;
    if (!actor->is_planned) {
        if (!slot_is_free(actor))
            return HOOP_OK;
        *out_has_moved = true;
        return error_pass(round_begin(actor));
    }

    const struct plan_step *step = actor->step < actor->plan.n_steps
                                       ? &actor->plan.steps[actor->step]
                                       : NULL;

    if (step && is_fetch(step) && actor->published > actor->round &&
        !has_published(actor, step->peer))
        return HOOP_OK;
    *out_has_moved = true;
    if (actor->published == actor->round && (!step || !is_given(step)))
        actor->published++;
    else if (step)
        status = step_move(actor, step, n_bytes_max);
    else
        round_end(actor);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

bool
flat_actor_is_done(const struct flat_actor *actor)
{
    return actor->round == actor->n_rounds;
}

/* Who leaves a barrier has heard of all. */
static enum hoop_status
barrier_check(const struct flat_actor *actor)
{
    for (uint32_t rank = 0; rank < actor->shape.size; rank++)
        if (rank != actor->shape.rank && !actor->has_heard[rank])
            return error_raise(HOOP_E_INTERNAL,
                               "rank %u leaves the barrier and has not awaited "
                               "rank %u",
                               actor->shape.rank, rank);
    return HOOP_OK;
}

enum hoop_status
flat_actor_check(const struct flat_actor *actor)
{
    enum hoop_status status = HOOP_OK;

    for (int i = 0; status == HOOP_OK && i < FLAT_SLOTS; i++)
        status = slot_check(actor, &actor->slots[i]);
    if (status != HOOP_OK)
        return error_pass(status);
    if (actor->proof->goal == CHECKER_BARRIER)
        return error_pass(barrier_check(actor));
    for (int buffer = PLAN_INPUT; status == HOOP_OK && buffer < PLAN_SCRATCH;
         buffer++)
        status =
            expectation_check(actor->proof, actor->shape.rank,
                              (enum plan_buffer)buffer, actor->memory[buffer]);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

void
flat_actor_reset(struct flat_actor *actor)
{
    actor->round = 0;
    actor->published = 0;
    actor->finished = 0;
    actor->is_planned = false;
    memset(actor->has_heard, 0, actor->shape.size * sizeof(bool));
    for (int slot = 0; slot < FLAT_SLOTS; slot++)
        actor->slots[slot] = (struct flat_slot){
            .bytes = actor->slots[slot].bytes,
            .readers = actor->slots[slot].readers,
        };
    for (int buffer = PLAN_INPUT; buffer < FLAT_BUFFERS; buffer++)
        expectation_fill(actor->proof, actor->shape.rank,
                         (enum plan_buffer)buffer, actor->memory[buffer]);
}

/* One more than needed, so that none is empty. */
static uint64_t *
bytes_create(size_t n_bytes)
{
    return calloc(n_bytes + 1, sizeof(uint64_t));
}

enum hoop_status
flat_actor_init(struct flat_actor *actor, uint32_t rank)
{
    bool has_all = true;

    actor->shape = expectation_shape(actor->proof, rank);
    actor->n_rounds = actor->proof->algorithm->n_rounds(&actor->shape);
    actor->has_heard = calloc(actor->shape.size, sizeof(bool));
    for (int i = 0; i < FLAT_SLOTS; i++) {
        actor->slots[i].bytes = bytes_create(actor->shape.n_slot * ES);
        actor->slots[i].readers = bytes_create(actor->shape.n_slot * ES);
        has_all = has_all && actor->slots[i].bytes && actor->slots[i].readers;
    }
    for (int buffer = PLAN_INPUT; buffer < FLAT_BUFFERS; buffer++) {
        actor->memory[buffer] = bytes_create(
            expectation_size(actor->proof, rank, (enum plan_buffer)buffer));
        has_all = has_all && actor->memory[buffer];
    }
    if (!actor->has_heard || !has_all)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for the buffers of rank %u; check a "
                           "smaller case",
                           rank);
    return HOOP_OK;
}

void
flat_actor_deinit(struct flat_actor *actor)
{
    plan_deinit(&actor->plan);
    free(actor->has_heard);
    for (int i = 0; i < FLAT_SLOTS; i++) {
        free(actor->slots[i].bytes);
        free(actor->slots[i].readers);
    }
    for (int buffer = PLAN_INPUT; buffer < FLAT_BUFFERS; buffer++)
        free(actor->memory[buffer]);
    *actor = (struct flat_actor){0};
}
