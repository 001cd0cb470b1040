/*
 * tests/certificates.h - certificates of which some are good
 *
 * In a folder of the test's: "ca" and "foreign", who sign; "good", "late" (it has
 * expired) and "stranger", who is signed by the foreign one.
 */

#ifndef TESTS_CERTIFICATES_H
#define TESTS_CERTIFICATES_H

#include "net/tls.h"

/* Fixtures of a group of tests. */
int
certificates_make(void **state);
int
certificates_remove(void **state);

/* NAME.ENDING in the folder; one of the last 64. */
const char *
certificates_path(const char *name, const char *ending);

/* The certificate and the key of name, and who is believed; NULL: none. */
struct tls_files
certificates_of(const char *name, const char *ca);

#endif
