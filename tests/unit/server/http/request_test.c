/* tests/unit/server/http/request_test.c - http/request.c */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "check.h"
#include "http/request.h"

enum {
    HEAD_MAX = 256,
};

static struct http_request
parsed(const char *text, size_t n_bytes)
{
    struct http_request request;

    assert_true(http_request_parse(text, n_bytes, HEAD_MAX, &request));
    return request;
}

static void
assert_text(struct http_text_slice text, const char *expected)
{
    if (!expected) {
        assert_null(text.at);
        return;
    }
    assert_int_equal(text.n_bytes, strlen(expected));
    assert_memory_equal(text.at, expected, text.n_bytes);
}

static void
request_is_taken_apart(void **state)
{
    static const struct {
        const char *text;
        const char *path;
        const char *token;
        bool is_head;
    } cases[] = {
        {"GET /healthz HTTP/1.1\r\n\r\n", "/healthz", NULL, false},
        {"HEAD / HTTP/1.0\r\nHost: x\r\n\r\n", "/", NULL, true},
        {"GET /a?b=c?d HTTP/1.1\n\n", "/a", NULL, false},
        {"GET http://h:1/a HTTP/1.1\r\n\r\n", "/a", NULL, false},
        {"GET /%68 HTTP/1.9\r\n\r\nbody", "/%68", NULL, false},
        {"GET / HTTP/1.1\r\nAuthorization: Bearer t\r\n\r\n", "/", "t", false},
        {"GET / HTTP/1.1\r\naUTHORIZATION:bEARER  a b \t\r\n\r\n", "/", "a b",
         false},
        {"GET / HTTP/1.1\r\nAuthorization: Basic t\r\n\r\n", "/", "", false},
        {"GET / HTTP/1.1\r\nAuthorization: Bearer\r\n\r\n", "/", "", false},
        {"GET / HTTP/1.1\r\nAuthorization:\r\n\r\n", "/", "", false},
        {"GET / HTTP/1.1\r\nX: \xff\x80 y\r\nContent-Length: 0\r\n\r\n", "/",
         NULL, false},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct http_request request =
            parsed(cases[i].text, strlen(cases[i].text));

        assert_int_equal(request.status, HTTP_STATUS_OK);
        assert_text(request.path, cases[i].path);
        assert_text(request.token, cases[i].token);
        assert_int_equal(request.is_head, cases[i].is_head);
    }
}

static void
what_is_no_request_is_refused_with_its_status(void **state)
{
    static const struct {
        const char *text;
        enum http_status status;
    } cases[] = {
        {"\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"GET\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"GET /\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"GET  / HTTP/1.1\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"GET / HTTP/1.1 \r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {" GET / HTTP/1.1\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"G(T / HTTP/1.1\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"GET healthz HTTP/1.1\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"GET http://h HTTP/1.1\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"GET /\x01 HTTP/1.1\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"GET /\tx HTTP/1.1\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"GET / http/1.1\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"GET / HTTP/1.10\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"GET / HTTP/2.0\r\n\r\n", HTTP_STATUS_VERSION_UNSUPPORTED},
        {"GET / HTTP/0.9\r\n\r\n", HTTP_STATUS_VERSION_UNSUPPORTED},
        {"POST / HTTP/1.1\r\n\r\n", HTTP_STATUS_METHOD_NOT_ALLOWED},
        {"get / HTTP/1.1\r\n\r\n", HTTP_STATUS_METHOD_NOT_ALLOWED},
        {"GET / HTTP/1.1\r\nX\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"GET / HTTP/1.1\r\nX : y\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"GET / HTTP/1.1\r\n: y\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"GET / HTTP/1.1\r\nX: y\r\n z\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"GET / HTTP/1.1\r\nX: a\rb\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"GET / HTTP/1.1\r\nAuthorization: Bearer a\r\n"
         "Authorization: Bearer b\r\n\r\n",
         HTTP_STATUS_BAD_REQUEST},
        {"GET / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
         HTTP_STATUS_BAD_REQUEST},
        {"GET / HTTP/1.1\r\nContent-Length:\r\n\r\n", HTTP_STATUS_BAD_REQUEST},
        {"GET / HTTP/1.1\r\nContent-Length: 1025\r\n\r\n",
         HTTP_STATUS_CONTENT_TOO_LARGE},
        {"GET / HTTP/1.1\r\nContent-Length: 18446744073709551616\r\n\r\n",
         HTTP_STATUS_CONTENT_TOO_LARGE},
        {"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
         HTTP_STATUS_NOT_IMPLEMENTED},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_int_equal(parsed(cases[i].text, strlen(cases[i].text)).status,
                         cases[i].status);
    assert_int_equal(parsed("GET / HTTP/1.1\r\nX: a\0b\r\n\r\n", 26).status,
                     HTTP_STATUS_BAD_REQUEST);
}

/* Whatever piece of it comes first, it is read once all of it is there. */
static void
request_in_pieces_is_incomplete_until_its_last_byte(void **state)
{
    static const char text[] = "GET /readyz HTTP/1.1\r\nA: b\r\n\r\n";
    struct http_request request;

    for (size_t n = 0; n < sizeof(text) - 1; n++) {
        /* Of its own size, for the sanitizer. */
        char *piece = malloc(n + 1);

        memcpy(piece, text, n);
        /* Its last line may end before its last byte. */
        assert_int_equal(http_request_parse(piece, n, HEAD_MAX, &request),
                         false);
        free(piece);
    }
    assert_true(http_request_parse(text, sizeof(text) - 1, HEAD_MAX, &request));
    assert_int_equal(request.status, HTTP_STATUS_OK);
}

static void
head_without_an_end_is_too_large(void **state)
{
    struct http_request request;
    char text[HEAD_MAX];

    memset(text, 'x', sizeof(text));
    assert_false(
        http_request_parse(text, sizeof(text) - 1, HEAD_MAX, &request));
    assert_true(http_request_parse(text, sizeof(text), HEAD_MAX, &request));
    assert_int_equal(request.status, HTTP_STATUS_HEADERS_TOO_LARGE);
}

static void
every_status_has_a_reason(void **state)
{
    static const enum http_status all[] = {
        HTTP_STATUS_OK,
        HTTP_STATUS_BAD_REQUEST,
        HTTP_STATUS_UNAUTHORIZED,
        HTTP_STATUS_FORBIDDEN,
        HTTP_STATUS_NOT_FOUND,
        HTTP_STATUS_METHOD_NOT_ALLOWED,
        HTTP_STATUS_CONTENT_TOO_LARGE,
        HTTP_STATUS_HEADERS_TOO_LARGE,
        HTTP_STATUS_INTERNAL_ERROR,
        HTTP_STATUS_NOT_IMPLEMENTED,
        HTTP_STATUS_UNAVAILABLE,
        HTTP_STATUS_VERSION_UNSUPPORTED,
    };

    for (size_t i = 0; i < COUNT_OF(all); i++)
        assert_true(http_status_reason(all[i])[0] != '\0');
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(request_is_taken_apart),
        cmocka_unit_test(what_is_no_request_is_refused_with_its_status),
        cmocka_unit_test(request_in_pieces_is_incomplete_until_its_last_byte),
        cmocka_unit_test(head_without_an_end_is_too_large),
        cmocka_unit_test(every_status_has_a_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
