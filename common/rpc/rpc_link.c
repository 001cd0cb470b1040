/*
 * rpc/rpc_link.c - one connection to the coordinator, made again when lost
 *
 * A name may have several addresses, and there may be several names: each
 * failure moves on to the next at once, and when all have failed they are
 * looked up again, since a coordinator that was moved keeps its name only. The
 * pause between two rounds doubles, but not to a second: so soon workers come
 * back. A reply resets it. Its random half keeps a thousand of them from coming
 * in the same instant.
 */

#include "rpc/rpc_link.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "base/state.h"
#include "net/address.h"
#include "net/loop.h"
#include "net/resolver.h"
#include "net/socket.h"

enum {
    BACKOFF_MIN_MS = 50,
    BACKOFF_MAX_MS = 700,
    /* To connect, when there are others to be tried. */
    CONNECT_MS = 1000,
    /* Reads and frames of one turn, so that the loop's others get theirs. */
    LINK_READS_MAX = 16,
};

/*
 * IDLE -> WAITING -> CONNECTING -> GREETING -> READY
 *          |  ^          |   ^        |          |
 *          |  `----------+---|--------+----------'  lost
 *          v                 |
 *      LOOKING_UP -----------'
 *
 * WAITING is the back-off, and the rest while nobody wants anything sent.
 */
enum link_state {
    LINK_IDLE,
    LINK_WAITING,
    LINK_LOOKING_UP,
    LINK_CONNECTING,
    LINK_GREETING,
    LINK_READY,
};

static const struct sm_state link_states[] = {
    [LINK_IDLE] = {"idle", SM_TO(LINK_WAITING)},
    [LINK_WAITING] = {"waiting",
                      SM_TO(LINK_CONNECTING) | SM_TO(LINK_LOOKING_UP)},
    [LINK_LOOKING_UP] = {"looking up", SM_TO(LINK_CONNECTING)},
    [LINK_CONNECTING] = {"connecting",
                         SM_TO(LINK_GREETING) | SM_TO(LINK_WAITING)},
    [LINK_GREETING] = {"greeting", SM_TO(LINK_READY) | SM_TO(LINK_WAITING)},
    [LINK_READY] = {"ready", SM_TO(LINK_WAITING)},
};

struct rpc_link {
    struct loop *loop;
    struct rpc_link_events events;
    void *owner;
    enum link_state state;

    char text[LIMIT_ADDRESS];
    struct address addresses[LIMIT_RPC_ADDRESSES];
    size_t n_addresses;
    size_t next_address;
    struct resolver *resolver;

    struct loop_timer *timer; /* back-off, or the limit of connecting */
    uint64_t backoff_ms;
    bool is_wanted; /* rpc_link_wake() while waiting */

    int fd;
    struct loop_watch *watch;
    struct sp_reader reader;
    uint8_t header[SP_HEADER_BYTES]; /* of what is being sent, or the hello */
    size_t n_header;
    struct rpc_link_frame frame;
    size_t n_sent; /* of header and frame together */

    char reason[LIMIT_ERROR_TEXT];
};

DEFINE_CLEANUP(struct rpc_link *, rpc_link_destroy)

static void
link_move(struct rpc_link *link, enum link_state next)
{
    link->state = state_move(link_states, "rpc", link->state, next);
}

static void
link_close(struct rpc_link *link)
{
    loop_watch_destroy(STEAL(link->watch));
    socket_close(link->fd);
    link->fd = -1;
    sp_reader_deinit(&link->reader);
    free(STEAL(link->frame.bytes));
    link->frame.n_bytes = 0;
    link->n_header = 0;
    link->n_sent = 0;
}

/* Half of it for certain, half by chance. */
static uint64_t
backoff_jittered(uint64_t backoff_ms)
{
    uint32_t chance = 0;

    if (random_fill(&chance, sizeof(chance)) != HOOP_OK)
        return backoff_ms;
    return backoff_ms / 2 + chance % (backoff_ms / 2 + 1);
}

/* None before another address of the same round. */
static uint64_t
pause_take(struct rpc_link *link)
{
    const uint64_t backoff_ms = link->backoff_ms;

    if (link->next_address < link->n_addresses)
        return 0;
    link->backoff_ms =
        2 * backoff_ms < BACKOFF_MAX_MS ? 2 * backoff_ms : BACKOFF_MAX_MS;
    return backoff_jittered(backoff_ms);
}

/* The error text of this thread says why. */
static void
link_lose(struct rpc_link *link)
{
    char address[LIMIT_ADDRESS];

    address_format(&link->addresses[link->next_address], address);
    snprintf(link->reason, sizeof(link->reason), "%s: %.700s", address,
             error_text());
    log_debug("rpc", "no connection to %s", link->reason);

    link_close(link);
    link->next_address++;
    link->is_wanted = false;
    link_move(link, LINK_WAITING);
    loop_timer_start(link->timer, pause_take(link));
    link->events.on_lost(link->owner);
}

static void
link_arm(struct rpc_link *link)
{
    const bool has_output =
        link->n_header > 0 || link->state == LINK_CONNECTING;

    loop_watch_set(link->watch,
                   has_output ? LOOP_READ | LOOP_WRITE : LOOP_READ);
}

/* HOOP_E_PENDING: the socket takes no more for now. */
static enum hoop_status
link_send_rest(struct rpc_link *link)
{
    while (link->n_sent < link->n_header + link->frame.n_bytes) {
        const bool in_header = link->n_sent < link->n_header;
        const size_t n_body = in_header ? 0 : link->n_sent - link->n_header;
        struct iovec parts[2] = {
            {link->header + (in_header ? link->n_sent : 0),
             in_header ? link->n_header - link->n_sent : 0},
            {link->frame.bytes ? link->frame.bytes + n_body : NULL,
             link->frame.n_bytes - n_body},
        };
        const struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
        const ssize_t n = sendmsg(link->fd, &message, MSG_NOSIGNAL);

        if (n < 0 && errno == EAGAIN)
            return HOOP_E_PENDING;
        if (n < 0 && errno != EINTR)
            return error_raise(HOOP_E_UNAVAILABLE, "the connection broke: %s",
                               strerror(errno));
        link->n_sent += n > 0 ? (size_t)n : 0;
    }
    free(STEAL(link->frame.bytes));
    link->frame.n_bytes = 0;
    link->n_header = 0;
    link->n_sent = 0;
    return HOOP_OK;
}

/* HOOP_OK: nothing is left to send. */
static enum hoop_status
link_send(struct rpc_link *link)
{
    for (;;) {
        enum hoop_status status = link_send_rest(link);
        if (status != HOOP_OK || link->state != LINK_READY)
            return status;

        status = link->events.on_pull(link->owner, &link->frame);
        if (status != HOOP_OK)
            return HOOP_OK;
        sp_header_encode(link->frame.id, link->frame.n_bytes, link->header);
        link->n_header = SP_HEADER_BYTES;
    }
}

static enum hoop_status
link_take_frames(struct rpc_link *link)
{
    if (link->state == LINK_GREETING) {
        const enum hoop_status status = sp_reader_hello(&link->reader);
        if (status != HOOP_OK)
            return status;
        loop_timer_stop(link->timer);
        link_move(link, LINK_READY);
    }
    for (;;) {
        struct sp_frame frame;

        enum hoop_status status = sp_reader_next(&link->reader, &frame);
        if (status != HOOP_OK)
            return status;
        status = link->events.on_frame(link->owner, &frame);
        if (status != HOOP_OK)
            return error_pass(status);
        link->backoff_ms = BACKOFF_MIN_MS;
    }
}

/* HOOP_E_PENDING: nothing more is there for now. */
static enum hoop_status
link_receive(struct rpc_link *link)
{
    for (int turn = 0; turn < LINK_READS_MAX; turn++) {
        uint8_t *bytes;
        size_t n_room;

        enum hoop_status status =
            sp_reader_room(&link->reader, &bytes, &n_room);
        if (status != HOOP_OK)
            return error_pass(status);

        const ssize_t n = recv(link->fd, bytes, n_room, 0);
        if (n == 0)
            return error_raise(HOOP_E_UNAVAILABLE,
                               "the coordinator closed the connection");
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return HOOP_E_PENDING;
        if (n < 0)
            return error_raise(HOOP_E_UNAVAILABLE, "the connection broke: %s",
                               strerror(errno));

        sp_reader_add(&link->reader, (size_t)n);
        status = link_take_frames(link);
        if (status != HOOP_E_PENDING)
            return error_pass(status);
    }
    return HOOP_E_PENDING;
}

static enum hoop_status
link_greet(struct rpc_link *link)
{
    const enum hoop_status status = socket_connected(link->fd);
    if (status != HOOP_OK)
        return error_pass(status);
    link_move(link, LINK_GREETING);
    loop_timer_start(link->timer, LIMIT_GREETING_MS);
    memcpy(link->header, sp_hello_request, SP_HELLO_BYTES);
    link->n_header = SP_HELLO_BYTES;
    return HOOP_OK;
}

static void
link_on_ready(void *owner, enum loop_interest ready)
{
    struct rpc_link *link = owner;
    enum hoop_status status = HOOP_OK;

    if (link->state == LINK_CONNECTING)
        status = link_greet(link);
    else if (ready == LOOP_READ)
        status = link_receive(link);

    if (status == HOOP_OK || status == HOOP_E_PENDING)
        status = link_send(link);
    if (status == HOOP_OK || status == HOOP_E_PENDING)
        link_arm(link);
    else
        link_lose(link);
}

static enum hoop_status
link_open(struct rpc_link *link)
{
    enum hoop_status status =
        socket_connect(&link->addresses[link->next_address], &link->fd);
    if (status != HOOP_OK)
        return error_pass(status);
    status = loop_watch_create(link->loop, link->fd, link_on_ready, link,
                               &link->watch);
    if (status != HOOP_OK)
        return error_pass(status);
    link_arm(link);
    loop_timer_start(link->timer,
                     link->n_addresses > 1 ? CONNECT_MS : LIMIT_GREETING_MS);
    return HOOP_OK;
}

static void
link_connect(struct rpc_link *link)
{
    link_move(link, LINK_CONNECTING);
    if (link_open(link) != HOOP_OK)
        link_lose(link);
}

static void
link_on_resolved(void *owner, const struct address *addresses, size_t n)
{
    struct rpc_link *link = owner;

    /* Not found any more: what was found before is tried again. */
    if (n > 0) {
        memcpy(link->addresses, addresses, n * sizeof(*addresses));
        link->n_addresses = n;
    }
    resolver_destroy(STEAL(link->resolver));
    link_connect(link);
}

static void
link_retry(struct rpc_link *link)
{
    if (link->next_address < link->n_addresses) {
        link_connect(link);
        return;
    }
    link->next_address = 0;

    struct address number;
    if (address_parse(link->text, &number) == HOOP_OK ||
        resolver_start(link->loop, link->text, link_on_resolved, link,
                       &link->resolver) != HOOP_OK)
        link_connect(link);
    else
        link_move(link, LINK_LOOKING_UP);
}

static void
link_on_timer(void *owner)
{
    struct rpc_link *link = owner;

    switch (link->state) {
    case LINK_IDLE:
    case LINK_LOOKING_UP:
    case LINK_READY:
        break;
    case LINK_WAITING:
        if (link->is_wanted)
            link_retry(link);
        break;
    case LINK_CONNECTING:
    case LINK_GREETING:
        error_raise(HOOP_E_TIMEOUT, "no hello within %d ms",
                    link->state == LINK_CONNECTING && link->n_addresses > 1
                        ? CONNECT_MS
                        : LIMIT_GREETING_MS);
        link_lose(link);
        break;
    }
}

enum hoop_status
rpc_link_create(struct loop *loop,
                const char *address,
                const struct rpc_link_events *events,
                void *owner,
                struct rpc_link **out_link)
{
    CLEANUP(rpc_link_destroy) struct rpc_link *link = calloc(1, sizeof(*link));

    if (!link)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a connection");
    link->loop = loop;
    link->events = *events;
    link->owner = owner;
    link->fd = -1;
    link->backoff_ms = BACKOFF_MIN_MS;
    snprintf(link->text, sizeof(link->text), "%s", address);

    enum hoop_status status = address_resolve_all(
        address, link->addresses, LIMIT_RPC_ADDRESSES, &link->n_addresses);
    if (status != HOOP_OK)
        return error_pass(status);
    status = loop_timer_create(loop, link_on_timer, link, &link->timer);
    if (status != HOOP_OK)
        return error_pass(status);

    *out_link = STEAL(link);
    return HOOP_OK;
}

void
rpc_link_destroy(struct rpc_link *link)
{
    if (!link)
        return;
    resolver_destroy(link->resolver);
    loop_timer_destroy(link->timer);
    link_close(link);
    free(link);
}

void
rpc_link_wake(struct rpc_link *link)
{
    link->is_wanted = true;
    switch (link->state) {
    case LINK_IDLE:
        link_move(link, LINK_WAITING);
        loop_timer_start(link->timer, 0);
        break;
    case LINK_WAITING:
        /* The back-off may have run out while nobody wanted anything. */
        if (!loop_timer_is_started(link->timer))
            loop_timer_start(link->timer, 0);
        break;
    case LINK_LOOKING_UP:
    case LINK_CONNECTING:
    case LINK_GREETING:
        break;
    case LINK_READY:
        loop_watch_set(link->watch, LOOP_READ | LOOP_WRITE);
        break;
    }
}

const char *
rpc_link_reason(const struct rpc_link *link)
{
    if (link->state == LINK_GREETING && !link->reason[0])
        return "it accepts connections but does not say hello: is a hoop "
               "coordinator there?";
    return link->reason;
}
