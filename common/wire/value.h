/*
 * wire/value.h - reads one msgpack value at a time, without allocating
 *
 * Only a part of msgpack is supported: unsigned and signed integers, bool, nil,
 * str, bin and array, in any of their lengths. Everything else is refused, and
 * the bytes are not trusted.
 *
 * Thread: any.
 */

#ifndef WIRE_VALUE_H
#define WIRE_VALUE_H

#include <stddef.h>
#include <stdint.h>

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
