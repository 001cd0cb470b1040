/*
 * http/page_log.h - what has happened to jobs and to hoopd, for the page
 *
 * Each job has its own entries, and "" has those of hoopd itself. There are at
 * most LIMIT_HTTP_LOG_ENTRIES: for one more, whoever has the most loses its
 * oldest one, so that a job of many ranks takes nothing from the others. Of more
 * than LIMIT_HTTP_LOG_JOBS the one that has been quiet longest loses all. An
 * entry tells which one of its job it is, so a page can say how many are gone.
 *
 * Thread: the owner's lock protects it.
 */

#ifndef HTTP_PAGE_LOG_H
#define HTTP_PAGE_LOG_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/queue.h>

struct page_log_entry;
struct page_log_job;

TAILQ_HEAD(page_log_entries, page_log_entry);
TAILQ_HEAD(page_log_jobs, page_log_job);

struct page_log {
    struct page_log_entries entries; /* the oldest first */
    struct page_log_jobs jobs; /* those with entries, the quietest first */
    size_t n_jobs;
    size_t n_entries;
    uint64_t n_ever; /* also the number of the newest entry */
};

void
page_log_init(struct page_log *log);
void
page_log_deinit(struct page_log *log);

/* json is an object with members, and copied. Without memory the entry is lost,
 * but counted. */
void
page_log_add(struct page_log *log, const char *job, const char *json);

/* Write the entries after that of the number seen as server-sent events. Their
 * ids are "BOOT-NUMBER". A number that is too large stands for 0. */
void
page_log_write(const struct page_log *log,
               uint64_t boot,
               uint64_t seen,
               FILE *out);

#endif
