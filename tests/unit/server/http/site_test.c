/* tests/unit/server/http/site_test.c - the page over raw sockets: http/site.c, feed.c, session.c */

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/limits.h"
#include "check.h"
#include "http/http.h"
#include "http/session.h"
#include "http_client.h"

enum {
    ANSWER_MAX = 256 * 1024,
    REQUEST_MAX = 1024,
    /* A large answer has more bytes than may wait for a stream. */
    LARGE_ROWS = 48,
    LARGE_ROW_BYTES = 128 * 1024,
    LARGE_BYTES = LARGE_ROWS * LARGE_ROW_BYTES,
    KERNEL_BYTES = 8 * 1024 * 1024, /* that the kernel may hold */
    WAIT_MS = 30000,
};

struct fixture {
    struct http *_Atomic http; /* used by its own thread, too */
    atomic_int n_queries;
    atomic_bool is_large; /* jobs have large answers, of which each row differs
                             from that of the answer before */
    atomic_bool is_last;  /* and now they say that they are the last */
    char answer[ANSWER_MAX];
};

static const char *
fixture_unready_text(void *owner)
{
    (void)owner;
    return NULL;
}

static void
fixture_write_metrics(void *owner, FILE *out)
{
    (void)owner;
    fprintf(out, "hoop_jobs 3\n");
}

static enum role
fixture_role_of(void *owner, const char *token)
{
    (void)owner;
    return client_token_role(token);
}

static char *
large_answer(const struct fixture *fixture, uint64_t number)
{
    char *json = NULL;
    size_t n_json = 0;
    FILE *out = open_memstream(&json, &n_json);

    fputs("{\"ranks\":[", out);
    for (int i = 0; i < LARGE_ROWS; i++)
        fprintf(out, "%s\n{\"row\":\"%d %s\",\"n\":%d%*s}", i > 0 ? "," : "", i,
                atomic_load(&fixture->is_last) ? "last" : "", (int)number,
                LARGE_ROW_BYTES, "");
    fputs("\n]}", out);
    fclose(out);
    return json;
}

/* Answers at once. */
static bool
fixture_query(void *owner, uint64_t number, const char *job)
{
    struct fixture *fixture = owner;
    char *json = NULL;

    atomic_fetch_add(&fixture->n_queries, 1);
    if (atomic_load(&fixture->is_large) && job[0])
        json = large_answer(fixture, number);
    else
        assert_true(asprintf(&json, "{\"asked\":\"%s\"}", job) > 0);
    http_answer_query(fixture->http, number,
                      strcmp(job, "gone") == 0 ? HOOP_E_NOT_FOUND : HOOP_OK,
                      json);
    return true;
}

static int
setup_for(void **state, enum http_audience audience)
{
    struct fixture *fixture = calloc(1, sizeof(*fixture));
    struct http *http = NULL;

    assert_ok(http_create(
        &(struct http_options){
            .listen = "127.0.0.1:0",
            .unready_text = fixture_unready_text,
            .write_metrics = fixture_write_metrics,
            .token_role_of = fixture_role_of,
            .query = fixture_query,
            .owner = fixture,
            .audience = audience,
        },
        &http));
    atomic_store(&fixture->http, http);
    *state = fixture;
    return 0;
}

static int
setup(void **state)
{
    return setup_for(state, HTTP_AUDIENCE_THIS_HOST);
}

static int
setup_token(void **state)
{
    return setup_for(state, HTTP_AUDIENCE_TOKEN_HOLDERS);
}

static int
teardown(void **state)
{
    struct fixture *fixture = *state;

    http_destroy(fixture->http);
    free(fixture);
    return 0;
}

/* The kernel holds little of what is not read. */
static int
client_connect(const struct fixture *fixture)
{
    return client_connect_to(fixture->http, 64 * 1024);
}

/* Sends a request of a path and of more fields, each with its line end. */
static int
client_request(const struct fixture *fixture,
               const char *path,
               const char *fields)
{
    char text[REQUEST_MAX];
    const int fd = client_connect(fixture);
    const int n =
        snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\n%s\r\n", path, fields);

    assert_true(n > 0 && n < (int)sizeof(text));
    assert_int_equal(send(fd, text, (size_t)n, MSG_NOSIGNAL), n);
    return fd;
}

/* Reads on until the answer holds words; NULL: until its end. Returns whether
 * it came to that. */
static bool
client_read(struct fixture *fixture, int fd, const char *words)
{
    return client_read_until(fd, words, WAIT_MS, sizeof(fixture->answer),
                             fixture->answer);
}

static const char *
get(struct fixture *fixture, const char *path, const char *fields)
{
    const int fd = client_request(fixture, path, fields);

    assert_true(client_read(fixture, fd, NULL));
    close(fd);
    return fixture->answer;
}

static const char here[] = "Host: localhost\r\n";

static void
assert_status(const char *answer, int status)
{
    char line[32];

    snprintf(line, sizeof(line), "HTTP/1.1 %d ", status);
    if (strncmp(answer, line, strlen(line)) != 0)
        fail_msg("not %d: %.300s", status, answer);
}

static void
assert_has(const char *answer, const char *words)
{
    if (!strstr(answer, words))
        fail_msg("no \"%s\" in: %.2000s", words, answer);
}

static void
files_come_with_a_tag_and_a_policy(void **state)
{
    char fields[128] = "";
    const char *answer = get(*state, "/", here);

    assert_status(answer, 200);
    assert_has(answer, "Content-Type: text/html; charset=utf-8\r\n");
    assert_has(answer, "Content-Security-Policy: default-src 'none'; "
                       "script-src 'self'; style-src 'self'; "
                       "connect-src 'self'; img-src 'self' data:; ");
    assert_has(answer, "frame-ancestors 'none'\r\n");
    assert_has(answer, "X-Content-Type-Options: nosniff\r\n");
    assert_has(answer, "Referrer-Policy: no-referrer\r\n");
    assert_null(strstr(answer, "Access-Control"));
    assert_has(answer, "</html>\n");

    const char *tag = strstr(answer, "ETag: ");
    assert_non_null(tag);
    snprintf(fields, sizeof(fields), "%sIf-None-Match: %.*s\r\n", here,
             (int)strcspn(tag + 6, "\r"), tag + 6);
    answer = get(*state, "/", fields);
    assert_status(answer, 304);
    assert_null(strstr(answer, "</html>"));
    assert_status(get(*state, "/app.js", here), 200);
    assert_status(get(*state, "/../app.js", here), 404);
    assert_status(get(*state, "/embed.py", here), 404);
}

/* A foreign name that is made to point here is another origin's. */
static void
host_must_be_an_address_or_a_name_of_this_host(void **state)
{
    static const struct {
        const char *fields;
        int status;
    } cases[] = {
        {"Host: localhost:1\r\n", 200},
        {"Host: LOCALHOST\r\n", 200},
        {"Host: 127.0.0.1:4668\r\n", 200},
        {"Host: 10.1.2.3\r\n", 200},
        {"Host: [::1]:4668\r\n", 200},
        {"Host: [::1]\r\n", 200},
        {"Host: evil.example\r\n", 421},
        {"Host: localhost.evil.example\r\n", 421},
        {"Host: 127.0.0.1.evil.example:80\r\n", 421},
        {"Host: [::1].evil.example\r\n", 400},
        {"Host: [evil]\r\n", 400},
        {"Host: [::1\r\n", 400},
        {"Host: localhost:1x\r\n", 400},
        {"Host: :1\r\n", 400},
        {"Host: []\r\n", 400},
        {"Host:\r\n", 400},
        {"", 400},
        {"Host: localhost\r\nHost: localhost\r\n", 400},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_status(get(*state, "/", cases[i].fields), cases[i].status);
        assert_status(get(*state, "/api/jobs", cases[i].fields),
                      cases[i].status);
    }
    assert_status(get(*state, "http://evil.example/", here), 421);
    assert_status(get(*state, "http://localhost/", here), 200);
    /* Probes send what they like. */
    assert_status(get(*state, "/healthz", "Host: evil.example\r\n"), 200);
    assert_status(get(*state, "/metrics", ""), 200);
}

static void
names_of_listening_and_of_the_host_are_accepted(void **state)
{
    char fields[REQUEST_MAX];
    char name[256] = "";

    assert_int_equal(gethostname(name, sizeof(name) - 1), 0);
    snprintf(fields, sizeof(fields), "Host: %s:80\r\n", name);
    assert_status(get(*state, "/", fields), 200);
}

static void
foreign_pages_read_nothing(void **state)
{
    static const struct {
        const char *site;
        int status;
    } cases[] = {
        {"same-origin", 200},
        {"none", 200},
        {"same-site", 403}, /* another port of this host is */
        {"cross-site", 403},
    };
    char fields[REQUEST_MAX];

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        snprintf(fields, sizeof(fields), "%sSec-Fetch-Site: %s\r\n", here,
                 cases[i].site);
        assert_status(get(*state, "/api/jobs", fields), cases[i].status);
    }
    assert_status(get(*state, "/",
                      "Host: localhost\r\n"
                      "Sec-Fetch-Site: cross-site\r\n"),
                  200);
}

static void
jobs_are_queried_from_the_owner(void **state)
{
    static const char *const malformed[] = {
        "/api/jobs/",    "/api/jobs/%", "/api/jobs/a%2", "/api/jobs/%zz",
        "/api/jobs/%00", "/api/jobsx",  "/api/",         "/api/jobs/a%2x"};
    const char *answer = get(*state, "/api/jobs", here);
    char name[2 * LIMIT_NAME] = "/api/jobs/";

    assert_status(answer, 200);
    assert_has(answer, "Content-Type: application/json\r\n");
    assert_has(answer, "Cache-Control: no-store\r\n");
    assert_has(answer, "\r\n\r\n{\"asked\":\"\"}");
    assert_has(get(*state, "/api/jobs/a%2Fb%2fc", here),
               "\r\n\r\n{\"asked\":\"a/b/c\"}");
    assert_status(get(*state, "/api/jobs/gone", here), 404);
    for (size_t i = 0; i < COUNT_OF(malformed); i++)
        assert_status(get(*state, malformed[i], here), 404);
    memset(name + 10, 'a', LIMIT_NAME - 1);
    assert_status(get(*state, name, here), 200);
    memset(name + 10, 'a', LIMIT_NAME);
    assert_status(get(*state, name, here), 404);
}

static void
only_get_and_head_are_served(void **state)
{
    static const char *const requests[] = {
        "POST /api/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "DELETE /api/jobs/a HTTP/1.1\r\nHost: localhost\r\n\r\n",
        "OPTIONS / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    };
    static const char head[] =
        "HEAD /api/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n";
    struct fixture *fixture = *state;

    for (size_t i = 0; i < COUNT_OF(requests); i++) {
        const int fd = client_connect(fixture);

        send(fd, requests[i], strlen(requests[i]), MSG_NOSIGNAL);
        assert_true(client_read(fixture, fd, NULL));
        assert_status(fixture->answer, 405);
        close(fd);
    }
    const int fd = client_connect(fixture);
    send(fd, head, strlen(head), MSG_NOSIGNAL);
    assert_true(client_read(fixture, fd, NULL));
    assert_status(fixture->answer, 200);
    assert_has(fixture->answer, "Content-Length: 12\r\n");
    assert_null(strstr(fixture->answer, "asked"));
    close(fd);
}

static void
stream_tells_the_log_the_jobs_and_its_job(void **state)
{
    struct fixture *fixture = *state;

    http_log_add(fixture->http, "", "{\"text\":\"first\"}");
    http_log_add(fixture->http, "", "{\"text\":\"second\"}");
    int fd = client_request(fixture, "/api/events?job=a%2Fb", here);
    assert_true(client_read(fixture, fd, "event: time\ndata: "));
    const char *answer = fixture->answer;
    assert_status(answer, 200);
    assert_has(answer, "Content-Type: text/event-stream\r\n");
    assert_has(answer, "\r\n\r\nretry: 1000\nevent: hello\n"
                       "data: {\"boot\":\"");
    assert_has(answer,
               "-1\nevent: entry\ndata: {\"nth\":1,\"text\":\"first\"}\n\n");
    assert_has(answer,
               "-2\nevent: entry\ndata: {\"nth\":2,\"text\":\"second\"}\n\n");
    assert_has(answer, "event: jobs\ndata: {\"asked\":\"\"}\n\n");
    assert_has(answer, "event: job\ndata: {\"asked\":\"a/b\"}\n\n");

    /* It goes on after the last entry that it has seen, in this start. */
    char fields[REQUEST_MAX];
    const char *boot = strstr(answer, "\"boot\":\"") + 8;
    snprintf(fields, sizeof(fields), "%sLast-Event-ID: %.16s-1\r\n", here,
             boot);
    close(fd);
    fd = client_request(fixture, "/api/events?job=gone", fields);
    assert_true(client_read(fixture, fd, "event: job_error\n"));
    assert_has(answer, "second");
    assert_null(strstr(answer, "first"));
    http_log_add(fixture->http, "", "{\"text\":\"third\"}");
    assert_true(client_read(fixture, fd, "third"));
    close(fd);
    fd = client_request(fixture, "/api/events?after=0000000000000000-1", here);
    assert_true(client_read(fixture, fd, "third"));
    assert_has(answer, "first");
    close(fd);
}

/* One query a second serves all pages that show the same. */
static void
nothing_is_queried_while_nobody_looks(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t start_ns = clock_now_ns();
    int fds[LIMIT_HTTP_STREAMS];

    assert_int_equal(atomic_load(&fixture->n_queries), 0);
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        fds[i] = client_request(fixture, "/api/events?job=a", here);
    for (int i = 0; i < 2; i++)
        assert_true(client_read(fixture, fds[0], "event: time\n"));
    const uint64_t n_seconds = (clock_now_ns() - start_ns) / CLOCK_NS_PER_S + 1;
    /* Two topics, each once when it is first read, and once a second; those
     * whose answer had come when the next reader did are queried for it. */
    assert_true((uint64_t)atomic_load(&fixture->n_queries) <=
                2 * (n_seconds + COUNT_OF(fds)));

    /* No more streams; probes have room. */
    assert_status(get(fixture, "/api/events", here), 503);
    assert_status(get(fixture, "/healthz", here), 200);
    for (size_t i = 0; i < COUNT_OF(fds); i++)
        close(fds[i]);
}

/* Reads on until words come, in one piece or two, and drops what was before.
 * Returns the number of bytes. */
static size_t
client_skip_to(struct fixture *fixture, int fd, const char *words)
{
    const uint64_t deadline_ns = clock_deadline_ns(WAIT_MS);
    const size_t n_words = strlen(words);
    struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
    char *answer = fixture->answer;
    size_t n_kept = 0;
    size_t n_all = 0;

    while (poll(&poll_fd, 1, clock_left_ms(deadline_ns)) == 1) {
        const ssize_t n = recv(fd, answer + n_kept, ANSWER_MAX - n_kept, 0);

        if (n <= 0)
            fail_msg("cut off after %zu bytes", n_all);
        n_all += (size_t)n;
        n_kept += (size_t)n;
        if (memmem(answer, n_kept, words, n_words))
            return n_all;
        const size_t n_tail = n_kept < n_words ? n_kept : n_words;
        memmove(answer, answer + n_kept - n_tail, n_tail);
        n_kept = n_tail;
    }
    fail_msg("no \"%s\" in %zu bytes", words, n_all);
    return 0;
}

/* More than may wait comes in portions. */
static void
large_job_comes_as_it_is_read(void **state)
{
    struct fixture *fixture = *state;

    atomic_store(&fixture->is_large, true);
    const int fd = client_request(fixture, "/api/events?job=a", here);
    for (int i = 0; i < 2; i++) {
        client_skip_to(fixture, fd, "\"0\":{\"row\":\"0 ");
        client_skip_to(fixture, fd, "\"47\":{\"row\":\"47 ");
    }
    close(fd);
}

/* A reader that was slow is not sent what has been replaced meanwhile. */
static void
slow_reader_is_sent_the_newest(void **state)
{
    enum {
        ANSWERS = 7
    };
    struct fixture *fixture = *state;
    const uint64_t deadline_ns = clock_deadline_ns(WAIT_MS);

    atomic_store(&fixture->is_large, true);
    const int fd = client_request(fixture, "/api/events?job=a", here);
    while (atomic_load(&fixture->n_queries) < ANSWERS &&
           !clock_is_past(deadline_ns))
        poll(NULL, 0, 10);
    atomic_store(&fixture->is_last, true);
    const size_t n_bytes =
        client_skip_to(fixture, fd, "\"47\":{\"row\":\"47 last");
    /* On a busy machine, no row was replaced, and the last one goes on. */
    assert_in_range(n_bytes, LARGE_BYTES - LARGE_ROW_BYTES,
                    KERNEL_BYTES + LIMIT_HTTP_STREAM_BYTES + 2 * LARGE_BYTES);
    close(fd);
}

static void
reader_that_takes_nothing_is_cut_off(void **state)
{
    struct fixture *fixture = *state;
    struct pollfd poll_fd = {.events = POLLRDHUP};

    atomic_store(&fixture->is_large, true);
    poll_fd.fd = client_request(fixture, "/api/events?job=a", here);
    assert_int_equal(poll(&poll_fd, 1, LIMIT_HTTP_STALL_MS + WAIT_MS), 1);
    close(poll_fd.fd);
    assert_status(get(fixture, "/healthz", here), 200);
}

static void
token_begins_a_session(void **state)
{
    char fields[REQUEST_MAX];
    const char *answer = get(*state, "/api/jobs", here);

    assert_status(get(*state, "/", here), 200);
    assert_status(get(*state, "/api/events", here), 401);
    assert_status(answer, 401);
    answer = get(*state, "/api/session", here);
    assert_status(answer, 401);
    assert_has(answer, "\"wants\":\"token\"");
    snprintf(fields, sizeof(fields), "%sAuthorization: Bearer looks\r\n", here);
    assert_status(get(*state, "/api/jobs", fields), 200);
    answer = get(*state, "/api/session", fields);
    assert_status(answer, 204);
    assert_null(strstr(answer, "looks"));

    const char *cookie = strstr(answer, "Set-Cookie: hoop_session_");
    assert_non_null(cookie);
    assert_has(cookie, "; Path=/; ");
    assert_has(cookie, "; HttpOnly; SameSite=Strict\r\n");
    assert_null(strstr(cookie, "Secure")); /* not in the clear */
    char pair[256];
    snprintf(pair, sizeof(pair), "%.*s", (int)strcspn(cookie + 12, ";"),
             cookie + 12);
    assert_int_equal(strlen(strchr(pair, '=') + 1), 64);
    snprintf(fields, sizeof(fields), "%sCookie: a=b; %s; c=d\r\n", here, pair);
    assert_status(get(*state, "/api/jobs", fields), 200);
    assert_status(get(*state, "/api/session", fields), 204);
    pair[strlen(pair) - 1] ^= 1;
    snprintf(fields, sizeof(fields), "%sCookie: %s\r\n", here, pair);
    assert_status(get(*state, "/api/jobs", fields), 401);
    /* A session is for the page alone. */
    assert_status(get(*state, "/metrics", fields), 401);
}

static void
lesser_and_greater_tokens_are_refused(void **state)
{
    assert_status(get(*state, "/api/session",
                      "Host: localhost\r\nAuthorization: Bearer figures\r\n"),
                  403);
    const char *answer =
        get(*state, "/api/session",
            "Host: localhost\r\nAuthorization: Bearer secret\r\n");
    assert_status(answer, 403);
    assert_null(strstr(answer, "Set-Cookie"));
    assert_has(answer, "hoopctl token operator");
}

static void
wrong_token_is_answered_late(void **state)
{
    const uint64_t start_ns = clock_now_ns();

    assert_status(get(*state, "/api/session",
                      "Host: localhost\r\nAuthorization: Bearer guess\r\n"),
                  401);
    assert_true(clock_now_ns() - start_ns >= 900 * CLOCK_NS_PER_MS);
}

static void
sessions_end_and_are_bounded(void **state)
{
    struct sessions *sessions = calloc(1, sizeof(*sessions));
    const uint64_t hour_ns = 3600 * CLOCK_NS_PER_S;
    char first[SESSION_ID_TEXT];
    char other[SESSION_ID_TEXT];
    char cookie[128];
    char pair[256];

    (void)state;
    assert_ok(sessions_create(sessions, hour_ns, first));
    snprintf(cookie, sizeof(cookie), "s=%s", first);
    const struct http_text_slice text = {cookie, strlen(cookie)};
    assert_true(sessions_have(sessions, text, "s", hour_ns));
    assert_false(sessions_have(sessions, text, "t", hour_ns));
    assert_false(sessions_have(
        sessions, (struct http_text_slice){cookie, strlen(cookie) - 1}, "s",
        hour_ns));
    assert_false(
        sessions_have(sessions, (struct http_text_slice){0}, "s", hour_ns));
    /* One that another host has set for the whole domain hides none. */
    snprintf(pair, sizeof(pair), "s=%064d; s=%s", 0, first);
    assert_true(sessions_have(
        sessions, (struct http_text_slice){pair, strlen(pair)}, "s", hour_ns));
    assert_true(sessions_have(sessions, text, "s", 12 * hour_ns));
    assert_false(sessions_have(sessions, text, "s", 13 * hour_ns));
    for (int i = 1; i < LIMIT_HTTP_SESSIONS; i++)
        assert_ok(sessions_create(sessions, hour_ns + (uint64_t)i, other));
    assert_true(sessions_have(sessions, text, "s", hour_ns));
    assert_ok(sessions_create(sessions, 2 * hour_ns, other));
    assert_false(sessions_have(sessions, text, "s", hour_ns));
    free(sessions);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(files_come_with_a_tag_and_a_policy,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(
            host_must_be_an_address_or_a_name_of_this_host, setup, teardown),
        cmocka_unit_test_setup_teardown(
            names_of_listening_and_of_the_host_are_accepted, setup, teardown),
        cmocka_unit_test_setup_teardown(foreign_pages_read_nothing, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(jobs_are_queried_from_the_owner, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(only_get_and_head_are_served, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(
            stream_tells_the_log_the_jobs_and_its_job, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_is_queried_while_nobody_looks,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(large_job_comes_as_it_is_read, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(slow_reader_is_sent_the_newest, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(reader_that_takes_nothing_is_cut_off,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(token_begins_a_session, setup_token,
                                        teardown),
        cmocka_unit_test_setup_teardown(lesser_and_greater_tokens_are_refused,
                                        setup_token, teardown),
        cmocka_unit_test_setup_teardown(wrong_token_is_answered_late,
                                        setup_token, teardown),
        cmocka_unit_test(sessions_end_and_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
