/* http/response.h - what is answered to a request, and to whom */

#ifndef HTTP_RESPONSE_H
#define HTTP_RESPONSE_H

#include <stdbool.h>
#include <stddef.h>

struct http_options;
struct http_request;

/* Who asks. */
struct http_requester {
    bool is_loopback;  /* from an address of this host alone */
    bool is_encrypted; /* under TLS */
};

/* A whole answer. */
struct response {
    char *bytes; /* the caller's, who frees it; NULL: no memory */
    size_t n_bytes;
    bool is_trusted; /* it is for who has shown a token */
};

void
response_write(const struct http_options *options,
               const struct http_request *request,
               const struct http_requester *requester,
               struct response *out_response);

#endif
