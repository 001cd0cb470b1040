/* core/sentence.c - a text for the user, put together from parts */

#include "core/sentence.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
sentence_add(struct sentence *sentence, const char *format, ...)
{
    const size_t n_room = sizeof(sentence->text) - sentence->n_bytes;
    va_list arguments;

    va_start(arguments, format);
    const int n = vsnprintf(sentence->text + sentence->n_bytes, n_room, format,
                            arguments);
    va_end(arguments);

    if (n < 0)
        return;
    if ((size_t)n < n_room) {
        sentence->n_bytes += (size_t)n;
        return;
    }
    sentence->n_bytes = sizeof(sentence->text) - 1;
    memcpy(sentence->text + sentence->n_bytes - 3, "...", 3);
}
