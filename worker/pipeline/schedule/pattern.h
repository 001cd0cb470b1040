/*
 * pipeline/schedule/pattern.h - a kind of schedule: the order of a stage's
 * computations
 *
 * In every kind a stage runs some forwards as warm-up, then alternates one
 * forward and one backward, then runs the remaining backwards. Kinds differ in
 * the length of the warm-up and in the order of micro-batches and chunks, which
 * is the same on all stages. Backwards take the chunks in reverse order. A
 * pattern has no messages; pipeline/schedule/messages.h adds them.
 */

#ifndef PIPELINE_SCHEDULE_PATTERN_H
#define PIPELINE_SCHEDULE_PATTERN_H

#include <stdint.h>

#include "hoop/schedule.h"

struct pattern {
    const char *name; /* "1F1B" */
    /* Returns how many forwards a stage runs before its first pair of a
     * forward and a backward. A number above pattern_n_forwards() means all
     * of them. */
    uint64_t (*n_warm_up_forwards)(const struct hoop_schedule_options *options,
                                   uint32_t stage);
    /* Returns the forward at position number in a stage's order. */
    struct hoop_task (*forward_task)(
        const struct hoop_schedule_options *options,
        uint32_t number);
};

extern const struct pattern pattern_gpipe;
extern const struct pattern pattern_1f1b;
extern const struct pattern pattern_interleaved;

/* Returns NULL if there is no such kind. */
const struct pattern *
pattern_find(enum hoop_schedule_kind kind);

/* Returns how many forwards a stage has. It has as many backwards. */
uint32_t
pattern_n_forwards(const struct hoop_schedule_options *options);

/* Writes all computations of a stage in order: two for each forward. */
void
pattern_list_tasks(const struct hoop_schedule_options *options,
                   uint32_t stage,
                   struct hoop_task *out_tasks);

/* Returns the largest number of activations that a stage holds at a time by
 * the promise of the kind. stage_check_run() enforces it. */
uint32_t
pattern_n_live_activations(const struct hoop_schedule_options *options,
                           uint32_t stage);

#endif
