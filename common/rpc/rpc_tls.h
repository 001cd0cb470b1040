/*
 * rpc/rpc_tls.h - TLS between a coordinator and its clients, and their byte
 * stream
 *
 * If a side has a certificate, it presents it and requires one of the other
 * side. Without certificates, the key of a connection is derived from the
 * client's token. A coordinator knows one secret, from which the tokens of all
 * roles derive (base/role.h); a client names its role.
 *
 * A certificate does not prove membership of a job: within TLS both sides also
 * prove that they know the token, bound to this connection
 * (rpc/authentication.h). Thread: the loop's.
 */

#ifndef RPC_RPC_TLS_H
#define RPC_RPC_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "hoop/status.h"

#include "base/hmac.h"
#include "base/role.h"
#include "net/tls.h"
#include "rpc/messages/message.h"

struct rpc_tls;

/*
 * If files names no certificate and no key, the token alone is used. Everything
 * is copied. Handle: HOOP_E_INVALID (there is neither, or it cannot be used),
 * HOOP_E_NOT_FOUND (missing file).
 */
enum hoop_status
rpc_tls_create_client(const struct tls_files *files,
                      const char *token,
                      struct rpc_tls **out_rpc_tls);
/* secret is the token of all jobs; NULL or empty: there is none. */
enum hoop_status
rpc_tls_create_server(const struct tls_files *files,
                      const char *secret,
                      struct rpc_tls **out_rpc_tls);
/* Call after its connections have ended. Erases the keys. NULL is allowed. */
void
rpc_tls_destroy(struct rpc_tls *rpc_tls);

/* Create the TLS state of a connection, before the handshake; fd is
 * borrowed. */
enum hoop_status
rpc_tls_connect(struct rpc_tls *rpc_tls, int fd, struct tls **out_tls);
enum hoop_status
rpc_tls_accept(struct rpc_tls *rpc_tls, int fd, struct tls **out_tls);

/* As tls_handshake(), for a client. Handle: HOOP_E_PENDING,
 * HOOP_E_UNAUTHENTICATED (also a coordinator without TLS), HOOP_E_DATA_LOSS
 * (not a coordinator), HOOP_E_UNAVAILABLE. */
enum hoop_status
rpc_tls_handshake(struct tls *tls);

/*
 * The byte stream of a control connection, with or without TLS.
 *
 * It is non-blocking: HOOP_E_PENDING means that the caller must wait for the
 * socket, and for writing if control_stream_has_unsent(). Thread: the
 * loop's.
 */

/* Owns the socket and the TLS state. */
struct control_stream {
    int fd;          /* -1: closed */
    struct tls *tls; /* NULL: no TLS */
};

void
control_stream_close(struct control_stream *control_stream);

/*
 * Send at least one byte of the spans. Under TLS, accepted bytes may still wait
 * for the socket: call control_stream_flush() when it is writable.
 * Handle: HOOP_E_PENDING; otherwise the connection is unusable:
 * HOOP_E_UNAVAILABLE, or HOOP_E_UNAUTHENTICATED if TLS ended it.
 */
enum hoop_status
control_stream_send(struct control_stream *control_stream,
                    const struct iovec *spans,
                    size_t n_spans,
                    size_t *out_n_bytes);
/* HOOP_OK: no accepted bytes wait any more. Handle: as
 * control_stream_send(). */
enum hoop_status
control_stream_flush(struct control_stream *control_stream);
bool
control_stream_has_unsent(const struct control_stream *control_stream);

/* Receive at least one byte. Handle: as control_stream_send();
 * HOOP_E_UNAVAILABLE also at the end of the stream. */
enum hoop_status
control_stream_receive(struct control_stream *control_stream,
                       void *bytes,
                       size_t n_room,
                       size_t *out_n_bytes);
/* Return whether TLS has buffered bytes to receive, which the socket does not
 * signal. */
bool
control_stream_is_ready(const struct control_stream *control_stream);

#endif
