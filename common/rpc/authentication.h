/*
 * rpc/authentication.h - client and coordinator prove that they know the token
 *
 *   client                               coordinator
 *   Auth/Challenge  role, nonce   ->
 *                                     <- nonce, proof
 *   Auth/Prove      proof         ->
 *                                     <- OK
 *
 * This is done once on each connection, before any other request. The token
 * itself is never sent. A proof is HMAC-SHA256 with a key derived from the
 * token of the role. It covers which side proves it (so that a side cannot
 * return the proof it received), the role, both nonces, and under TLS a value
 * that only the two ends of this connection know. A proof is therefore useless
 * on another connection, to the other side or for another role.
 *
 * The coordinator proves first: a server that does not know the token learns
 * only a role and a nonce from the client. docs/rpc.md specifies the bytes.
 *
 * Pure: no sockets. Thread: any; calls for one exchange must not overlap.
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

/* The keys a side knows: a client that of one token, a coordinator those of all
 * roles. */
struct auth_keys {
    bool is_known[ROLE_ANYBODY];
    uint8_t bytes[ROLE_ANYBODY][HMAC_BYTES];
};

/* token may be NULL or empty: then no key is known. */
enum hoop_status
auth_keys_init_client(struct auth_keys *keys, const char *token);
/* secret is the token of all jobs. Handle: HOOP_E_INVALID, HOOP_E_DENIED (it is
 * not a job's secret, see role_derive_token()). */
enum hoop_status
auth_keys_init_coordinator(struct auth_keys *keys, const char *secret);
bool
auth_keys_has_any(const struct auth_keys *keys);
/* Erase the keys from memory. */
void
auth_keys_deinit(struct auth_keys *keys);

enum auth_stage {
    AUTH_NEW,
    AUTH_CHALLENGED, /* nonces have been exchanged */
    AUTH_PROVED,     /* both sides have proved that they know the token */
};

/* The state of the exchange on one side of a connection. Zeroed: it has not
 * begun. */
struct authentication {
    enum auth_stage stage;
    enum role role;
    uint8_t client_nonce[AUTH_NONCE_BYTES];
    uint8_t coordinator_nonce[AUTH_NONCE_BYTES];
    size_t n_binding; /* from the connection's TLS; 0: no TLS */
    uint8_t binding[AUTH_BINDING_MAX];
};

/* The client's functions: auth_client_begin() makes the challenge,
 * auth_client_prove() checks the reply and makes the client's proof. */
enum hoop_status
auth_client_begin(struct authentication *auth,
                  const struct auth_keys *keys,
                  struct auth_challenge_request *out_request);
/* Handle: HOOP_E_UNAUTHENTICATED (the coordinator does not know the token). */
enum hoop_status
auth_client_prove(struct authentication *auth,
                  const struct auth_keys *keys,
                  const struct auth_challenge_reply *reply,
                  struct auth_prove_request *out_request);

/* The coordinator's functions. A new challenge before the proof replaces the
 * one before. Handle: HOOP_E_PRECONDITION (the coordinator has no token, or the
 * client has proved it already). */
enum hoop_status
auth_coordinator_challenge(struct authentication *auth,
                           const struct auth_keys *keys,
                           const struct auth_challenge_request *request,
                           struct auth_challenge_reply *out_reply);
/* Check the client's proof. A challenge allows one attempt. Handle:
 * HOOP_E_PRECONDITION (there was no challenge), HOOP_E_UNAUTHENTICATED. */
enum hoop_status
auth_coordinator_verify(struct authentication *auth,
                        const struct auth_keys *keys,
                        const struct auth_prove_request *request);

#endif
