/*
 * rpc/control_stream.h - the bytes of a control connection, plain or under TLS
 *
 * Non-blocking: HOOP_E_PENDING says that the socket must be waited for, to
 * write if control_stream_has_unsent(). Thread: the loop's.
 */

#ifndef RPC_CONTROL_STREAM_H
#define RPC_CONTROL_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

#include "hoop/status.h"

struct tls;

/* Owns both. */
struct control_stream {
    int fd;          /* -1: none */
    struct tls *tls; /* NULL: plain */
};

void
control_stream_close(struct control_stream *control_stream);

/*
 * Some of the spans, at least a byte. Under TLS, what is taken may be owed to
 * the socket: control_stream_flush() when it can be written to.
 * Handle: HOOP_E_PENDING; else HOOP_E_UNAVAILABLE, or HOOP_E_UNAUTHENTICATED
 * if TLS ended it.
 */
enum hoop_status
control_stream_send(struct control_stream *control_stream,
                    const struct iovec *spans,
                    size_t n_spans,
                    size_t *out_n_bytes);
/* HOOP_OK: nothing is owed any more. Handle: as above. */
enum hoop_status
control_stream_flush(struct control_stream *control_stream);
bool
control_stream_has_unsent(const struct control_stream *control_stream);

/* At least a byte. Handle: as above; the end is HOOP_E_UNAVAILABLE. */
enum hoop_status
control_stream_receive(struct control_stream *control_stream,
                       void *bytes,
                       size_t n_room,
                       size_t *out_n_bytes);
/* There is more to receive, of which the socket does not tell. */
bool
control_stream_is_ready(const struct control_stream *control_stream);

#endif
