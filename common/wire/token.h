/*
 * wire/token.h - one msgpack value at a time, read without allocating
 *
 * hoop speaks a part of msgpack: unsigned and signed integers, bool, nil, str,
 * bin and array, in any of their lengths. Everything else is refused.
 * Bytes are from outside. Thread: any.
 */

#ifndef WIRE_TOKEN_H
#define WIRE_TOKEN_H

#include <stddef.h>
#include <stdint.h>

enum token_type {
    TOKEN_NONE, /* cut off, or not of our part of msgpack */
    TOKEN_NIL,
    TOKEN_BOOL,
    TOKEN_UINT,
    TOKEN_NEGATIVE,
    TOKEN_STR,
    TOKEN_BIN,
    TOKEN_ARRAY,
};

struct token {
    enum token_type type;
    uint64_t value;   /* the number in two's complement, bytes, or elements */
    size_t n_bytes;   /* what it takes, with the bytes of a str or bin, ... */
    size_t n_content; /* ... which are the last of them */
};

/*
 * The value that begins at bytes, of which n_bytes are there. An array is its
 * head alone; it is refused when it announces more elements than bytes follow.
 */
struct token
token_read(const uint8_t *bytes, size_t n_bytes);

/* "uint", "str", ... for errors; never NULL. */
const char *
token_name(enum token_type type);

#endif
