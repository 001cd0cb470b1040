/*
 * plan/tracker.h - which bytes of which step may move now
 *
 * This is the dependency code of the executor. It yields the steps of a plan in
 * a bounded window and derives from their spans how far each step may advance.
 * Every step advances from its first byte to its last. A step may pass byte x
 * only when each conflicting step of an earlier round has passed x (read after
 * write, write after read, write after write). The checker (checker/checker.h)
 * runs this same code under random byte-wise schedules.
 *
 * Thread: the progress owner's; the tracker has no locks.
 */

#ifndef PLAN_TRACKER_H
#define PLAN_TRACKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "plan/plan.h"

struct tracked_step_dependency; /* an earlier step that this step depends on */

/* Bytes [begin, end) of one buffer; empty if the step has none. */
struct tracked_step_range {
    enum plan_buffer buffer;
    uint64_t begin;
    uint64_t end;
};

struct tracked_step {
    TAILQ_ENTRY(tracked_step) link; /* in tracker.active, oldest round first */
    struct plan_step step;
    uint32_t round;
    uint64_t total; /* bytes */
    uint64_t done;  /* bytes that were sent, or stored and combined */
    size_t n_edges;
    size_t edges_capacity;
    struct tracked_step_dependency *edges;
    /* Private to the tracker: the bytes that the step reads and writes, and its
     * unique number. */
    struct tracked_step_range reads;
    struct tracked_step_range writes;
    uint64_t serial;
    /* For the executor; NULL when the step becomes active. */
    void *owner;
};

TAILQ_HEAD(tracked_step_list, tracked_step);

struct tracker {
    const struct algorithm *algorithm;
    /* counts and nodes are borrowed until tracker_deinit(). */
    struct plan_shape shape;
    size_t element_size;
    uint32_t round_next;
    uint32_t n_rounds;
    size_t n_active;
    struct tracked_step_list active; /* steps that are not done yet */
    /* Kept, so that a repeated call allocates none. */
    struct tracked_step_list spare;
    uint64_t serial; /* serial of the newest tracked_step */
    struct plan plan;
    /* All steps of a plan that fits the window, with their dependencies. A
     * repeated operation reuses them. n_cached is 0 if there are none. */
    struct tracked_step **cache;
    size_t n_cached;
    size_t cache_capacity;
};

/*
 * Begin an operation. tracker is zeroed memory or one that was used before,
 * whether or not its operation finished; its memory is then reused, so that a
 * repeated operation allocates nothing. If the shape is the same and has no
 * counts, the cached plan is reused, too. Nodes at the same address are assumed
 * to be unchanged: call tracker_invalidate_plan() if they are not. The tracker
 * must not be moved afterwards.
 *
 * tracker_deinit() frees all memory and leaves the tracker zeroed; a zeroed
 * tracker is a valid argument.
 */
void
tracker_init(struct tracker *tracker,
             const struct algorithm *algorithm,
             const struct plan_shape *shape,
             size_t element_size);
/* Drop the cached plan, so that the next operation plans anew. */
void
tracker_invalidate_plan(struct tracker *tracker);
void
tracker_deinit(struct tracker *tracker);

/*
 * Activate the steps of as many further rounds as the window holds, of at least
 * one round if no step is active. New steps are appended to tracker->active;
 * *out_first is the first of them, or NULL if there are none.
 * Handle: none (HOOP_E_EXHAUSTED passes through).
 */
enum hoop_status
tracker_activate_rounds(struct tracker *tracker,
                        struct tracked_step **out_first);

/* How many bytes of the step, counted from its start, may be done by now: a
 * multiple of the element size, never less than tracked_step->done. */
uint64_t
tracker_step_limit_bytes(const struct tracker *tracker,
                         const struct tracked_step *tracked_step);

/*
 * Record that n_bytes more are done. Returns true if the step is complete; it
 * then leaves the active list, and its pointer is valid until the next refill.
 */
bool
tracker_advance_step(struct tracker *tracker,
                     struct tracked_step *tracked_step,
                     uint64_t n_bytes);

/* Returns whether all steps of all rounds are done. */
static inline bool
tracker_is_done(const struct tracker *tracker)
{
    return tracker->n_active == 0 && tracker->round_next == tracker->n_rounds;
}

#endif
