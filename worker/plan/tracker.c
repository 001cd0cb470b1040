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

struct track_edge {
    const struct track *earlier;
    uint64_t serial;
    int64_t begin;
    int64_t end;
    int64_t shift;
    const struct track_range *mine; /* the later step's reads or writes */
    bool is_write;                  /* the earlier step writes these bytes */
};

/* Enough for every ring and chain, so that most steps never grow their
 * array. */
enum {
    TRACK_EDGES_MIN = 8
};

static void
track_destroy(struct track *track)
{
    free(track->edges);
    free(track);
}

static struct track *
track_create(void)
{
    struct track *track = calloc(1, sizeof(*track));

    if (!track)
        return NULL;
    track->edges = calloc(TRACK_EDGES_MIN, sizeof(*track->edges));
    if (!track->edges) {
        track_destroy(track);
        return NULL;
    }
    track->edges_capacity = TRACK_EDGES_MIN;
    return track;
}

static enum hoop_status
track_add_edge(struct track *track, const struct track_edge *edge)
{
    if (track->n_edges == track->edges_capacity) {
        const size_t capacity = 2 * track->edges_capacity;
        struct track_edge *edges =
            reallocarray(track->edges, capacity, sizeof(*edges));

        if (!edges)
            return error_raise(HOOP_E_EXHAUSTED,
                               "no memory for %zu dependencies of a step; free "
                               "some or run fewer operations at once",
                               capacity);
        track->edges = edges;
        track->edges_capacity = capacity;
    }
    track->edges[track->n_edges++] = *edge;
    return HOOP_OK;
}

static bool
track_is_covered(const struct track *track, const struct track_edge *wanted)
{
    for (size_t i = 0; i < track->n_edges; i++) {
        const struct track_edge *edge = &track->edges[i];

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
track_order(struct track *track,
            const struct track_range *mine,
            const struct track *earlier,
            const struct track_range *theirs)
{
    const uint64_t begin =
        mine->begin > theirs->begin ? mine->begin : theirs->begin;
    const uint64_t end = mine->end < theirs->end ? mine->end : theirs->end;

    if (begin >= end || mine->buffer != theirs->buffer)
        return HOOP_OK;

    const struct track_edge edge = {
        .earlier = earlier,
        .serial = earlier->serial,
        .begin = (int64_t)(begin - mine->begin),
        .end = (int64_t)(end - mine->begin),
        .shift = (int64_t)(theirs->begin - mine->begin),
        .mine = mine,
        .is_write = theirs == &earlier->writes,
    };
    if (track_is_covered(track, &edge))
        return HOOP_OK;
    return track_add_edge(track, &edge);
}

static enum hoop_status
track_order_after(struct track *track, const struct track *earlier)
{
    enum hoop_status status =
        track_order(track, &track->writes, earlier, &earlier->writes);

    if (status == HOOP_OK)
        status = track_order(track, &track->writes, earlier, &earlier->reads);
    if (status == HOOP_OK)
        status = track_order(track, &track->reads, earlier, &earlier->writes);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static struct track_range
tracker_range(const struct tracker *tracker, const struct plan_span *span)
{
    const bool is_alias =
        span->buffer == PLAN_INPUT && tracker->shape.is_in_place;

    return (struct track_range){
        .buffer = is_alias ? PLAN_OUTPUT : span->buffer,
        .begin = span->first * tracker->element_size,
        .end = (span->first + span->count) * tracker->element_size,
    };
}

/* A span that is both read and written counts as written only. */
static void
tracker_describe(const struct tracker *tracker, struct track *track)
{
    const struct plan_step *step = &track->step;

    track->reads = tracker_range(tracker, &step->from);
    track->writes = tracker_range(tracker, &step->to);
    if (step->kind == PLAN_SEND)
        track->writes = (struct track_range){0};
    if (step->kind == PLAN_STORE)
        track->reads = (struct track_range){0};
    if (track->reads.buffer == track->writes.buffer &&
        track->reads.begin == track->writes.begin &&
        track->reads.end == track->writes.end)
        track->reads = (struct track_range){0};
    track->total = step->kind == PLAN_SEND
                       ? track->reads.end - track->reads.begin
                       : track->writes.end - track->writes.begin;
}

static bool
shape_is_same(const struct plan_shape *a, const struct plan_shape *b)
{
    const bool has_counts =
        a->counts || b->counts || a->recv_counts || b->recv_counts;

    return !has_counts && a->rank == b->rank && a->size == b->size &&
           a->root == b->root && a->is_in_place == b->is_in_place &&
           a->count == b->count && a->granule == b->granule &&
           a->nodes == b->nodes && a->n_slot == b->n_slot;
}

void
tracker_forget(struct tracker *tracker)
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
        tracker_forget(tracker);
    tracker->algorithm = algorithm;
    tracker->shape = *shape;
    tracker->element_size = element_size;
    tracker->round_next = 0;
    if (tracker->n_cached == 0)
        tracker->n_rounds = algorithm->n_rounds(shape);
    tracker->n_active = 0;
}

static void
tracker_free(struct track_list *list)
{
    struct track *track;

    while ((track = list->tqh_first)) {
        TAILQ_REMOVE(list, track, link);
        track_destroy(track);
    }
}

void
tracker_deinit(struct tracker *tracker)
{
    tracker_free(&tracker->active);
    tracker_free(&tracker->spare);
    plan_deinit(&tracker->plan);
    free(tracker->cache);
    *tracker = (struct tracker){0};
}

/* The spare track that was used last is at the head and probably in the
 * cache. */
static struct track *
tracker_take_spare(struct tracker *tracker)
{
    struct track *track = TAILQ_FIRST(&tracker->spare);

    if (!track)
        return track_create();
    TAILQ_REMOVE(&tracker->spare, track, link);
    return track;
}

static enum hoop_status
tracker_activate(struct tracker *tracker, const struct plan_step *step)
{
    struct track *track = tracker_take_spare(tracker);

    if (!track)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to follow %zu steps; free some or run "
                           "fewer operations at once",
                           tracker->n_active + 1);
    track->step = *step;
    track->round = tracker->round_next;
    track->done = 0;
    track->n_edges = 0;
    track->serial = ++tracker->serial;
    track->owner = NULL;
    tracker_describe(tracker, track);
    TAILQ_INSERT_TAIL(&tracker->active, track, link);
    tracker->n_active++;

    const struct track *earlier = track;
    enum hoop_status status = HOOP_OK;

    while (status == HOOP_OK &&
           (earlier = TAILQ_PREV(earlier, track_list, link))) {
        if (earlier->round < track->round)
            status = track_order_after(track, earlier);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
tracker_plan_round(struct tracker *tracker)
{
    struct plan *plan = &tracker->plan;
    enum hoop_status status;

    plan_clear(plan);
    tracker->algorithm->plan_round(plan, &tracker->shape, tracker->round_next);
    status = plan_status(plan);
    if (status != HOOP_OK)
        return error_pass(status);

    for (size_t i = 0; i < plan->n_steps; i++) {
        status = tracker_activate(tracker, &plan->steps[i]);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    tracker->round_next++;
    return HOOP_OK;
}

static bool
tracker_has_room(const struct tracker *tracker)
{
    const struct track *oldest = TAILQ_FIRST(&tracker->active);

    return !oldest ||
           tracker->round_next - oldest->round < LIMIT_TRACKER_ROUNDS;
}

/* Called when all steps of the plan are active. If there is no memory, the next
 * operation plans again. */
static void
tracker_fill_cache(struct tracker *tracker)
{
    struct track *track;

    if (tracker->cache_capacity < tracker->n_active) {
        struct track **cache = reallocarray(tracker->cache, tracker->n_active,
                                            sizeof(struct track *));

        if (!cache)
            return;
        tracker->cache = cache;
        tracker->cache_capacity = tracker->n_active;
    }
    TAILQ_FOREACH(track, &tracker->active, link)
    {
        tracker->cache[tracker->n_cached++] = track;
    }
}

/* Activates the cached steps again. Their serial numbers do not change, so
 * their edges stay valid. */
static void
tracker_replay(struct tracker *tracker)
{
    for (size_t i = 0; i < tracker->n_cached; i++) {
        struct track *track = tracker->cache[i];

        TAILQ_REMOVE(&tracker->spare, track, link);
        TAILQ_INSERT_TAIL(&tracker->active, track, link);
        track->done = 0;
        track->owner = NULL;
    }
    tracker->n_active = tracker->n_cached;
    tracker->round_next = tracker->n_rounds;
}

enum hoop_status
tracker_refill(struct tracker *tracker, struct track **out_first)
{
    struct track *const last = TAILQ_LAST(&tracker->active, track_list);
    const bool is_first = tracker->round_next == 0;

    if (is_first && tracker->n_cached > 0)
        tracker_replay(tracker);
    while (tracker->round_next < tracker->n_rounds &&
           tracker_has_room(tracker)) {
        const enum hoop_status status = tracker_plan_round(tracker);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    if (is_first && tracker->n_cached == 0 &&
        tracker->round_next == tracker->n_rounds && !tracker->shape.counts)
        tracker_fill_cache(tracker);
    *out_first = last ? TAILQ_NEXT(last, link) : TAILQ_FIRST(&tracker->active);
    return HOOP_OK;
}

uint64_t
tracker_limit(const struct tracker *tracker, const struct track *track)
{
    int64_t limit = (int64_t)track->total;

    for (size_t i = 0; i < track->n_edges; i++) {
        const struct track_edge *edge = &track->edges[i];
        const int64_t passed = (int64_t)edge->earlier->done + edge->shift;

        if (edge->begin >= limit || passed >= edge->end ||
            edge->earlier->serial != edge->serial)
            continue;
        const int64_t bound = passed > edge->begin ? passed : edge->begin;
        if (bound < limit)
            limit = bound;
    }
    if ((uint64_t)limit == track->total)
        return track->total;

    const uint64_t whole =
        (uint64_t)limit - (uint64_t)limit % tracker->element_size;
    return whole > track->done ? whole : track->done;
}

bool
tracker_advance(struct tracker *tracker, struct track *track, uint64_t n_bytes)
{
    assert(n_bytes <= track->total - track->done);

    track->done += n_bytes;
    if (track->done < track->total)
        return false;
    TAILQ_REMOVE(&tracker->active, track, link);
    TAILQ_INSERT_HEAD(&tracker->spare, track, link);
    tracker->n_active--;
    return true;
}

bool
tracker_is_done(const struct tracker *tracker)
{
    return tracker->n_active == 0 && tracker->round_next == tracker->n_rounds;
}
