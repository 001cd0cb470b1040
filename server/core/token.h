/* core/token.h - the tokens of a job, one for each role */

#ifndef CORE_TOKEN_H
#define CORE_TOKEN_H

#include "hoop/status.h"

#include "base/limits.h"
#include "base/role.h"

/* Zeroed: the empty token, and no token for any lesser role. */
struct token {
    /* [role]; the first is the job's secret, the others derive from it;
     * padded with zeros. */
    char texts[ROLE_ANYBODY][LIMIT_TOKEN];
};

/* Set the secret and derive the tokens of the other roles. NULL means the empty
 * token.
 * Handle: HOOP_E_INVALID (too long), HOOP_E_DENIED (see role_derive_token()). */
enum hoop_status
token_derive_roles(struct token *token, const char *text);

/*
 * Return the role whose token text is; ROLE_ANYBODY if it is no role's. The
 * time taken does not depend on where the texts differ or which one matches.
 * NULL means the empty text.
 */
enum role
token_find_role(const struct token *token, const char *text);

#endif
