/* core/token.c - the tokens of a job, compared in constant time */

#include "core/token.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"

enum hoop_status
token_derive_roles(struct token *token, const char *text)
{
    memset(token, 0, sizeof(*token));
    for (enum role role = ROLE_WORKER; role < ROLE_ANYBODY; role++) {
        const enum hoop_status status =
            role_derive_token(role, text ? text : "", token->texts[role]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

static bool
tokens_are_equal(const char left[LIMIT_TOKEN], const char right[LIMIT_TOKEN])
{
    unsigned char difference = 0;

    for (size_t i = 0; i < LIMIT_TOKEN; i++)
        difference |= (unsigned char)(left[i] ^ right[i]);
    return difference == 0;
}

enum role
token_find_role(const struct token *token, const char *text)
{
    char said[LIMIT_TOKEN] = {0};
    const size_t n_bytes = text ? strnlen(text, LIMIT_TOKEN) : 0;
    enum role found = ROLE_ANYBODY;

    if (n_bytes == LIMIT_TOKEN)
        return ROLE_ANYBODY;
    if (n_bytes)
        memcpy(said, text, n_bytes);
    for (int role = ROLE_METRICS; role >= ROLE_WORKER; role--) {
        if (tokens_are_equal(token->texts[role], said))
            found = (enum role)role;
    }
    return found;
}
