/*
 * transport/greeting.c - a connection whose handshake is under way
 *
 *   dialer     DIALING [-> SECURE_DIAL] -> SEND_HELLO -> AWAIT_CHALLENGE -> SEND_PROOF
 *                -> AWAIT_WELCOME -> proven
 *   acceptor   [AWAIT_FIRST -> SECURE_CALL ->] AWAIT_HELLO -> SEND_CHALLENGE
 *                -> AWAIT_PROOF -> SEND_WELCOME -> proven
 *
 * One fixed message is read or written at a time. Under TLS (HOOP_TLS) that has
 * its own handshake before them, and they are within.
 * tests/unit/worker/transport/connector_test.c greets strangers and peers, too.
 */

#include "transport/greeting.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "net/socket.h"
#include "transport/securing.h"

bool
greeting_is_dialer(const struct greeting *greeting)
{
    return greeting->state <= AWAIT_WELCOME;
}

bool
greeting_is_known(const struct greeting *greeting)
{
    return (greeting->state == SEND_CHALLENGE &&
            greeting->verdict == HOOP_OK) ||
           greeting->state == AWAIT_PROOF || greeting->state == SEND_WELCOME;
}

void
greeting_destroy(struct greeting *greeting)
{
    if (!greeting)
        return;
    loop_watch_destroy(greeting->watch);
    loop_timer_destroy(greeting->timer);
    tls_destroy(greeting->tls);
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
    const uint64_t n_ms =
        (clock_now_ns() - greeting->begun_ns) / CLOCK_NS_PER_MS;

    greeting_fail(greeting, error_raise(HOOP_E_TIMEOUT,
                                        "no handshake within %" PRIu64
                                        " s (%zu of %d bytes)",
                                        (n_ms + 500) / 1000, greeting->n_bytes,
                                        HANDSHAKE_BYTES));
}

/* The other side's kernel answers, so its host is there: as long as the world
 * forms, its process may have to wait for a processor. */
static void
greeting_extend(struct greeting *greeting)
{
    const int left_ms =
        greeting->until_ns ? clock_left_ms(greeting->until_ns) : 0;

    if (left_ms > LIMIT_GREETING_MS)
        loop_timer_start(greeting->timer, (uint64_t)left_ms);
}

void
greeting_shorten(struct greeting *greeting)
{
    const bool is_extended =
        greeting->until_ns > 0 && greeting->state != DIALING;

    greeting->until_ns = 0;
    if (is_extended)
        loop_timer_start(greeting->timer, LIMIT_GREETING_MS);
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
    if (greeting->verdict == HOOP_OK && securing_check(greeting) != HOOP_OK)
        greeting->verdict = HOOP_E_UNAUTHENTICATED;
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

    greeting->answer = greeting->on_verified(greeting->owner, greeting);
    const bool may_share =
        greeting->answer == HANDSHAKE_WELCOME && handshake->stream == 0;
    if (may_share)
        sharing_take(&greeting->sharing, handshake);
    else
        memset(handshake->offer, 0, HANDSHAKE_OFFER);
    if (greeting->answer == HANDSHAKE_EXHAUSTED)
        memcpy(handshake->offer, greeting->shortage, HANDSHAKE_OFFER);
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
    case SECURE_DIAL:
    case AWAIT_FIRST:
    case SECURE_CALL:
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

/* Proven messages begin. */
static enum hoop_status
greeting_speak(struct greeting *greeting)
{
    if (!greeting_is_dialer(greeting)) {
        greeting_await(greeting, AWAIT_HELLO);
        return HOOP_OK;
    }
    const enum hoop_status status =
        handshake_hello(&greeting->handshake, greeting->message);
    if (status != HOOP_OK)
        return error_pass(status);
    greeting_send(greeting, SEND_HELLO);
    return HOOP_OK;
}

/* Before there are messages. */
static enum hoop_status
greeting_begin(struct greeting *greeting)
{
    enum hoop_status status = HOOP_OK;

    if (greeting->state == DIALING) {
        status = socket_connected(greeting->fd);
        if (status == HOOP_OK)
            greeting_extend(greeting);
    }
    if (status == HOOP_OK && greeting->secures)
        status = securing_go_on(greeting);
    if (status == HOOP_OK)
        status = greeting_speak(greeting);
    return status;
}

static bool
is_beginning(enum greeting_state state)
{
    return state == DIALING || state == SECURE_DIAL || state == AWAIT_FIRST ||
           state == SECURE_CALL;
}

/* Never a byte more: what follows the handshake is the transport's. */
static ssize_t
message_move(struct greeting *greeting)
{
    const struct iovec rest = {greeting->message + greeting->n_bytes,
                               HANDSHAKE_BYTES - greeting->n_bytes};
    const bool is_out = is_sending(greeting->state);

    if (greeting->tls)
        return is_out ? tls_send(greeting->tls, &rest, 1)
                      : tls_receive(greeting->tls, &rest, 1);
    return is_out
               ? send(greeting->fd, rest.iov_base, rest.iov_len,
                      MSG_NOSIGNAL | MSG_DONTWAIT)
               : recv(greeting->fd, rest.iov_base, rest.iov_len, MSG_DONTWAIT);
}

static void
message_fail(struct greeting *greeting, ssize_t n)
{
    const char *why = n == 0 ? "connection closed" : strerror(errno);

    greeting_fail(
        greeting,
        greeting->tls && securing_is_refused(greeting->tls)
            ? error_raise(HOOP_E_UNAUTHENTICATED,
                          "the other side refuses this TLS: %s",
                          tls_why(greeting->tls))
            : error_raise(HOOP_E_UNAVAILABLE, "%s during the handshake", why));
}

static bool
begins_with(const struct greeting *greeting, const char letters[8])
{
    const size_t n = greeting->n_bytes < 8 ? greeting->n_bytes : 8;

    return memcmp(greeting->message, letters, n) == 0;
}

void
greeting_go_on(struct greeting *greeting)
{
    if (is_beginning(greeting->state)) {
        const enum hoop_status status = greeting_begin(greeting);

        if (status != HOOP_OK && status != HOOP_E_PENDING)
            greeting_fail(greeting, status);
        return;
    }
    const ssize_t n = message_move(greeting);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n < 0 || (n == 0 && greeting->n_bytes < HANDSHAKE_BYTES)) {
        message_fail(greeting, n);
        return;
    }
    greeting->n_bytes += (size_t)n;
    /* The first letters tell a stranger; no need to wait for the rest. */
    if (greeting->state == AWAIT_HELLO && !begins_with(greeting, "HOOPHELO")) {
        take_hello(greeting);
        return;
    }
    if (greeting->state == AWAIT_CHALLENGE &&
        !begins_with(greeting, "HOOPCHAL")) {
        take_challenge(greeting);
        return;
    }
    const bool is_through = !greeting->tls || !is_sending(greeting->state) ||
                            !tls_owes(greeting->tls);
    if (greeting->n_bytes == HANDSHAKE_BYTES && is_through)
        message_complete(greeting);
}

static void
greeting_ready(void *owner, enum loop_interest ready)
{
    (void)ready;
    greeting_go_on(owner);
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
    if (greeting->state != DIALING)
        greeting_extend(greeting);
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
    greeting->begun_ns = clock_now_ns();
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

enum hoop_status
greeting_take_tls(struct greeting *greeting, struct tls **out_tls)
{
    if (greeting->tls) {
        const enum hoop_status status = tls_stream(greeting->tls);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    *out_tls = STEAL(greeting->tls);
    return HOOP_OK;
}

struct segment *
greeting_take_segment(struct greeting *greeting)
{
    return STEAL(greeting->sharing.segment);
}
