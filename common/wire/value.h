/*
 * wire/value.h - one msgpack value at a time, read without allocating
 *
 * hoop speaks a part of msgpack: unsigned and signed integers, bool, nil, str,
 * bin and array, in any of their lengths. Everything else is refused.
 * Bytes are from outside. Thread: any.
 */

#ifndef WIRE_VALUE_H
#define WIRE_VALUE_H

#include <stddef.h>
#include <stdint.h>

enum value_type {
    VALUE_NONE, /* cut off, or not of our part of msgpack */
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
    uint64_t number;  /* the number in two's complement, bytes, or elements */
    size_t n_bytes;   /* what it takes, with the bytes of a str or bin, ... */
    size_t n_content; /* ... which are the last of them */
};

/*
 * The value that begins at bytes, of which n_bytes are there. An array is its
 * head alone; it is refused when it announces more elements than bytes follow.
 */
struct value
value_read(const uint8_t *bytes, size_t n_bytes);

/* A big-endian number of at most 8 bytes, as one follows a head. */
static inline uint64_t
value_number(const uint8_t *bytes, size_t n_bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < n_bytes; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* "uint", "str", ... for errors; never NULL. */
const char *
value_name(enum value_type type);

#endif
