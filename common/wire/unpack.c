/*
 * wire/unpack.c - a cursor over a message that was checked as a whole first
 *
 * The first walk proves that every value is complete, known and not nested
 * too deep. Reading afterwards can only meet the wrong type or too large a
 * value.
 */

#include "wire/unpack.h"

#include <string.h>

#include "base/error.h"
#include "wire/token.h"

/* The arrays that are open during the first walk. */
struct nesting {
    size_t depth;
    uint64_t missing[LIMIT_MESSAGE_DEPTH];
};

static bool
nesting_enter(struct nesting *nesting, const struct token *token)
{
    if (nesting->depth > 0)
        nesting->missing[nesting->depth - 1]--;
    if (token->type == TOKEN_ARRAY) {
        if (nesting->depth == LIMIT_MESSAGE_DEPTH)
            return false;
        nesting->missing[nesting->depth++] = token->value;
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
        const struct token token = token_read(bytes + at, n_bytes - at);

        if (token.type == TOKEN_NONE)
            return error_raise(HOOP_E_DATA_LOSS,
                               "byte %zu of %zu of the message begins no "
                               "complete value of a known type",
                               at, n_bytes);
        if (!nesting_enter(&nesting, &token))
            return error_raise(HOOP_E_DATA_LOSS,
                               "the message nests more than %d arrays at byte "
                               "%zu",
                               LIMIT_MESSAGE_DEPTH, at);
        at += token.n_bytes;
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

static struct token
unpack_peek(const struct unpack *unpack)
{
    if (unpack->status != HOOP_OK || unpack->at == unpack->n_bytes)
        return (struct token){0};
    return token_read(unpack->bytes + unpack->at, unpack->n_bytes - unpack->at);
}

/* Step over the next value, which must be of this type; if not, it is zero. */
static struct token
unpack_next(struct unpack *unpack, enum token_type type)
{
    const struct token token = unpack_peek(unpack);

    if (unpack->status != HOOP_OK)
        return (struct token){0};
    if (token.type != type || type == TOKEN_NONE) {
        unpack->status = error_raise(
            HOOP_E_DATA_LOSS, "byte %zu of the message: expected %s, found %s",
            unpack->at, token_name(type), token_name(token.type));
        return (struct token){0};
    }
    unpack->at += token.n_bytes;
    return token;
}

/* The value that was just stepped over is out of its bounds. */
static void
unpack_refuse(struct unpack *unpack, uint64_t value, const char *why)
{
    unpack->status = error_raise(
        HOOP_E_DATA_LOSS, "the value before byte %zu of the message: %llu %s",
        unpack->at, (unsigned long long)value, why);
}

size_t
unpack_array(struct unpack *unpack, size_t n_min)
{
    const struct token token = unpack_next(unpack, TOKEN_ARRAY);

    if (unpack->status == HOOP_OK && token.value < n_min)
        unpack_refuse(unpack, token.value, "elements are too few");
    return unpack->status == HOOP_OK ? (size_t)token.value : 0;
}

uint64_t
unpack_uint(struct unpack *unpack, uint64_t max)
{
    const struct token token = unpack_next(unpack, TOKEN_UINT);

    if (token.value <= max)
        return token.value;
    unpack_refuse(unpack, token.value, "is too great");
    return 0;
}

int64_t
unpack_int(struct unpack *unpack)
{
    const enum token_type type = unpack_peek(unpack).type;
    const struct token token = unpack_next(
        unpack, type == TOKEN_NEGATIVE ? TOKEN_NEGATIVE : TOKEN_UINT);

    if (type == TOKEN_NEGATIVE || token.value <= INT64_MAX)
        return (int64_t)token.value;
    unpack_refuse(unpack, token.value, "is too great");
    return 0;
}

bool
unpack_bool(struct unpack *unpack)
{
    return unpack_next(unpack, TOKEN_BOOL).value != 0;
}

static struct unpack_view
unpack_content(struct unpack *unpack, enum token_type type, size_t n_bytes_max)
{
    const struct token token = unpack_next(unpack, type);

    if (token.n_content > n_bytes_max)
        unpack_refuse(unpack, token.n_content, "bytes are too many");
    if (unpack->status != HOOP_OK)
        return (struct unpack_view){(const uint8_t *)"", 0};
    return (struct unpack_view){
        unpack->bytes + unpack->at - token.n_content,
        token.n_content,
    };
}

struct unpack_view
unpack_str(struct unpack *unpack, size_t n_bytes_max)
{
    return unpack_content(unpack, TOKEN_STR, n_bytes_max);
}

struct unpack_view
unpack_bin(struct unpack *unpack, size_t n_bytes_max)
{
    return unpack_content(unpack, TOKEN_BIN, n_bytes_max);
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
    const struct token token = unpack_peek(unpack);

    if (token.type != TOKEN_NIL)
        return false;
    unpack->at += token.n_bytes;
    return true;
}

void
unpack_skip(struct unpack *unpack, size_t n)
{
    uint64_t n_left = n;

    while (n_left > 0 && unpack->status == HOOP_OK) {
        const struct token token = unpack_peek(unpack);

        unpack_next(unpack, token.type);
        n_left += token.type == TOKEN_ARRAY ? token.value : 0;
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
