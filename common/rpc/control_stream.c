/* rpc/control_stream.c - the byte stream of a control connection, with or
 * without TLS */

#include "rpc/control_stream.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "net/socket.h"
#include "net/tls.h"

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
