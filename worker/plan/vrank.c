/*
 * plan/vrank.c - one rank of a checker run: its memory, and how its steps move
 */

#include "plan/vrank.h"

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
vrank_at(const struct vrank *vrank, const struct plan_span *span)
{
    return vrank->memory[span->buffer] + span->first * ES;
}

static uint64_t
track_room(const struct vrank *vrank, const struct track *track)
{
    return tracker_limit(&vrank->tracker, track) - track->done;
}

static void
vrank_match_message(struct vrank *vrank, struct track *track)
{
    struct checker_message *message = checker_messages_find(
        vrank->checker_messages, vrank->rank, &track->step);

    track->owner = message;
    if (!message)
        return;
    if (track->step.kind == PLAN_SEND)
        message->sender = track;
    else
        message->receiver = track;
}

enum hoop_status
vrank_refill(struct vrank *vrank)
{
    struct track *track = NULL;
    const enum hoop_status status = tracker_refill(&vrank->tracker, &track);

    if (status != HOOP_OK)
        return error_pass(status);
    for (; track; track = TAILQ_NEXT(track, link))
        vrank_match_message(vrank, track);
    return HOOP_OK;
}

/* Combine all bytes of one element. */
static void
vrank_combine(struct vrank *vrank,
              const struct plan_step *step,
              uint64_t at,
              const uint64_t *arrived)
{
    const uint64_t *own = step->kind == PLAN_COMBINE
                              ? vrank_at(vrank, &step->to) + at
                              : vrank_at(vrank, &step->from) + at;
    uint64_t *to = vrank_at(vrank, &step->to) + at;

    for (size_t i = 0; i < ES; i++) {
        const bool own_is_left = step->side == PLAN_OWN_LEFT;
        const uint64_t sum = arithmetic_combine(
            vrank->scenario->arithmetic, own_is_left ? own[i] : arrived[i],
            own_is_left ? arrived[i] : own[i]);

        to[i] = step->is_final ? expectation_final(sum) : sum;
    }
}

/* The bytes of a REDUCE wait until they make a whole element. */
static void
message_take(struct vrank *vrank, struct checker_message *message, uint64_t n)
{
    struct track *track = message->receiver;
    const uint64_t before = track->done;
    uint64_t after = before;

    message->n_taken += n;
    while (after < message->n_taken) {
        const uint64_t *arrived = message->bytes + after;

        if (track->step.kind == PLAN_STORE) {
            vrank_at(vrank, &track->step.to)[after++] = *arrived;
            continue;
        }
        if (message->n_taken - after < ES)
            break;
        vrank_combine(vrank, &track->step, after, arrived);
        after += ES;
    }
    if (tracker_advance(&vrank->tracker, track, after - before))
        message->receiver = NULL;
}

static void
message_leave(struct vrank *vrank, struct checker_message *message, uint64_t n)
{
    struct track *track = message->sender;
    const uint64_t *from = vrank_at(vrank, &track->step.from);

    for (uint64_t i = 0; i < n; i++, message->n_sent++)
        message->bytes[message->n_sent] = from[message->n_sent];
    if (tracker_advance(&vrank->tracker, track, n))
        message->sender = NULL;
}

static uint64_t
message_room(const struct vrank *target, const struct checker_message *message)
{
    const struct track *track = message->receiver;

    if (!track)
        return 0;

    const uint64_t limit = tracker_limit(&target->tracker, track);

    return limit > message->n_taken ? limit - message->n_taken : 0;
}

/* Without a socket buffer, one call moves both the sender's and the receiver's
 * step. */
static uint64_t
message_meet(struct vrank *vranks,
             struct checker_message *message,
             const struct vrank_limits *pace)
{
    struct vrank *source = &vranks[message->source];
    struct vrank *target = &vranks[message->target];

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
send_move(struct vrank *vrank,
          struct track *track,
          const struct vrank_limits *pace)
{
    struct checker_message *message = track->owner;
    const uint64_t n_inside = message->n_sent - message->n_taken;
    uint64_t n =
        smallest(pace->move_bytes_max, pace->socket_buffer_bytes - n_inside);

    n = n > 0 ? smallest(n, track_room(vrank, track)) : 0;
    if (n > 0)
        message_leave(vrank, message, n);
    return n;
}

static uint64_t
receive_move(struct vrank *vrank,
             struct track *track,
             const struct vrank_limits *pace)
{
    struct checker_message *message = track->owner;
    uint64_t n =
        smallest(pace->move_bytes_max, message->n_sent - message->n_taken);

    n = n > 0 ? smallest(n, message_room(vrank, message)) : 0;
    if (n > 0)
        message_take(vrank, message, n);
    return n;
}

static uint64_t
local_move(struct vrank *vrank,
           struct track *track,
           const struct vrank_limits *pace)
{
    const struct plan_step *step = &track->step;
    const uint64_t *from = vrank_at(vrank, &step->from) + track->done;
    uint64_t *to = vrank_at(vrank, &step->to) + track->done;
    const uint64_t n_max = pace->move_bytes_max;
    uint64_t n = track_room(vrank, track);

    if (step->kind == PLAN_COMBINE) {
        n = smallest(n, (n_max + ES - 1) / ES * ES);
        for (uint64_t i = 0; i < n; i += ES)
            vrank_combine(vrank, step, track->done + i, from + i);
    } else {
        n = smallest(n, n_max);
        for (uint64_t i = 0; i < n; i++)
            to[i] = from[i];
    }
    if (n > 0)
        tracker_advance(&vrank->tracker, track, n);
    return n;
}

uint64_t
vrank_move(struct vrank *vrank,
           struct track *track,
           const struct vrank_limits *pace)
{
    if (!track->owner)
        return local_move(vrank, track, pace);
    if (pace->socket_buffer_bytes == 0)
        return message_meet(vrank->vranks, track->owner, pace);
    if (track->step.kind == PLAN_SEND)
        return send_move(vrank, track, pace);
    return receive_move(vrank, track, pace);
}

void
vrank_reset(struct vrank *vrank)
{
    const struct plan_shape shape =
        expectation_shape(vrank->scenario, vrank->rank);

    for (int buffer = PLAN_INPUT; buffer <= PLAN_SCRATCH; buffer++)
        expectation_fill(vrank->scenario, vrank->rank, (enum plan_buffer)buffer,
                         vrank->memory[buffer]);
    tracker_init(&vrank->tracker, vrank->scenario->algorithm, &shape, ES);
}

enum hoop_status
vrank_check(const struct vrank *vrank)
{
    for (int buffer = PLAN_INPUT; buffer <= PLAN_SCRATCH; buffer++) {
        const enum hoop_status status =
            expectation_check(vrank->scenario, vrank->rank,
                              (enum plan_buffer)buffer, vrank->memory[buffer]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
vrank_init(struct vrank *vrank)
{
    for (int buffer = PLAN_INPUT; buffer <= PLAN_SCRATCH; buffer++) {
        const size_t n_bytes = expectation_size(vrank->scenario, vrank->rank,
                                                (enum plan_buffer)buffer);

        vrank->memory[buffer] = calloc(n_bytes + 1, sizeof(uint64_t));
        if (!vrank->memory[buffer])
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory for the buffers of rank %u; check a "
                               "smaller case",
                               vrank->rank);
    }
    return HOOP_OK;
}

void
vrank_deinit(struct vrank *vrank)
{
    tracker_deinit(&vrank->tracker);
    for (int buffer = PLAN_INPUT; buffer <= PLAN_SCRATCH; buffer++) {
        free(vrank->memory[buffer]);
        vrank->memory[buffer] = NULL;
    }
}
