/*
 * net/loop.h - the control loop: one thread, based on libevent
 *
 * All functions of a loop are called by the thread inside loop_run(), except
 * loop_post() and loop_stop(), which any thread may call. A callback is never
 * called from within the function that arms it.
 */

#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

struct loop;
struct loop_timer;
struct loop_watch;

typedef void
loop_fn(void *owner);

enum loop_interest {
    LOOP_NOTHING = 0,
    LOOP_READ = 1,
    LOOP_WRITE = 2,
};

typedef void
loop_watch_fn(void *owner, enum loop_interest ready);

enum hoop_status
loop_create(struct loop **out_loop);
/* Call after loop_run() has returned; posts that have not run are dropped. */
void
loop_destroy(struct loop *loop);

/* Run until loop_stop(). */
void
loop_run(struct loop *loop);

/* As loop_run(), but the thread's program may interrupt it (base/interrupt.h).
 * Handle: HOOP_E_CANCELLED (interrupted); HOOP_OK means loop_stop(). */
enum hoop_status
loop_run_interruptible(struct loop *loop);

/* Thread: any. May be called repeatedly, also before loop_run(). */
void
loop_stop(struct loop *loop);

/*
 * Have the loop's thread call fn(owner) soon; posts run in order. Fails only
 * for lack of memory. Thread: any.
 */
enum hoop_status
loop_post(struct loop *loop, loop_fn *fn, void *owner);

/* Drop the posts for owner that have not run. Call this before freeing an
 * owner. */
void
loop_cancel_posts(struct loop *loop, const void *owner);

/* One-shot timers; a start replaces an earlier one. destroy may be called from
 * the timer's own callback and accepts NULL. */
enum hoop_status
loop_timer_create(struct loop *loop,
                  loop_fn *on_timer,
                  void *owner,
                  struct loop_timer **out_timer);
void
loop_timer_start(struct loop_timer *timer, uint64_t delay_ms);
void
loop_timer_stop(struct loop_timer *timer);
/* Return whether the timer was started, and has neither fired nor been stopped
 * since. */
bool
loop_timer_is_started(const struct loop_timer *timer);
void
loop_timer_destroy(struct loop_timer *timer);

/* Level-triggered readiness of a descriptor, which the watch borrows. The
 * interest is LOOP_NOTHING initially. destroy is as for timers. */
enum hoop_status
loop_watch_create(struct loop *loop,
                  int fd,
                  loop_watch_fn *on_ready,
                  void *owner,
                  struct loop_watch **out_watch);
void
loop_watch_set(struct loop_watch *watch, enum loop_interest interest);
void
loop_watch_destroy(struct loop_watch *watch);

#endif
