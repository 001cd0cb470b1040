/*
 * net/tls.h - TLS on a connected socket, by OpenSSL, which no caller sees
 *
 * A context says who is believed: by certificates, which both sides have, or
 * by a key that both know. A tls is one connection; bytes that the socket does
 * not take wait in it, so that what was given once need not be given again.
 * Until tls_allow_read_ahead() no byte behind the record that was asked for is read: the
 * socket may go on without the tls.
 *
 * An end of the stream is whatever the socket says; who must know that nothing
 * was cut off says so in what is sent.
 */

#ifndef NET_TLS_H
#define NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "hoop/status.h"

#include "base/hmac.h"

struct tls;
struct tls_context;

enum {
    TLS_BINDING_BYTES = 32,
    TLS_KEY_BYTES = HMAC_BYTES,
    /* Kinds of records that come first. */
    TLS_ALERT = 21,
    TLS_HANDSHAKE = 22,
};

/* Of files in PEM; a path that is NULL or empty is not said. */
struct tls_files {
    const char *certificate; /* and what leads from it to ca */
    const char *key;         /* of the certificate */
    const char *ca;          /* who is believed to sign certificates */
};

/* What they know who are identity. False: nobody is. */
typedef bool
tls_key_fn(void *owner, const char *identity, uint8_t out_key[TLS_KEY_BYTES]);

/* Whom a server with a certificate serves. */
enum tls_clients {
    TLS_CLIENTS_KNOWN,   /* who has a certificate of files.ca, or the key */
    TLS_CLIENTS_ANYBODY, /* they are not asked; files.ca and keys play no part */
};

struct tls_options {
    struct tls_files files;
    enum tls_clients clients;
    /* Without files.ca: what both sides know. NULL: nothing. TLS_KEY_BYTES. */
    const uint8_t *key;
    /* ... or, for a server, what each of its clients knows. */
    tls_key_fn *key_of;
    void *owner; /* of key_of; borrowed as long as connections are made */
    /* Of the certificate of a server that is called; NULL: any. */
    const char *name;
};

/* All is copied. Handle: HOOP_E_INVALID (what is said contradicts itself, or
 * cannot be used; the certificate, or all of files.ca, have expired or are not
 * valid yet by this host's clock), HOOP_E_NOT_FOUND (a file), HOOP_E_DENIED (others can use the
 * file of the key). */
enum hoop_status
tls_context_create(const struct tls_options *options,
                   struct tls_context **out_context);
/* Connections outlive it. NULL is fine. */
void
tls_context_destroy(struct tls_context *context);

/* From when until when the certificate that the file path begins with is valid, by
 * the wall clock, in seconds. Handle: HOOP_E_NOT_FOUND, HOOP_E_INVALID. */
enum hoop_status
tls_certificate_dates(const char *path,
                      int64_t *out_begins_s,
                      int64_t *out_ends_s);

/* fd is borrowed for life. identity: by which the key is made this
 * connection's, which is told to the other side in the clear. */
enum hoop_status
tls_create_client(struct tls_context *context,
                  int fd,
                  const char *identity,
                  struct tls **out_tls);
enum hoop_status
tls_create_server(struct tls_context *context, int fd, struct tls **out_tls);
/* NULL is fine. */
void
tls_destroy(struct tls *tls);

/*
 * Go on with the handshake. A client has not heard yet that its certificate was
 * taken: its first tls_receive() tells.
 * Handle: HOOP_E_PENDING (wait for the socket: to write, if tls_has_unsent()),
 * HOOP_E_UNAUTHENTICATED (one of the two does not believe the other),
 * HOOP_E_UNAVAILABLE (the connection has ended).
 */
enum hoop_status
tls_handshake(struct tls *tls);

/* Of what the other side said; -1: nothing. Who knows no TLS says something else
 * than TLS_ALERT or TLS_HANDSHAKE. */
int
tls_first_byte(const struct tls *tls);

/* What both ends of this connection, and nobody else, come to know: who proves
 * something about it speaks of no other. */
enum hoop_status
tls_binding(struct tls *tls, uint8_t out_binding[TLS_BINDING_BYTES]);

/* What the client said who it is; "" where certificates say it. */
const char *
tls_identity(const struct tls *tls);

/* From now on it may read ahead. */
enum hoop_status
tls_allow_read_ahead(struct tls *tls);

/* As sendmsg(2) on the socket, not to be repeated: what is taken is on its way,
 * at the latest by the next call while tls_has_unsent(). No spans: only that. */
ssize_t
tls_send(struct tls *tls, const struct iovec *spans, size_t n_spans);
bool
tls_has_unsent(const struct tls *tls);

/* As readv(2). EPROTO: no TLS, or no more, for the reason of tls_error_text(). Less
 * than asked for does not mean that nothing is there: see tls_is_ready(). */
ssize_t
tls_receive(struct tls *tls, const struct iovec *spans, size_t n_spans);
/* There is something to receive that the socket does not tell of. */
bool
tls_is_ready(const struct tls *tls);

/* Never NULL. */
const char *
tls_error_text(const struct tls *tls);

#endif
