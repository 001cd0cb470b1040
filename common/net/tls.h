/*
 * net/tls.h - TLS on a connected socket; hides OpenSSL
 *
 * A context defines whom to trust: by certificates, which both sides have, or
 * by a key that both know. A tls is one connection; bytes that the socket does
 * not accept wait in it, so that the caller need not pass them again. Until
 * tls_allow_read_ahead(), no byte after the requested record is read, so that
 * the socket may be used without TLS afterwards.
 *
 * The end of the stream is whatever the socket reports; a caller that must
 * detect truncation has to send an explicit end.
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

struct config;
struct tls;
struct tls_context;

enum {
    TLS_BINDING_BYTES = 32,
    TLS_KEY_BYTES = HMAC_BYTES,
    /* Record types that come first. */
    TLS_ALERT = 21,
    TLS_HANDSHAKE = 22,
};

/* PEM files; a path that is NULL or empty means none. */
struct tls_files {
    const char *certificate; /* with the chain that leads to ca */
    const char *key;         /* private key of the certificate */
    const char *ca;          /* the authorities that are trusted */
};

/* The paths that the settings give. Borrowed from config. */
struct tls_files
config_tls_files(const struct config *config);

/* Find the key of the clients with this identity. Returns false if there is
 * none. */
typedef bool
tls_key_fn(void *owner, const char *identity, uint8_t out_key[TLS_KEY_BYTES]);

/* Which clients a server with a certificate accepts. */
enum tls_clients {
    TLS_CLIENTS_KNOWN,   /* clients with a certificate of files.ca, or with
                            the key */
    TLS_CLIENTS_ANYBODY, /* all clients; files.ca and keys are not used */
};

struct tls_options {
    struct tls_files files;
    enum tls_clients clients;
    /* Without files.ca: the key of TLS_KEY_BYTES that both sides know, or
     * NULL. */
    const uint8_t *key;
    /* For a server: finds the key of each client. */
    tls_key_fn *key_of;
    void *owner; /* for key_of; borrowed while connections are made */
    /* Name that the server's certificate must have; NULL: any. */
    const char *name;
};

/* Everything is copied. Handle: HOOP_E_INVALID (contradictory or unusable
 * options; the certificate, or all of files.ca, are expired or not valid yet by
 * this host's clock), HOOP_E_NOT_FOUND (missing file), HOOP_E_DENIED (others
 * can use the key file). */
enum hoop_status
tls_context_create(const struct tls_options *options,
                   struct tls_context **out_context);
/* Existing connections stay usable. NULL is allowed. */
void
tls_context_destroy(struct tls_context *context);

/* Return from when until when the first certificate in the file is valid, in
 * seconds of the wall clock. Handle: HOOP_E_NOT_FOUND, HOOP_E_INVALID. */
enum hoop_status
tls_certificate_dates(const char *path,
                      int64_t *out_begins_s,
                      int64_t *out_ends_s);

/* fd is borrowed for the connection's life. identity selects the key of this
 * connection and is sent in the clear. */
enum hoop_status
tls_create_client(struct tls_context *context,
                  int fd,
                  const char *identity,
                  struct tls **out_tls);
enum hoop_status
tls_create_server(struct tls_context *context, int fd, struct tls **out_tls);
/* NULL is allowed. */
void
tls_destroy(struct tls *tls);

/*
 * Continue the handshake. A client does not know yet whether its certificate
 * was accepted: its first tls_receive() tells.
 * Handle: HOOP_E_PENDING (wait for the socket, for writing if
 * tls_has_unsent()), HOOP_E_UNAUTHENTICATED (one side does not trust the
 * other), HOOP_E_UNAVAILABLE (the connection has ended).
 */
enum hoop_status
tls_handshake(struct tls *tls);

/* Return the first byte that was received; -1: none. A peer without TLS sends
 * neither TLS_ALERT nor TLS_HANDSHAKE. */
int
tls_first_byte(const struct tls *tls);

/* Get a value that only the two ends of this connection know: a proof that
 * includes it is valid for no other connection. */
enum hoop_status
tls_channel_binding(struct tls *tls, uint8_t out_binding[TLS_BINDING_BYTES]);

/* Return the identity that the client has sent; "" with certificates. */
const char *
tls_identity(const struct tls *tls);

/* Allow reading ahead from now on. */
enum hoop_status
tls_allow_read_ahead(struct tls *tls);

/* As sendmsg(2), but never to be repeated: accepted bytes are sent by this call
 * or by later ones while tls_has_unsent(). Without spans it only does that. */
ssize_t
tls_send(struct tls *tls, const struct iovec *spans, size_t n_spans);
bool
tls_has_unsent(const struct tls *tls);

/* As readv(2). EPROTO: not TLS, or a TLS error, explained by tls_error_text().
 * Fewer bytes than requested do not mean that there are no more, see
 * tls_has_buffered(). */
ssize_t
tls_receive(struct tls *tls, const struct iovec *spans, size_t n_spans);
/* Return whether there are buffered bytes to receive, which the socket does not
 * signal. */
bool
tls_has_buffered(const struct tls *tls);

/* Never NULL. */
const char *
tls_error_text(const struct tls *tls);

#endif
