/*
 * transport/connect/handshaker.c - a connection whose handshake is under way
 *
 *   dialer     DIALING [-> CLIENT_TLS] -> SEND_HELLO -> AWAIT_CHALLENGE
 *                -> SEND_PROOF -> AWAIT_WELCOME -> verified
 *   acceptor   [AWAIT_FIRST -> SERVER_TLS ->] AWAIT_HELLO -> SEND_CHALLENGE
 *                -> AWAIT_PROOF -> SEND_WELCOME -> verified
 *
 * One message of fixed size is read or written at a time. With HOOP_TLS, the
 * handshake of TLS comes first, and the messages go through it.
 * tests/unit/worker/transport/connect/connector_test.c plays strangers and
 * peers, too.
 */

#include "transport/connect/handshaker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "net/socket.h"

/*
 * The TLS handshake before the messages of hoop.
 *
 * A peer with another setting of HOOP_TLS is told so in a way that it
 * understands: the acceptor looks at the first bytes before TLS does.
 */

/* Send an alert that a peer without TLS recognises as TLS. */
static void
send_plain_alert(struct handshaker *handshaker)
{
    static const uint8_t alert[] = {0x15, 3, 3, 0, 2, 2, 70};

    (void)!send(handshaker->fd, alert, sizeof(alert),
                MSG_NOSIGNAL | MSG_DONTWAIT);
    /* Bytes left unread would make the kernel reset the connection and discard
     * the alert. */
    (void)!recv(handshaker->fd, handshaker->message, HANDSHAKE_MESSAGE_BYTES,
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

/*
 * Take the next step and watch for the one after it. The handshaker is in
 * HANDSHAKER_DIALING with a connected socket, in HANDSHAKER_AWAIT_FIRST, or in
 * the middle of TLS. HOOP_OK: both sides have authenticated each other, and
 * the handshake is bound to this connection. Handle: HOOP_E_PENDING; any other
 * error has a text that says why.
 */
static enum hoop_status
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

/* Check that the HELLO comes from the rank whose TLS key was used. Handle:
 * HOOP_E_UNAUTHENTICATED. */
static enum hoop_status
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
                       "its TLS is that of '%s', its handshake of '%s'", said,
                       expected);
}

/* The connection has failed. Returns whether the other side ended it because
 * it did not trust us; tls_error_text() says why. */
static bool
tls_upgrade_is_refused(struct tls *tls)
{
    uint8_t byte;
    const struct iovec room = {&byte, 1};

    /* The alert of the other side may be here although our own bytes failed. */
    if (!*tls_error_text(tls))
        (void)tls_receive(tls, &room, 1);
    return *tls_error_text(tls);
}

/* The handshake itself. */

bool
handshaker_is_dialer(const struct handshaker *handshaker)
{
    return handshaker->state <= HANDSHAKER_AWAIT_WELCOME;
}

bool
handshaker_is_identified(const struct handshaker *handshaker)
{
    return (handshaker->state == HANDSHAKER_SEND_CHALLENGE &&
            handshaker->hello_status == HOOP_OK) ||
           handshaker->state == HANDSHAKER_AWAIT_PROOF ||
           handshaker->state == HANDSHAKER_SEND_WELCOME;
}

void
handshaker_destroy(struct handshaker *handshaker)
{
    if (!handshaker)
        return;
    loop_watch_destroy(handshaker->watch);
    loop_timer_destroy(handshaker->timer);
    tls_destroy(handshaker->tls);
    /* The connection is closed before the memory that it offers is freed: a
     * peer that looks for the memory in vain then sees why. */
    socket_close(handshaker->fd);
    shm_negotiation_deinit(&handshaker->shm_negotiation);
    free(handshaker);
}

/* The error is this thread's last one. This destroys handshaker. */
static void
handshaker_fail(struct handshaker *handshaker, enum hoop_status status)
{
    handshaker->on_failed(handshaker->owner, handshaker, status);
}

static void
handshaker_on_timeout(void *owner)
{
    struct handshaker *handshaker = owner;
    const uint64_t n_ms =
        (clock_now_ns() - handshaker->begun_ns) / CLOCK_NS_PER_MS;

    handshaker_fail(handshaker,
                    error_raise(HOOP_E_TIMEOUT,
                                "no handshake within %" PRIu64
                                " s (%zu of %d bytes)",
                                (n_ms + 500) / 1000, handshaker->n_bytes,
                                HANDSHAKE_MESSAGE_BYTES));
}

/* The kernel of the other side answers, so its host is alive. While the world
 * forms, its process may have to wait for a processor. */
static void
handshaker_extend_timeout(struct handshaker *handshaker)
{
    const int left_ms =
        handshaker->until_ns ? clock_left_ms(handshaker->until_ns) : 0;

    if (left_ms > LIMIT_HANDSHAKE_MS)
        loop_timer_start(handshaker->timer, (uint64_t)left_ms);
}

void
handshaker_shorten_timeout(struct handshaker *handshaker)
{
    const bool is_extended =
        handshaker->until_ns > 0 && handshaker->state != HANDSHAKER_DIALING;

    handshaker->until_ns = 0;
    if (is_extended)
        loop_timer_start(handshaker->timer, LIMIT_HANDSHAKE_MS);
}

static void
handshaker_start_send(struct handshaker *handshaker,
                      enum handshaker_state state)
{
    handshaker->state = state;
    handshaker->n_bytes = 0;
    loop_watch_set(handshaker->watch, LOOP_WRITE);
}

static void
handshaker_start_receive(struct handshaker *handshaker,
                         enum handshaker_state state)
{
    handshaker->state = state;
    handshaker->n_bytes = 0;
    loop_watch_set(handshaker->watch, LOOP_READ);
}

static void
on_hello(struct handshaker *handshaker)
{
    uint8_t challenge[HANDSHAKE_MESSAGE_BYTES];

    handshaker->hello_status = handshake_write_challenge(
        &handshaker->handshake, handshaker->message, challenge);
    if (handshaker->hello_status == HOOP_OK &&
        tls_upgrade_check_identity(handshaker) != HOOP_OK)
        handshaker->hello_status = HOOP_E_UNAUTHENTICATED;
    if (handshaker->hello_status != HOOP_OK &&
        handshaker->hello_status != HOOP_E_PRECONDITION) {
        handshaker_fail(handshaker, handshaker->hello_status);
        return;
    }
    /* A peer that does not belong here learns who we are, and no more. */
    snprintf(handshaker->why, sizeof(handshaker->why), "%s", error_text());
    memcpy(handshaker->message, challenge, HANDSHAKE_MESSAGE_BYTES);
    handshaker_start_send(handshaker, HANDSHAKER_SEND_CHALLENGE);
}

static void
on_challenge(struct handshaker *handshaker)
{
    uint8_t proof[HANDSHAKE_MESSAGE_BYTES];

    if (handshaker->handshake.stream == 0)
        shm_negotiation_offer(&handshaker->shm_negotiation,
                              &handshaker->handshake);
    const enum hoop_status status = handshake_write_proof(
        &handshaker->handshake, handshaker->message, proof);

    if (status != HOOP_OK) {
        handshaker_fail(handshaker, status);
        return;
    }
    memcpy(handshaker->message, proof, HANDSHAKE_MESSAGE_BYTES);
    handshaker_start_send(handshaker, HANDSHAKER_SEND_PROOF);
}

/* Decide what to answer the verified peer. */
static void
choose_handshake_answer(struct handshaker *handshaker)
{
    struct handshake *handshake = &handshaker->handshake;

    handshaker->answer =
        handshaker->on_handshake_peer_verified(handshaker->owner, handshaker);
    const bool may_share =
        handshaker->answer == HANDSHAKE_WELCOME && handshake->stream == 0;
    if (may_share)
        shm_negotiation_accept(&handshaker->shm_negotiation, handshake);
    else
        memset(handshake->offer, 0, HANDSHAKE_OFFER_BYTES);
    if (handshaker->answer == HANDSHAKE_EXHAUSTED)
        memcpy(handshake->offer, handshaker->shortage, HANDSHAKE_OFFER_BYTES);
    if (may_share && shm_negotiation_has_failed(&handshaker->shm_negotiation))
        handshaker->answer = HANDSHAKE_NO_SHM;
}

/* Returns whether the other side has given up this connection, and with it
 * what it offered. */
static bool
has_peer_closed(const struct handshaker *handshaker)
{
    uint8_t byte;
    const ssize_t n = recv(handshaker->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static void
on_proof(struct handshaker *handshaker)
{
    enum hoop_status status =
        handshake_verify_proof(&handshaker->handshake, handshaker->message);

    if (status == HOOP_OK) {
        choose_handshake_answer(handshaker);
        status =
            handshaker->answer == HANDSHAKE_NO_SHM &&
                    has_peer_closed(handshaker)
                ? error_raise(HOOP_E_UNAVAILABLE,
                              "connection closed during the handshake")
                : handshake_answer(&handshaker->handshake, handshaker->answer,
                                   handshaker->message);
    }
    if (status != HOOP_OK)
        handshaker_fail(handshaker, status);
    else
        handshaker_start_send(handshaker, HANDSHAKER_SEND_WELCOME);
}

static void
on_welcome(struct handshaker *handshaker)
{
    const enum hoop_status status = handshake_verify_welcome(
        &handshaker->handshake, handshaker->message, &handshaker->answer);

    if (status != HOOP_OK) {
        handshaker_fail(handshaker, status);
        return;
    }
    if (handshaker->handshake.stream == 0)
        shm_negotiation_finish(&handshaker->shm_negotiation,
                               &handshaker->handshake);
    handshaker->on_handshake_answered(handshaker->owner, handshaker);
}

static void
on_challenge_sent(struct handshaker *handshaker)
{
    if (handshaker->hello_status == HOOP_OK)
        handshaker_start_receive(handshaker, HANDSHAKER_AWAIT_PROOF);
    else
        handshaker_fail(handshaker, error_raise(handshaker->hello_status, "%s",
                                                handshaker->why));
}

static void
on_message_complete(struct handshaker *handshaker)
{
    switch (handshaker->state) {
    case HANDSHAKER_DIALING:
    case HANDSHAKER_CLIENT_TLS:
    case HANDSHAKER_AWAIT_FIRST:
    case HANDSHAKER_SERVER_TLS:
        return;
    case HANDSHAKER_SEND_HELLO:
        handshaker_start_receive(handshaker, HANDSHAKER_AWAIT_CHALLENGE);
        return;
    case HANDSHAKER_AWAIT_CHALLENGE:
        on_challenge(handshaker);
        return;
    case HANDSHAKER_SEND_PROOF:
        handshaker_start_receive(handshaker, HANDSHAKER_AWAIT_WELCOME);
        return;
    case HANDSHAKER_AWAIT_WELCOME:
        on_welcome(handshaker);
        return;
    case HANDSHAKER_AWAIT_HELLO:
        on_hello(handshaker);
        return;
    case HANDSHAKER_SEND_CHALLENGE:
        on_challenge_sent(handshaker);
        return;
    case HANDSHAKER_AWAIT_PROOF:
        on_proof(handshaker);
        return;
    case HANDSHAKER_SEND_WELCOME:
        handshaker->on_handshake_answered(handshaker->owner, handshaker);
        return;
    }
}

static bool
is_sending_state(enum handshaker_state state)
{
    return state == HANDSHAKER_SEND_HELLO || state == HANDSHAKER_SEND_PROOF ||
           state == HANDSHAKER_SEND_CHALLENGE ||
           state == HANDSHAKER_SEND_WELCOME;
}

/* Begin with the messages of the handshake. */
static enum hoop_status
handshaker_start_messages(struct handshaker *handshaker)
{
    if (!handshaker_is_dialer(handshaker)) {
        handshaker_start_receive(handshaker, HANDSHAKER_AWAIT_HELLO);
        return HOOP_OK;
    }
    const enum hoop_status status =
        handshake_write_hello(&handshaker->handshake, handshaker->message);
    if (status != HOOP_OK)
        return error_pass(status);
    handshaker_start_send(handshaker, HANDSHAKER_SEND_HELLO);
    return HOOP_OK;
}

/* Take a step that precedes the messages. */
static enum hoop_status
handshaker_progress_connect(struct handshaker *handshaker)
{
    enum hoop_status status = HOOP_OK;

    if (handshaker->state == HANDSHAKER_DIALING) {
        status = socket_connect_result(handshaker->fd);
        if (status == HOOP_OK)
            handshaker_extend_timeout(handshaker);
    }
    if (status == HOOP_OK && handshaker->tls_context)
        status = tls_upgrade_progress(handshaker);
    if (status == HOOP_OK)
        status = handshaker_start_messages(handshaker);
    return status;
}

static bool
is_before_handshake_messages(enum handshaker_state state)
{
    return state == HANDSHAKER_DIALING || state == HANDSHAKER_CLIENT_TLS ||
           state == HANDSHAKER_AWAIT_FIRST || state == HANDSHAKER_SERVER_TLS;
}

/* Never read a byte more than the message: what follows the handshake belongs
 * to the transport. */
static ssize_t
handshake_message_transfer(struct handshaker *handshaker)
{
    const struct iovec rest = {handshaker->message + handshaker->n_bytes,
                               HANDSHAKE_MESSAGE_BYTES - handshaker->n_bytes};
    const bool is_out = is_sending_state(handshaker->state);

    if (handshaker->tls)
        return is_out ? tls_send(handshaker->tls, &rest, 1)
                      : tls_receive(handshaker->tls, &rest, 1);
    return is_out ? send(handshaker->fd, rest.iov_base, rest.iov_len,
                         MSG_NOSIGNAL | MSG_DONTWAIT)
                  : recv(handshaker->fd, rest.iov_base, rest.iov_len,
                         MSG_DONTWAIT);
}

static void
handshaker_fail_io(struct handshaker *handshaker, ssize_t n)
{
    const char *why = n == 0 ? "connection closed" : strerror(errno);

    handshaker_fail(
        handshaker,
        handshaker->tls && tls_upgrade_is_refused(handshaker->tls)
            ? error_raise(HOOP_E_UNAUTHENTICATED,
                          "the other side refuses this TLS: %s",
                          tls_error_text(handshaker->tls))
            : error_raise(HOOP_E_UNAVAILABLE, "%s during the handshake", why));
}

static bool
message_has_magic(const struct handshaker *handshaker, const char letters[8])
{
    const size_t n = handshaker->n_bytes < 8 ? handshaker->n_bytes : 8;

    return memcmp(handshaker->message, letters, n) == 0;
}

void
handshaker_progress(struct handshaker *handshaker)
{
    if (is_before_handshake_messages(handshaker->state)) {
        const enum hoop_status status = handshaker_progress_connect(handshaker);

        if (status != HOOP_OK && status != HOOP_E_PENDING)
            handshaker_fail(handshaker, status);
        return;
    }
    const ssize_t n = handshake_message_transfer(handshaker);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0 || (n == 0 && handshaker->n_bytes < HANDSHAKE_MESSAGE_BYTES)) {
        handshaker_fail_io(handshaker, n);
        return;
    }
    handshaker->n_bytes += (size_t)n;
    /* The first letters identify a stranger, so there is no need to wait for
     * the rest. */
    if (handshaker->state == HANDSHAKER_AWAIT_HELLO &&
        !message_has_magic(handshaker, "HOOPHELO")) {
        on_hello(handshaker);
        return;
    }
    if (handshaker->state == HANDSHAKER_AWAIT_CHALLENGE &&
        !message_has_magic(handshaker, "HOOPCHAL")) {
        on_challenge(handshaker);
        return;
    }
    const bool is_through = !handshaker->tls ||
                            !is_sending_state(handshaker->state) ||
                            !tls_has_unsent(handshaker->tls);
    if (handshaker->n_bytes == HANDSHAKE_MESSAGE_BYTES && is_through)
        on_message_complete(handshaker);
}

static void
handshaker_on_ready(void *owner, enum loop_interest ready)
{
    (void)ready;
    handshaker_progress(owner);
}

static enum hoop_status
handshaker_open(struct handshaker *handshaker)
{
    enum hoop_status status =
        loop_watch_create(handshaker->loop, handshaker->fd, handshaker_on_ready,
                          handshaker, &handshaker->watch);

    if (status == HOOP_OK)
        status = loop_timer_create(handshaker->loop, handshaker_on_timeout,
                                   handshaker, &handshaker->timer);
    if (status != HOOP_OK)
        return error_pass(status);
    loop_timer_start(handshaker->timer, LIMIT_HANDSHAKE_MS);
    if (handshaker->state != HANDSHAKER_DIALING)
        handshaker_extend_timeout(handshaker);
    loop_watch_set(handshaker->watch, handshaker->state == HANDSHAKER_DIALING
                                          ? LOOP_WRITE
                                          : LOOP_READ);
    return HOOP_OK;
}

enum hoop_status
handshaker_create(const struct handshaker *content,
                  struct handshaker **out_handshaker)
{
    struct handshaker *handshaker = malloc(sizeof(*handshaker));

    if (!handshaker) {
        socket_close(content->fd);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a connection");
    }
    *handshaker = *content;
    handshaker->begun_ns = clock_now_ns();
    const enum hoop_status status = handshaker_open(handshaker);
    if (status != HOOP_OK) {
        handshaker_destroy(handshaker);
        return error_pass(status);
    }
    *out_handshaker = handshaker;
    return HOOP_OK;
}

int
handshaker_take_fd(struct handshaker *handshaker)
{
    const int fd = handshaker->fd;

    /* The watch must be destroyed before the caller owns its descriptor. */
    loop_watch_destroy(handshaker->watch);
    handshaker->watch = NULL;
    handshaker->fd = -1;
    return fd;
}

enum hoop_status
handshaker_take_tls(struct handshaker *handshaker, struct tls **out_tls)
{
    if (handshaker->tls) {
        const enum hoop_status status = tls_allow_read_ahead(handshaker->tls);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    *out_tls = STEAL(handshaker->tls);
    return HOOP_OK;
}

struct segment *
handshaker_take_segment(struct handshaker *handshaker)
{
    return STEAL(handshaker->shm_negotiation.segment);
}
