/*
 * tests/unit/common/rpc/rpc_listener_test.c - rpc/rpc_listener.c and
 * coordinator_connection.c, behind a server: clients who may, and others
 *
 * What a client that may does otherwise is in rpc_client_test.c, with "tls".
 */

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "certificates.h"
#include "check.h"
#include "error_words.h"
#include "net/socket.h"
#include "rpc/authentication.h"
#include "rpc/rpc_tls.h"
#include "rpc/sp_stream.h"
#include "rpc_bench.h"
#include "rpc_raw.h"
#include "wire/pack.h"

enum {
    REPLIES = 200,
    REPLY_BYTES = 64 * 1024,
};

static const struct tls_files by_token;

static void
server_start(struct bench_server *server,
             const struct tls_files *files,
             const char *secret)
{
    *server = (struct bench_server){0};
    assert_ok(rpc_tls_create_server(files, secret, &server->rpc_tls));
    server->secret = secret ? secret : "";
    bench_tls = NULL;
    bench_server_start(server, 0);
}

/* One call of a client of its own. */
static enum hoop_status
call_as(const struct bench_server *server,
        const struct tls_files *files,
        const char *token)
{
    struct bench_client bench;
    char out[64];

    bench_client_start_as(&bench, server->address, token, files);
    const enum hoop_status status =
        bench_call(&bench, "hoop.v1.Store/Get", "hello", out);
    if (status == HOOP_OK)
        assert_string_equal(out, "hello");
    bench_client_stop(&bench);
    return status;
}

/* ---- Who may. */

static void
listener_serves_who_knows_the_token(void **state)
{
    const struct tls_files good = certificates_of("good", "ca");
    struct bench_server server;
    char token[LIMIT_TOKEN];

    server_start(&server, &by_token, "secret");
    assert_ok(call_as(&server, &by_token, "secret"));
    assert_ok(role_derive_token(ROLE_OPERATOR, "secret", token));
    assert_ok(call_as(&server, &by_token, token));
    bench_wait_for(&server.n_gone, 2);
    assert_int_equal(bench_server_counters(&server).connections, 0);
    bench_server_stop(&server);

    server_start(&server, &good, "secret");
    assert_ok(call_as(&server, &good, "secret"));
    bench_server_stop(&server);
}

/* ---- Who may not, and is told at once. */

static void
listener_refuses_another_token(void **state)
{
    struct bench_server server;

    server_start(&server, &by_token, "secret");
    assert_int_equal(call_as(&server, &by_token, "other"),
                     HOOP_E_UNAUTHENTICATED);
    assert_words(server.address);
    assert_words("token");
    assert_int_equal(server.n_handled, 0);
    bench_server_stop(&server);
}

static void
listener_refuses_bad_certificates(void **state)
{
    const struct tls_files good = certificates_of("good", "ca");
    const struct tls_files bad = certificates_of("stranger", "ca");
    struct bench_server server;

    server_start(&server, &good, "secret");
    assert_int_equal(call_as(&server, &bad, "secret"), HOOP_E_UNAUTHENTICATED);
    assert_words("certificate");
    assert_int_equal(call_as(&server, &by_token, "secret"),
                     HOOP_E_UNAUTHENTICATED);
    assert_int_equal(server.n_handled, 0);
    bench_server_stop(&server);
}

static void
listener_with_a_bad_certificate_is_told_nothing(void **state)
{
    const struct tls_files good = certificates_of("good", "ca");
    const struct tls_files bad = certificates_of("stranger", "ca");
    struct bench_server server;

    server_start(&server, &bad, "secret");
    assert_int_equal(call_as(&server, &good, "secret"), HOOP_E_UNAUTHENTICATED);
    bench_server_stop(&server);

    server_start(&server, &good, "other");
    assert_int_equal(call_as(&server, &good, "secret"), HOOP_E_UNAUTHENTICATED);
    assert_words("does not know the token");
    assert_int_equal(server.n_handled, 0);
    bench_server_stop(&server);
}

static void
listener_refuses_a_client_without_tls(void **state)
{
    static const uint8_t alert[] = {21, 3, 3, 0, 2, 2, 40};
    struct bench_server server;
    uint8_t heard[sizeof(alert)];

    server_start(&server, &by_token, "secret");
    assert_int_equal(call_as(&server, NULL, "secret"), HOOP_E_UNAUTHENTICATED);
    assert_words("set HOOP_TLS=on here, too");

    const int fd = raw_connect(&server);
    raw_send(fd, sp_hello_request, SP_HELLO_BYTES);
    assert_int_equal(recv(fd, heard, sizeof(heard), MSG_WAITALL), 7);
    assert_memory_equal(heard, alert, sizeof(alert));
    assert_closed_by_server(fd);
    bench_server_stop(&server);
}

static void
client_under_tls_refuses_a_server_without(void **state)
{
    struct bench_server server = {0};

    bench_tls = NULL;
    bench_server_start(&server, 0);
    assert_int_equal(call_as(&server, &by_token, "secret"),
                     HOOP_E_UNAUTHENTICATED);
    assert_words("the coordinator does not speak TLS");
    bench_server_stop(&server);
}

/* ---- Strangers. */

static void
listener_survives_strangers(void **state)
{
    static const char http[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    static const char half[] = "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03";
    static const char long_record[] = "\x16\x03\x01\xff\xff\x01\x00\x01\xfc";
    static const char alert[] = "\x15\x03\x03\x00\x02\x02\x28";
    const struct message_span said[] = {
        {(const uint8_t *)http, sizeof(http) - 1},
        {(const uint8_t *)half, sizeof(half) - 1},
        {(const uint8_t *)long_record, sizeof(long_record) - 1},
        {(const uint8_t *)alert, sizeof(alert) - 1},
    };
    struct bench_server server;

    server_start(&server, &by_token, "secret");
    for (size_t i = 0; i < COUNT_OF(said); i++) {
        const int fd = raw_connect(&server);
        raw_send(fd, said[i].bytes, said[i].n_bytes);
        close(fd);
    }
    assert_ok(call_as(&server, &by_token, "secret"));
    bench_server_stop(&server);
}

/* Silent ones, one more than may be: exactly one of them is ended. Of which
 * one, connection_pool_test.c says: here they differ by less than the kernel
 * tells. */
static void
assert_crowd_loses_one(const struct bench_server *server)
{
    struct pollfd fds[LIMIT_HANDSHAKES + 1];

    for (size_t i = 0; i < COUNT_OF(fds); i++)
        fds[i] = (struct pollfd){.fd = raw_connect(server), .events = POLLIN};
    assert_int_equal(poll(fds, COUNT_OF(fds), BENCH_TIMEOUT_MS), 1);
    for (size_t i = 0; i < COUNT_OF(fds); i++) {
        if (fds[i].revents)
            assert_closed_by_server(fds[i].fd);
        else
            close(fds[i].fd);
    }
}

static void
listener_full_of_strangers_ends_one_of_them(void **state)
{
    struct bench_server server;

    server_start(&server, &by_token, "secret");
    assert_crowd_loses_one(&server);
    assert_ok(call_as(&server, &by_token, "secret"));
    bench_server_stop(&server);
}

/* Asks for ever, without reading a word, until it is not read any more either.
 * Returns how often. */
static uint64_t
ask_until_stuck(int fd)
{
    const uint8_t nothing[200] = {0xc0};
    uint8_t ask[SP_HEADER_BYTES + sizeof(nothing)];
    uint64_t n = 0;

    sp_header_encode(1, sizeof(nothing), ask);
    memcpy(ask + SP_HEADER_BYTES, nothing, sizeof(nothing));
    for (;;) {
        struct pollfd at = {.fd = fd, .events = POLLOUT};

        if (poll(&at, 1, 300) == 0)
            return n;
        const ssize_t n_sent =
            send(fd, ask, sizeof(ask), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n_sent > 0 && (size_t)n_sent < sizeof(ask))
            raw_send(fd, ask + n_sent, sizeof(ask) - (size_t)n_sent);
        n += n_sent > 0;
    }
}

/* Nothing is left of what may be held for it when it asks more. */
static void
listener_holds_one_refusal_for_who_reads_none(void **state)
{
    const struct raw_request wait = {"hoop.v1.Store/Wait", 1, 60000};
    struct bench_server server = {.auth_timeout_ms = 60000};
    struct rpc_server_counters counters;

    bench_tls = NULL;
    bench_server_start(&server, 0);
    const int fd = raw_greet(&server);
    while ((counters = bench_server_counters(&server)).requests_refused == 0)
        raw_ask(fd, &wait);
    const uint64_t n_parked = counters.requests_parked;
    const uint64_t n_asked = ask_until_stuck(fd);

    assert_int_equal(bench_server_counters(&server).replies_waiting, 1);
    /* Once it reads it is read, too: each is answered. */
    for (uint64_t i = 0; i < n_asked; i++)
        assert_int_not_equal(raw_hear(fd).status, HOOP_OK);
    assert_true(n_parked > 50);
    close(fd);
    bench_server_stop(&server);
}

/* ---- A client by hand. */

struct hand {
    struct rpc_tls *rpc_tls;
    struct control_stream control_stream;
    struct sp_reader reader;
};

static void
hand_wait(const struct hand *hand, short events)
{
    struct pollfd at = {.fd = hand->control_stream.fd, .events = events};

    assert_int_equal(poll(&at, 1, BENCH_TIMEOUT_MS), 1);
}

static void
hand_open(struct hand *hand, const struct bench_server *server)
{
    struct address address;
    enum hoop_status status;

    *hand = (struct hand){0};
    assert_ok(address_parse(server->address, &address));
    assert_ok(socket_connect(&address, &hand->control_stream.fd));
    hand_wait(hand, POLLOUT);
    assert_ok(rpc_tls_create_client(&by_token, "secret", &hand->rpc_tls));
    assert_ok(rpc_tls_connect(hand->rpc_tls, hand->control_stream.fd,
                              &hand->control_stream.tls));
    while ((status = rpc_tls_handshake(hand->control_stream.tls)) ==
           HOOP_E_PENDING)
        hand_wait(hand, POLLIN);
    assert_ok(status);
}

static void
hand_close(struct hand *hand)
{
    control_stream_close(&hand->control_stream);
    sp_reader_deinit(&hand->reader);
    rpc_tls_destroy(hand->rpc_tls);
}

static void
hand_send(struct hand *hand, const void *bytes, size_t n_bytes)
{
    const struct iovec span = {(void *)(uintptr_t)bytes, n_bytes};
    size_t n = 0;

    assert_ok(control_stream_send(&hand->control_stream, &span, 1, &n));
    assert_int_equal(n, n_bytes);
    while (control_stream_flush(&hand->control_stream) == HOOP_E_PENDING)
        hand_wait(hand, POLLOUT);
}

/* Some more; HOOP_E_UNAVAILABLE: the end. */
static enum hoop_status
hand_read(struct hand *hand)
{
    uint8_t *bytes;
    size_t n_room;
    size_t n = 0;
    enum hoop_status status;

    assert_ok(sp_reader_reserve(&hand->reader, &bytes, &n_room));
    while ((status = control_stream_receive(&hand->control_stream, bytes,
                                            n_room, &n)) == HOOP_E_PENDING)
        hand_wait(hand, POLLIN);
    sp_reader_commit(&hand->reader, n);
    return status;
}

static void
hand_ask_bytes(struct hand *hand,
               uint32_t id,
               const char *method,
               struct message_span body);
static void
hand_hear_reply(struct hand *hand, struct envelope_reply *out_reply);

static void
hand_hello(struct hand *hand)
{
    hand_send(hand, sp_hello_request, SP_HELLO_BYTES);
    while (sp_reader_read_server_hello(&hand->reader) == HOOP_E_PENDING)
        assert_ok(hand_read(hand));
}

/* Who has said hello is none of those whose handshakes are too many, though he
 * has been silent for longer than they. */
static void
listener_full_of_handshakes_ends_one_of_them(void **state)
{
    struct bench_server server;
    struct hand hand;

    server_start(&server, &by_token, "secret");
    hand_open(&hand, &server);
    hand_hello(&hand);
    assert_crowd_loses_one(&server);
    assert_int_equal(
        poll(&(struct pollfd){.fd = hand.control_stream.fd, .events = POLLIN},
             1, 0),
        0);
    hand_close(&hand);
    bench_server_stop(&server);
}

/* Both hellos, and both proofs. */
static void
hand_greet(struct hand *hand)
{
    struct authentication auth = {.n_binding = TLS_BINDING_BYTES};
    struct auth_challenge_request challenge;
    struct auth_challenge_reply answer;
    struct auth_prove_request proof;
    struct envelope_reply reply;
    struct auth_keys keys;

    hand_hello(hand);
    assert_ok(auth_keys_init_client(&keys, "secret"));
    assert_ok(tls_channel_binding(hand->control_stream.tls, auth.binding));
    assert_ok(auth_client_begin(&auth, &keys, &challenge));
    struct pack pack;
    uint8_t *bytes;
    size_t n_bytes;
    pack_init(&pack, LIMIT_RPC_BODY);
    auth_challenge_request_encode(&challenge, &pack);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    hand_ask_bytes(hand, 0, "hoop.v1.Auth/Challenge",
                   (struct message_span){bytes, n_bytes});
    free(bytes);
    pack_deinit(&pack);
    hand_hear_reply(hand, &reply);
    assert_ok(auth_challenge_reply_decode(reply.body, &answer));
    assert_ok(auth_client_prove(&auth, &keys, &answer, &proof));
    pack_init(&pack, LIMIT_RPC_BODY);
    auth_prove_request_encode(&proof, &pack);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    hand_ask_bytes(hand, 0, "hoop.v1.Auth/Prove",
                   (struct message_span){bytes, n_bytes});
    free(bytes);
    pack_deinit(&pack);
    hand_hear_reply(hand, &reply);
    assert_int_equal(reply.body.n_bytes, 0);
}

static void
hand_ask_bytes(struct hand *hand,
               uint32_t id,
               const char *method,
               struct message_span body)
{
    const struct envelope_request base = {
        .client = {"a client by hand"},
        .id = id,
        .deadline_ms = BENCH_TIMEOUT_MS,
        .body = body,
    };
    struct envelope_request request = base;
    uint8_t header[SP_HEADER_BYTES];
    uint8_t *bytes = NULL;
    size_t n_bytes = 0;

    memcpy(request.method, method, strlen(method) + 1);
    assert_ok(envelope_request_encode(&request, &bytes, &n_bytes));
    sp_header_encode(id, n_bytes, header);
    hand_send(hand, header, sizeof(header));
    hand_send(hand, bytes, n_bytes);
    free(bytes);
}

static void
hand_ask(struct hand *hand, uint32_t id, const char *method, size_t n_body)
{
    uint8_t *body = calloc(1, n_body + 1);

    assert_non_null(body);
    hand_ask_bytes(hand, id, method, (struct message_span){body, n_body});
    free(body);
}

static void
hand_hear_reply(struct hand *hand, struct envelope_reply *out_reply)
{
    struct sp_frame frame;

    while (sp_reader_next_frame(&hand->reader, &frame) == HOOP_E_PENDING)
        assert_ok(hand_read(hand));
    assert_ok(envelope_reply_decode(frame.body, out_reply));
    assert_ok(out_reply->status);
    assert_int_equal(out_reply->id, frame.id);
}

static uint32_t
hand_hear(struct hand *hand, size_t *out_n_body)
{
    struct envelope_reply reply;

    hand_hear_reply(hand, &reply);
    *out_n_body = reply.body.n_bytes;
    return (uint32_t)reply.id;
}

/* A server, and a hand that it has greeted. */
static void
hand_begin(struct hand *hand, struct bench_server *server)
{
    server_start(server, &by_token, "secret");
    hand_open(hand, server);
    hand_greet(hand);
}

/* More than a socket takes: ids from first to REPLIES. */
static void
hand_ask_much(struct hand *hand, struct bench_server *server, uint32_t first)
{
    for (uint32_t id = first; id <= REPLIES; id++)
        hand_ask(hand, id, "hoop.v1.Store/Get", REPLY_BYTES);
    bench_wait_for(&server->n_handled, REPLIES);
}

static void
listener_answers_out_of_order(void **state)
{
    struct bench_server server;
    struct hand hand;
    size_t n;

    hand_begin(&hand, &server);
    hand_ask(&hand, 1, "hoop.v1.Store/Wait", 4);
    hand_ask(&hand, 2, "hoop.v1.Store/Get", 5);
    assert_int_equal(hand_hear(&hand, &n), 2);
    assert_int_equal(n, 5);
    hand_ask(&hand, 3, "hoop.v1.Store/Set", 0);
    assert_int_equal(hand_hear(&hand, &n), 1);
    assert_int_equal(hand_hear(&hand, &n), 3);
    assert_int_equal(bench_server_counters(&server).connections, 1);
    hand_close(&hand);
    bench_server_stop(&server);
}

/* More than its socket takes waits for it, and others do not. */
static void
listener_keeps_replies_for_a_slow_reader(void **state)
{
    struct bench_server server;
    struct hand hand;

    hand_begin(&hand, &server);
    hand_ask_much(&hand, &server, 1);
    assert_ok(call_as(&server, &by_token, "secret"));
    for (uint32_t id = 1; id <= REPLIES; id++) {
        size_t n;
        assert_int_equal(hand_hear(&hand, &n), id);
        assert_int_equal(n, REPLY_BYTES);
    }
    hand_close(&hand);
    bench_server_stop(&server);
}

/* It leaves with replies that wait, and with one that is parked. */
static void
listener_forgets_a_client_that_leaves(void **state)
{
    struct bench_server server;
    struct hand hand;

    hand_begin(&hand, &server);
    hand_ask(&hand, 1, "hoop.v1.Store/Wait", 4);
    bench_wait_for(&server.n_parked, 1);
    hand_ask_much(&hand, &server, 2);
    hand_close(&hand);
    bench_wait_for(&server.n_gone, 1);
    assert_int_equal(server.n_abandoned, 1);
    assert_int_equal(bench_server_counters(&server).connections, 0);
    bench_server_drain(&server, BENCH_TIMEOUT_MS);
    bench_server_stop(&server);
}

/* What is held back for a client that has gone is sent to nobody. */
static void
listener_reply_to_nobody_is_dropped(void **state)
{
    struct bench_server server;
    struct hand hand;

    hand_begin(&hand, &server);
    atomic_store(&server.barrier, 1);
    hand_ask(&hand, 1, "hoop.v1.Store/Get", 4);
    bench_wait_for(&server.n_handled, 1);
    hand_close(&hand);
    bench_wait_for(&server.n_gone, 1);
    bench_server_release(&server, 1);
    atomic_store(&server.barrier, 0);
    assert_ok(call_as(&server, &by_token, "secret"));
    bench_server_stop(&server);
}

/* Who knows the token may still say what is no hello, or too much. */
static void
listener_closes_a_client_that_speaks_otherwise(void **state)
{
    static const char oversize[] = "\0\0\1\0\0\0\0\0\x80\0\0\1";
    struct bench_server server;
    struct hand hand;

    server_start(&server, &by_token, "secret");
    hand_open(&hand, &server);
    hand_send(&hand, "GET / HTTP/1.1\r\n\r\n", 18);
    while (hand_read(&hand) == HOOP_OK)
        continue;
    hand_close(&hand);

    hand_open(&hand, &server);
    hand_greet(&hand);
    hand_send(&hand, oversize, sizeof(oversize) - 1);
    while (hand_read(&hand) == HOOP_OK)
        continue;
    hand_close(&hand);
    assert_ok(call_as(&server, &by_token, "secret"));
    bench_server_stop(&server);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listener_serves_who_knows_the_token),
        cmocka_unit_test(listener_refuses_another_token),
        cmocka_unit_test(listener_refuses_bad_certificates),
        cmocka_unit_test(listener_with_a_bad_certificate_is_told_nothing),
        cmocka_unit_test(listener_refuses_a_client_without_tls),
        cmocka_unit_test(client_under_tls_refuses_a_server_without),
        cmocka_unit_test(listener_survives_strangers),
        cmocka_unit_test(listener_full_of_strangers_ends_one_of_them),
        cmocka_unit_test(listener_full_of_handshakes_ends_one_of_them),
        cmocka_unit_test(listener_holds_one_refusal_for_who_reads_none),
        cmocka_unit_test(listener_answers_out_of_order),
        cmocka_unit_test(listener_keeps_replies_for_a_slow_reader),
        cmocka_unit_test(listener_forgets_a_client_that_leaves),
        cmocka_unit_test(listener_reply_to_nobody_is_dropped),
        cmocka_unit_test(listener_closes_a_client_that_speaks_otherwise),
    };

    return cmocka_run_group_tests(tests, certificates_make,
                                  certificates_remove);
}
