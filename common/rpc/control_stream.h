/*
 * rpc/control_stream.h - the byte stream of a control connection, with or
 * without TLS
 *
 * Non-blocking: HOOP_E_PENDING means that the caller must wait for the socket,
 * and for writing if control_stream_has_unsent(). Thread: the loop's.
 */

#ifndef RPC_CONTROL_STREAM_H
#define RPC_CONTROL_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "hoop/status.h"

struct tls;

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
