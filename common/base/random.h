/* base/random.h - unpredictable bytes for nonces, ids and jitter */

#ifndef BASE_RANDOM_H
#define BASE_RANDOM_H

#include <stddef.h>

#include "hoop/status.h"

/*
 * Fill with random bytes from the kernel; there is no weaker fallback. Thread:
 * any.
 * Handle: HOOP_E_UNAVAILABLE (the kernel has none).
 */
enum hoop_status
random_fill(void *out_bytes, size_t n_bytes);

#endif
