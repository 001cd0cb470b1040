/*
 * engine/background.c - makes progress on an engine when no caller does
 *
 *   AWAY: watches no descriptor, looks in every now and then
 *   HERE: watches the engine's epoll descriptor
 *
 * AWAY -> HERE when it is woken, or looks in while progress ownership is free;
 * HERE -> AWAY when it finds that a caller owns progress.
 */

#include "engine/background.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"

/* How long the death of a peer between operations may go unnoticed, times
 * rarity. */
static const uint64_t BACKGROUND_POLL_INTERVAL_MS = 50;
/* How often it looks in while the coordinator's question is open. */
static const uint64_t VIEWS_REQUEST_POLL_INTERVAL_MS = 5;

enum {
    /* Look-ins between counts of the host's ranks: other jobs come and go by
     * the second. */
    POLLS_PER_HOST_RANK_COUNT = 20,
};

struct background {
    struct loop *loop;
    struct engine *engine;
    struct loop_watch *watch;
    struct loop_timer *timer;
    uint64_t rarity; /* engine_poll_divisor() */
    bool is_progress_in_background;
    unsigned n_timer_polls;
    atomic_bool is_loop_wakeup_pending; /* a post to the loop is pending */
};

static void
background_progress_once(struct background *background)
{
    const enum engine_progress_result idle =
        engine_progress_background(background->engine);
    const bool is_progress_in_background = idle != ENGINE_PROGRESS_ELSEWHERE;

    if (idle == ENGINE_PROGRESS_MORE)
        background_progress_wake(background);
    if (is_progress_in_background != background->is_progress_in_background)
        loop_watch_set(background->watch,
                       is_progress_in_background ? LOOP_READ : LOOP_NOTHING);
    background->is_progress_in_background = is_progress_in_background;
    if (engine_has_views_request(background->engine))
        loop_timer_start(background->timer, VIEWS_REQUEST_POLL_INTERVAL_MS);
}

static void
on_readable(void *owner, enum loop_interest ready)
{
    (void)ready;
    background_progress_once(owner);
}

/* This also serves deadlines while nothing moves. */
static void
on_timer(void *owner)
{
    struct background *background = owner;

    loop_timer_start(background->timer,
                     BACKGROUND_POLL_INTERVAL_MS * background->rarity);
    background_progress_once(background);
    if (++background->n_timer_polls % POLLS_PER_HOST_RANK_COUNT == 0)
        engine_update_wait_policy(background->engine);
}

static void
on_wakeup(void *owner)
{
    struct background *background = owner;

    atomic_store(&background->is_loop_wakeup_pending, false);
    background_progress_once(background);
}

enum hoop_status
background_progress_create(struct loop *loop,
                           struct engine *engine,
                           struct background **out_background)
{
    struct background *background = calloc(1, sizeof(*background));

    if (!background)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the background");
    background->loop = loop;
    background->engine = engine;
    background->rarity = engine_poll_divisor(engine);
    enum hoop_status status = loop_watch_create(
        loop, engine_fd(engine), on_readable, background, &background->watch);
    if (status == HOOP_OK)
        status =
            loop_timer_create(loop, on_timer, background, &background->timer);
    if (status != HOOP_OK) {
        background_progress_destroy(background);
        return error_pass(status);
    }
    loop_timer_start(background->timer,
                     BACKGROUND_POLL_INTERVAL_MS * background->rarity);
    *out_background = background;
    return HOOP_OK;
}

void
background_progress_destroy(struct background *background)
{
    if (!background)
        return;
    loop_cancel_posts(background->loop, background);
    loop_watch_destroy(background->watch);
    loop_timer_destroy(background->timer);
    free(background);
}

void
background_progress_wake(struct background *background)
{
    if (atomic_exchange(&background->is_loop_wakeup_pending, true))
        return;
    /* If there is no memory for the post, the timer looks in soon. */
    if (loop_post(background->loop, on_wakeup, background) != HOOP_OK)
        atomic_store(&background->is_loop_wakeup_pending, false);
}
