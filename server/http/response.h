/* http/response.h - write the response to a request */

#ifndef HTTP_RESPONSE_H
#define HTTP_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>

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
