/*
 * wire/schema.h - the fields of a frame's header, one per line
 *
 * The order is the order on the wire. frame.c generates encoding, decoding and
 * bounds from this list. A test compares it with docs/wire-format.md. New
 * fields are only added at the end.
 */

#ifndef WIRE_SCHEMA_H
#define WIRE_SCHEMA_H

#include <stdint.h>

#include "base/limits.h"
#include "wire/frame.h"

/* X(member of struct frame, its type, its largest value) */
#define FRAME_FIELDS(X)                                                        \
    X(kind, uint32_t, FRAME_STRIPED)                                           \
    X(flags, uint32_t, UINT8_MAX)                                              \
    X(epoch, uint64_t, UINT64_MAX)                                             \
    X(comm, uint64_t, UINT64_MAX)                                              \
    X(op, uint64_t, UINT64_MAX)                                                \
    X(signature, uint64_t, UINT64_MAX)                                         \
    X(tag, uint64_t, UINT64_MAX)                                               \
    X(step, uint32_t, UINT32_MAX)                                              \
    X(offset, uint64_t, UINT64_MAX)                                            \
    X(total, uint64_t, UINT64_MAX)                                             \
    X(codec, uint32_t, UINT8_MAX)                                              \
    X(raw, uint32_t, LIMIT_FRAME_PAYLOAD)                                      \
    X(stored, uint32_t, LIMIT_FRAME_PAYLOAD)                                   \
    X(checksum, uint64_t, UINT64_MAX)                                          \
    X(call.name, uint32_t, UINT8_MAX)                                          \
    X(call.dtype, uint32_t, UINT8_MAX)                                         \
    X(call.reduce_op, uint32_t, UINT8_MAX)                                     \
    X(call.root, uint32_t, UINT32_MAX)                                         \
    X(call.count, uint64_t, UINT64_MAX)

#define FIELD_ONE(field, type, max) +1
enum {
    FRAME_N_FIELDS = FRAME_FIELDS(FIELD_ONE)
};

/* Largest encoded size of a field. */
#define FIELD_BYTES(field, type, max)                                          \
    +((max) <= INT8_MAX     ? 1                                                \
      : (max) <= UINT8_MAX  ? 2                                                \
      : (max) <= UINT16_MAX ? 3                                                \
      : (max) <= UINT32_MAX ? 5                                                \
                            : 9)
enum {
    /* magic, version, reserved, size of the array as u16 little-endian */
    PREAMBLE_BYTES = 8,
    PREAMBLE_VERSION = 4,
    PREAMBLE_RESERVED = 5,
    PREAMBLE_LENGTH = 6,
    ARRAY_ROOM = LIMIT_FRAME_HEADER - PREAMBLE_BYTES,
    ARRAY_HEAD_BYTES = 3,
    ARRAY_BYTES_MAX = ARRAY_HEAD_BYTES FRAME_FIELDS(FIELD_BYTES),
};

#endif
