/*
 * base/escape.h - make foreign texts safe to show
 *
 * Names of jobs, keys and hosts come from outside. On a terminal or in a log, a
 * control character can move the cursor or begin a line, a bidirectional mark
 * can reorder letters, and an invisible character can make two names look the
 * same. So the following are escaped: controls (C0, DEL, C1), all format
 * characters (bidirectional marks, overrides and isolates, zero-width
 * characters, tags), line and paragraph separators, noncharacters, and bytes
 * that are not UTF-8. Everything else is unchanged.
 */

#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include <stddef.h>

enum escape_style {
    ESCAPE_TEXT, /* "\u0085", "\U000e0001"; "\xff" for a byte that is not
                    UTF-8 */
    ESCAPE_JSON, /* for a JSON string, which decodes to the original text; a
                    byte that is not UTF-8 becomes U+FFFD */
};

enum {
    ESCAPE_BYTES = 13, /* the longest result, with the final 0 */
};

/*
 * Escape the first character of a non-empty text; out is a string. Returns how
 * many bytes of text it takes, at least 1.
 */
size_t
escape_character(const char *text,
                 enum escape_style style,
                 char out[ESCAPE_BYTES]);

/*
 * Escape text in ESCAPE_TEXT into the string out of n_bytes >= 1. What does not
 * fit is left out; no character or escape is split. text and out must not
 * overlap.
 */
void
escape_text(const char *text, char *out, size_t n_bytes);

#endif
