/* rpc/carrier.c - the bytes of a control connection, plain or under TLS */

#include "rpc/carrier.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "net/socket.h"
#include "net/tls.h"

void
carrier_close(struct carrier *carrier)
{
    tls_destroy(STEAL(carrier->tls));
    socket_close(carrier->fd);
    carrier->fd = -1;
}

/* Of a call that gave -1. */
static enum hoop_status
carrier_raise(const struct carrier *carrier, int error)
{
    if (error == EAGAIN || error == EWOULDBLOCK || error == EINTR)
        return HOOP_E_PENDING;
    if (error == EPROTO && carrier->tls)
        return error_raise(HOOP_E_UNAUTHENTICATED,
                           "the TLS of the connection ended: %s; have both "
                           "sides certificates of one CA?",
                           tls_why(carrier->tls));
    return error_raise(HOOP_E_UNAVAILABLE, "the connection broke: %s",
                       strerror(error));
}

static ssize_t
spans_send(struct carrier *carrier, const struct iovec *spans, size_t n_spans)
{
    const struct msghdr message = {
        .msg_iov = (struct iovec *)(uintptr_t)spans,
        .msg_iovlen = n_spans,
    };

    return carrier->tls ? tls_send(carrier->tls, spans, n_spans)
                        : sendmsg(carrier->fd, &message, MSG_NOSIGNAL);
}

enum hoop_status
carrier_send(struct carrier *carrier,
             const struct iovec *spans,
             size_t n_spans,
             size_t *out_n_bytes)
{
    const ssize_t n = spans_send(carrier, spans, n_spans);

    if (n < 0)
        return carrier_raise(carrier, errno);
    if (n == 0)
        return HOOP_E_PENDING;
    *out_n_bytes = (size_t)n;
    return HOOP_OK;
}

bool
carrier_owes(const struct carrier *carrier)
{
    return carrier->tls && tls_owes(carrier->tls);
}

enum hoop_status
carrier_flush(struct carrier *carrier)
{
    if (!carrier_owes(carrier))
        return HOOP_OK;
    if (tls_send(carrier->tls, NULL, 0) < 0)
        return carrier_raise(carrier, errno);
    return carrier_owes(carrier) ? HOOP_E_PENDING : HOOP_OK;
}

enum hoop_status
carrier_receive(struct carrier *carrier,
                void *bytes,
                size_t n_room,
                size_t *out_n_bytes)
{
    const struct iovec room = {bytes, n_room};
    const ssize_t n = carrier->tls ? tls_receive(carrier->tls, &room, 1)
                                   : recv(carrier->fd, bytes, n_room, 0);

    if (n < 0)
        return carrier_raise(carrier, errno);
    if (n == 0)
        return error_raise(HOOP_E_UNAVAILABLE,
                           "the other side closed the connection");
    *out_n_bytes = (size_t)n;
    return HOOP_OK;
}

bool
carrier_is_ready(const struct carrier *carrier)
{
    return carrier->tls && tls_is_ready(carrier->tls);
}
