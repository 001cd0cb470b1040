/*
 * http/feed.h - what open pages are told, as server-sent events
 *
 * A topic is the list of jobs, or one job with its ranks. While streams read a
 * topic it is queried once a second, once for all of them. A reader that is no
 * stream waits for one answer. The events of a stream:
 * - hello: which start of hoopd this is; first.
 * - time: hoopd's wall clock, in ms; once a second, so that a page notices
 *   silence.
 * - jobs: the list of jobs, when it has changed; to a stream that watches a job,
 *   once.
 * - job: the job that the stream watches, once a second; job_error: why there
 *   is none.
 * - entry: one of the log. Its id is "BOOT-NUMBER"; a stream goes on after the
 *   last one that its page has seen.
 * What the log keeps is in http/page_log.h.
 * Of jobs and ranks, a stream is sent those rows that have changed (http/rows.h),
 * and no more than there is room for: a slow reader has the newest state later,
 * without all that was between.
 *
 * Thread: the server's, except where noted.
 */

#ifndef HTTP_FEED_H
#define HTTP_FEED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "http/http.h"
#include "http/rows.h"

struct feed;
struct feed_topic;
struct loop;

/* Part of whoever reads. Zeroed: it reads nothing. */
struct feed_reader {
    TAILQ_ENTRY(feed_reader) link;
    struct feed_topic *jobs; /* NULL: not the list of jobs */
    struct feed_topic *job;  /* NULL: no job */
    bool is_stream;
    struct rows_seen jobs_seen;
    struct rows_seen job_seen;
    uint64_t entry_seen;
};

struct feed_options {
    struct loop *loop;
    uint64_t boot;
    http_query_fn *query;
    void *query_owner;
    /* Events for a stream, borrowed. The reader stays. */
    void (*on_events)(struct feed_reader *reader,
                      const char *bytes,
                      size_t n_bytes);
    /* Returns how many bytes of events may be reported now. */
    size_t (*room)(struct feed_reader *reader);
    /* The answer for a reader that is no stream and is unsubscribed already.
     * json is borrowed; NULL: no memory. */
    void (*on_answer)(struct feed_reader *reader,
                      enum hoop_status status,
                      const char *json);
    /* A second has passed. */
    void (*on_second)(void *owner);
    void *owner;
};

enum hoop_status
feed_create(const struct feed_options *options, struct feed **out_feed);
/* No reader may be left. NULL is allowed. */
void
feed_destroy(struct feed *feed);

/* Wait for one answer: for a job, or "": for the list of jobs.
 * Handle: HOOP_E_EXHAUSTED. */
enum hoop_status
feed_read_once(struct feed *feed, struct feed_reader *reader, const char *job);

/* Begin a stream, which also watches job unless it is "". Its first events are
 * reported within. Also if it fails, on_second() follows within a second. Handle:
 * HOOP_E_EXHAUSTED. */
enum hoop_status
feed_read_stream(struct feed *feed,
                 struct feed_reader *reader,
                 const char *job,
                 uint64_t entry_seen);

/* A reader that reads nothing is allowed. */
void
feed_unsubscribe(struct feed *feed, struct feed_reader *reader);

/* See http_answer_query(). Thread: any. */
void
feed_answer(struct feed *feed,
            uint64_t number,
            enum hoop_status status,
            char *json);

/* See http_log_add(). Thread: any. */
void
feed_log_add(struct feed *feed, const char *job, const char *json);

#endif
