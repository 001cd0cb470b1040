/* tests/unit/common/rpc/error_words.h - what the last error says */

#ifndef TESTS_ERROR_WORDS_H
#define TESTS_ERROR_WORDS_H

#include <string.h>

#include "base/error.h"
#include "check.h"

/* Fails the test if this thread's last error does not contain the words. */
static inline void
assert_words(const char *words)
{
    if (!strstr(error_text(), words))
        fail_msg("'%s' is not in: %s", words, error_text());
}

#endif
