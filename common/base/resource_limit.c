/*
 * base/resource_limit.c - name the resource limit that made a call fail
 *
 * Values from /proc/sys are left out if they cannot be read: a process that has
 * run out of descriptors cannot open the file.
 */

#include "base/resource_limit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    VALUE_TEXT = 48,
};

/* Return the first line of the file and a comma, or "" if it cannot be read. */
static const char *
proc_value_read(const char *path, char text[VALUE_TEXT])
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd >= 0 ? read(fd, text, VALUE_TEXT - 3) : -1;

    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    for (char *at = text; (at = strchr(at, '\t'));)
        *at = '-';
    if (text[0])
        strcat(text, ", ");
    return text;
}

/* Return the limit of this process; 0: unlimited. */
static uint64_t
process_rlimit(int resource)
{
    struct rlimit limit;

    if (getrlimit((__rlimit_resource_t)resource, &limit) != 0 ||
        limit.rlim_cur == RLIM_INFINITY)
        return 0;
    return limit.rlim_cur;
}

static void
mapping_limit_describe(char out_text[RESOURCE_LIMIT_TEXT])
{
    const uint64_t n_bytes = process_rlimit(RLIMIT_AS);
    char value[VALUE_TEXT];

    if (n_bytes > 0)
        snprintf(out_text, RESOURCE_LIMIT_TEXT,
                 "its process may map %" PRIu64
                 " bytes of memory (RLIMIT_AS, ulimit -v)",
                 n_bytes);
    else
        snprintf(out_text, RESOURCE_LIMIT_TEXT,
                 "its host has no more memory to map, or its process too many "
                 "mappings (%svm.max_map_count)",
                 proc_value_read("/proc/sys/vm/max_map_count", value));
}

/* EAGAIN does not tell which of three limits was reached. */
static void
thread_limit_describe(char out_text[RESOURCE_LIMIT_TEXT])
{
    const uint64_t n_threads = process_rlimit(RLIMIT_NPROC);
    char value[VALUE_TEXT];

    if (n_threads > 0)
        snprintf(out_text, RESOURCE_LIMIT_TEXT,
                 "its user may run %" PRIu64 " threads (RLIMIT_NPROC, ulimit "
                 "-u), its cgroup perhaps fewer (pids.max)",
                 n_threads);
    else
        snprintf(out_text, RESOURCE_LIMIT_TEXT,
                 "its cgroup may run no more threads (pids.max), or its host "
                 "(%skernel.threads-max)",
                 proc_value_read("/proc/sys/kernel/threads-max", value));
}

enum hoop_status
resource_error_status(enum resource_call call, int error)
{
    switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
        return HOOP_E_EXHAUSTED;
    case EAGAIN: /* a mapping of locked pages */
    case ENOSPC:
        return call == RESOURCE_CONNECT ? HOOP_E_UNAVAILABLE : HOOP_E_EXHAUSTED;
    case EADDRNOTAVAIL:
        return call == RESOURCE_CONNECT ? HOOP_E_EXHAUSTED : HOOP_E_UNAVAILABLE;
    case EACCES:
    case EPERM:
        return HOOP_E_DENIED;
    default:
        return HOOP_E_UNAVAILABLE;
    }
}

const char *
resource_error_describe(enum resource_call call,
                        int error,
                        char out_text[RESOURCE_LIMIT_TEXT])
{
    char value[VALUE_TEXT];

    if (error == EMFILE)
        snprintf(out_text, RESOURCE_LIMIT_TEXT,
                 "its process may open %" PRIu64
                 " files (RLIMIT_NOFILE, ulimit -n)",
                 process_rlimit(RLIMIT_NOFILE));
    else if (error == ENFILE)
        snprintf(out_text, RESOURCE_LIMIT_TEXT,
                 "its host may open no more files (%sfs.file-max)",
                 proc_value_read("/proc/sys/fs/file-max", value));
    else if (error == EFBIG)
        snprintf(out_text, RESOURCE_LIMIT_TEXT,
                 "its process may make files of %" PRIu64
                 " bytes (RLIMIT_FSIZE, ulimit -f)",
                 process_rlimit(RLIMIT_FSIZE));
    else if (error == EADDRNOTAVAIL && call == RESOURCE_CONNECT)
        snprintf(
            out_text, RESOURCE_LIMIT_TEXT,
            "its host has used up its local ports for this address "
            "(%snet.ipv4.ip_local_port_range)",
            proc_value_read("/proc/sys/net/ipv4/ip_local_port_range", value));
    else if ((error == EACCES || error == EPERM) && call == RESOURCE_CONNECT)
        snprintf(out_text, RESOURCE_LIMIT_TEXT,
                 "its host forbids it by a firewall rule, a route or a "
                 "security policy (%s)",
                 strerror(error));
    else if (error == EAGAIN && call == RESOURCE_THREAD)
        thread_limit_describe(out_text);
    else if (error == ENOMEM && call != RESOURCE_DESCRIPTOR &&
             call != RESOURCE_CONNECT)
        mapping_limit_describe(out_text);
    else if (error == ENOBUFS || error == ENOMEM)
        snprintf(out_text, RESOURCE_LIMIT_TEXT,
                 "its host's kernel has no memory for it (net.ipv4.tcp_mem or "
                 "the limit of a memory cgroup)");
    else
        snprintf(out_text, RESOURCE_LIMIT_TEXT, "%s", strerror(error));
    return out_text;
}
