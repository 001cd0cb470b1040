/*
 * wire/value.c - reads the heads of msgpack values
 *
 * A head is one byte that holds either a small value or how many bytes of a
 * big-endian number follow. The table has those from 0xc0 to 0xdf; the others
 * hold their value in their low bits.
 */

#include "wire/value.h"

#include "base/cleanup.h"

enum {
    HEAD_FIXARRAY = 0x90,
    HEAD_FIXSTR = 0xa0,
    HEAD_NIL = 0xc0,
    HEAD_TRUE = 0xc3,
    HEAD_NEGATIVE = 0xe0,
};

struct head {
    uint8_t type; /* enum value_type; VALUE_NEGATIVE: a signed number */
    uint8_t n_number;
};

static const struct head heads[32] = {
    [0x00] = {VALUE_NIL, 0},      [0x02] = {VALUE_BOOL, 0},
    [0x03] = {VALUE_BOOL, 0},     [0x04] = {VALUE_BIN, 1},
    [0x05] = {VALUE_BIN, 2},      [0x06] = {VALUE_BIN, 4},
    [0x0c] = {VALUE_UINT, 1},     [0x0d] = {VALUE_UINT, 2},
    [0x0e] = {VALUE_UINT, 4},     [0x0f] = {VALUE_UINT, 8},
    [0x10] = {VALUE_NEGATIVE, 1}, [0x11] = {VALUE_NEGATIVE, 2},
    [0x12] = {VALUE_NEGATIVE, 4}, [0x13] = {VALUE_NEGATIVE, 8},
    [0x19] = {VALUE_STR, 1},      [0x1a] = {VALUE_STR, 2},
    [0x1b] = {VALUE_STR, 4},      [0x1c] = {VALUE_ARRAY, 2},
    [0x1d] = {VALUE_ARRAY, 4},
};

static const char *const type_names[] = {
    [VALUE_NONE] = "nothing",
    [VALUE_NIL] = "nil",
    [VALUE_BOOL] = "bool",
    [VALUE_UINT] = "uint",
    [VALUE_NEGATIVE] = "a negative number",
    [VALUE_STR] = "str",
    [VALUE_BIN] = "bin",
    [VALUE_ARRAY] = "array",
};

/* A signed number of n_bytes; if not negative, it becomes unsigned. */
static void
value_sign(struct value *value, size_t n_bytes)
{
    const uint64_t sign = (uint64_t)1 << (8 * n_bytes - 1);

    value->number = (value->number ^ sign) - sign;
    if (value->number >> 63 == 0)
        value->type = VALUE_UINT;
}

static struct value
value_read_tabled(const uint8_t *bytes, size_t n_bytes)
{
    const struct head head = heads[bytes[0] - HEAD_NIL];

    if (n_bytes < (size_t)1 + head.n_number)
        return (struct value){0};

    struct value value = {
        .type = (enum value_type)head.type,
        .number = value_number(bytes + 1, head.n_number),
        .n_bytes = (size_t)1 + head.n_number,
    };
    if (value.type == VALUE_BOOL)
        value.number = bytes[0] == HEAD_TRUE;
    else if (value.type == VALUE_NEGATIVE)
        value_sign(&value, head.n_number);
    return value;
}

static struct value
value_read_head(const uint8_t *bytes, size_t n_bytes)
{
    const uint8_t first = bytes[0];

    if (first < 0x80)
        return (struct value){VALUE_UINT, first, 1, 0};
    if (first >= HEAD_NEGATIVE)
        return (struct value){VALUE_NEGATIVE, (uint64_t)(int8_t)first, 1, 0};
    if (first >= HEAD_NIL)
        return value_read_tabled(bytes, n_bytes);
    if (first >= HEAD_FIXSTR)
        return (struct value){VALUE_STR, first - HEAD_FIXSTR, 1, 0};
    if (first >= HEAD_FIXARRAY)
        return (struct value){VALUE_ARRAY, first - HEAD_FIXARRAY, 1, 0};
    return (struct value){0};
}

struct value
value_read(const uint8_t *bytes, size_t n_bytes)
{
    if (n_bytes == 0)
        return (struct value){0};

    struct value value = value_read_head(bytes, n_bytes);
    const size_t n_left = n_bytes - value.n_bytes;

    if (value.type < VALUE_STR)
        return value;
    /* An element takes at least one byte. */
    if (value.number > n_left)
        return (struct value){0};
    if (value.type != VALUE_ARRAY) {
        value.n_content = (size_t)value.number;
        value.n_bytes += value.n_content;
    }
    return value;
}

const char *
value_name(enum value_type type)
{
    return (size_t)type < COUNT_OF(type_names) ? type_names[type] : "nothing";
}
