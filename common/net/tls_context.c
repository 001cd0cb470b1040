/*
 * net/tls_context.c - decides which peers to trust: by certificates or a key
 *
 * The key of a connection is the context's, hashed with the identity that the
 * client sends. It enters TLS 1.3 as an external pre-shared key together with
 * an ephemeral key exchange, so an attacker that learns the key later cannot
 * read earlier traffic.
 */

#include "net/tls_context.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/config.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/private_file.h"

struct tls_context {
    atomic_uint n_refs;
    SSL_CTX *ssl;
    BIO_METHOD *method;
    bool has_key;
    uint8_t key[TLS_KEY_BYTES];
    tls_key_fn *key_of; /* NULL: all clients have the same key */
    void *owner;
    char name[LIMIT_NAME];
};

DEFINE_CLEANUP(struct tls_context *, tls_context_destroy)

/* TLS_AES_128_GCM_SHA256, whose hash must match that of the key. */
static const unsigned char key_cipher[2] = {0x13, 0x01};

/* The fastest on processors with AES instructions first. */
static const char ciphers[] = "TLS_AES_128_GCM_SHA256:"
                              "TLS_AES_256_GCM_SHA384:"
                              "TLS_CHACHA20_POLY1305_SHA256";

static bool
path_is_set(const char *path)
{
    return path && *path;
}

/* Return OpenSSL's reason, if there is one. */
static const char *
openssl_reason(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    return reason ? reason : "no reason is given";
}

static bool
connection_key_derive(const struct tls_connection *party,
                      uint8_t out_key[TLS_KEY_BYTES])
{
    const struct tls_context *context = party->context;
    const struct hmac_span parts[] = {
        {party->identity, strlen(party->identity)},
    };
    uint8_t known[TLS_KEY_BYTES];

    if (!context->key_of)
        memcpy(known, context->key, sizeof(known));
    else if (!context->key_of(context->owner, party->identity, known))
        return false;
    const enum hoop_status status =
        hmac_sha256((struct hmac_span){known, sizeof(known)}, parts,
                    COUNT_OF(parts), out_key);
    explicit_bzero(known, sizeof(known));
    return status == HOOP_OK;
}

/* Make a session from the key, which is how OpenSSL accepts an external key. */
static SSL_SESSION *
psk_session_create(SSL *ssl, const struct tls_connection *party)
{
    uint8_t key[TLS_KEY_BYTES];

    if (!connection_key_derive(party, key))
        return NULL;
    SSL_SESSION *session = SSL_SESSION_new();
    const bool is_made =
        session && SSL_SESSION_set1_master_key(session, key, sizeof(key)) &&
        SSL_SESSION_set_cipher(session, SSL_CIPHER_find(ssl, key_cipher)) &&
        SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION);
    explicit_bzero(key, sizeof(key));
    if (is_made)
        return session;
    SSL_SESSION_free(session);
    return NULL;
}

static int
on_psk_client(SSL *ssl,
              const EVP_MD *digest,
              const unsigned char **out_identity,
              size_t *out_n_identity,
              SSL_SESSION **out_session)
{
    struct tls_connection *party = SSL_get_app_data(ssl);

    *out_session = NULL;
    /* Asked again for another hash: there is no such key. */
    if (digest && !EVP_MD_is_a(digest, "SHA256"))
        return 1;
    *out_identity = (const unsigned char *)party->identity;
    *out_n_identity = strlen(party->identity);
    *out_session = psk_session_create(ssl, party);
    return *out_session != NULL;
}

static int
on_psk_server(SSL *ssl,
              const unsigned char *identity,
              size_t n_identity,
              SSL_SESSION **out_session)
{
    struct tls_connection *party = SSL_get_app_data(ssl);

    *out_session = NULL;
    if (n_identity >= sizeof(party->identity) ||
        memchr(identity, '\0', n_identity))
        return 1;
    memcpy(party->identity, identity, n_identity);
    party->identity[n_identity] = '\0';
    /* For an unknown identity there is no session, as if no key had been
     * named. */
    *out_session = psk_session_create(ssl, party);
    return 1;
}

/* Explain why a file cannot be used. */
static enum hoop_status
tls_file_raise(const char *what, const char *path)
{
    if (access(path, R_OK) != 0)
        return error_raise(HOOP_E_NOT_FOUND, "cannot read the %s %s: %s", what,
                           path, strerror(errno));
    return error_raise(HOOP_E_INVALID, "the %s %s cannot be used: %s", what,
                       path, openssl_reason());
}

/* ---- Dates of certificates. */

enum {
    SUBJECT_BYTES = 128,
    TIME_BYTES = 32,
};

static void
tm_format(const struct tm *time, char text[TIME_BYTES])
{
    if (strftime(text, TIME_BYTES, "%Y-%m-%d %H:%M:%S", time) == 0)
        snprintf(text, TIME_BYTES, "a time without a date");
}

static void
asn1_time_format(const ASN1_TIME *date, char text[TIME_BYTES])
{
    struct tm time = {0};

    if (ASN1_TIME_to_tm(date, &time) == 1)
        tm_format(&time, text);
    else
        snprintf(text, TIME_BYTES, "no date");
}

void
tls_dates_format(const X509 *certificate, char text[TLS_DATES_BYTES])
{
    const time_t now = time(NULL);
    char subject[SUBJECT_BYTES];
    char begin[TIME_BYTES];
    char end[TIME_BYTES];
    char clock[TIME_BYTES];
    struct tm here = {0};

    /* This function escapes characters that could disturb a terminal. */
    X509_NAME_oneline(X509_get_subject_name(certificate), subject,
                      sizeof(subject));
    asn1_time_format(X509_get0_notBefore(certificate), begin);
    asn1_time_format(X509_get0_notAfter(certificate), end);
    tm_format(gmtime_r(&now, &here), clock);
    snprintf(text, TLS_DATES_BYTES,
             "the certificate of %s is valid from %s to %s UTC, and the clock "
             "of this host says %s UTC: renew the certificate, or set the "
             "clock that is wrong",
             subject, begin, end, clock);
}

enum hoop_status
tls_certificate_dates(const char *path,
                      int64_t *out_begins_s,
                      int64_t *out_ends_s)
{
    struct tm begins = {0};
    struct tm ends = {0};
    FILE *file = fopen(path, "r");
    X509 *certificate = file ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;
    const bool has_dates =
        certificate &&
        ASN1_TIME_to_tm(X509_get0_notBefore(certificate), &begins) == 1 &&
        ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &ends) == 1;

    X509_free(certificate);
    if (file)
        fclose(file);
    if (!has_dates)
        return tls_file_raise("TLS certificate", path);
    *out_begins_s = timegm(&begins);
    *out_ends_s = timegm(&ends);
    return HOOP_OK;
}

/* Returns NULL if the certificate is valid now. */
static const char *
certificate_date_fault(const X509 *certificate)
{
    if (X509_cmp_current_time(X509_get0_notAfter(certificate)) < 0)
        return "has expired";
    if (X509_cmp_current_time(X509_get0_notBefore(certificate)) > 0)
        return "is not valid yet";
    return NULL;
}

static enum hoop_status
certificate_date_raise(const char *what,
                       const char *path,
                       const X509 *certificate)
{
    char dates[TLS_DATES_BYTES];

    tls_dates_format(certificate, dates);
    return error_raise(HOOP_E_INVALID, "the TLS %s %s %s: %s", what, path,
                       certificate_date_fault(certificate), dates);
}

/* At least one trusted certificate must be valid: a file may contain old
 * ones. */
static enum hoop_status
ca_check_dates(SSL_CTX *ssl, const char *path)
{
    STACK_OF(X509) *all =
        X509_STORE_get1_all_certs(SSL_CTX_get_cert_store(ssl));
    const X509 *invalid = NULL;
    bool is_valid = false;

    for (int i = 0; all && i < sk_X509_num(all); i++) {
        const X509 *certificate = sk_X509_value(all, i);

        if (certificate_date_fault(certificate))
            invalid = certificate;
        else
            is_valid = true;
    }
    const enum hoop_status status =
        invalid && !is_valid ? certificate_date_raise("CA", path, invalid)
                             : HOOP_OK;
    sk_X509_pop_free(all, X509_free);
    return status;
}

/* Keep the dates of an invalid certificate of the other side. */
static int
on_certificate_verify(int is_good, X509_STORE_CTX *store)
{
    const int error = X509_STORE_CTX_get_error(store);
    const X509 *certificate = X509_STORE_CTX_get_current_cert(store);

    if (!is_good && certificate &&
        (error == X509_V_ERR_CERT_HAS_EXPIRED ||
         error == X509_V_ERR_CERT_NOT_YET_VALID)) {
        SSL *ssl = X509_STORE_CTX_get_ex_data(
            store, SSL_get_ex_data_X509_STORE_CTX_idx());
        struct tls_connection *party = SSL_get_app_data(ssl);

        tls_dates_format(certificate, party->dates);
    }
    return is_good;
}

/* The file must be private. */
static enum hoop_status
private_key_load(SSL_CTX *ssl, const char *path)
{
    char buffer[BUFSIZ]; /* the stream's buffer, so that it can be erased */
    int fd = -1;

    const enum hoop_status status = private_file_open("TLS key", path, &fd);
    if (status != HOOP_OK)
        return error_pass(status);
    FILE *stream = fdopen(fd, "r");
    if (!stream) {
        close(fd);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the TLS key");
    }
    setvbuf(stream, buffer, _IOFBF, sizeof(buffer));
    EVP_PKEY *key = PEM_read_PrivateKey(stream, NULL, NULL, NULL);
    const bool is_taken = key && SSL_CTX_use_PrivateKey(ssl, key) == 1;
    EVP_PKEY_free(key);
    fclose(stream);
    explicit_bzero(buffer, sizeof(buffer));
    return is_taken ? HOOP_OK : tls_file_raise("TLS key", path);
}

static enum hoop_status
own_certificate_load(SSL_CTX *ssl, const struct tls_files *files)
{
    if (!path_is_set(files->certificate) && !path_is_set(files->key))
        return HOOP_OK;
    if (!path_is_set(files->certificate) || !path_is_set(files->key))
        return error_raise(HOOP_E_INVALID,
                           "a TLS certificate and its key go together: set "
                           "HOOP_TLS_CERT and HOOP_TLS_KEY, or neither");
    if (SSL_CTX_use_certificate_chain_file(ssl, files->certificate) != 1)
        return tls_file_raise("TLS certificate", files->certificate);
    const enum hoop_status status = private_key_load(ssl, files->key);
    if (status != HOOP_OK)
        return error_pass(status);
    const X509 *certificate = SSL_CTX_get0_certificate(ssl);
    return certificate_date_fault(certificate)
               ? certificate_date_raise("certificate", files->certificate,
                                        certificate)
               : HOOP_OK;
}

static enum hoop_status
certificates_load(struct tls_context *context, const struct tls_files *files)
{
    enum hoop_status status = own_certificate_load(context->ssl, files);

    if (status != HOOP_OK)
        return error_pass(status);
    if (SSL_CTX_load_verify_locations(context->ssl, files->ca, NULL) != 1)
        return tls_file_raise("TLS CA", files->ca);
    SSL_CTX_set_verify(context->ssl,
                       SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                       on_certificate_verify);
    status = ca_check_dates(context->ssl, files->ca);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
server_certificate_load(struct tls_context *context,
                        const struct tls_files *files)
{
    if (!path_is_set(files->certificate) || !path_is_set(files->key))
        return error_raise(HOOP_E_INVALID,
                           "a TLS server that anybody may call needs a "
                           "certificate and its key");
    const enum hoop_status status = own_certificate_load(context->ssl, files);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
psk_load(struct tls_context *context, const struct tls_options *options)
{
    if (options->key)
        memcpy(context->key, options->key, TLS_KEY_BYTES);
    context->key_of = options->key_of;
    context->owner = options->owner;
    context->has_key = true;
    SSL_CTX_set_psk_use_session_callback(context->ssl, on_psk_client);
    SSL_CTX_set_psk_find_session_callback(context->ssl, on_psk_server);
    if (SSL_CTX_set_ciphersuites(context->ssl, "TLS_AES_128_GCM_SHA256") != 1)
        return error_raise(HOOP_E_INTERNAL, "OpenSSL has no AES-GCM: %s",
                           openssl_reason());
    return HOOP_OK;
}

static enum hoop_status
trust_load(struct tls_context *context, const struct tls_options *options)
{
    const struct tls_files *files = &options->files;

    if (options->clients == TLS_CLIENTS_ANYBODY)
        return server_certificate_load(context, files);
    if (path_is_set(files->ca))
        return certificates_load(context, files);
    if (path_is_set(files->certificate) || path_is_set(files->key))
        return error_raise(HOOP_E_INVALID,
                           "a TLS certificate without HOOP_TLS_CA: who is "
                           "believed to sign those of the others?");
    if (!options->key && !options->key_of)
        return error_raise(HOOP_E_INVALID,
                           "TLS needs a job token, or HOOP_TLS_CERT, "
                           "HOOP_TLS_KEY and HOOP_TLS_CA");
    return psk_load(context, options);
}

/* Sessions are not resumed: tickets would arrive when no read is pending. */
static bool
ssl_configure(SSL_CTX *ssl)
{
    SSL_CTX_set_options(ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
                                 SSL_OP_NO_COMPRESSION |
                                 SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_max_cert_list(ssl, LIMIT_TLS_CERTIFICATES);
    return SSL_CTX_set_min_proto_version(ssl, TLS1_3_VERSION) &&
           SSL_CTX_set_ciphersuites(ssl, ciphers) &&
           SSL_CTX_set_num_tickets(ssl, 0);
}

static BIO_METHOD *
bio_method_create(void)
{
    /* A new index is not needed, and a process has only 127. */
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "hoop");

    if (!method)
        return NULL;
    BIO_meth_set_write(method, tls_bio_write);
    BIO_meth_set_read(method, tls_bio_read);
    BIO_meth_set_ctrl(method, tls_bio_ctrl);
    return method;
}

enum hoop_status
tls_context_create(const struct tls_options *options,
                   struct tls_context **out_context)
{
    CLEANUP(tls_context_destroy)
    struct tls_context *context = calloc(1, sizeof(*context));

    if (!context)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for TLS");
    atomic_init(&context->n_refs, 1);
    ERR_clear_error();
    context->ssl = SSL_CTX_new(TLS_method());
    context->method = bio_method_create();
    if (!context->ssl || !context->method || !ssl_configure(context->ssl))
        return error_raise(HOOP_E_EXHAUSTED, "OpenSSL gives no TLS: %s",
                           openssl_reason());
    if (options->name)
        strncpy(context->name, options->name, sizeof(context->name) - 1);

    const enum hoop_status status = trust_load(context, options);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_context = STEAL(context);
    return HOOP_OK;
}

struct tls_files
config_tls_files(const struct config *config)
{
    return (struct tls_files){
        .certificate = config->tls.cert,
        .key = config->tls.key,
        .ca = config->tls.ca,
    };
}

struct tls_context *
tls_context_ref(struct tls_context *context)
{
    atomic_fetch_add(&context->n_refs, 1);
    return context;
}

void
tls_context_destroy(struct tls_context *context)
{
    if (!context || atomic_fetch_sub(&context->n_refs, 1) > 1)
        return;
    SSL_CTX_free(context->ssl);
    BIO_meth_free(context->method);
    explicit_bzero(context->key, sizeof(context->key));
    free(context);
}

SSL *
tls_context_create_ssl(struct tls_connection *party)
{
    SSL *ssl = SSL_new(party->context->ssl);

    if (ssl)
        SSL_set_app_data(ssl, party);
    return ssl;
}

BIO *
tls_context_create_bio(struct tls_context *context, void *owner)
{
    BIO *bio = BIO_new(context->method);

    if (bio) {
        BIO_set_data(bio, owner);
        BIO_set_init(bio, 1);
    }
    return bio;
}

bool
tls_context_has_key(const struct tls_context *context)
{
    return context->has_key;
}

const char *
tls_context_server_name(const struct tls_context *context)
{
    return context->name;
}
