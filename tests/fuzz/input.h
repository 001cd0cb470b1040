/* tests/fuzz/input.h - takes one field after another from a fuzzer's bytes */

#ifndef TESTS_FUZZ_INPUT_H
#define TESTS_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

struct input {
    const uint8_t *bytes;
    size_t n_bytes; /* how many are left */
};

/* Returns the next byte, or 0 after the end. */
static inline uint8_t
input_byte(struct input *input)
{
    if (input->n_bytes == 0)
        return 0;
    input->n_bytes--;
    return *input->bytes++;
}

/* Takes n_bytes, or as many as are left. */
static inline struct input
input_part(struct input *input, size_t n_bytes)
{
    const size_t n = n_bytes < input->n_bytes ? n_bytes : input->n_bytes;
    const struct input part = {input->bytes, n};

    input->bytes += n;
    input->n_bytes -= n;
    return part;
}

#endif
