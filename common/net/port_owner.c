/*
 * net/port_owner.c - find the process that uses a TCP port of this host
 *
 * The kernel's table of sockets gives the inode of the socket with the port; a
 * descriptor of the process that holds it is a link to that inode.
 */

#include "net/port_owner.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/escape.h"

enum hoop_status
proc_own_pid(uint32_t *out_pid)
{
    char text[16];
    const ssize_t n = readlink("/proc/self", text, sizeof(text) - 1);

    if (n <= 0)
        return error_raise(HOOP_E_UNAVAILABLE, "no /proc/self: %s",
                           strerror(errno));
    text[n] = '\0';
    *out_pid = (uint32_t)strtoul(text, NULL, 10);
    return HOOP_OK;
}

enum {
    /* Socket states in the table. */
    STATE_TIME_WAIT = 6,
    STATE_LISTENS = 10,
    PATH_BYTES = 64,
    TARGET_BYTES = 48,
    HOST_BYTES = 33, /* an IPv6 address in hexadecimal */
};

/* The address that is searched for. */
struct wanted_address {
    char host[HOST_BYTES]; /* in the format of the tables */
    bool is_any;
    unsigned port;
};

struct port_socket {
    unsigned long inode; /* 0: none was found */
    unsigned user;
};

/* The tables show an address as 32-bit numbers whose bytes are in network
 * order. */
static struct wanted_address
wanted_socket_of(const struct address *address)
{
    struct wanted_address wanted = {
        .is_any = address_is_any(address),
        .port = address_port(address),
    };
    const struct sockaddr_in *four = (const void *)&address->storage;
    const struct sockaddr_in6 *six = (const void *)&address->storage;

    if (address->storage.ss_family == AF_INET6)
        snprintf(wanted.host, HOST_BYTES, "%08X%08X%08X%08X",
                 six->sin6_addr.s6_addr32[0], six->sin6_addr.s6_addr32[1],
                 six->sin6_addr.s6_addr32[2], six->sin6_addr.s6_addr32[3]);
    else
        snprintf(wanted.host, HOST_BYTES, "%08X", four->sin_addr.s_addr);
    return wanted;
}

/* Read a line "0: 0100007F:1388 00000000:0000 0A 0:0 0:0 0 1000 0 12345
 * ...". Returns true for a listening socket, which replaces any other found
 * before. */
static bool
socket_line_parse(const char *line,
                  const struct wanted_address *wanted,
                  struct port_socket *socket)
{
    struct port_socket found = {0};
    char host[HOST_BYTES];
    unsigned port = 0;
    unsigned state = 0;

    if (sscanf(line, " %*[^:]: %32[0-9A-F]:%x %*s %x %*s %*s %*s %u %*s %lu",
               host, &port, &state, &found.user, &found.inode) != 5 ||
        port != wanted->port || state == STATE_TIME_WAIT || found.inode == 0)
        return false;
    const bool is_any = strspn(host, "0") == strlen(host);
    if (!is_any && !wanted->is_any && strcmp(host, wanted->host) != 0)
        return false;
    *socket = found;
    return state == STATE_LISTENS;
}

static void
socket_table_search(const char *path,
                    const struct wanted_address *wanted,
                    struct port_socket *socket)
{
    FILE *table = fopen(path, "re");
    char line[512];

    if (!table)
        return;
    while (fgets(line, sizeof(line), table)) {
        if (socket_line_parse(line, wanted, socket))
            break;
    }
    fclose(table);
}

/* Return whether one of the process's descriptors is a link to target. */
static bool
process_has_descriptor(const char *pid, const char *target)
{
    char path[PATH_BYTES];
    const struct dirent *entry;
    bool holds = false;

    snprintf(path, sizeof(path), "/proc/%.16s/fd", pid);
    DIR *folder = opendir(path);
    while (folder && !holds && (entry = readdir(folder))) {
        char text[TARGET_BYTES];
        const ssize_t n =
            readlinkat(dirfd(folder), entry->d_name, text, sizeof(text) - 1);

        text[n > 0 ? n : 0] = '\0';
        holds = strcmp(text, target) == 0;
    }
    if (folder)
        closedir(folder);
    return holds;
}

static void
process_describe(const char *pid, char out_text[LIMIT_NAME])
{
    char path[PATH_BYTES];
    char name[32] = "";
    char shown[LIMIT_NAME / 2];

    if (strtol(pid, NULL, 10) == (long)getpid()) {
        snprintf(out_text, LIMIT_NAME, "this process");
        return;
    }
    snprintf(path, sizeof(path), "/proc/%.16s/comm", pid);
    FILE *file = fopen(path, "re");
    if (file) {
        if (fgets(name, sizeof(name), file))
            name[strcspn(name, "\n")] = '\0';
        fclose(file);
    }
    escape_text(name, shown, sizeof(shown));
    snprintf(out_text, LIMIT_NAME, "process %.16s (%s)", pid, shown);
}

bool
port_owner(const struct address *address, char out_text[LIMIT_NAME])
{
    const struct wanted_address wanted = wanted_socket_of(address);
    struct port_socket socket = {0};
    const struct dirent *entry;
    char target[TARGET_BYTES];
    bool is_found = false;

    socket_table_search("/proc/self/net/tcp6", &wanted, &socket);
    socket_table_search("/proc/self/net/tcp", &wanted, &socket);
    if (socket.inode == 0)
        return false;
    snprintf(target, sizeof(target), "socket:[%lu]", socket.inode);
    snprintf(out_text, LIMIT_NAME, "a process of user %u", socket.user);
    DIR *processes = opendir("/proc");
    while (processes && !is_found && (entry = readdir(processes))) {
        is_found = entry->d_name[0] >= '0' && entry->d_name[0] <= '9' &&
                   process_has_descriptor(entry->d_name, target);
        if (is_found)
            process_describe(entry->d_name, out_text);
    }
    if (processes)
        closedir(processes);
    return true;
}
