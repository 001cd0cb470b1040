/*
 * transport/connect/connector_stream.c - connections beside the first to a peer
 *
 * The lower rank dials them, and tries again for a while if the network fails.
 * A stream that cannot be had is done without.
 */

#include "base/error.h"
#include "base/log.h"
#include "net/socket.h"
#include "transport/connect/connector_state.h"

enum {
    /* The delay doubles up to the last value: less than a second in all. */
    RETRY_FIRST_MS = 20,
    RETRY_LAST_MS = 320,
};

enum handshake_answer
connector_stream_decide(const struct connector *connector,
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
        connector_hand_over(connector, handshaker, NULL);
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
    if (link->stream_retry_ms > RETRY_LAST_MS)
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
