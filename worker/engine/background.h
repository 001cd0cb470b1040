/*
 * engine/background.h - makes progress on an engine when no caller does
 *
 * It runs on the control loop's thread. While callers own progress it watches
 * no data socket, because an idle thread that polls the same sockets doubles
 * the latency. It resumes when work is left behind (background_progress_wake())
 * and, a moment after the last caller, to notice peers that die between
 * operations.
 *
 * Thread: the loop's, except background_progress_wake().
 */

#ifndef ENGINE_BACKGROUND_H
#define ENGINE_BACKGROUND_H

#include "hoop/status.h"

#include "engine/engine.h"
#include "net/loop.h"

struct background;

/* loop and engine are borrowed for life. Thread: the loop's, or any before it
 * runs. */
enum hoop_status
background_progress_create(struct loop *loop,
                           struct engine *engine,
                           struct background **out_background);
/* Thread: any, after the loop has stopped. NULL is allowed. */
void
background_progress_destroy(struct background *background);

/* There is work and no thread owns progress. Thread: any. */
void
background_progress_wake(struct background *background);

#endif
