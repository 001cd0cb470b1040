/*
 * rpc/rpc_link.c - a client's connection to the coordinator, made again when
 * lost
 *
 * There may be several names, each with several addresses. After a failure the
 * next address is tried at once. When all have failed the names are looked up
 * again, since a coordinator that was moved keeps only its name. The pause
 * between two rounds doubles, but stays below a second, so that workers
 * reconnect within that time; a reply resets it. Half of the pause is random,
 * so that a thousand workers do not connect at the same instant.
 */

#include "rpc/rpc_link.h"

#include <assert.h>
#include <errno.h>
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
#include "net/tls.h"
#include "rpc/authentication.h"
#include "rpc/envelope.h"
#include "rpc/method.h"
#include "rpc/rpc_tls.h"
#include "rpc/sp_stream.h"
#include "wire/pack.h"

enum {
    BACKOFF_MIN_MS = 50,
    BACKOFF_MAX_MS = 700,
    /* Time limit of an attempt when there are other addresses to try. */
    CONNECT_MS = 1000,
    /* Reads per turn, so that other users of the loop get their turn. */
    LINK_READS_MAX = 16,
};

/*
 *   IDLE -> WAITING -> CONNECTING -> HELLO -> CHALLENGING -> PROVING -> READY
 *            |  ^        |   ^  |      ^  | `------------------------------^ |
 *            |  |        |   |  `-> TLS_HANDSHAKE                            |
 *            |  `--------+---|---------+--+--------------------+-------------'
 *            v               |                                          lost
 *        LOOKING_UP ---------'
 *
 * WAITING is the back-off, and the idle time while there is nothing to send.
 * With a token, CHALLENGING waits for the coordinator's proof, and PROVING
 * until the coordinator has accepted ours.
 */
enum link_state {
    LINK_IDLE,
    LINK_WAITING,
    LINK_LOOKING_UP,
    LINK_CONNECTING,
    LINK_TLS_HANDSHAKE,
    LINK_HELLO,
    LINK_CHALLENGING,
    LINK_PROVING,
    LINK_READY,
};

static const struct state_table_row link_states[] = {
    [LINK_IDLE] = {"idle", SM_TO(LINK_WAITING)},
    [LINK_WAITING] = {"waiting",
                      SM_TO(LINK_CONNECTING) | SM_TO(LINK_LOOKING_UP)},
    [LINK_LOOKING_UP] = {"looking up",
                         SM_TO(LINK_CONNECTING) | SM_TO(LINK_WAITING)},
    [LINK_CONNECTING] = {"connecting", SM_TO(LINK_TLS_HANDSHAKE) |
                                           SM_TO(LINK_HELLO) |
                                           SM_TO(LINK_WAITING)},
    [LINK_TLS_HANDSHAKE] = {"securing",
                            SM_TO(LINK_HELLO) | SM_TO(LINK_WAITING)},
    [LINK_HELLO] = {"greeting", SM_TO(LINK_CHALLENGING) | SM_TO(LINK_READY) |
                                    SM_TO(LINK_WAITING)},
    [LINK_CHALLENGING] = {"challenging",
                          SM_TO(LINK_PROVING) | SM_TO(LINK_WAITING)},
    [LINK_PROVING] = {"proving", SM_TO(LINK_READY) | SM_TO(LINK_WAITING)},
    [LINK_READY] = {"ready", SM_TO(LINK_WAITING)},
};

struct rpc_link {
    struct loop *loop;
    struct rpc_tls *rpc_tls; /* NULL: no TLS */
    const struct auth_keys *keys;
    struct envelope_client client;
    struct rpc_link_events events;
    void *owner;
    enum link_state state;

    char text[LIMIT_ADDRESS];
    struct address addresses[LIMIT_RPC_ADDRESSES];
    size_t n_addresses;
    size_t next_address;
    size_t n_unconnected; /* failed connection attempts in a row */
    struct address local; /* this host's address on the last connection that
                             was ready */
    bool has_local;
    struct resolver *resolver;

    struct loop_timer *timer; /* back-off, or time limit of connecting */
    uint64_t backoff_ms;
    bool is_wanted; /* rpc_link_request_send() was called while waiting */

    struct control_stream control_stream;
    struct loop_watch *watch;
    struct sp_reader reader;
    struct sp_writer writer;
    struct authentication auth;    /* of this connection */
    struct rpc_link_frame pending; /* the next authentication message; no
                                      bytes: none */

    char reason[LIMIT_ERROR_TEXT];
    enum hoop_status shortage; /* see rpc_link_local_failure() */
};

DEFINE_CLEANUP(struct rpc_link *, rpc_link_destroy)

static void
link_set_state(struct rpc_link *link, enum link_state next)
{
    link->state = state_transition(link_states, "rpc", link->state, next);
}

static void
link_close(struct rpc_link *link)
{
    loop_watch_destroy(STEAL(link->watch));
    control_stream_close(&link->control_stream);
    sp_reader_deinit(&link->reader);
    sp_writer_deinit(&link->writer);
    free(link->pending.bytes);
    link->pending = (struct rpc_link_frame){0};
    link->auth = (struct authentication){0};
}

/* Make half of the back-off random. */
static uint64_t
backoff_jittered(uint64_t backoff_ms)
{
    uint32_t chance = 0;

    if (random_fill(&chance, sizeof(chance)) != HOOP_OK)
        return backoff_ms;
    return backoff_ms / 2 + chance % (backoff_ms / 2 + 1);
}

/* There is no pause before another address of the same round. */
static uint64_t
backoff_next(struct rpc_link *link)
{
    const uint64_t backoff_ms = link->backoff_ms;

    if (link->next_address < link->n_addresses)
        return 0;
    link->backoff_ms =
        2 * backoff_ms < BACKOFF_MAX_MS ? 2 * backoff_ms : BACKOFF_MAX_MS;
    return backoff_jittered(backoff_ms);
}

/* Return advice for the user if the cause is known. */
static const char *
refused_connection_advice(const char *why, const struct address *address)
{
    if (!strstr(why, strerror(ECONNREFUSED)))
        return "";
    return address_is_loopback(address)
               ? "; start hoopd there, listening on that address"
               : "; start hoopd there, listening on that address (without a "
                 "token it listens on localhost only), or let a firewall pass "
                 "this";
}

/* Say what an attempt that takes long is waiting for. */
static const char *
state_wait_describe(enum link_state state)
{
    switch (state) {
    case LINK_CONNECTING:
        return "nothing answers a connection there: is there a route, or a "
               "firewall between?";
    case LINK_TLS_HANDSHAKE:
        return "it accepts connections but does not answer: is HOOP_TLS on at "
               "the coordinator, too?";
    case LINK_HELLO:
        return "it accepts connections but does not say hello: is a hoop "
               "coordinator there?";
    case LINK_CHALLENGING:
    case LINK_PROVING:
        return "it says hello, but does not answer a challenge: is a hoop "
               "coordinator there?";
    case LINK_IDLE:
    case LINK_LOOKING_UP:
    case LINK_WAITING:
    case LINK_READY:
        break;
    }
    return "";
}

/* Set the reason from this thread's error text. */
static void
reason_set_from_error(struct rpc_link *link, enum hoop_status status)
{
    const char *why = strstr(error_text(), ": ");
    char address[LIMIT_ADDRESS];

    if (link->n_addresses == 0) {
        snprintf(link->reason, sizeof(link->reason), "%s", error_text());
        return;
    }
    address_format(&link->addresses[link->next_address], address);
    log_debug("rpc", "no connection to %s: %s", address, error_text());
    link->shortage =
        link->state == LINK_CONNECTING &&
                (status == HOOP_E_EXHAUSTED || status == HOOP_E_DENIED)
            ? status
            : HOOP_OK;
    if (link->shortage != HOOP_OK && why)
        snprintf(link->reason, sizeof(link->reason), "%.700s", why + 2);
    else
        snprintf(link->reason, sizeof(link->reason), "%s: %.600s%s", address,
                 error_text(),
                 refused_connection_advice(
                     error_text(), &link->addresses[link->next_address]));
}

static void
link_on_failure(struct rpc_link *link, enum hoop_status status)
{
    const bool is_refused =
        status == HOOP_E_UNAUTHENTICATED && link->state != LINK_READY;

    reason_set_from_error(link, status);
    link->n_unconnected =
        link->state == LINK_CONNECTING ? link->n_unconnected + 1 : 0;

    link_close(link);
    link->next_address++;
    link->is_wanted = false;
    link_set_state(link, LINK_WAITING);
    loop_timer_start(link->timer, backoff_next(link));
    if (is_refused)
        link->events.on_refused(link->owner);
    else
        link->events.on_lost(link->owner);
}

static void
link_update_watch(struct rpc_link *link)
{
    const bool has_output = !sp_writer_is_idle(&link->writer) ||
                            link->state == LINK_CONNECTING ||
                            control_stream_has_unsent(&link->control_stream);

    loop_watch_set(link->watch,
                   has_output ? LOOP_READ | LOOP_WRITE : LOOP_READ);
}

/* HOOP_OK: nothing is left to send. */
static enum hoop_status
link_send(struct rpc_link *link)
{
    for (;;) {
        enum hoop_status status =
            sp_writer_send(&link->writer, &link->control_stream);
        if (status != HOOP_OK)
            return status;

        struct rpc_link_frame frame = link->pending;
        link->pending = (struct rpc_link_frame){0};
        if (!frame.bytes && link->state == LINK_READY)
            status = link->events.on_pull(link->owner, &frame);
        if (status != HOOP_OK || !frame.bytes)
            return HOOP_OK;
        sp_writer_set_frame(&link->writer, frame.id, frame.bytes,
                            frame.n_bytes);
    }
}

/* ---- Authentication (rpc/authentication.h): requests of the link itself. */

static void
link_become_ready(struct rpc_link *link)
{
    loop_timer_stop(link->timer);
    link->has_local =
        socket_local_address(link->control_stream.fd, &link->local) == HOOP_OK;
    link_set_state(link, LINK_READY);
}

/* Queue a request whose body is in pack. */
static enum hoop_status
auth_request_queue(struct rpc_link *link,
                   enum method_id method,
                   struct pack *pack)
{
    CLEANUP(free) uint8_t *body = NULL;
    size_t n_body = 0;
    struct envelope_request request = {
        .client = link->client,
        .deadline_ms = LIMIT_HANDSHAKE_MS,
    };

    enum hoop_status status = pack_take(pack, &body, &n_body);
    if (status != HOOP_OK)
        return error_pass(status);
    snprintf(request.method, sizeof(request.method), "%s",
             method_by_id(method)->name);
    request.body = (struct message_span){body, n_body};
    status = envelope_request_encode(&request, &link->pending.bytes,
                                     &link->pending.n_bytes);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
link_send_challenge(struct rpc_link *link)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct auth_challenge_request request;
    enum hoop_status status = HOOP_OK;

    pack_init(&pack, LIMIT_RPC_BODY);
    if (link->control_stream.tls) {
        status =
            tls_channel_binding(link->control_stream.tls, link->auth.binding);
        link->auth.n_binding = TLS_BINDING_BYTES;
    }
    if (status == HOOP_OK)
        status = auth_client_begin(&link->auth, link->keys, &request);
    if (status != HOOP_OK)
        return error_pass(status);
    auth_challenge_request_encode(&request, &pack);
    link_set_state(link, LINK_CHALLENGING);
    return auth_request_queue(link, METHOD_AUTH_CHALLENGE, &pack);
}

/* The coordinator refused. HOOP_E_UNAUTHENTICATED, unless a later attempt may
 * succeed. */
static enum hoop_status
auth_refusal_raise(const struct envelope_reply *reply)
{
    const bool may_change = reply->status == HOOP_E_UNAVAILABLE ||
                            reply->status == HOOP_E_EXHAUSTED;

    return error_raise(may_change ? HOOP_E_UNAVAILABLE : HOOP_E_UNAUTHENTICATED,
                       "%.900s", reply->message);
}

static enum hoop_status
auth_reply_decode(struct message_span in, struct envelope_reply *out_reply)
{
    const enum hoop_status status = envelope_reply_decode(in, out_reply);
    char text[LIMIT_ERROR_TEXT];

    if (status == HOOP_E_UNIMPLEMENTED) {
        snprintf(text, sizeof(text), "%s", error_text());
        return error_raise(HOOP_E_UNAUTHENTICATED, "%s", text);
    }
    if (status != HOOP_OK)
        return error_pass(status);
    return out_reply->status == HOOP_OK ? HOOP_OK
                                        : auth_refusal_raise(out_reply);
}

static enum hoop_status
link_send_proof(struct rpc_link *link, struct message_span body)
{
    CLEANUP(pack_deinit) struct pack pack;
    struct auth_challenge_reply reply;
    struct auth_prove_request request;

    pack_init(&pack, LIMIT_RPC_BODY);
    enum hoop_status status = auth_challenge_reply_decode(body, &reply);
    if (status == HOOP_OK)
        status = auth_client_prove(&link->auth, link->keys, &reply, &request);
    if (status != HOOP_OK)
        return error_pass(status);
    auth_prove_request_encode(&request, &pack);
    link_set_state(link, LINK_PROVING);
    return auth_request_queue(link, METHOD_AUTH_PROVE, &pack);
}

static enum hoop_status
link_handle_auth_reply(struct rpc_link *link)
{
    struct envelope_reply reply;
    struct sp_frame frame;

    enum hoop_status status = sp_reader_next_frame(&link->reader, &frame);
    if (status != HOOP_OK)
        return status;
    status = auth_reply_decode(frame.body, &reply);
    if (status == HOOP_OK && link->state == LINK_CHALLENGING)
        return link_send_proof(link, reply.body);
    if (status != HOOP_OK)
        return error_pass(status);
    link->auth.stage = AUTH_PROVED;
    link_become_ready(link);
    return HOOP_OK;
}

static enum hoop_status
link_process_input(struct rpc_link *link)
{
    if (link->state == LINK_HELLO) {
        enum hoop_status status = sp_reader_read_server_hello(&link->reader);
        if (status == HOOP_OK && auth_keys_has_any(link->keys))
            status = link_send_challenge(link);
        else if (status == HOOP_OK)
            link_become_ready(link);
        if (status != HOOP_OK)
            return status;
    }
    while (link->state == LINK_CHALLENGING || link->state == LINK_PROVING) {
        const enum hoop_status status = link_handle_auth_reply(link);
        if (status != HOOP_OK)
            return status;
    }
    for (;;) {
        struct sp_frame frame;

        enum hoop_status status = sp_reader_next_frame(&link->reader, &frame);
        if (status != HOOP_OK)
            return status;
        status = link->events.on_frame(link->owner, &frame);
        if (status != HOOP_OK)
            return error_pass(status);
        link->backoff_ms = BACKOFF_MIN_MS;
    }
}

/* HOOP_E_PENDING: everything that has arrived is read. */
static enum hoop_status
link_receive(struct rpc_link *link)
{
    for (int turn = 0; turn < LINK_READS_MAX ||
                       control_stream_is_ready(&link->control_stream);
         turn++) {
        uint8_t *bytes;
        size_t n_room;
        size_t n_bytes;

        enum hoop_status status =
            sp_reader_reserve(&link->reader, &bytes, &n_room);
        if (status != HOOP_OK)
            return error_pass(status);
        status = control_stream_receive(&link->control_stream, bytes, n_room,
                                        &n_bytes);
        if (status != HOOP_OK)
            return status == HOOP_E_PENDING ? status : error_pass(status);

        sp_reader_commit(&link->reader, n_bytes);
        status = link_process_input(link);
        if (status != HOOP_E_PENDING)
            return error_pass(status);
    }
    return HOOP_E_PENDING;
}

static enum hoop_status
link_tls_handshake(struct rpc_link *link)
{
    const enum hoop_status status = rpc_tls_handshake(link->control_stream.tls);

    if (status != HOOP_OK)
        return status;
    link_set_state(link, LINK_HELLO);
    sp_writer_set_hello(&link->writer, sp_hello_request);
    return HOOP_OK;
}

static enum hoop_status
link_send_hello(struct rpc_link *link)
{
    enum hoop_status status = socket_connect_result(link->control_stream.fd);
    if (status == HOOP_OK && link->rpc_tls)
        status = rpc_tls_connect(link->rpc_tls, link->control_stream.fd,
                                 &link->control_stream.tls);
    if (status != HOOP_OK)
        return error_pass(status);
    loop_timer_start(link->timer, LIMIT_HANDSHAKE_MS);
    if (link->rpc_tls) {
        link_set_state(link, LINK_TLS_HANDSHAKE);
        return link_tls_handshake(link);
    }
    link_set_state(link, LINK_HELLO);
    sp_writer_set_hello(&link->writer, sp_hello_request);
    return HOOP_OK;
}

/* If the other side closed a connection that had not begun, it may have sent
 * the reason before: under TLS, that it does not accept this side's
 * certificate. */
static enum hoop_status
link_read_close_reason(struct rpc_link *link, enum hoop_status status)
{
    if (status != HOOP_E_UNAVAILABLE ||
        (link->state != LINK_HELLO && link->state != LINK_CHALLENGING &&
         link->state != LINK_PROVING))
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
        status = link_send_hello(link);
    else if (link->state == LINK_TLS_HANDSHAKE)
        status = link_tls_handshake(link);
    else if (ready == LOOP_READ)
        status = link_receive(link);

    if (status == HOOP_OK || status == HOOP_E_PENDING)
        status = link_read_close_reason(link, link_send(link));
    if (status == HOOP_OK || status == HOOP_E_PENDING)
        link_update_watch(link);
    else
        link_on_failure(link, status);
}

static enum hoop_status
link_open_socket(struct rpc_link *link)
{
    enum hoop_status status = socket_connect(
        &link->addresses[link->next_address], &link->control_stream.fd);
    if (status != HOOP_OK)
        return error_pass(status);
    status = loop_watch_create(link->loop, link->control_stream.fd,
                               link_on_ready, link, &link->watch);
    if (status != HOOP_OK)
        return error_pass(status);
    if (link->shortage != HOOP_OK)
        link->reason[0] = '\0';
    link->shortage = HOOP_OK;
    link_update_watch(link);
    loop_timer_start(link->timer,
                     link->n_addresses > 1 ? CONNECT_MS : LIMIT_HANDSHAKE_MS);
    return HOOP_OK;
}

static void
link_connect(struct rpc_link *link)
{
    link_set_state(link, LINK_CONNECTING);
    const enum hoop_status status = link_open_socket(link);
    if (status != HOOP_OK)
        link_on_failure(link, status);
}

static void
link_on_resolved(void *owner,
                 const struct address *addresses,
                 size_t n,
                 const char *why)
{
    struct rpc_link *link = owner;
    struct resolver *resolver = STEAL(link->resolver);

    if (n == 0 && link->n_addresses == 0)
        link_on_failure(link, error_raise(HOOP_E_UNAVAILABLE, "%s", why));

    /* If the name is no longer found, the former addresses are tried again. */
    if (n > 0) {
        memcpy(link->addresses, addresses, n * sizeof(*addresses));
        link->n_addresses = n;
    }
    if (link->n_addresses > 0)
        link_connect(link);
    resolver_destroy(resolver);
}

static void
link_connect_next(struct rpc_link *link)
{
    if (link->next_address < link->n_addresses) {
        link_connect(link);
        return;
    }
    link->next_address = 0;

    struct address number;
    enum hoop_status status = HOOP_E_EXISTS;
    if (link->n_addresses == 0 || address_parse(link->text, &number) != HOOP_OK)
        status = resolver_start(link->loop, link->text, link_on_resolved, link,
                                &link->resolver);
    if (status != HOOP_OK && link->n_addresses > 0) {
        link_connect(link);
        return;
    }
    link_set_state(link, LINK_LOOKING_UP);
    if (status != HOOP_OK)
        link_on_failure(link, status);
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
            link_connect_next(link);
        break;
    case LINK_CONNECTING:
    case LINK_TLS_HANDSHAKE:
    case LINK_HELLO:
    case LINK_CHALLENGING:
    case LINK_PROVING:
        link_on_failure(link, error_raise(HOOP_E_TIMEOUT, "%s",
                                          state_wait_describe(link->state)));
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
    link->rpc_tls = options->rpc_tls;
    link->keys = options->keys;
    link->client = options->client;
    link->events = options->events;
    link->owner = options->owner;
    link->control_stream.fd = -1;
    link->backoff_ms = BACKOFF_MIN_MS;
    snprintf(link->text, sizeof(link->text), "%s", options->address);

    enum hoop_status status =
        resolver_wait(link->loop, options->address, link->addresses,
                      LIMIT_RPC_ADDRESSES, &link->n_addresses);
    if (status != HOOP_OK && status != HOOP_E_TIMEOUT)
        return error_pass(status);
    /* It is looked up again when there is something to send. */
    if (status == HOOP_E_TIMEOUT)
        snprintf(link->reason, sizeof(link->reason), "%s", error_text());
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
rpc_link_request_send(struct rpc_link *link)
{
    link->is_wanted = true;
    switch (link->state) {
    case LINK_IDLE:
        link_set_state(link, LINK_WAITING);
        loop_timer_start(link->timer, 0);
        break;
    case LINK_WAITING:
        /* The back-off may have ended while there was nothing to send. */
        if (!loop_timer_is_started(link->timer))
            loop_timer_start(link->timer, 0);
        break;
    case LINK_LOOKING_UP:
    case LINK_CONNECTING:
    case LINK_TLS_HANDSHAKE:
    case LINK_HELLO:
    case LINK_CHALLENGING:
    case LINK_PROVING:
        break;
    case LINK_READY:
        loop_watch_set(link->watch, LOOP_READ | LOOP_WRITE);
        break;
    }
}

bool
rpc_link_is_ready(const struct rpc_link *link)
{
    return link->state == LINK_READY;
}

bool
rpc_link_local_address(const struct rpc_link *link, struct address *out_address)
{
    if (link->has_local)
        *out_address = link->local;
    return link->has_local;
}

bool
rpc_link_is_unreachable(const struct rpc_link *link)
{
    return link->n_unconnected >= link->n_addresses;
}

const char *
rpc_link_reason(const struct rpc_link *link)
{
    return link->reason[0] ? link->reason : state_wait_describe(link->state);
}

enum hoop_status
rpc_link_local_failure(const struct rpc_link *link)
{
    return link->shortage;
}
