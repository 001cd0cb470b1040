/*
 * net/tls_context.h - whom to trust: certificates or a key
 *
 * Private to net/tls.c, which opens the connections of a context.
 */

#ifndef NET_TLS_CONTEXT_H
#define NET_TLS_CONTEXT_H

#include <openssl/bio.h>
#include <openssl/ssl.h>

#include "base/limits.h"
#include "net/tls.h"

enum {
    TLS_DATES_BYTES = 384,
};

/* A connection of a context; the app data of its SSL. */
struct tls_connection {
    struct tls_context *context;
    char identity[LIMIT_NAME];
    /* Describes a certificate that is not valid now, by the clock of either
     * side; "": none. */
    char dates[TLS_DATES_BYTES];
};

/* Describe the dates of a certificate, this host's clock, and what to do. */
void
tls_dates_format(const X509 *certificate, char text[TLS_DATES_BYTES]);

/* Add a reference: connections keep their context. */
struct tls_context *
tls_context_ref(struct tls_context *context);

/* party is borrowed for the SSL's life. NULL: no memory. */
SSL *
tls_context_create_ssl(struct tls_connection *party);
BIO *
tls_context_create_bio(struct tls_context *context, void *owner);
/* Return whether the context trusts a key and nothing else. */
bool
tls_context_has_key(const struct tls_context *context);
const char *
tls_context_server_name(const struct tls_context *context);

/* Implemented by tls.c: how bytes are sent and received. */
int
tls_bio_write(BIO *bio, const char *bytes, int n_bytes);
int
tls_bio_read(BIO *bio, char *bytes, int n_bytes);
long
tls_bio_ctrl(BIO *bio, int command, long number, void *pointer);

#endif
