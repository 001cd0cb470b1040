/*
 * transport/connect/connector.c - dials peers and accepts them, on the control
 * loop
 *
 * A link holds what is wanted of one rank. A handshaker
 * (transport/connect/handshaker.h) is one try at it, by a dial of ours or by a
 * stranger that connected.
 */

#include "transport/connect/connector.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "net/socket.h"
#include "net/wakeup.h"
#include "transport/connect/connector_state.h"
#include "transport/connect/dial_error.h"

enum {
    RETRY_FIRST_MS = 20,
    RETRY_MAX_MS = 500,
    /* A refused connection means that the peer has ended, since it listened
     * before the roster was made. It is tried again only in case the network
     * was at fault. */
    RETRY_REFUSED_DIAL_MS = 500,
    RETRY_BROKEN_TLS_MS = 2500, /* in addition to RETRY_REFUSED_DIAL_MS */
    FINISH_MS = 100,
};

static void
link_dial(void *owner);

static void
link_fail(struct link *link, const char *why)
{
    const struct connector_options *options = &link->connector->options;

    if (link->state == LINK_CONNECTED || link->state == LINK_UNREACHABLE)
        return;
    link->state = LINK_UNREACHABLE;
    options->on_unreachable(options->owner, link->rank, why);
}

void
connector_report_shortage(struct link *link,
                          const struct connector_shortage *shortage)
{
    const struct connector_options *options = &link->connector->options;

    if (link->state == LINK_CONNECTED || link->state == LINK_UNREACHABLE)
        return;
    link->state = LINK_IDLE;
    loop_timer_stop(link->retry);
    options->on_shortage(options->owner, shortage);
}

/* This rank has no descriptor or port for a connection to the rank of link, or
 * must not make one. The thread's last error says so. */
static void
link_report_own_shortage(struct link *link, enum hoop_status status)
{
    const char *why = strstr(error_text(), ": ");

    connector_report_shortage(link,
                              &(struct connector_shortage){
                                  .rank = link->rank,
                                  .of = link->connector->options.roster->rank,
                                  .status = status,
                                  .why = why ? why + 2 : error_text(),
                              });
}

/* The dial has failed: try again, unless until_ns has passed. */
static void
link_retry_until(struct link *link, uint64_t until_ns)
{
    if (link->state == LINK_CONNECTED || link->state == LINK_UNREACHABLE)
        return;
    if (clock_is_past(until_ns)) {
        link_fail(link, link->dial_broke_in_tls
                            ? "it ends connections during the TLS handshake; "
                              "is HOOP_TLS on there, too?"
                            : error_text());
        return;
    }
    link->state = LINK_WANTED;
    loop_timer_start(link->retry, link->retry_ms);
    link->retry_ms *= 2;
    if (link->retry_ms > RETRY_MAX_MS)
        link->retry_ms = RETRY_MAX_MS;
}

/* A peer whose TLS handshakes never succeed may have TLS switched off. Others
 * are dialed until until_ns. */
static void
link_retry_dial(struct link *link, uint64_t until_ns)
{
    const uint64_t in_tls_ns =
        link->refused_until_ns + RETRY_BROKEN_TLS_MS * CLOCK_NS_PER_MS;

    link_retry_until(link, link->dial_broke_in_tls ? in_tls_ns : until_ns);
}

/* A peer that refuses connections is gone. */
static void
link_retry_unanswered_dial(struct link *link, enum hoop_status status)
{
    link_retry_dial(link, status == HOOP_E_UNAVAILABLE ? link->refused_until_ns
                                                       : link->silent_until_ns);
}

/* A peer that listens and closes connections is alive, but others crowd its
 * port. */
static void
link_retry_answered_dial(struct link *link)
{
    const uint64_t forming_until_ns = link->connector->options.forming_until_ns;

    link_retry_dial(link, forming_until_ns > link->silent_until_ns
                              ? forming_until_ns
                              : link->silent_until_ns);
}

void
connector_drop_handshaker(struct connector *connector,
                          struct handshaker *handshaker)
{
    struct link *link = &connector->links[handshaker->handshake.peer];

    TAILQ_REMOVE(&connector->handshakers, handshaker, link);
    if (!handshaker_is_dialer(handshaker))
        connector->n_accepted--;
    if (link->dial == handshaker)
        link->dial = NULL;
    handshaker_destroy(handshaker);
    (void)connector_refill_reserve(connector);
}

/* Raise an error that says why there is no connection to the rank of link. */
static enum hoop_status
raise_dial_error(const struct link *link,
                 enum hoop_status status,
                 enum handshaker_state state)
{
    char why[LIMIT_ERROR_TEXT];

    snprintf(why, sizeof(why), "%s", error_text());
    return dial_error_raise(link->connector->options.roster,
                            &(struct dial_failure){
                                .rank = link->rank,
                                .status = status,
                                .why = why,
                                .was_connected = state != HANDSHAKER_DIALING,
                            });
}

static void
on_dial_failed(struct connector *connector,
               struct handshaker *handshaker,
               enum hoop_status status)
{
    struct link *link = &connector->links[handshaker->handshake.peer];

    if (status == HOOP_E_UNAVAILABLE || status == HOOP_E_TIMEOUT)
        (void)raise_dial_error(link, status, handshaker->state);
    const unsigned stream = handshaker->handshake.stream;
    /* After the proof, no other connection can displace this one, so an end
     * means something else. */
    const bool has_answered = handshaker->state == HANDSHAKER_SEND_HELLO ||
                              handshaker->state == HANDSHAKER_AWAIT_CHALLENGE;

    log_debug("peer", "dialing rank %u: %s", link->rank, error_text());
    link->dial_broke_in_tls |= handshaker->state == HANDSHAKER_CLIENT_TLS;
    connector_drop_handshaker(connector, handshaker);
    if (stream > 0) {
        connector_stream_on_failed(link, stream, status);
        return;
    }
    /* Only failures of the network are worth another try. */
    const bool is_of_network =
        status == HOOP_E_UNAVAILABLE || status == HOOP_E_TIMEOUT;
    if (is_of_network && has_answered)
        link_retry_answered_dial(link);
    else if (is_of_network)
        link_retry_unanswered_dial(link, status);
    else if (status == HOOP_E_EXHAUSTED || status == HOOP_E_DENIED)
        link_report_own_shortage(link, status);
    else
        link_fail(link, error_text());
}

static void
on_failed(void *owner, struct handshaker *handshaker, enum hoop_status status)
{
    struct connector *connector = owner;

    if (handshaker_is_dialer(handshaker))
        on_dial_failed(connector, handshaker, status);
    else
        connector_reject_handshake(connector, handshaker, status);
}

/* A connection was accepted with the last descriptor. Returns whether it may
 * stay. */
static bool
can_keep_last_fd_connection(struct connector *connector, struct link *link)
{
    /* If both ranks dial, one of the two connections suffices. */
    if (!connector_refill_reserve(connector) && link->dial) {
        connector_drop_handshaker(connector, link->dial);
        link->state = LINK_WANTED;
        loop_timer_start(link->retry, RETRY_FIRST_MS);
    }
    return connector_refill_reserve(connector);
}

/* Returns whether the verified stranger may be this rank's connection to it. */
static enum handshake_answer
on_handshake_peer_verified(void *owner, struct handshaker *handshaker)
{
    struct connector *connector = owner;
    const struct handshake *handshake = &handshaker->handshake;
    const uint32_t peer = handshake->peer;
    struct link *link = &connector->links[peer];

    if (link->state == LINK_UNREACHABLE)
        return HANDSHAKE_REFUSED;
    if (handshake->stream > 0)
        return connector_stream_choose_answer(connector, link, handshake);
    if (link->state == LINK_CONNECTED)
        return HANDSHAKE_DUPLICATE;
    if (link->state == LINK_DIALED && connector->options.roster->rank < peer)
        return HANDSHAKE_DUPLICATE;
    return handshaker->shortage[0] &&
                   !can_keep_last_fd_connection(connector, link)
               ? HANDSHAKE_EXHAUSTED
               : HANDSHAKE_WELCOME;
}

void
connector_hand_over_connection(struct connector *connector,
                               struct handshaker *handshaker,
                               struct segment *segment)
{
    const struct connector_options *options = &connector->options;
    const uint32_t rank = handshaker->handshake.peer;
    const unsigned stream = handshaker->handshake.stream;
    struct tls *tls = NULL;

    /* With shared memory only wake-ups follow, and they are not encrypted. */
    if (!segment && handshaker_take_tls(handshaker, &tls) != HOOP_OK) {
        if (stream == 0)
            connector->links[rank].state = LINK_WANTED;
        link_fail(&connector->links[rank], error_text());
        connector_drop_handshaker(connector, handshaker);
        return;
    }
    const int fd = handshaker_take_fd(handshaker);
    connector_drop_handshaker(connector, handshaker);
    socket_extend_user_timeout(fd);
    if (tls)
        options->on_encrypted(options->owner, rank, stream, fd, tls);
    else if (stream > 0)
        options->on_stream(options->owner, rank, stream, fd);
    else
        options->on_connected(options->owner, rank, fd, segment);
}

/* The peer is verified, but one of the two ranks has no descriptor for it. */
static void
report_peer_exhausted(struct link *link, const struct handshaker *handshaker)
{
    const bool is_dialer = handshaker_is_dialer(handshaker);
    char why[HANDSHAKE_OFFER_BYTES + 1];

    snprintf(why, sizeof(why), "%.*s", HANDSHAKE_OFFER_BYTES,
             (const char *)handshaker->handshake.offer);
    for (char *at = why; *at; at++) {
        if (*at < ' ' || *at > '~')
            *at = '?';
    }
    connector_report_shortage(
        link, &(struct connector_shortage){
                  .rank = link->rank,
                  .of = is_dialer ? link->rank
                                  : link->connector->options.roster->rank,
                  .status = HOOP_E_EXHAUSTED,
                  .why = why,
              });
}

/* The first connection to a verified peer is ready. */
static void
hand_over_first_stream(struct connector *connector,
                       struct handshaker *handshaker)
{
    struct link *link = &connector->links[handshaker->handshake.peer];
    struct segment *segment = handshaker_take_segment(handshaker);

    log_debug("peer", "rank %u: %s%s", link->rank,
              segment ? "shared memory"
                      : shm_negotiation_text(&handshaker->shm_negotiation),
              connector->tls_context ? ", under TLS" : "");
    if (link->dial && link->dial != handshaker)
        connector_drop_handshaker(connector, link->dial);
    loop_timer_stop(link->retry);
    link->state = LINK_CONNECTED;
    connector_hand_over_connection(connector, handshaker, segment);
}

/* One of the two ranks insists on shared memory, which they cannot have. */
static void
link_fail_no_shm(struct link *link, const struct handshaker *handshaker)
{
    const struct shm_negotiation *shm_negotiation =
        &handshaker->shm_negotiation;
    const bool is_dialer = handshaker_is_dialer(handshaker);
    char why[LIMIT_NAME];

    /* The dialer creates the memory, so it is the one that lacks it. */
    if (shm_negotiation->obstacle == SHM_OBSTACLE_NO_MEMORY) {
        connector_report_shortage(
            link,
            &(struct connector_shortage){
                .rank = link->rank,
                .of = is_dialer ? link->connector->options.roster->rank
                                : link->rank,
                .status = HOOP_E_EXHAUSTED,
                .why = is_dialer ? shm_negotiation->why
                                 : "HOOP_TRANSPORT=shm, and its host gives it "
                                   "no memory to share",
            });
        return;
    }
    snprintf(why, sizeof(why),
             "HOOP_TRANSPORT=shm, but ranks %u and %u share no memory: %s",
             link->connector->options.roster->rank, link->rank,
             shm_negotiation_text(shm_negotiation));
    link_fail(link, why);
}

static void
on_handshake_answered(void *owner, struct handshaker *handshaker)
{
    struct connector *connector = owner;
    struct link *link = &connector->links[handshaker->handshake.peer];
    const bool is_dialer = handshaker_is_dialer(handshaker);

    if (handshaker->handshake.stream > 0) {
        connector_stream_on_answer(connector, handshaker);
        return;
    }
    if (handshaker->answer == HANDSHAKE_WELCOME) {
        hand_over_first_stream(connector, handshaker);
        return;
    }
    if (handshaker->answer == HANDSHAKE_NO_SHM) {
        link_fail_no_shm(link, handshaker);
        connector_drop_handshaker(connector, handshaker);
        return;
    }
    if (handshaker->answer == HANDSHAKE_EXHAUSTED) {
        report_peer_exhausted(link, handshaker);
        connector_drop_handshaker(connector, handshaker);
        return;
    }
    const enum handshake_answer answer = handshaker->answer;
    connector_drop_handshaker(connector, handshaker);
    if (!is_dialer)
        return;
    if (answer == HANDSHAKE_REFUSED) {
        link_fail(link, "it has declared this rank dead");
        return;
    }
    /* The peer's own dial is under way. If it fails, this rank dials again. */
    (void)error_raise(HOOP_E_TIMEOUT, "its own connection did not come");
    link_retry_answered_dial(link);
}

enum hoop_status
connector_start_handshake(struct connector *connector,
                          int fd,
                          const struct address *address,
                          struct handshaker **out_handshaker)
{
    const struct handshaker content = {
        .loop = connector->options.loop,
        .fd = fd,
        .state = out_handshaker           ? HANDSHAKER_DIALING
                 : connector->tls_context ? HANDSHAKER_AWAIT_FIRST
                                          : HANDSHAKER_AWAIT_HELLO,
        .tls_context = connector->tls_context,
        .address = *address,
        .handshake = {.key = &connector->key,
                      .roster = connector->options.roster},
        .shm_negotiation = {.mode = connector->options.config->shm_negotiation},
        .until_ns = connector->options.forming_until_ns,
        .owner = connector,
        .on_handshake_peer_verified = on_handshake_peer_verified,
        .on_handshake_answered = on_handshake_answered,
        .on_failed = on_failed,
    };
    struct handshaker *handshaker = NULL;

    const enum hoop_status status = handshaker_create(&content, &handshaker);
    if (status != HOOP_OK)
        return error_pass(status);
    TAILQ_INSERT_TAIL(&connector->handshakers, handshaker, link);
    if (out_handshaker)
        *out_handshaker = handshaker;
    else
        connector->n_accepted++;
    return HOOP_OK;
}

/* Returns whether the peer's own dial has come and has said who it is. */
static bool
is_peer_dialing(const struct connector *connector, const struct link *link)
{
    const struct handshaker *handshaker;

    TAILQ_FOREACH(handshaker, &connector->handshakers, link)
    {
        if (!handshaker_is_dialer(handshaker) &&
            handshaker_is_identified(handshaker) &&
            handshaker->handshake.peer == link->rank)
            return true;
    }
    return false;
}

static void
link_dial(void *owner)
{
    struct link *link = owner;
    struct connector *connector = link->connector;
    const struct member *member =
        &connector->options.roster->members[link->rank];
    int fd = -1;

    if (link->state == LINK_CONNECTED)
        connector_stream_retry(link);
    if (link->state != LINK_WANTED)
        return;
    enum hoop_status status = socket_connect(&member->address, &fd);
    if (status == HOOP_E_EXHAUSTED && connector_evict_silent(connector))
        status = socket_connect(&member->address, &fd);
    if (status == HOOP_OK)
        status = connector_start_handshake(connector, fd, &member->address,
                                           &link->dial);
    if (status == HOOP_OK) {
        link->state = LINK_DIALED;
        link->dial->handshake.peer = link->rank;
    } else if (status == HOOP_E_UNAVAILABLE) {
        (void)raise_dial_error(link, status, HANDSHAKER_DIALING);
        link_retry_unanswered_dial(link, status);
    } else if (is_peer_dialing(connector, link)) {
        link_retry_unanswered_dial(link, status);
    } else {
        link_report_own_shortage(link, status);
    }
}

static uint64_t
began_ns(const struct link *link)
{
    return link->silent_until_ns - CONNECTOR_SILENT_MS * CLOCK_NS_PER_MS;
}

/* Returns the link that has been dialed for longest without an answer, or
 * NULL. */
static const struct link *
find_oldest_unanswered(const struct connector *connector)
{
    const struct link *oldest = NULL;

    for (uint32_t rank = 0; rank < connector->options.roster->size; rank++) {
        const struct link *link = &connector->links[rank];

        if (link->state == LINK_DIALED &&
            link->dial->state == HANDSHAKER_DIALING &&
            (!oldest || began_ns(link) < began_ns(oldest)))
            oldest = link;
    }
    return oldest;
}

/* Begin the notice about the wait for link. */
static void
dial_notice_begin(const struct link *link)
{
    struct connector *connector = link->connector;

    wait_notice_begin(&connector->notice,
                      connector->options.config->wait_notice_ms, "hoop",
                      CONNECTOR_SILENT_MS);
    connector->notice.due_ns -= connector->notice.began_ns - began_ns(link);
    connector->notice.began_ns = began_ns(link);
}

static void
dial_notice_start_timer(struct connector *connector)
{
    loop_timer_start(connector->notice_timer,
                     (uint64_t)wait_notice_left_ms(&connector->notice));
}

static void
dial_notice_on_timer(void *owner)
{
    struct connector *connector = owner;
    const struct link *link = find_oldest_unanswered(connector);
    char address[LIMIT_ADDRESS];
    char text[LIMIT_ERROR_TEXT];

    if (!link)
        return;
    if (began_ns(link) != connector->notice.began_ns)
        dial_notice_begin(link);
    if (wait_notice_left_ms(&connector->notice) > 0) {
        dial_notice_start_timer(connector);
        return;
    }
    address_format(&connector->options.roster->members[link->rank].address,
                   address);
    snprintf(text, sizeof(text),
             "connecting to rank %u at %s: nothing answers; a firewall?",
             link->rank, address);
    wait_notice_log(&connector->notice, text);
    dial_notice_start_timer(connector);
}

static void
link_request_dial(void *owner)
{
    struct link *link = owner;

    if (link->state != LINK_IDLE)
        return;
    link->state = LINK_WANTED;
    link->retry_ms = RETRY_FIRST_MS;
    link->refused_until_ns = clock_deadline_ns(RETRY_REFUSED_DIAL_MS);
    link->silent_until_ns = clock_deadline_ns(CONNECTOR_SILENT_MS);
    link->dial_broke_in_tls = false;
    if (link->connector->notice_timer &&
        !loop_timer_is_started(link->connector->notice_timer)) {
        dial_notice_begin(link);
        dial_notice_start_timer(link->connector);
    }
    link_dial(link);
}

void
connector_dial(struct connector *connector, uint32_t rank)
{
    struct link *link = &connector->links[rank];

    if (loop_post(connector->options.loop, link_request_dial, link) != HOOP_OK)
        connector->options.on_unreachable(connector->options.owner, rank,
                                          error_text());
}

static void
on_forming_end(void *owner)
{
    struct connector *connector = owner;
    struct handshaker *handshaker;

    connector->options.forming_until_ns = 0;
    TAILQ_FOREACH(handshaker, &connector->handshakers, link)
    handshaker_shorten_timeout(handshaker);
}

enum hoop_status
connector_end_forming(struct connector *connector)
{
    const enum hoop_status status =
        loop_post(connector->options.loop, on_forming_end, connector);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
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
            connector->options.loop, link_dial, link, &link->retry);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* Without a token there is no key. A CA without a certificate of one's own is
 * meant for the coordinator. */
static enum hoop_status
tls_context_make(struct connector *connector)
{
    const struct config *config = connector->options.config;
    const struct tls_files files = config_tls_files(config);
    uint8_t key[TLS_KEY_BYTES];

    enum hoop_status status =
        handshake_derive_tls_key(config->token, connector->options.roster, key);
    if (status != HOOP_OK)
        return error_pass(status);
    const bool has_own = *files.certificate || *files.key;
    const struct tls_options tls = {
        .files = has_own ? files : (struct tls_files){0},
        .key = *config->token ? key : NULL,
    };
    status = tls_context_create(&tls, &connector->tls_context);
    explicit_bzero(key, sizeof(key));
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
connector_create(const struct connector_options *options,
                 struct connector **out_connector)
{
    struct connector *connector = calloc(1, sizeof(*connector));

    if (!connector)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the connector");
    connector->options = *options;
    connector->reserve_fd = -1;
    TAILQ_INIT(&connector->handshakers);
    enum hoop_status status = handshake_key_init(
        &connector->key, options->config->token, options->roster);
    if (status == HOOP_OK && options->config->is_encrypted)
        status = tls_context_make(connector);
    if (status == HOOP_OK)
        status = links_create(connector);
    if (status == HOOP_OK && options->config->wait_notice_ms > 0)
        status = loop_timer_create(options->loop, dial_notice_on_timer,
                                   connector, &connector->notice_timer);
    if (status == HOOP_OK && options->listen_fd >= 0)
        status = connector_listen(connector);
    if (status != HOOP_OK) {
        connector_destroy(connector);
        return error_pass(status);
    }
    *out_connector = connector;
    return HOOP_OK;
}

static struct handshaker *
find_awaiting_welcome(const struct connector *connector)
{
    struct handshaker *handshaker;

    TAILQ_FOREACH(handshaker, &connector->handshakers, link)
    {
        if (handshaker->state == HANDSHAKER_AWAIT_WELCOME)
            break;
    }
    return handshaker;
}

void
connector_await_welcomes(struct connector *connector)
{
    const uint64_t deadline_ns = clock_deadline_ns(FINISH_MS);
    struct handshaker *handshaker;

    while (connector && (handshaker = find_awaiting_welcome(connector))) {
        struct pollfd ready = {.fd = handshaker->fd, .events = POLLIN};

        if (poll(&ready, 1, clock_left_ms(deadline_ns)) <= 0)
            return;
        handshaker_progress(handshaker);
    }
}

void
connector_destroy(struct connector *connector)
{
    if (!connector)
        return;
    loop_cancel_posts(connector->options.loop, connector);
    while (!TAILQ_EMPTY(&connector->handshakers))
        connector_drop_handshaker(connector,
                                  TAILQ_FIRST(&connector->handshakers));
    loop_watch_destroy(connector->listener);
    loop_timer_destroy(connector->accept_pause);
    loop_timer_destroy(connector->notice_timer);
    descriptor_close(connector->reserve_fd);
    for (uint32_t rank = 0;
         connector->links && rank < connector->options.roster->size; rank++) {
        loop_cancel_posts(connector->options.loop, &connector->links[rank]);
        loop_timer_destroy(connector->links[rank].retry);
    }
    free(connector->links);
    tls_context_destroy(connector->tls_context);
    explicit_bzero(&connector->key, sizeof(connector->key));
    free(connector);
}
