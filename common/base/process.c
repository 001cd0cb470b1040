/* base/process.c - the state of other processes of this host */

#include "base/process.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

uint64_t
pid_namespace_id(void)
{
    char boot_id[BOOT_ID_BYTES + 1] = "";
    char text[128];
    struct stat space;

    if (!proc_file_read("/proc/sys/kernel/random/boot_id", sizeof(boot_id),
                        boot_id) ||
        !boot_id[0] || !proc_is_own_namespace() ||
        stat("/proc/self/ns/pid", &space))
        return 0;
    const int n_text =
        snprintf(text, sizeof(text), "%s/%ju/%ju", boot_id,
                 (uintmax_t)space.st_dev, (uintmax_t)space.st_ino);
    const uint64_t digest = digest_bytes(text, (size_t)n_text);
    return digest > 0 ? digest : 1;
}
