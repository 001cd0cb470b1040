/* http/site.c - the page: its files, its data, and who may read them */

#include "http/site.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "http/assets.h"

#define JSON_TYPE "application/json"

static const char api[] = "/api/";
static const char api_jobs[] = "/api/jobs";
static const char api_events[] = "/api/events";

static const char security_fields[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; "
    "style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n";

struct page_answer {
    enum http_status status;
    const char *type;
    const char
        *fields; /* more fields of the head, each with its line end; NULL:
                           none */
    const void *body;
    size_t n_body;
};

enum hoop_status
site_init(struct site *site, const struct http_options *options, uint16_t port)
{
    *site =
        (struct site){.options = options, .listen = strdup(options->listen)};
    if (!site->listen)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the page");
    if (gethostname(site->this_host, sizeof(site->this_host) - 1) != 0)
        site->this_host[0] = '\0';
    /* Browsers give a host's cookies to all of its ports. */
    snprintf(site->cookie, sizeof(site->cookie), "hoop_session_%u", port);
    const enum hoop_status status =
        random_fill(&site->boot, sizeof(site->boot));
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

void
site_deinit(struct site *site)
{
    free(site->listen);
    explicit_bzero(&site->sessions, sizeof(site->sessions));
}

static bool
text_begins(struct http_text_slice text, const char *beginning)
{
    const size_t n = strlen(beginning);

    return text.n_bytes >= n && memcmp(text.at, beginning, n) == 0;
}

static const struct asset *
asset_find(struct http_text_slice path)
{
    for (size_t i = 0; i < n_assets; i++) {
        if (http_text_equals(path, assets[i].path))
            return &assets[i];
    }
    return NULL;
}

bool
site_serves(const struct site *site, const struct http_request *request)
{
    return site->options->query && request->status == HTTP_STATUS_OK &&
           (text_begins(request->path, api) || asset_find(request->path));
}

/* ---- Writing answers. */

static void
page_answer_write(const struct page_answer *answer,
                  bool is_head,
                  struct response *response)
{
    FILE *out = open_memstream(&response->bytes, &response->n_bytes);

    if (!out)
        return;
    fprintf(out, "HTTP/1.1 %d %s\r\n", (int)answer->status,
            http_status_reason(answer->status));
    if (answer->type)
        fprintf(out, "Content-Type: %s\r\n", answer->type);
    /* A status without a body has no length either. */
    if (answer->type && answer->body)
        fprintf(out, "Content-Length: %zu\r\n", answer->n_body);
    fprintf(out, "%sConnection: close\r\n%s\r\n",
            answer->fields ? answer->fields : "Cache-Control: no-store\r\n",
            security_fields);
    if (!is_head && answer->n_body > 0)
        fwrite(answer->body, 1, answer->n_body, out);
    if (fclose(out) == 0)
        return;
    free(response->bytes);
    response->bytes = NULL;
}

static void
json_answer_write(enum http_status status,
                  const char *json,
                  bool is_head,
                  struct response *response)
{
    page_answer_write(
        &(struct page_answer){status, JSON_TYPE, NULL, json, strlen(json)},
        is_head, response);
}

/* ---- Which Host fields are accepted. */

/* Return whether name is the host of an item of a list such as "a:1,[::1]:2". */
static bool
listen_list_names(const char *list, const char *name)
{
    const size_t n_name = strlen(name);

    while (*list) {
        const size_t n_item = strcspn(list, ",");
        const char *colon = memrchr(list, ':', n_item);
        const size_t n_host = colon ? (size_t)(colon - list) : n_item;

        if (n_host == n_name && strncasecmp(list, name, n_name) == 0)
            return true;
        list += n_item;
        list += *list == ',';
    }
    return false;
}

/* Remove a port, which must be digits. Returns false if it is not. */
static bool
host_remove_port(char *host)
{
    char *end = host[0] == '[' ? strchr(host, ']') : strchr(host, ':');

    if (!end)
        return host[0] != '[';
    if (host[0] == '[')
        end++;
    if (*end && (*end != ':' || end[1 + strspn(end + 1, "0123456789")]))
        return false;
    *end = '\0';
    return true;
}

static enum http_status
host_check(const struct site *site, struct http_text_slice text)
{
    char host[LIMIT_ADDRESS];
    struct in6_addr address;

    if (!text.at || text.n_bytes == 0 || text.n_bytes >= sizeof(host))
        return HTTP_STATUS_BAD_REQUEST;
    memcpy(host, text.at, text.n_bytes);
    host[text.n_bytes] = '\0';
    if (!host_remove_port(host) || !host[0])
        return HTTP_STATUS_BAD_REQUEST;
    const size_t n_host = strlen(host);
    if (host[0] == '[') {
        host[n_host - 1] = '\0';
        return inet_pton(AF_INET6, host + 1, &address) == 1
                   ? HTTP_STATUS_OK
                   : HTTP_STATUS_BAD_REQUEST;
    }
    if (inet_pton(AF_INET, host, &address) == 1 ||
        strcasecmp(host, "localhost") == 0 ||
        strcasecmp(host, site->this_host) == 0 ||
        listen_list_names(site->listen, host))
        return HTTP_STATUS_OK;
    return HTTP_STATUS_MISDIRECTED;
}

/* ---- Who may read the data. */

struct page_refusal {
    enum http_status status; /* HTTP_STATUS_OK: there is none */
    const char *json;
    bool is_delayed; /* the client may be guessing tokens */
};

static const char json_wants_token[] =
    "{\"error\":\"this needs a token for role operator, which hoopctl token "
    "operator makes\",\"wants\":\"token\"}";

static struct page_refusal
token_refusal(struct site *site, const struct http_request *request)
{
    switch (request_token_role(site->options, request)) {
    case ROLE_OPERATOR:
        return (struct page_refusal){.status = HTTP_STATUS_OK};
    case ROLE_WORKER:
        return (struct page_refusal){
            HTTP_STATUS_FORBIDDEN,
            "{\"error\":\"a job's own token is not for HTTP: this needs one "
            "for role operator, which hoopctl token operator makes of "
            "it\",\"wants\":\"token\"}",
            false};
    case ROLE_METRICS:
        return (struct page_refusal){
            HTTP_STATUS_FORBIDDEN,
            "{\"error\":\"this needs a token for role operator, and this is "
            "one for role metrics\",\"wants\":\"token\"}",
            false};
    case ROLE_ANYBODY:
        break;
    }
    return (struct page_refusal){
        HTTP_STATUS_UNAUTHORIZED,
        "{\"error\":\"this is not the token: hoopctl token operator makes "
        "it\",\"wants\":\"token\"}",
        true};
}

static struct page_refusal
access_refusal(struct site *site,
               const struct http_request *request,
               const struct http_requester *requester)
{
    const struct page_refusal none = {.status = HTTP_STATUS_OK};

    if (request->fetch_site.at &&
        !http_text_equals(request->fetch_site, "same-origin") &&
        !http_text_equals(request->fetch_site, "none"))
        return (struct page_refusal){
            HTTP_STATUS_FORBIDDEN,
            "{\"error\":\"this is only for hoopd's own page\"}", false};
    if (site->options->audience == HTTP_AUDIENCE_ANYBODY ||
        (site->options->audience == HTTP_AUDIENCE_THIS_HOST &&
         requester->is_loopback))
        return none;
    if (site->options->audience == HTTP_AUDIENCE_THIS_HOST)
        return (struct page_refusal){
            HTTP_STATUS_FORBIDDEN,
            "{\"error\":\"this hoopd has no token, so its page is for its own "
            "host\"}",
            false};
    if (!requester->is_encrypted && !requester->is_loopback)
        return (struct page_refusal){
            HTTP_STATUS_FORBIDDEN,
            "{\"error\":\"the page needs a token, which anybody on the way "
            "could read: give hoopd --http-tls on and open it by https, or "
            "open it on its own host\"}",
            false};
    if (request->token.at)
        return token_refusal(site, request);
    if (sessions_have(&site->sessions, request->cookie, site->cookie,
                      clock_now_ns()))
        return none;
    return (struct page_refusal){HTTP_STATUS_UNAUTHORIZED, json_wants_token,
                                 false};
}

/* ---- The paths. */

static void
asset_respond(const struct asset *asset,
              const struct http_request *request,
              struct response *response)
{
    struct page_answer answer = {HTTP_STATUS_OK, asset->type, NULL,
                                 asset->bytes, asset->n_bytes};
    char fields[256];

    snprintf(fields, sizeof(fields), "Cache-Control: no-cache\r\nETag: %s\r\n",
             asset->etag);
    answer.fields = fields;
    if (http_text_equals(request->if_none_match, asset->etag))
        answer = (struct page_answer){.status = HTTP_STATUS_NOT_MODIFIED,
                                      .fields = fields};
    page_answer_write(&answer, request->is_head, response);
}

/* A token that was shown begins a session. */
static void
session_respond(struct site *site,
                const struct http_request *request,
                const struct http_requester *requester,
                struct response *response)
{
    char id[SESSION_ID_TEXT];
    char fields[512];
    struct page_answer answer = {.status = HTTP_STATUS_NO_CONTENT};

    if (request->token.at &&
        site->options->audience == HTTP_AUDIENCE_TOKEN_HOLDERS) {
        if (sessions_create(&site->sessions, clock_now_ns(), id) != HOOP_OK) {
            json_answer_write(HTTP_STATUS_INTERNAL_ERROR,
                              "{\"error\":\"no random bytes\"}",
                              request->is_head, response);
            return;
        }
        snprintf(fields, sizeof(fields),
                 "Set-Cookie: %s=%s; Path=/; Max-Age=%d; HttpOnly; "
                 "SameSite=Strict%s\r\nCache-Control: no-store\r\n",
                 site->cookie, id, LIMIT_HTTP_SESSION_MS / 1000,
                 requester->is_encrypted ? "; Secure" : "");
        answer.fields = fields;
    }
    page_answer_write(&answer, request->is_head, response);
}

static int
hex_digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decode "%2F". Returns false if it is malformed, empty or too long. */
static bool
job_name_decode(struct http_text_slice text, char out_name[LIMIT_NAME])
{
    size_t n = 0;

    for (size_t i = 0; i < text.n_bytes; i++) {
        char c = text.at[i];

        if (c == '%') {
            const int high =
                i + 2 < text.n_bytes ? hex_digit_value(text.at[i + 1]) : -1;
            const int low =
                i + 2 < text.n_bytes ? hex_digit_value(text.at[i + 2]) : -1;

            if (high < 0 || low < 0)
                return false;
            c = (char)(high * 16 + low);
            i += 2;
        }
        if (c == '\0' || n + 1 >= LIMIT_NAME)
            return false;
        out_name[n++] = c;
    }
    out_name[n] = '\0';
    return n > 0;
}

/* Return the value of a parameter of the query; NULL: there is none. */
static struct http_text_slice
query_parameter(struct http_text_slice query, const char *name)
{
    const size_t n_name = strlen(name);

    while (query.n_bytes > 0) {
        const char *end = memchr(query.at, '&', query.n_bytes);
        const size_t n = end ? (size_t)(end - query.at) : query.n_bytes;

        if (n > n_name && memcmp(query.at, name, n_name) == 0 &&
            query.at[n_name] == '=')
            return (struct http_text_slice){query.at + n_name + 1,
                                            n - n_name - 1};
        query.at += n + (end != NULL);
        query.n_bytes -= n + (end != NULL);
    }
    return (struct http_text_slice){0};
}

/* Return the number of "BOOT-NUMBER"; 0 if it is not of this start. */
static uint64_t
entry_number_parse(const struct site *site, struct http_text_slice id)
{
    char begin[24];
    uint64_t number = 0;

    snprintf(begin, sizeof(begin), "%016llx-", (unsigned long long)site->boot);
    if (!text_begins(id, begin))
        return 0;
    for (size_t i = strlen(begin); i < id.n_bytes; i++) {
        if (id.at[i] < '0' || id.at[i] > '9' || number > UINT32_MAX)
            return 0;
        number = number * 10 + (uint64_t)(id.at[i] - '0');
    }
    return number;
}

static void
events_respond(const struct site *site,
               const struct http_request *request,
               struct response *response)
{
    const struct http_text_slice job = query_parameter(request->query, "job");
    const struct http_text_slice after =
        query_parameter(request->query, "after");

    if (job.at && !job_name_decode(job, response->job)) {
        json_answer_write(HTTP_STATUS_BAD_REQUEST,
                          "{\"error\":\"this names no job\"}", request->is_head,
                          response);
        return;
    }
    page_answer_write(&(struct page_answer){.status = HTTP_STATUS_OK,
                                            .type = "text/event-stream"},
                      true, response);
    if (request->is_head)
        return;
    response->kind = RESPONSE_STREAM;
    response->entry_seen = entry_number_parse(
        site, request->last_event_id.at ? request->last_event_id : after);
}

static void
data_respond(struct site *site,
             const struct http_request *request,
             const struct http_requester *requester,
             struct response *response)
{
    struct http_text_slice name = request->path;

    if (http_text_equals(request->path, "/api/session")) {
        session_respond(site, request, requester, response);
        return;
    }
    if (http_text_equals(request->path, api_events)) {
        events_respond(site, request, response);
        return;
    }
    response->kind = RESPONSE_QUERY;
    if (http_text_equals(request->path, api_jobs))
        return;
    if (text_begins(name, "/api/jobs/")) {
        name.at += sizeof(api_jobs);
        name.n_bytes -= sizeof(api_jobs);
        if (job_name_decode(name, response->job))
            return;
    }
    response->kind = RESPONSE_COMPLETE;
    json_answer_write(HTTP_STATUS_NOT_FOUND,
                      "{\"error\":\"there are /api/jobs, /api/jobs/NAME, "
                      "/api/events and /api/session\"}",
                      request->is_head, response);
}

static void
host_refusal_write(enum http_status status,
                   bool is_head,
                   struct response *response)
{
    static const char misdirected[] =
        "this hoopd is not asked by this name: use its address, or localhost, "
        "or have it listen at the name (--http)\n";
    static const char missing[] = "the Host field is missing or malformed\n";
    const char *text =
        status == HTTP_STATUS_MISDIRECTED ? misdirected : missing;

    page_answer_write(&(struct page_answer){status, "text/plain; charset=utf-8",
                                            NULL, text, strlen(text)},
                      is_head, response);
}

void
site_respond(struct site *site,
             const struct http_request *request,
             const struct http_requester *requester,
             struct response *out_response)
{
    enum http_status status = host_check(site, request->host);

    *out_response = (struct response){0};
    if (status == HTTP_STATUS_OK && request->target_host.at)
        status = host_check(site, request->target_host);
    if (status != HTTP_STATUS_OK) {
        host_refusal_write(status, request->is_head, out_response);
        return;
    }
    const struct asset *asset = asset_find(request->path);
    if (asset) {
        asset_respond(asset, request, out_response);
        return;
    }
    const struct page_refusal refusal =
        access_refusal(site, request, requester);
    if (refusal.status != HTTP_STATUS_OK) {
        json_answer_write(refusal.status, refusal.json, request->is_head,
                          out_response);
        out_response->kind =
            refusal.is_delayed ? RESPONSE_DELAYED : RESPONSE_COMPLETE;
        return;
    }
    out_response->is_trusted =
        site->options->audience == HTTP_AUDIENCE_TOKEN_HOLDERS;
    data_respond(site, request, requester, out_response);
}

void
site_respond_with_answer(enum hoop_status status,
                         const char *json,
                         enum http_method method,
                         struct response *out_response)
{
    enum http_status http_status = HTTP_STATUS_UNAVAILABLE;

    *out_response = (struct response){0};
    if (status == HOOP_OK)
        http_status = json ? HTTP_STATUS_OK : HTTP_STATUS_INTERNAL_ERROR;
    else if (status == HOOP_E_NOT_FOUND)
        http_status = HTTP_STATUS_NOT_FOUND;
    else if (status == HOOP_E_INVALID)
        http_status = HTTP_STATUS_BAD_REQUEST;
    json_answer_write(http_status, json ? json : "{\"error\":\"no memory\"}",
                      method == HTTP_METHOD_HEAD, out_response);
}
