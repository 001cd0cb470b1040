/*
 * tests/fuzz/virtual_loop.c - net/loop.h and base/clock.h on a clock of their
 * own
 */

#include "fuzz/virtual_loop.h"

#include <limits.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "base/clock.h"
#include "fuzz/fuzz.h"

enum {
    LOOK_NS = 100 * 1000,
    TURNS_MAX = 1000 * 1000, /* of one run; more is taken for endless */
};

struct post {
    STAILQ_ENTRY(post) link;
    loop_fn *fn;
    void *owner;
};

struct loop_timer {
    LIST_ENTRY(loop_timer) link;
    loop_fn *on_timer;
    void *owner;
    uint64_t at_ns;
    bool is_started;
};

struct loop {
    STAILQ_HEAD(, post) posts;
    LIST_HEAD(, loop_timer) timers;
    bool is_stopped;
};

static const uint64_t BEGINNING_NS = 1000000000000;
static uint64_t now_ns;

void
virtual_clock_reset(void)
{
    now_ns = BEGINNING_NS;
}

void
virtual_clock_advance(uint64_t ms)
{
    now_ns += ms * CLOCK_NS_PER_MS;
}

uint64_t
clock_now_ns(void)
{
    return now_ns += LOOK_NS;
}

uint64_t
clock_coarse_ns(void)
{
    return now_ns += LOOK_NS;
}

uint64_t
clock_wall_ns(void)
{
    return now_ns;
}

uint64_t
clock_deadline_ns(uint64_t timeout_ms)
{
    return timeout_ms > (CLOCK_NEVER - now_ns) / CLOCK_NS_PER_MS
               ? CLOCK_NEVER
               : now_ns + timeout_ms * CLOCK_NS_PER_MS;
}

int
clock_left_ms(uint64_t deadline_ns)
{
    if (deadline_ns == CLOCK_NEVER)
        return -1;
    if (now_ns >= deadline_ns)
        return 0;
    const uint64_t left_ms =
        (deadline_ns - now_ns + CLOCK_NS_PER_MS - 1) / CLOCK_NS_PER_MS;
    return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

enum hoop_status
loop_create(struct loop **out_loop)
{
    struct loop *loop = calloc(1, sizeof(*loop));

    fuzz_require(loop);
    STAILQ_INIT(&loop->posts);
    *out_loop = loop;
    return HOOP_OK;
}

void
loop_destroy(struct loop *loop)
{
    struct post *post;

    if (!loop)
        return;
    fuzz_require(LIST_EMPTY(&loop->timers));
    while ((post = STAILQ_FIRST(&loop->posts))) {
        STAILQ_REMOVE_HEAD(&loop->posts, link);
        free(post);
    }
    free(loop);
}

static struct loop_timer *
timer_first(const struct loop *loop)
{
    struct loop_timer *first = NULL;
    struct loop_timer *timer;

    LIST_FOREACH(timer, &loop->timers, link)
    {
        if (timer->is_started && (!first || timer->at_ns < first->at_ns))
            first = timer;
    }
    return first;
}

bool
virtual_loop_turn(struct loop *loop)
{
    struct post *post = STAILQ_FIRST(&loop->posts);
    struct loop_timer *timer = timer_first(loop);

    if (post) {
        const struct post due = *post;

        STAILQ_REMOVE_HEAD(&loop->posts, link);
        free(post);
        due.fn(due.owner);
        return true;
    }
    if (!timer)
        return false;
    if (timer->at_ns > now_ns)
        now_ns = timer->at_ns;
    timer->is_started = false;
    timer->on_timer(timer->owner);
    return true;
}

void
loop_run(struct loop *loop)
{
    for (unsigned i = 0; !loop->is_stopped; i++) {
        fuzz_require(i < TURNS_MAX);
        fuzz_require(virtual_loop_turn(loop));
    }
    loop->is_stopped = false;
}

/* Nobody interrupts. */
enum hoop_status
loop_run_interruptible(struct loop *loop)
{
    loop_run(loop);
    return HOOP_OK;
}

void
loop_stop(struct loop *loop)
{
    loop->is_stopped = true;
}

enum hoop_status
loop_post(struct loop *loop, loop_fn *fn, void *owner)
{
    struct post *post = calloc(1, sizeof(*post));

    fuzz_require(post);
    post->fn = fn;
    post->owner = owner;
    STAILQ_INSERT_TAIL(&loop->posts, post, link);
    return HOOP_OK;
}

void
loop_cancel_posts(struct loop *loop, const void *owner)
{
    struct post *next;

    for (struct post *post = STAILQ_FIRST(&loop->posts); post; post = next) {
        next = STAILQ_NEXT(post, link);
        if (post->owner != owner)
            continue;
        STAILQ_REMOVE(&loop->posts, post, post, link);
        free(post);
    }
}

enum hoop_status
loop_timer_create(struct loop *loop,
                  loop_fn *on_timer,
                  void *owner,
                  struct loop_timer **out_timer)
{
    struct loop_timer *timer = calloc(1, sizeof(*timer));

    fuzz_require(timer);
    timer->on_timer = on_timer;
    timer->owner = owner;
    LIST_INSERT_HEAD(&loop->timers, timer, link);
    *out_timer = timer;
    return HOOP_OK;
}

void
loop_timer_start(struct loop_timer *timer, uint64_t delay_ms)
{
    timer->at_ns = clock_deadline_ns(delay_ms);
    timer->is_started = true;
}

void
loop_timer_stop(struct loop_timer *timer)
{
    timer->is_started = false;
}

bool
loop_timer_is_started(const struct loop_timer *timer)
{
    return timer->is_started;
}

void
loop_timer_destroy(struct loop_timer *timer)
{
    if (!timer)
        return;
    LIST_REMOVE(timer, link);
    free(timer);
}

/* Nothing here has a descriptor. */

enum hoop_status
loop_watch_create(struct loop *loop,
                  int fd,
                  loop_watch_fn *on_ready,
                  void *owner,
                  struct loop_watch **out_watch)
{
    (void)loop;
    (void)fd;
    (void)on_ready;
    (void)owner;
    (void)out_watch;
    fuzz_fail("a watch");
    return HOOP_E_INTERNAL;
}

void
loop_watch_set(struct loop_watch *watch, enum loop_interest interest)
{
    (void)watch;
    (void)interest;
}

void
loop_watch_destroy(struct loop_watch *watch)
{
    (void)watch;
}
