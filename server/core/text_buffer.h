/*
 * core/text_buffer.h - build a text for the user from parts
 *
 * A text that is too long is cut and ends in "...".
 */

#ifndef CORE_TEXT_BUFFER_H
#define CORE_TEXT_BUFFER_H

#include <stddef.h>

#include "base/limits.h"

/* A zeroed buffer is empty. */
struct text_buffer {
    size_t n_bytes;
    char text[LIMIT_ERROR_TEXT];
};

void
text_buffer_append(struct text_buffer *text_buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
