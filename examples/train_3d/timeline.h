/* train_3d/timeline.h - records and draws what each stage did in one step */

#ifndef TRAIN_3D_TIMELINE_H
#define TRAIN_3D_TIMELINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "hoop/hoop.h"

enum event_kind {
    EVENT_FORWARD,
    EVENT_BACKWARD,
    EVENT_REDUCE, /* waiting for sums over replicas */
    EVENT_UPDATE, /* the optimizer's step */
    N_EVENT_KINDS,
};

/* Time that no event covers was spent waiting. */
struct event {
    uint64_t begin_ns; /* since the step began, on each rank's own clock */
    uint64_t end_ns;
    uint32_t kind; /* enum event_kind */
    uint32_t micro_batch;
    uint32_t chunk;
    uint32_t unused;
};

struct timeline {
    struct event *events;
    size_t n_events;
    size_t n_room;
    uint64_t begin_ns;
    uint64_t total_ns[N_EVENT_KINDS]; /* sums over all steps */
};

/* Undo it with timeline_deinit(). */
void
timeline_init(struct timeline *timeline, size_t n_room);
/* The memory may also be zeroed. */
void
timeline_deinit(struct timeline *timeline);

/* Begins a step, and removes the events of the last one. */
void
timeline_begin(struct timeline *timeline);

/* The times are those of the clock. Events that do not fit are not drawn. */
void
timeline_add(struct timeline *timeline, const struct event *event);
/* Adds an event that has just ended and belongs to no micro-batch. */
void
timeline_end(struct timeline *timeline,
             enum event_kind kind,
             uint64_t begin_ns);

/* Every stage calls it. Rank 0 of stages gets all events, and releases them
 * with hoop_objects_free(). */
HOOP_NODISCARD enum hoop_status
timeline_gather(const struct timeline *timeline,
                struct hoop_objects *out_stages,
                hoop_comm_t *stages);

/* Writes SVG with a row for each stage. */
void
timeline_draw(const struct hoop_objects *stages, FILE *file);

#endif
