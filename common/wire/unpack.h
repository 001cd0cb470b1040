/*
 * wire/unpack.h - decodes a message of the control plane
 *
 *   struct unpack unpack;
 *
 *   unpack_init(&unpack, bytes, n_bytes, LIMIT_RPC_MESSAGE);
 *   unpack_array(&unpack, 2);
 *   const struct unpack_view key = unpack_str(&unpack, LIMIT_STORE_KEY);
 *   const uint64_t revision = unpack_uint(&unpack, UINT64_MAX);
 *   status = unpack_status(&unpack);
 *
 * The bytes are not trusted: unpack_init() checks the whole structure first,
 * and nothing is ever allocated. Errors are checked once, at the end: the first
 * one is kept, and later reads return 0, false and empty. Views borrow from the
 * input.
 *
 * Thread: one at a time.
 */

#ifndef WIRE_UNPACK_H
#define WIRE_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"

/* Bytes of the input; a str has no final 0. */
struct unpack_view {
    const uint8_t *bytes;
    size_t n_bytes;
};

/* The members are private to unpack.c. */
struct unpack {
    const uint8_t *bytes;
    size_t n_bytes;
    size_t at;
    enum hoop_status status;
};

/* Refuse more than n_bytes_max bytes, depths over LIMIT_MESSAGE_DEPTH, and
 * arrays that claim more elements than there are bytes. */
void
unpack_init(struct unpack *unpack,
            const void *bytes,
            size_t n_bytes,
            size_t n_bytes_max);

/*
 * Enter an array of at least n_min elements and return how many it has. The
 * caller reads all of them, and skips those that it does not know.
 */
size_t
unpack_array(struct unpack *unpack, size_t n_min);

/* A value above max or of another type is an error. */
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

/* Copy a str to text with a final 0; one with a 0 inside is refused. */
void
unpack_text(struct unpack *unpack, char *text, size_t n_text);

/* If the next value is nil, skip it and return true. Never fails. */
bool
unpack_nil(struct unpack *unpack);

/* Skip n values, arrays with all their elements. */
void
unpack_skip(struct unpack *unpack, size_t n);

/* Return whether nothing is left or reading has failed. */
bool
unpack_is_end(const struct unpack *unpack);

/* Handle: HOOP_E_DATA_LOSS; the text says at which byte, and why. */
enum hoop_status
unpack_status(const struct unpack *unpack);

/*
 * Read single values, as a frame's header does. Only a part of msgpack is
 * supported: unsigned and signed integers, bool,
 * nil, str, bin and array, in any of their lengths. Everything else is
 * refused, and the bytes are not trusted.
 *
 * Thread: any.
 */

enum value_type {
    VALUE_NONE, /* cut off, or not supported */
    VALUE_NIL,
    VALUE_BOOL,
    VALUE_UINT,
    VALUE_NEGATIVE,
    VALUE_STR,
    VALUE_BIN,
    VALUE_ARRAY,
};

struct value {
    enum value_type type;
    uint64_t number;  /* the number in two's complement, or the count of
                         bytes or elements */
    size_t n_bytes;   /* size of the value with the content of a str or bin */
    size_t n_content; /* size of that content, which comes last */
};

/*
 * Read the value that begins at bytes, of which n_bytes are available. For an
 * array only the head is read; it is refused if it claims more elements than
 * bytes follow.
 */
struct value
value_read(const uint8_t *bytes, size_t n_bytes);

/* A big-endian number of at most 8 bytes, as it follows a head. */
static inline uint64_t
value_number(const uint8_t *bytes, size_t n_bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < n_bytes; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* "uint", "str", ... for error texts; never NULL. */
const char *
value_name(enum value_type type);

#endif
