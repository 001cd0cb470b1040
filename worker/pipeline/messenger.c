/* pipeline/messenger.c - a stage's messages while a schedule runs */

#include "pipeline/messenger.h"

#include <stdio.h>
#include <string.h>

#include "api/tags.h"
#include "api/tensor_message.h"
#include "base/error.h"
#include "base/limits.h"
#include "engine/engine.h"
#include "tensor/operand.h"

/* The tensor that tells other stages of a failure. */

static const uint8_t abort_message_magic[ABORT_MESSAGE_MAGIC_BYTES] = {
    0x9e, 0x31, 0xd7, 0x5a, 0x04, 0xc2, 0x6f, 0xb8,
    0x13, 0xfd, 0x88, 0x47, 0xe0, 0x2b, 0x71, 0xac,
};

static struct hoop_shape
abort_message_shape(void)
{
    struct hoop_shape shape = {.n_dims = HOOP_MAX_DIMS};

    for (uint32_t i = 0; i < HOOP_MAX_DIMS - 1; i++)
        shape.dims[i] = 1;
    shape.dims[HOOP_MAX_DIMS - 1] = ABORT_MESSAGE_BYTES;
    return shape;
}

struct hoop_tensor
abort_message_pack(const struct abort_message *abort_message,
                   uint8_t bytes[ABORT_MESSAGE_BYTES])
{
    uint8_t *at = bytes;

    memset(bytes, 0, ABORT_MESSAGE_BYTES);
    memcpy(at, abort_message_magic, ABORT_MESSAGE_MAGIC_BYTES);
    at += ABORT_MESSAGE_MAGIC_BYTES;
    for (unsigned i = 0; i < 4; i++)
        *at++ = (uint8_t)((uint32_t)abort_message->status >> (8 * i));
    memcpy(at, abort_message->text,
           strnlen(abort_message->text, LIMIT_ABORT_MESSAGE_TEXT));
    return (struct hoop_tensor){
        .data = bytes,
        .dtype = HOOP_UINT8,
        .shape = abort_message_shape(),
    };
}

/* Says in the text that the sender gave another status. */
static void
abort_message_add_status(struct abort_message *abort_message, uint32_t status)
{
    char text[LIMIT_ABORT_MESSAGE_TEXT];

    memcpy(text, abort_message->text, sizeof(text));
    snprintf(abort_message->text, sizeof(abort_message->text),
             "another stage failed with status %u, which does not exist: %.*s",
             status, LIMIT_ABORT_MESSAGE_TEXT - 80, text);
}

bool
abort_message_unpack(const struct hoop_tensor *tensor,
                     struct abort_message *out_abort_message)
{
    const struct hoop_shape shape = abort_message_shape();
    uint32_t status = 0;

    if (tensor->dtype != HOOP_UINT8 || !tensor->data ||
        !hoop_shape_equal(&tensor->shape, &shape) ||
        memcmp(tensor->data, abort_message_magic, ABORT_MESSAGE_MAGIC_BYTES) !=
            0)
        return false;
    const uint8_t *at =
        (const uint8_t *)tensor->data + ABORT_MESSAGE_MAGIC_BYTES;
    for (unsigned i = 0; i < 4; i++)
        status |= (uint32_t)*at++ << (8 * i);
    /* The bytes come from another process: ensure that the status is a failure
     * and that the text is terminated. */
    out_abort_message->status = status_from_peer(status);
    memcpy(out_abort_message->text, at, LIMIT_ABORT_MESSAGE_TEXT);
    out_abort_message->text[LIMIT_ABORT_MESSAGE_TEXT - 1] = '\0';
    if (status != HOOP_OK && status != (uint32_t)out_abort_message->status)
        abort_message_add_status(out_abort_message, status);
    return true;
}

void
messenger_init(struct messenger *messenger,
               hoop_comm_t *stages,
               const struct hoop_schedule_options *shape)
{
    *messenger = (struct messenger){
        .neighbours = neighbours_in_ring(stages),
        .shape = shape,
        .stage = hoop_comm_rank(stages),
        .prev = {.wait_ms = HOOP_FOREVER},
        .next = {.wait_ms = HOOP_FOREVER},
    };
    STAILQ_INIT(&messenger->sends);
}

static enum hoop_p2p_direction
task_direction(const struct hoop_task *task)
{
    switch (task->kind) {
    case HOOP_TASK_SEND_FORWARD:
        return HOOP_P2P_SEND_NEXT;
    case HOOP_TASK_SEND_BACKWARD:
        return HOOP_P2P_SEND_PREV;
    case HOOP_TASK_RECV_BACKWARD:
        return HOOP_P2P_RECV_NEXT;
    case HOOP_TASK_RECV_FORWARD:
    case HOOP_TASK_FORWARD:
    case HOOP_TASK_BACKWARD:
        break;
    }
    return HOOP_P2P_RECV_PREV;
}

static struct messenger_side *
task_side(struct messenger *messenger, const struct hoop_task *task)
{
    return neighbour_directions[task_direction(task)].is_next
               ? &messenger->next
               : &messenger->prev;
}

/* Returns which of the sender's messages this is, and of how many. Both sides
 * compare it, so different schedules are noticed. */
static uint32_t
task_message_number(const struct messenger *messenger,
                    const struct hoop_task *task)
{
    const enum hoop_p2p_direction direction = task_direction(task);
    const uint32_t m = messenger->shape->n_micro_batches;
    const uint32_t sender = neighbour_directions[direction].kind == HOOP_SEND
                                ? messenger->stage
                                : neighbour_rank(direction, messenger->stage,
                                                 messenger->shape->n_stages);
    uint32_t chunk = task->chunk;

    if (task->kind == HOOP_TASK_RECV_FORWARD)
        chunk -= sender == messenger->shape->n_stages - 1;
    if (task->kind == HOOP_TASK_RECV_BACKWARD)
        chunk += sender == 0;
    return frame_part_numbered((size_t)messenger->shape->n_chunks * m,
                               (size_t)chunk * m + task->micro_batch);
}

/* Messages of one direction are sent and received in the same order
 * (hoop_schedule_check()), so one tag for each direction is enough. */
static enum hoop_status
task_message_start(struct messenger *messenger,
                   const struct hoop_task *task,
                   struct hoop_tensor *tensor,
                   hoop_op_t **out_op)
{
    const enum hoop_p2p_direction direction = task_direction(task);
    struct tensor_message message =
        neighbour_message(&messenger->neighbours, direction, tensor);

    if (message.kind == HOOP_RECV)
        message.received = tensor;
    message.tag = tag_of_library_part(TAG_SCHEDULE_MESSAGE,
                                      neighbour_directions[direction].pass);
    message.part = task_message_number(messenger, task);
    const enum hoop_status status =
        tensor_message_start(&message, 1, messenger->neighbours.comm, out_op);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static void
messenger_side_cut_off(struct messenger_side *side)
{
    side->is_cut_off = true;
    if (side->wait_ms == HOOP_FOREVER)
        side->wait_ms = LIMIT_MISMATCH_WAIT_MS;
}

/* Waits until op has ended. Cancels it when the limit is reached. Returns its
 * status. */
static enum hoop_status
messenger_side_wait_or_cancel(struct messenger_side *side, hoop_op_t *op)
{
    const enum hoop_status status = hoop_wait(op, side->wait_ms);

    if (status != HOOP_E_PENDING)
        return status;
    side->wait_ms = 0;
    engine_cancel_op((struct op *)op);
    return hoop_wait(op, HOOP_FOREVER);
}

enum hoop_status
messenger_start_receive(struct messenger *messenger,
                        const struct hoop_task *task,
                        struct activation_slot *place)
{
    struct messenger_side *side = task_side(messenger, task);

    if (side->is_cut_off)
        return HOOP_OK;
    place->tensor = (struct hoop_tensor){.shape = {.n_dims = HOOP_ANY_SHAPE}};
    const enum hoop_status status =
        task_message_start(messenger, task, &place->tensor, &place->op);
    if (status == HOOP_OK)
        return HOOP_OK;
    place->tensor = (struct hoop_tensor){0};
    messenger_side_cut_off(side);
    return error_pass(status);
}

enum hoop_status
messenger_wait_receive(struct messenger *messenger,
                       const struct hoop_task *task,
                       struct activation_slot *place)
{
    struct messenger_side *side = task_side(messenger, task);

    if (!place->op)
        return HOOP_OK;
    const enum hoop_status status =
        messenger_side_wait_or_cancel(side, place->op);
    place->op = NULL;
    if (status != HOOP_OK) {
        messenger_side_cut_off(side);
        return error_pass(status);
    }
    messenger->bytes_received += operand_bytes(&place->tensor);
    return HOOP_OK;
}

enum hoop_status
messenger_start_send(struct messenger *messenger,
                     const struct hoop_task *task,
                     struct hoop_tensor *tensor,
                     struct activation_slot *place)
{
    const enum hoop_status status =
        task_message_start(messenger, task, tensor, &place->op);

    if (status != HOOP_OK)
        return error_pass(status);
    messenger->bytes_sent += operand_bytes(tensor);
    place->receiver = task_side(messenger, task);
    STAILQ_INSERT_TAIL(&messenger->sends, place, link);
    messenger->n_sends++;
    return HOOP_OK;
}

enum hoop_status
messenger_reap_sends(struct messenger *messenger, size_t n_under_way)
{
    enum hoop_status status = HOOP_OK;
    struct activation_slot *place;

    while (status == HOOP_OK && (place = STAILQ_FIRST(&messenger->sends))) {
        const bool may_stay = messenger->n_sends <= n_under_way;

        if (may_stay)
            status = hoop_wait(place->op, 0);
        else
            status = messenger_side_wait_or_cancel(place->receiver, place->op);
        if (status == HOOP_E_PENDING)
            return HOOP_OK;
        STAILQ_REMOVE_HEAD(&messenger->sends, link);
        messenger->n_sends--;
        place->op = NULL;
        activation_slot_clear(place);
        if (status != HOOP_OK)
            messenger_side_cut_off(place->receiver);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
