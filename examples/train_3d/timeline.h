/* train_3d/timeline.h - who computed and who waited when, in one step */

#ifndef TRAIN_3D_TIMELINE_H
#define TRAIN_3D_TIMELINE_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "hoop/hoop.h"

enum event_kind {
    EVENT_FORWARD,
    EVENT_BACKWARD,
    EVENT_REDUCE, /* sums over replicas, as far as they are waited for */
    EVENT_UPDATE, /* the optimizer */
    N_EVENT_KINDS,
};

/* What is not covered by an event is waiting. */
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
    uint64_t total_ns[N_EVENT_KINDS]; /* of all steps */
};

/* Undo with timeline_deinit(). */
void
timeline_init(struct timeline *timeline, size_t n_room);
/* Zeroed memory is fine. */
void
timeline_deinit(struct timeline *timeline);

/* A step begins: forget the one before. */
void
timeline_begin(struct timeline *timeline);

/* Times of the event by the clock; what there is no room for is not drawn. */
void
timeline_add(struct timeline *timeline, const struct event *event);
/* What began then and has just ended, and belongs to no micro-batch. */
void
timeline_end(struct timeline *timeline,
             enum event_kind kind,
             uint64_t begin_ns);

/* Every stage calls it; rank 0 of stages gets all, for hoop_objects_free(). */
HOOP_NODISCARD enum hoop_status
timeline_gather(const struct timeline *timeline,
                struct hoop_objects *out_stages,
                hoop_comm_t *stages);

/* As SVG, a row for each stage. */
void
timeline_draw(const struct hoop_objects *stages, FILE *file);

#endif
