/*
 * rpc/messages/auth_messages.h - bodies of hoop.v1.Auth (rpc/authentication.h)
 */

#ifndef RPC_MESSAGES_AUTH_MESSAGES_H
#define RPC_MESSAGES_AUTH_MESSAGES_H

#include <stdint.h>

#include "hoop/status.h"

#include "base/hmac.h"
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

struct auth_challenge_reply {
    uint8_t nonce[AUTH_NONCE_BYTES];
    uint8_t proof[HMAC_BYTES]; /* the coordinator's */
};

/* Prove: the client's proof. The reply has no body. */
struct auth_prove_request {
    uint8_t proof[HMAC_BYTES];
};

void
auth_challenge_request_encode(const struct auth_challenge_request *request,
                              struct pack *pack);
enum hoop_status
auth_challenge_request_decode(struct message_span in,
                              struct auth_challenge_request *out_request);

void
auth_challenge_reply_encode(const struct auth_challenge_reply *reply,
                            struct pack *pack);
enum hoop_status
auth_challenge_reply_decode(struct message_span in,
                            struct auth_challenge_reply *out_reply);

void
auth_prove_request_encode(const struct auth_prove_request *request,
                          struct pack *pack);
enum hoop_status
auth_prove_request_decode(struct message_span in,
                          struct auth_prove_request *out_request);

#endif
