/* http/page_log.c - what has happened to jobs and to hoopd, for the page */

#include "http/page_log.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

struct page_log_job {
    TAILQ_ENTRY(page_log_job) link;
    char name[LIMIT_NAME];
    size_t n_entries;
    uint64_t n_ever;
};

struct page_log_entry {
    TAILQ_ENTRY(page_log_entry) link;
    struct page_log_job *job;
    uint64_t number; /* in the whole log */
    uint64_t nth;    /* in its job, from 1 */
    char *json;
};

void
page_log_init(struct page_log *log)
{
    *log = (struct page_log){0};
    TAILQ_INIT(&log->entries);
    TAILQ_INIT(&log->jobs);
}

static void
entry_remove(struct page_log *log, struct page_log_entry *entry)
{
    struct page_log_job *job = entry->job;

    TAILQ_REMOVE(&log->entries, entry, link);
    log->n_entries--;
    free(entry->json);
    free(entry);
    if (--job->n_entries > 0)
        return;
    TAILQ_REMOVE(&log->jobs, job, link);
    log->n_jobs--;
    free(job);
}

void
page_log_deinit(struct page_log *log)
{
    while (!TAILQ_EMPTY(&log->entries))
        entry_remove(log, TAILQ_FIRST(&log->entries));
}

/* Return the job, which may be new; NULL: no memory. */
static struct page_log_job *
job_find_or_create(struct page_log *log, const char *name)
{
    struct page_log_job *job = NULL;

    TAILQ_FOREACH(job, &log->jobs, link)
    {
        if (strcmp(job->name, name) == 0)
            return job;
    }
    job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    snprintf(job->name, sizeof(job->name), "%s", name);
    TAILQ_INSERT_TAIL(&log->jobs, job, link);
    log->n_jobs++;
    return job;
}

static bool
is_of_hoopd(const struct page_log_job *job)
{
    return job->name[0] == '\0';
}

/* Remove all entries of the job that has had none for the longest time. */
static void
quietest_job_remove(struct page_log *log)
{
    struct page_log_job *quietest = TAILQ_FIRST(&log->jobs);
    struct page_log_entry *entry = NULL;
    struct page_log_entry *next = NULL;

    if (is_of_hoopd(quietest))
        quietest = TAILQ_NEXT(quietest, link);
    for (entry = TAILQ_FIRST(&log->entries); entry; entry = next) {
        next = TAILQ_NEXT(entry, link);
        if (entry->job == quietest)
            entry_remove(log, entry);
    }
}

static void
oldest_of_longest_remove(struct page_log *log)
{
    struct page_log_job *longest = TAILQ_FIRST(&log->jobs);
    struct page_log_job *job = NULL;
    struct page_log_entry *entry = NULL;

    TAILQ_FOREACH(job, &log->jobs, link)
    {
        if (job->n_entries > longest->n_entries)
            longest = job;
    }
    TAILQ_FOREACH(entry, &log->entries, link)
    {
        if (entry->job == longest)
            break;
    }
    entry_remove(log, entry);
}

void
page_log_add(struct page_log *log, const char *job, const char *json)
{
    struct page_log_entry *entry = calloc(1, sizeof(*entry));
    char *copy = strdup(json);
    struct page_log_job *list =
        entry && copy ? job_find_or_create(log, job) : NULL;

    log->n_ever++;
    if (!list) {
        free(entry);
        free(copy);
        return;
    }
    *entry = (struct page_log_entry){.job = list,
                                     .number = log->n_ever,
                                     .nth = ++list->n_ever,
                                     .json = copy};
    TAILQ_INSERT_TAIL(&log->entries, entry, link);
    list->n_entries++;
    TAILQ_REMOVE(&log->jobs, list, link);
    TAILQ_INSERT_TAIL(&log->jobs, list, link);
    log->n_entries++;
    if (log->n_jobs > LIMIT_HTTP_LOG_JOBS)
        quietest_job_remove(log);
    else if (log->n_entries > LIMIT_HTTP_LOG_ENTRIES)
        oldest_of_longest_remove(log);
}

void
page_log_write(const struct page_log *log,
               uint64_t boot,
               uint64_t seen,
               FILE *out)
{
    const struct page_log_entry *entry = NULL;

    if (seen == log->n_ever)
        return;
    if (seen > log->n_ever)
        seen = 0;
    TAILQ_FOREACH(entry, &log->entries, link)
    {
        if (entry->number > seen)
            fprintf(out,
                    "id: %016" PRIx64 "-%" PRIu64
                    "\nevent: entry\ndata: {\"nth\":%" PRIu64 ",%s\n\n",
                    boot, entry->number, entry->nth, entry->json + 1);
    }
}
