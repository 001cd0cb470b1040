/* session/host.c - the name of this host, and an id to compare hosts by */

#include "session/host.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BOOT_ID_BYTES = 36, /* a UUID as text */
};

void
host_name(char out_name[LIMIT_NAME])
{
    if (gethostname(out_name, LIMIT_NAME) != 0 || !out_name[0])
        snprintf(out_name, LIMIT_NAME, "unknown");
    out_name[LIMIT_NAME - 1] = '\0';
}

/* The kernel's boot id or, if that cannot be read, the host's name. */
static void
boot_id_read(char out_id[LIMIT_NAME])
{
    const int fd =
        open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = 0;

    if (fd >= 0) {
        n = read(fd, out_id, BOOT_ID_BYTES);
        close(fd);
    }
    if (n == BOOT_ID_BYTES)
        out_id[BOOT_ID_BYTES] = '\0';
    else
        host_name(out_id);
}

void
host_id(const char *node, char out_id[LIMIT_NAME])
{
    char boot_id[LIMIT_NAME];
    struct stat space;

    if (node[0]) {
        snprintf(out_id, LIMIT_NAME, "%s", node);
        return;
    }
    boot_id_read(boot_id);
    if (stat("/proc/self/ns/net", &space) != 0)
        space.st_ino = 0;
    snprintf(out_id, LIMIT_NAME, "%.100s/%lu", boot_id,
             (unsigned long)space.st_ino);
}
