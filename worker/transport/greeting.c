/*
 * transport/greeting.c - a connection whose handshake is under way
 *
 *   dialer     DIALING -> SEND_HELLO -> AWAIT_CHALLENGE -> SEND_PROOF
 *                -> AWAIT_WELCOME -> proven
 *   acceptor   AWAIT_HELLO -> SEND_CHALLENGE -> AWAIT_PROOF -> SEND_WELCOME
 *                -> proven
 *
 * One fixed message is read or written at a time.
 * tests/unit/worker/transport/connector_test.c greets strangers and peers, too.
 */

#include "transport/greeting.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "net/socket.h"

bool
greeting_is_dialer(const struct greeting *greeting)
{
    return greeting->state <= AWAIT_WELCOME;
}

void
greeting_destroy(struct greeting *greeting)
{
    if (!greeting)
        return;
    loop_watch_destroy(greeting->watch);
    loop_timer_destroy(greeting->timer);
    /* Before the memory it offers: who looks for that in vain sees why. */
    socket_close(greeting->fd);
    sharing_deinit(&greeting->sharing);
    free(greeting);
}

/* What went wrong is this thread's last error. greeting is gone after it. */
static void
greeting_fail(struct greeting *greeting, enum hoop_status status)
{
    greeting->on_failed(greeting->owner, greeting, status);
}

static void
greeting_expired(void *owner)
{
    struct greeting *greeting = owner;

    greeting_fail(greeting,
                  error_raise(HOOP_E_TIMEOUT,
                              "no handshake within %d s (%zu of %d bytes)",
                              LIMIT_GREETING_MS / 1000, greeting->n_bytes,
                              HANDSHAKE_BYTES));
}

static void
greeting_send(struct greeting *greeting, enum greeting_state state)
{
    greeting->state = state;
    greeting->n_bytes = 0;
    loop_watch_set(greeting->watch, LOOP_WRITE);
}

static void
greeting_await(struct greeting *greeting, enum greeting_state state)
{
    greeting->state = state;
    greeting->n_bytes = 0;
    loop_watch_set(greeting->watch, LOOP_READ);
}

static void
take_hello(struct greeting *greeting)
{
    uint8_t challenge[HANDSHAKE_BYTES];

    greeting->verdict =
        handshake_challenge(&greeting->handshake, greeting->message, challenge);
    if (greeting->verdict != HOOP_OK &&
        greeting->verdict != HOOP_E_PRECONDITION) {
        greeting_fail(greeting, greeting->verdict);
        return;
    }
    /* A peer that is not what it must be learns what we are, and no more. */
    snprintf(greeting->why, sizeof(greeting->why), "%s", error_text());
    memcpy(greeting->message, challenge, HANDSHAKE_BYTES);
    greeting_send(greeting, SEND_CHALLENGE);
}

static void
take_challenge(struct greeting *greeting)
{
    uint8_t proof[HANDSHAKE_BYTES];

    if (greeting->handshake.stream == 0)
        sharing_offer(&greeting->sharing, &greeting->handshake);
    const enum hoop_status status =
        handshake_prove(&greeting->handshake, greeting->message, proof);

    if (status != HOOP_OK) {
        greeting_fail(greeting, status);
        return;
    }
    memcpy(greeting->message, proof, HANDSHAKE_BYTES);
    greeting_send(greeting, SEND_PROOF);
}

/* What the verified peer is told. */
static void
choose_answer(struct greeting *greeting)
{
    struct handshake *handshake = &greeting->handshake;

    greeting->answer = greeting->on_verified(greeting->owner, handshake);
    const bool may_share =
        greeting->answer == HANDSHAKE_WELCOME && handshake->stream == 0;
    if (may_share)
        sharing_take(&greeting->sharing, handshake);
    else
        memset(handshake->offer, 0, HANDSHAKE_OFFER);
    if (may_share && sharing_has_failed(&greeting->sharing))
        greeting->answer = HANDSHAKE_UNSHARED;
}

/* The other side has given this up, and with it what it offered. */
static bool
has_hung_up(const struct greeting *greeting)
{
    uint8_t byte;
    const ssize_t n = recv(greeting->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR);
}

static void
take_proof(struct greeting *greeting)
{
    enum hoop_status status =
        handshake_verify(&greeting->handshake, greeting->message);

    if (status == HOOP_OK) {
        choose_answer(greeting);
        status = greeting->answer == HANDSHAKE_UNSHARED && has_hung_up(greeting)
                     ? error_raise(HOOP_E_UNAVAILABLE,
                                   "connection closed during the handshake")
                     : handshake_answer(&greeting->handshake, greeting->answer,
                                        greeting->message);
    }
    if (status != HOOP_OK)
        greeting_fail(greeting, status);
    else
        greeting_send(greeting, SEND_WELCOME);
}

static void
take_welcome(struct greeting *greeting)
{
    const enum hoop_status status = handshake_finish(
        &greeting->handshake, greeting->message, &greeting->answer);

    if (status != HOOP_OK) {
        greeting_fail(greeting, status);
        return;
    }
    if (greeting->handshake.stream == 0)
        sharing_settle(&greeting->sharing, &greeting->handshake);
    greeting->on_answered(greeting->owner, greeting);
}

static void
challenge_sent(struct greeting *greeting)
{
    if (greeting->verdict == HOOP_OK)
        greeting_await(greeting, AWAIT_PROOF);
    else
        greeting_fail(greeting,
                      error_raise(greeting->verdict, "%s", greeting->why));
}

static void
message_complete(struct greeting *greeting)
{
    switch (greeting->state) {
    case DIALING:
        return;
    case SEND_HELLO:
        greeting_await(greeting, AWAIT_CHALLENGE);
        return;
    case AWAIT_CHALLENGE:
        take_challenge(greeting);
        return;
    case SEND_PROOF:
        greeting_await(greeting, AWAIT_WELCOME);
        return;
    case AWAIT_WELCOME:
        take_welcome(greeting);
        return;
    case AWAIT_HELLO:
        take_hello(greeting);
        return;
    case SEND_CHALLENGE:
        challenge_sent(greeting);
        return;
    case AWAIT_PROOF:
        take_proof(greeting);
        return;
    case SEND_WELCOME:
        greeting->on_answered(greeting->owner, greeting);
        return;
    }
}

static bool
is_sending(enum greeting_state state)
{
    return state == SEND_HELLO || state == SEND_PROOF ||
           state == SEND_CHALLENGE || state == SEND_WELCOME;
}

static void
dial_connected(struct greeting *greeting)
{
    enum hoop_status status = socket_connected(greeting->fd);

    if (status == HOOP_OK)
        status = handshake_hello(&greeting->handshake, greeting->message);
    if (status != HOOP_OK)
        greeting_fail(greeting, status);
    else
        greeting_send(greeting, SEND_HELLO);
}

static void
greeting_ready(void *owner, enum loop_interest ready)
{
    struct greeting *greeting = owner;
    uint8_t *at = greeting->message + greeting->n_bytes;
    const size_t n_left = HANDSHAKE_BYTES - greeting->n_bytes;

    (void)ready;
    if (greeting->state == DIALING) {
        dial_connected(greeting);
        return;
    }
    /* Never a byte more: what follows the handshake is the transport's. */
    const ssize_t n =
        is_sending(greeting->state)
            ? send(greeting->fd, at, n_left, MSG_NOSIGNAL | MSG_DONTWAIT)
            : recv(greeting->fd, at, n_left, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        const char *why = n == 0 ? "connection closed" : strerror(errno);

        greeting_fail(greeting, error_raise(HOOP_E_UNAVAILABLE,
                                            "%s during the handshake", why));
        return;
    }
    greeting->n_bytes += (size_t)n;
    /* The first letters tell a stranger; no need to wait for the rest. */
    if (greeting->state == AWAIT_HELLO &&
        memcmp(greeting->message, "HOOPHELO",
               greeting->n_bytes < 8 ? greeting->n_bytes : 8) != 0) {
        take_hello(greeting);
        return;
    }
    if (greeting->n_bytes == HANDSHAKE_BYTES)
        message_complete(greeting);
}

static enum hoop_status
greeting_open(struct greeting *greeting)
{
    enum hoop_status status =
        loop_watch_create(greeting->loop, greeting->fd, greeting_ready,
                          greeting, &greeting->watch);

    if (status == HOOP_OK)
        status = loop_timer_create(greeting->loop, greeting_expired, greeting,
                                   &greeting->timer);
    if (status != HOOP_OK)
        return error_pass(status);
    loop_timer_start(greeting->timer, LIMIT_GREETING_MS);
    loop_watch_set(greeting->watch,
                   greeting->state == DIALING ? LOOP_WRITE : LOOP_READ);
    return HOOP_OK;
}

enum hoop_status
greeting_create(const struct greeting *content, struct greeting **out_greeting)
{
    struct greeting *greeting = malloc(sizeof(*greeting));

    if (!greeting) {
        socket_close(content->fd);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a connection");
    }
    *greeting = *content;
    const enum hoop_status status = greeting_open(greeting);
    if (status != HOOP_OK) {
        greeting_destroy(greeting);
        return error_pass(status);
    }
    *out_greeting = greeting;
    return HOOP_OK;
}

int
greeting_take_fd(struct greeting *greeting)
{
    const int fd = greeting->fd;

    /* The watch must go before its descriptor changes hands. */
    loop_watch_destroy(greeting->watch);
    greeting->watch = NULL;
    greeting->fd = -1;
    return fd;
}

struct segment *
greeting_take_segment(struct greeting *greeting)
{
    return STEAL(greeting->sharing.segment);
}
