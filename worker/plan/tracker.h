/*
 * plan/tracker.h - which byte of which step may move now
 *
 * The executor's dependency code, without an executor: it yields the steps of
 * a plan in a bounded window, and derives from their spans how far each may
 * go. Every step advances from its first byte to its last. A step may pass
 * byte x only when each conflicting step of an earlier round has passed x
 * (read after write, write after read, write after write). The checker
 * (plan/checker.h) runs this very code under random byte-wise schedules.
 *
 * Thread: whoever drives the operation; no locks.
 */

#ifndef PLAN_TRACKER_H
#define PLAN_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "plan/plan.h"

struct track_edge; /* an earlier step that holds this one back */

/* Bytes of one buffer: [begin, end); empty when the step has none. */
struct track_range {
    enum plan_buffer buffer;
    uint64_t begin;
    uint64_t end;
};

struct track {
    TAILQ_ENTRY(track) link; /* in tracker.active, oldest round first */
    struct plan_step step;
    uint32_t round;
    uint64_t total; /* bytes */
    uint64_t done;  /* bytes: sent, or stored and combined */
    size_t n_edges;
    size_t edges_capacity;
    struct track_edge *edges;
    /* The tracker's own: what the step touches, and its unique number. */
    struct track_range reads;
    struct track_range writes;
    uint64_t serial;
    /* For the executor; zero when the step becomes active. */
    void *owner;
};

TAILQ_HEAD(track_list, track);

struct tracker {
    const struct algorithm *algorithm;
    struct plan_shape shape; /* counts is borrowed until tracker_deinit */
    size_t element_size;
    uint32_t round_next;
    uint32_t n_rounds;
    size_t n_active;
    struct track_list active; /* steps not done yet */
    struct track_list spare;  /* kept, so that a repeated call allocates none */
    uint64_t serial;          /* of the youngest track */
    struct plan plan;
    /* All steps of a plan that fits the window, with their edges: a repeated
     * operation takes them as they are. None when n_cached is 0. */
    struct track **cache;
    size_t n_cached;
    size_t cache_capacity;
};

/*
 * tracker is zeroed memory, or one that was used before, finished or not: then
 * its memory is kept, and a repeated operation allocates nothing; one of the
 * same shape, without counts, does not even plan. Nodes at the same address are
 * taken for the same: tracker_forget() when they are not. Must not be moved
 * afterwards. Zeroed memory is a valid deinit target; deinit frees what was
 * kept and leaves zeroed memory.
 */
void
tracker_init(struct tracker *tracker,
             const struct algorithm *algorithm,
             const struct plan_shape *shape,
             size_t element_size);
/* The next operation plans anew. */
void
tracker_forget(struct tracker *tracker);
void
tracker_deinit(struct tracker *tracker);

/*
 * Make the steps of as many further rounds active as the window holds (always
 * at least one round when nothing is active). New steps stand at the tail of
 * tracker->active; *out_first is the first of them, NULL when there are none.
 * Handle: none (HOOP_E_EXHAUSTED passes through).
 */
enum hoop_status
tracker_refill(struct tracker *tracker, struct track **out_first);

/* How many bytes of track may be done by now, from its start; a multiple of
 * the element size, never less than track->done. */
uint64_t
tracker_limit(const struct tracker *tracker, const struct track *track);

/*
 * n_bytes more are done. A step that is complete leaves the active list (its
 * pointer dies at the next refill); true when it did.
 */
bool
tracker_advance(struct tracker *tracker, struct track *track, uint64_t n_bytes);

/* Every round's every step is done. */
bool
tracker_is_done(const struct tracker *tracker);

#endif
