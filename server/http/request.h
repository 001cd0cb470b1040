/*
 * http/request.h - the head of an HTTP/1.x request, parsed
 *
 * A pure function of bytes. Lines may end in CRLF or in LF alone. What is
 * ambiguous is refused: a line that continues another, a blank before a colon, a
 * zero byte, two values where there must be one.
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
    HTTP_STATUS_TOO_LARGE = 413,
    HTTP_STATUS_HEADERS_TOO_LARGE = 431,
    HTTP_STATUS_INTERNAL = 500,
    HTTP_STATUS_NOT_IMPLEMENTED = 501,
    HTTP_STATUS_UNAVAILABLE = 503,
    HTTP_STATUS_VERSION = 505,
};

/* "Not Found"; "" of a number that is none of these. Static. */
const char *
http_status_reason(enum http_status status);

/* A part of the bytes that were parsed; NULL: it is not there. */
struct http_text {
    const char *at;
    size_t n_bytes;
};

bool
http_text_is(struct http_text text, const char *other);

struct http_request {
    enum http_status status; /* OK, or why it is refused; then is_head alone
                                counts besides */
    bool is_head;            /* its answer has no body */
    struct http_text path;   /* of the target, without a query */
    struct http_text token;  /* of "Authorization: Bearer TOKEN" */
};

/*
 * False: the head is not complete yet. Else *out_request is a request, or a
 * refusal: one of more than n_max bytes is refused before its end has come.
 */
bool
http_request_parse(const char *bytes,
                   size_t n_bytes,
                   size_t n_max,
                   struct http_request *out_request);

#endif
