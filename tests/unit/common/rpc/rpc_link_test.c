/* tests/unit/common/rpc/rpc_link_test.c - rpc/rpc_link.c and false servers */

#include <poll.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "check.h"
#include "error_words.h"
#include "net/socket.h"
#include "rpc_bench.h"

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

    assert_int_equal(address_parse("127.0.0.1:0", &address), HOOP_OK);
    assert_int_equal(socket_listen(&address, 8, &server.listener), HOOP_OK);
    assert_int_equal(socket_local_address(server.listener, &address), HOOP_OK);
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

    (void)state;
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
    (void)state;
    assert_server_is_refused("", 0, "no answer to hoop.v1.Store/Get");
    assert_server_is_refused("", 0, "does not say hello");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(link_names_a_false_server),
        cmocka_unit_test(link_to_a_silent_server_runs_into_the_deadline),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
