/* hoop/schedule.h - who computes and sends what, when, in a pipeline: as data
 *
 * A schedule is, for each stage, a list of tasks: forward and backward of a
 * micro-batch through one of the stage's virtual stages (chunks), and the sends
 * and receives between. It is a pure function of four numbers, needs no session
 * and can be checked, measured and drawn before anything runs.
 *
 * Chunk c of stage s is virtual stage c * n_stages + s: activations go from the
 * last stage's chunk c to the first stage's chunk c + 1. A stage alone hands
 * them on to itself; its list has no sends and receives.
 *
 * In every kind the micro-batches of a chunk go forward, and backward, in
 * rising order: gradients are summed in one order whatever the kind.
 *
 * Thread (all): any.
 */

#ifndef HOOP_SCHEDULE_H
#define HOOP_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "hoop/api.h"
#include "hoop/status.h"

HOOP_BEGIN

enum hoop_schedule_kind {
    /* All forward, then all backward. A stage keeps the activations of all
     * micro-batches. */
    HOOP_GPIPE = 0,
    /* One forward, one backward, as early as possible. Stage s keeps
     * n_stages - s. */
    HOOP_1F1B = 1,
    /* 1F1B over several chunks of each stage, with Megatron's warm-up: stage s
     * keeps 2 (n_stages - s - 1) + (n_chunks - 1) n_stages + 1, each of one
     * chunk. Where micro-batches are no multiple of the stages, some more for
     * each chunk: those that are left over, shared out over the groups. */
    HOOP_INTERLEAVED = 2,
};

struct hoop_schedule_options {
    enum hoop_schedule_kind kind;
    uint32_t n_stages;
    uint32_t n_micro_batches;
    uint32_t n_chunks; /* of each stage; 1 unless interleaved */
};

enum hoop_task_kind {
    HOOP_TASK_FORWARD,
    HOOP_TASK_BACKWARD,
    HOOP_TASK_SEND_FORWARD,  /* activations to the next virtual stage */
    HOOP_TASK_RECV_FORWARD,  /* ... from the one before */
    HOOP_TASK_SEND_BACKWARD, /* gradients to the one before */
    HOOP_TASK_RECV_BACKWARD,
};

struct hoop_task {
    enum hoop_task_kind kind;
    uint32_t micro_batch;
    uint32_t chunk; /* of the stage whose task it is */
};

typedef struct hoop_schedule hoop_schedule_t;

/*
 * *out_schedule is the caller's. Handle: HOOP_E_INVALID (no stages, no
 * micro-batches, no chunks, several chunks for a kind that has one, more than
 * 2^24 tasks), HOOP_E_EXHAUSTED.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_schedule_create(const struct hoop_schedule_options *options,
                     hoop_schedule_t **out_schedule);
/* NULL is fine. */
HOOP_API void
hoop_schedule_free(hoop_schedule_t *schedule);

/* What it was made of; borrowed, as long as the schedule lives. NULL: NULL. */
HOOP_API const struct hoop_schedule_options *
hoop_schedule_shape(const hoop_schedule_t *schedule);
/* The tasks of a stage in order; borrowed. NULL: no such stage. out_n_tasks may
 * be NULL. */
HOOP_API const struct hoop_task *
hoop_schedule_tasks(const hoop_schedule_t *schedule,
                    uint32_t stage,
                    size_t *out_n_tasks);

/* What a schedule costs, in a model where a forward and a backward of a chunk
 * take their units and messages take nothing. */
struct hoop_schedule_cost {
    double forward;  /* given: units of time; 0: 1 */
    double backward; /* given: units of time; 0: 2 */
    double makespan; /* until the last stage is done */
    double bubble;   /* share of the makespan that a stage idles, on average */
    uint32_t n_live; /* most activations that a stage keeps at a time */
};

/*
 * Prove it. Of each stage's list alone, and so for every way to execute it in
 * order: each forward, backward, send and receive that the stage has stands
 * there once, behind what it needs, and no more activations are kept than the
 * kind says. Of all lists together, executed as strictly as can be, where a
 * stage does one task at a time and a send waits until the other stage is at
 * its receive: every send meets its receive, in one order on both sides, and
 * nobody waits for ever. Then nobody does either who waits less: who starts
 * receives ahead, waits for them where they are needed, and for sends later,
 * as hoop_schedule_run() does.
 *
 * out_cost may be NULL; it is read first. Handle: HOOP_E_INVALID (NULL, times
 * below 0), HOOP_E_INTERNAL (the text says which stage, which task and what it
 * waits for), HOOP_E_EXHAUSTED.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_schedule_check(const hoop_schedule_t *schedule,
                    struct hoop_schedule_cost *out_cost);

enum hoop_drawing {
    HOOP_DRAW_TEXT, /* a line for each stage, a letter or digit per unit */
    HOOP_DRAW_SVG,  /* a file of its own */
};

/* Draw who does what when, a forward taking one unit and a backward two.
 * Handle: HOOP_E_INVALID, HOOP_E_UNKNOWN (file could not be written), as
 * hoop_schedule_check(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_schedule_print(const hoop_schedule_t *schedule,
                    enum hoop_drawing drawing,
                    FILE *file);

HOOP_END

#endif
