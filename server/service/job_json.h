/*
 * service/job_json.h - jobs, ranks and notices as JSON, for the page
 *
 * Of jobs and calls a text tells since when, not for how long; only a verdict
 * tells both. So what is the same stays the same. Jobs and ranks are lines of
 * their own (http/rows.h), and the other texts are one line.
 */

#ifndef SERVICE_JOB_JSON_H
#define SERVICE_JOB_JSON_H

#include <stdint.h>

#include "core/action.h"

struct page_verdicts;
struct verdict;

struct job_json_context {
    const char *version;     /* of the coordinator */
    uint64_t now_ns;         /* of the step */
    uint64_t wall_offset_ns; /* wall clock minus now_ns, modulo 2^64; always the
                                same, so that times are */
    uint64_t started_ns;     /* when the coordinator started */
};

/* The caller frees the text; NULL: no memory. */
char *
jobs_json(const struct cluster_jobs *jobs,
          const struct page_verdicts *verdicts,
          const struct job_json_context *context);
/* Also writes the verdict on the job, which is explained for the text; its kind
 * is "" without memory for that. If something holds the job up, "order" has the
 * places of all in "ranks", the furthest behind first; else it is empty. */
char *
job_json(const struct cluster_job_detail *job,
         const struct job_json_context *context,
         struct verdict *out_verdict);
/* Also for what no notice tells: kind names it, and the rest may be zeroed. */
char *
notice_json(const char *kind,
            const struct cluster_log_notice *notice,
            const struct job_json_context *context);
/* {"error":"..."} */
char *
error_json(const char *text);

/* Return "lost" or the like; NULL: this kind is not shown. */
const char *
notice_kind_name(enum cluster_log_notice_kind kind);

#endif
