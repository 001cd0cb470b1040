/* rpc/envelope.c - the common part of requests and replies */

#include "rpc/envelope.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "wire/pack.h"
#include "wire/unpack.h"

enum {
    REQUEST_FIELDS = 7,
    REPLY_FIELDS = 5,
    STATUS_WIRE_MAX = HOOP_E_UNAUTHENTICATED,
};

static const char key_job[] = "job";
static const char key_token[] = "token";

static void
metadata_pack(struct pack *pack, const struct envelope_request *request)
{
    pack_array(pack, request->job[0] ? 2 : 0);
    if (request->job[0]) {
        pack_str(pack, key_job);
        pack_str(pack, request->job);
    }
}

enum hoop_status
envelope_request_encode(const struct envelope_request *request,
                        uint8_t **out_bytes,
                        size_t *out_n_bytes)
{
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    pack_array(&pack, REQUEST_FIELDS);
    pack_uint(&pack, ENVELOPE_VERSION);
    pack_str(&pack, request->method);
    pack_bin(&pack, request->client.bytes, ENVELOPE_CLIENT_BYTES);
    pack_uint(&pack, request->id);
    pack_uint(&pack, request->deadline_ms);
    metadata_pack(&pack, request);
    pack_bin(&pack, request->body.bytes, request->body.n_bytes);

    const enum hoop_status status = pack_take(&pack, out_bytes, out_n_bytes);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static bool
view_equals(struct unpack_view view, const char *text)
{
    return view.n_bytes == strlen(text) &&
           memcmp(view.bytes, text, view.n_bytes) == 0;
}

static struct message_span
span_of(struct unpack_view view)
{
    return (struct message_span){view.bytes, view.n_bytes};
}

/* A request with a token is refused, because a listener on the network has the
 * token now. */
static enum hoop_status
envelope_refuse_token(void)
{
    return error_raise(HOOP_E_DATA_LOSS,
                       "the request carries a token: since version %d of the "
                       "protocol a token is proved by Auth/Challenge and "
                       "Auth/Prove, and never sent",
                       ENVELOPE_VERSION_TOKEN_PROVED);
}

/* Returns false if there are more pairs than allowed, or half a pair. */
static bool
metadata_unpack(struct unpack *unpack,
                struct envelope_request *request,
                bool *out_has_token)
{
    const size_t n = unpack_array(unpack, 0);

    if (n % 2 != 0 || n > 2 * LIMIT_RPC_METADATA)
        return false;
    for (size_t i = 0; i < n; i += 2) {
        const struct unpack_view key = unpack_str(unpack, LIMIT_NAME);

        if (view_equals(key, key_job))
            unpack_text(unpack, request->job, sizeof(request->job));
        else
            unpack_skip(unpack, 1);
        if (view_equals(key, key_token))
            *out_has_token = true;
    }
    return true;
}

/* The id was the fourth field in every version so far, so try to read it. */
static enum hoop_status
envelope_refuse_version(struct unpack *unpack,
                        uint64_t version,
                        struct envelope_request *out_request)
{
    unpack_skip(unpack, 2);
    const uint64_t id = unpack_uint(unpack, UINT64_MAX);

    memset(out_request, 0, sizeof(*out_request));
    out_request->id = id;
    out_request->version = version;
    return error_raise(HOOP_E_UNIMPLEMENTED,
                       "the request is of protocol version %llu, this "
                       "coordinator speaks %d%s: use the same release on both "
                       "sides",
                       (unsigned long long)version, ENVELOPE_VERSION,
                       version < ENVELOPE_VERSION_TOKEN_PROVED
                           ? ", in which the token is proved and never sent"
                           : "");
}

/* Read the fields after the version. Returns false if the client id or the
 * metadata is invalid; other errors are latched in unpack. */
static bool
request_unpack(struct unpack *unpack,
               struct envelope_request *request,
               bool *out_has_token)
{
    unpack_text(unpack, request->method, sizeof(request->method));

    const struct unpack_view client = unpack_bin(unpack, ENVELOPE_CLIENT_BYTES);
    if (client.n_bytes != ENVELOPE_CLIENT_BYTES)
        return false;
    memcpy(request->client.bytes, client.bytes, ENVELOPE_CLIENT_BYTES);

    request->id = unpack_uint(unpack, UINT64_MAX);
    request->deadline_ms = unpack_uint(unpack, UINT64_MAX);
    if (!metadata_unpack(unpack, request, out_has_token))
        return false;
    request->body = span_of(unpack_bin(unpack, LIMIT_RPC_MESSAGE));
    return true;
}

enum hoop_status
envelope_request_decode(struct message_span in,
                        struct envelope_request *out_request)
{
    struct envelope_request request = {0};
    struct unpack unpack;
    bool has_token = false;

    unpack_init(&unpack, in.bytes, in.n_bytes, LIMIT_RPC_MESSAGE);
    const size_t n_fields = unpack_array(&unpack, 1);
    const uint64_t version = unpack_uint(&unpack, UINT64_MAX);
    if (unpack_status(&unpack) != HOOP_OK)
        return error_pass(HOOP_E_DATA_LOSS);
    if (version != ENVELOPE_VERSION)
        return envelope_refuse_version(&unpack, version, out_request);
    if (n_fields < REQUEST_FIELDS)
        return error_raise(HOOP_E_DATA_LOSS, "a request has %d fields, not %zu",
                           REQUEST_FIELDS, n_fields);

    const bool is_complete = request_unpack(&unpack, &request, &has_token);
    unpack_skip(&unpack, n_fields - REQUEST_FIELDS);
    if (unpack_status(&unpack) != HOOP_OK)
        return error_pass(HOOP_E_DATA_LOSS);
    if (!is_complete)
        return error_raise(HOOP_E_DATA_LOSS,
                           "a request needs a client id of %d bytes and at "
                           "most %d pairs of metadata",
                           ENVELOPE_CLIENT_BYTES, LIMIT_RPC_METADATA);
    if (!unpack_is_end(&unpack))
        return error_raise(HOOP_E_DATA_LOSS, "bytes follow the request");
    if (has_token) {
        out_request->id = request.id;
        return envelope_refuse_token();
    }

    *out_request = request;
    return HOOP_OK;
}

enum hoop_status
envelope_reply_encode(const struct envelope_reply *reply,
                      uint8_t **out_bytes,
                      size_t *out_n_bytes)
{
    CLEANUP(pack_deinit) struct pack pack;
    const enum hoop_status status =
        (int)reply->status <= STATUS_WIRE_MAX ? reply->status : HOOP_E_UNKNOWN;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    pack_array(&pack, REPLY_FIELDS);
    pack_uint(&pack, reply->version ? reply->version : ENVELOPE_VERSION);
    pack_uint(&pack, reply->id);
    pack_uint(&pack, (uint64_t)status);
    pack_str(&pack, reply->message);
    pack_bin(&pack, reply->body.bytes, reply->body.n_bytes);

    const enum hoop_status packed = pack_take(&pack, out_bytes, out_n_bytes);
    return packed == HOOP_OK ? HOOP_OK : error_pass(packed);
}

enum hoop_status
envelope_reply_decode(struct message_span in, struct envelope_reply *out_reply)
{
    struct envelope_reply reply = {0};
    struct unpack unpack;

    unpack_init(&unpack, in.bytes, in.n_bytes, LIMIT_RPC_MESSAGE);
    const size_t n_fields = unpack_array(&unpack, REPLY_FIELDS);
    const uint64_t version = unpack_uint(&unpack, UINT64_MAX);
    if (unpack_status(&unpack) == HOOP_OK && version != ENVELOPE_VERSION)
        return error_raise(HOOP_E_UNIMPLEMENTED,
                           "the coordinator speaks version %llu of the "
                           "protocol, this program version %d%s: use the same "
                           "release on both sides",
                           (unsigned long long)version, ENVELOPE_VERSION,
                           version < ENVELOPE_VERSION_TOKEN_PROVED
                               ? ", which does not send the token"
                               : "");

    reply.id = unpack_uint(&unpack, UINT64_MAX);
    reply.status = (enum hoop_status)unpack_uint(&unpack, STATUS_WIRE_MAX);
    unpack_text(&unpack, reply.message, sizeof(reply.message));
    reply.body = span_of(unpack_bin(&unpack, LIMIT_RPC_MESSAGE));
    unpack_skip(&unpack, n_fields > REPLY_FIELDS ? n_fields - REPLY_FIELDS : 0);
    if (unpack_status(&unpack) != HOOP_OK)
        return error_pass(HOOP_E_DATA_LOSS);
    if (!unpack_is_end(&unpack))
        return error_raise(HOOP_E_DATA_LOSS, "bytes follow the reply");

    *out_reply = reply;
    return HOOP_OK;
}
