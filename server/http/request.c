/* http/request.c - parse the head of an HTTP/1.x request */

#include "http/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "http/http.h"

enum {
    CONTENT_LENGTH_DIGITS_MAX = 9,
};

static const char bearer[] = "Bearer ";

const char *
http_status_reason(enum http_status status)
{
    switch (status) {
    case HTTP_STATUS_OK:
        return "OK";
    case HTTP_STATUS_NO_CONTENT:
        return "No Content";
    case HTTP_STATUS_NOT_MODIFIED:
        return "Not Modified";
    case HTTP_STATUS_BAD_REQUEST:
        return "Bad Request";
    case HTTP_STATUS_UNAUTHORIZED:
        return "Unauthorized";
    case HTTP_STATUS_FORBIDDEN:
        return "Forbidden";
    case HTTP_STATUS_NOT_FOUND:
        return "Not Found";
    case HTTP_STATUS_METHOD_NOT_ALLOWED:
        return "Method Not Allowed";
    case HTTP_STATUS_CONTENT_TOO_LARGE:
        return "Content Too Large";
    case HTTP_STATUS_MISDIRECTED:
        return "Misdirected Request";
    case HTTP_STATUS_HEADERS_TOO_LARGE:
        return "Request Header Fields Too Large";
    case HTTP_STATUS_INTERNAL_ERROR:
        return "Internal Server Error";
    case HTTP_STATUS_NOT_IMPLEMENTED:
        return "Not Implemented";
    case HTTP_STATUS_UNAVAILABLE:
        return "Service Unavailable";
    case HTTP_STATUS_VERSION_UNSUPPORTED:
        return "HTTP Version Not Supported";
    }
    return "";
}

bool
http_text_equals(struct http_text_slice text, const char *other)
{
    return text.at && text.n_bytes == strlen(other) &&
           memcmp(text.at, other, text.n_bytes) == 0;
}

static bool
text_equals_ignoring_case(struct http_text_slice text, const char *name)
{
    return text.n_bytes == strlen(name) &&
           strncasecmp(text.at, name, text.n_bytes) == 0;
}

/* Remove the text before the first stop from rest. Returns false if there is no
 * stop. */
static bool
text_slice_split_at(struct http_text_slice *rest,
                    char stop,
                    struct http_text_slice *out_text)
{
    const char *end =
        rest->n_bytes > 0 ? memchr(rest->at, stop, rest->n_bytes) : NULL;

    if (!end)
        return false;
    *out_text = (struct http_text_slice){rest->at, (size_t)(end - rest->at)};
    rest->n_bytes -= out_text->n_bytes + 1;
    rest->at = end + 1;
    return true;
}

static bool
http_line_next(struct http_text_slice *rest, struct http_text_slice *out_line)
{
    if (!text_slice_split_at(rest, '\n', out_line))
        return false;
    if (out_line->n_bytes > 0 && out_line->at[out_line->n_bytes - 1] == '\r')
        out_line->n_bytes--;
    return true;
}

/* A name of a method or a field as in RFC 9110. */
static bool
text_is_http_token(struct http_text_slice text)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";

    for (size_t i = 0; i < text.n_bytes; i++) {
        const char c = text.at[i];
        const bool is_alnum = (c >= 'a' && c <= 'z') ||
                              (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');

        if (!is_alnum && (c == '\0' || !strchr(marks, c)))
            return false;
    }
    return text.n_bytes > 0;
}

/* Return whether the text has no control characters but tabs, nor any character
 * below least. */
static bool
text_is_printable(struct http_text_slice text, char least)
{
    for (size_t i = 0; i < text.n_bytes; i++) {
        const unsigned char c = (unsigned char)text.at[i];

        if ((c < (unsigned char)least && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

/* Accepts "/path?query", and "http://host/path?query" as sent to proxies. */
static enum http_status
request_target_parse(struct http_text_slice target,
                     struct http_request *request)
{
    static const char scheme[] = "http://";
    const size_t n_scheme = sizeof(scheme) - 1;

    if (!text_is_printable(target, '!') ||
        memchr(target.at, '\t', target.n_bytes))
        return HTTP_STATUS_BAD_REQUEST;
    if (target.n_bytes > n_scheme &&
        strncasecmp(target.at, scheme, n_scheme) == 0) {
        const char *path =
            memchr(target.at + n_scheme, '/', target.n_bytes - n_scheme);

        if (!path)
            return HTTP_STATUS_BAD_REQUEST;
        request->target_host = (struct http_text_slice){
            target.at + n_scheme, (size_t)(path - target.at) - n_scheme};
        target.n_bytes -= (size_t)(path - target.at);
        target.at = path;
    }
    if (target.n_bytes == 0 || target.at[0] != '/')
        return HTTP_STATUS_BAD_REQUEST;
    request->path = target;
    if (text_slice_split_at(&target, '?', &request->path))
        request->query = target;
    return HTTP_STATUS_OK;
}

static enum http_status
http_version_check(struct http_text_slice version)
{
    const bool is_version =
        version.n_bytes == 8 && memcmp(version.at, "HTTP/", 5) == 0 &&
        version.at[5] >= '0' && version.at[5] <= '9' && version.at[6] == '.' &&
        version.at[7] >= '0' && version.at[7] <= '9';

    if (!is_version)
        return HTTP_STATUS_BAD_REQUEST;
    return version.at[5] == '1' ? HTTP_STATUS_OK
                                : HTTP_STATUS_VERSION_UNSUPPORTED;
}

/* The line is "GET /path HTTP/1.1". */
static enum http_status
request_line_parse(struct http_text_slice line, struct http_request *request)
{
    struct http_text_slice method;
    struct http_text_slice target;

    if (!text_slice_split_at(&line, ' ', &method) ||
        !text_is_http_token(method) ||
        !text_slice_split_at(&line, ' ', &target))
        return HTTP_STATUS_BAD_REQUEST;
    request->is_head = http_text_equals(method, "HEAD");
    enum http_status status = http_version_check(line);
    if (status == HTTP_STATUS_OK)
        status = request_target_parse(target, request);
    if (status != HTTP_STATUS_OK)
        return status;
    return request->is_head || http_text_equals(method, "GET")
               ? HTTP_STATUS_OK
               : HTTP_STATUS_METHOD_NOT_ALLOWED;
}

static struct http_text_slice
http_text_trim(struct http_text_slice text)
{
    while (text.n_bytes > 0 && (text.at[0] == ' ' || text.at[0] == '\t')) {
        text.at++;
        text.n_bytes--;
    }
    while (text.n_bytes > 0 && (text.at[text.n_bytes - 1] == ' ' ||
                                text.at[text.n_bytes - 1] == '\t'))
        text.n_bytes--;
    return text;
}

/* Any scheme other than Bearer counts as showing no token. */
static enum http_status
authorization_parse(struct http_text_slice value, struct http_request *request)
{
    const size_t n_bearer = sizeof(bearer) - 1;

    if (request->token.at)
        return HTTP_STATUS_BAD_REQUEST;
    request->token = (struct http_text_slice){"", 0};
    if (value.n_bytes > n_bearer &&
        strncasecmp(value.at, bearer, n_bearer) == 0)
        request->token = http_text_trim((struct http_text_slice){
            value.at + n_bearer, value.n_bytes - n_bearer});
    return HTTP_STATUS_OK;
}

/* The body is ignored; a large one is refused instead of waited for. */
static enum http_status
content_length_check(struct http_text_slice value)
{
    size_t n_body = 0;

    if (value.n_bytes == 0)
        return HTTP_STATUS_BAD_REQUEST;
    for (size_t i = 0; i < value.n_bytes; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return HTTP_STATUS_BAD_REQUEST;
        if (i < CONTENT_LENGTH_DIGITS_MAX)
            n_body = n_body * 10 + (size_t)(value.at[i] - '0');
    }
    return value.n_bytes > CONTENT_LENGTH_DIGITS_MAX || n_body > LIMIT_HTTP_BODY
               ? HTTP_STATUS_CONTENT_TOO_LARGE
               : HTTP_STATUS_OK;
}

/* The fields that only the page reads. One that comes twice becomes empty, which
 * no check accepts; health and metrics ignore them all. */
static void
page_field_parse(struct http_text_slice name,
                 struct http_text_slice value,
                 struct http_request *request)
{
    const struct {
        const char *name;
        struct http_text_slice *value;
    } fields[] = {
        {"Host", &request->host},
        {"Cookie", &request->cookie},
        {"If-None-Match", &request->if_none_match},
        {"Last-Event-ID", &request->last_event_id},
        {"Sec-Fetch-Site", &request->fetch_site},
    };

    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (!text_equals_ignoring_case(name, fields[i].name))
            continue;
        *fields[i].value =
            fields[i].value->at ? (struct http_text_slice){"", 0} : value;
    }
}

static enum http_status
header_field_parse(struct http_text_slice line, struct http_request *request)
{
    struct http_text_slice name;

    if (!text_slice_split_at(&line, ':', &name) || !text_is_http_token(name))
        return HTTP_STATUS_BAD_REQUEST;
    const struct http_text_slice value = http_text_trim(line);
    if (!text_is_printable(value, ' '))
        return HTTP_STATUS_BAD_REQUEST;
    if (text_equals_ignoring_case(name, "Authorization"))
        return authorization_parse(value, request);
    if (text_equals_ignoring_case(name, "Content-Length"))
        return content_length_check(value);
    if (text_equals_ignoring_case(name, "Transfer-Encoding"))
        return HTTP_STATUS_NOT_IMPLEMENTED;
    page_field_parse(name, value, request);
    return HTTP_STATUS_OK;
}

/* Return whether the empty line that ends the head has arrived. */
static bool
request_head_is_complete(struct http_text_slice rest)
{
    struct http_text_slice line;

    while (http_line_next(&rest, &line)) {
        if (line.n_bytes == 0)
            return true;
    }
    return false;
}

static enum http_status
request_head_parse(struct http_text_slice rest, struct http_request *request)
{
    struct http_text_slice line = {0};

    http_line_next(&rest, &line);
    enum http_status status = request_line_parse(line, request);
    while (status == HTTP_STATUS_OK && http_line_next(&rest, &line) &&
           line.n_bytes > 0)
        status = header_field_parse(line, request);
    return status;
}

bool
http_request_parse(const char *bytes,
                   size_t n_bytes,
                   size_t n_max,
                   struct http_request *out_request)
{
    const struct http_text_slice all = {bytes, n_bytes};

    *out_request = (struct http_request){0};
    if (n_bytes > 0 && request_head_is_complete(all)) {
        out_request->status = request_head_parse(all, out_request);
        return true;
    }
    if (n_bytes < n_max)
        return false;
    out_request->status = HTTP_STATUS_HEADERS_TOO_LARGE;
    return true;
}

/* Write the response to a request. */

struct answer {
    enum http_status status;
    const char *type; /* NULL: plain text */
    const char *text;
};

static void
http_answer_write(const struct answer *answer,
                  bool has_body,
                  struct response *response)
{
    FILE *out = open_memstream(&response->bytes, &response->n_bytes);

    if (!out)
        return;
    fprintf(out,
            "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
            "Cache-Control: no-store\r\nConnection: close\r\n%s%s\r\n%s",
            (int)answer->status, http_status_reason(answer->status),
            answer->type ? answer->type : "text/plain; charset=utf-8",
            strlen(answer->text),
            answer->status == HTTP_STATUS_UNAUTHORIZED
                ? "WWW-Authenticate: Bearer\r\n"
                : "",
            answer->status == HTTP_STATUS_METHOD_NOT_ALLOWED
                ? "Allow: GET, HEAD\r\n"
                : "",
            has_body ? answer->text : "");
    if (fclose(out) == 0)
        return;
    free(response->bytes);
    response->bytes = NULL;
}

/* Return the text of the metrics, which the caller frees; NULL: no memory. */
static char *
metrics_page_format(const struct http_options *options)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *out = open_memstream(&text, &n_bytes);

    if (!out)
        return NULL;
    options->write_metrics(options->owner, out);
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

enum role
request_token_role(const struct http_options *options,
                   const struct http_request *request)
{
    char token[LIMIT_TOKEN] = "";

    if (request->token.n_bytes >= sizeof(token))
        return ROLE_ANYBODY;
    if (request->token.n_bytes > 0)
        memcpy(token, request->token.at, request->token.n_bytes);
    const enum role role = options->token_role_of(options->owner, token);
    explicit_bzero(token, sizeof(token));
    return role;
}

/* Return the refusal of /metrics for this token; its text is NULL if the token
 * is accepted. */
static struct answer
metrics_token_check(const struct http_options *options,
                    const struct http_request *request)
{
    switch (request_token_role(options, request)) {
    case ROLE_OPERATOR:
    case ROLE_METRICS:
        return (struct answer){0};
    case ROLE_WORKER:
        return (struct answer){
            HTTP_STATUS_FORBIDDEN, NULL,
            "a job's own token is not for HTTP: this needs one for role "
            "metrics, which hoopctl token metrics makes of it\n"};
    case ROLE_ANYBODY:
        break;
    }
    return (struct answer){
        HTTP_STATUS_UNAUTHORIZED, NULL,
        "this needs a token for role metrics, as Authorization: Bearer: "
        "hoopctl token metrics makes one\n"};
}

static struct answer
metrics_access_check(const struct http_options *options,
                     const struct http_request *request,
                     const struct http_requester *requester)
{
    if (options->audience == HTTP_AUDIENCE_ANYBODY ||
        (options->audience == HTTP_AUDIENCE_THIS_HOST &&
         requester->is_loopback))
        return (struct answer){0};
    if (options->audience == HTTP_AUDIENCE_THIS_HOST)
        return (struct answer){
            HTTP_STATUS_FORBIDDEN, NULL,
            "this hoopd has no token, so its /metrics is for processes of its "
            "own host\n"};
    if (requester->is_encrypted || requester->is_loopback)
        return metrics_token_check(options, request);
    /* Refuse also a request without a token: the client would send one next. */
    return (struct answer){
        HTTP_STATUS_FORBIDDEN, NULL,
        "/metrics wants a token, which anybody on the way could read: give "
        "hoopd --http-tls on and ask by https, or ask on its own host\n"};
}

static void
metrics_response_write(const struct http_options *options,
                       const struct http_request *request,
                       const struct http_requester *requester,
                       struct response *response)
{
    struct answer answer = metrics_access_check(options, request, requester);

    if (answer.text) {
        http_answer_write(&answer, !request->is_head, response);
        return;
    }
    char *text = metrics_page_format(options);
    answer = (struct answer){
        text ? HTTP_STATUS_OK : HTTP_STATUS_INTERNAL_ERROR,
        "text/plain; version=0.0.4",
        text ? text : "out of memory\n",
    };
    response->is_trusted = options->audience == HTTP_AUDIENCE_TOKEN_HOLDERS;
    http_answer_write(&answer, !request->is_head, response);
    free(text);
}

static struct answer
health_page_answer(const struct http_options *options,
                   const struct http_request *request)
{
    if (request->status != HTTP_STATUS_OK)
        return (struct answer){request->status, NULL,
                               "this is no request for here: GET or HEAD of "
                               "/healthz, /readyz or /metrics\n"};
    if (http_text_equals(request->path, "/healthz"))
        return (struct answer){HTTP_STATUS_OK, NULL, "ok\n"};
    if (!http_text_equals(request->path, "/readyz"))
        return (struct answer){HTTP_STATUS_NOT_FOUND, NULL,
                               "not here: there are /healthz, /readyz and "
                               "/metrics\n"};

    const char *unready = options->unready_text(options->owner);

    if (!unready)
        return (struct answer){HTTP_STATUS_OK, NULL, "ready\n"};
    return (struct answer){HTTP_STATUS_UNAVAILABLE, NULL, unready};
}

void
response_write(const struct http_options *options,
               const struct http_request *request,
               const struct http_requester *requester,
               struct response *out_response)
{
    *out_response = (struct response){0};
    if (request->status == HTTP_STATUS_OK &&
        http_text_equals(request->path, "/metrics")) {
        metrics_response_write(options, request, requester, out_response);
        return;
    }
    const struct answer answer = health_page_answer(options, request);

    http_answer_write(&answer, !request->is_head, out_response);
}
