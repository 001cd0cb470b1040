/* rpc/messages/auth_messages.c - bodies of hoop.v1.Auth */

#include "rpc/messages/auth_messages.h"

#include <string.h>

#include "base/error.h"
#include "base/role.h"
#include "rpc/messages/reader.h"
#include "wire/pack.h"

enum {
    CHALLENGE_REQUEST_FIELDS = 2,
    CHALLENGE_REPLY_FIELDS = 2,
    PROVE_REQUEST_FIELDS = 1,
};

/* Returns false if the field has another size. */
static bool
bin_read_exact(struct unpack *unpack, uint8_t *out_bytes, size_t n_bytes)
{
    const struct message_span span = message_read_bin(unpack, n_bytes);

    if (span.n_bytes != n_bytes)
        return false;
    memcpy(out_bytes, span.bytes, n_bytes);
    return true;
}

/* A nonce or proof of another size makes the body invalid. */
static enum hoop_status
auth_body_close(struct unpack *unpack, size_t n_unknown, bool is_complete)
{
    const enum hoop_status status = message_close(unpack, n_unknown);

    if (status != HOOP_OK)
        return error_pass(status);
    return is_complete ? HOOP_OK
                       : error_raise(HOOP_E_DATA_LOSS,
                                     "a nonce or a proof has %d bytes",
                                     AUTH_NONCE_BYTES);
}

void
auth_challenge_request_encode(const struct auth_challenge_request *request,
                              struct pack *pack)
{
    pack_array(pack, CHALLENGE_REQUEST_FIELDS);
    pack_uint(pack, request->role);
    pack_bin(pack, request->nonce, sizeof(request->nonce));
}

enum hoop_status
auth_challenge_request_decode(struct message_span in,
                              struct auth_challenge_request *out_request)
{
    struct auth_challenge_request request = {0};
    struct unpack unpack;

    const size_t n_unknown =
        message_open(&unpack, in, CHALLENGE_REQUEST_FIELDS);
    request.role = message_read_u32(&unpack);
    const bool is_complete =
        bin_read_exact(&unpack, request.nonce, sizeof(request.nonce));
    const enum hoop_status status =
        auth_body_close(&unpack, n_unknown, is_complete);
    if (status != HOOP_OK)
        return error_pass(status);
    if (request.role >= (uint32_t)ROLE_ANYBODY)
        return error_raise(HOOP_E_DATA_LOSS, "there is no role %u",
                           request.role);
    *out_request = request;
    return HOOP_OK;
}

void
auth_challenge_reply_encode(const struct auth_challenge_reply *reply,
                            struct pack *pack)
{
    pack_array(pack, CHALLENGE_REPLY_FIELDS);
    pack_bin(pack, reply->nonce, sizeof(reply->nonce));
    pack_bin(pack, reply->proof, sizeof(reply->proof));
}

enum hoop_status
auth_challenge_reply_decode(struct message_span in,
                            struct auth_challenge_reply *out_reply)
{
    struct auth_challenge_reply reply = {0};
    struct unpack unpack;

    const size_t n_unknown = message_open(&unpack, in, CHALLENGE_REPLY_FIELDS);
    const bool has_nonce =
        bin_read_exact(&unpack, reply.nonce, sizeof(reply.nonce));
    const bool has_proof =
        bin_read_exact(&unpack, reply.proof, sizeof(reply.proof));
    const enum hoop_status status =
        auth_body_close(&unpack, n_unknown, has_nonce && has_proof);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_reply = reply;
    return HOOP_OK;
}

void
auth_prove_request_encode(const struct auth_prove_request *request,
                          struct pack *pack)
{
    pack_array(pack, PROVE_REQUEST_FIELDS);
    pack_bin(pack, request->proof, sizeof(request->proof));
}

enum hoop_status
auth_prove_request_decode(struct message_span in,
                          struct auth_prove_request *out_request)
{
    struct auth_prove_request request = {0};
    struct unpack unpack;

    const size_t n_unknown = message_open(&unpack, in, PROVE_REQUEST_FIELDS);
    const bool has_proof =
        bin_read_exact(&unpack, request.proof, sizeof(request.proof));
    const enum hoop_status status =
        auth_body_close(&unpack, n_unknown, has_proof);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_request = request;
    return HOOP_OK;
}
