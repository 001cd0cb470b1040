/* core/text_buffer.c - build a text for the user from parts */

#include "core/text_buffer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
text_buffer_append(struct text_buffer *text_buffer, const char *format, ...)
{
    const size_t n_room = sizeof(text_buffer->text) - text_buffer->n_bytes;
    va_list arguments;

    va_start(arguments, format);
    const int n = vsnprintf(text_buffer->text + text_buffer->n_bytes, n_room,
                            format, arguments);
    va_end(arguments);

    if (n < 0)
        return;
    if ((size_t)n < n_room) {
        text_buffer->n_bytes += (size_t)n;
        return;
    }
    text_buffer->n_bytes = sizeof(text_buffer->text) - 1;
    memcpy(text_buffer->text + text_buffer->n_bytes - 3, "...", 3);
}
