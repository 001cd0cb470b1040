/*
 * keep/isolation.h - code that may crash, in a process of its own
 *
 * Thread: any; other threads may run. The child has a copy of everything and
 * starts no thread.
 */

#ifndef KEEP_ISOLATION_H
#define KEEP_ISOLATION_H

#include <stdint.h>

#include "hoop/status.h"

typedef enum hoop_status
isolation_fn(void *owner);

/*
 * fn's status and error text, from a child process; what else it does stays
 * there. Handle: what fn returns; HOOP_E_DATA_LOSS (the child ended by a signal,
 * which the text names), HOOP_E_TIMEOUT (not within timeout_ms), HOOP_E_EXHAUSTED
 * (no process, or it was killed by SIGKILL: the last two say nothing of what fn
 * looks at).
 */
enum hoop_status
isolation_run(isolation_fn *fn, void *owner, uint64_t timeout_ms);

#endif
