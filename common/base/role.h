/*
 * base/role.h - who may do what at a coordinator, and the tokens that say so
 *
 * There is one secret, the token of the job: who knows it is a worker and may
 * do everything. Tokens of the lesser roles are made of it, so that whoever
 * knows the secret knows all of them, and nobody can go back from one of them
 * to the secret, or to another. Nothing has to be kept or handed out twice.
 *
 * Roles are in an order: a lower one may do whatever a higher one may.
 */

#ifndef BASE_ROLE_H
#define BASE_ROLE_H

#include "hoop/status.h"

#include "base/limits.h"

/* Zero is the strictest that can be asked for. */
enum role {
    ROLE_WORKER,   /* joins, reads and writes the store */
    ROLE_OPERATOR, /* looks at jobs, their members and groups */
    ROLE_METRICS,  /* sees figures: which jobs there are, /metrics */
    ROLE_ANYBODY,  /* needs no token */
};

/* "worker", "operator", "metrics", "anybody". */
const char *
role_name(enum role role);

/* One of the first three. Handle: HOOP_E_INVALID (the text names them). */
enum hoop_status
role_parse(const char *text, enum role *out_role);

/*
 * The token of role for the jobs whose secret this is; a worker's is the
 * secret itself. role is below ROLE_ANYBODY.
 * Handle: HOOP_E_INVALID (the secret is too long), HOOP_E_DENIED (it was itself
 * made for a lesser role).
 */
enum hoop_status
role_token(enum role role, const char *secret, char out_token[LIMIT_TOKEN]);

/* Whose a token is by its beginning, true or forged; no secret begins as the
 * lesser ones do: else ROLE_WORKER. */
enum role
role_of(const char *token);

#endif
