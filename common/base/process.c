/* base/process.c - the state of other processes, and this one's resource
 * limits */

#include "base/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/digest.h"

enum {
    /* PF_EXITING in the kernel's task flags: the task is ending, and its
     * descriptors may be closed already. */
    FLAG_EXITING = 4,
    BOOT_ID_BYTES = 36, /* a UUID as text */
};

/* The file holds "pid (name) S parent group session tty foreground flags ...";
 * the name may contain any characters. */
static enum process_state
proc_stat_parse(const char *text)
{
    const char *end = strrchr(text, ')');
    unsigned flags = 0;
    char state = ' ';

    if (!end || sscanf(end, ") %c %*d %*d %*d %*d %*d %u", &state, &flags) < 1)
        return PROCESS_HIDDEN;
    if (strchr("ZXx", state) || (flags & FLAG_EXITING))
        return PROCESS_ENDED;
    return strchr("Tt", state) ? PROCESS_STOPPED : PROCESS_RUNS;
}

/* Read a file under /proc. Returns false if it no longer exists. */
static bool
proc_file_read(const char *path, size_t n_bytes, char *out_text)
{
    FILE *file = fopen(path, "re");

    out_text[0] = '\0';
    if (!file)
        return errno != ENOENT;
    const size_t n_read = fread(out_text, 1, n_bytes - 1, file);
    const bool is_gone = n_read == 0 && ferror(file);
    fclose(file);
    out_text[n_read] = '\0';
    return !is_gone;
}

static enum process_state
proc_stat_read(const char *path)
{
    char text[512];

    return proc_file_read(path, sizeof(text), text) ? proc_stat_parse(text)
                                                    : PROCESS_ENDED;
}

static DIR *
process_threads_open(uint32_t pid)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%u/task", pid);
    return opendir(path);
}

/* Return the state of the liveliest thread. */
static enum process_state
process_threads_state(uint32_t pid)
{
    enum process_state state = PROCESS_ENDED;
    const struct dirent *entry;
    DIR *threads = process_threads_open(pid);
    char path[64];

    /* If we lack a descriptor, the process is not dead because of that. */
    if (!threads)
        return errno == ENOENT ? PROCESS_ENDED : PROCESS_HIDDEN;

    while ((entry = readdir(threads))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "/proc/%u/task/%.16s/stat", pid,
                 entry->d_name);
        const enum process_state seen = proc_stat_read(path);
        if (seen < state)
            state = seen;
    }
    closedir(threads);
    return state;
}

/* /proc/<pid>/stat describes the first thread, which may have ended by
 * pthread_exit() while others run. */
enum process_state
process_get_state(uint32_t pid)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    const enum process_state state = proc_stat_read(path);
    return state == PROCESS_ENDED ? process_threads_state(pid) : state;
}

bool
process_has_ended(uint32_t pid)
{
    char path[32];
    struct stat shown;

    if (pid == 0 || pid > INT_MAX)
        return false;
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return true;
    snprintf(path, sizeof(path), "/proc/%u", pid);
    return stat(path, &shown) == 0 && process_get_state(pid) == PROCESS_ENDED;
}

bool
process_is_stopped(uint32_t pid)
{
    return process_get_state(pid) == PROCESS_STOPPED;
}

/* The files hold "ran waited slices", and the thread's state. */
static void
thread_add_cpu_time(uint32_t pid,
                    const char *thread,
                    struct process_cpu_time *share)
{
    unsigned long long ran = 0;
    unsigned long long waited = 0;
    char path[64];
    char text[512];

    snprintf(path, sizeof(path), "/proc/%u/task/%.16s/schedstat", pid, thread);
    if (proc_file_read(path, sizeof(text), text) &&
        sscanf(text, "%llu %llu", &ran, &waited) == 2) {
        share->ran_ns += ran;
        share->waited_ns += waited;
    }
    snprintf(path, sizeof(path), "/proc/%u/task/%.16s/stat", pid, thread);
    if (!proc_file_read(path, sizeof(text), text))
        return;
    const char *end = strrchr(text, ')');
    share->is_waiting |= end && strncmp(end, ") R", 3) == 0;
}

struct process_cpu_time
process_get_cpu_time(uint32_t pid)
{
    struct process_cpu_time share = {0};
    const struct dirent *entry;
    DIR *threads = process_threads_open(pid);

    while (threads && (entry = readdir(threads))) {
        if (entry->d_name[0] != '.')
            thread_add_cpu_time(pid, entry->d_name, &share);
    }
    if (threads)
        closedir(threads);
    return share;
}

struct system_call_name {
    long number;
    const char *name;
};

/* The calls in which programs sleep. */
static const struct system_call_name system_call_names[] = {
    {SYS_read, "read"},
    {SYS_write, "write"},
    {SYS_readv, "readv"},
    {SYS_writev, "writev"},
    {SYS_pread64, "pread"},
    {SYS_pwrite64, "pwrite"},
    {SYS_recvfrom, "recv"},
    {SYS_recvmsg, "recvmsg"},
    {SYS_sendto, "send"},
    {SYS_sendmsg, "sendmsg"},
    {SYS_accept, "accept"},
    {SYS_accept4, "accept"},
    {SYS_connect, "connect"},
    {SYS_futex, "futex"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "clock_nanosleep"},
    {SYS_ppoll, "poll"},
    {SYS_pselect6, "select"},
    {SYS_epoll_pwait, "epoll_wait"},
    {SYS_wait4, "wait"},
    {SYS_waitid, "wait"},
    {SYS_fsync, "fsync"},
    {SYS_fdatasync, "fdatasync"},
    {SYS_flock, "flock"},
    {SYS_openat, "open"},
    {SYS_rt_sigtimedwait, "sigwait"},
    {SYS_io_getevents, "io_getevents"},
#ifdef SYS_poll
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
    {SYS_open, "open"},
#endif
};

/* The file holds "230 0x0 0x0 ..." or "running". A kernel may not show the
 * calls of other processes. */
static void
system_call_read(uint32_t pid, char where[PROCESS_WHERE_MAX])
{
    char path[48];
    char text[512];
    long number = -1;

    snprintf(path, sizeof(path), "/proc/%u/syscall", pid);
    if (!proc_file_read(path, sizeof(text), text) ||
        sscanf(text, "%ld", &number) != 1 || number < 0) {
        /* The kernel's function in which it sleeps, "0" if it is not told. */
        snprintf(path, sizeof(path), "/proc/%u/wchan", pid);
        if (proc_file_read(path, sizeof(text), text) && strcmp(text, "0") != 0)
            snprintf(where, PROCESS_WHERE_MAX, "%.40s", text);
        return;
    }
    for (size_t i = 0;
         i < sizeof(system_call_names) / sizeof(system_call_names[0]); i++) {
        if (system_call_names[i].number == number) {
            snprintf(where, PROCESS_WHERE_MAX, "%s", system_call_names[i].name);
            return;
        }
    }
    snprintf(where, PROCESS_WHERE_MAX, "system call %ld", number);
}

static char
thread_state_letter(const char *path)
{
    char text[512];

    if (!proc_file_read(path, sizeof(text), text))
        return 'X';
    const char *end = strrchr(text, ')');
    return end && end[1] == ' ' ? end[2] : '\0';
}

/* Return whether a thread of the process other than the calling one runs. */
static bool
process_has_running_thread(uint32_t pid)
{
    const unsigned long self = (unsigned long)gettid();
    const struct dirent *entry;
    DIR *threads = process_threads_open(pid);
    bool is_running = false;
    char path[64];

    while (threads && !is_running && (entry = readdir(threads))) {
        if (entry->d_name[0] == '.' || strtoul(entry->d_name, NULL, 10) == self)
            continue;
        snprintf(path, sizeof(path), "/proc/%u/task/%.16s/stat", pid,
                 entry->d_name);
        is_running = thread_state_letter(path) == 'R';
    }
    if (threads)
        closedir(threads);
    return is_running;
}

static uint64_t
process_swapped_kib(uint32_t pid)
{
    char path[32];
    char text[4096];

    snprintf(path, sizeof(path), "/proc/%u/status", pid);
    if (!proc_file_read(path, sizeof(text), text))
        return 0;
    const char *line = strstr(text, "\nVmSwap:");
    return line ? strtoull(line + sizeof("\nVmSwap:") - 1, NULL, 10) : 0;
}

void
process_look(uint32_t pid, struct process_glance *out_glance)
{
    char path[32];

    *out_glance = (struct process_glance){0};
    snprintf(path, sizeof(path), "/proc/%u/stat", pid);
    out_glance->state = thread_state_letter(path);
    if (out_glance->state == 't')
        out_glance->state = 'T';
    /* Its files may only be hidden from this user, and its first thread may
     * have ended before the others. */
    if (out_glance->state == 'X' && !process_has_ended(pid))
        out_glance->state = '\0';
    if (out_glance->state == 'Z' && !process_has_ended(pid))
        out_glance->state = 'S';
    if (out_glance->state == 'S' && process_has_running_thread(pid))
        out_glance->state = 'R';
    if (out_glance->state == 'S' || out_glance->state == 'D')
        system_call_read(pid, out_glance->where);
    if (out_glance->state != 'X' && out_glance->state != 'Z')
        out_glance->swapped_kib = process_swapped_kib(pid);
}

/* Return whether /proc shows this PID namespace: "self" must be our own pid. */
static bool
proc_is_own_namespace(void)
{
    char text[32];
    const ssize_t n = readlink("/proc/self", text, sizeof(text) - 1);

    text[n > 0 ? n : 0] = '\0';
    return n > 0 && strtol(text, NULL, 10) == (long)getpid();
}

/* A line is "proc /proc proc rw,relatime,hidepid=invisible 0 0". The last mount
 * on /proc is the visible one. */
static bool
proc_mount_parse(const char *line, bool *out_hides)
{
    char target[8];
    char type[8];
    char options[256];

    if (sscanf(line, "%*s %7s %7s %255s", target, type, options) != 3 ||
        strcmp(target, "/proc") != 0)
        return false;
    const char *hidepid = strstr(options, "hidepid=");
    *out_hides = strcmp(type, "proc") != 0 ||
                 (hidepid && strncmp(hidepid, "hidepid=off", 11) != 0 &&
                  strncmp(hidepid, "hidepid=0", 9) != 0);
    return true;
}

bool
process_all_are_visible(void)
{
    FILE *file = fopen("/proc/self/mounts", "re");
    char line[1024];
    bool hides = true;

    while (file && fgets(line, sizeof(line), file))
        (void)proc_mount_parse(line, &hides);
    if (file)
        fclose(file);
    return !hides;
}

/* Returns a number for a namespace of this kernel; 0: it is not known which
 * kernel this is. */
static uint64_t
namespace_id(const struct stat *space)
{
    char boot_id[BOOT_ID_BYTES + 1] = "";
    char text[128];

    if (!proc_file_read("/proc/sys/kernel/random/boot_id", sizeof(boot_id),
                        boot_id) ||
        !boot_id[0])
        return 0;
    const int n_text =
        snprintf(text, sizeof(text), "%s/%ju/%ju", boot_id,
                 (uintmax_t)space->st_dev, (uintmax_t)space->st_ino);
    const uint64_t digest = digest_bytes(text, (size_t)n_text);
    return digest > 0 ? digest : 1;
}

uint64_t
pid_namespace_id(void)
{
    struct stat space;

    if (!proc_is_own_namespace() || stat("/proc/self/ns/pid", &space) < 0)
        return 0;
    return namespace_id(&space);
}

/* A kernel without time namespaces has one clock. */
uint64_t
monotonic_clock_id(void)
{
    struct stat space;

    if (stat("/proc/self/ns/time", &space) < 0)
        space = (struct stat){0};
    return namespace_id(&space);
}

/*
 * Name the resource limit that made a call fail. Values from /proc/sys are left
 * out if they cannot be read: a process that has run out of descriptors cannot
 * open the file.
 */

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
    else if (error == ENOSPC && call == RESOURCE_WATCH)
        snprintf(out_text, RESOURCE_LIMIT_TEXT,
                 "its user may watch no more descriptors by epoll "
                 "(%sfs.epoll.max_user_watches, which sysctl raises)",
                 proc_value_read("/proc/sys/fs/epoll/max_user_watches", value));
    else if (error == ENOMEM &&
             (call == RESOURCE_MAPPING || call == RESOURCE_THREAD))
        mapping_limit_describe(out_text);
    else if (error == ENOBUFS || error == ENOMEM)
        snprintf(out_text, RESOURCE_LIMIT_TEXT,
                 "its host's kernel has no memory for it (net.ipv4.tcp_mem or "
                 "the limit of a memory cgroup)");
    else
        snprintf(out_text, RESOURCE_LIMIT_TEXT, "%s", strerror(error));
    return out_text;
}
