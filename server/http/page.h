/* http/page.h - what is answered to a request, and to whom */

#ifndef HTTP_PAGE_H
#define HTTP_PAGE_H

#include <stdbool.h>
#include <stddef.h>

struct http_options;
struct http_request;

/* Who asks. */
struct page_asker {
    bool is_loopback; /* from an address of this host alone */
    bool is_sealed;   /* under TLS */
};

/* A whole answer. */
struct page {
    char *bytes; /* the caller's, who frees it; NULL: no memory */
    size_t n_bytes;
    bool is_trusted; /* it is for who has shown a token */
};

void
page_write(const struct http_options *options,
           const struct http_request *request,
           const struct page_asker *asker,
           struct page *out_page);

#endif
