/*
 * transport/connect/connector_accept.c - which connections may wait for their
 * handshake
 *
 * Anybody can open connections, so only few may wait. A connection that has
 * said which rank it is belongs to another kind than one that has not. A
 * newcomer takes the place of one that has not, unless those that have fill
 * more than their share. Within a kind, the address with the most connections
 * gives one up, chosen at random. If it were always the oldest, strangers that
 * come faster than a round trip would end all others.
 *
 * One descriptor is kept in reserve. If no other is left, the next connection
 * is accepted with it, so that a peer is told what is lacking instead of
 * waiting for an answer in vain.
 *
 * The end of the file has the connections beside the first to a peer.
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
#include "net/socket.h"
#include "net/wakeup.h"
#include "transport/connect/connector_state.h"

enum {
    ACCEPTS_PER_EVENT = 32,
    /* How long to wait, without a descriptor, until others may be closed. */
    ACCEPT_PAUSE_MS = 20,
    /* The first message of a peer comes with its connection, or at most this
     * much later. */
    HANDSHAKE_GRACE_MS = 20,
    /* Strangers may have one in so many of the files that this process may
     * open. */
    HANDSHAKES_FD_DIVISOR = 4,
    /* One in so many of those is kept for connections that have said nothing
     * yet. */
    UNIDENTIFIED_RESERVE_DIVISOR = 4,
    ADDRESS_HASH_BUCKETS =
        256, /* number of address hashes; two addresses may share one */
    NETWORK_BYTES = 8, /* of an IPv6 address: a /64 network */
};

void
connector_reject_handshake(struct connector *connector,
                           struct handshaker *handshaker,
                           enum hoop_status status)
{
    char address[LIMIT_ADDRESS];

    address_format(&handshaker->address, address);
    /* A peer whose dial came second ends it here, which is normal. */
    const bool is_peers_choice = status == HOOP_E_UNAVAILABLE &&
                                 handshaker->state != HANDSHAKER_AWAIT_HELLO &&
                                 handshaker->state != HANDSHAKER_AWAIT_FIRST;
    /* So is a connection that only asks whether anybody is here
     * (net/path.h). */
    const bool is_probe = status == HOOP_E_UNAVAILABLE && !is_peers_choice &&
                          handshaker->n_bytes == 0;
    log_at(is_peers_choice || is_probe ? LOG_DEBUG : LOG_WARNING, "peer",
           "refused a connection from %s: %s", address, error_text());
    connector_drop_handshaker(connector, handshaker);
}

/* Hashes the address without its port; of IPv6 the network, since one host can
 * have every address of it. */
static unsigned
source_address_bucket(const struct handshaker *handshaker)
{
    const struct sockaddr_storage *storage = &handshaker->address.storage;
    const bool is_ipv6 = storage->ss_family == AF_INET6;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)storage;
    const struct sockaddr_in *four = (const struct sockaddr_in *)storage;

    return (unsigned)(digest_bytes(is_ipv6 ? (const void *)&six->sin6_addr
                                           : (const void *)&four->sin_addr,
                                   is_ipv6 ? NETWORK_BYTES
                                           : sizeof(four->sin_addr)) %
                      ADDRESS_HASH_BUCKETS);
}

static uint64_t
random_below(uint64_t n)
{
    uint64_t number = 0;

    (void)random_fill(&number, sizeof(number));
    return number % n;
}

/* Connections that have, or have not, said who they are, and that began no
 * later than until_ns. */
struct kind {
    bool is_known;
    uint64_t until_ns;
};

static bool
handshaker_is_of_kind(const struct handshaker *handshaker,
                      const struct kind *kind)
{
    return !handshaker_is_dialer(handshaker) &&
           handshaker_is_identified(handshaker) == kind->is_known &&
           handshaker->begun_ns <= kind->until_ns;
}

/* Returns a random connection of kind from the address that has the most of
 * them, or NULL if there is none. */
static struct handshaker *
handshaker_pick_victim(struct connector *connector, const struct kind *kind)
{
    unsigned counts[ADDRESS_HASH_BUCKETS] = {0};
    unsigned largest = 0;
    struct handshaker *handshaker;

    TAILQ_FOREACH(handshaker, &connector->handshakers, link)
    {
        if (handshaker_is_of_kind(handshaker, kind))
            counts[source_address_bucket(handshaker)]++;
    }
    for (unsigned i = 1; i < ADDRESS_HASH_BUCKETS; i++) {
        if (counts[i] > counts[largest])
            largest = i;
    }
    uint64_t n_before = counts[largest] > 0 ? random_below(counts[largest]) : 0;
    TAILQ_FOREACH(handshaker, &connector->handshakers, link)
    {
        if (handshaker_is_of_kind(handshaker, kind) &&
            source_address_bucket(handshaker) == largest && n_before-- == 0)
            break;
    }
    return handshaker;
}

static unsigned
count_identified(const struct connector *connector)
{
    const struct kind known = {true, CLOCK_NEVER};
    const struct handshaker *handshaker;
    unsigned n = 0;

    TAILQ_FOREACH(handshaker, &connector->handshakers, link)
    n += handshaker_is_of_kind(handshaker, &known);
    return n;
}

static void
handshaker_evict(struct connector *connector, struct handshaker *handshaker)
{
    connector_reject_handshake(
        connector, handshaker,
        error_raise(HOOP_E_EXHAUSTED,
                    "more than %u connections wait for their handshake",
                    connector->n_accepted_handshakes_max));
}

bool
connector_evict_silent(struct connector *connector)
{
    const struct kind silent = {false, clock_now_ns() - HANDSHAKE_GRACE_MS *
                                                            CLOCK_NS_PER_MS};
    struct handshaker *handshaker = handshaker_pick_victim(connector, &silent);

    if (handshaker)
        handshaker_evict(connector, handshaker);
    return handshaker;
}

/* Make room for a newcomer, which has not said anything yet. */
static void
evict_handshake_if_full(struct connector *connector)
{
    const unsigned n_max = connector->n_accepted_handshakes_max;

    if (connector->n_accepted < n_max)
        return;
    const struct kind kind = {
        .is_known = count_identified(connector) >
                    n_max - n_max / UNIDENTIFIED_RESERVE_DIVISOR,
        .until_ns = CLOCK_NEVER,
    };
    struct handshaker *handshaker = handshaker_pick_victim(connector, &kind);

    assert(handshaker);
    handshaker_evict(connector, handshaker);
}

bool
connector_refill_reserve(struct connector *connector)
{
    if (connector->reserve_fd >= 0 || connector->options.listen_fd < 0)
        return true;
    connector->reserve_fd = eventfd(0, EFD_CLOEXEC);
    descriptor_track(connector->reserve_fd);
    return connector->reserve_fd >= 0;
}

/* Accept with the reserve descriptor. If that fails, the error is the one that
 * the thread already had. */
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
    (void)connector_refill_reserve(connector);
    return status == HOOP_E_PENDING ? status
                                    : error_raise(HOOP_E_EXHAUSTED, "%s", text);
}

/* Accept the next connection in the queue. shortage says what this process has
 * run out of, or "". */
static enum hoop_status
accept_next_connection(struct connector *connector,
                       int *out_fd,
                       struct address *out_address,
                       char shortage[HANDSHAKE_OFFER_BYTES])
{
    const int listen_fd = connector->options.listen_fd;

    shortage[0] = '\0';
    enum hoop_status status = socket_accept(listen_fd, out_fd, out_address);
    if (status != HOOP_E_EXHAUSTED)
        return status;
    /* The kernel looks for a descriptor before it looks for a connection. */
    if (poll(&(struct pollfd){.fd = listen_fd, .events = POLLIN}, 1, 0) == 0)
        return HOOP_E_PENDING;
    const char *why = strstr(error_text(), ": ");
    snprintf(shortage, HANDSHAKE_OFFER_BYTES, "%s",
             why ? why + 2 : error_text());
    if (connector_evict_silent(connector))
        status = socket_accept(listen_fd, out_fd, out_address);
    if (status != HOOP_E_EXHAUSTED || connector->reserve_fd < 0)
        return status;
    return accept_with_reserve(connector, out_fd, out_address);
}

static enum hoop_status
accept_and_start_handshake(struct connector *connector)
{
    char shortage[HANDSHAKE_OFFER_BYTES];
    struct address address;
    int fd = -1;

    enum hoop_status status =
        accept_next_connection(connector, &fd, &address, shortage);
    if (status != HOOP_OK)
        return status;
    evict_handshake_if_full(connector);
    status = connector_start_handshake(connector, fd, &address, NULL);
    if (status != HOOP_OK)
        return error_pass(status);
    struct handshaker *handshaker =
        TAILQ_LAST(&connector->handshakers, handshaker_list);
    memcpy(handshaker->shortage, shortage, HANDSHAKE_OFFER_BYTES);
    return HOOP_OK;
}

static void
on_accept_ready(void *owner, enum loop_interest ready)
{
    struct connector *connector = owner;

    (void)ready;
    for (unsigned i = 0; i < ACCEPTS_PER_EVENT; i++) {
        const enum hoop_status status = accept_and_start_handshake(connector);

        if (status == HOOP_E_PENDING)
            return;
        if (status != HOOP_OK) {
            log_at(connector->has_accept_failed ? LOG_DEBUG : LOG_WARNING,
                   "peer", "cannot accept: %s", error_text());
            connector->has_accept_failed = true;
            loop_watch_set(connector->listener, LOOP_NOTHING);
            loop_timer_start(connector->accept_pause, ACCEPT_PAUSE_MS);
            return;
        }
        connector->has_accept_failed = false;
    }
}

static void
on_accept_pause_over(void *owner)
{
    struct connector *connector = owner;

    (void)connector_refill_reserve(connector);
    loop_watch_set(connector->listener, LOOP_READ);
}

/* Returns a part of the files that this process may open, so that strangers do
 * not keep it from opening files of its own. */
static unsigned
accepted_handshakes_max(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0 ||
        files.rlim_cur / HANDSHAKES_FD_DIVISOR > LIMIT_HANDSHAKES)
        return LIMIT_HANDSHAKES;
    return files.rlim_cur / HANDSHAKES_FD_DIVISOR < UNIDENTIFIED_RESERVE_DIVISOR
               ? UNIDENTIFIED_RESERVE_DIVISOR
               : (unsigned)files.rlim_cur / HANDSHAKES_FD_DIVISOR;
}

enum hoop_status
connector_listen(struct connector *connector)
{
    const struct connector_options *options = &connector->options;

    connector->n_accepted_handshakes_max = accepted_handshakes_max();
    enum hoop_status status =
        loop_timer_create(options->loop, on_accept_pause_over, connector,
                          &connector->accept_pause);
    if (status == HOOP_OK)
        status =
            loop_watch_create(options->loop, options->listen_fd,
                              on_accept_ready, connector, &connector->listener);
    if (status != HOOP_OK)
        return error_pass(status);
    (void)connector_refill_reserve(connector);
    loop_watch_set(connector->listener, LOOP_READ);
    return HOOP_OK;
}

/*
 * Connections beside the first to a peer.
 *
 * The lower rank dials them, and tries again for a while if the network
 * fails. A stream that cannot be had is done without.
 */

enum {
    /* The delay doubles up to the last value: less than a second in all. */
    RETRY_FIRST_MS = 20,
    STREAM_RETRY_MAX_MS = 320,
};

enum handshake_answer
connector_stream_choose_answer(const struct connector *connector,
                               const struct link *link,
                               const struct handshake *handshake)
{
    const bool is_wanted = connector->options.on_stream &&
                           handshake->peer < connector->options.roster->rank &&
                           !(link->streams & 1u << handshake->stream);

    return is_wanted ? HANDSHAKE_WELCOME : HANDSHAKE_REFUSED;
}

void
connector_stream_on_answer(struct connector *connector,
                           struct handshaker *handshaker)
{
    if (handshaker->answer == HANDSHAKE_WELCOME) {
        connector->links[handshaker->handshake.peer].streams |=
            1u << handshaker->handshake.stream;
        connector_hand_over_connection(connector, handshaker, NULL);
        return;
    }
    log_debug("peer", "rank %u wants no stream %u", handshaker->handshake.peer,
              handshaker->handshake.stream);
    connector_drop_handshaker(connector, handshaker);
}

static void
stream_dial(struct link *link, unsigned stream)
{
    struct connector *connector = link->connector;
    const struct member *member =
        &connector->options.roster->members[link->rank];
    struct handshaker *handshaker = NULL;
    int fd = -1;

    enum hoop_status status = socket_connect(&member->address, &fd);
    if (status == HOOP_OK)
        status = connector_start_handshake(connector, fd, &member->address,
                                           &handshaker);
    if (status != HOOP_OK) {
        log_debug("peer", "dialing rank %u: %s", link->rank, error_text());
        connector_stream_on_failed(link, stream, status);
        return;
    }
    handshaker->handshake.peer = link->rank;
    handshaker->handshake.stream = stream;
}

static void
streams_dial_wanted(void *owner)
{
    struct link *link = owner;
    const uint32_t wanted =
        atomic_exchange(&link->streams_wanted, 0) & ~link->streams;

    link->streams |= wanted;
    for (unsigned i = 1; i <= LIMIT_STREAMS; i++) {
        if (wanted & 1u << i)
            stream_dial(link, i);
    }
}

void
connector_stream_on_failed(struct link *link,
                           unsigned stream,
                           enum hoop_status status)
{
    /* Only failures of the network are worth another try. */
    if (status != HOOP_E_UNAVAILABLE && status != HOOP_E_TIMEOUT)
        return;
    if (link->stream_retry_ms == 0)
        link->stream_retry_ms = RETRY_FIRST_MS;
    if (link->stream_retry_ms > STREAM_RETRY_MAX_MS)
        return;
    link->streams &= ~(1u << stream);
    atomic_fetch_or(&link->streams_wanted, 1u << stream);
    loop_timer_start(link->retry, link->stream_retry_ms);
}

void
connector_stream_retry(struct link *link)
{
    link->stream_retry_ms *= 2;
    streams_dial_wanted(link);
}

void
connector_dial_stream(struct connector *connector,
                      uint32_t rank,
                      unsigned stream)
{
    struct link *link = &connector->links[rank];

    atomic_fetch_or(&link->streams_wanted, 1u << stream);
    (void)loop_post(connector->options.loop, streams_dial_wanted, link);
}
