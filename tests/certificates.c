/* tests/certificates.c - certificates of which some are good */

#include "certificates.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "certificate.h"
#include "check.h"

enum {
    DAY_S = 24 * 60 * 60,
    PATHS = 64,
    PATH_BYTES = 64,
};

static char folder[] = "/tmp/hoop-certificates-XXXXXX";

static const struct {
    const char *name;
    const char *issuer;
    int64_t ends_s;
} rows[] = {
    {"ca", NULL, DAY_S},
    {"foreign", NULL, DAY_S},
    {"good", "ca", DAY_S},
    {"late", "ca", -DAY_S},
    {"stranger", "foreign", DAY_S},
};

int
certificates_make(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct certificate_order order = {
            .folder = folder,
            .name = rows[i].name,
            .issuer = rows[i].issuer,
            .begins_s = -2 * DAY_S,
            .ends_s = rows[i].ends_s,
        };

        assert_int_equal(certificate_write(&order), HOOP_OK);
    }
    return 0;
}

int
certificates_remove(void **state)
{
    (void)state;
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
