/*
 * base/role.h - roles of a coordinator's clients, and their tokens
 *
 * There is one secret, the token of the job. A client that knows it is a worker
 * and may do everything. The tokens of the other roles are derived from it, so
 * nothing else has to be stored or distributed. None of them reveals the secret
 * or another token.
 *
 * Roles are ordered: a lower value may do everything that a higher one may.
 */

#ifndef BASE_ROLE_H
#define BASE_ROLE_H

#include "hoop/status.h"

#include "base/limits.h"

/* Zero has the most rights. */
enum role {
    ROLE_WORKER,   /* joins, and reads and writes the store */
    ROLE_OPERATOR, /* reads jobs, their members and groups */
    ROLE_METRICS,  /* reads figures: the list of jobs, /metrics */
    ROLE_ANYBODY,  /* needs no token */
};

/* "worker", "operator", "metrics", "anybody". */
const char *
role_name(enum role role);

/* Parse one of the first three. Handle: HOOP_E_INVALID (the text names
 * them). */
enum hoop_status
role_parse(const char *text, enum role *out_role);

/*
 * Make the token of role from the jobs' secret; a worker's token is the secret
 * itself. role is below ROLE_ANYBODY.
 * Handle: HOOP_E_INVALID (the secret is too long), HOOP_E_DENIED (it is a token
 * of a lesser role).
 */
enum hoop_status
role_derive_token(enum role role,
                  const char *secret,
                  char out_token[LIMIT_TOKEN]);

/* Return the role of a token by its prefix, whether genuine or forged. No
 * secret begins with the prefix of a lesser role, so other tokens are
 * ROLE_WORKER. */
enum role
role_of_token(const char *token);

/* The tokens of a job, one for each role. Zeroed: the empty token, and no
 * token for any lesser role. */
struct token {
    /* [role]; the first is the job's secret, the others derive from it;
     * padded with zeros. */
    char texts[ROLE_ANYBODY][LIMIT_TOKEN];
};

/* Set the secret and derive the tokens of the other roles. NULL means the
 * empty token. Handle: HOOP_E_INVALID (too long), HOOP_E_DENIED (see
 * role_derive_token()). */
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
