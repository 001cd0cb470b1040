/*
 * net/tls.c - TLS on a connected socket; hides OpenSSL
 *
 *   tls_send()  -> records -> out -> socket
 *   socket -> in -> whole records -> tls_receive()
 *
 * OpenSSL never touches the socket. What it writes is kept until the socket
 * accepts it, so it never asks for the same bytes again. Of what is read ahead
 * it gets only whole records, so that it is known, without asking it, whether
 * there is more to receive.
 */

#include "net/tls.h"

#include <assert.h>
#include <errno.h>
#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "base/copy.h"
#include "base/error.h"
#include "base/limits.h"
#include "net/tls_context.h"

enum {
    RECORD = 16 * 1024,    /* largest encrypted payload */
    RECORD_HEADER = 5,     /* type u8, version u16, length u16 */
    RECORD_OVERHEAD = 512, /* at least the overhead of a record */
    RECORD_LENGTH_MAX = RECORD + 2048,
    /* Records per key: less than a tenth of the limit for AES-GCM. */
    RECORDS_PER_KEY = 1 << 21,
    OUT_FIRST = 4096,
    TLS_WHY_BYTES = TLS_DATES_BYTES + LIMIT_NAME,
};

struct tls {
    struct tls_connection party;
    SSL *ssl;
    int fd;
    bool has_ended;          /* the socket reported the end */
    int error;               /* errno of the socket; 0: none */
    int first_received_byte; /* first byte received; -1: none */
    char why[TLS_WHY_BYTES];
    uint32_t n_records;

    /* NULL: no reading ahead. Size LIMIT_TLS_BUFFER. */
    uint8_t *in;
    size_t in_first;
    size_t in_end;
    size_t n_released; /* bytes of in that belong to a record OpenSSL has
                          begun to read */

    uint8_t *out;
    size_t out_first;
    size_t out_end;
    size_t out_room;
    uint8_t gathered[RECORD];
};

DEFINE_CLEANUP(struct tls *, tls_destroy)

/* Return the size of the record at the front of in; 0: it is incomplete. */
static size_t
complete_record_size(const struct tls *tls)
{
    const size_t n_ahead = tls->in_end - tls->in_first;
    const uint8_t *at = tls->in + tls->in_first;

    if (n_ahead < RECORD_HEADER)
        return 0;
    const size_t n_record = RECORD_HEADER + ((size_t)at[3] << 8 | at[4]);
    /* A record that is too long is left for OpenSSL to refuse. */
    return n_record <= n_ahead                            ? n_record
           : n_record > RECORD_HEADER + RECORD_LENGTH_MAX ? n_ahead
                                                          : 0;
}

static int
bio_read_buffered(struct tls *tls, char *bytes, size_t n_room)
{
    if (tls->n_released == 0)
        tls->n_released = complete_record_size(tls);
    const size_t n = n_room < tls->n_released ? n_room : tls->n_released;

    if (n > 0)
        copy_bytes((uint8_t *)bytes, tls->in + tls->in_first, n);
    tls->in_first += n;
    tls->n_released -= n;
    return n > 0 ? (int)n : -1;
}

static int
bio_read_socket(struct tls *tls, char *bytes, size_t n_room)
{
    const ssize_t n = recv(tls->fd, bytes, n_room, MSG_DONTWAIT);

    if (n > 0 && tls->first_received_byte < 0)
        tls->first_received_byte = (uint8_t)bytes[0];
    if (n == 0)
        tls->has_ended = true;
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        tls->error = errno;
    return n > 0 ? (int)n : n == 0 || tls->error ? 0 : -1;
}

int
tls_bio_read(BIO *bio, char *bytes, int n_bytes)
{
    struct tls *tls = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    const int n = tls->in ? bio_read_buffered(tls, bytes, (size_t)n_bytes)
                          : bio_read_socket(tls, bytes, (size_t)n_bytes);
    if (n < 0)
        BIO_set_retry_read(bio);
    return n;
}

int
tls_bio_write(BIO *bio, const char *bytes, int n_bytes)
{
    struct tls *tls = BIO_get_data(bio);
    const size_t n_needed = tls->out_end + (size_t)n_bytes;

    if (n_needed > tls->out_room) {
        const size_t n_room =
            2 * n_needed > OUT_FIRST ? 2 * n_needed : OUT_FIRST;
        uint8_t *out = realloc(tls->out, n_room);

        if (!out)
            return -1;
        tls->out = out;
        tls->out_room = n_room;
    }
    copy_bytes(tls->out + tls->out_end, (const uint8_t *)bytes,
               (size_t)n_bytes);
    tls->out_end = n_needed;
    return n_bytes;
}

long
tls_bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
    const struct tls *tls = BIO_get_data(bio);

    (void)number;
    (void)pointer;
    if (command == BIO_CTRL_FLUSH)
        return 1;
    return command == BIO_CTRL_EOF && (tls->has_ended || tls->error);
}

bool
tls_has_unsent(const struct tls *tls)
{
    return tls->out_end > tls->out_first;
}

/* Returns false if bytes are left; errno says why. */
static bool
tls_flush_out(struct tls *tls)
{
    while (tls_has_unsent(tls)) {
        const ssize_t n =
            send(tls->fd, tls->out + tls->out_first,
                 tls->out_end - tls->out_first, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return false;
        tls->out_first += (size_t)n;
    }
    tls->out_first = 0;
    tls->out_end = 0;
    return true;
}

/* The other side's alert may concern the dates of our certificate. One that is
 * not valid yet is reported as "bad". */
static void
own_certificate_dates_note(struct tls *tls, int reason)
{
    const X509 *own = SSL_get_certificate(tls->ssl);

    if (own && (reason == SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED ||
                reason == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE))
        tls_dates_format(own, tls->party.dates);
}

/* Note OpenSSL's reason, and what is wrong with a certificate. */
static void
tls_error_note(struct tls *tls)
{
    const unsigned long code = ERR_peek_error();
    const long verify_result = SSL_get_verify_result(tls->ssl);
    const char *reason = code ? ERR_reason_error_string(code) : NULL;

    own_certificate_dates_note(tls, ERR_GET_REASON(code));
    snprintf(tls->why, sizeof(tls->why), "%s%s%s%s%s",
             reason ? reason : "it is broken",
             verify_result != X509_V_OK ? ": " : "",
             verify_result != X509_V_OK
                 ? X509_verify_cert_error_string(verify_result)
                 : "",
             *tls->party.dates ? ": " : "", tls->party.dates);
}

const char *
tls_error_text(const struct tls *tls)
{
    return tls->why;
}

static enum hoop_status
tls_create_connection(struct tls_context *context,
                      int fd,
                      const char *identity,
                      struct tls **out_tls)
{
    CLEANUP(tls_destroy) struct tls *tls = calloc(1, sizeof(*tls));

    if (!tls)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for TLS");
    tls->fd = fd;
    tls->first_received_byte = -1;
    tls->party.context = tls_context_ref(context);
    snprintf(tls->party.identity, sizeof(tls->party.identity), "%s", identity);
    tls->ssl = tls_context_create_ssl(&tls->party);
    BIO *bio = tls->ssl ? tls_context_create_bio(context, tls) : NULL;
    if (!bio)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for TLS");
    SSL_set_bio(tls->ssl, bio, bio);
    *out_tls = STEAL(tls);
    return HOOP_OK;
}

enum hoop_status
tls_create_client(struct tls_context *context,
                  int fd,
                  const char *identity,
                  struct tls **out_tls)
{
    const enum hoop_status status =
        tls_create_connection(context, fd, identity, out_tls);
    const char *name = tls_context_server_name(context);

    if (status != HOOP_OK)
        return error_pass(status);
    SSL_set_connect_state((*out_tls)->ssl);
    if (*name && (!SSL_set1_host((*out_tls)->ssl, name) ||
                  !SSL_set_tlsext_host_name((*out_tls)->ssl, name))) {
        tls_destroy(*out_tls);
        *out_tls = NULL;
        return error_raise(HOOP_E_EXHAUSTED, "no memory for TLS");
    }
    return HOOP_OK;
}

enum hoop_status
tls_create_server(struct tls_context *context, int fd, struct tls **out_tls)
{
    const enum hoop_status status =
        tls_create_connection(context, fd, "", out_tls);

    if (status != HOOP_OK)
        return error_pass(status);
    SSL_set_accept_state((*out_tls)->ssl);
    return HOOP_OK;
}

void
tls_destroy(struct tls *tls)
{
    if (!tls)
        return;
    SSL_free(tls->ssl);
    tls_context_destroy(tls->party.context);
    free(tls->in);
    free(tls->out);
    free(tls);
}

static enum hoop_status
tls_handshake_fail(struct tls *tls)
{
    if (tls->error || tls->has_ended)
        return error_raise(HOOP_E_UNAVAILABLE,
                           "%s during the TLS handshake; is HOOP_TLS on at the "
                           "other side, too?",
                           tls->error ? strerror(tls->error)
                                      : "connection closed");
    tls_error_note(tls);
    return error_raise(HOOP_E_UNAUTHENTICATED,
                       "no TLS with the other side: %s%s", tls->why,
                       *tls->party.dates ? ""
                                         : "; have both the same HOOP_TLS, "
                                           "token and certificates of one CA?");
}

enum hoop_status
tls_handshake(struct tls *tls)
{
    ERR_clear_error();
    const int result = SSL_do_handshake(tls->ssl);
    const bool is_pending =
        result != 1 && SSL_get_error(tls->ssl, result) == SSL_ERROR_WANT_READ;

    /* Also sends the alert after a failure. */
    if (!tls_flush_out(tls) && errno != EAGAIN && errno != EWOULDBLOCK)
        tls->error = errno;
    if (tls->error || (result != 1 && !is_pending))
        return tls_handshake_fail(tls);
    /* With a key in use, a certificate presented instead of it is not
     * trusted. */
    if (result == 1 && tls_context_has_key(tls->party.context) &&
        !SSL_session_reused(tls->ssl))
        return error_raise(HOOP_E_UNAUTHENTICATED,
                           "no TLS with the other side: it shows a certificate "
                           "instead of knowing the job's token");
    return is_pending || tls_has_unsent(tls) ? HOOP_E_PENDING : HOOP_OK;
}

int
tls_first_byte(const struct tls *tls)
{
    return tls->first_received_byte;
}

enum hoop_status
tls_channel_binding(struct tls *tls, uint8_t out_binding[TLS_BINDING_BYTES])
{
    static const char label[] = "EXPORTER-Channel-Binding";

    if (SSL_export_keying_material(tls->ssl, out_binding, TLS_BINDING_BYTES,
                                   label, sizeof(label) - 1, (const void *)"",
                                   0, 1) != 1)
        return error_raise(HOOP_E_INTERNAL, "OpenSSL binds nothing to a "
                                            "connection");
    return HOOP_OK;
}

const char *
tls_identity(const struct tls *tls)
{
    return tls->party.identity;
}

enum hoop_status
tls_allow_read_ahead(struct tls *tls)
{
    if (!tls->in)
        tls->in = malloc(LIMIT_TLS_BUFFER);
    return tls->in ? HOOP_OK
                   : error_raise(HOOP_E_EXHAUSTED,
                                 "no memory for what TLS reads ahead");
}

/* Return the bytes of the next record: in place if they are contiguous,
 * otherwise copied. */
static const uint8_t *
plaintext_next_record(struct tls *tls,
                      const struct iovec **spans,
                      size_t *n_spans,
                      size_t *n_skipped,
                      size_t *out_n_bytes)
{
    const uint8_t *whole = NULL;
    size_t n_bytes = 0;

    while (*n_spans > 0 && n_bytes < RECORD && !whole) {
        const struct iovec *span = *spans;
        const uint8_t *at = (const uint8_t *)span->iov_base + *n_skipped;
        const size_t n_left = span->iov_len - *n_skipped;
        const size_t n_room = RECORD - n_bytes;
        const size_t n_here = n_left < n_room ? n_left : n_room;

        if (n_here == RECORD)
            whole = at;
        else if (n_here > 0)
            copy_bytes(tls->gathered + n_bytes, at, n_here);
        n_bytes += n_here;
        *n_skipped += n_here;
        if (*n_skipped == span->iov_len) {
            *n_skipped = 0;
            (*spans)++;
            (*n_spans)--;
        }
    }
    *out_n_bytes = n_bytes;
    return whole ? whole : tls->gathered;
}

/* On failure returns false with errno EPROTO. */
static bool
plaintext_encrypt(struct tls *tls, const uint8_t *bytes, size_t n_bytes)
{
    ERR_clear_error();
    if (++tls->n_records % RECORDS_PER_KEY == 0)
        (void)SSL_key_update(tls->ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
    if (SSL_write(tls->ssl, bytes, (int)n_bytes) == (int)n_bytes)
        return true;
    tls_error_note(tls);
    errno = EPROTO;
    return false;
}

ssize_t
tls_send(struct tls *tls, const struct iovec *spans, size_t n_spans)
{
    size_t n_skipped = 0;
    size_t n_total = 0;

    if (!tls_flush_out(tls))
        return -1;
    while (n_spans > 0 &&
           tls->out_end + RECORD + RECORD_OVERHEAD <= LIMIT_TLS_BUFFER) {
        size_t n_bytes;
        const uint8_t *bytes =
            plaintext_next_record(tls, &spans, &n_spans, &n_skipped, &n_bytes);

        if (n_bytes > 0 && !plaintext_encrypt(tls, bytes, n_bytes))
            return -1;
        n_total += n_bytes;
    }
    /* Bytes that the socket does not accept now wait; an error shows in the
     * next call. */
    (void)tls_flush_out(tls);
    return (ssize_t)n_total;
}

bool
tls_has_buffered(const struct tls *tls)
{
    return SSL_pending(tls->ssl) > 0 ||
           (tls->in && (tls->n_released > 0 || complete_record_size(tls) > 0));
}

/* Returns 1: there may be a record; 0: end of stream; -1: see errno. */
static ssize_t
read_ahead_fill(struct tls *tls)
{
    const size_t n_ahead = tls->in_end - tls->in_first;

    memmove(tls->in, tls->in + tls->in_first, n_ahead);
    tls->in_first = 0;
    tls->in_end = n_ahead;
    for (;;) {
        const ssize_t n = recv(tls->fd, tls->in + n_ahead,
                               LIMIT_TLS_BUFFER - n_ahead, MSG_DONTWAIT);

        if (n < 0 && errno == EINTR)
            continue;
        if (n > 0)
            tls->in_end += (size_t)n;
        return n > 0 ? 1 : n;
    }
}

/* Read decrypted bytes. Returns 0 if there are no more; -1: see errno. */
static ssize_t
plaintext_read(struct tls *tls, uint8_t *at, size_t n_room)
{
    ERR_clear_error();
    const int n = SSL_read(tls->ssl, at, (int)n_room);

    if (n > 0)
        return n;
    const int error = SSL_get_error(tls->ssl, n);
    if (error == SSL_ERROR_WANT_READ)
        return 0;
    errno = tls->error ? tls->error : ECONNRESET;
    if (tls->has_ended || tls->error || error == SSL_ERROR_ZERO_RETURN)
        return -1;
    tls_error_note(tls);
    errno = EPROTO;
    return -1;
}

ssize_t
tls_receive(struct tls *tls, const struct iovec *spans, size_t n_spans)
{
    ssize_t n_total = 0;

    if (tls->in && !tls_has_buffered(tls)) {
        const ssize_t n = read_ahead_fill(tls);

        if (n <= 0)
            return n;
    }
    for (size_t i = 0; i < n_spans; i++) {
        size_t n_done = 0;

        while (n_done < spans[i].iov_len) {
            const ssize_t n =
                plaintext_read(tls, (uint8_t *)spans[i].iov_base + n_done,
                               spans[i].iov_len - n_done);

            if (n <= 0) {
                if (n == 0)
                    errno = EAGAIN;
                if (n < 0 && tls->has_ended && n_total == 0)
                    return 0;
                return n_total > 0 ? n_total : -1;
            }
            n_done += (size_t)n;
            n_total += n;
            /* Stop: what follows may not be TLS, and asking OpenSSL whether
             * there is more costs as much as a small record. */
            if (!tls->in || !tls_has_buffered(tls))
                return n_total;
        }
    }
    return n_total;
}
