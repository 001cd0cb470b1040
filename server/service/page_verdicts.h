/*
 * service/page_verdicts.h - the verdicts on jobs that the page's list shows
 *
 * A verdict costs a question to each rank of its job. So jobs take turns: each
 * second in which somebody looks at the list, those whose verdicts are oldest
 * are asked. A verdict on a job that has ended costs nothing, and changes only
 * in its age. Thread: the loop's.
 */

#ifndef SERVICE_PAGE_VERDICTS_H
#define SERVICE_PAGE_VERDICTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "core/action.h"
#include "diagnosis/diagnosis.h"

enum {
    PAGE_VERDICTS_MAX = 256, /* jobs; those after them in the list have none */
    /* Asked in one second: so many jobs, until they have so many ranks. */
    PAGE_VERDICT_TURNS = 16,
    PAGE_VERDICT_RANKS = 1024,
};

struct page_verdict {
    char job[LIMIT_NAME]; /* "": this place is free */
    uint64_t epoch;
    uint64_t since_ns; /* about when the job began or ended */
    uint32_t size;
    bool has_ended;
    bool is_listed;
    uint64_t asked_ns;   /* 0: never */
    uint64_t watched_ns; /* when a page was told of it last; 0: never */
    bool is_held_up;
    char *sentence; /* NULL: none yet */
};

/* Zeroed: none is kept. */
struct page_verdicts {
    struct page_verdict items[PAGE_VERDICTS_MAX];
    uint64_t listed_ns; /* when somebody looked last */
    uint64_t turns_ns;  /* when the last second of turns began */
    size_t n_turns;     /* taken in it */
    size_t n_ranks;     /* asked in it */
};

void
page_verdicts_deinit(struct page_verdicts *verdicts);

/* Somebody looks at these jobs. Forget the others, and all if nobody has looked
 * for seconds. */
void
page_verdicts_list(struct page_verdicts *verdicts,
                   const struct cluster_jobs *jobs,
                   uint64_t now_ns);

/* Take the turn of a job that is to be asked now; NULL: of none. The name stays
 * valid until page_verdicts_list(). */
const char *
page_verdicts_take_turn(struct page_verdicts *verdicts, uint64_t now_ns);

/* A page watches the job, which is asked for that: while it does, the job has no
 * turns. */
void
page_verdicts_watch(struct page_verdicts *verdicts,
                    const char *job,
                    uint64_t now_ns);

/* Keep the verdict on a job, if it is listed. */
void
page_verdicts_keep(struct page_verdicts *verdicts,
                   const struct cluster_job_summary *job,
                   const struct verdict *verdict,
                   uint64_t now_ns);

/* Return the verdict on a listed job; NULL: none is known. */
const struct page_verdict *
page_verdicts_find(const struct page_verdicts *verdicts,
                   const struct cluster_job_summary *job,
                   uint64_t now_ns);

#endif
