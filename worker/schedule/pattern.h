/*
 * schedule/pattern.h - a kind of schedule: in which order a stage computes
 *
 * Every kind is some forwards to warm up, then one forward and one backward in
 * turn, then the backwards that are left. Kinds differ in how many warm up and
 * in the order of micro-batches and chunks, which is the same on all stages;
 * backwards take the chunks in reverse. Messages are none of a pattern's
 * business (schedule/messages.h).
 */

#ifndef SCHEDULE_PATTERN_H
#define SCHEDULE_PATTERN_H

#include <stdint.h>

#include "hoop/schedule.h"

struct pattern {
    const char *name; /* "1F1B" */
    /* Forwards of a stage before its first pair of a forward and a backward;
     * more than there are: all. */
    uint64_t (*n_warm_up)(const struct hoop_schedule_options *options,
                          uint32_t stage);
    /* The number-th forward of a stage. */
    struct hoop_task (*forward)(const struct hoop_schedule_options *options,
                                uint32_t number);
};

extern const struct pattern pattern_gpipe;
extern const struct pattern pattern_1f1b;
extern const struct pattern pattern_interleaved;

/* NULL: no such kind. */
const struct pattern *
pattern_of(enum hoop_schedule_kind kind);

/* Forwards of a stage; as many are the backwards. */
uint32_t
pattern_n_forwards(const struct hoop_schedule_options *options);

/* All that stage computes, in order: two for each forward. */
void
pattern_list(const struct hoop_schedule_options *options,
             uint32_t stage,
             struct hoop_task *out_tasks);

/* Activations that a stage keeps at a time, at most: what the kind promises. */
uint32_t
pattern_n_live(const struct hoop_schedule_options *options, uint32_t stage);

#endif
