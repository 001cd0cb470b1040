/*
 * tests/words.h - splits a command line, and counts phrases in a text
 */

#ifndef TESTS_WORDS_H
#define TESTS_WORDS_H

#include <stddef.h>
#include <string.h>

#include "check.h"

/* Cuts text at its spaces; the words point into it. Returns how many there are,
 * at most n_max. */
static inline size_t
words_cut(char *text, char **words, size_t n_max)
{
    size_t n_words = 0;
    char *rest = NULL;

    for (char *word = strtok_r(text, " ", &rest); word;
         word = strtok_r(NULL, " ", &rest)) {
        assert_true(n_words < n_max);
        words[n_words++] = word;
    }
    return n_words;
}

/* Returns how often text contains the phrase. */
static inline size_t
times_in(const char *text, const char *phrase)
{
    size_t n = 0;

    for (; (text = strstr(text, phrase)); text++)
        n++;
    return n;
}

#endif
