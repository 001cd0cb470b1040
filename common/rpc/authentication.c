/*
 * rpc/authentication.c - client and coordinator prove that they know the token
 */

#include "rpc/authentication.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/random.h"

/* The labels are distinct, so that no other key derived from a token and no
 * other proof can be the same. Both proof labels have one size. */
static const char key_label[] = "hoop control key 2";
static const char client_label[] = "hoop control client proof 2     ";
static const char coordinator_label[] = "hoop control coordinator proof 2";

_Static_assert(sizeof(client_label) == sizeof(coordinator_label),
               "borders do not enter a MAC");

static enum hoop_status
auth_key_derive(struct auth_keys *keys, enum role role, const char *token)
{
    const struct hmac_span parts[] = {{key_label, sizeof(key_label) - 1}};
    const enum hoop_status status =
        hmac_sha256((struct hmac_span){token, strlen(token)}, parts,
                    COUNT_OF(parts), keys->bytes[role]);

    if (status != HOOP_OK)
        return error_pass(status);
    keys->is_known[role] = true;
    return HOOP_OK;
}

enum hoop_status
auth_keys_init_client(struct auth_keys *keys, const char *token)
{
    *keys = (struct auth_keys){0};
    if (!token || !*token)
        return HOOP_OK;
    const enum hoop_status status =
        auth_key_derive(keys, role_of_token(token), token);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
auth_keys_init_coordinator(struct auth_keys *keys, const char *secret)
{
    *keys = (struct auth_keys){0};
    if (!secret || !*secret)
        return HOOP_OK;
    for (enum role role = ROLE_WORKER; role < ROLE_ANYBODY; role++) {
        char token[LIMIT_TOKEN];

        enum hoop_status status = role_derive_token(role, secret, token);
        if (status == HOOP_OK)
            status = auth_key_derive(keys, role, token);
        explicit_bzero(token, sizeof(token));
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

bool
auth_keys_has_any(const struct auth_keys *keys)
{
    for (enum role role = ROLE_WORKER; role < ROLE_ANYBODY; role++) {
        if (keys->is_known[role])
            return true;
    }
    return false;
}

void
auth_keys_deinit(struct auth_keys *keys)
{
    explicit_bzero(keys, sizeof(*keys));
}

/* label names the side that proves. */
static enum hoop_status
auth_proof_compute(const struct authentication *auth,
                   const struct auth_keys *keys,
                   const char label[sizeof(client_label)],
                   uint8_t out_proof[HMAC_BYTES])
{
    const uint8_t role = (uint8_t)auth->role;
    const uint8_t n_binding = (uint8_t)auth->n_binding;
    const struct hmac_span parts[] = {
        {label, sizeof(client_label) - 1},
        {&role, 1},
        {auth->client_nonce, AUTH_NONCE_BYTES},
        {auth->coordinator_nonce, AUTH_NONCE_BYTES},
        {&n_binding, 1},
        {auth->binding, auth->n_binding},
    };
    const enum hoop_status status =
        hmac_sha256((struct hmac_span){keys->bytes[auth->role], HMAC_BYTES},
                    parts, COUNT_OF(parts), out_proof);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
auth_client_begin(struct authentication *auth,
                  const struct auth_keys *keys,
                  struct auth_challenge_request *out_request)
{
    auth->role = ROLE_WORKER;
    while (!keys->is_known[auth->role])
        auth->role++;
    const enum hoop_status status =
        random_fill(auth->client_nonce, sizeof(auth->client_nonce));
    if (status != HOOP_OK)
        return error_pass(status);
    auth->stage = AUTH_CHALLENGED;
    out_request->role = (uint32_t)auth->role;
    memcpy(out_request->nonce, auth->client_nonce, AUTH_NONCE_BYTES);
    return HOOP_OK;
}

enum hoop_status
auth_client_prove(struct authentication *auth,
                  const struct auth_keys *keys,
                  const struct auth_challenge_reply *reply,
                  struct auth_prove_request *out_request)
{
    uint8_t proof[HMAC_BYTES];

    memcpy(auth->coordinator_nonce, reply->nonce, AUTH_NONCE_BYTES);
    enum hoop_status status =
        auth_proof_compute(auth, keys, coordinator_label, proof);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!hmac_equal(proof, reply->proof))
        return error_raise(
            HOOP_E_UNAUTHENTICATED,
            "what answers there does not know the token: give "
            "hoopd the job's, by --token-file or HOOP_TOKEN, and "
            "the same one here");
    status = auth_proof_compute(auth, keys, client_label, out_request->proof);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
auth_coordinator_challenge(struct authentication *auth,
                           const struct auth_keys *keys,
                           const struct auth_challenge_request *request,
                           struct auth_challenge_reply *out_reply)
{
    if (auth->stage == AUTH_PROVED)
        return error_raise(HOOP_E_PRECONDITION,
                           "the token has been proved on this connection");
    if (request->role >= (uint32_t)ROLE_ANYBODY ||
        !keys->is_known[request->role])
        return error_raise(HOOP_E_PRECONDITION,
                           "the coordinator has no token, and cannot prove "
                           "that it is the right one: give hoopd the job's, by "
                           "--token-file or HOOP_TOKEN, or use none here");

    enum hoop_status status =
        random_fill(auth->coordinator_nonce, sizeof(auth->coordinator_nonce));
    if (status != HOOP_OK)
        return error_pass(status);
    auth->role = (enum role)request->role;
    memcpy(auth->client_nonce, request->nonce, AUTH_NONCE_BYTES);
    auth->stage = AUTH_CHALLENGED;
    memcpy(out_reply->nonce, auth->coordinator_nonce, AUTH_NONCE_BYTES);
    status =
        auth_proof_compute(auth, keys, coordinator_label, out_reply->proof);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
auth_coordinator_verify(struct authentication *auth,
                        const struct auth_keys *keys,
                        const struct auth_prove_request *request)
{
    uint8_t proof[HMAC_BYTES];

    if (auth->stage != AUTH_CHALLENGED)
        return error_raise(HOOP_E_PRECONDITION,
                           "a proof needs a challenge of this connection "
                           "before it");
    auth->stage = AUTH_NEW;
    const enum hoop_status status =
        auth_proof_compute(auth, keys, client_label, proof);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!hmac_equal(proof, request->proof))
        return error_raise(HOOP_E_UNAUTHENTICATED,
                           "the client does not know the token of role %s: "
                           "give the same HOOP_TOKEN or HOOP_TOKEN_FILE "
                           "everywhere",
                           role_name(auth->role));
    auth->stage = AUTH_PROVED;
    return HOOP_OK;
}
