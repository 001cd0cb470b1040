/* tests/certificates.c - certificates of which some are good */

#include "certificates.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "certificate.h"
#include "check.h"
#include "temporary.h"

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

/* In place of libc's, for libcrypto, too. */
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
    (void)state;
    assert_non_null(temporary_folder(folder, sizeof(folder)));
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
