/* rpc/rpc_tls.c - TLS between a coordinator and its clients, and their byte
 * stream */

#include "rpc/rpc_tls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "net/socket.h"
#include "net/tls.h"
#include "rpc/sp_stream.h"

/* The byte stream of a control connection, with or without TLS. */

void
control_stream_close(struct control_stream *control_stream)
{
    tls_destroy(STEAL(control_stream->tls));
    socket_close(control_stream->fd);
    control_stream->fd = -1;
}

/* Raise the error of a call that returned -1. */
static enum hoop_status
control_stream_raise(const struct control_stream *control_stream, int error)
{
    if (error == EAGAIN || error == EWOULDBLOCK || error == EINTR)
        return HOOP_E_PENDING;
    if (error == EPROTO && control_stream->tls)
        return error_raise(HOOP_E_UNAUTHENTICATED,
                           "the TLS of the connection ended: %s; have both "
                           "sides certificates of one CA?",
                           tls_error_text(control_stream->tls));
    return error_raise(HOOP_E_UNAVAILABLE, "the connection broke: %s",
                       strerror(error));
}

static ssize_t
spans_send(struct control_stream *control_stream,
           const struct iovec *spans,
           size_t n_spans)
{
    const struct msghdr message = {
        .msg_iov = (struct iovec *)(uintptr_t)spans,
        .msg_iovlen = n_spans,
    };

    return control_stream->tls
               ? tls_send(control_stream->tls, spans, n_spans)
               : sendmsg(control_stream->fd, &message, MSG_NOSIGNAL);
}

enum hoop_status
control_stream_send(struct control_stream *control_stream,
                    const struct iovec *spans,
                    size_t n_spans,
                    size_t *out_n_bytes)
{
    const ssize_t n = spans_send(control_stream, spans, n_spans);

    if (n < 0)
        return control_stream_raise(control_stream, errno);
    if (n == 0)
        return HOOP_E_PENDING;
    *out_n_bytes = (size_t)n;
    return HOOP_OK;
}

bool
control_stream_has_unsent(const struct control_stream *control_stream)
{
    return control_stream->tls && tls_has_unsent(control_stream->tls);
}

enum hoop_status
control_stream_flush(struct control_stream *control_stream)
{
    if (!control_stream_has_unsent(control_stream))
        return HOOP_OK;
    if (tls_send(control_stream->tls, NULL, 0) < 0)
        return control_stream_raise(control_stream, errno);
    return control_stream_has_unsent(control_stream) ? HOOP_E_PENDING : HOOP_OK;
}

enum hoop_status
control_stream_receive(struct control_stream *control_stream,
                       void *bytes,
                       size_t n_room,
                       size_t *out_n_bytes)
{
    const struct iovec room = {bytes, n_room};
    const ssize_t n = control_stream->tls
                          ? tls_receive(control_stream->tls, &room, 1)
                          : recv(control_stream->fd, bytes, n_room, 0);

    if (n < 0)
        return control_stream_raise(control_stream, errno);
    if (n == 0)
        return error_raise(HOOP_E_UNAVAILABLE,
                           "the other side closed the connection");
    *out_n_bytes = (size_t)n;
    return HOOP_OK;
}

bool
control_stream_is_ready(const struct control_stream *control_stream)
{
    return control_stream->tls && tls_has_buffered(control_stream->tls);
}

/* Keys, and the TLS state of a connection. */

struct rpc_tls {
    struct tls_context *context;
    uint8_t keys[ROLE_ANYBODY][HMAC_BYTES]; /* a client has only its role's,
                                               at 0 */
    size_t n_keys;                          /* 0: no token */
    char identity[LIMIT_NAME];              /* of a client */
};

DEFINE_CLEANUP(struct rpc_tls *, rpc_tls_destroy)

/* The label differs from that of every other key derived from a token. */
static const char key_label[] = "hoop control TLS 1";

static void
role_identity_format(enum role role, char out_text[LIMIT_NAME])
{
    snprintf(out_text, LIMIT_NAME, "hoop control 1 %s", role_name(role));
}

static enum hoop_status
tls_key_derive(const char *token, uint8_t out_key[HMAC_BYTES])
{
    const struct hmac_span parts[] = {{key_label, sizeof(key_label) - 1}};
    const enum hoop_status status =
        hmac_sha256((struct hmac_span){token, strlen(token)}, parts,
                    COUNT_OF(parts), out_key);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* For a server: find the key of the role that a client names. */
static bool
key_of_identity(void *owner,
                const char *identity,
                uint8_t out_key[TLS_KEY_BYTES])
{
    const struct rpc_tls *rpc_tls = owner;
    char text[LIMIT_NAME];

    for (enum role role = ROLE_WORKER; role < ROLE_ANYBODY; role++) {
        role_identity_format(role, text);
        if (strcmp(identity, text) == 0 && role < rpc_tls->n_keys) {
            memcpy(out_key, rpc_tls->keys[role], TLS_KEY_BYTES);
            return true;
        }
    }
    return false;
}

/* A CA file without a certificate and key is ignored, because there is nothing
 * to present. */
static struct tls_files
tls_files_or_none(const struct tls_files *files)
{
    const bool has_own = (files->certificate && *files->certificate) ||
                         (files->key && *files->key);

    return has_own ? *files : (struct tls_files){0};
}

enum hoop_status
rpc_tls_create_client(const struct tls_files *files,
                      const char *token,
                      struct rpc_tls **out_rpc_tls)
{
    CLEANUP(rpc_tls_destroy)
    struct rpc_tls *rpc_tls = calloc(1, sizeof(*rpc_tls));
    const bool has_token = token && *token;
    enum hoop_status status = HOOP_OK;

    if (!rpc_tls)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for TLS");
    if (has_token) {
        status = tls_key_derive(token, rpc_tls->keys[0]);
        rpc_tls->n_keys = 1;
        role_identity_format(role_of_token(token), rpc_tls->identity);
    }
    const struct tls_options options = {
        .files = tls_files_or_none(files),
        .key = has_token ? rpc_tls->keys[0] : NULL,
    };
    if (status == HOOP_OK)
        status = tls_context_create(&options, &rpc_tls->context);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_rpc_tls = STEAL(rpc_tls);
    return HOOP_OK;
}

static enum hoop_status
role_keys_derive(struct rpc_tls *rpc_tls, const char *secret)
{
    for (enum role role = ROLE_WORKER; role < ROLE_ANYBODY; role++) {
        char token[LIMIT_TOKEN];

        enum hoop_status status = role_derive_token(role, secret, token);
        if (status == HOOP_OK)
            status = tls_key_derive(token, rpc_tls->keys[role]);
        explicit_bzero(token, sizeof(token));
        if (status != HOOP_OK)
            return error_pass(status);
    }
    rpc_tls->n_keys = ROLE_ANYBODY;
    return HOOP_OK;
}

enum hoop_status
rpc_tls_create_server(const struct tls_files *files,
                      const char *secret,
                      struct rpc_tls **out_rpc_tls)
{
    CLEANUP(rpc_tls_destroy)
    struct rpc_tls *rpc_tls = calloc(1, sizeof(*rpc_tls));
    const bool has_secret = secret && *secret;
    enum hoop_status status = HOOP_OK;

    if (!rpc_tls)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for TLS");
    if (has_secret)
        status = role_keys_derive(rpc_tls, secret);
    const struct tls_options options = {
        .files = tls_files_or_none(files),
        .key_of = has_secret ? key_of_identity : NULL,
        .owner = rpc_tls,
    };
    if (status == HOOP_OK)
        status = tls_context_create(&options, &rpc_tls->context);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_rpc_tls = STEAL(rpc_tls);
    return HOOP_OK;
}

void
rpc_tls_destroy(struct rpc_tls *rpc_tls)
{
    if (!rpc_tls)
        return;
    tls_context_destroy(rpc_tls->context);
    explicit_bzero(rpc_tls->keys, sizeof(rpc_tls->keys));
    free(rpc_tls);
}

enum hoop_status
rpc_tls_connect(struct rpc_tls *rpc_tls, int fd, struct tls **out_tls)
{
    const enum hoop_status status =
        tls_create_client(rpc_tls->context, fd, rpc_tls->identity, out_tls);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
rpc_tls_accept(struct rpc_tls *rpc_tls, int fd, struct tls **out_tls)
{
    const enum hoop_status status =
        tls_create_server(rpc_tls->context, fd, out_tls);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
rpc_tls_handshake(struct tls *tls)
{
    const enum hoop_status status = tls_handshake(tls);
    const int first = tls_first_byte(tls);

    if (status == HOOP_OK || status == HOOP_E_PENDING)
        return status;
    /* A coordinator without TLS sends its hello at once. */
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
