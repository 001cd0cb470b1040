/*
 * parallel/schedule_run.c - executes a schedule with the user's callbacks
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

#include "hoop/schedule_run.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "parallel/abort_message.h"
#include "parallel/activation_store.h"
#include "parallel/messenger.h"
#include "schedule/schedule.h"
#include "tensor/operand.h"

struct run {
    const struct hoop_schedule_options *shape;
    const struct hoop_stage_work *work;
    const struct hoop_task *tasks;
    size_t n_tasks;
    size_t at;
    size_t receive_next; /* receives of tasks before this one are started */
    size_t n_live;
    struct messenger messenger;
    struct activation_store activation_store;
    struct hoop_run_stats stats;
    struct abort_message failure;
    uint8_t abort_message_bytes[ABORT_MESSAGE_BYTES];
    struct hoop_tensor abort_message; /* the tensor that carries the failure */
};

static bool
has_failed(const struct run *run)
{
    return run->failure.status != HOOP_OK;
}

static bool
is_first(const struct run *run, const struct hoop_task *task)
{
    return run->messenger.stage == 0 && task->chunk == 0;
}

static bool
is_last(const struct run *run, const struct hoop_task *task)
{
    return run->messenger.stage == run->shape->n_stages - 1 &&
           task->chunk == run->shape->n_chunks - 1;
}

static bool
is_alone(const struct run *run)
{
    return run->shape->n_stages == 1;
}

static struct activation_slot *
place_of(const struct run *run,
         enum activation_kind row,
         const struct hoop_task *task)
{
    return activation_store_at(&run->activation_store, row, task->chunk,
                               task->micro_batch);
}

/* Ends the run with a failure; the first one counts, on whatever stage it
 * was. */
static void
run_end(struct run *run, const struct abort_message *failure)
{
    if (has_failed(run))
        return;
    run->failure = *failure;
    run->abort_message = abort_message_pack(failure, run->abort_message_bytes);
}

/* Ends the run with a failure of this stage. The text includes the last
 * error. */
static void
run_fail(struct run *run,
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
    run_end(run, &failure);
}

static void
run_report(const struct run *run,
           const struct hoop_task *task,
           uint64_t begin_ns,
           uint64_t end_ns)
{
    if (run->work->on_task && !has_failed(run))
        run->work->on_task(run->work->owner, task, begin_ns, end_ns);
}

/* Waits until the tensor that a task needs of another stage has arrived, or the
 * run has failed. A stage that is alone has its tensors already. */
static void
run_await(struct run *run,
          enum hoop_task_kind kind,
          const struct hoop_task *task,
          struct activation_slot *place)
{
    const struct hoop_task receive = {kind, task->micro_batch, task->chunk};
    const uint64_t begin_ns = clock_now_ns();
    struct abort_message heard;

    if (is_alone(run))
        return;
    const enum hoop_status status =
        messenger_await(&run->messenger, &receive, place);
    const uint64_t end_ns = clock_now_ns();
    run->stats.wait_ns += end_ns - begin_ns;
    if (status != HOOP_OK)
        run_fail(run, status, &receive, "failed");
    else if (abort_message_unpack(&place->tensor, &heard))
        run_end(run, &heard);
    run_report(run, &receive, begin_ns, end_ns);
    if (has_failed(run))
        activation_store_clear(place);
}

/* The tensors of a forward or a backward. */
struct computation {
    struct activation_slot *input; /* NULL on the first virtual stage */
    /* NULL on the last virtual stage and in a forward */
    struct activation_slot *output_grad;
    struct activation_slot *made;
    /* for a stage alone: where the result goes; NULL: it is sent or unused */
    struct activation_slot *onward;
    bool is_wanted; /* the result is used */
};

static struct computation
forward_of(const struct run *run, const struct hoop_task *task)
{
    struct hoop_task next = *task;
    struct computation forward = {
        .made = place_of(run, ACTIVATION_OUTPUT, task),
        .is_wanted = !is_last(run, task),
    };

    next.chunk++;
    if (!is_first(run, task))
        forward.input = place_of(run, ACTIVATION_INPUT, task);
    if (forward.is_wanted && is_alone(run))
        forward.onward = place_of(run, ACTIVATION_INPUT, &next);
    return forward;
}

static struct computation
backward_of(const struct run *run, const struct hoop_task *task)
{
    struct hoop_task next = *task;
    struct computation backward = {
        .made = place_of(run, ACTIVATION_INPUT_GRAD, task),
        .is_wanted = !is_first(run, task),
    };

    next.chunk--;
    if (backward.is_wanted)
        backward.input = place_of(run, ACTIVATION_INPUT, task);
    if (!is_last(run, task))
        backward.output_grad = place_of(run, ACTIVATION_OUTPUT_GRAD, task);
    if (backward.is_wanted && is_alone(run))
        backward.onward = place_of(run, ACTIVATION_OUTPUT_GRAD, &next);
    return backward;
}

static const struct hoop_tensor *
tensor_at(const struct activation_slot *place)
{
    return place ? &place->tensor : NULL;
}

static bool
is_memory_of(const struct activation_slot *made,
             const struct activation_slot *given)
{
    return made->tensor.data && given &&
           made->tensor.data == given->tensor.data;
}

/* Checks that the callback made a tensor in memory of its own. Memory that it
 * was given must not be freed twice. */
static enum hoop_status
made_check(const struct computation *computation)
{
    struct activation_slot *made = computation->made;

    if (is_memory_of(made, computation->input) ||
        is_memory_of(made, computation->output_grad)) {
        made->tensor = (struct hoop_tensor){0};
        return error_raise(HOOP_E_INVALID,
                           "it made a tensor of the memory that it was given; "
                           "make one by hoop_tensor_create()");
    }
    return computation->is_wanted ? operand_check(&made->tensor, "what it made")
                                  : HOOP_OK;
}

static enum hoop_status
callback_call(const struct run *run,
              const struct hoop_task *task,
              const struct computation *computation)
{
    const struct hoop_stage_work *work = run->work;
    struct hoop_tensor *out = &computation->made->tensor;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (task->kind == HOOP_TASK_FORWARD)
        return work->forward(work->owner, task, tensor_at(computation->input),
                             out);
    return work->backward(work->owner, task, tensor_at(computation->input),
                          tensor_at(computation->output_grad), out);
}

static void
callback_run(struct run *run,
             const struct hoop_task *task,
             const struct computation *computation)
{
    const uint64_t begin_ns = clock_now_ns();
    enum hoop_status status = callback_call(run, task, computation);
    const uint64_t end_ns = clock_now_ns();

    run->stats.compute_ns += end_ns - begin_ns;
    if (status != HOOP_OK) {
        run_fail(run, status, task, "failed");
        return;
    }
    status = made_check(computation);
    if (status != HOOP_OK)
        run_fail(run, status, task, "went wrong");
    run_report(run, task, begin_ns, end_ns);
}

/* Frees the result or moves it on; a result that is sent stays. */
static void
made_settle(const struct run *run, const struct computation *computation)
{
    if (has_failed(run) || !computation->is_wanted)
        activation_store_clear(computation->made);
    else if (computation->onward)
        activation_store_move(computation->made, computation->onward);
}

static void
run_forward(struct run *run, const struct hoop_task *task)
{
    const struct computation forward = forward_of(run, task);

    if (forward.input)
        run_await(run, HOOP_TASK_RECV_FORWARD, task, forward.input);
    if (has_failed(run))
        return;
    if (++run->n_live > run->stats.n_live_max)
        run->stats.n_live_max = run->n_live;
    callback_run(run, task, &forward);
    made_settle(run, &forward);
}

static void
run_backward(struct run *run, const struct hoop_task *task)
{
    const struct computation backward = backward_of(run, task);

    if (backward.output_grad)
        run_await(run, HOOP_TASK_RECV_BACKWARD, task, backward.output_grad);
    if (has_failed(run))
        return;
    callback_run(run, task, &backward);
    made_settle(run, &backward);
    if (backward.input)
        activation_store_clear(backward.input);
    if (backward.output_grad)
        activation_store_clear(backward.output_grad);
    run->n_live--;
}

static void
run_send(struct run *run, const struct hoop_task *task)
{
    const enum activation_kind row = task->kind == HOOP_TASK_SEND_FORWARD
                                         ? ACTIVATION_OUTPUT
                                         : ACTIVATION_INPUT_GRAD;
    struct activation_slot *place = place_of(run, row, task);
    const uint64_t begin_ns = clock_now_ns();

    if (has_failed(run))
        activation_store_clear(place);
    enum hoop_status status = messenger_send(
        &run->messenger, task,
        has_failed(run) ? &run->abort_message : &place->tensor, place);
    const uint64_t started_ns = clock_now_ns();
    if (status == HOOP_OK)
        status = messenger_settle(&run->messenger, LIMIT_RUN_SENDS);
    const uint64_t end_ns = clock_now_ns();
    run->stats.wait_ns += end_ns - started_ns;
    if (status != HOOP_OK)
        run_fail(run, status, task, "failed");
    run_report(run, task, begin_ns, end_ns);
}

static bool
is_receive(const struct hoop_task *task)
{
    return task->kind == HOOP_TASK_RECV_FORWARD ||
           task->kind == HOOP_TASK_RECV_BACKWARD;
}

static void
receive_start(struct run *run, const struct hoop_task *task)
{
    const enum activation_kind row = task->kind == HOOP_TASK_RECV_FORWARD
                                         ? ACTIVATION_INPUT
                                         : ACTIVATION_OUTPUT_GRAD;
    const enum hoop_status status =
        messenger_receive(&run->messenger, task, place_of(run, row, task));

    if (status != HOOP_OK)
        run_fail(run, status, task, "failed");
}

/* Starts all receives up to LIMIT_RUN_AHEAD tasks after the current one. */
static void
receives_start(struct run *run)
{
    for (; run->receive_next < run->n_tasks &&
           run->receive_next <= run->at + LIMIT_RUN_AHEAD;
         run->receive_next++) {
        const struct hoop_task *task = &run->tasks[run->receive_next];

        if (is_receive(task))
            receive_start(run, task);
    }
}

static void
task_run(struct run *run, const struct hoop_task *task)
{
    switch (task->kind) {
    case HOOP_TASK_FORWARD:
        run_forward(run, task);
        return;
    case HOOP_TASK_BACKWARD:
        run_backward(run, task);
        return;
    case HOOP_TASK_SEND_FORWARD:
    case HOOP_TASK_SEND_BACKWARD:
        run_send(run, task);
        return;
    case HOOP_TASK_RECV_FORWARD:
    case HOOP_TASK_RECV_BACKWARD:
        /* The task that needs the tensor waits for it. */
        return;
    }
}

/* Waits for all sends, so that other stages learn of a failure. */
static void
run_finish(struct run *run)
{
    const uint64_t begin_ns = clock_now_ns();

    while (run->messenger.n_sends > 0) {
        const struct hoop_task *last = &run->tasks[run->n_tasks - 1];
        const enum hoop_status status = messenger_settle(&run->messenger, 0);

        if (status != HOOP_OK)
            run_fail(run, status, last, "or a send before it failed");
    }
    run->stats.wait_ns += clock_now_ns() - begin_ns;
}

static void
run_tasks(struct run *run)
{
    const uint64_t begin_ns = clock_now_ns();

    for (run->at = 0; run->at < run->n_tasks; run->at++) {
        receives_start(run);
        task_run(run, &run->tasks[run->at]);
    }
    run_finish(run);
    run->stats.bytes_sent = run->messenger.bytes_sent;
    run->stats.bytes_received = run->messenger.bytes_received;
    run->stats.total_ns = clock_now_ns() - begin_ns;
}

static enum hoop_status
call_check(const hoop_schedule_t *schedule,
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
run_all(const hoop_schedule_t *schedule,
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
    if (has_failed(&run))
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
    enum hoop_status status = call_check(schedule, pipeline, work);
    if (status == HOOP_OK && hoop_comm_is_member(hoop_pipeline_comm(pipeline)))
        status = run_all(schedule, pipeline, work, &stats);
    if (status != HOOP_OK)
        return error_pass(status);
    if (out_stats)
        *out_stats = stats;
    return HOOP_OK;
}
