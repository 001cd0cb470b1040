/* core/token.h - the secret of a job, compared without a hint */

#ifndef CORE_TOKEN_H
#define CORE_TOKEN_H

#include "hoop/status.h"

#include "base/limits.h"
#include "base/role.h"

/* Zeroed: the empty token, with nothing made of it. */
struct token {
    char texts[ROLE_ANYBODY][LIMIT_TOKEN]; /* by role, the first is the secret;
                                              zeros behind the end */
};

/* NULL is the empty token.
 * Handle: HOOP_E_INVALID (too long), HOOP_E_DENIED (see role_token()). */
enum hoop_status
token_init(struct token *token, const char *text);

/*
 * Whose token text is; ROLE_ANYBODY: nobody's. Takes the same time wherever
 * they differ, and whichever it is. NULL is the empty text.
 */
enum role
token_role(const struct token *token, const char *text);

#endif
