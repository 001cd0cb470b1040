/* tests/certificates.c - certificates for tests, some of which are invalid */

#include "certificates.h"

#include <err.h>
#include <fcntl.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "temporary.h"

enum {
    FILE_BYTES = 1024,
    NAME_BYTES = 256,
};

/* A party owns or signs a certificate. */
struct party {
    EVP_PKEY *key;
    X509 *certificate;
};

static FILE *
part_open(const struct certificate_order *order,
          const char *name,
          const char *ending,
          int how)
{
    char path[FILE_BYTES];

    snprintf(path, sizeof(path), "%s/%s%s", order->folder, name, ending);
    const int fd = open(path, how | O_CLOEXEC, 0600);
    return fd >= 0 ? fdopen(fd, how == O_RDONLY ? "r" : "w") : NULL;
}

static bool
issuer_read(const struct certificate_order *order, struct party *out_issuer)
{
    FILE *key = part_open(order, order->issuer, ".key", O_RDONLY);
    FILE *certificate = part_open(order, order->issuer, ".pem", O_RDONLY);

    if (key)
        out_issuer->key = PEM_read_PrivateKey(key, NULL, NULL, NULL);
    if (certificate)
        out_issuer->certificate = PEM_read_X509(certificate, NULL, NULL, NULL);
    if (key)
        fclose(key);
    if (certificate)
        fclose(certificate);
    return out_issuer->key && out_issuer->certificate;
}

static bool
part_write(const struct certificate_order *order, const struct party *party)
{
    const int how = O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW;
    FILE *key = part_open(order, order->name, ".key", how);
    FILE *certificate = part_open(order, order->name, ".pem", how);
    bool is_written =
        key && certificate &&
        PEM_write_PrivateKey(key, party->key, NULL, NULL, 0, NULL, NULL) &&
        PEM_write_X509(certificate, party->certificate);

    if (key && fclose(key) != 0)
        is_written = false;
    if (certificate && fclose(certificate) != 0)
        is_written = false;
    return is_written;
}

static bool
extension_add(X509 *certificate, X509 *issuer, int id, const char *value)
{
    X509V3_CTX context;

    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension =
        X509V3_EXT_conf_nid(NULL, &context, id, (char *)(uintptr_t)value);
    const bool is_added = extension && X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return is_added;
}

static bool
number_set(X509 *certificate)
{
    uint64_t number = 0;

    return RAND_bytes((unsigned char *)&number, sizeof(number)) == 1 &&
           ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate),
                                   number >> 1);
}

static bool
certificate_fill(const struct certificate_order *order,
                 const struct party *party,
                 const struct party *issuer)
{
    X509 *certificate = party->certificate;
    X509_NAME *name = X509_get_subject_name(certificate);
    char names[NAME_BYTES];

    snprintf(names, sizeof(names), "DNS:%s", order->name);
    return X509_set_version(certificate, X509_VERSION_3) &&
           number_set(certificate) &&
           X509_gmtime_adj(X509_getm_notBefore(certificate), order->begins_s) &&
           X509_gmtime_adj(X509_getm_notAfter(certificate), order->ends_s) &&
           X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                      (const unsigned char *)order->name, -1,
                                      -1, 0) &&
           X509_set_issuer_name(certificate,
                                X509_get_subject_name(issuer->certificate)) &&
           X509_set_pubkey(certificate, party->key) &&
           extension_add(certificate, issuer->certificate,
                         NID_basic_constraints, "critical,CA:TRUE") &&
           extension_add(certificate, issuer->certificate, NID_subject_alt_name,
                         names) &&
           X509_sign(certificate, issuer->key, EVP_sha256());
}

enum hoop_status
certificate_write(const struct certificate_order *order)
{
    struct party party = {EVP_EC_gen("P-256"), X509_new()};
    struct party issuer = {0};

    bool is_written = party.key && party.certificate;
    if (is_written && order->issuer)
        is_written = issuer_read(order, &issuer);
    is_written =
        is_written &&
        certificate_fill(order, &party, order->issuer ? &issuer : &party) &&
        part_write(order, &party);
    EVP_PKEY_free(party.key);
    X509_free(party.certificate);
    EVP_PKEY_free(issuer.key);
    X509_free(issuer.certificate);
    if (is_written)
        return HOOP_OK;
    warnx("cannot make the certificate %s in %s", order->name, order->folder);
    return HOOP_E_UNAVAILABLE;
}

enum {
    DAY_S = 24 * 60 * 60,
    PATHS = 64,
    PATH_BYTES = 192,
};

static _Atomic int64_t clock_ahead_s;

static char folder[TEMPORARY_PATH] = "hoop-certificates-XXXXXX";

static const struct {
    const char *name;
    const char *issuer;
    int64_t ends_s;
} rows[] = {
    {"ca", NULL, DAY_S},     {"foreign", NULL, DAY_S},
    {"good", "ca", DAY_S},   {"late", "ca", -DAY_S},
    {"ended", NULL, -DAY_S}, {"stranger", "foreign", DAY_S},
};

/* This replaces time() of libc, also for libcrypto. */
__attribute__((visibility("default"))) time_t
time(time_t *out_time)
{
    struct timespec now = {0};

    syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
    const time_t shown = now.tv_sec + (time_t)clock_ahead_s;
    if (out_time)
        *out_time = shown;
    return shown;
}

void
certificates_set_clock(int64_t ahead_s)
{
    clock_ahead_s = ahead_s;
}

int
certificates_make(void **state)
{
    assert_non_null(temporary_folder(folder, sizeof(folder)));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct certificate_order order = {
            .folder = folder,
            .name = rows[i].name,
            .issuer = rows[i].issuer,
            .begins_s = -2 * DAY_S,
            .ends_s = rows[i].ends_s,
        };

        assert_ok(certificate_write(&order));
    }
    return 0;
}

int
certificates_remove(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unlink(certificates_path(rows[i].name, "pem"));
        unlink(certificates_path(rows[i].name, "key"));
    }
    return rmdir(folder);
}

const char *
certificates_path(const char *name, const char *ending)
{
    static char paths[PATHS][PATH_BYTES];
    static unsigned next;
    char *path = paths[next++ % PATHS];

    snprintf(path, PATH_BYTES, "%s/%s.%s", folder, name, ending);
    return path;
}

struct tls_files
certificates_of(const char *name, const char *ca)
{
    return (struct tls_files){
        .certificate = name ? certificates_path(name, "pem") : NULL,
        .key = name ? certificates_path(name, "key") : NULL,
        .ca = ca ? certificates_path(ca, "pem") : NULL,
    };
}
