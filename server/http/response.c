/* http/response.c - write the response to a request */

#include "http/response.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "http/http.h"
#include "http/request.h"

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
metrics_text(const struct http_options *options)
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

/* Return the role of the token that the request shows. */
static enum role
request_role(const struct http_options *options,
             const struct http_request *request)
{
    char token[LIMIT_TOKEN] = "";

    if (request->token.n_bytes >= sizeof(token))
        return ROLE_ANYBODY;
    if (request->token.n_bytes > 0)
        memcpy(token, request->token.at, request->token.n_bytes);
    const enum role role = options->role_of(options->owner, token);
    explicit_bzero(token, sizeof(token));
    return role;
}

/* Return the refusal of /metrics for this token; its text is NULL if the token
 * is accepted. */
static struct answer
metrics_token_check(const struct http_options *options,
                    const struct http_request *request)
{
    switch (request_role(options, request)) {
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
    if (options->audience == HTTP_ANYBODY ||
        (options->audience == HTTP_THIS_HOST && requester->is_loopback))
        return (struct answer){0};
    if (options->audience == HTTP_THIS_HOST)
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
    char *text = metrics_text(options);
    answer = (struct answer){
        text ? HTTP_STATUS_OK : HTTP_STATUS_INTERNAL,
        "text/plain; version=0.0.4",
        text ? text : "out of memory\n",
    };
    response->is_trusted = options->audience == HTTP_TOKENS;
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
