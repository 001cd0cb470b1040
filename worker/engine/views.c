/*
 * engine/views.c - tells the coordinator which ranks this rank hears
 *
 * The coordinator asks all ranks if some rank reports a suspicion, or if it
 * does not hear a rank itself any more. Each rank then asks all connected peers
 * for a sign of life, whether it waits for them or not, and reports what came.
 */

#include <stdlib.h>

#include "base/clock.h"
#include "engine/state.h"
#include "engine/wait_diagnosis.h"

static const uint64_t VIEWS_LOOK_NS = CLOCK_NS_PER_MS;

uint32_t
views_slack_ms(const struct engine *engine)
{
    uint32_t slack_ms = 0;

    for (uint32_t rank = 0; rank < engine->roster->size; rank++) {
        const uint32_t ms = heartbeat_round_trip_ms(engine, rank);

        slack_ms = ms > slack_ms ? ms : slack_ms;
    }
    return slack_ms;
}

static bool
views_have_room(struct engine *engine)
{
    struct views *views = &engine->views;
    const uint32_t size = engine->roster->size;

    if (!views->n_heard)
        views->n_heard = calloc(size, sizeof(*views->n_heard));
    if (!views->seen)
        views->seen = calloc(size, sizeof(*views->seen));
    return views->n_heard && views->seen;
}

/* Returns whether rank may be asked: it has neither left nor been lost. */
static bool
is_peer(const struct engine *engine, uint32_t rank)
{
    const struct lost_rank *lost = &engine->lost[rank];

    return rank != engine->roster->rank && !lost->is_lost && !lost->has_left;
}

static uint8_t
view_of(struct engine *engine, uint32_t rank)
{
    const struct lost_rank *lost = &engine->lost[rank];

    if (!is_peer(engine, rank))
        return VIEW_NONE;
    if (lost->is_suspect && lost->evidence == EVIDENCE_BROKEN)
        return VIEW_BROKEN;
    if (!transport_is_connected(engine->transport, rank))
        return VIEW_NONE;
    if (transport_received(engine->transport, rank) !=
        engine->views.n_heard[rank])
        return VIEW_HEARD;
    return lost->is_suspect || heartbeat_has_timed_out(engine, rank)
               ? VIEW_SILENT
               : VIEW_UNANSWERED;
}

void
views_begin(struct engine *engine, uint64_t question)
{
    struct views *views = &engine->views;

    if (engine->is_leaving || !views_have_room(engine) ||
        !engine->options.on_views) {
        atomic_store(&engine->is_asked, false);
        return;
    }
    /* The answer to the previous question may have cleared it in between. */
    atomic_store(&engine->is_asked, true);
    views->question = question;
    views->asked_ns = clock_now_ns();
    for (uint32_t rank = 0; rank < engine->roster->size; rank++) {
        views->n_heard[rank] = transport_received(engine->transport, rank);
        if (is_peer(engine, rank) &&
            transport_is_connected(engine->transport, rank))
            heartbeat_request(engine, rank);
    }
    engine->must_flush = true;
    engine->deadline_ns = 0;
}

/* Returns whether rank may still answer. Each rank has its own time limit: a
 * distant rank does not extend the wait for a near one that is silent, since
 * the coordinator waits for this answer only so long. */
static bool
may_answer(const struct engine *engine, uint32_t rank, uint64_t now_ns)
{
    const struct views *views = &engine->views;
    const uint8_t seen = views->seen[rank];

    return (seen == VIEW_UNANSWERED || seen == VIEW_SILENT) &&
           now_ns < views->asked_ns + (EVIDENCE_ANSWER_MS +
                                       heartbeat_round_trip_ms(engine, rank)) *
                                          CLOCK_NS_PER_MS;
}

uint64_t
engine_check_views(struct engine *engine, uint64_t now_ns)
{
    struct views *views = &engine->views;
    bool is_complete = true;

    if (views->question == 0)
        return CLOCK_NEVER;
    for (uint32_t rank = 0; rank < engine->roster->size; rank++) {
        views->seen[rank] = view_of(engine, rank);
        is_complete &= !may_answer(engine, rank, now_ns);
    }
    if (!is_complete)
        return now_ns + VIEWS_LOOK_NS;
    const uint64_t question = views->question;
    views->question = 0;
    atomic_store(&engine->is_asked, false);
    engine->options.on_views(engine->options.owner, question, views->seen);
    return CLOCK_NEVER;
}
