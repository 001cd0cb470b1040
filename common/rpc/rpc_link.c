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
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/random.h"
#include "base/state.h"
#include "net/address.h"
#include "net/loop.h"
#include "net/resolver.h"
#include "net/socket.h"
#include "rpc/carrier.h"
#include "rpc/seal.h"
#include "rpc/sp_writer.h"

enum {
    BACKOFF_MIN_MS = 50,
    BACKOFF_MAX_MS = 700,
    /* To connect, when there are others to be tried. */
    CONNECT_MS = 1000,
    /* Reads and frames of one turn, so that the loop's others get theirs. */
    LINK_READS_MAX = 16,
};

/*
 * IDLE -> WAITING -> CONNECTING ---------------------> GREETING -> READY
 *          |  ^        |   ^  `-> SECURING -> CHECKING -^ |          |
 *          |  `--------+---|--------+------------+--------+----------'  lost
 *          v               |
 *      LOOKING_UP ---------'
 *
 * WAITING is the back-off, and the rest while nobody wants anything sent.
 * Under TLS, SECURING is its handshake, and CHECKING whether the other side
 * knows the token, before it is told.
 */
enum link_state {
    LINK_IDLE,
    LINK_WAITING,
    LINK_LOOKING_UP,
    LINK_CONNECTING,
    LINK_SECURING,
    LINK_CHECKING,
    LINK_GREETING,
    LINK_READY,
};

static const struct sm_state link_states[] = {
    [LINK_IDLE] = {"idle", SM_TO(LINK_WAITING)},
    [LINK_WAITING] = {"waiting",
                      SM_TO(LINK_CONNECTING) | SM_TO(LINK_LOOKING_UP)},
    [LINK_LOOKING_UP] = {"looking up", SM_TO(LINK_CONNECTING)},
    [LINK_CONNECTING] = {"connecting", SM_TO(LINK_SECURING) |
                                           SM_TO(LINK_GREETING) |
                                           SM_TO(LINK_WAITING)},
    [LINK_SECURING] = {"securing", SM_TO(LINK_CHECKING) | SM_TO(LINK_WAITING)},
    [LINK_CHECKING] = {"checking", SM_TO(LINK_GREETING) | SM_TO(LINK_WAITING)},
    [LINK_GREETING] = {"greeting", SM_TO(LINK_READY) | SM_TO(LINK_WAITING)},
    [LINK_READY] = {"ready", SM_TO(LINK_WAITING)},
};

struct rpc_link {
    struct loop *loop;
    struct seal *seal; /* NULL: plain */
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

    struct carrier carrier;
    struct loop_watch *watch;
    struct sp_reader reader;
    struct sp_writer writer;

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
    carrier_close(&link->carrier);
    sp_reader_deinit(&link->reader);
    sp_writer_deinit(&link->writer);
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
link_lose(struct rpc_link *link, enum hoop_status status)
{
    const bool is_refused =
        status == HOOP_E_UNAUTHENTICATED && link->state != LINK_READY;
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
    if (is_refused)
        link->events.on_refused(link->owner);
    else
        link->events.on_lost(link->owner);
}

static void
link_arm(struct rpc_link *link)
{
    const bool has_output = !sp_writer_is_idle(&link->writer) ||
                            link->state == LINK_CONNECTING ||
                            carrier_owes(&link->carrier);

    loop_watch_set(link->watch,
                   has_output ? LOOP_READ | LOOP_WRITE : LOOP_READ);
}

/* HOOP_OK: nothing is left to send. */
static enum hoop_status
link_send(struct rpc_link *link)
{
    for (;;) {
        enum hoop_status status = sp_writer_send(&link->writer, &link->carrier);
        if (status != HOOP_OK || link->state != LINK_READY)
            return status;

        struct rpc_link_frame frame;
        status = link->events.on_pull(link->owner, &frame);
        if (status != HOOP_OK)
            return HOOP_OK;
        sp_writer_take_frame(&link->writer, frame.id, frame.bytes,
                             frame.n_bytes);
    }
}

/* The other side's proofs, before its hello. */
static enum hoop_status
link_check(struct rpc_link *link)
{
    size_t n_used;

    const enum hoop_status status = seal_check(
        link->seal, link->carrier.tls, sp_reader_rest(&link->reader), &n_used);
    if (status != HOOP_OK)
        return status;
    sp_reader_skip(&link->reader, n_used);
    link_move(link, LINK_GREETING);
    return HOOP_OK;
}

static enum hoop_status
link_take_frames(struct rpc_link *link)
{
    if (link->state == LINK_CHECKING) {
        const enum hoop_status status = link_check(link);
        if (status != HOOP_OK)
            return status;
    }
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

/* HOOP_E_PENDING: all that has come is read. */
static enum hoop_status
link_receive(struct rpc_link *link)
{
    for (int turn = 0;
         turn < LINK_READS_MAX || carrier_is_ready(&link->carrier); turn++) {
        uint8_t *bytes;
        size_t n_room;
        size_t n_bytes;

        enum hoop_status status =
            sp_reader_room(&link->reader, &bytes, &n_room);
        if (status != HOOP_OK)
            return error_pass(status);
        status = carrier_receive(&link->carrier, bytes, n_room, &n_bytes);
        if (status != HOOP_OK)
            return status == HOOP_E_PENDING ? status : error_pass(status);

        sp_reader_add(&link->reader, n_bytes);
        status = link_take_frames(link);
        if (status != HOOP_E_PENDING)
            return error_pass(status);
    }
    return HOOP_E_PENDING;
}

static enum hoop_status
link_secure(struct rpc_link *link)
{
    const enum hoop_status status = seal_shake(link->carrier.tls);

    if (status != HOOP_OK)
        return status;
    link_move(link, LINK_CHECKING);
    sp_writer_hello(&link->writer, sp_hello_request);
    return HOOP_OK;
}

static enum hoop_status
link_greet(struct rpc_link *link)
{
    enum hoop_status status = socket_connected(link->carrier.fd);
    if (status == HOOP_OK && link->seal)
        status = seal_call(link->seal, link->carrier.fd, &link->carrier.tls);
    if (status != HOOP_OK)
        return error_pass(status);
    loop_timer_start(link->timer, LIMIT_GREETING_MS);
    if (link->seal) {
        link_move(link, LINK_SECURING);
        return link_secure(link);
    }
    link_move(link, LINK_GREETING);
    sp_writer_hello(&link->writer, sp_hello_request);
    return HOOP_OK;
}

/* Whoever closed a connection that has not begun may have said why before: under
 * TLS, that it believes no certificate of this side. */
static enum hoop_status
link_hear_out(struct rpc_link *link, enum hoop_status status)
{
    if (status != HOOP_E_UNAVAILABLE ||
        (link->state != LINK_CHECKING && link->state != LINK_GREETING))
        return status;

    const enum hoop_status told = link_receive(link);
    return told == HOOP_OK || told == HOOP_E_PENDING ? status : told;
}

static void
link_on_ready(void *owner, enum loop_interest ready)
{
    struct rpc_link *link = owner;
    enum hoop_status status = HOOP_OK;

    if (link->state == LINK_CONNECTING)
        status = link_greet(link);
    else if (link->state == LINK_SECURING)
        status = link_secure(link);
    else if (ready == LOOP_READ)
        status = link_receive(link);

    if (status == HOOP_OK || status == HOOP_E_PENDING)
        status = link_hear_out(link, link_send(link));
    if (status == HOOP_OK || status == HOOP_E_PENDING)
        link_arm(link);
    else
        link_lose(link, status);
}

static enum hoop_status
link_open(struct rpc_link *link)
{
    enum hoop_status status =
        socket_connect(&link->addresses[link->next_address], &link->carrier.fd);
    if (status != HOOP_OK)
        return error_pass(status);
    status = loop_watch_create(link->loop, link->carrier.fd, link_on_ready,
                               link, &link->watch);
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
    const enum hoop_status status = link_open(link);
    if (status != HOOP_OK)
        link_lose(link, status);
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
    case LINK_SECURING:
    case LINK_CHECKING:
    case LINK_GREETING:
        link_lose(link, error_raise(HOOP_E_TIMEOUT, "no hello within %d ms",
                                    link->state == LINK_CONNECTING &&
                                            link->n_addresses > 1
                                        ? CONNECT_MS
                                        : LIMIT_GREETING_MS));
        break;
    }
}

enum hoop_status
rpc_link_create(const struct rpc_link_options *options,
                struct rpc_link **out_link)
{
    CLEANUP(rpc_link_destroy) struct rpc_link *link = calloc(1, sizeof(*link));

    if (!link)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a connection");
    link->loop = options->loop;
    link->seal = options->seal;
    link->events = options->events;
    link->owner = options->owner;
    link->carrier.fd = -1;
    link->backoff_ms = BACKOFF_MIN_MS;
    snprintf(link->text, sizeof(link->text), "%s", options->address);

    enum hoop_status status =
        address_resolve_all(options->address, link->addresses,
                            LIMIT_RPC_ADDRESSES, &link->n_addresses);
    if (status != HOOP_OK)
        return error_pass(status);
    status = loop_timer_create(link->loop, link_on_timer, link, &link->timer);
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
    case LINK_SECURING:
    case LINK_CHECKING:
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
    if (link->state == LINK_SECURING && !link->reason[0])
        return "it accepts connections but does not answer: is HOOP_TLS on at "
               "the coordinator, too?";
    if (link->state == LINK_GREETING && !link->reason[0])
        return "it accepts connections but does not say hello: is a hoop "
               "coordinator there?";
    return link->reason;
}
