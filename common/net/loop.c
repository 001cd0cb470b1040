/*
 * net/loop.c - the control loop: one thread, based on libevent
 *
 * Only the loop's thread uses the event base, so libevent needs no locks. Other
 * threads put a post in a queue and signal a wakeup (an eventfd), which also
 * delivers a request to stop.
 */

#include "net/loop.h"

#include <assert.h>
#include <errno.h>
#include <event2/event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/process.h"
#include "net/wakeup.h"

/* Longer delays are cut to 30 years, which libevent can still add. */
static const uint64_t LOOP_DELAY_MS_MAX = 1000ULL * 60 * 60 * 24 * 365 * 30;

struct loop_post {
    STAILQ_ENTRY(loop_post) link;
    loop_fn *fn;
    void *owner;
};

STAILQ_HEAD(loop_posts, loop_post);

struct loop {
    struct event_base *base;
    struct event *wakeup_event;
    int wakeup_fd;
    atomic_bool is_stopping;
    pthread_mutex_t lock; /* protects posts */
    struct loop_posts posts;
    struct loop_posts running; /* taken from posts, not called yet; used only
                                  by the loop's thread */
};

struct loop_timer {
    struct event *event;
    loop_fn *on_timer;
    void *owner;
};

struct loop_watch {
    struct event *on_read;
    struct event *on_write;
    loop_watch_fn *on_ready;
    void *owner;
};

DEFINE_CLEANUP(struct loop *, loop_destroy)
DEFINE_CLEANUP(struct loop_timer *, loop_timer_destroy)
DEFINE_CLEANUP(struct loop_watch *, loop_watch_destroy)
DEFINE_CLEANUP(struct event_config *, event_config_free)

static void
loop_signal_wakeup(struct loop *loop)
{
    const uint64_t one = 1;

    /* A write fails only if the counter is full, and then the wakeup is
     * readable already. */
    if (write(loop->wakeup_fd, &one, sizeof(one)) < 0)
        return;
}

/* Only the loop's thread takes posts, so running them needs no lock. */
static void
posts_run(struct loop *loop)
{
    struct loop_post *post;

    pthread_mutex_lock(&loop->lock);
    STAILQ_CONCAT(&loop->running, &loop->posts);
    pthread_mutex_unlock(&loop->lock);
    while ((post = STAILQ_FIRST(&loop->running))) {
        const struct loop_post call = *post;

        STAILQ_REMOVE_HEAD(&loop->running, link);
        free(post);
        call.fn(call.owner);
    }
}

static void
posts_free(struct loop_posts *posts)
{
    struct loop_post *post;

    while ((post = STAILQ_FIRST(posts))) {
        STAILQ_REMOVE_HEAD(posts, link);
        free(post);
    }
}

static void
posts_drop_of_owner(struct loop_posts *posts, const void *owner)
{
    struct loop_posts kept = STAILQ_HEAD_INITIALIZER(kept);
    struct loop_post *post;

    while ((post = STAILQ_FIRST(posts))) {
        STAILQ_REMOVE_HEAD(posts, link);
        if (post->owner == owner)
            free(post);
        else
            STAILQ_INSERT_TAIL(&kept, post, link);
    }
    STAILQ_CONCAT(posts, &kept);
}

static void
loop_on_wakeup(evutil_socket_t fd, short what, void *owner)
{
    struct loop *loop = owner;
    uint64_t n_signals;

    (void)what;
    /* Reset the wakeup first: a post that comes later signals it again. */
    if (read(fd, &n_signals, sizeof(n_signals)) < 0 && errno != EAGAIN)
        return;

    posts_run(loop);
    if (atomic_load(&loop->is_stopping))
        event_base_loopbreak(loop->base);
}

static struct event_base *
base_create(void)
{
    CLEANUP(event_config_free)
    struct event_config *config = event_config_new();

    if (!config)
        return NULL;

    /* Coarse or cached time would let timers fire before clock_now_ns() reaches
     * their deadline. */
    const int flags = EVENT_BASE_FLAG_NOLOCK | EVENT_BASE_FLAG_IGNORE_ENV |
                      EVENT_BASE_FLAG_PRECISE_TIMER |
                      EVENT_BASE_FLAG_NO_CACHE_TIME;
    if (event_config_set_flag(config, flags) != 0)
        return NULL;
    return event_base_new_with_config(config);
}

static enum hoop_status
loop_open_wakeup(struct loop *loop)
{
    char why[RESOURCE_LIMIT_TEXT];

    loop->wakeup_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->wakeup_fd < 0)
        return error_raise(
            HOOP_E_EXHAUSTED, "no event descriptor: %s",
            resource_error_describe(RESOURCE_DESCRIPTOR, errno, why));
    descriptor_track(loop->wakeup_fd);

    loop->base = base_create();
    if (!loop->base)
        return error_raise(
            HOOP_E_EXHAUSTED, "no event loop: %s",
            resource_error_describe(RESOURCE_DESCRIPTOR, errno, why));

    loop->wakeup_event = event_new(loop->base, loop->wakeup_fd,
                                   EV_READ | EV_PERSIST, loop_on_wakeup, loop);
    if (!loop->wakeup_event || event_add(loop->wakeup_event, NULL) != 0)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for an event");
    return HOOP_OK;
}

enum hoop_status
loop_create(struct loop **out_loop)
{
    CLEANUP(loop_destroy) struct loop *loop = calloc(1, sizeof(*loop));

    if (!loop)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for an event loop");
    loop->wakeup_fd = -1;
    pthread_mutex_init(&loop->lock, NULL);
    STAILQ_INIT(&loop->posts);
    STAILQ_INIT(&loop->running);

    const enum hoop_status status = loop_open_wakeup(loop);
    if (status != HOOP_OK)
        return error_pass(status);

    *out_loop = STEAL(loop);
    return HOOP_OK;
}

void
loop_destroy(struct loop *loop)
{
    if (!loop)
        return;
    STAILQ_CONCAT(&loop->running, &loop->posts);
    posts_free(&loop->running);
    if (loop->wakeup_event)
        event_free(loop->wakeup_event);
    if (loop->base)
        event_base_free(loop->base);
    descriptor_close(loop->wakeup_fd);
    pthread_mutex_destroy(&loop->lock);
    free(loop);
}

void
loop_run(struct loop *loop)
{
    /* The wakeup's event is always pending, so this returns only by
     * loopbreak. */
    event_base_dispatch(loop->base);
    atomic_store(&loop->is_stopping, false);
}

void
loop_stop(struct loop *loop)
{
    atomic_store(&loop->is_stopping, true);
    loop_signal_wakeup(loop);
}

enum hoop_status
loop_post(struct loop *loop, loop_fn *fn, void *owner)
{
    struct loop_post *post = malloc(sizeof(*post));

    if (!post)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to post to a loop");
    post->fn = fn;
    post->owner = owner;

    /* Signal while holding the lock: after that, the loop may run and be
     * destroyed. */
    pthread_mutex_lock(&loop->lock);
    const bool is_first = STAILQ_EMPTY(&loop->posts);
    STAILQ_INSERT_TAIL(&loop->posts, post, link);
    if (is_first)
        loop_signal_wakeup(loop);
    pthread_mutex_unlock(&loop->lock);
    return HOOP_OK;
}

void
loop_cancel_posts(struct loop *loop, const void *owner)
{
    pthread_mutex_lock(&loop->lock);
    posts_drop_of_owner(&loop->posts, owner);
    pthread_mutex_unlock(&loop->lock);
    posts_drop_of_owner(&loop->running, owner);
}

static void
timer_on_event(evutil_socket_t fd, short what, void *owner)
{
    const struct loop_timer *timer = owner;

    (void)fd;
    (void)what;
    timer->on_timer(timer->owner);
}

enum hoop_status
loop_timer_create(struct loop *loop,
                  loop_fn *on_timer,
                  void *owner,
                  struct loop_timer **out_timer)
{
    CLEANUP(loop_timer_destroy)
    struct loop_timer *timer = calloc(1, sizeof(*timer));

    if (!timer)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a timer");
    timer->on_timer = on_timer;
    timer->owner = owner;
    timer->event = event_new(loop->base, -1, 0, timer_on_event, timer);
    if (!timer->event)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a timer");

    *out_timer = STEAL(timer);
    return HOOP_OK;
}

void
loop_timer_start(struct loop_timer *timer, uint64_t delay_ms)
{
    const uint64_t cut_ms =
        delay_ms < LOOP_DELAY_MS_MAX ? delay_ms : LOOP_DELAY_MS_MAX;
    const struct timeval delay = {
        .tv_sec = (time_t)(cut_ms / 1000),
        .tv_usec = (suseconds_t)(cut_ms % 1000 * 1000),
    };

    /* A pure timeout needs no descriptor, and its memory was allocated by
     * create. */
    const int result = event_add(timer->event, &delay);
    assert(result == 0);
    (void)result;
}

void
loop_timer_stop(struct loop_timer *timer)
{
    event_del(timer->event);
}

bool
loop_timer_is_started(const struct loop_timer *timer)
{
    return event_pending(timer->event, EV_TIMEOUT, NULL);
}

void
loop_timer_destroy(struct loop_timer *timer)
{
    if (!timer)
        return;
    if (timer->event)
        event_free(timer->event);
    free(timer);
}

/* A run of the loop during which the program is asked whether to stop. */
struct interrupt_poll {
    struct loop *loop;
    struct loop_timer *timer;
    bool is_interrupted;
};

static void
interrupt_poll_arm(const struct interrupt_poll *interrupt_poll)
{
    const int left_ms = clock_left_ms(interrupt_due_ns());

    if (left_ms >= 0)
        loop_timer_start(interrupt_poll->timer, (uint64_t)left_ms);
}

static void
interrupt_poll_on_timer(void *owner)
{
    struct interrupt_poll *interrupt_poll = owner;

    interrupt_poll->is_interrupted = interrupt_check_now();
    if (interrupt_poll->is_interrupted)
        loop_stop(interrupt_poll->loop);
    else
        interrupt_poll_arm(interrupt_poll);
}

enum hoop_status
loop_run_interruptible(struct loop *loop)
{
    struct interrupt_poll interrupt_poll = {.loop = loop};

    const enum hoop_status status = loop_timer_create(
        loop, interrupt_poll_on_timer, &interrupt_poll, &interrupt_poll.timer);
    if (status != HOOP_OK)
        return error_pass(status);
    interrupt_poll_arm(&interrupt_poll);
    loop_run(loop);
    loop_timer_destroy(interrupt_poll.timer);
    return interrupt_poll.is_interrupted ? interrupt_raise() : HOOP_OK;
}

static void
watch_on_event(evutil_socket_t fd, short what, void *owner)
{
    const struct loop_watch *watch = owner;

    (void)fd;
    watch->on_ready(watch->owner, what & EV_READ ? LOOP_READ : LOOP_WRITE);
}

enum hoop_status
loop_watch_create(struct loop *loop,
                  int fd,
                  loop_watch_fn *on_ready,
                  void *owner,
                  struct loop_watch **out_watch)
{
    CLEANUP(loop_watch_destroy)
    struct loop_watch *watch = calloc(1, sizeof(*watch));

    if (!watch)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a watch");
    watch->on_ready = on_ready;
    watch->owner = owner;
    watch->on_read =
        event_new(loop->base, fd, EV_READ | EV_PERSIST, watch_on_event, watch);
    watch->on_write =
        event_new(loop->base, fd, EV_WRITE | EV_PERSIST, watch_on_event, watch);
    if (!watch->on_read || !watch->on_write)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a watch");

    *out_watch = STEAL(watch);
    return HOOP_OK;
}

static void
watch_event_set(struct event *event, enum loop_interest wanted)
{
    if (wanted == LOOP_NOTHING) {
        event_del(event);
        return;
    }

    /* Fails only for a descriptor that is closed or cannot be polled. */
    const int result = event_add(event, NULL);
    assert(result == 0);
    (void)result;
}

void
loop_watch_set(struct loop_watch *watch, enum loop_interest interest)
{
    watch_event_set(watch->on_read, interest & LOOP_READ);
    watch_event_set(watch->on_write, interest & LOOP_WRITE);
}

void
loop_watch_destroy(struct loop_watch *watch)
{
    if (!watch)
        return;
    if (watch->on_read)
        event_free(watch->on_read);
    if (watch->on_write)
        event_free(watch->on_write);
    free(watch);
}
