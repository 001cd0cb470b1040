/*
 * tests/certificate.h - a certificate, made
 *
 * A key of the curve P-256 and a certificate of it, signed by itself or by
 * another that was made before, as two files in PEM. Each may stand for a
 * server and for a client, and sign others.
 */

#ifndef TESTS_CERTIFICATE_H
#define TESTS_CERTIFICATE_H

#include <stdint.h>

#include "hoop/status.h"

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
