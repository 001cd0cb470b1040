/* session/loop_thread.h - the background thread of a session, which runs its
 * loop */

#ifndef SESSION_LOOP_THREAD_H
#define SESSION_LOOP_THREAD_H

#include <pthread.h>

#include "hoop/status.h"

#include "net/loop.h"

/* Start the thread. It blocks all signals, so the user's signal handlers never
 * run on it. The caller ends it by loop_stop() and joins it.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
loop_thread_start(struct loop *loop, pthread_t *out_thread);

#endif
