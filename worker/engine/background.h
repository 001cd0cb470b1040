/*
 * engine/background.h - makes progress on an engine when no caller does
 *
 * Lives on the control loop's thread. While callers make progress it watches no data
 * socket: an idle thread that polls the same sockets doubles the latency. It
 * comes back when work is left behind (background_wake()) and, a moment after
 * the last caller, to notice peers that die between operations.
 *
 * Thread: the loop's, except background_wake().
 */

#ifndef ENGINE_BACKGROUND_H
#define ENGINE_BACKGROUND_H

#include "hoop/status.h"

#include "engine/engine.h"
#include "net/loop.h"

struct background;

/* Both are borrowed for life. Thread: before the loop runs, or on it. */
enum hoop_status
background_create(struct loop *loop,
                  struct engine *engine,
                  struct background **out_background);
/* Thread: after the loop has stopped. NULL is fine. */
void
background_destroy(struct background *background);

/* There is work and nobody makes progress. Thread: any. */
void
background_wake(struct background *background);

#endif
