/*
 * core/text_buffer.h - a text for the user, put together from parts
 *
 * What does not fit is cut, and ends in "...".
 */

#ifndef CORE_TEXT_BUFFER_H
#define CORE_TEXT_BUFFER_H

#include <stddef.h>

#include "base/limits.h"

/* Zeroed: empty. */
struct text_buffer {
    size_t n_bytes;
    char text[LIMIT_ERROR_TEXT];
};

void
text_buffer_add(struct text_buffer *text_buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
