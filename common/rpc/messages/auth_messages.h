/*
 * rpc/messages/auth_messages.h - bodies of hoop.v1.Auth (rpc/authentication.h)
 */

#ifndef RPC_MESSAGES_AUTH_MESSAGES_H
#define RPC_MESSAGES_AUTH_MESSAGES_H

#include <stdint.h>

#include "hoop/status.h"

#include "base/hmac.h"
#include "base/role.h"
#include "rpc/messages/message.h"

enum {
    AUTH_NONCE_BYTES = 32,
};

/* Challenge: the client names its role and asks the coordinator for its
 * proof. */
struct auth_challenge_request {
    uint32_t role; /* enum role, less than ROLE_ANYBODY */
    uint8_t nonce[AUTH_NONCE_BYTES];
};
MESSAGE(auth_challenge_request, FIELD_MAX(role, ROLE_ANYBODY - 1), FIELD(nonce))

struct auth_challenge_reply {
    uint8_t nonce[AUTH_NONCE_BYTES];
    uint8_t proof[HMAC_BYTES]; /* the coordinator's */
};
MESSAGE(auth_challenge_reply, FIELD(nonce), FIELD(proof))

/* Prove: the client's proof. The reply has no body. */
struct auth_prove_request {
    uint8_t proof[HMAC_BYTES];
};
MESSAGE(auth_prove_request, FIELD(proof))

#endif
