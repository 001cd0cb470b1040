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

#endif
