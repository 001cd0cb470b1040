/* tests/unit/server/http/http_test.c - http/http.c over raw sockets */

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "check.h"
#include "http/http.h"
#include "http_client.h"

enum {
    ANSWER_MAX = 16 * 1024,
    WAIT_MS = 10000,
    HASTY_MS = 2000,
    DRIP_MS = 50,
};

struct fixture {
    struct http *http;
    bool is_ready;
    enum role role; /* of who shows no token */
};

static const char *
fixture_unready_text(void *owner)
{
    const struct fixture *fixture = owner;

    return fixture->is_ready ? NULL : "draining: it ends\n";
}

static void
fixture_write_metrics(void *owner, FILE *out)
{
    fprintf(out, "hoop_jobs 3\n");
}

static enum role
fixture_role_of(void *owner, const char *token)
{
    const struct fixture *fixture = owner;

    return token[0] ? client_token_role(token) : fixture->role;
}

static int
setup_patient(void **state, int timeout_ms)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));

    fixture->is_ready = true;
    fixture->role = ROLE_METRICS;
    assert_ok(http_create(
        &(struct http_options){
            .listen = "127.0.0.1:0",
            .unready_text = fixture_unready_text,
            .write_metrics = fixture_write_metrics,
            .token_role_of = fixture_role_of,
            .owner = fixture,
            .timeout_ms = timeout_ms,
        },
        &fixture->http));
    *state = fixture;
    return 0;
}

/* Nobody is cut for being slow: this machine may be, too. */
static int
setup(void **state)
{
    return setup_patient(state, 10 * WAIT_MS);
}

static int
setup_hasty(void **state)
{
    return setup_patient(state, HASTY_MS);
}

static int
teardown(void **state)
{
    struct fixture *fixture = *state;

    http_destroy(fixture->http);
    free(fixture);
    return 0;
}

static int
client_connect(const struct fixture *fixture)
{
    return client_connect_to(fixture->http, 0);
}

static void
client_send(int fd, const char *text, size_t n_bytes)
{
    /* It may be closed half-way: that is what some of the tests want. */
    if (send(fd, text, n_bytes, MSG_NOSIGNAL) < 0)
        return;
}

/* All until the server closes; -1 if it does not within the time. */
static int
client_read(int fd, char answer[ANSWER_MAX])
{
    return client_read_until(fd, NULL, WAIT_MS, ANSWER_MAX, answer)
               ? (int)strlen(answer)
               : -1;
}

static void
ask(const struct fixture *fixture, const char *request, char answer[ANSWER_MAX])
{
    const int fd = client_connect(fixture);

    client_send(fd, request, strlen(request));
    assert_true(client_read(fd, answer) >= 0);
    close(fd);
}

static void
assert_begins(const char *text, const char *beginning)
{
    assert_memory_equal(text, beginning, strlen(beginning));
}

static void
health_and_readiness_are_told_apart(void **state)
{
    struct fixture *fixture = *state;
    char answer[ANSWER_MAX];

    ask(fixture, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", answer);
    assert_begins(answer, "HTTP/1.1 200 ");
    assert_non_null(strstr(answer, "\r\n\r\nok\n"));
    ask(fixture, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n", answer);
    assert_begins(answer, "HTTP/1.1 200 ");
}

static void
draining_server_is_healthy_but_not_ready(void **state)
{
    struct fixture *fixture = *state;
    char answer[ANSWER_MAX];

    fixture->is_ready = false;
    ask(fixture, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", answer);
    assert_begins(answer, "HTTP/1.1 200 ");
    ask(fixture, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n", answer);
    assert_begins(answer, "HTTP/1.1 503 ");
    assert_non_null(strstr(answer, "\r\n\r\ndraining: it ends\n"));
}

static void
metrics_come_from_the_owner(void **state)
{
    char answer[ANSWER_MAX];

    ask(*state, "GET /metrics HTTP/1.0\r\n\r\n", answer);
    assert_begins(answer, "HTTP/1.1 200 ");
    assert_non_null(strstr(answer, "text/plain; version=0.0.4"));
    assert_non_null(strstr(answer, "\r\n\r\nhoop_jobs 3\n"));
}

static void
metrics_want_a_token_where_there_is_one(void **state)
{
    struct fixture *fixture = *state;
    static const char *const wrong[] = {
        "",
        "Authorization: Bearer guessed\r\n",
        "Authorization: Basic figures\r\n",
        "Authorization: figures\r\n",
    };
    char request[256];
    char answer[ANSWER_MAX];

    fixture->role = ROLE_ANYBODY;
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        snprintf(request, sizeof(request),
                 "GET /metrics HTTP/1.1\r\nHost: x\r\n%s\r\n", wrong[i]);
        ask(fixture, request, answer);
        assert_begins(answer, "HTTP/1.1 401 ");
        assert_non_null(strstr(answer, "WWW-Authenticate: Bearer\r\n"));
        assert_non_null(strstr(answer, "role metrics"));
        assert_null(strstr(answer, "hoop_jobs"));
    }
    ask(fixture,
        "GET /metrics HTTP/1.1\r\nHost: x\r\n"
        "authorization: bearer figures\r\n\r\n",
        answer);
    assert_begins(answer, "HTTP/1.1 200 ");
    ask(fixture, "GET /metrics HTTP/1.1\r\nAuthorization: Bearer looks\r\n\r\n",
        answer);
    assert_begins(answer, "HTTP/1.1 200 ");
    /* Probes have none. */
    health_and_readiness_are_told_apart(state);
}

/* Who scrapes figures must not be able to join the job. */
static void
jobs_own_token_is_refused(void **state)
{
    char answer[ANSWER_MAX];

    ask(*state, "GET /metrics HTTP/1.1\r\nAuthorization: Bearer secret\r\n\r\n",
        answer);
    assert_begins(answer, "HTTP/1.1 403 ");
    assert_non_null(strstr(answer, "hoopctl token metrics"));
    assert_null(strstr(answer, "hoop_jobs"));
    assert_null(strstr(answer, "secret"));
}

static void
head_has_no_body(void **state)
{
    char answer[ANSWER_MAX];

    ask(*state, "HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n", answer);
    assert_begins(answer, "HTTP/1.1 200 ");
    assert_null(strstr(answer, "\r\n\r\no"));
}

static void
other_path_is_not_found(void **state)
{
    char answer[ANSWER_MAX];

    ask(*state, "GET /../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", answer);
    assert_begins(answer, "HTTP/1.1 404 ");
    assert_non_null(strstr(answer, "/healthz"));
}

static void
other_method_is_refused(void **state)
{
    char answer[ANSWER_MAX];

    ask(*state,
        "POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
        answer);
    assert_begins(answer, "HTTP/1.1 405 ");
    assert_non_null(strstr(answer, "Allow: GET, HEAD\r\n"));
}

static void
header_too_large_is_refused(void **state)
{
    const int fd = client_connect(*state);
    char answer[ANSWER_MAX];
    char padding[1024];

    memset(padding, 'h', sizeof(padding));
    client_send(fd, "GET /healthz HTTP/1.1\r\nX: ", 26);
    for (int i = 0; i < 2 * LIMIT_HTTP_HEADERS / 1024; i++)
        client_send(fd, padding, sizeof(padding));
    /* The answer, or a reset because we were still sending. */
    if (client_read(fd, answer) > 0)
        assert_begins(answer, "HTTP/1.1 431 ");
    close(fd);
    health_and_readiness_are_told_apart(state);
}

static void
body_too_large_is_refused(void **state)
{
    char answer[ANSWER_MAX];

    ask(*state,
        "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 4294967296\r\n\r\n"
        "body",
        answer);
    assert_null(strstr(answer, "\r\n\r\nok\n"));
    health_and_readiness_are_told_apart(state);
}

static void
garbage_closes_its_own_connection_only(void **state)
{
    static const char *const garbage[] = {
        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        "\x00SP\x00\x00\x30\x00\x00\r\n\r\n",
        "GET\r\n\r\n",
        "GET /healthz HTTP/9.9\r\n\r\n",
        "\r\n\r\n\r\n\r\n",
    };
    char answer[ANSWER_MAX];

    for (size_t i = 0; i < COUNT_OF(garbage); i++) {
        const int fd = client_connect(*state);

        client_send(fd, garbage[i], strlen(garbage[i]) + 1);
        shutdown(fd, SHUT_WR);
        assert_true(client_read(fd, answer) >= 0);
        assert_null(strstr(answer, "\r\n\r\nok\n"));
        close(fd);
    }
    health_and_readiness_are_told_apart(state);
}

/* A byte every now and then, until it is closed; false: it never is. */
static bool
client_drips(int fd)
{
    const uint64_t deadline_ns = clock_deadline_ns(WAIT_MS);
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};

    while (poll(&poll_fd, 1, DRIP_MS) == 0) {
        if (clock_is_past(deadline_ns))
            return false;
        client_send(fd, "h", 1);
    }
    return true;
}

static void
silent_or_dripping_client_is_closed_and_disturbs_nobody(void **state)
{
    const int silent = client_connect(*state);
    const int slow = client_connect(*state);
    const int dripping = client_connect(*state);
    char answer[ANSWER_MAX];

    client_send(slow, "GET /heal", 9);
    client_send(dripping, "GET /healthz HTTP/1.1\r\nX: ", 26);
    health_and_readiness_are_told_apart(state);
    assert_true(client_drips(dripping));
    assert_int_equal(client_read(silent, answer), 0);
    assert_true(client_read(slow, answer) >= 0);
    close(silent);
    close(slow);
    close(dripping);
}

static void
oldest_of_too_many_clients_makes_room(void **state)
{
    static const char request[] = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    int held[LIMIT_HTTP_CONNECTIONS];
    char answer[ANSWER_MAX];

    for (size_t i = 0; i < COUNT_OF(held); i++) {
        held[i] = client_connect(*state);
        /* Who says nothing is not even accepted. */
        client_send(held[i], request, 1);
    }
    ask(*state, request, answer);
    assert_begins(answer, "HTTP/1.1 200 ");
    assert_int_equal(client_read(held[0], answer), 0);

    /* No other had to go, and those that were served take no room. */
    for (size_t i = 1; i < COUNT_OF(held); i++) {
        client_send(held[i], request + 1, sizeof(request) - 2);
        assert_true(client_read(held[i], answer) > 0);
        assert_begins(answer, "HTTP/1.1 200 ");
        ask(*state, request, answer);
        assert_begins(answer, "HTTP/1.1 200 ");
    }
    for (size_t i = 0; i < COUNT_OF(held); i++)
        close(held[i]);
}

static void
address_in_use_is_unavailable(void **state)
{
    const struct fixture *fixture = *state;
    struct http *second = NULL;

    assert_int_equal(http_create(
                         &(struct http_options){
                             .listen = http_address(fixture->http),
                             .unready_text = fixture_unready_text,
                             .write_metrics = fixture_write_metrics,
                             .owner = *state,
                         },
                         &second),
                     HOOP_E_UNAVAILABLE);
    assert_null(second);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(health_and_readiness_are_told_apart,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            draining_server_is_healthy_but_not_ready, setup, teardown),
        cmocka_unit_test_setup_teardown(metrics_come_from_the_owner, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(metrics_want_a_token_where_there_is_one,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(jobs_own_token_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(head_has_no_body, setup, teardown),
        cmocka_unit_test_setup_teardown(other_path_is_not_found, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(other_method_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(header_too_large_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(body_too_large_is_refused, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(garbage_closes_its_own_connection_only,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            silent_or_dripping_client_is_closed_and_disturbs_nobody,
            setup_hasty, teardown),
        cmocka_unit_test_setup_teardown(oldest_of_too_many_clients_makes_room,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(address_in_use_is_unavailable, setup,
                                        teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
