/* core/token.h - the secret of a job, compared without a hint */

#ifndef CORE_TOKEN_H
#define CORE_TOKEN_H

#include <stdbool.h>

#include "hoop/status.h"

#include "base/limits.h"

/* Zeroed: the empty token. */
struct token {
    char text[LIMIT_TOKEN]; /* zeros behind the end */
};

/* NULL is the empty token. Handle: HOOP_E_INVALID (too long). */
enum hoop_status
token_init(struct token *token, const char *text);

/* Takes the same time wherever they differ. NULL is the empty token. */
bool
token_matches(const struct token *token, const char *text);

#endif
