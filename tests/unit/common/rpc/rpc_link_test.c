/* tests/unit/common/rpc/rpc_link_test.c - rpc/rpc_link.c and false servers */

#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "check.h"
#include "error_words.h"
#include "net/socket.h"
#include "rpc/authentication.h"
#include "rpc/envelope.h"
#include "rpc/sp_stream.h"
#include "rpc_bench.h"
#include "wire/pack.h"

/* Says the same to everybody who connects. */
struct false_server {
    const char *bytes;
    size_t n_bytes;
    int listener;
    atomic_bool is_over;
    pthread_t thread;
};

static void *
false_server_run(void *owner)
{
    struct false_server *server = owner;
    struct pollfd at = {.fd = server->listener, .events = POLLIN};
    struct address peer;
    int last = -1;

    while (!atomic_load(&server->is_over)) {
        int fd;

        poll(&at, 1, 10);
        if (socket_accept(server->listener, &fd, &peer) != HOOP_OK)
            continue;
        socket_close(last);
        last = fd;
        if (send(fd, server->bytes, server->n_bytes, MSG_NOSIGNAL) < 0)
            break;
    }
    socket_close(last);
    return NULL;
}

/* Whether the reason was found out within the time. */
static bool
server_is_refused(const char *address, const char *reason, uint64_t timeout_ms)
{
    struct bench_client client;
    const struct rpc_call call = {
        .method = "hoop.v1.Store/Get",
        .timeout_ms = timeout_ms,
    };

    bench_client_start(&client, address);
    assert_int_not_equal(rpc_client_call_wait(client.client, &call, NULL, NULL),
                         HOOP_OK);
    const bool is_told = strstr(error_text(), reason) != NULL;
    bench_client_stop(&client);
    return is_told;
}

/* On a busy machine that takes longer. */
static void
assert_server_is_refused(const char *bytes, size_t n_bytes, const char *reason)
{
    struct false_server server = {.bytes = bytes, .n_bytes = n_bytes};
    struct address address;
    char text[LIMIT_ADDRESS];

    assert_ok(address_parse("127.0.0.1:0", &address));
    assert_ok(socket_listen(&address, 8, &server.listener));
    assert_ok(socket_local_address(server.listener, &address));
    assert_int_equal(
        pthread_create(&server.thread, NULL, false_server_run, &server), 0);

    address_format(&address, text);
    if (!server_is_refused(text, reason, 200) &&
        !server_is_refused(text, reason, 5000))
        assert_words(reason);
    atomic_store(&server.is_over, true);
    pthread_join(server.thread, NULL);
    socket_close(server.listener);
}

static void
link_names_a_false_server(void **state)
{
    static const char http[] = "HTTP/1.1 400 Bad Request\r\n\r\n";
    static const char other_protocol[] = "\0SP\0\0\x30\0\0";
    static const char oversize[] = "\0SP\0\0\x31\0\0"
                                   "\0\0\1\0\0\0\0\0\x80\0\0\1";
    static const char no_id[] = "\0SP\0\0\x31\0\0"
                                "\0\0\0\0\0\0\0\x05\0\0\0\1\xc0";
    static const char no_envelope[] = "\0SP\0\0\x31\0\0"
                                      "\0\0\0\0\0\0\0\x05\x80\0\0\1\xc1";

    assert_server_is_refused(http, sizeof(http) - 1, "no hoop coordinator");
    assert_server_is_refused(other_protocol, sizeof(other_protocol) - 1,
                             "no hoop coordinator");
    assert_server_is_refused(oversize, sizeof(oversize) - 1,
                             "announces a message of");
    assert_server_is_refused(no_id, sizeof(no_id) - 1, "no request id");
    assert_server_is_refused(no_envelope, sizeof(no_envelope) - 1,
                             "no complete value");
}

static void
link_to_a_silent_server_runs_into_the_deadline(void **state)
{
    assert_server_is_refused("", 0,
                             " s: it accepts connections but does not say "
                             "hello: is a hoop coordinator there?");
}

/* ---- Who answers on the coordinator's port and does not know the token. */

/* Of a client with a token: all that it says to who does not prove that he
 * knows it, until it closes. */
struct heard {
    int listener;
    struct message_span reply; /* to the first request; frame id and all */
    uint8_t bytes[4096];
    size_t n_bytes;
};

static void *
impostor_run(void *owner)
{
    struct heard *heard = owner;
    struct pollfd at = {.fd = heard->listener, .events = POLLIN};
    bool has_answered = false;
    struct address peer;
    int fd = -1;
    ssize_t n;

    assert_int_equal(poll(&at, 1, BENCH_TIMEOUT_MS), 1);
    assert_ok(socket_accept(heard->listener, &fd, &peer));
    assert_int_equal(send(fd, sp_hello_reply, SP_HELLO_BYTES, MSG_NOSIGNAL),
                     SP_HELLO_BYTES);
    at.fd = fd;
    while (poll(&at, 1, BENCH_TIMEOUT_MS) == 1 &&
           (n = recv(fd, heard->bytes + heard->n_bytes,
                     sizeof(heard->bytes) - heard->n_bytes, 0)) > 0) {
        heard->n_bytes += (size_t)n;
        if (!has_answered && heard->n_bytes > SP_HELLO_BYTES &&
            send(fd, heard->reply.bytes, heard->reply.n_bytes, MSG_NOSIGNAL) <
                0)
            break;
        has_answered = heard->n_bytes > SP_HELLO_BYTES;
    }
    socket_close(fd);
    return NULL;
}

static void
assert_impostor_learns_nothing(const struct envelope_reply *reply,
                               const char *words)
{
    static const char token[] = "a token of which nothing is told";
    struct heard heard = {0};
    struct bench_client client;
    struct address address;
    char text[LIMIT_ADDRESS];
    uint8_t answer[512];
    uint8_t *bytes = NULL;
    size_t n_bytes = 0;
    pthread_t thread;
    char out[64];

    assert_ok(envelope_reply_encode(reply, &bytes, &n_bytes));
    assert_true(n_bytes + SP_HEADER_BYTES <= sizeof(answer));
    sp_header_encode(0, n_bytes, answer);
    memcpy(answer + SP_HEADER_BYTES, bytes, n_bytes);
    free(bytes);
    heard.reply = (struct message_span){answer, n_bytes + SP_HEADER_BYTES};
    assert_ok(address_parse("127.0.0.1:0", &address));
    assert_ok(socket_listen(&address, 8, &heard.listener));
    assert_ok(socket_local_address(heard.listener, &address));
    assert_int_equal(pthread_create(&thread, NULL, impostor_run, &heard), 0);
    address_format(&address, text);

    bench_client_start_as(&client, text, token, NULL);
    assert_int_equal(bench_call(&client, "hoop.v1.Store/Set", "a value", out),
                     HOOP_E_UNAUTHENTICATED);
    assert_words(words);
    bench_client_stop(&client);
    pthread_join(thread, NULL);
    socket_close(heard.listener);
    /* No token, no call, no value, no proof. */
    assert_null(memmem(heard.bytes, heard.n_bytes, token, 8));
    assert_null(memmem(heard.bytes, heard.n_bytes, "Store", 5));
    assert_null(memmem(heard.bytes, heard.n_bytes, "a value", 7));
    assert_null(memmem(heard.bytes, heard.n_bytes, "Auth/Prove", 10));
    assert_non_null(memmem(heard.bytes, heard.n_bytes, "Auth/Challenge", 14));
}

static void
link_with_a_token_tells_an_impostor_nothing(void **state)
{
    struct auth_challenge_reply guess;
    struct envelope_reply reply = {0};
    struct pack pack;
    uint8_t *body = NULL;
    size_t n_body = 0;

    memset(&guess, 7, sizeof(guess));
    pack_init(&pack, LIMIT_RPC_BODY);
    auth_challenge_reply_encode(&guess, &pack);
    assert_ok(pack_take(&pack, &body, &n_body));
    pack_deinit(&pack);
    reply.body = (struct message_span){body, n_body};
    assert_impostor_learns_nothing(&reply, "does not know the token");
    free(body);
}

/* One that says it needs none, knows none, or has never heard of any. */
static void
link_with_a_token_is_not_talked_out_of_it(void **state)
{
    static const struct envelope_reply replies[] = {
        {.status = HOOP_E_PRECONDITION, .message = "has no token"},
        {.status = HOOP_E_UNIMPLEMENTED, .message = "no such method"},
        {.version = 1,
         .status = HOOP_E_UNIMPLEMENTED,
         .message = "the request is of protocol version 2"},
        {.version = 3, .status = HOOP_E_UNIMPLEMENTED, .message = "other"},
    };
    static const char *const words[] = {"has no token", "no such method",
                                        "version 1", "version 3"};

    for (size_t i = 0; i < COUNT_OF(replies); i++)
        assert_impostor_learns_nothing(&replies[i], words[i]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(link_names_a_false_server),
        cmocka_unit_test(link_to_a_silent_server_runs_into_the_deadline),
        cmocka_unit_test(link_with_a_token_tells_an_impostor_nothing),
        cmocka_unit_test(link_with_a_token_is_not_talked_out_of_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
