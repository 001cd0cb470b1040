/*
 * http/request.h - parse the head of an HTTP/1.x request
 *
 * A pure function of bytes. Lines may end in CRLF or LF. Ambiguous input is
 * refused: a continuation line, a blank before a colon, a zero byte, two values
 * where one is allowed.
 */

#ifndef HTTP_REQUEST_H
#define HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "base/role.h"

enum http_status {
    HTTP_STATUS_OK = 200,
    HTTP_STATUS_NO_CONTENT = 204,
    HTTP_STATUS_NOT_MODIFIED = 304,
    HTTP_STATUS_BAD_REQUEST = 400,
    HTTP_STATUS_UNAUTHORIZED = 401,
    HTTP_STATUS_FORBIDDEN = 403,
    HTTP_STATUS_NOT_FOUND = 404,
    HTTP_STATUS_METHOD_NOT_ALLOWED = 405,
    HTTP_STATUS_CONTENT_TOO_LARGE = 413,
    HTTP_STATUS_MISDIRECTED = 421,
    HTTP_STATUS_HEADERS_TOO_LARGE = 431,
    HTTP_STATUS_INTERNAL_ERROR = 500,
    HTTP_STATUS_NOT_IMPLEMENTED = 501,
    HTTP_STATUS_UNAVAILABLE = 503,
    HTTP_STATUS_VERSION_UNSUPPORTED = 505,
};

/* Return "Not Found" or the like; "" for any other number. Static. */
const char *
http_status_reason(enum http_status status);

enum http_method {
    HTTP_METHOD_GET,
    HTTP_METHOD_HEAD,
};

/* A part of the parsed bytes; NULL if it is absent. */
struct http_text_slice {
    const char *at;
    size_t n_bytes;
};

bool
http_text_equals(struct http_text_slice text, const char *other);

struct http_request {
    enum http_status status;     /* OK, or why the request is refused; then only
                                is_head is set besides */
    bool is_head;                /* the answer must have no body */
    struct http_text_slice path; /* path of the target, without the query */
    struct http_text_slice
        token; /* the token of "Authorization: Bearer TOKEN" */
    /* The rest is for the page. A field that came twice is empty. */
    struct http_text_slice query;       /* of the target, behind the '?' */
    struct http_text_slice target_host; /* of "http://host/path" */
    struct http_text_slice host;
    struct http_text_slice cookie;
    struct http_text_slice if_none_match;
    struct http_text_slice last_event_id;
    struct http_text_slice fetch_site; /* Sec-Fetch-Site */
};

/*
 * Parse the bytes received so far. Returns false if the head is not complete
 * yet. Otherwise *out_request is a request or a refusal; a head of more than
 * n_max bytes is refused before its end has come.
 */
bool
http_request_parse(const char *bytes,
                   size_t n_bytes,
                   size_t n_max,
                   struct http_request *out_request);

struct http_options;

/* The client that sent the request. */
struct http_requester {
    bool is_loopback;  /* it connects from a loopback address */
    bool is_encrypted; /* it uses TLS */
};

enum response_kind {
    RESPONSE_COMPLETE, /* bytes are all of it */
    RESPONSE_DELAYED,  /* bytes are all of it, to be sent only after a second */
    RESPONSE_QUERY,    /* there is no answer before that to a query */
    RESPONSE_STREAM,   /* bytes are the head; events follow */
};

struct response {
    char *bytes; /* the caller frees it; NULL: no memory, or none yet (QUERY) */
    size_t n_bytes;
    bool is_trusted; /* the client has shown a valid token */
    enum response_kind kind;
    char job[LIMIT_NAME]; /* QUERY, STREAM: which job; "": the list of jobs */
    uint64_t entry_seen;  /* STREAM: the last entry of the log that the client
                             has; 0: none */
};

/* Return the role of the token that the request shows. */
enum role
request_token_role(const struct http_options *options,
                   const struct http_request *request);

/* Respond to requests for health and metrics, and refuse all others. */
void
response_write(const struct http_options *options,
               const struct http_request *request,
               const struct http_requester *requester,
               struct response *out_response);

#endif
