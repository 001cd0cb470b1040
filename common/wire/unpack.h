/*
 * wire/unpack.h - read a message of the control plane, ask once at the end
 *
 *     struct unpack unpack;
 *
 *     unpack_init(&unpack, bytes, n_bytes, LIMIT_RPC_MESSAGE);
 *     unpack_array(&unpack, 2);
 *     const struct unpack_view key = unpack_str(&unpack, LIMIT_STORE_KEY);
 *     const uint64_t revision = unpack_uint(&unpack, UINT64_MAX);
 *     status = unpack_status(&unpack);
 *
 * The bytes are from outside: unpack_init() walks over all of them before
 * anything is believed, and nothing is ever allocated. The first failure is
 * latched; what is read after it is 0, false and empty. Views are borrowed
 * from the input. Thread: one at a time.
 */

#ifndef WIRE_UNPACK_H
#define WIRE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"

/* Bytes of the input; of a str too, which has no final 0. */
struct unpack_view {
    const uint8_t *bytes;
    size_t n_bytes;
};

/* Members are unpack.c's. */
struct unpack {
    const uint8_t *bytes;
    size_t n_bytes;
    size_t at;
    enum hoop_status status;
};

/* Refuses more than n_bytes_max, depths over LIMIT_MESSAGE_DEPTH, bombs. */
void
unpack_init(struct unpack *unpack,
            const void *bytes,
            size_t n_bytes,
            size_t n_bytes_max);

/*
 * Enter an array of at least n_min elements and return how many it has. The
 * caller reads them all; elements that it does not know it skips.
 */
size_t
unpack_array(struct unpack *unpack, size_t n_min);

/* Everything above max, or of another type, is a failure. */
uint64_t
unpack_uint(struct unpack *unpack, uint64_t max);
int64_t
unpack_int(struct unpack *unpack);
bool
unpack_bool(struct unpack *unpack);
struct unpack_view
unpack_str(struct unpack *unpack, size_t n_bytes_max);
struct unpack_view
unpack_bin(struct unpack *unpack, size_t n_bytes_max);

/* A str copied to text with a final 0; one that has a 0 inside is refused. */
void
unpack_text(struct unpack *unpack, char *text, size_t n_text);

/* If the next value is nil, step over it and say so. Never fails. */
bool
unpack_nil(struct unpack *unpack);

/* Step over n values, arrays with all they hold. */
void
unpack_skip(struct unpack *unpack, size_t n);

/* Nothing is left, or reading has failed. */
bool
unpack_is_end(const struct unpack *unpack);

/* Handle: HOOP_E_DATA_LOSS; the text says which byte and why. */
enum hoop_status
unpack_status(const struct unpack *unpack);

#endif
