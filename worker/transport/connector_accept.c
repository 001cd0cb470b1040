/*
 * transport/connector_accept.c - who may wait for the end of the handshake
 *
 * Anybody can open connections, so few of them may wait. Who has said which
 * rank it is waits apart from who has not: the second kind only makes room for
 * its like. Within a kind it is the address with the most connections that
 * gives one up, and which of them is drawn by lot: were it always the oldest,
 * strangers who come faster than a round trip would end all others.
 *
 * One descriptor is kept in reserve. Where there is no other left, the next
 * connection is accepted with it, and a peer is told that, and why, instead of
 * waiting for an answer in vain.
 */

#include <assert.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "net/descriptor.h"
#include "net/socket.h"
#include "transport/connector_state.h"

enum {
    ACCEPTS_PER_EVENT = 32,
    /* Without a descriptor to accept with, until others are closed. */
    BREATHER_MS = 20,
    /* What a peer says first comes with its connection, or a little later. */
    MOMENT_MS = 20,
    /* Of the files that this process may open, its strangers have a quarter. */
    FILES_PART = 4,
    /* Of those, who has said nothing yet has at least a quarter. */
    UNKNOWN_PART = 4,
    CROWDS = 256,      /* of addresses; two of them may share one */
    NETWORK_BYTES = 8, /* of an IPv6 address: a /64 */
};

void
connector_turn_away(struct connector *connector,
                    struct greeting *greeting,
                    enum hoop_status status)
{
    char address[LIMIT_ADDRESS];

    address_format(&greeting->address, address);
    /* A peer whose dial came second ends it here: nothing to worry about. */
    const bool is_peers_choice = status == HOOP_E_UNAVAILABLE &&
                                 greeting->state != AWAIT_HELLO &&
                                 greeting->state != AWAIT_FIRST;
    /* Nor who wants to know whether anybody is here (net/path.h). */
    const bool is_probe = status == HOOP_E_UNAVAILABLE && !is_peers_choice &&
                          greeting->n_bytes == 0;
    log_at(is_peers_choice || is_probe ? LOG_DEBUG : LOG_WARNING, "peer",
           "refused a connection from %s: %s", address, error_text());
    connector_forget(connector, greeting);
}

/* Without its port; of IPv6 the network, whose every address one host can have. */
static unsigned
crowd_of(const struct greeting *greeting)
{
    const struct sockaddr_storage *storage = &greeting->address.storage;
    const bool is_ipv6 = storage->ss_family == AF_INET6;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)storage;
    const struct sockaddr_in *four = (const struct sockaddr_in *)storage;

    return (unsigned)(digest_bytes(is_ipv6 ? (const void *)&six->sin6_addr
                                           : (const void *)&four->sin_addr,
                                   is_ipv6 ? NETWORK_BYTES
                                           : sizeof(four->sin_addr)) %
                      CROWDS);
}

static uint64_t
lot(uint64_t n)
{
    uint64_t number = 0;

    (void)random_fill(&number, sizeof(number));
    return number % n;
}

/* Of those who came, or of those who have come a moment ago at the latest. */
struct kind {
    bool is_known;
    uint64_t until_ns;
};

static bool
is_of_kind(const struct greeting *greeting, const struct kind *kind)
{
    return !greeting_is_dialer(greeting) &&
           greeting_is_known(greeting) == kind->is_known &&
           greeting->begun_ns <= kind->until_ns;
}

/* One of a kind, of the address that has the most of it. NULL: there is none. */
static struct greeting *
greeting_draw(struct connector *connector, const struct kind *kind)
{
    unsigned counts[CROWDS] = {0};
    unsigned largest = 0;
    struct greeting *greeting;

    TAILQ_FOREACH(greeting, &connector->greetings, link)
    {
        if (is_of_kind(greeting, kind))
            counts[crowd_of(greeting)]++;
    }
    for (unsigned i = 1; i < CROWDS; i++) {
        if (counts[i] > counts[largest])
            largest = i;
    }
    uint64_t n_before = counts[largest] > 0 ? lot(counts[largest]) : 0;
    TAILQ_FOREACH(greeting, &connector->greetings, link)
    {
        if (is_of_kind(greeting, kind) && crowd_of(greeting) == largest &&
            n_before-- == 0)
            break;
    }
    return greeting;
}

static unsigned
count_known(const struct connector *connector)
{
    const struct kind known = {true, CLOCK_NEVER};
    const struct greeting *greeting;
    unsigned n = 0;

    TAILQ_FOREACH(greeting, &connector->greetings, link)
    n += is_of_kind(greeting, &known);
    return n;
}

static void
greeting_evict(struct connector *connector, struct greeting *greeting)
{
    connector_turn_away(
        connector, greeting,
        error_raise(HOOP_E_EXHAUSTED,
                    "more than %u connections wait for their handshake",
                    connector->n_accepted_max));
}

bool
connector_evict(struct connector *connector)
{
    const struct kind silent = {false,
                                clock_now_ns() - MOMENT_MS * CLOCK_NS_PER_MS};
    struct greeting *greeting = greeting_draw(connector, &silent);

    if (greeting)
        greeting_evict(connector, greeting);
    return greeting;
}

/* Room for a newcomer, who has not said anything yet. */
static void
make_room(struct connector *connector)
{
    const unsigned n_max = connector->n_accepted_max;

    if (connector->n_accepted < n_max)
        return;
    const struct kind kind = {
        .is_known = count_known(connector) > n_max - n_max / UNKNOWN_PART,
        .until_ns = CLOCK_NEVER,
    };
    struct greeting *greeting = greeting_draw(connector, &kind);

    assert(greeting);
    greeting_evict(connector, greeting);
}

bool
connector_refill(struct connector *connector)
{
    if (connector->reserve_fd >= 0 || connector->options.listen_fd < 0)
        return true;
    connector->reserve_fd = eventfd(0, EFD_CLOEXEC);
    descriptor_track(connector->reserve_fd);
    return connector->reserve_fd >= 0;
}

/* With the descriptor that was kept for that; the error is another's. */
static enum hoop_status
accept_with_reserve(struct connector *connector,
                    int *out_fd,
                    struct address *out_address)
{
    char text[LIMIT_NAME];

    snprintf(text, sizeof(text), "%s", error_text());
    descriptor_close(connector->reserve_fd);
    connector->reserve_fd = -1;
    const enum hoop_status status =
        socket_accept(connector->options.listen_fd, out_fd, out_address);

    if (status == HOOP_OK)
        return HOOP_OK;
    (void)connector_refill(connector);
    return status == HOOP_E_PENDING ? status
                                    : error_raise(HOOP_E_EXHAUSTED, "%s", text);
}

/* The next in the queue. shortage is what there is no more of, or "". */
static enum hoop_status
accept_next(struct connector *connector,
            int *out_fd,
            struct address *out_address,
            char shortage[HANDSHAKE_OFFER])
{
    const int listen_fd = connector->options.listen_fd;

    shortage[0] = '\0';
    enum hoop_status status = socket_accept(listen_fd, out_fd, out_address);
    if (status != HOOP_E_EXHAUSTED)
        return status;
    /* The kernel looks for a descriptor first, and for a connection then. */
    if (poll(&(struct pollfd){.fd = listen_fd, .events = POLLIN}, 1, 0) == 0)
        return HOOP_E_PENDING;
    const char *why = strstr(error_text(), ": ");
    snprintf(shortage, HANDSHAKE_OFFER, "%s", why ? why + 2 : error_text());
    if (connector_evict(connector))
        status = socket_accept(listen_fd, out_fd, out_address);
    if (status != HOOP_E_EXHAUSTED || connector->reserve_fd < 0)
        return status;
    return accept_with_reserve(connector, out_fd, out_address);
}

static enum hoop_status
accept_one(struct connector *connector)
{
    char shortage[HANDSHAKE_OFFER];
    struct address address;
    int fd = -1;

    enum hoop_status status = accept_next(connector, &fd, &address, shortage);
    if (status != HOOP_OK)
        return status;
    make_room(connector);
    status = connector_greet(connector, fd, &address, NULL);
    if (status != HOOP_OK)
        return error_pass(status);
    struct greeting *greeting =
        TAILQ_LAST(&connector->greetings, greeting_list);
    memcpy(greeting->shortage, shortage, HANDSHAKE_OFFER);
    return HOOP_OK;
}

static void
accept_ready(void *owner, enum loop_interest ready)
{
    struct connector *connector = owner;

    (void)ready;
    for (unsigned i = 0; i < ACCEPTS_PER_EVENT; i++) {
        const enum hoop_status status = accept_one(connector);

        if (status == HOOP_E_PENDING)
            return;
        if (status != HOOP_OK) {
            log_at(connector->is_starved ? LOG_DEBUG : LOG_WARNING, "peer",
                   "cannot accept: %s", error_text());
            connector->is_starved = true;
            loop_watch_set(connector->listener, LOOP_NOTHING);
            loop_timer_start(connector->breather, BREATHER_MS);
            return;
        }
        connector->is_starved = false;
    }
}

static void
breather_over(void *owner)
{
    struct connector *connector = owner;

    (void)connector_refill(connector);
    loop_watch_set(connector->listener, LOOP_READ);
}

/* A part of what this process may open, so that its strangers do not keep it
 * from opening files of its own. */
static unsigned
count_max(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0 ||
        files.rlim_cur / FILES_PART > LIMIT_GREETINGS)
        return LIMIT_GREETINGS;
    return files.rlim_cur / FILES_PART < UNKNOWN_PART
               ? UNKNOWN_PART
               : (unsigned)files.rlim_cur / FILES_PART;
}

enum hoop_status
connector_listen(struct connector *connector)
{
    const struct connector_options *options = &connector->options;

    connector->n_accepted_max = count_max();
    enum hoop_status status = loop_timer_create(
        options->loop, breather_over, connector, &connector->breather);
    if (status == HOOP_OK)
        status =
            loop_watch_create(options->loop, options->listen_fd, accept_ready,
                              connector, &connector->listener);
    if (status != HOOP_OK)
        return error_pass(status);
    (void)connector_refill(connector);
    loop_watch_set(connector->listener, LOOP_READ);
    return HOOP_OK;
}
