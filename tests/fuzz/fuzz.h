/* tests/fuzz/fuzz.h - what libFuzzer and replay.c call */

#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns 0. It aborts if the target violates its contract. */
int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

static inline void
fuzz_fail(const char *what)
{
    fprintf(stderr, "violated: %s\n", what);
    abort();
}

#define fuzz_require(condition) ((condition) ? (void)0 : fuzz_fail(#condition))

#endif
