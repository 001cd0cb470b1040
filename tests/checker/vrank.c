/*
 * tests/checker/vrank.c - one rank of a checker run: its memory, and how its
 * steps move
 */

#include "checker/vrank.h"

#include <stdlib.h>

#include "base/error.h"
#include "checker/expectation.h"

enum {
    ES = CHECKER_ELEMENT_BYTES
};

static uint64_t
smallest(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t *
vrank_span_memory(const struct vrank *vrank, const struct plan_span *span)
{
    return vrank->memory[span->buffer] + span->first * ES;
}

static uint64_t
tracked_step_movable_bytes(const struct vrank *vrank,
                           const struct tracked_step *tracked_step)
{
    return tracker_step_limit_bytes(&vrank->tracker, tracked_step) -
           tracked_step->done;
}

static void
vrank_match_message(struct vrank *vrank, struct tracked_step *tracked_step)
{
    struct checker_message *message = checker_messages_find(
        vrank->checker_messages, vrank->rank, &tracked_step->step);

    tracked_step->owner = message;
    if (!message)
        return;
    if (tracked_step->step.kind == PLAN_SEND)
        message->sender = tracked_step;
    else
        message->receiver = tracked_step;
}

enum hoop_status
vrank_activate_steps(struct vrank *vrank)
{
    struct tracked_step *tracked_step = NULL;
    const enum hoop_status status =
        tracker_activate_rounds(&vrank->tracker, &tracked_step);

    if (status != HOOP_OK)
        return error_pass(status);
    for (; tracked_step; tracked_step = TAILQ_NEXT(tracked_step, link))
        vrank_match_message(vrank, tracked_step);
    return HOOP_OK;
}

/* Combine all bytes of one element. */
static void
vrank_combine_element(struct vrank *vrank,
                      const struct plan_step *step,
                      uint64_t at,
                      const uint64_t *arrived)
{
    const uint64_t *own = step->kind == PLAN_COMBINE
                              ? vrank_span_memory(vrank, &step->to) + at
                              : vrank_span_memory(vrank, &step->from) + at;
    uint64_t *to = vrank_span_memory(vrank, &step->to) + at;

    for (size_t i = 0; i < ES; i++) {
        const bool own_is_left = step->side == PLAN_OWN_IS_LEFT_OPERAND;
        const uint64_t sum = arithmetic_combine(
            vrank->scenario->arithmetic, own_is_left ? own[i] : arrived[i],
            own_is_left ? arrived[i] : own[i]);

        to[i] = step->is_final ? expectation_mark_final(sum) : sum;
    }
}

/* The bytes of a REDUCE wait until they make a whole element. */
static void
message_receive_bytes(struct vrank *vrank,
                      struct checker_message *message,
                      uint64_t n)
{
    struct tracked_step *tracked_step = message->receiver;
    const uint64_t before = tracked_step->done;
    uint64_t after = before;

    message->n_taken += n;
    while (after < message->n_taken) {
        const uint64_t *arrived = message->bytes + after;

        if (tracked_step->step.kind == PLAN_STORE) {
            vrank_span_memory(vrank, &tracked_step->step.to)[after++] =
                *arrived;
            continue;
        }
        if (message->n_taken - after < ES)
            break;
        vrank_combine_element(vrank, &tracked_step->step, after, arrived);
        after += ES;
    }
    if (tracker_advance_step(&vrank->tracker, tracked_step, after - before))
        message->receiver = NULL;
}

static void
message_send_bytes(struct vrank *vrank,
                   struct checker_message *message,
                   uint64_t n)
{
    struct tracked_step *tracked_step = message->sender;
    const uint64_t *from = vrank_span_memory(vrank, &tracked_step->step.from);

    for (uint64_t i = 0; i < n; i++, message->n_sent++)
        message->bytes[message->n_sent] = from[message->n_sent];
    if (tracker_advance_step(&vrank->tracker, tracked_step, n))
        message->sender = NULL;
}

static uint64_t
message_receivable_bytes(const struct vrank *target,
                         const struct checker_message *message)
{
    const struct tracked_step *tracked_step = message->receiver;

    if (!tracked_step)
        return 0;

    const uint64_t limit =
        tracker_step_limit_bytes(&target->tracker, tracked_step);

    return limit > message->n_taken ? limit - message->n_taken : 0;
}

/* Without a socket buffer, one call moves both the sender's and the receiver's
 * step. */
static uint64_t
message_transfer_unbuffered(struct vrank *vranks,
                            struct checker_message *message,
                            const struct vrank_move_limits *limits)
{
    struct vrank *source = &vranks[message->source];
    struct vrank *target = &vranks[message->target];

    if (!message->sender || !message->receiver)
        return 0;

    uint64_t n = smallest(limits->move_bytes_max,
                          tracked_step_movable_bytes(source, message->sender));

    n = n > 0 ? smallest(n, message_receivable_bytes(target, message)) : 0;
    if (n == 0)
        return 0;
    message_send_bytes(source, message, n);
    message_receive_bytes(target, message, n);
    return n;
}

static uint64_t
send_step_advance(struct vrank *vrank,
                  struct tracked_step *tracked_step,
                  const struct vrank_move_limits *limits)
{
    struct checker_message *message = tracked_step->owner;
    const uint64_t n_inside = message->n_sent - message->n_taken;
    uint64_t n = smallest(limits->move_bytes_max,
                          limits->socket_buffer_bytes - n_inside);

    n = n > 0 ? smallest(n, tracked_step_movable_bytes(vrank, tracked_step))
              : 0;
    if (n > 0)
        message_send_bytes(vrank, message, n);
    return n;
}

static uint64_t
receive_step_advance(struct vrank *vrank,
                     struct tracked_step *tracked_step,
                     const struct vrank_move_limits *limits)
{
    struct checker_message *message = tracked_step->owner;
    uint64_t n =
        smallest(limits->move_bytes_max, message->n_sent - message->n_taken);

    n = n > 0 ? smallest(n, message_receivable_bytes(vrank, message)) : 0;
    if (n > 0)
        message_receive_bytes(vrank, message, n);
    return n;
}

static uint64_t
local_step_advance(struct vrank *vrank,
                   struct tracked_step *tracked_step,
                   const struct vrank_move_limits *limits)
{
    const struct plan_step *step = &tracked_step->step;
    const uint64_t *from =
        vrank_span_memory(vrank, &step->from) + tracked_step->done;
    uint64_t *to = vrank_span_memory(vrank, &step->to) + tracked_step->done;
    const uint64_t n_max = limits->move_bytes_max;
    uint64_t n = tracked_step_movable_bytes(vrank, tracked_step);

    if (step->kind == PLAN_COMBINE) {
        n = smallest(n, (n_max + ES - 1) / ES * ES);
        for (uint64_t i = 0; i < n; i += ES)
            vrank_combine_element(vrank, step, tracked_step->done + i,
                                  from + i);
    } else {
        n = smallest(n, n_max);
        for (uint64_t i = 0; i < n; i++)
            to[i] = from[i];
    }
    if (n > 0)
        tracker_advance_step(&vrank->tracker, tracked_step, n);
    return n;
}

uint64_t
vrank_advance_step(struct vrank *vrank,
                   struct tracked_step *tracked_step,
                   const struct vrank_move_limits *limits)
{
    if (!tracked_step->owner)
        return local_step_advance(vrank, tracked_step, limits);
    if (limits->socket_buffer_bytes == 0)
        return message_transfer_unbuffered(vrank->vranks, tracked_step->owner,
                                           limits);
    if (tracked_step->step.kind == PLAN_SEND)
        return send_step_advance(vrank, tracked_step, limits);
    return receive_step_advance(vrank, tracked_step, limits);
}

void
vrank_reset(struct vrank *vrank)
{
    const struct plan_shape shape =
        expectation_shape_of_rank(vrank->scenario, vrank->rank);

    for (int buffer = PLAN_INPUT; buffer <= PLAN_SCRATCH; buffer++)
        expectation_fill_buffer(vrank->scenario, vrank->rank,
                                (enum plan_buffer)buffer,
                                vrank->memory[buffer]);
    tracker_init(&vrank->tracker, vrank->scenario->algorithm, &shape, ES);
}

enum hoop_status
vrank_check_result(const struct vrank *vrank)
{
    for (int buffer = PLAN_INPUT; buffer <= PLAN_SCRATCH; buffer++) {
        const enum hoop_status status = expectation_check_content(
            vrank->scenario, vrank->rank, (enum plan_buffer)buffer,
            vrank->memory[buffer]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
vrank_init(struct vrank *vrank)
{
    for (int buffer = PLAN_INPUT; buffer <= PLAN_SCRATCH; buffer++) {
        const size_t n_bytes = expectation_buffer_bytes(
            vrank->scenario, vrank->rank, (enum plan_buffer)buffer);

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
