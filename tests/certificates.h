/*
 * tests/certificates.h - certificates for tests, some of which are invalid
 *
 * They lie in a folder of the test. "ca" and "foreign" sign others, and "ended"
 * is a third authority, which has expired. "good", "late" (expired, too) and
 * "stranger" (signed by "foreign") are certificates of programs.
 */

#ifndef TESTS_CERTIFICATES_H
#define TESTS_CERTIFICATES_H

#include <stdint.h>

#include "hoop/status.h"

#include "net/tls.h"

/* These are the setup and teardown functions of a cmocka group. */
int
certificates_make(void **state);
int
certificates_remove(void **state);

/* Returns the path of NAME.ENDING in the folder. It stays valid for 64
 * calls. */
const char *
certificates_path(const char *name, const char *ending);

/* From now on, dates are compared with a clock that is ahead of the machine's
 * by this time. */
void
certificates_set_clock(int64_t ahead_s);

enum {
    /* With this clock "late" and "ended" are valid, like all others. */
    CERTIFICATES_BEFORE_S = -36 * 60 * 60,
};

/* Returns the files of name's certificate and key, and of the authority that it
 * trusts. A name that is NULL leaves these out. */
struct tls_files
certificates_of(const char *name, const char *ca);

/*
 * An order describes a certificate with a key of the curve P-256. Its issuer
 * signs it, or it signs itself. It is valid for servers and for clients, and
 * can sign others.
 */

struct certificate_order {
    const char *folder;
    const char *name;   /* of the files NAME.pem and NAME.key, and DNS name */
    const char *issuer; /* name of the signer in folder; NULL: itself */
    int64_t begins_s;   /* seconds from now; may be negative */
    int64_t ends_s;     /* seconds from now; may be negative */
};

/* Writes the key and the certificate as two PEM files. Only the user can read
 * the key. Existing files are overwritten. Handle: HOOP_E_UNAVAILABLE (the text
 * is on standard error). */
enum hoop_status
certificate_write(const struct certificate_order *order);

#endif
