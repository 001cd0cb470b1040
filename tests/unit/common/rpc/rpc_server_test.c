/*
 * tests/unit/common/rpc/rpc_server_test.c - rpc/rpc_server.c and
 * rpc_listener.c, with NNG's own client, raw sockets and strangers
 */

#include <nng/nng.h>
#include <nng/protocol/reqrep0/req.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/role.h"
#include "check.h"
#include "rpc/authentication.h"
#include "rpc/sp_stream.h"
#include "rpc_bench.h"
#include "rpc_raw.h"
#include "wire/pack.h"

enum {
    N_WAITERS = 500,
};

/* Requests of one connection may overtake each other inside NNG: a test that
 * needs an order waits for the first to have been counted. */
static void
wait_until_expired(struct bench_server *server, uint64_t n)
{
    const uint64_t deadline_ns = clock_deadline_ns(BENCH_TIMEOUT_MS);

    while (bench_server_counters(server).requests_expired < n)
        assert_false(clock_is_past(deadline_ns));
}

static void
assert_serves(const struct bench_server *server)
{
    const struct raw_request ask = {"hoop.v1.Store/Get", 99, 5000};
    const int fd = raw_greet(server);

    raw_ask(fd, &ask);
    const struct raw_reply reply = raw_hear(fd);
    assert_int_equal(reply.sp_id, 99);
    assert_int_equal(reply.id, 99);
    assert_ok(reply.status);
    assert_string_equal(reply.body, "body");
    close(fd);
}

/* ---- Conformance. */

/* A socket of libnng. */
static nng_socket
nng_open(const struct bench_server *server)
{
    nng_socket socket;
    char url[80];

    snprintf(url, sizeof(url), "tcp://%s", server->address);
    assert_int_equal(nng_req0_open(&socket), 0);
    assert_int_equal(nng_socket_set_ms(socket, NNG_OPT_REQ_RESENDTIME,
                                       NNG_DURATION_INFINITE),
                     0);
    assert_int_equal(
        nng_socket_set_ms(socket, NNG_OPT_RECVTIMEO, BENCH_TIMEOUT_MS), 0);
    assert_int_equal(nng_socket_set_ms(socket, NNG_OPT_RECONNMINT, 10), 0);
    assert_int_equal(nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, 0), 0);
    assert_int_equal(nng_dial(socket, url, NULL, 0), 0);
    return socket;
}

/* Sends *message, or receives it. */
static void
nng_run(nng_ctx context, void (*start)(nng_ctx, nng_aio *), nng_msg **message)
{
    nng_aio *aio;

    assert_int_equal(nng_aio_alloc(&aio, NULL, NULL), 0);
    nng_aio_set_timeout(aio, BENCH_TIMEOUT_MS);
    nng_aio_set_msg(aio, *message);
    start(context, aio);
    nng_aio_wait(aio);
    assert_int_equal(nng_aio_result(aio), 0);
    *message = nng_aio_get_msg(aio);
    nng_aio_free(aio);
}

static void
nng_ask(nng_ctx context,
        const char *method,
        uint64_t id,
        struct message_span body)
{
    struct envelope_request request = {
        .client = {"libnng's client"},
        .id = id,
        .deadline_ms = 5000,
        .body = body,
    };
    uint8_t *bytes = NULL;
    size_t n_bytes = 0;
    nng_msg *message;

    snprintf(request.method, sizeof(request.method), "%s", method);
    assert_ok(envelope_request_encode(&request, &bytes, &n_bytes));
    assert_int_equal(nng_msg_alloc(&message, 0), 0);
    assert_int_equal(nng_msg_append(message, bytes, n_bytes), 0);
    free(bytes);
    nng_run(context, nng_ctx_send, &message);
}

/* The caller frees the message, which the reply borrows. */
static nng_msg *
nng_hear(nng_ctx context, struct envelope_reply *out_reply)
{
    nng_msg *message = NULL;

    nng_run(context, nng_ctx_recv, &message);
    assert_ok(envelope_reply_decode(
        (struct message_span){nng_msg_body(message), nng_msg_len(message)},
        out_reply));
    return message;
}

/* One call with so many bytes, which come back. */
static void
nng_echo(nng_socket socket, uint64_t id, size_t n_body)
{
    CLEANUP(free) uint8_t *body = malloc(n_body + 1);
    struct envelope_reply reply;
    nng_ctx context;

    assert_non_null(body);
    memset(body, (int)id, n_body);
    assert_int_equal(nng_ctx_open(&context, socket), 0);
    nng_ask(context, "hoop.v1.Store/Get", id,
            (struct message_span){body, n_body});
    nng_msg *message = nng_hear(context, &reply);
    assert_ok(reply.status);
    assert_int_equal(reply.id, id);
    assert_int_equal(reply.body.n_bytes, n_body);
    if (n_body > 0)
        assert_memory_equal(reply.body.bytes, body, n_body);
    nng_msg_free(message);
    nng_ctx_close(context);
}

/* What docs/rpc.md asks of any client, by two calls. */
static void
nng_prove(nng_socket socket, const char *token)
{
    struct authentication auth = {0};
    struct auth_challenge_request challenge;
    struct auth_challenge_reply answer;
    struct auth_prove_request proof;
    struct envelope_reply reply;
    struct auth_keys keys;
    struct pack pack;
    uint8_t *bytes;
    size_t n_bytes;
    nng_ctx context;

    assert_int_equal(nng_ctx_open(&context, socket), 0);
    assert_ok(auth_keys_init_client(&keys, token));
    assert_ok(auth_client_begin(&auth, &keys, &challenge));
    pack_init(&pack, LIMIT_RPC_BODY);
    auth_challenge_request_encode(&challenge, &pack);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    nng_ask(context, "hoop.v1.Auth/Challenge", 0,
            (struct message_span){bytes, n_bytes});
    free(bytes);
    pack_deinit(&pack);
    nng_msg *message = nng_hear(context, &reply);
    assert_ok(reply.status);
    assert_ok(auth_challenge_reply_decode(reply.body, &answer));
    nng_msg_free(message);
    assert_ok(auth_client_prove(&auth, &keys, &answer, &proof));
    pack_init(&pack, LIMIT_RPC_BODY);
    auth_prove_request_encode(&proof, &pack);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    nng_ask(context, "hoop.v1.Auth/Prove", 0,
            (struct message_span){bytes, n_bytes});
    free(bytes);
    pack_deinit(&pack);
    message = nng_hear(context, &reply);
    assert_ok(reply.status);
    nng_msg_free(message);
    nng_ctx_close(context);
}

static void
server_answers_nngs_own_client(void **state)
{
    struct bench_server server = {0};

    bench_server_start(&server, 0);
    nng_socket socket = nng_open(&server);
    for (uint64_t id = 1; id <= 3; id++)
        nng_echo(socket, id, 4);
    assert_int_equal(server.role, ROLE_ANYBODY);
    nng_close(socket);
    bench_server_stop(&server);
}

/* Bodies of all sizes up to the largest, once it has proved its token. */
static void
server_takes_large_bodies_of_nngs_client_that_has_proved(void **state)
{
    static const size_t sizes[] = {0,     1,      4096,    65535,         65536,
                                   65537, 262144, 1048576, LIMIT_RPC_BODY};
    struct bench_server server = {0};

    bench_server_start(&server, 0);
    nng_socket socket = nng_open(&server);
    nng_prove(socket, "secret");
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        nng_echo(socket, i + 1, sizes[i]);
    assert_int_equal(server.role, ROLE_WORKER);
    nng_close(socket);
    bench_server_stop(&server);
}

/* Many contexts of one socket: requests under way at once on one connection. */
static void
server_answers_pipelined_requests_of_nngs_client(void **state)
{
    enum {
        CONTEXTS = 200,
    };
    struct bench_server server = {.secret = ""};
    nng_ctx contexts[CONTEXTS];

    bench_server_start(&server, 0);
    nng_socket socket = nng_open(&server);
    for (uint64_t i = 0; i < CONTEXTS; i++) {
        assert_int_equal(nng_ctx_open(&contexts[i], socket), 0);
        nng_ask(contexts[i], "hoop.v1.Store/Wait", i + 1,
                (struct message_span){(const uint8_t *)"body", 4});
    }
    bench_wait_for(&server.n_parked, CONTEXTS);
    assert_int_equal(bench_server_counters(&server).connections, 1);
    nng_ctx waker;
    assert_int_equal(nng_ctx_open(&waker, socket), 0);
    nng_ask(waker, "hoop.v1.Store/Set", CONTEXTS + 1,
            (struct message_span){(const uint8_t *)"", 0});
    for (uint64_t i = 0; i < CONTEXTS; i++) {
        struct envelope_reply reply;
        nng_msg *message = nng_hear(contexts[i], &reply);

        assert_int_equal(reply.id, i + 1);
        assert_int_equal(reply.body.n_bytes, 4);
        nng_msg_free(message);
        nng_ctx_close(contexts[i]);
    }
    /* libnng 1.5.2 may wait forever in nng_close() if a reply was not taken. */
    struct envelope_reply woken;
    nng_msg_free(nng_hear(waker, &woken));
    assert_ok(woken.status);
    nng_ctx_close(waker);
    nng_close(socket);
    bench_server_stop(&server);
}

/* Its connection is lost, and libnng makes another, which proves anew. */
static void
server_serves_nngs_client_that_comes_back(void **state)
{
    struct bench_server server = {0};

    bench_server_start(&server, 0);
    const uint16_t port = bench_server_port(&server);
    nng_socket socket = nng_open(&server);
    nng_prove(socket, "secret");
    nng_echo(socket, 1, 100000);
    bench_server_stop(&server);

    struct bench_server next = {0};
    bench_server_start(&next, port);
    const uint64_t deadline_ns = clock_deadline_ns(BENCH_TIMEOUT_MS);
    while (bench_server_counters(&next).connections == 0)
        assert_false(clock_is_past(deadline_ns));
    nng_prove(socket, "secret");
    nng_echo(socket, 2, 100000);
    assert_int_equal(next.role, ROLE_WORKER);
    nng_close(socket);
    bench_server_stop(&next);
}

/* A hello in pieces, and one with the first request behind it in one. */
static void
server_takes_a_hello_however_it_is_cut(void **state)
{
    const struct raw_request get = {"hoop.v1.Store/Get", 1, 5000};
    struct bench_server server = {0};
    uint8_t hello[SP_HELLO_BYTES];

    bench_server_start(&server, 0);
    for (size_t n = 1; n < SP_HELLO_BYTES; n++) {
        const int fd = raw_connect(&server);

        /* It says its own without waiting. */
        assert_int_equal(recv(fd, hello, sizeof(hello), MSG_WAITALL),
                         SP_HELLO_BYTES);
        raw_send(fd, sp_hello_request, n);
        raw_send(fd, sp_hello_request + n, SP_HELLO_BYTES - n);
        raw_ask(fd, &get);
        assert_int_equal(raw_hear(fd).id, 1);
        close(fd);
    }
    bench_server_stop(&server);
}

/* Who has shown no token may send 64 KiB in one message: more is skipped, and
 * the connection goes on. */
static void
server_skips_what_a_stranger_may_not_send(void **state)
{
    static const size_t sizes[] = {LIMIT_RPC_SMALL_MESSAGE + 1, 1000000,
                                   LIMIT_RPC_MESSAGE};
    struct bench_server server = {0};
    uint8_t header[SP_HEADER_BYTES];
    const struct raw_request get = {"hoop.v1.Store/Get", 1, 5000};

    bench_server_start(&server, 0);
    const int fd = raw_greet(&server);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        CLEANUP(free) uint8_t *bytes = calloc(1, sizes[i]);

        sp_header_encode(70, sizes[i], header);
        raw_send(fd, header, sizeof(header));
        raw_send(fd, bytes, sizes[i]);
        const struct raw_reply reply = raw_hear(fd);
        assert_int_equal(reply.sp_id, 70);
        assert_int_equal(reply.id, 0);
        assert_int_equal(reply.status, HOOP_E_EXHAUSTED);
        assert_non_null(strstr(reply.message, "65536 are the most"));
        raw_ask(fd, &get);
        assert_int_equal(raw_hear(fd).id, 1);
    }
    assert_int_equal(bench_server_counters(&server).held_bytes, 0);
    close(fd);
    bench_server_stop(&server);
}

/* The bodies of parked requests are counted, and given back with them. */
static void
server_refuses_what_it_would_have_to_park_beyond_its_limit(void **state)
{
    struct bench_server server = {.secret = ""};
    uint8_t header[SP_HEADER_BYTES];
    enum {
        BODY = 1 << 20,
        ASKED = 12,
    };
    CLEANUP(free) uint8_t *body = calloc(1, BODY);

    bench_server_start(&server, 0);
    const int fd = raw_greet(&server);
    for (uint64_t id = 1; id <= ASKED; id++) {
        struct envelope_request request = {
            .method = "hoop.v1.Store/Wait",
            .client = {"a raw client of"},
            .id = id,
            .deadline_ms = 60000,
            .body = {body, BODY},
        };
        CLEANUP(free) uint8_t *bytes = NULL;
        size_t n_bytes = 0;

        assert_ok(envelope_request_encode(&request, &bytes, &n_bytes));
        sp_header_encode((uint32_t)id, n_bytes, header);
        raw_send(fd, header, sizeof(header));
        raw_send(fd, bytes, n_bytes);
    }
    const struct raw_reply refusal = raw_hear(fd);
    assert_int_equal(refusal.status, HOOP_E_EXHAUSTED);
    assert_non_null(strstr(refusal.message, "may hold 8388608"));
    assert_serves(&server);
    const struct rpc_server_counters counters = bench_server_counters(&server);
    assert_true(counters.held_bytes <= LIMIT_RPC_OPERATOR_CONNECTION_BYTES);
    assert_true(counters.held_bytes > counters.requests_parked << 20);
    close(fd);
    bench_wait_for(&server.n_gone, 1);
    while (bench_server_counters(&server).held_bytes > 0)
        continue;
    bench_server_stop(&server);
}

static void
server_answers_requests_of_one_connection_out_of_order(void **state)
{
    struct bench_server server = {0};
    const struct raw_request wait = {"hoop.v1.Store/Wait", 1, 5000};
    const struct raw_request get = {"hoop.v1.Store/Get", 2, 5000};
    const struct raw_request set = {"hoop.v1.Store/Set", 3, 5000};

    bench_server_start(&server, 0);
    const int fd = raw_greet(&server);
    raw_ask(fd, &wait);
    raw_ask(fd, &get);
    assert_int_equal(raw_hear(fd).id, 2);
    bench_wait_for(&server.n_parked, 1);
    raw_ask(fd, &set);
    assert_int_equal(raw_hear(fd).id, 1);
    assert_int_equal(raw_hear(fd).id, 3);
    close(fd);
    bench_server_stop(&server);
}

/* ---- Strangers. */

static void
server_survives_strangers(void **state)
{
    static const char http[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    static const char tls[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    static const char oversize[] = "\0SP\0\0\x30\0\0"
                                   "\0\0\1\0\0\0\0\0\x80\0\0\1";
    static const struct {
        const char *bytes;
        size_t n_bytes;
    } strangers[] = {
        {http, sizeof(http) - 1},
        {tls, sizeof(tls) - 1},
        {oversize, sizeof(oversize) - 1},
    };
    struct bench_server server = {0};

    bench_server_start(&server, 0);
    for (size_t i = 0; i < COUNT_OF(strangers); i++) {
        const int fd = raw_connect(&server);

        raw_send(fd, strangers[i].bytes, strangers[i].n_bytes);
        assert_closed_by_server(fd);
    }
    /* A port scan, and one that stays and says nothing. */
    for (int i = 0; i < 50; i++)
        close(raw_connect(&server));
    const int silent = raw_connect(&server);
    assert_serves(&server);
    close(silent);
    bench_server_stop(&server);
}

static void
server_answers_garbage_with_invalid_argument(void **state)
{
    struct bench_server server = {0};
    uint8_t header[SP_HEADER_BYTES];

    bench_server_start(&server, 0);
    const int fd = raw_greet(&server);
    sp_header_encode(17, 4, header);
    raw_send(fd, header, sizeof(header));
    raw_send(fd, "\xc1\xc1\xc1\xc1", 4);
    const struct raw_reply reply = raw_hear(fd);
    assert_int_equal(reply.sp_id, 17);
    assert_int_equal(reply.id, 0);
    assert_int_equal(reply.status, HOOP_E_INVALID);
    assert_int_equal(server.n_handled, 0);
    assert_int_equal(bench_server_counters(&server).requests_malformed, 1);
    close(fd);
    assert_serves(&server);
    bench_server_stop(&server);
}

static void
server_answers_unknown_methods_by_name(void **state)
{
    struct bench_server server = {0};
    const struct raw_request ask = {"hoop.v2.Store/Get", 4, 5000};

    bench_server_start(&server, 0);
    const int fd = raw_greet(&server);
    raw_ask(fd, &ask);
    const struct raw_reply reply = raw_hear(fd);
    assert_int_equal(reply.id, 4);
    assert_int_equal(reply.status, HOOP_E_UNIMPLEMENTED);
    assert_non_null(strstr(reply.message, "hoop.v2.Store/Get"));
    close(fd);
    bench_server_stop(&server);
}

/* ---- Parked requests. */

static void
server_releases_many_parked_requests_at_once(void **state)
{
    struct bench_server server = {.secret = ""};
    const struct raw_request set = {"hoop.v1.Store/Set", N_WAITERS + 1, 5000};
    bool is_answered[N_WAITERS + 2] = {false};

    bench_server_start(&server, 0);
    const int fd = raw_greet(&server);
    for (uint64_t i = 1; i <= N_WAITERS; i++)
        raw_ask(fd, &(struct raw_request){"hoop.v1.Store/Wait", i, 60000});
    bench_wait_for(&server.n_parked, N_WAITERS);
    assert_serves(&server);
    raw_ask(fd, &set);
    for (int i = 0; i <= N_WAITERS; i++) {
        const uint64_t id = raw_hear(fd).id;

        assert_in_range(id, 1, N_WAITERS + 1);
        assert_false(is_answered[id]);
        is_answered[id] = true;
    }
    assert_int_equal(bench_server_counters(&server).requests_parked, 0);
    close(fd);
    bench_server_stop(&server);
}

static void
server_gives_up_what_a_lost_connection_waited_for(void **state)
{
    struct bench_server server = {0};

    bench_server_start(&server, 0);
    const int fd = raw_greet(&server);
    for (uint64_t i = 1; i <= 10; i++)
        raw_ask(fd, &(struct raw_request){"hoop.v1.Store/Wait", i, 60000});
    bench_wait_for(&server.n_parked, 10);
    close(fd);
    bench_wait_for(&server.n_abandoned, 10);
    bench_wait_for(&server.n_gone, 1);
    assert_int_equal(bench_server_counters(&server).requests_parked, 0);
    assert_int_equal(bench_server_counters(&server).connections, 0);
    bench_server_stop(&server);
}

static void
server_full_of_parked_requests_says_so(void **state)
{
    struct bench_server server = {.n_requests_max = 3};
    const struct raw_request more = {"hoop.v1.Store/Get", 9, 5000};

    bench_server_start(&server, 0);
    const int fd = raw_greet(&server);
    for (uint64_t i = 1; i <= 3; i++)
        raw_ask(fd, &(struct raw_request){"hoop.v1.Store/Wait", i, 60000});
    bench_wait_for(&server.n_parked, 3);
    raw_ask(fd, &more);
    const struct raw_reply reply = raw_hear(fd);
    assert_int_equal(reply.id, 9);
    assert_int_equal(reply.status, HOOP_E_EXHAUSTED);
    assert_non_null(strstr(reply.message, "holds 3 unanswered"));
    close(fd);
    bench_wait_for(&server.n_abandoned, 3);
    assert_serves(&server);
    bench_server_stop(&server);
}

static void
server_drops_a_request_that_comes_too_late(void **state)
{
    struct bench_server server = {0};
    const struct raw_request late = {"hoop.v1.Store/Add", 1, 0};

    bench_server_start(&server, 0);
    const int fd = raw_greet(&server);
    raw_ask(fd, &late);
    raw_ask(fd, &(struct raw_request){"hoop.v1.Store/Get", 2, 5000});
    assert_int_equal(raw_hear(fd).id, 2);
    wait_until_expired(&server, 1);
    assert_int_equal(server.n_added, 0);
    close(fd);
    bench_server_stop(&server);
}

/* ---- The end. */

static void
server_drain_answers_who_waits_and_refuses_who_comes(void **state)
{
    struct bench_server server = {0};

    bench_server_start(&server, 0);
    const int fd = raw_greet(&server);
    for (uint64_t i = 1; i <= 3; i++)
        raw_ask(fd, &(struct raw_request){"hoop.v1.Store/Wait", i, 60000});
    bench_wait_for(&server.n_parked, 3);
    bench_server_drain(&server, 5000);
    for (int i = 1; i <= 3; i++)
        assert_int_equal(raw_hear(fd).status, HOOP_E_UNAVAILABLE);
    raw_ask(fd, &(struct raw_request){"hoop.v1.Store/Get", 4, 5000});
    assert_int_equal(raw_hear(fd).status, HOOP_E_UNAVAILABLE);
    assert_int_equal(server.n_handled, 3);
    close(fd);
    bench_server_stop(&server);
}

enum {
    LINGER_LESS_MS = 50, /* than it lingers where somebody is connected */
};

/* A drain, and a timer that is set with it: which is first? */
struct race {
    struct bench_server *server;
    struct loop_timer *timer;
    bool is_drained;
    bool was_drained; /* when the timer rang */
    atomic_uint n_over;
};

static void
race_drained(void *owner)
{
    struct race *race = owner;

    race->is_drained = true;
    atomic_fetch_add(&race->n_over, 1);
}

static void
race_rang(void *owner)
{
    struct race *race = owner;

    race->was_drained = race->is_drained;
    loop_timer_destroy(race->timer);
    atomic_fetch_add(&race->n_over, 1);
}

static void
race_begin(void *owner)
{
    struct race *race = owner;

    rpc_server_drain(race->server->server, 5000, race_drained, race);
    loop_timer_start(race->timer, LINGER_LESS_MS);
}

static void
race_run(struct bench_server *server, struct race *race)
{
    race->server = server;
    assert_ok(loop_timer_create(server->loop, race_rang, race, &race->timer));
    assert_ok(loop_post(server->loop, race_begin, race));
    bench_wait_for(&race->n_over, 2);
}

static void
server_lingers_only_where_somebody_is_connected(void **state)
{
    for (int is_connected = 0; is_connected <= 1; is_connected++) {
        struct bench_server server = {0};
        struct race race = {.n_over = 0};

        bench_server_start(&server, 0);
        const int fd = is_connected ? raw_greet(&server) : -1;
        if (is_connected) {
            raw_ask(fd, &(struct raw_request){"hoop.v1.Store/Get", 1, 5000});
            assert_int_equal(raw_hear(fd).id, 1);
        }
        race_run(&server, &race);
        assert_int_equal(race.was_drained, !is_connected);
        if (is_connected)
            close(fd);
        bench_server_stop(&server);
    }
}

static void
server_stops_while_requests_are_parked(void **state)
{
    struct bench_server server = {.secret = ""};

    bench_server_start(&server, 0);
    const int fd = raw_greet(&server);
    for (uint64_t i = 1; i <= 100; i++)
        raw_ask(fd, &(struct raw_request){"hoop.v1.Store/Wait", i, 60000});
    bench_wait_for(&server.n_parked, 100);
    bench_server_stop(&server);
    assert_closed_by_server(fd);
}

static void
nothing_comes(void *owner, struct rpc_request *request)
{
    fail();
}

static void *
loop_serve(void *loop)
{
    loop_run(loop);
    return NULL;
}

static void
server_any_address_serves_both_families(void **state)
{
    struct loop *loop;
    struct rpc_server *server;
    pthread_t thread;

    assert_ok(loop_create(&loop));
    const struct rpc_server_options options = {
        .loop = loop,
        .address = "*:0",
        .on_request = nothing_comes,
        .on_request_abandoned = nothing_comes,
    };
    assert_ok(rpc_server_create(&options, &server));
    assert_int_equal(pthread_create(&thread, NULL, loop_serve, loop), 0);

    static const char *const hosts[] = {"127.0.0.1", "[::1]"};
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        struct bench_server at;

        snprintf(at.address, sizeof(at.address), "%s:%u", hosts[i],
                 (unsigned)rpc_server_port(server));
        close(raw_greet(&at));
    }
    loop_stop(loop);
    pthread_join(thread, NULL);
    rpc_server_destroy(server);
    loop_destroy(loop);
}

static void
server_on_a_taken_port_is_unavailable(void **state)
{
    struct bench_server first = {0};
    struct rpc_server *second = NULL;

    bench_server_start(&first, 0);
    struct rpc_server_options options = {
        .address = first.address,
        .on_request = nothing_comes,
        .on_request_abandoned = nothing_comes,
    };
    assert_ok(loop_create(&options.loop));
    assert_int_equal(rpc_server_create(&options, &second), HOOP_E_UNAVAILABLE);
    assert_null(second);
    loop_destroy(options.loop);
    bench_server_stop(&first);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(server_answers_nngs_own_client),
        cmocka_unit_test(
            server_takes_large_bodies_of_nngs_client_that_has_proved),
        cmocka_unit_test(server_answers_pipelined_requests_of_nngs_client),
        cmocka_unit_test(server_serves_nngs_client_that_comes_back),
        cmocka_unit_test(server_takes_a_hello_however_it_is_cut),
        cmocka_unit_test(server_skips_what_a_stranger_may_not_send),
        cmocka_unit_test(
            server_refuses_what_it_would_have_to_park_beyond_its_limit),
        cmocka_unit_test(
            server_answers_requests_of_one_connection_out_of_order),
        cmocka_unit_test(server_survives_strangers),
        cmocka_unit_test(server_answers_garbage_with_invalid_argument),
        cmocka_unit_test(server_answers_unknown_methods_by_name),
        cmocka_unit_test(server_releases_many_parked_requests_at_once),
        cmocka_unit_test(server_gives_up_what_a_lost_connection_waited_for),
        cmocka_unit_test(server_full_of_parked_requests_says_so),
        cmocka_unit_test(server_drops_a_request_that_comes_too_late),
        cmocka_unit_test(server_drain_answers_who_waits_and_refuses_who_comes),
        cmocka_unit_test(server_lingers_only_where_somebody_is_connected),
        cmocka_unit_test(server_stops_while_requests_are_parked),
        cmocka_unit_test(server_any_address_serves_both_families),
        cmocka_unit_test(server_on_a_taken_port_is_unavailable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
