/* parallel/courier.c - a stage's messages while a schedule runs */

#include "parallel/courier.h"

#include "base/error.h"
#include "coll/tags.h"
#include "coll/tensor_message.h"
#include "tensor/operand.h"

void
courier_init(struct courier *courier,
             hoop_comm_t *stages,
             const struct hoop_schedule_options *shape)
{
    *courier = (struct courier){
        .stages = stages,
        .shape = shape,
        .stage = hoop_comm_rank(stages),
        .patience = {patience_endless(), patience_endless()},
    };
    STAILQ_INIT(&courier->sends);
}

static enum courier_side
task_side(const struct hoop_task *task)
{
    return task->kind == HOOP_TASK_SEND_FORWARD ||
                   task->kind == HOOP_TASK_RECV_BACKWARD
               ? COURIER_NEXT
               : COURIER_PREV;
}

uint32_t
courier_peer(const struct courier *courier, const struct hoop_task *task)
{
    const uint32_t n = courier->shape->n_stages;
    const uint32_t step = task_side(task) == COURIER_NEXT ? 1 : n - 1;

    return (courier->stage + step) % n;
}

/* One direction's messages come in one order (hoop_schedule_check()): a tag for
 * each is enough. */
static uint64_t
task_tag(const struct hoop_task *task)
{
    const bool is_forward = task->kind == HOOP_TASK_SEND_FORWARD ||
                            task->kind == HOOP_TASK_RECV_FORWARD;

    return tag_of(TAG_SCHEDULE, is_forward ? 0 : 1);
}

static bool
is_sent(const struct hoop_task *task)
{
    return task->kind == HOOP_TASK_SEND_FORWARD ||
           task->kind == HOOP_TASK_SEND_BACKWARD;
}

/* Which message of how many, as the sender counts: what both sides must agree
 * on, and do not when their schedules differ. */
static uint32_t
task_part(const struct courier *courier, const struct hoop_task *task)
{
    const uint32_t m = courier->shape->n_micro_batches;
    const uint32_t sender =
        is_sent(task) ? courier->stage : courier_peer(courier, task);
    uint32_t chunk = task->chunk;

    if (task->kind == HOOP_TASK_RECV_FORWARD)
        chunk -= sender == courier->shape->n_stages - 1;
    if (task->kind == HOOP_TASK_RECV_BACKWARD)
        chunk += sender == 0;
    return frame_part_numbered((size_t)courier->shape->n_chunks * m,
                               (size_t)chunk * m + task->micro_batch);
}

static enum hoop_status
message_start(struct courier *courier,
              const struct hoop_task *task,
              struct hoop_tensor *tensor,
              hoop_op_t **out_op)
{
    const struct tensor_message message = {
        .kind = is_sent(task) ? HOOP_SEND : HOOP_RECV,
        .tensor = tensor,
        .received = is_sent(task) ? NULL : tensor,
        .peer = courier_peer(courier, task),
        .tag = task_tag(task),
        .part = task_part(courier, task),
    };
    const enum hoop_status status =
        tensor_message_start(&message, 1, courier->stages, out_op);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static void
cut(struct courier *courier, enum courier_side side)
{
    courier->is_cut[side] = true;
    patience_doubt(&courier->patience[side]);
}

enum hoop_status
courier_receive(struct courier *courier,
                const struct hoop_task *task,
                struct shelf_place *place)
{
    if (courier->is_cut[task_side(task)])
        return HOOP_OK;
    place->tensor = (struct hoop_tensor){.shape = {.n_dims = HOOP_ANY_SHAPE}};
    const enum hoop_status status =
        message_start(courier, task, &place->tensor, &place->op);
    if (status == HOOP_OK)
        return HOOP_OK;
    place->tensor = (struct hoop_tensor){0};
    cut(courier, task_side(task));
    return error_pass(status);
}

enum hoop_status
courier_await(struct courier *courier,
              const struct hoop_task *task,
              struct shelf_place *place)
{
    if (!place->op)
        return HOOP_OK;
    const enum hoop_status status =
        patience_wait(&courier->patience[task_side(task)], place->op);
    place->op = NULL;
    if (status != HOOP_OK) {
        cut(courier, task_side(task));
        return error_pass(status);
    }
    courier->bytes_received += operand_bytes(&place->tensor);
    return HOOP_OK;
}

enum hoop_status
courier_send(struct courier *courier,
             const struct hoop_task *task,
             struct hoop_tensor *tensor,
             struct shelf_place *place)
{
    const enum hoop_status status =
        message_start(courier, task, tensor, &place->op);

    if (status != HOOP_OK)
        return error_pass(status);
    courier->bytes_sent += operand_bytes(tensor);
    place->is_to_next = task_side(task) == COURIER_NEXT;
    STAILQ_INSERT_TAIL(&courier->sends, place, link);
    courier->n_sends++;
    return HOOP_OK;
}

static enum courier_side
place_side(const struct shelf_place *place)
{
    return place->is_to_next ? COURIER_NEXT : COURIER_PREV;
}

enum hoop_status
courier_settle(struct courier *courier, size_t n_under_way)
{
    enum hoop_status status = HOOP_OK;
    struct shelf_place *place;

    while (status == HOOP_OK && (place = STAILQ_FIRST(&courier->sends))) {
        const bool may_stay = courier->n_sends <= n_under_way;

        if (may_stay)
            status = hoop_wait(place->op, 0);
        else
            status =
                patience_wait(&courier->patience[place_side(place)], place->op);
        if (status == HOOP_E_PENDING)
            return HOOP_OK;
        STAILQ_REMOVE_HEAD(&courier->sends, link);
        courier->n_sends--;
        place->op = NULL;
        shelf_clear(place);
        if (status != HOOP_OK)
            cut(courier, place_side(place));
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
