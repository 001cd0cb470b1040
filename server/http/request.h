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

enum http_status {
    HTTP_STATUS_OK = 200,
    HTTP_STATUS_BAD_REQUEST = 400,
    HTTP_STATUS_UNAUTHORIZED = 401,
    HTTP_STATUS_FORBIDDEN = 403,
    HTTP_STATUS_NOT_FOUND = 404,
    HTTP_STATUS_METHOD_NOT_ALLOWED = 405,
    HTTP_STATUS_CONTENT_TOO_LARGE = 413,
    HTTP_STATUS_HEADERS_TOO_LARGE = 431,
    HTTP_STATUS_INTERNAL_ERROR = 500,
    HTTP_STATUS_NOT_IMPLEMENTED = 501,
    HTTP_STATUS_UNAVAILABLE = 503,
    HTTP_STATUS_VERSION_UNSUPPORTED = 505,
};

/* Return "Not Found" or the like; "" for any other number. Static. */
const char *
http_status_reason(enum http_status status);

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
struct http_request;

/* The client that sent the request. */
struct http_requester {
    bool is_loopback;  /* it connects from a loopback address */
    bool is_encrypted; /* it uses TLS */
};

/* A complete response. */
struct response {
    char *bytes; /* the caller frees it; NULL: no memory */
    size_t n_bytes;
    bool is_trusted; /* the client has shown a valid token */
};

void
response_write(const struct http_options *options,
               const struct http_request *request,
               const struct http_requester *requester,
               struct response *out_response);

#endif
