/* base/escape.c - make foreign texts safe to show */

#include "base/escape.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* Unicode's categories Cc, Cf, Zl and Zp, and the reserved code points between
 * them, in ascending order. Noncharacters are computed. */
static const struct range {
    uint32_t first;
    uint32_t last;
} unsafe[] = {
    {0x0000, 0x001f},   {0x007f, 0x009f},   {0x00ad, 0x00ad},
    {0x0600, 0x0605},   {0x061c, 0x061c},   {0x06dd, 0x06dd},
    {0x070f, 0x070f},   {0x0890, 0x0891},   {0x08e2, 0x08e2},
    {0x180e, 0x180e},   {0x200b, 0x200f},   {0x2028, 0x202e},
    {0x2060, 0x206f},   {0xfdd0, 0xfdef},   {0xfeff, 0xfeff},
    {0xfff0, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
    {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
    {0xe0000, 0xe00ff},
};

static bool
character_is_unsafe(uint32_t code)
{
    for (size_t i = 0; i < COUNT_OF(unsafe); i++) {
        if (code < unsafe[i].first)
            break;
        if (code <= unsafe[i].last)
            return true;
    }
    return (code & 0xfffe) == 0xfffe;
}

/* Return the bytes of the UTF-8 character at text, 0 if it is invalid. */
static size_t
character_bytes(const unsigned char *text)
{
    const unsigned char first = text[0];
    const size_t n_bytes = first < 0x80   ? 1
                           : first < 0xc2 ? 0
                           : first < 0xe0 ? 2
                           : first < 0xf0 ? 3
                           : first < 0xf5 ? 4
                                          : 0;

    /* A final 0 is not a continuation byte, so nothing after it is read. */
    for (size_t i = 1; i < n_bytes; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;

    const bool is_out_of_range = (first == 0xe0 && text[1] < 0xa0) ||
                                 (first == 0xed && text[1] > 0x9f) ||
                                 (first == 0xf0 && text[1] < 0x90) ||
                                 (first == 0xf4 && text[1] > 0x8f);

    return is_out_of_range ? 0 : n_bytes;
}

static uint32_t
character_code(const unsigned char *text, size_t n_bytes)
{
    static const unsigned char masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    uint32_t code = text[0] & masks[n_bytes];

    for (size_t i = 1; i < n_bytes; i++)
        code = code << 6 | (text[i] & 0x3f);
    return code;
}

/* JSON escapes have four digits; larger codes need two surrogates. */
static void
character_escape_code(uint32_t code,
                      enum escape_style style,
                      char out[ESCAPE_BYTES])
{
    const uint16_t unit = (uint16_t)code;
    const uint16_t high = (uint16_t)(0xd800 + ((code - 0x10000) >> 10));
    const uint16_t low = (uint16_t)(0xdc00 + (code & 0x3ff));

    if (code < 0x10000)
        snprintf(out, ESCAPE_BYTES, "\\u%04x", unit);
    else if (style == ESCAPE_TEXT)
        snprintf(out, ESCAPE_BYTES, "\\U%08" PRIx32, code);
    else
        snprintf(out, ESCAPE_BYTES, "\\u%04x\\u%04x", high, low);
}

size_t
escape_character(const char *text,
                 enum escape_style style,
                 char out[ESCAPE_BYTES])
{
    const unsigned char *bytes = (const unsigned char *)text;
    const bool is_plain = bytes[0] >= ' ' && bytes[0] < 0x7f &&
                          bytes[0] != '"' && bytes[0] != '\\';

    if (is_plain) {
        out[0] = text[0];
        out[1] = '\0';
        return 1;
    }
    const size_t n_bytes = character_bytes(bytes);
    if (n_bytes == 0) {
        if (style == ESCAPE_TEXT)
            snprintf(out, ESCAPE_BYTES, "\\x%02x", bytes[0]);
        else
            snprintf(out, ESCAPE_BYTES, "\\ufffd");
        return 1;
    }
    const uint32_t code = character_code(bytes, n_bytes);
    if (character_is_unsafe(code))
        character_escape_code(code, style, out);
    else if (style == ESCAPE_JSON && (code == '"' || code == '\\'))
        snprintf(out, ESCAPE_BYTES, "\\%c", (char)code);
    else
        snprintf(out, ESCAPE_BYTES, "%.*s", (int)n_bytes, text);
    return n_bytes;
}

void
escape_text(const char *text, char *out, size_t n_bytes)
{
    size_t n_out = 0;

    while (*text) {
        char escaped[ESCAPE_BYTES];

        text += escape_character(text, ESCAPE_TEXT, escaped);
        const size_t n = strlen(escaped);
        if (n_out + n >= n_bytes)
            break;
        memcpy(out + n_out, escaped, n);
        n_out += n;
    }
    out[n_out] = '\0';
}
