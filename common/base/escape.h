/*
 * base/escape.h - texts of others, made safe to show
 *
 * Names of jobs, keys and hosts come from outside. On a terminal and in a log a
 * control character moves the cursor or begins a line, a mark for the direction
 * of writing turns the order of letters around, and a character without a shape
 * makes two names look the same. So these are shown as what they are: controls
 * (C0, DEL, C1), all format characters (bidirectional marks, overrides and
 * isolates, zero-width ones, tags), line and paragraph separators,
 * noncharacters, and bytes that are no UTF-8. All else stays as it is.
 */

#ifndef BASE_ESCAPE_H
#define BASE_ESCAPE_H

#include <stddef.h>

enum escape_style {
    ESCAPE_TEXT, /* "\u0085", "\U000e0001"; "\xff" of a byte that is no UTF-8 */
    ESCAPE_JSON, /* as within the quotes of JSON, which decodes to the same;
                    bytes that are no UTF-8 become U+FFFD */
};

enum {
    ESCAPE_BYTES = 13, /* of the longest, with the final 0 */
};

/*
 * The first character of a text that is not empty, as it may be shown; out is a
 * string. Returns how many bytes of text it is, at least 1.
 */
size_t
escape_character(const char *text,
                 enum escape_style style,
                 char out[ESCAPE_BYTES]);

/*
 * All of text, in ESCAPE_TEXT, into n_bytes >= 1 at out, as a string. What does
 * not fit is left out, no character or escape is torn. text and out may not
 * overlap.
 */
void
escape_text(const char *text, char *out, size_t n_bytes);

#endif
