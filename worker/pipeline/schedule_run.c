/*
 * pipeline/schedule_run.c - executes a schedule with the user's callbacks
 *
 * A stage goes through its list once, in order. A task waits only for the
 * messages that it needs: receives have been started earlier, and sends proceed
 * in the background. This waits less than the strict execution that schedules
 * are checked under, so no run deadlocks.
 *
 * A stage that fails continues through its list to the end without computing.
 * It sends an abort message in place of every tensor that it still has to send,
 * and receives what it is sent. So every stage learns of the failure where it
 * waits and does the same, and no message is left on the communicator.
 */

#include "pipeline/schedule_run.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/schedule_run.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "pipeline/messenger.h"
#include "pipeline/schedule/schedule.h"
#include "tensor/operand.h"

/* The tensors that a stage holds during a run. */

enum hoop_status
activation_store_init(struct activation_store *activation_store,
                      const struct hoop_schedule_options *shape)
{
    const size_t n_slots_per_kind =
        (size_t)shape->n_chunks * shape->n_micro_batches;

    *activation_store = (struct activation_store){
        .n_micro_batches = shape->n_micro_batches,
        .n_slots_per_kind = n_slots_per_kind,
        .places = calloc(ACTIVATION_N_KINDS * n_slots_per_kind,
                         sizeof(*activation_store->places)),
    };
    if (!activation_store->places)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for the places of %zu tensors",
                           ACTIVATION_N_KINDS * n_slots_per_kind);
    return HOOP_OK;
}

void
activation_store_deinit(struct activation_store *activation_store)
{
    for (size_t i = 0;
         activation_store->places &&
         i < ACTIVATION_N_KINDS * activation_store->n_slots_per_kind;
         i++)
        activation_slot_clear(&activation_store->places[i]);
    free(activation_store->places);
    *activation_store = (struct activation_store){0};
}

struct activation_slot *
activation_store_slot(const struct activation_store *activation_store,
                      enum activation_kind row,
                      uint32_t chunk,
                      uint32_t micro_batch)
{
    const size_t column =
        chunk * activation_store->n_micro_batches + micro_batch;

    assert(column < activation_store->n_slots_per_kind);
    return &activation_store
                ->places[(size_t)row * activation_store->n_slots_per_kind +
                         column];
}

void
activation_slot_clear(struct activation_slot *place)
{
    assert(!place->op);
    hoop_tensor_free(&place->tensor);
    place->tensor = (struct hoop_tensor){0};
}

void
activation_slot_move(struct activation_slot *from, struct activation_slot *to)
{
    assert(!from->op && !to->op && !to->tensor.data);
    to->tensor = from->tensor;
    from->tensor = (struct hoop_tensor){0};
}

struct run {
    const struct hoop_schedule_options *shape;
    const struct hoop_stage_work *work;
    const struct hoop_task *tasks;
    size_t n_tasks;
    size_t at;
    size_t
        next_receive_to_start; /* receives of tasks before this one are started */
    size_t n_live_activations;
    struct messenger messenger;
    struct activation_store activation_store;
    struct hoop_run_stats stats;
    struct abort_message failure;
    uint8_t abort_message_bytes[ABORT_MESSAGE_BYTES];
    struct hoop_tensor abort_message; /* the tensor that carries the failure */
};

static bool
run_has_failed(const struct run *run)
{
    return run->failure.status != HOOP_OK;
}

static bool
task_is_first_stage(const struct run *run, const struct hoop_task *task)
{
    return run->messenger.stage == 0 && task->chunk == 0;
}

static bool
task_is_last_stage(const struct run *run, const struct hoop_task *task)
{
    return run->messenger.stage == run->shape->n_stages - 1 &&
           task->chunk == run->shape->n_chunks - 1;
}

static bool
run_is_single_stage(const struct run *run)
{
    return run->shape->n_stages == 1;
}

static struct activation_slot *
task_activation_slot(const struct run *run,
                     enum activation_kind row,
                     const struct hoop_task *task)
{
    return activation_store_slot(&run->activation_store, row, task->chunk,
                                 task->micro_batch);
}

/* Ends the run with a failure; the first one counts, on whatever stage it
 * was. */
static void
run_set_failure(struct run *run, const struct abort_message *failure)
{
    if (run_has_failed(run))
        return;
    run->failure = *failure;
    run->abort_message = abort_message_pack(failure, run->abort_message_bytes);
}

/* Ends the run with a failure of this stage. The text includes the last
 * error. */
static void
run_fail_task(struct run *run,
              enum hoop_status status,
              const struct hoop_task *task,
              const char *what)
{
    struct abort_message failure = {.status = status};
    char text[TASK_TEXT_MAX];
    const char *why = error_text();

    snprintf(failure.text, sizeof(failure.text), "stage %u: the %s %s (%s)%s%s",
             run->messenger.stage, task_describe(task, text), what,
             hoop_status_name(status), why[0] ? ": " : "", why);
    run_set_failure(run, &failure);
}

static void
run_report_task_times(const struct run *run,
                      const struct hoop_task *task,
                      uint64_t begin_ns,
                      uint64_t end_ns)
{
    if (run->work->on_task && !run_has_failed(run))
        run->work->on_task(run->work->owner, task, begin_ns, end_ns);
}

/* Waits until the tensor that a task needs of another stage has arrived, or the
 * run has failed. A stage that is alone has its tensors already. */
static void
run_wait_for_tensor(struct run *run,
                    enum hoop_task_kind kind,
                    const struct hoop_task *task,
                    struct activation_slot *place)
{
    const struct hoop_task receive = {kind, task->micro_batch, task->chunk};
    const uint64_t begin_ns = clock_now_ns();
    struct abort_message heard;

    if (run_is_single_stage(run))
        return;
    const enum hoop_status status =
        messenger_wait_receive(&run->messenger, &receive, place);
    const uint64_t end_ns = clock_now_ns();
    run->stats.wait_ns += end_ns - begin_ns;
    if (status != HOOP_OK)
        run_fail_task(run, status, &receive, "failed");
    else if (abort_message_unpack(&place->tensor, &heard))
        run_set_failure(run, &heard);
    run_report_task_times(run, &receive, begin_ns, end_ns);
    if (run_has_failed(run))
        activation_slot_clear(place);
}

/* The tensors of a forward or a backward. */
struct task_tensors {
    struct activation_slot *input; /* NULL on the first virtual stage */
    /* NULL on the last virtual stage and in a forward */
    struct activation_slot *output_grad;
    struct activation_slot *made;
    /* for a stage alone: where the result goes; NULL: it is sent or unused */
    struct activation_slot *onward;
    bool is_result_used; /* the result is used */
};

static struct task_tensors
forward_task_tensors(const struct run *run, const struct hoop_task *task)
{
    struct hoop_task next = *task;
    struct task_tensors forward = {
        .made = task_activation_slot(run, ACTIVATION_OUTPUT, task),
        .is_result_used = !task_is_last_stage(run, task),
    };

    next.chunk++;
    if (!task_is_first_stage(run, task))
        forward.input = task_activation_slot(run, ACTIVATION_INPUT, task);
    if (forward.is_result_used && run_is_single_stage(run))
        forward.onward = task_activation_slot(run, ACTIVATION_INPUT, &next);
    return forward;
}

static struct task_tensors
backward_task_tensors(const struct run *run, const struct hoop_task *task)
{
    struct hoop_task next = *task;
    struct task_tensors backward = {
        .made = task_activation_slot(run, ACTIVATION_INPUT_GRAD, task),
        .is_result_used = !task_is_first_stage(run, task),
    };

    next.chunk--;
    if (backward.is_result_used)
        backward.input = task_activation_slot(run, ACTIVATION_INPUT, task);
    if (!task_is_last_stage(run, task))
        backward.output_grad =
            task_activation_slot(run, ACTIVATION_OUTPUT_GRAD, task);
    if (backward.is_result_used && run_is_single_stage(run))
        backward.onward =
            task_activation_slot(run, ACTIVATION_OUTPUT_GRAD, &next);
    return backward;
}

static const struct hoop_tensor *
slot_tensor(const struct activation_slot *place)
{
    return place ? &place->tensor : NULL;
}

static bool
slot_has_same_memory(const struct activation_slot *made,
                     const struct activation_slot *given)
{
    return made->tensor.data && given &&
           made->tensor.data == given->tensor.data;
}

/* Checks that the callback made a tensor in memory of its own. Memory that it
 * was given must not be freed twice. */
static enum hoop_status
callback_output_check(const struct task_tensors *task_tensors)
{
    struct activation_slot *made = task_tensors->made;

    if (slot_has_same_memory(made, task_tensors->input) ||
        slot_has_same_memory(made, task_tensors->output_grad)) {
        made->tensor = (struct hoop_tensor){0};
        return error_raise(HOOP_E_INVALID,
                           "it made a tensor of the memory that it was given; "
                           "make one by hoop_tensor_create()");
    }
    return task_tensors->is_result_used
               ? operand_check(&made->tensor, "what it made")
               : HOOP_OK;
}

static enum hoop_status
stage_callback_call(const struct run *run,
                    const struct hoop_task *task,
                    const struct task_tensors *task_tensors)
{
    const struct hoop_stage_work *work = run->work;
    struct hoop_tensor *out = &task_tensors->made->tensor;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (task->kind == HOOP_TASK_FORWARD)
        return work->forward(work->owner, task,
                             slot_tensor(task_tensors->input), out);
    return work->backward(work->owner, task, slot_tensor(task_tensors->input),
                          slot_tensor(task_tensors->output_grad), out);
}

static void
stage_callback_run_timed(struct run *run,
                         const struct hoop_task *task,
                         const struct task_tensors *task_tensors)
{
    const uint64_t begin_ns = clock_now_ns();
    enum hoop_status status = stage_callback_call(run, task, task_tensors);
    const uint64_t end_ns = clock_now_ns();

    run->stats.compute_ns += end_ns - begin_ns;
    if (status != HOOP_OK) {
        run_fail_task(run, status, task, "failed");
        return;
    }
    status = callback_output_check(task_tensors);
    if (status != HOOP_OK)
        run_fail_task(run, status, task, "went wrong");
    run_report_task_times(run, task, begin_ns, end_ns);
}

/* Frees the result or moves it on; a result that is sent stays. */
static void
callback_output_store(const struct run *run,
                      const struct task_tensors *task_tensors)
{
    if (run_has_failed(run) || !task_tensors->is_result_used)
        activation_slot_clear(task_tensors->made);
    else if (task_tensors->onward)
        activation_slot_move(task_tensors->made, task_tensors->onward);
}

static void
run_forward_task(struct run *run, const struct hoop_task *task)
{
    const struct task_tensors forward = forward_task_tensors(run, task);

    if (forward.input)
        run_wait_for_tensor(run, HOOP_TASK_RECV_FORWARD, task, forward.input);
    if (run_has_failed(run))
        return;
    if (++run->n_live_activations > run->stats.n_live_max)
        run->stats.n_live_max = run->n_live_activations;
    stage_callback_run_timed(run, task, &forward);
    callback_output_store(run, &forward);
}

static void
run_backward_task(struct run *run, const struct hoop_task *task)
{
    const struct task_tensors backward = backward_task_tensors(run, task);

    if (backward.output_grad)
        run_wait_for_tensor(run, HOOP_TASK_RECV_BACKWARD, task,
                            backward.output_grad);
    if (run_has_failed(run))
        return;
    stage_callback_run_timed(run, task, &backward);
    callback_output_store(run, &backward);
    if (backward.input)
        activation_slot_clear(backward.input);
    if (backward.output_grad)
        activation_slot_clear(backward.output_grad);
    run->n_live_activations--;
}

static void
run_send_task(struct run *run, const struct hoop_task *task)
{
    const enum activation_kind row = task->kind == HOOP_TASK_SEND_FORWARD
                                         ? ACTIVATION_OUTPUT
                                         : ACTIVATION_INPUT_GRAD;
    struct activation_slot *place = task_activation_slot(run, row, task);
    const uint64_t begin_ns = clock_now_ns();

    if (run_has_failed(run))
        activation_slot_clear(place);
    enum hoop_status status = messenger_start_send(
        &run->messenger, task,
        run_has_failed(run) ? &run->abort_message : &place->tensor, place);
    const uint64_t started_ns = clock_now_ns();
    if (status == HOOP_OK)
        status = messenger_reap_sends(&run->messenger,
                                      LIMIT_PIPELINE_SENDS_IN_FLIGHT);
    const uint64_t end_ns = clock_now_ns();
    run->stats.wait_ns += end_ns - started_ns;
    if (status != HOOP_OK)
        run_fail_task(run, status, task, "failed");
    run_report_task_times(run, task, begin_ns, end_ns);
}

static bool
task_is_receive(const struct hoop_task *task)
{
    return task->kind == HOOP_TASK_RECV_FORWARD ||
           task->kind == HOOP_TASK_RECV_BACKWARD;
}

static void
task_receive_start(struct run *run, const struct hoop_task *task)
{
    const enum activation_kind row = task->kind == HOOP_TASK_RECV_FORWARD
                                         ? ACTIVATION_INPUT
                                         : ACTIVATION_OUTPUT_GRAD;
    const enum hoop_status status = messenger_start_receive(
        &run->messenger, task, task_activation_slot(run, row, task));

    if (status != HOOP_OK)
        run_fail_task(run, status, task, "failed");
}

/* Starts all receives up to LIMIT_PIPELINE_PREPOSTED_TASKS tasks after the
 * current one. */
static void
run_start_receives_ahead(struct run *run)
{
    for (;
         run->next_receive_to_start < run->n_tasks &&
         run->next_receive_to_start <= run->at + LIMIT_PIPELINE_PREPOSTED_TASKS;
         run->next_receive_to_start++) {
        const struct hoop_task *task = &run->tasks[run->next_receive_to_start];

        if (task_is_receive(task))
            task_receive_start(run, task);
    }
}

static void
run_task(struct run *run, const struct hoop_task *task)
{
    switch (task->kind) {
    case HOOP_TASK_FORWARD:
        run_forward_task(run, task);
        return;
    case HOOP_TASK_BACKWARD:
        run_backward_task(run, task);
        return;
    case HOOP_TASK_SEND_FORWARD:
    case HOOP_TASK_SEND_BACKWARD:
        run_send_task(run, task);
        return;
    case HOOP_TASK_RECV_FORWARD:
    case HOOP_TASK_RECV_BACKWARD:
        /* The task that needs the tensor waits for it. */
        return;
    }
}

/* Waits for all sends, so that other stages learn of a failure. */
static void
run_wait_for_sends(struct run *run)
{
    const uint64_t begin_ns = clock_now_ns();

    while (run->messenger.n_sends > 0) {
        const struct hoop_task *last = &run->tasks[run->n_tasks - 1];
        const enum hoop_status status =
            messenger_reap_sends(&run->messenger, 0);

        if (status != HOOP_OK)
            run_fail_task(run, status, last, "or a send before it failed");
    }
    run->stats.wait_ns += clock_now_ns() - begin_ns;
}

static void
run_tasks(struct run *run)
{
    const uint64_t begin_ns = clock_now_ns();

    for (run->at = 0; run->at < run->n_tasks; run->at++) {
        run_start_receives_ahead(run);
        run_task(run, &run->tasks[run->at]);
    }
    run_wait_for_sends(run);
    run->stats.bytes_sent = run->messenger.bytes_sent;
    run->stats.bytes_received = run->messenger.bytes_received;
    run->stats.total_ns = clock_now_ns() - begin_ns;
}

static enum hoop_status
schedule_run_check_arguments(const hoop_schedule_t *schedule,
                             const hoop_pipeline_t *pipeline,
                             const struct hoop_stage_work *work)
{
    if (!schedule || !pipeline || !work)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           !schedule   ? "schedule"
                           : !pipeline ? "pipeline"
                                       : "work");
    if (!work->forward || !work->backward)
        return error_raise(HOOP_E_INVALID, "work has no %s",
                           work->forward ? "backward" : "forward");
    const uint32_t n_stages = hoop_schedule_shape(schedule)->n_stages;
    const uint32_t size = hoop_pipeline_size(pipeline);
    if (size > 0 && size != n_stages)
        return error_raise(HOOP_E_INVALID,
                           "a schedule of %u stages, but the pipeline has %u",
                           n_stages, size);
    return HOOP_OK;
}

static enum hoop_status
schedule_run_stage(const hoop_schedule_t *schedule,
                   const hoop_pipeline_t *pipeline,
                   const struct hoop_stage_work *work,
                   struct hoop_run_stats *out_stats)
{
    struct run run = {.shape = hoop_schedule_shape(schedule), .work = work};

    messenger_init(&run.messenger, hoop_pipeline_comm(pipeline), run.shape);
    run.tasks =
        hoop_schedule_tasks(schedule, run.messenger.stage, &run.n_tasks);
    const enum hoop_status status =
        activation_store_init(&run.activation_store, run.shape);
    if (status != HOOP_OK)
        return error_pass(status);
    run_tasks(&run);
    activation_store_deinit(&run.activation_store);
    if (run_has_failed(&run))
        return error_raise(run.failure.status, "%s", run.failure.text);
    *out_stats = run.stats;
    return HOOP_OK;
}

enum hoop_status
hoop_schedule_run(const hoop_schedule_t *schedule,
                  hoop_pipeline_t *pipeline,
                  const struct hoop_stage_work *work,
                  struct hoop_run_stats *out_stats)
{
    struct hoop_run_stats stats = {0};

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    enum hoop_status status =
        schedule_run_check_arguments(schedule, pipeline, work);
    if (status == HOOP_OK && hoop_comm_is_member(hoop_pipeline_comm(pipeline)))
        status = schedule_run_stage(schedule, pipeline, work, &stats);
    if (status != HOOP_OK)
        return error_pass(status);
    if (out_stats)
        *out_stats = stats;
    return HOOP_OK;
}
