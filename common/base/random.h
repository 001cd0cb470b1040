/* base/random.h - unpredictable bytes for nonces, ids and jitter */

#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>

#include "hoop/status.h"

/*
 * From the kernel; never a weaker source instead. Thread: any.
 * Handle: HOOP_E_UNAVAILABLE (the kernel has none).
 */
enum hoop_status
random_fill(void *out_bytes, size_t n_bytes);

#endif
