/*
 * storage/isolation.h - run code that may crash in a child process
 *
 * The child has a copy of everything and starts no thread.
 *
 * Thread: any; other threads may be running.
 */

#ifndef STORAGE_ISOLATION_H
#define STORAGE_ISOLATION_H

#include <stdint.h>

#include "hoop/status.h"

typedef enum hoop_status
isolation_fn(void *owner);

/*
 * Run fn in a child process and return its status and error text; other effects
 * of fn stay in the child. Handle: what fn returns; HOOP_E_DATA_LOSS (the child
 * was ended by a signal, which the text names, or gave no result),
 * HOOP_E_TIMEOUT (it did not end within timeout_ms), HOOP_E_EXHAUSTED (it could
 * not be started, or was killed by SIGKILL). The last two say nothing about
 * what fn examines.
 */
enum hoop_status
isolation_run_in_child(isolation_fn *fn, void *owner, uint64_t timeout_ms);

#endif
