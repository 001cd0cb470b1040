/*
 * wire/token.c - the heads of msgpack values
 *
 * A head is one byte that holds either a small value or how many bytes of a
 * big-endian number follow. The table below has those from 0xc0 to 0xdf; the
 * others carry their value in their low bits.
 */

#include "wire/token.h"

#include "base/cleanup.h"

enum {
    HEAD_FIXARRAY = 0x90,
    HEAD_FIXSTR = 0xa0,
    HEAD_NIL = 0xc0,
    HEAD_TRUE = 0xc3,
    HEAD_NEGATIVE = 0xe0,
};

struct head {
    uint8_t type; /* enum token_type; TOKEN_NEGATIVE: a signed number */
    uint8_t n_number;
};

static const struct head heads[32] = {
    [0x00] = {TOKEN_NIL, 0},      [0x02] = {TOKEN_BOOL, 0},
    [0x03] = {TOKEN_BOOL, 0},     [0x04] = {TOKEN_BIN, 1},
    [0x05] = {TOKEN_BIN, 2},      [0x06] = {TOKEN_BIN, 4},
    [0x0c] = {TOKEN_UINT, 1},     [0x0d] = {TOKEN_UINT, 2},
    [0x0e] = {TOKEN_UINT, 4},     [0x0f] = {TOKEN_UINT, 8},
    [0x10] = {TOKEN_NEGATIVE, 1}, [0x11] = {TOKEN_NEGATIVE, 2},
    [0x12] = {TOKEN_NEGATIVE, 4}, [0x13] = {TOKEN_NEGATIVE, 8},
    [0x19] = {TOKEN_STR, 1},      [0x1a] = {TOKEN_STR, 2},
    [0x1b] = {TOKEN_STR, 4},      [0x1c] = {TOKEN_ARRAY, 2},
    [0x1d] = {TOKEN_ARRAY, 4},
};

static const char *const type_names[] = {
    [TOKEN_NONE] = "nothing",
    [TOKEN_NIL] = "nil",
    [TOKEN_BOOL] = "bool",
    [TOKEN_UINT] = "uint",
    [TOKEN_NEGATIVE] = "a negative number",
    [TOKEN_STR] = "str",
    [TOKEN_BIN] = "bin",
    [TOKEN_ARRAY] = "array",
};

static uint64_t
number_read(const uint8_t *bytes, size_t n_bytes)
{
    uint64_t number = 0;

    for (size_t i = 0; i < n_bytes; i++)
        number = number << 8 | bytes[i];
    return number;
}

/* A signed number of n_bytes; what is not negative is as good as unsigned. */
static void
token_sign(struct token *token, size_t n_bytes)
{
    const uint64_t sign = (uint64_t)1 << (8 * n_bytes - 1);

    token->value = (token->value ^ sign) - sign;
    if (token->value >> 63 == 0)
        token->type = TOKEN_UINT;
}

static struct token
token_read_tabled(const uint8_t *bytes, size_t n_bytes)
{
    const struct head head = heads[bytes[0] - HEAD_NIL];

    if (n_bytes < (size_t)1 + head.n_number)
        return (struct token){0};

    struct token token = {
        .type = (enum token_type)head.type,
        .value = number_read(bytes + 1, head.n_number),
        .n_bytes = (size_t)1 + head.n_number,
    };
    if (token.type == TOKEN_BOOL)
        token.value = bytes[0] == HEAD_TRUE;
    else if (token.type == TOKEN_NEGATIVE)
        token_sign(&token, head.n_number);
    return token;
}

static struct token
token_read_head(const uint8_t *bytes, size_t n_bytes)
{
    const uint8_t first = bytes[0];

    if (first < 0x80)
        return (struct token){TOKEN_UINT, first, 1, 0};
    if (first >= HEAD_NEGATIVE)
        return (struct token){TOKEN_NEGATIVE, (uint64_t)(int8_t)first, 1, 0};
    if (first >= HEAD_NIL)
        return token_read_tabled(bytes, n_bytes);
    if (first >= HEAD_FIXSTR)
        return (struct token){TOKEN_STR, first - HEAD_FIXSTR, 1, 0};
    if (first >= HEAD_FIXARRAY)
        return (struct token){TOKEN_ARRAY, first - HEAD_FIXARRAY, 1, 0};
    return (struct token){0};
}

struct token
token_read(const uint8_t *bytes, size_t n_bytes)
{
    if (n_bytes == 0)
        return (struct token){0};

    struct token token = token_read_head(bytes, n_bytes);
    const size_t n_left = n_bytes - token.n_bytes;

    if (token.type < TOKEN_STR)
        return token;
    /* An element takes at least a byte. */
    if (token.value > n_left)
        return (struct token){0};
    if (token.type != TOKEN_ARRAY) {
        token.n_content = (size_t)token.value;
        token.n_bytes += token.n_content;
    }
    return token;
}

const char *
token_name(enum token_type type)
{
    return (size_t)type < COUNT_OF(type_names) ? type_names[type] : "nothing";
}
