/*
 * plan/tracker.c - which bytes of which step may move now
 *
 * A new step is compared once with every active step of an earlier round. For
 * each pair of spans that conflict it stores an edge, in its own coordinates:
 * byte x of the step, begin <= x < end, meets byte x - shift of the earlier
 * step. Hence
 *
 *     limit = min over edges of  max(begin, earlier.done + shift)
 *             unless earlier.done + shift >= end
 *
 * and no step has to be notified when another one advances. A complete step
 * restricts no other step, and its memory is reused: an edge stores the serial
 * number of its earlier step and is ignored once the memory has another one.
 *
 * Earlier steps are compared from the newest to the oldest. One that writes
 * some bytes has itself waited for all steps that touched these bytes before.
 * No edges to those are needed, which keeps edges few.
 */

#include "plan/tracker.h"

#include <assert.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/limits.h"

struct tracked_step_dependency {
    const struct tracked_step *earlier;
    uint64_t serial;
    int64_t begin;
    int64_t end;
    int64_t shift;
    const struct tracked_step_range
        *mine;     /* the later step's reads or writes */
    bool is_write; /* the earlier step writes these bytes */
};

/* Enough for every ring and chain, so that most steps never grow their
 * array. */
enum {
    TRACKED_STEP_EDGES_MIN = 8
};

static void
tracked_step_destroy(struct tracked_step *tracked_step)
{
    free(tracked_step->edges);
    free(tracked_step);
}

static struct tracked_step *
tracker_step_create(void)
{
    struct tracked_step *tracked_step = calloc(1, sizeof(*tracked_step));

    if (!tracked_step)
        return NULL;
    tracked_step->edges =
        calloc(TRACKED_STEP_EDGES_MIN, sizeof(*tracked_step->edges));
    if (!tracked_step->edges) {
        tracked_step_destroy(tracked_step);
        return NULL;
    }
    tracked_step->edges_capacity = TRACKED_STEP_EDGES_MIN;
    return tracked_step;
}

static enum hoop_status
tracked_step_add_dependency(struct tracked_step *tracked_step,
                            const struct tracked_step_dependency *edge)
{
    if (tracked_step->n_edges == tracked_step->edges_capacity) {
        const size_t capacity = 2 * tracked_step->edges_capacity;
        struct tracked_step_dependency *edges =
            reallocarray(tracked_step->edges, capacity, sizeof(*edges));

        if (!edges)
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory for %zu dependencies of a step; free "
                               "some or run fewer operations at once",
                               capacity);
        tracked_step->edges = edges;
        tracked_step->edges_capacity = capacity;
    }
    tracked_step->edges[tracked_step->n_edges++] = *edge;
    return HOOP_OK;
}

static bool
dependency_is_implied(const struct tracked_step *tracked_step,
                      const struct tracked_step_dependency *wanted)
{
    for (size_t i = 0; i < tracked_step->n_edges; i++) {
        const struct tracked_step_dependency *edge = &tracked_step->edges[i];

        if (edge->is_write && edge->earlier != wanted->earlier &&
            edge->mine == wanted->mine && edge->begin <= wanted->begin &&
            edge->end >= wanted->end)
            return true;
    }
    return false;
}

/* Adds an edge if mine and theirs, of which at least one is written,
 * overlap. */
static enum hoop_status
tracked_step_depend_on_range(struct tracked_step *tracked_step,
                             const struct tracked_step_range *mine,
                             const struct tracked_step *earlier,
                             const struct tracked_step_range *theirs)
{
    const uint64_t begin =
        mine->begin > theirs->begin ? mine->begin : theirs->begin;
    const uint64_t end = mine->end < theirs->end ? mine->end : theirs->end;

    if (begin >= end || mine->buffer != theirs->buffer)
        return HOOP_OK;

    const struct tracked_step_dependency edge = {
        .earlier = earlier,
        .serial = earlier->serial,
        .begin = (int64_t)(begin - mine->begin),
        .end = (int64_t)(end - mine->begin),
        .shift = (int64_t)(theirs->begin - mine->begin),
        .mine = mine,
        .is_write = theirs == &earlier->writes,
    };
    if (dependency_is_implied(tracked_step, &edge))
        return HOOP_OK;
    return tracked_step_add_dependency(tracked_step, &edge);
}

static enum hoop_status
tracked_step_depend_on(struct tracked_step *tracked_step,
                       const struct tracked_step *earlier)
{
    enum hoop_status status = tracked_step_depend_on_range(
        tracked_step, &tracked_step->writes, earlier, &earlier->writes);

    if (status == HOOP_OK)
        status = tracked_step_depend_on_range(
            tracked_step, &tracked_step->writes, earlier, &earlier->reads);
    if (status == HOOP_OK)
        status = tracked_step_depend_on_range(
            tracked_step, &tracked_step->reads, earlier, &earlier->writes);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static struct tracked_step_range
tracker_span_range(const struct tracker *tracker, const struct plan_span *span)
{
    return (struct tracked_step_range){
        .buffer = span->buffer,
        .begin = span->first * tracker->element_size,
        .end = (span->first + span->count) * tracker->element_size,
    };
}

static void
tracker_set_step_ranges(const struct tracker *tracker,
                        struct tracked_step *tracked_step)
{
    const struct plan_step *step = &tracked_step->step;
    const struct plan_access access = plan_step_access(step, &tracker->shape);

    tracked_step->reads = tracker_span_range(tracker, &access.reads);
    tracked_step->writes = tracker_span_range(tracker, &access.writes);
    tracked_step->total =
        (step->kind == PLAN_SEND ? step->from.count : step->to.count) *
        tracker->element_size;
}

static bool
shape_is_same(const struct plan_shape *a, const struct plan_shape *b)
{
    const bool has_counts =
        a->counts || b->counts || a->recv_counts || b->recv_counts;

    return !has_counts && a->rank == b->rank && a->size == b->size &&
           a->root == b->root && a->is_in_place == b->is_in_place &&
           a->count == b->count && a->granule == b->granule &&
           a->nodes == b->nodes && a->slot_capacity == b->slot_capacity;
}

void
tracker_invalidate_plan(struct tracker *tracker)
{
    tracker->n_cached = 0;
}

void
tracker_init(struct tracker *tracker,
             const struct algorithm *algorithm,
             const struct plan_shape *shape,
             size_t element_size)
{
    assert(!algorithm->is_shm);
    assert(shape->rank < shape->size);
    assert(element_size > 0);

    if (!tracker->active.tqh_last) {
        TAILQ_INIT(&tracker->active);
        TAILQ_INIT(&tracker->spare);
    }
    TAILQ_CONCAT(&tracker->spare, &tracker->active, link);
    if (tracker->algorithm != algorithm ||
        tracker->element_size != element_size ||
        !shape_is_same(&tracker->shape, shape))
        tracker_invalidate_plan(tracker);
    tracker->algorithm = algorithm;
    tracker->shape = *shape;
    tracker->element_size = element_size;
    tracker->round_next = 0;
    if (tracker->n_cached == 0)
        tracker->n_rounds = algorithm_n_rounds(algorithm, shape);
    tracker->n_active = 0;
}

static void
tracked_step_list_free(struct tracked_step_list *list)
{
    struct tracked_step *tracked_step;

    while ((tracked_step = list->tqh_first)) {
        TAILQ_REMOVE(list, tracked_step, link);
        tracked_step_destroy(tracked_step);
    }
}

void
tracker_deinit(struct tracker *tracker)
{
    tracked_step_list_free(&tracker->active);
    tracked_step_list_free(&tracker->spare);
    plan_deinit(&tracker->plan);
    free(tracker->cache);
    *tracker = (struct tracker){0};
}

/* The spare tracked_step that was used last is at the head and probably in the
 * cache. */
static struct tracked_step *
tracker_take_spare_step(struct tracker *tracker)
{
    struct tracked_step *tracked_step = TAILQ_FIRST(&tracker->spare);

    if (!tracked_step)
        return tracker_step_create();
    TAILQ_REMOVE(&tracker->spare, tracked_step, link);
    return tracked_step;
}

static enum hoop_status
tracker_activate_step(struct tracker *tracker, const struct plan_step *step)
{
    struct tracked_step *tracked_step = tracker_take_spare_step(tracker);

    if (!tracked_step)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to follow %zu steps; free some or run "
                           "fewer operations at once",
                           tracker->n_active + 1);
    tracked_step->step = *step;
    tracked_step->round = tracker->round_next;
    tracked_step->done = 0;
    tracked_step->n_edges = 0;
    tracked_step->serial = ++tracker->serial;
    tracked_step->owner = NULL;
    tracker_set_step_ranges(tracker, tracked_step);
    TAILQ_INSERT_TAIL(&tracker->active, tracked_step, link);
    tracker->n_active++;

    const struct tracked_step *earlier = tracked_step;
    enum hoop_status status = HOOP_OK;

    while (status == HOOP_OK &&
           (earlier = TAILQ_PREV(earlier, tracked_step_list, link))) {
        if (earlier->round < tracked_step->round)
            status = tracked_step_depend_on(tracked_step, earlier);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
tracker_plan_round(struct tracker *tracker)
{
    struct plan *plan = &tracker->plan;
    enum hoop_status status;

    plan_clear(plan);
    algorithm_plan_round(tracker->algorithm, plan, &tracker->shape,
                         tracker->round_next);
    status = plan_status(plan);
    if (status != HOOP_OK)
        return error_pass(status);

    for (size_t i = 0; i < plan->n_steps; i++) {
        status = tracker_activate_step(tracker, &plan->steps[i]);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    tracker->round_next++;
    return HOOP_OK;
}

static bool
tracker_can_open_round(const struct tracker *tracker)
{
    const struct tracked_step *oldest = TAILQ_FIRST(&tracker->active);

    return !oldest ||
           tracker->round_next - oldest->round < LIMIT_TRACKER_ROUNDS;
}

/* Called when all steps of the plan are active. If there is no memory, the next
 * operation plans again. */
static void
tracker_cache_plan(struct tracker *tracker)
{
    struct tracked_step *tracked_step;

    if (tracker->cache_capacity < tracker->n_active) {
        struct tracked_step **cache = reallocarray(
            tracker->cache, tracker->n_active, sizeof(struct tracked_step *));

        if (!cache)
            return;
        tracker->cache = cache;
        tracker->cache_capacity = tracker->n_active;
    }
    TAILQ_FOREACH(tracked_step, &tracker->active, link)
    {
        tracker->cache[tracker->n_cached++] = tracked_step;
    }
}

/* Activates the cached steps again. Their serial numbers do not change, so
 * their edges stay valid. */
static void
tracker_activate_cached_plan(struct tracker *tracker)
{
    for (size_t i = 0; i < tracker->n_cached; i++) {
        struct tracked_step *tracked_step = tracker->cache[i];

        TAILQ_REMOVE(&tracker->spare, tracked_step, link);
        TAILQ_INSERT_TAIL(&tracker->active, tracked_step, link);
        tracked_step->done = 0;
        tracked_step->owner = NULL;
    }
    tracker->n_active = tracker->n_cached;
    tracker->round_next = tracker->n_rounds;
}

enum hoop_status
tracker_activate_rounds(struct tracker *tracker,
                        struct tracked_step **out_first)
{
    struct tracked_step *const last =
        TAILQ_LAST(&tracker->active, tracked_step_list);
    const bool is_first = tracker->round_next == 0;

    if (is_first && tracker->n_cached > 0)
        tracker_activate_cached_plan(tracker);
    while (tracker->round_next < tracker->n_rounds &&
           tracker_can_open_round(tracker)) {
        const enum hoop_status status = tracker_plan_round(tracker);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    if (is_first && tracker->n_cached == 0 &&
        tracker->round_next == tracker->n_rounds && !tracker->shape.counts)
        tracker_cache_plan(tracker);
    *out_first = last ? TAILQ_NEXT(last, link) : TAILQ_FIRST(&tracker->active);
    return HOOP_OK;
}

uint64_t
tracker_step_limit_bytes(const struct tracker *tracker,
                         const struct tracked_step *tracked_step)
{
    int64_t limit = (int64_t)tracked_step->total;

    for (size_t i = 0; i < tracked_step->n_edges; i++) {
        const struct tracked_step_dependency *edge = &tracked_step->edges[i];
        const int64_t passed = (int64_t)edge->earlier->done + edge->shift;

        if (edge->begin >= limit || passed >= edge->end ||
            edge->earlier->serial != edge->serial)
            continue;
        const int64_t bound = passed > edge->begin ? passed : edge->begin;
        if (bound < limit)
            limit = bound;
    }
    if ((uint64_t)limit == tracked_step->total)
        return tracked_step->total;

    const uint64_t whole =
        (uint64_t)limit - (uint64_t)limit % tracker->element_size;
    return whole > tracked_step->done ? whole : tracked_step->done;
}

bool
tracker_advance_step(struct tracker *tracker,
                     struct tracked_step *tracked_step,
                     uint64_t n_bytes)
{
    assert(n_bytes <= tracked_step->total - tracked_step->done);

    tracked_step->done += n_bytes;
    if (tracked_step->done < tracked_step->total)
        return false;
    TAILQ_REMOVE(&tracker->active, tracked_step, link);
    TAILQ_INSERT_HEAD(&tracker->spare, tracked_step, link);
    tracker->n_active--;
    return true;
}
