/*
 * net/tls_context.h - who is believed: certificates, or a key
 *
 * Private to net/tls.c, the one who opens connections of it.
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

/* What a connection of the context knows of itself; its SSL's app data. */
struct tls_connection {
    struct tls_context *context;
    char identity[LIMIT_NAME];
    /* Of a certificate that is not valid now, by one of both clocks; "": none. */
    char dates[TLS_DATES_BYTES];
};

/* From when until when a certificate is valid, what this host's clock says, and
 * what to do. */
void
tls_dates_format(const X509 *certificate, char text[TLS_DATES_BYTES]);

/* Counted: connections keep what they were made of. */
struct tls_context *
tls_context_ref(struct tls_context *context);

/* party is borrowed for the SSL's life. NULL: no memory. */
SSL *
tls_context_open(struct tls_connection *party);
BIO *
tls_context_bio(struct tls_context *context, void *owner);
/* ... and nothing else is believed. */
bool
tls_context_has_key(const struct tls_context *context);
const char *
tls_context_name(const struct tls_context *context);

/* tls.c: how bytes come and go. */
int
tls_bio_write(BIO *bio, const char *bytes, int n_bytes);
int
tls_bio_read(BIO *bio, char *bytes, int n_bytes);
long
tls_bio_ctrl(BIO *bio, int command, long number, void *pointer);

#endif
