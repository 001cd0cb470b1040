/*
 * core/sentence.h - a text for the user, put together from parts
 *
 * What does not fit is cut, and ends in "...".
 */

#ifndef CORE_SENTENCE_H
#define CORE_SENTENCE_H

#include <stddef.h>

#include "base/limits.h"

/* Zeroed: empty. */
struct sentence {
    size_t n_bytes;
    char text[LIMIT_ERROR_TEXT];
};

void
sentence_add(struct sentence *sentence, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
