/* net/host_ranks.c - count the ranks of all jobs on this host */

#include "net/host_ranks.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "net/descriptor.h"

/* The beginning of the abstract name as /proc/net/unix shows it. */
static const char shown[] = "@hoop.rank.";

int
host_ranks_register(void)
{
    static atomic_uint n_entered;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const int n_text =
        snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "%s%d.%u",
                 shown + 1, (int)getpid(), atomic_fetch_add(&n_entered, 1));
    const socklen_t n_bytes =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                    (size_t)n_text);
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    descriptor_track(fd);
    /* It receives no datagrams. */
    (void)shutdown(fd, SHUT_RD);
    if (bind(fd, (const struct sockaddr *)&name, n_bytes) == 0)
        return fd;
    descriptor_close(fd);
    return -1;
}

uint32_t
host_ranks_count(void)
{
    char line[512];
    uint32_t n_ranks = 0;
    FILE *file = fopen("/proc/net/unix", "re");

    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file))
        n_ranks += strstr(line, shown) != NULL;
    fclose(file);
    return n_ranks;
}
