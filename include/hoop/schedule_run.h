/* hoop/schedule_run.h - a schedule, executed with the user's forward and backward
 *
 * Every stage of a pipeline calls hoop_schedule_run() with the same schedule.
 * Receives are started ahead and sends are not waited for, so that messages
 * travel while the callbacks compute: receives of the next 8 tasks, and up to 16
 * sends, whose tensors are held beside the activations that the schedule
 * promises. A message's deadline, that of the stages' communicator, counts from
 * its start: it must be longer than some tasks.
 */

#ifndef HOOP_SCHEDULE_RUN_H
#define HOOP_SCHEDULE_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/api.h"
#include "hoop/pipeline.h"
#include "hoop/schedule.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

HOOP_BEGIN

/*
 * What a stage computes. The callbacks run on the calling thread and may use
 * other communicators; what they return, unless HOOP_OK, ends the run on all
 * stages. Tensors that they are given are theirs to read during the call only;
 * input is kept for them until the backward of the same micro-batch and chunk.
 * They fill out tensors with memory of hoop_tensor_create(), not that which
 * they were given; the run frees it, also when the callback fails. Shapes may
 * differ from one micro-batch to the next.
 */
struct hoop_stage_work {
    /* input NULL: first virtual stage. out: not looked at after the last
     * virtual stage. */
    enum hoop_status (*forward)(void *owner,
                                const struct hoop_task *task,
                                const struct hoop_tensor *input,
                                struct hoop_tensor *out);
    /* output_grad NULL: last virtual stage. input: as forward had it.
     * out_input_grad: not looked at after the first virtual stage. */
    enum hoop_status (*backward)(void *owner,
                                 const struct hoop_task *task,
                                 const struct hoop_tensor *input,
                                 const struct hoop_tensor *output_grad,
                                 struct hoop_tensor *out_input_grad);
    void *owner;
    /* After each task; NULL: not wanted. Times of the monotonic clock. Those of
     * a receive are of the wait for it, just before the task that needs it. */
    void (*on_task)(void *owner,
                    const struct hoop_task *task,
                    uint64_t begin_ns,
                    uint64_t end_ns);
};

struct hoop_run_stats {
    uint64_t total_ns;
    uint64_t compute_ns; /* in callbacks */
    uint64_t wait_ns;    /* for messages */
    size_t n_live_max;   /* inputs kept at a time */
    size_t bytes_sent;
    size_t bytes_received;
};

/*
 * Run this stage's tasks. pipeline has schedule's number of stages; nothing
 * that is sent meets what the program sends on its communicator. A process that
 * is no stage gets HOOP_OK at once. out_stats may be NULL.
 *
 * When a callback fails, or a message, every stage that still waits for
 * something of it, or of another that does, returns the status of that failure,
 * with a text that says which stage, task and why; one that has all it needs
 * ends its list and is not told. All that was started has been waited for, and
 * all that was held is freed. After the failure of a callback the pipeline can
 * be used as before. After another, a lost peer or a deadline, give up the
 * communicator.
 *
 * Handle: HOOP_E_INVALID (also what a callback made was no tensor), what a
 * callback returned, as hoop_batch_tensors(); HOOP_E_MISMATCH where schedules
 * have other numbers of micro-batches or chunks. Where their messages do not
 * meet at all, as of other kinds, stages wait for each other until the
 * deadline. Thread: any, one run on a pipeline at a time.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_schedule_run(const hoop_schedule_t *schedule,
                  hoop_pipeline_t *pipeline,
                  const struct hoop_stage_work *work,
                  struct hoop_run_stats *out_stats);

HOOP_END

#endif
