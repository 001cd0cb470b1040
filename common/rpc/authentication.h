/*
 * rpc/authentication.h - client and coordinator prove that they know the token
 *
 *   client                               coordinator
 *   Auth/Challenge  role, nonce   ->
 *                                     <- nonce, proof
 *   Auth/Prove      proof         ->
 *                                     <- OK
 *
 * Once on each connection, before anything else is asked. The token itself is
 * never sent. A proof is HMAC-SHA256 with a key made of the token of the role,
 * over who proves it (so that neither can send back what it was told), the
 * role, both nonces, and, under TLS, what only this connection's ends know: it
 * proves nothing on another connection, to another side or for another role.
 *
 * The coordinator proves first: who does not know the token is told nothing by
 * a client but a role and a nonce. docs/rpc.md has the bytes.
 *
 * Pure: no sockets. Thread: any, one at a time for an exchange.
 */

#ifndef RPC_AUTHENTICATION_H
#define RPC_AUTHENTICATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/hmac.h"
#include "base/role.h"
#include "rpc/messages/auth_messages.h"

enum {
    AUTH_BINDING_MAX = 32,
};

/* What a side knows: a client one token, a coordinator those of all roles. */
struct auth_keys {
    bool is_known[ROLE_ANYBODY];
    uint8_t bytes[ROLE_ANYBODY][HMAC_BYTES];
};

/* NULL or empty: no token is known. */
enum hoop_status
auth_keys_init_client(struct auth_keys *keys, const char *token);
/* secret: the token of all jobs. Handle: HOOP_E_INVALID, HOOP_E_DENIED (it is
 * no secret, see role_token()). */
enum hoop_status
auth_keys_init_coordinator(struct auth_keys *keys, const char *secret);
bool
auth_keys_are_known(const struct auth_keys *keys);
/* Wipes them. */
void
auth_keys_deinit(struct auth_keys *keys);

enum auth_stage {
    AUTH_NEW,
    AUTH_CHALLENGED, /* nonces are exchanged */
    AUTH_PROVED,     /* both know that the other knows */
};

/* One side's view of a connection's; zeroed: it has not begun. */
struct authentication {
    enum auth_stage stage;
    enum role role;
    uint8_t client_nonce[AUTH_NONCE_BYTES];
    uint8_t coordinator_nonce[AUTH_NONCE_BYTES];
    size_t n_binding; /* of the connection's TLS; 0: plain */
    uint8_t binding[AUTH_BINDING_MAX];
};

/* The client's: what to ask, what to make of the reply and say then. */
enum hoop_status
auth_begin(struct authentication *auth,
           const struct auth_keys *keys,
           struct auth_challenge_request *out_request);
/* Handle: HOOP_E_UNAUTHENTICATED (the coordinator does not know the token). */
enum hoop_status
auth_prove(struct authentication *auth,
           const struct auth_keys *keys,
           const struct auth_challenge_reply *reply,
           struct auth_prove_request *out_request);

/* The coordinator's. It may be challenged again, which forgets what was before,
 * until it was proved. Handle: HOOP_E_PRECONDITION (it knows no token, or
 * enough has been proved). */
enum hoop_status
auth_challenge(struct authentication *auth,
               const struct auth_keys *keys,
               const struct auth_challenge_request *request,
               struct auth_challenge_reply *out_reply);
/* A challenge is good for one attempt. Handle: HOOP_E_PRECONDITION (none came
 * before), HOOP_E_UNAUTHENTICATED. */
enum hoop_status
auth_verify(struct authentication *auth,
            const struct auth_keys *keys,
            const struct auth_prove_request *request);

#endif
