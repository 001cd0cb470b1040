/*
 * tests/certificates.h - certificates of which some are good
 *
 * In a folder of the test's: "ca" and "foreign", who sign, and "ended", a third
 * that has expired; "good", "late" (expired, too) and "stranger", who is signed by
 * the foreign one.
 */

#ifndef TESTS_CERTIFICATES_H
#define TESTS_CERTIFICATES_H

#include <stdint.h>

#include "hoop/status.h"

#include "net/tls.h"

/* Fixtures of a group of tests. */
int
certificates_make(void **state);
int
certificates_remove(void **state);

/* NAME.ENDING in the folder; one of the last 64. */
const char *
certificates_path(const char *name, const char *ending);

/* From now on dates are compared with a clock that goes ahead by so much; 0: the
 * machine's. */
void
certificates_set_clock(int64_t ahead_s);

enum {
    /* By this clock "late" and "ended" are valid, like all others. */
    CERTIFICATES_BEFORE_S = -36 * 60 * 60,
};

/* The certificate and the key of name, and who is believed; NULL: none. */
struct tls_files
certificates_of(const char *name, const char *ca);

/*
 * A key of the curve P-256 and a certificate of it, signed by itself or by
 * another that was made before, as two files in PEM. Each may stand for a
 * server and for a client, and sign others.
 */

struct certificate_order {
    const char *folder;
    const char *name;   /* NAME.pem and NAME.key in folder; and its DNS name */
    const char *issuer; /* the name of another in folder; NULL: itself */
    int64_t begins_s;   /* from now; may be negative */
    int64_t ends_s;     /* likewise */
};

/* The key can be read by the user alone. What is in its way is written over.
 * Handle: HOOP_E_UNAVAILABLE (the text is on standard error). */
enum hoop_status
certificate_write(const struct certificate_order *order);

#endif
