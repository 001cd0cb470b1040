/* base/role.c - roles of a coordinator's clients, and their tokens */

#include "base/role.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/hmac.h"

static const struct {
    const char *name;
    const char *prefix; /* of its tokens; NULL: they have none */
} roles[] = {
    [ROLE_WORKER] = {"worker", NULL},
    [ROLE_OPERATOR] = {"operator", "hoop-operator-"},
    [ROLE_METRICS] = {"metrics", "hoop-metrics-"},
    [ROLE_ANYBODY] = {"anybody", NULL},
};

/* The label differs from that of every other key derived from a token. */
static const char label[] = "hoop role token 1 ";

const char *
role_name(enum role role)
{
    assert((size_t)role < COUNT_OF(roles));
    return roles[role].name;
}

enum hoop_status
role_parse(const char *text, enum role *out_role)
{
    for (enum role role = ROLE_WORKER; role < ROLE_ANYBODY; role++) {
        if (strcmp(text, roles[role].name) == 0) {
            *out_role = role;
            return HOOP_OK;
        }
    }
    return error_raise(HOOP_E_INVALID,
                       "there is no role '%s': roles are worker, operator and "
                       "metrics",
                       text);
}

enum role
role_of_token(const char *token)
{
    for (enum role role = ROLE_WORKER; role < ROLE_ANYBODY; role++) {
        const char *prefix = roles[role].prefix;

        if (prefix && strncmp(token, prefix, strlen(prefix)) == 0)
            return role;
    }
    return ROLE_WORKER;
}

static enum hoop_status
job_secret_check(const char *secret)
{
    const enum role role = role_of_token(secret);

    if (strnlen(secret, LIMIT_TOKEN) == LIMIT_TOKEN)
        return error_raise(HOOP_E_INVALID,
                           "the job token is longer than %d bytes",
                           LIMIT_TOKEN - 1);
    if (role != ROLE_WORKER)
        return error_raise(HOOP_E_DENIED,
                           "a token that begins with %s was made for a lesser "
                           "role: a job's own, the worker's, is the one that "
                           "it was made of",
                           roles[role].prefix);
    return HOOP_OK;
}

enum hoop_status
role_derive_token(enum role role,
                  const char *secret,
                  char out_token[LIMIT_TOKEN])
{
    uint8_t mac[HMAC_BYTES];

    assert(role < ROLE_ANYBODY);
    enum hoop_status status = job_secret_check(secret);
    if (status != HOOP_OK)
        return error_pass(status);
    if (role == ROLE_WORKER) {
        snprintf(out_token, LIMIT_TOKEN, "%s", secret);
        return HOOP_OK;
    }

    const struct hmac_span parts[] = {
        {label, sizeof(label) - 1},
        {roles[role].name, strlen(roles[role].name)},
    };
    status = hmac_sha256((struct hmac_span){secret, strlen(secret)}, parts,
                         COUNT_OF(parts), mac);
    if (status != HOOP_OK)
        return error_pass(status);

    int n = snprintf(out_token, LIMIT_TOKEN, "%s", roles[role].prefix);
    for (size_t i = 0; i < sizeof(mac); i++)
        n += snprintf(out_token + n, LIMIT_TOKEN - (size_t)n, "%02x", mac[i]);
    explicit_bzero(mac, sizeof(mac));
    return HOOP_OK;
}

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

/* Takes the same time wherever the texts differ. */
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
