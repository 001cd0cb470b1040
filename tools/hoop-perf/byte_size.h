/* hoop-perf/byte_size.h - sizes as text: 8, 64K, 256M, 1G */

#ifndef HOOP_PERF_BYTE_SIZE_H
#define HOOP_PERF_BYTE_SIZE_H

#include <stddef.h>

#include "hoop/status.h"

enum {
    BYTE_SIZE_TEXT = 24,
};

/*
 * Read a whole number with an optional K, M or G (times 1024 each; "KiB" and
 * "kb" mean the same). Handle: HOOP_E_INVALID, HOOP_E_RANGE.
 */
HOOP_NODISCARD enum hoop_status
byte_size_parse(const char *text, size_t *out_n_bytes);

/* The shortest exact form: "64K", "1000". */
void
byte_size_format(size_t n_bytes, char out_text[static BYTE_SIZE_TEXT]);

#endif
