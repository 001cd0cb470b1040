/*
 * transport/securing.c - the TLS of a greeting, before it speaks
 *
 * A peer whose HOOP_TLS is another is told so in a way that it understands: the
 * acceptor looks at the first bytes before TLS does.
 */

#include "transport/securing.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"

/* What a peer without TLS reads as such. */
static void
plain_answer(struct greeting *greeting)
{
    static const uint8_t alert[] = {0x15, 3, 3, 0, 2, 2, 70};

    (void)!send(greeting->fd, alert, sizeof(alert),
                MSG_NOSIGNAL | MSG_DONTWAIT);
    /* What is left unread would take the alert back. */
    (void)!recv(greeting->fd, greeting->message, HANDSHAKE_BYTES, MSG_DONTWAIT);
}

/* HOOP_E_PENDING: nothing has come yet. */
static enum hoop_status
first_look(struct greeting *greeting)
{
    uint8_t first[8];
    const ssize_t n =
        recv(greeting->fd, first, sizeof(first), MSG_PEEK | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return HOOP_E_PENDING;
    if (n <= 0)
        return error_raise(HOOP_E_UNAVAILABLE, "%s during the handshake",
                           n == 0 ? "connection closed" : strerror(errno));
    if (memcmp(first, "HOOPHELO", (size_t)n) == 0) {
        plain_answer(greeting);
        return error_raise(HOOP_E_PRECONDITION,
                           "it is a peer without TLS: HOOP_TLS must be alike "
                           "on all ranks");
    }
    if (first[0] != 0x16)
        return error_raise(HOOP_E_DATA_LOSS, "these bytes are no TLS hello");
    return HOOP_OK;
}

static enum hoop_status
dial_begin(struct greeting *greeting)
{
    const struct handshake *handshake = &greeting->handshake;
    char identity[LIMIT_NAME];

    handshake_identity(handshake->roster, handshake->roster->rank,
                       handshake->peer, identity);
    const enum hoop_status status = tls_create_client(
        greeting->secures, greeting->fd, identity, &greeting->tls);
    if (status != HOOP_OK)
        return error_pass(status);
    greeting->state = SECURE_DIAL;
    return HOOP_OK;
}

static enum hoop_status
call_begin(struct greeting *greeting)
{
    enum hoop_status status = first_look(greeting);

    if (status == HOOP_OK)
        status =
            tls_create_server(greeting->secures, greeting->fd, &greeting->tls);
    if (status != HOOP_OK)
        return status;
    greeting->state = SECURE_CALL;
    return HOOP_OK;
}

enum hoop_status
securing_go_on(struct greeting *greeting)
{
    enum hoop_status status = HOOP_OK;

    if (greeting->state == DIALING)
        status = dial_begin(greeting);
    else if (greeting->state == AWAIT_FIRST)
        status = call_begin(greeting);
    if (status == HOOP_OK)
        status = tls_shake(greeting->tls);
    if (status == HOOP_E_PENDING && greeting->tls)
        loop_watch_set(greeting->watch, tls_owes(greeting->tls)
                                            ? LOOP_READ | LOOP_WRITE
                                            : LOOP_READ);
    if (status != HOOP_OK)
        return status;
    greeting->handshake.n_binding = TLS_BINDING_BYTES;
    return tls_binding(greeting->tls, greeting->handshake.binding);
}

enum hoop_status
securing_check(const struct greeting *greeting)
{
    const struct roster *roster = greeting->handshake.roster;
    const char *said = greeting->tls ? tls_identity(greeting->tls) : "";
    char expected[LIMIT_NAME];

    handshake_identity(roster, greeting->handshake.peer, roster->rank,
                       expected);
    /* Where certificates say who it is, it names nobody. */
    if (!*said || strcmp(said, expected) == 0)
        return HOOP_OK;
    return error_raise(HOOP_E_UNAUTHENTICATED,
                       "its TLS is that of '%s', its greeting of '%s'", said,
                       expected);
}

bool
securing_is_refused(struct tls *tls)
{
    uint8_t byte;
    const struct iovec room = {&byte, 1};

    /* Its alert may be here, though what we sent broke on the way. */
    if (!*tls_why(tls))
        (void)tls_receive(tls, &room, 1);
    return *tls_why(tls);
}
