/*
 * transport/connect/tls_upgrade.c - the TLS handshake before the messages of hoop
 *
 * A peer with another setting of HOOP_TLS is told so in a way that it
 * understands: the acceptor looks at the first bytes before TLS does.
 */

#include "transport/connect/tls_upgrade.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"

/* Send an alert that a peer without TLS recognises as TLS. */
static void
send_plain_alert(struct handshaker *handshaker)
{
    static const uint8_t alert[] = {0x15, 3, 3, 0, 2, 2, 70};

    (void)!send(handshaker->fd, alert, sizeof(alert),
                MSG_NOSIGNAL | MSG_DONTWAIT);
    /* Bytes left unread would make the kernel reset the connection and discard
     * the alert. */
    (void)!recv(handshaker->fd, handshaker->message, HANDSHAKE_BYTES,
                MSG_DONTWAIT);
}

/* Returns HOOP_E_PENDING if nothing has come yet. */
static enum hoop_status
peek_first_bytes(struct handshaker *handshaker)
{
    uint8_t first[8];
    const ssize_t n =
        recv(handshaker->fd, first, sizeof(first), MSG_PEEK | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return HOOP_E_PENDING;
    if (n <= 0)
        return error_raise(HOOP_E_UNAVAILABLE, "%s during the handshake",
                           n == 0 ? "connection closed" : strerror(errno));
    if (memcmp(first, "HOOPHELO", (size_t)n) == 0) {
        send_plain_alert(handshaker);
        return error_raise(HOOP_E_PRECONDITION,
                           "it is a peer without TLS: HOOP_TLS must be alike "
                           "on all ranks");
    }
    if (first[0] != 0x16)
        return error_raise(HOOP_E_DATA_LOSS, "these bytes are no TLS hello");
    return HOOP_OK;
}

static enum hoop_status
tls_client_start(struct handshaker *handshaker)
{
    const struct handshake *handshake = &handshaker->handshake;
    char identity[LIMIT_NAME];

    handshake_format_identity(handshake->roster, handshake->roster->rank,
                              handshake->peer, identity);
    const enum hoop_status status = tls_create_client(
        handshaker->tls_context, handshaker->fd, identity, &handshaker->tls);
    if (status != HOOP_OK)
        return error_pass(status);
    handshaker->state = HANDSHAKER_CLIENT_TLS;
    return HOOP_OK;
}

static enum hoop_status
tls_server_start(struct handshaker *handshaker)
{
    enum hoop_status status = peek_first_bytes(handshaker);

    if (status == HOOP_OK)
        status = tls_create_server(handshaker->tls_context, handshaker->fd,
                                   &handshaker->tls);
    if (status != HOOP_OK)
        return status;
    handshaker->state = HANDSHAKER_SERVER_TLS;
    return HOOP_OK;
}

enum hoop_status
tls_upgrade_progress(struct handshaker *handshaker)
{
    enum hoop_status status = HOOP_OK;

    if (handshaker->state == HANDSHAKER_DIALING)
        status = tls_client_start(handshaker);
    else if (handshaker->state == HANDSHAKER_AWAIT_FIRST)
        status = tls_server_start(handshaker);
    if (status == HOOP_OK)
        status = tls_handshake(handshaker->tls);
    if (status == HOOP_E_PENDING && handshaker->tls)
        loop_watch_set(handshaker->watch, tls_has_unsent(handshaker->tls)
                                              ? LOOP_READ | LOOP_WRITE
                                              : LOOP_READ);
    if (status != HOOP_OK)
        return status;
    handshaker->handshake.n_binding = TLS_BINDING_BYTES;
    return tls_channel_binding(handshaker->tls, handshaker->handshake.binding);
}

enum hoop_status
tls_upgrade_check_identity(const struct handshaker *handshaker)
{
    const struct roster *roster = handshaker->handshake.roster;
    const char *said = handshaker->tls ? tls_identity(handshaker->tls) : "";
    char expected[LIMIT_NAME];

    handshake_format_identity(roster, handshaker->handshake.peer, roster->rank,
                              expected);
    /* With certificates, tls_identity() names nobody. */
    if (!*said || strcmp(said, expected) == 0)
        return HOOP_OK;
    return error_raise(HOOP_E_UNAUTHENTICATED,
                       "its TLS is that of '%s', its greeting of '%s'", said,
                       expected);
}

bool
tls_upgrade_is_refused(struct tls *tls)
{
    uint8_t byte;
    const struct iovec room = {&byte, 1};

    /* The alert of the other side may be here although our own bytes failed. */
    if (!*tls_error_text(tls))
        (void)tls_receive(tls, &room, 1);
    return *tls_error_text(tls);
}
