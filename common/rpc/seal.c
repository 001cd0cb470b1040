/* rpc/seal.c - TLS between a coordinator and its clients, made of the token */

#include "rpc/seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "rpc/sp_stream.h"

struct seal {
    struct tls_context *context;
    uint8_t keys[ROLE_ANYBODY][HMAC_BYTES]; /* a client has its role's only */
    size_t n_keys;                          /* 0: no token */
    char identity[LIMIT_NAME];              /* a client's */
};

DEFINE_CLEANUP(struct seal *, seal_destroy)

/* Unlike the words of any other key that is made of a token. */
static const char key_label[] = "hoop control TLS 1";

static void
identity_write(enum role role, char out_text[LIMIT_NAME])
{
    snprintf(out_text, LIMIT_NAME, "hoop control 1 %s", role_name(role));
}

static enum hoop_status
key_derive(const char *token, uint8_t out_key[HMAC_BYTES])
{
    const struct hmac_span parts[] = {{key_label, sizeof(key_label) - 1}};
    const enum hoop_status status =
        hmac_sha256((struct hmac_span){token, strlen(token)}, parts,
                    COUNT_OF(parts), out_key);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* A server's: of who says to be in a role. */
static bool
key_of_identity(void *owner,
                const char *identity,
                uint8_t out_key[TLS_KEY_BYTES])
{
    const struct seal *seal = owner;
    char text[LIMIT_NAME];

    for (enum role role = ROLE_WORKER; role < ROLE_ANYBODY; role++) {
        identity_write(role, text);
        if (strcmp(identity, text) == 0 && role < seal->n_keys) {
            memcpy(out_key, seal->keys[role], TLS_KEY_BYTES);
            return true;
        }
    }
    return false;
}

/* A CA alone says who is believed, but nothing is there to be shown. */
static struct tls_files
files_usable(const struct tls_files *files)
{
    const bool has_own = (files->certificate && *files->certificate) ||
                         (files->key && *files->key);

    return has_own ? *files : (struct tls_files){0};
}

enum hoop_status
seal_create_client(const struct tls_files *files,
                   const char *token,
                   struct seal **out_seal)
{
    CLEANUP(seal_destroy) struct seal *seal = calloc(1, sizeof(*seal));
    const bool has_token = token && *token;
    enum hoop_status status = HOOP_OK;

    if (!seal)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for TLS");
    if (has_token) {
        status = key_derive(token, seal->keys[0]);
        seal->n_keys = 1;
        identity_write(role_of(token), seal->identity);
    }
    const struct tls_options options = {
        .files = files_usable(files),
        .key = has_token ? seal->keys[0] : NULL,
    };
    if (status == HOOP_OK)
        status = tls_context_create(&options, &seal->context);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_seal = STEAL(seal);
    return HOOP_OK;
}

static enum hoop_status
keys_fill(struct seal *seal, const char *secret)
{
    for (enum role role = ROLE_WORKER; role < ROLE_ANYBODY; role++) {
        char token[LIMIT_TOKEN];

        enum hoop_status status = role_token(role, secret, token);
        if (status == HOOP_OK)
            status = key_derive(token, seal->keys[role]);
        explicit_bzero(token, sizeof(token));
        if (status != HOOP_OK)
            return error_pass(status);
    }
    seal->n_keys = ROLE_ANYBODY;
    return HOOP_OK;
}

enum hoop_status
seal_create_server(const struct tls_files *files,
                   const char *secret,
                   struct seal **out_seal)
{
    CLEANUP(seal_destroy) struct seal *seal = calloc(1, sizeof(*seal));
    const bool has_secret = secret && *secret;
    enum hoop_status status = HOOP_OK;

    if (!seal)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for TLS");
    if (has_secret)
        status = keys_fill(seal, secret);
    const struct tls_options options = {
        .files = files_usable(files),
        .key_of = has_secret ? key_of_identity : NULL,
        .owner = seal,
    };
    if (status == HOOP_OK)
        status = tls_context_create(&options, &seal->context);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_seal = STEAL(seal);
    return HOOP_OK;
}

void
seal_destroy(struct seal *seal)
{
    if (!seal)
        return;
    tls_context_destroy(seal->context);
    explicit_bzero(seal->keys, sizeof(seal->keys));
    free(seal);
}

enum hoop_status
seal_call(struct seal *seal, int fd, struct tls **out_tls)
{
    const enum hoop_status status =
        tls_create_client(seal->context, fd, seal->identity, out_tls);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
seal_accept(struct seal *seal, int fd, struct tls **out_tls)
{
    const enum hoop_status status =
        tls_create_server(seal->context, fd, out_tls);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
seal_shake(struct tls *tls)
{
    const enum hoop_status status = tls_shake(tls);
    const int first = tls_first_byte(tls);

    if (status == HOOP_OK || status == HOOP_E_PENDING)
        return status;
    /* A coordinator without TLS says hello at once. */
    if (first == sp_hello_reply[0])
        return error_raise(HOOP_E_UNAUTHENTICATED,
                           "the coordinator does not speak TLS: start hoopd "
                           "with --tls on, or set HOOP_TLS=off here, too");
    if (first >= 0 && first != TLS_ALERT && first != TLS_HANDSHAKE)
        return error_raise(HOOP_E_DATA_LOSS,
                           "what answers there does not speak TLS: is a hoop "
                           "coordinator there?");
    return error_pass(status);
}
