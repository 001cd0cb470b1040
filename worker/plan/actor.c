/* plan/actor.c - one rank of a rehearsal: its memory, and how its steps move */

#include "plan/actor.h"

#include <stdlib.h>

#include "base/error.h"
#include "plan/expectation.h"

enum {
    ES = CHECKER_ELEMENT_BYTES
};

static uint64_t
smallest(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t *
actor_at(const struct actor *actor, const struct plan_span *span)
{
    return actor->memory[span->buffer] + span->first * ES;
}

static uint64_t
track_room(const struct actor *actor, const struct track *track)
{
    return tracker_limit(&actor->tracker, track) - track->done;
}

static void
actor_meet_message(struct actor *actor, struct track *track)
{
    struct ledger_message *message =
        ledger_find(actor->ledger, actor->rank, &track->step);

    track->owner = message;
    if (!message)
        return;
    if (track->step.kind == PLAN_SEND)
        message->sender = track;
    else
        message->receiver = track;
}

enum hoop_status
actor_refill(struct actor *actor)
{
    struct track *track = NULL;
    const enum hoop_status status = tracker_refill(&actor->tracker, &track);

    if (status != HOOP_OK)
        return error_pass(status);
    for (; track; track = TAILQ_NEXT(track, link))
        actor_meet_message(actor, track);
    return HOOP_OK;
}

/* One element, all its bytes at once. */
static void
actor_combine(struct actor *actor,
              const struct plan_step *step,
              uint64_t at,
              const uint64_t *arrived)
{
    const uint64_t *own = step->kind == PLAN_COMBINE
                              ? actor_at(actor, &step->to) + at
                              : actor_at(actor, &step->from) + at;
    uint64_t *to = actor_at(actor, &step->to) + at;

    for (size_t i = 0; i < ES; i++) {
        const bool own_is_left = step->side == PLAN_OWN_LEFT;
        const uint64_t sum = arithmetic_combine(
            actor->proof->arithmetic, own_is_left ? own[i] : arrived[i],
            own_is_left ? arrived[i] : own[i]);

        to[i] = step->is_final ? expectation_final(sum) : sum;
    }
}

/* The bytes of a REDUCE wait until they make a whole element. */
static void
message_take(struct actor *actor, struct ledger_message *message, uint64_t n)
{
    struct track *track = message->receiver;
    const uint64_t before = track->done;
    uint64_t after = before;

    message->n_taken += n;
    while (after < message->n_taken) {
        const uint64_t *arrived = message->bytes + after;

        if (track->step.kind == PLAN_STORE) {
            actor_at(actor, &track->step.to)[after++] = *arrived;
            continue;
        }
        if (message->n_taken - after < ES)
            break;
        actor_combine(actor, &track->step, after, arrived);
        after += ES;
    }
    if (tracker_advance(&actor->tracker, track, after - before))
        message->receiver = NULL;
}

static void
message_leave(struct actor *actor, struct ledger_message *message, uint64_t n)
{
    struct track *track = message->sender;
    const uint64_t *from = actor_at(actor, &track->step.from);

    for (uint64_t i = 0; i < n; i++, message->n_sent++)
        message->bytes[message->n_sent] = from[message->n_sent];
    if (tracker_advance(&actor->tracker, track, n))
        message->sender = NULL;
}

static uint64_t
message_room(const struct actor *target, const struct ledger_message *message)
{
    const struct track *track = message->receiver;

    if (!track)
        return 0;

    const uint64_t limit = tracker_limit(&target->tracker, track);

    return limit > message->n_taken ? limit - message->n_taken : 0;
}

/* Without a socket buffer, either side moves both. */
static uint64_t
message_meet(struct actor *cast,
             struct ledger_message *message,
             const struct actor_pace *pace)
{
    struct actor *source = &cast[message->source];
    struct actor *target = &cast[message->target];

    if (!message->sender || !message->receiver)
        return 0;

    uint64_t n =
        smallest(pace->move_bytes_max, track_room(source, message->sender));

    n = n > 0 ? smallest(n, message_room(target, message)) : 0;
    if (n == 0)
        return 0;
    message_leave(source, message, n);
    message_take(target, message, n);
    return n;
}

static uint64_t
send_move(struct actor *actor,
          struct track *track,
          const struct actor_pace *pace)
{
    struct ledger_message *message = track->owner;
    const uint64_t n_inside = message->n_sent - message->n_taken;
    uint64_t n =
        smallest(pace->move_bytes_max, pace->socket_buffer_bytes - n_inside);

    n = n > 0 ? smallest(n, track_room(actor, track)) : 0;
    if (n > 0)
        message_leave(actor, message, n);
    return n;
}

static uint64_t
receive_move(struct actor *actor,
             struct track *track,
             const struct actor_pace *pace)
{
    struct ledger_message *message = track->owner;
    uint64_t n =
        smallest(pace->move_bytes_max, message->n_sent - message->n_taken);

    n = n > 0 ? smallest(n, message_room(actor, message)) : 0;
    if (n > 0)
        message_take(actor, message, n);
    return n;
}

static uint64_t
local_move(struct actor *actor,
           struct track *track,
           const struct actor_pace *pace)
{
    const struct plan_step *step = &track->step;
    const uint64_t *from = actor_at(actor, &step->from) + track->done;
    uint64_t *to = actor_at(actor, &step->to) + track->done;
    const uint64_t n_max = pace->move_bytes_max;
    uint64_t n = track_room(actor, track);

    if (step->kind == PLAN_COMBINE) {
        n = smallest(n, (n_max + ES - 1) / ES * ES);
        for (uint64_t i = 0; i < n; i += ES)
            actor_combine(actor, step, track->done + i, from + i);
    } else {
        n = smallest(n, n_max);
        for (uint64_t i = 0; i < n; i++)
            to[i] = from[i];
    }
    if (n > 0)
        tracker_advance(&actor->tracker, track, n);
    return n;
}

uint64_t
actor_move(struct actor *actor,
           struct track *track,
           const struct actor_pace *pace)
{
    if (!track->owner)
        return local_move(actor, track, pace);
    if (pace->socket_buffer_bytes == 0)
        return message_meet(actor->cast, track->owner, pace);
    if (track->step.kind == PLAN_SEND)
        return send_move(actor, track, pace);
    return receive_move(actor, track, pace);
}

void
actor_reset(struct actor *actor)
{
    const struct plan_shape shape =
        expectation_shape(actor->proof, actor->rank);

    for (int buffer = PLAN_INPUT; buffer <= PLAN_SCRATCH; buffer++)
        expectation_fill(actor->proof, actor->rank, (enum plan_buffer)buffer,
                         actor->memory[buffer]);
    tracker_init(&actor->tracker, actor->proof->algorithm, &shape, ES);
}

enum hoop_status
actor_check(const struct actor *actor)
{
    for (int buffer = PLAN_INPUT; buffer <= PLAN_SCRATCH; buffer++) {
        const enum hoop_status status =
            expectation_check(actor->proof, actor->rank,
                              (enum plan_buffer)buffer, actor->memory[buffer]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
actor_init(struct actor *actor)
{
    for (int buffer = PLAN_INPUT; buffer <= PLAN_SCRATCH; buffer++) {
        const size_t n_bytes = expectation_size(actor->proof, actor->rank,
                                                (enum plan_buffer)buffer);

        actor->memory[buffer] = calloc(n_bytes + 1, sizeof(uint64_t));
        if (!actor->memory[buffer])
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory for the buffers of rank %u; check a "
                               "smaller case",
                               actor->rank);
    }
    return HOOP_OK;
}

void
actor_deinit(struct actor *actor)
{
    tracker_deinit(&actor->tracker);
    for (int buffer = PLAN_INPUT; buffer <= PLAN_SCRATCH; buffer++) {
        free(actor->memory[buffer]);
        actor->memory[buffer] = NULL;
    }
}
