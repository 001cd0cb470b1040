/* session/loop_thread.h - the one thread of a session, which runs its loop */

#ifndef SESSION_LOOP_THREAD_H
#define SESSION_LOOP_THREAD_H

#include <pthread.h>

#include "hoop/status.h"

#include "net/loop.h"

/* The user's signal handlers never run on it. Ended by loop_stop(), and joined.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
loop_thread_start(struct loop *loop, pthread_t *out_thread);

#endif
