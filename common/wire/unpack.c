/*
 * wire/unpack.c - decodes a message that was checked as a whole first
 *
 * The first walk checks that every value is complete, known and not nested too
 * deep. Reading can then only find a wrong type or a value that is too large.
 * Single values are read by the first part, which frame headers use too.
 */

#include "wire/unpack.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

/*
 * Read one msgpack value. A head is one byte that holds either a small value or
 * how many bytes of a big-endian number follow. The table has those from 0xc0
 * to 0xdf; the others hold their value in their low bits.
 */

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

/* Check a message and read its values in order. */

/* The open arrays of the first walk. */
struct nesting {
    size_t depth;
    uint64_t missing[LIMIT_MESSAGE_DEPTH];
};

static bool
nesting_enter(struct nesting *nesting, const struct value *value)
{
    if (nesting->depth > 0)
        nesting->missing[nesting->depth - 1]--;
    if (value->type == VALUE_ARRAY) {
        if (nesting->depth == LIMIT_MESSAGE_DEPTH)
            return false;
        nesting->missing[nesting->depth++] = value->number;
    }
    while (nesting->depth > 0 && nesting->missing[nesting->depth - 1] == 0)
        nesting->depth--;
    return true;
}

static enum hoop_status
message_check(const uint8_t *bytes, size_t n_bytes)
{
    struct nesting nesting = {0};
    size_t at = 0;

    while (at < n_bytes) {
        const struct value value = value_read(bytes + at, n_bytes - at);

        if (value.type == VALUE_NONE)
            return error_raise(HOOP_E_DATA_LOSS,
                               "byte %zu of %zu of the message begins no "
                               "complete value of a known type",
                               at, n_bytes);
        if (!nesting_enter(&nesting, &value))
            return error_raise(HOOP_E_DATA_LOSS,
                               "the message nests more than %d arrays at byte "
                               "%zu",
                               LIMIT_MESSAGE_DEPTH, at);
        at += value.n_bytes;
    }
    if (nesting.depth > 0)
        return error_raise(HOOP_E_DATA_LOSS,
                           "the message ends inside an array, after %zu bytes",
                           n_bytes);
    return HOOP_OK;
}

void
unpack_init(struct unpack *unpack,
            const void *bytes,
            size_t n_bytes,
            size_t n_bytes_max)
{
    *unpack = (struct unpack){.bytes = bytes, .n_bytes = n_bytes};

    if (n_bytes > n_bytes_max)
        unpack->status = error_raise(HOOP_E_DATA_LOSS,
                                     "the message has %zu bytes, allowed are "
                                     "%zu",
                                     n_bytes, n_bytes_max);
    else
        unpack->status = message_check(bytes, n_bytes);
}

static struct value
unpack_peek(const struct unpack *unpack)
{
    if (unpack->status != HOOP_OK || unpack->at == unpack->n_bytes)
        return (struct value){0};
    return value_read(unpack->bytes + unpack->at, unpack->n_bytes - unpack->at);
}

/* Skip the next value and return it; if it has another type, return zero. */
static struct value
unpack_next(struct unpack *unpack, enum value_type type)
{
    const struct value value = unpack_peek(unpack);

    if (unpack->status != HOOP_OK)
        return (struct value){0};
    if (value.type != type || type == VALUE_NONE) {
        unpack->status = error_raise(
            HOOP_E_DATA_LOSS, "byte %zu of the message: expected %s, found %s",
            unpack->at, value_name(type), value_name(value.type));
        return (struct value){0};
    }
    unpack->at += value.n_bytes;
    return value;
}

/* Report that the value just skipped is out of its bounds. */
static void
unpack_refuse(struct unpack *unpack, uint64_t number, const char *why)
{
    unpack->status = error_raise(
        HOOP_E_DATA_LOSS, "the value before byte %zu of the message: %llu %s",
        unpack->at, (unsigned long long)number, why);
}

size_t
unpack_array(struct unpack *unpack, size_t n_min)
{
    const struct value value = unpack_next(unpack, VALUE_ARRAY);

    if (unpack->status == HOOP_OK && value.number < n_min)
        unpack_refuse(unpack, value.number, "elements are too few");
    return unpack->status == HOOP_OK ? (size_t)value.number : 0;
}

uint64_t
unpack_uint(struct unpack *unpack, uint64_t max)
{
    const struct value value = unpack_next(unpack, VALUE_UINT);

    if (value.number <= max)
        return value.number;
    unpack_refuse(unpack, value.number, "is too great");
    return 0;
}

int64_t
unpack_int(struct unpack *unpack)
{
    const enum value_type type = unpack_peek(unpack).type;
    const struct value value = unpack_next(
        unpack, type == VALUE_NEGATIVE ? VALUE_NEGATIVE : VALUE_UINT);

    if (type == VALUE_NEGATIVE || value.number <= INT64_MAX)
        return (int64_t)value.number;
    unpack_refuse(unpack, value.number, "is too great");
    return 0;
}

bool
unpack_bool(struct unpack *unpack)
{
    return unpack_next(unpack, VALUE_BOOL).number != 0;
}

static struct unpack_view
unpack_content(struct unpack *unpack, enum value_type type, size_t n_bytes_max)
{
    const struct value value = unpack_next(unpack, type);

    if (value.n_content > n_bytes_max)
        unpack_refuse(unpack, value.n_content, "bytes are too many");
    if (unpack->status != HOOP_OK)
        return (struct unpack_view){(const uint8_t *)"", 0};
    return (struct unpack_view){
        unpack->bytes + unpack->at - value.n_content,
        value.n_content,
    };
}

struct unpack_view
unpack_str(struct unpack *unpack, size_t n_bytes_max)
{
    return unpack_content(unpack, VALUE_STR, n_bytes_max);
}

struct unpack_view
unpack_bin(struct unpack *unpack, size_t n_bytes_max)
{
    return unpack_content(unpack, VALUE_BIN, n_bytes_max);
}

void
unpack_text(struct unpack *unpack, char *text, size_t n_text)
{
    const struct unpack_view view = unpack_str(unpack, n_text - 1);
    const bool has_zero = memchr(view.bytes, '\0', view.n_bytes) != NULL;

    if (has_zero)
        unpack_refuse(unpack, view.n_bytes, "bytes of text have a 0 inside");
    const size_t n_bytes = has_zero ? 0 : view.n_bytes;

    memcpy(text, view.bytes, n_bytes);
    text[n_bytes] = '\0';
}

bool
unpack_nil(struct unpack *unpack)
{
    const struct value value = unpack_peek(unpack);

    if (value.type != VALUE_NIL)
        return false;
    unpack->at += value.n_bytes;
    return true;
}

void
unpack_skip(struct unpack *unpack, size_t n)
{
    uint64_t n_left = n;

    while (n_left > 0 && unpack->status == HOOP_OK) {
        const struct value value = unpack_peek(unpack);

        unpack_next(unpack, value.type);
        n_left += value.type == VALUE_ARRAY ? value.number : 0;
        n_left--;
    }
}

bool
unpack_is_end(const struct unpack *unpack)
{
    return unpack->status != HOOP_OK || unpack->at == unpack->n_bytes;
}

enum hoop_status
unpack_status(const struct unpack *unpack)
{
    if (unpack->status != HOOP_OK)
        return error_pass(unpack->status);
    return HOOP_OK;
}
