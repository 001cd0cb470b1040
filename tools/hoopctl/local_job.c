/*
 * hoopctl/local_job.c - finds the jobs that hooprun runs for this user here
 *
 * hooprun without --coordinator has a coordinator and a token of its own, which
 * only its workers know. Their environment says both, and the kernel shows it
 * to the user who started them, and to nobody else.
 */

#include "hoopctl/local_job.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hoopctl/shown.h"
#include "variable.h"

enum {
    JOBS_MAX = 16,
    ENVIRONMENT_BYTES_MAX = 1 << 20,
};

enum variable_place {
    VARIABLE_ENDINGS, /* hooprun sets it for its workers */
    VARIABLE_RECORDER_DIR,
    VARIABLE_COORDINATOR,
    VARIABLE_JOB,
    VARIABLE_TOKEN,
    VARIABLE_TOKEN_FILE,
    VARIABLE_TLS,
    VARIABLE_TLS_CERT,
    VARIABLE_TLS_KEY,
    VARIABLE_TLS_CA,
    VARIABLES,
};

static const char *const names[VARIABLES] = {
    "HOOP_ENDINGS", "HOOP_RECORDER_DIR", "HOOP_COORDINATOR", "HOOP_JOB",
    "HOOP_TOKEN",   "HOOP_TOKEN_FILE",   "HOOP_TLS",         "HOOP_TLS_CERT",
    "HOOP_TLS_KEY", "HOOP_TLS_CA",
};

/* A worker's environment. */
struct local_job {
    long pid;
    char *bytes;
    const char *values[VARIABLES]; /* in bytes; NULL: not set */
};

struct local_jobs {
    size_t n_jobs; /* may exceed JOBS_MAX */
    struct local_job jobs[JOBS_MAX];
};

static void
values_find(struct local_job *job, const char *end)
{
    for (const char *it = job->bytes; it < end; it += strlen(it) + 1) {
        for (size_t i = 0; i < VARIABLES; i++) {
            const size_t n = strlen(names[i]);

            if (strncmp(it, names[i], n) == 0 && it[n] == '=' && it[n + 1])
                job->values[i] = it + n + 1;
        }
    }
}

/* Return false if the process is none of this user's workers of hooprun. */
static bool
environment_read(int proc, const char *pid, struct local_job *out_job)
{
    char path[300];
    struct stat info;
    size_t n = 0;
    ssize_t n_more = 0;

    *out_job = (struct local_job){0};
    snprintf(path, sizeof(path), "%s/environ", pid);
    const int fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    if (fstat(fd, &info) == 0 && info.st_uid == geteuid())
        out_job->bytes = malloc(ENVIRONMENT_BYTES_MAX + 1);
    while (out_job->bytes && n < ENVIRONMENT_BYTES_MAX &&
           (n_more = read(fd, out_job->bytes + n, ENVIRONMENT_BYTES_MAX - n)) >
               0)
        n += (size_t)n_more;
    close(fd);
    if (!out_job->bytes)
        return false;
    out_job->bytes[n] = '\0';
    values_find(out_job, out_job->bytes + n);
    out_job->pid = strtol(pid, NULL, 10);
    if (out_job->values[VARIABLE_ENDINGS] &&
        out_job->values[VARIABLE_COORDINATOR] && out_job->values[VARIABLE_JOB])
        return true;
    free(out_job->bytes);
    return false;
}

static bool
is_wanted(const char *wanted, const char *value)
{
    return !wanted || strcmp(wanted, value) == 0;
}

/* Workers of a job, and their children, have the same. */
static bool
is_known(const struct local_jobs *jobs, const struct local_job *job)
{
    for (size_t i = 0; i < jobs->n_jobs && i < JOBS_MAX; i++) {
        const char *const *values = jobs->jobs[i].values;

        if (strcmp(values[VARIABLE_COORDINATOR],
                   job->values[VARIABLE_COORDINATOR]) == 0 &&
            strcmp(values[VARIABLE_JOB], job->values[VARIABLE_JOB]) == 0)
            return true;
    }
    return false;
}

static void
jobs_find(const struct hoop_control_options *options, struct local_jobs *jobs)
{
    const char *name = options->job ? options->job : variable("HOOP_JOB");
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    struct local_job job;

    while (proc && (entry = readdir(proc))) {
        if (!isdigit((unsigned char)entry->d_name[0]) ||
            !environment_read(dirfd(proc), entry->d_name, &job))
            continue;
        if (is_wanted(options->coordinator, job.values[VARIABLE_COORDINATOR]) &&
            is_wanted(name, job.values[VARIABLE_JOB]) &&
            !is_known(jobs, &job)) {
            if (jobs->n_jobs++ < JOBS_MAX) {
                jobs->jobs[jobs->n_jobs - 1] = job;
                continue;
            }
        }
        free(job.bytes);
    }
    if (proc)
        closedir(proc);
}

static void
jobs_print(const struct local_jobs *jobs)
{
    struct shown coordinator;
    struct shown name;

    fprintf(stderr, "hoopctl: hooprun runs several jobs here; which one?\n");
    for (size_t i = 0; i < jobs->n_jobs && i < JOBS_MAX; i++)
        fprintf(stderr, "  hoopctl -c %s -j %s ...\n",
                show(jobs->jobs[i].values[VARIABLE_COORDINATOR], &coordinator),
                show(jobs->jobs[i].values[VARIABLE_JOB], &name));
}

static enum hoop_status
job_adopt(const struct local_jobs *jobs)
{
    const struct local_job *job = &jobs->jobs[0];
    struct shown coordinator;
    struct shown name;

    if (jobs->n_jobs > 1) {
        jobs_print(jobs);
        return HOOP_E_INVALID;
    }
    for (size_t i = VARIABLE_COORDINATOR; i < VARIABLES; i++) {
        if (job->values[i])
            setenv(names[i], job->values[i], 1);
    }
    fprintf(stderr, "hoopctl: job \"%s\" of hooprun, whose coordinator is %s\n",
            show(job->values[VARIABLE_JOB], &name),
            show(job->values[VARIABLE_COORDINATOR], &coordinator));
    return HOOP_OK;
}

void
local_job_tell_absence(const char *job)
{
    struct shown name;

    fprintf(stderr,
            "hoopctl: hooprun runs no job%s%s%s of yours on this host; what it "
            "ran has ended together with its coordinator\n",
            job ? " \"" : "", job ? show(job, &name) : "", job ? "\"" : "");
}

enum hoop_status
local_job_adopt(const struct hoop_control_options *options)
{
    struct local_jobs jobs = {0};

    if (options->token_file || variable("HOOP_COORDINATOR") ||
        variable("HOOP_TOKEN") || variable("HOOP_TOKEN_FILE"))
        return HOOP_OK;
    jobs_find(options, &jobs);
    if (jobs.n_jobs == 0)
        return options->coordinator ? HOOP_OK : HOOP_E_NOT_FOUND;
    const enum hoop_status status = job_adopt(&jobs);
    for (size_t i = 0; i < jobs.n_jobs && i < JOBS_MAX; i++)
        free(jobs.jobs[i].bytes);
    return status;
}

/* Write where a worker of the job keeps its records. */
static void
records_path(const struct local_job *job, char out_path[PATH_MAX])
{
    const char *folder = job->values[VARIABLE_RECORDER_DIR];

    if (folder && folder[0] == '/')
        snprintf(out_path, PATH_MAX, "%s", folder);
    else if (folder)
        snprintf(out_path, PATH_MAX, "/proc/%ld/cwd/%s", job->pid, folder);
}

enum hoop_status
local_job_find_records(const struct hoop_control_options *options,
                       char out_path[PATH_MAX])
{
    struct local_jobs jobs = {0};

    out_path[0] = '\0';
    jobs_find(options, &jobs);
    if (jobs.n_jobs > 1)
        jobs_print(&jobs);
    else if (jobs.n_jobs == 1)
        records_path(&jobs.jobs[0], out_path);
    for (size_t i = 0; i < jobs.n_jobs && i < JOBS_MAX; i++)
        free(jobs.jobs[i].bytes);
    return jobs.n_jobs > 1 ? HOOP_E_INVALID : HOOP_OK;
}
