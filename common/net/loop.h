/*
 * net/loop.h - the control loop: one thread, libevent behind it
 *
 * Everything on a loop is called by the thread inside loop_run(), except
 * loop_post() and loop_stop(), which any thread may call. Callbacks are never
 * called from within the function that arms them.
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
/* After loop_run() has returned; posts that never ran are dropped. */
void
loop_destroy(struct loop *loop);

/* Serve until loop_stop(). */
void
loop_run(struct loop *loop);

/* The same, where the thread's program may interrupt it (base/interrupt.h).
 * Handle: HOOP_E_CANCELLED (it has); else it was loop_stop(). */
enum hoop_status
loop_run_interruptible(struct loop *loop);

/* Thread: any. Repeatable, also before loop_run(). */
void
loop_stop(struct loop *loop);

/*
 * Have the loop's thread call fn(owner) soon, in the order of the posts.
 * Thread: any. Fails only for lack of memory.
 */
enum hoop_status
loop_post(struct loop *loop, loop_fn *fn, void *owner);

/* Drops what was posted for owner and has not been called: whoever posts for
 * an owner forgets it before freeing it. */
void
loop_cancel_posts(struct loop *loop, const void *owner);

/* One-shot timers; start replaces an earlier start. destroy may be called
 * from the timer's own callback. NULL is fine. */
enum hoop_status
loop_timer_create(struct loop *loop,
                  loop_fn *on_timer,
                  void *owner,
                  struct loop_timer **out_timer);
void
loop_timer_start(struct loop_timer *timer, uint64_t delay_ms);
void
loop_timer_stop(struct loop_timer *timer);
/* Started, and neither fired nor stopped since. */
bool
loop_timer_is_started(const struct loop_timer *timer);
void
loop_timer_destroy(struct loop_timer *timer);

/* Level-triggered readiness of a descriptor, which the watch borrows. The
 * interest is LOOP_NOTHING at first. destroy as for timers. */
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
