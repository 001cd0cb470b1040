/*
 * transport/connector.c - dials peers and accepts them, on the control loop
 *
 * A greeting is a connection whose handshake is under way: one fixed message
 * is read or written at a time.
 *
 *   dialer     DIALING -> SEND_HELLO -> AWAIT_CHALLENGE -> SEND_PROOF
 *                -> AWAIT_WELCOME -> handed over
 *   acceptor   AWAIT_HELLO -> SEND_CHALLENGE -> AWAIT_PROOF -> SEND_WELCOME
 *                -> handed over
 */

#include "transport/connector.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "net/socket.h"
#include "transport/handshake.h"

enum {
    RETRY_FIRST_MS = 20,
    RETRY_MAX_MS = 500,
    /* A refused connection means that nobody listens any more: the listener
     * stood before the roster did. Tried again only for the network's sake. */
    REFUSED_FOR_MS = 500,
    /* Silence may be a busy network. */
    SILENT_FOR_MS = 10000,
    ACCEPTS_PER_EVENT = 32,
};

enum greeting_state {
    DIALING,
    SEND_HELLO,
    AWAIT_CHALLENGE,
    SEND_PROOF,
    AWAIT_WELCOME,
    AWAIT_HELLO,
    SEND_CHALLENGE,
    AWAIT_PROOF,
    SEND_WELCOME,
};

struct greeting {
    TAILQ_ENTRY(greeting) link;
    struct connector *connector;
    enum greeting_state state;
    enum handshake_answer answer; /* acceptor: what it will say */
    bool is_doomed;               /* close after what is being sent */
    int fd;
    struct loop_watch *watch;
    struct loop_timer *timer;
    struct address address; /* of the stranger, for the log */
    struct handshake handshake;
    size_t n_bytes; /* of message, read or written */
    uint8_t message[HANDSHAKE_BYTES];
};

TAILQ_HEAD(greeting_list, greeting);

/*
 * IDLE -> WANTED <-> DIALED -> CONNECTED
 *   \________\_________\_____> UNREACHABLE
 *
 * WANTED: between two tries, or the peer's own dial is awaited.
 */
enum link_state {
    LINK_IDLE,
    LINK_WANTED,
    LINK_DIALED,
    LINK_CONNECTED,
    LINK_UNREACHABLE,
};

struct link {
    struct connector *connector;
    uint32_t rank;
    enum link_state state;
    struct greeting *dial;
    struct loop_timer *retry;
    uint64_t refused_until_ns;
    uint64_t silent_until_ns;
    uint64_t retry_ms;
};

struct connector {
    struct connector_options options;
    struct handshake_key key;
    struct loop_watch *listener;
    struct greeting_list greetings; /* oldest first */
    unsigned n_accepted;            /* of them, strangers */
    struct link *links;             /* [rank] */
};

static void
link_try(void *owner);

static bool
is_dialer(const struct greeting *greeting)
{
    return greeting->state <= AWAIT_WELCOME;
}

static void
greeting_destroy(struct greeting *greeting)
{
    struct connector *connector = greeting->connector;

    struct link *link = &connector->links[greeting->handshake.peer];

    TAILQ_REMOVE(&connector->greetings, greeting, link);
    if (!is_dialer(greeting))
        connector->n_accepted--;
    if (link->dial == greeting)
        link->dial = NULL;
    loop_watch_destroy(greeting->watch);
    loop_timer_destroy(greeting->timer);
    socket_close(greeting->fd);
    free(greeting);
}

static void
link_fail(struct link *link, const char *why)
{
    const struct connector_options *options = &link->connector->options;

    if (link->state == LINK_CONNECTED || link->state == LINK_UNREACHABLE)
        return;
    link->state = LINK_UNREACHABLE;
    options->on_unreachable(options->owner, link->rank, why);
}

/* The dial came to nothing: again, until it has lasted too long. */
static void
link_retry(struct link *link, enum hoop_status status)
{
    const uint64_t until_ns = status == HOOP_E_UNAVAILABLE
                                  ? link->refused_until_ns
                                  : link->silent_until_ns;

    if (link->state == LINK_CONNECTED || link->state == LINK_UNREACHABLE)
        return;
    if (clock_is_past(until_ns)) {
        link_fail(link, error_text());
        return;
    }
    link->state = LINK_WANTED;
    loop_timer_start(link->retry, link->retry_ms);
    link->retry_ms *= 2;
    if (link->retry_ms > RETRY_MAX_MS)
        link->retry_ms = RETRY_MAX_MS;
}

/* What went wrong is this thread's last error. */
static void
greeting_fail(struct greeting *greeting, enum hoop_status status)
{
    char address[LIMIT_ADDRESS];

    if (is_dialer(greeting)) {
        struct link *link =
            &greeting->connector->links[greeting->handshake.peer];

        log_debug("peer", "dialing rank %u: %s", link->rank, error_text());
        greeting_destroy(greeting);
        /* Only the network deserves another try. */
        if (status == HOOP_E_UNAVAILABLE || status == HOOP_E_TIMEOUT)
            link_retry(link, status);
        else
            link_fail(link, error_text());
        return;
    }
    address_format(&greeting->address, address);
    log_warning("peer", "refused a connection from %s: %s", address,
                error_text());
    greeting_destroy(greeting);
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

static bool
is_on_this_host(const struct roster *roster, uint32_t rank)
{
    return strcmp(roster->members[rank].host_id,
                  roster->members[roster->rank].host_id) == 0;
}

/* Proven: the descriptor changes hands. */
static void
greeting_hand_over(struct greeting *greeting)
{
    struct connector *connector = greeting->connector;
    struct link *link = &connector->links[greeting->handshake.peer];
    const int fd = greeting->fd;

    greeting->fd = -1;
    greeting_destroy(greeting);
    if (link->dial)
        greeting_destroy(link->dial);
    loop_timer_stop(link->retry);
    link->state = LINK_CONNECTED;
    if (is_on_this_host(connector->options.roster, link->rank))
        socket_set_local(fd);
    connector->options.on_connected(connector->options.owner, link->rank, fd);
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

/* May the verified stranger be this rank's connection to it? */
static enum handshake_answer
judge(const struct connector *connector, uint32_t peer)
{
    const struct link *link = &connector->links[peer];

    if (link->state == LINK_UNREACHABLE)
        return HANDSHAKE_REFUSED;
    if (link->state == LINK_CONNECTED)
        return HANDSHAKE_DUPLICATE;
    if (link->state == LINK_DIALED && connector->options.roster->rank < peer)
        return HANDSHAKE_DUPLICATE;
    return HANDSHAKE_WELCOME;
}

static void
take_hello(struct greeting *greeting)
{
    uint8_t challenge[HANDSHAKE_BYTES];
    const enum hoop_status status =
        handshake_challenge(&greeting->handshake, greeting->message, challenge);

    if (status == HOOP_E_PRECONDITION) {
        /* It learns our version and epoch; the log has the reason. */
        log_warning("peer", "refused a connection: %s", error_text());
        greeting->is_doomed = true;
    } else if (status != HOOP_OK) {
        greeting_fail(greeting, status);
        return;
    }
    memcpy(greeting->message, challenge, HANDSHAKE_BYTES);
    greeting_send(greeting, SEND_CHALLENGE);
}

static void
take_challenge(struct greeting *greeting)
{
    uint8_t proof[HANDSHAKE_BYTES];
    const enum hoop_status status =
        handshake_prove(&greeting->handshake, greeting->message, proof);

    if (status != HOOP_OK) {
        greeting_fail(greeting, status);
        return;
    }
    memcpy(greeting->message, proof, HANDSHAKE_BYTES);
    greeting_send(greeting, SEND_PROOF);
}

static void
take_proof(struct greeting *greeting)
{
    enum hoop_status status =
        handshake_verify(&greeting->handshake, greeting->message);

    if (status == HOOP_OK) {
        greeting->answer = judge(greeting->connector, greeting->handshake.peer);
        greeting->is_doomed = greeting->answer != HANDSHAKE_WELCOME;
        status = handshake_answer(&greeting->handshake, greeting->answer,
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
    struct link *link = &greeting->connector->links[greeting->handshake.peer];
    enum handshake_answer answer = HANDSHAKE_REFUSED;
    const enum hoop_status status =
        handshake_finish(&greeting->handshake, greeting->message, &answer);

    if (status != HOOP_OK) {
        greeting_fail(greeting, status);
        return;
    }
    switch (answer) {
    case HANDSHAKE_WELCOME:
        greeting_hand_over(greeting);
        return;
    case HANDSHAKE_DUPLICATE:
        /* Its own dial is on the way; if that fails, we try again. */
        greeting_destroy(greeting);
        error_raise(HOOP_E_TIMEOUT, "its own connection did not come");
        link_retry(link, HOOP_E_TIMEOUT);
        return;
    case HANDSHAKE_REFUSED:
        greeting_fail(greeting, error_raise(HOOP_E_PRECONDITION,
                                            "rank %u takes this rank for dead",
                                            link->rank));
        return;
    }
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
        if (greeting->is_doomed)
            greeting_destroy(greeting);
        else
            greeting_await(greeting, AWAIT_PROOF);
        return;
    case AWAIT_PROOF:
        take_proof(greeting);
        return;
    case SEND_WELCOME:
        if (greeting->is_doomed)
            greeting_destroy(greeting);
        else
            greeting_hand_over(greeting);
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

/* Takes fd, also on failure. */
static enum hoop_status
greeting_create(struct connector *connector,
                int fd,
                enum greeting_state state,
                struct greeting **out_greeting)
{
    struct greeting *greeting = calloc(1, sizeof(*greeting));

    if (!greeting) {
        socket_close(fd);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a connection");
    }
    greeting->connector = connector;
    greeting->fd = fd;
    greeting->state = state;
    greeting->handshake.key = &connector->key;
    greeting->handshake.roster = connector->options.roster;
    TAILQ_INSERT_TAIL(&connector->greetings, greeting, link);
    if (!is_dialer(greeting))
        connector->n_accepted++;

    enum hoop_status status =
        loop_watch_create(connector->options.loop, fd, greeting_ready, greeting,
                          &greeting->watch);
    if (status == HOOP_OK)
        status = loop_timer_create(connector->options.loop, greeting_expired,
                                   greeting, &greeting->timer);
    if (status != HOOP_OK) {
        greeting_destroy(greeting);
        return error_pass(status);
    }
    loop_timer_start(greeting->timer, LIMIT_GREETING_MS);
    *out_greeting = greeting;
    return HOOP_OK;
}

static void
link_try(void *owner)
{
    struct link *link = owner;
    struct connector *connector = link->connector;
    const struct member *member =
        &connector->options.roster->members[link->rank];
    int fd = -1;

    if (link->state != LINK_WANTED)
        return;
    enum hoop_status status = socket_connect(&member->address, &fd);
    if (status == HOOP_OK)
        status = greeting_create(connector, fd, DIALING, &link->dial);
    if (status != HOOP_OK) {
        link_retry(link, status);
        return;
    }
    link->state = LINK_DIALED;
    link->dial->address = member->address;
    link->dial->handshake.peer = link->rank;
    loop_watch_set(link->dial->watch, LOOP_WRITE);
}

static void
link_want(void *owner)
{
    struct link *link = owner;

    if (link->state != LINK_IDLE)
        return;
    link->state = LINK_WANTED;
    link->retry_ms = RETRY_FIRST_MS;
    link->refused_until_ns = clock_deadline_ns(REFUSED_FOR_MS);
    link->silent_until_ns = clock_deadline_ns(SILENT_FOR_MS);
    link_try(link);
}

void
connector_dial(struct connector *connector, uint32_t rank)
{
    struct link *link = &connector->links[rank];

    if (loop_post(connector->options.loop, link_want, link) != HOOP_OK)
        connector->options.on_unreachable(connector->options.owner, rank,
                                          error_text());
}

/* Room for a newcomer: the oldest stranger has had its time. */
static void
make_room(struct connector *connector)
{
    struct greeting *greeting;

    if (connector->n_accepted < LIMIT_GREETINGS)
        return;
    TAILQ_FOREACH(greeting, &connector->greetings, link)
    {
        if (!is_dialer(greeting))
            break;
    }
    assert(greeting);
    greeting_fail(greeting,
                  error_raise(HOOP_E_EXHAUSTED,
                              "more than %d connections wait for their "
                              "handshake",
                              LIMIT_GREETINGS));
}

static void
accept_ready(void *owner, enum loop_interest ready)
{
    struct connector *connector = owner;

    (void)ready;
    for (unsigned i = 0; i < ACCEPTS_PER_EVENT; i++) {
        struct greeting *greeting = NULL;
        struct address address;
        int fd = -1;

        enum hoop_status status =
            socket_accept(connector->options.listen_fd, &fd, &address);
        if (status == HOOP_E_PENDING)
            return;
        if (status == HOOP_OK) {
            make_room(connector);
            status = greeting_create(connector, fd, AWAIT_HELLO, &greeting);
        }
        if (status != HOOP_OK) {
            log_warning("peer", "cannot accept: %s", error_text());
            return;
        }
        greeting->address = address;
        loop_watch_set(greeting->watch, LOOP_READ);
    }
}

static enum hoop_status
links_create(struct connector *connector)
{
    const uint32_t size = connector->options.roster->size;

    connector->links = calloc(size, sizeof(*connector->links));
    if (!connector->links)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u peers", size);
    for (uint32_t rank = 0; rank < size; rank++) {
        struct link *link = &connector->links[rank];

        link->connector = connector;
        link->rank = rank;
        const enum hoop_status status = loop_timer_create(
            connector->options.loop, link_try, link, &link->retry);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
connector_create(const struct connector_options *options,
                 struct connector **out_connector)
{
    struct connector *connector = calloc(1, sizeof(*connector));

    if (!connector)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the connector");
    connector->options = *options;
    connector->options.token = NULL;
    TAILQ_INIT(&connector->greetings);
    enum hoop_status status =
        handshake_key_init(&connector->key, options->token, options->roster);
    if (status == HOOP_OK)
        status = links_create(connector);
    if (status == HOOP_OK && options->listen_fd >= 0) {
        status =
            loop_watch_create(options->loop, options->listen_fd, accept_ready,
                              connector, &connector->listener);
        if (status == HOOP_OK)
            loop_watch_set(connector->listener, LOOP_READ);
    }
    if (status != HOOP_OK) {
        connector_destroy(connector);
        return error_pass(status);
    }
    *out_connector = connector;
    return HOOP_OK;
}

void
connector_destroy(struct connector *connector)
{
    struct greeting *greeting;

    if (!connector)
        return;
    while ((greeting = TAILQ_FIRST(&connector->greetings)))
        greeting_destroy(greeting);
    loop_watch_destroy(connector->listener);
    for (uint32_t rank = 0;
         connector->links && rank < connector->options.roster->size; rank++)
        loop_timer_destroy(connector->links[rank].retry);
    free(connector->links);
    memset(&connector->key, 0, sizeof(connector->key));
    free(connector);
}
