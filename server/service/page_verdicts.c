/* service/page_verdicts.c - the verdicts on jobs that the page's list shows */

#include "service/page_verdicts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

/* A page that is open lists the jobs once a second; a bit less, so that each
 * such second has its turns. */
static const uint64_t TURNS_NS = 900 * CLOCK_NS_PER_MS;
/* A page asks for the job that it shows once a second. */
static const uint64_t WATCHED_NS = 2 * CLOCK_NS_PER_S;
/* What was true before a pause so long may be true no more. */
static const uint64_t PAUSE_NS = 5 * CLOCK_NS_PER_S;

enum {
    /* The age that a verdict on an ended job tells may be wrong by an eighth. */
    AGE_PARTS = 8,
};

static void
item_clear(struct page_verdict *item)
{
    free(item->sentence);
    *item = (struct page_verdict){0};
}

void
page_verdicts_deinit(struct page_verdicts *verdicts)
{
    for (size_t i = 0; i < PAGE_VERDICTS_MAX; i++)
        item_clear(&verdicts->items[i]);
}

static struct page_verdict *
item_of_name(struct page_verdicts *verdicts, const char *name)
{
    for (size_t i = 0; i < PAGE_VERDICTS_MAX; i++) {
        if (strcmp(verdicts->items[i].job, name) == 0)
            return &verdicts->items[i];
    }
    return NULL;
}

/* A job that never formed has no epoch, so the time tells it from others of its
 * name. */
static bool
item_is_of(const struct page_verdict *item,
           const struct cluster_job_summary *job,
           uint64_t now_ns)
{
    const uint64_t since_ns = now_ns - job->age_ns;

    return item->epoch == job->epoch &&
           item->has_ended == (job->state == CLUSTER_JOB_ENDED) &&
           since_ns + CLOCK_NS_PER_S / 2 - item->since_ns < CLOCK_NS_PER_S &&
           strcmp(item->job, job->name) == 0;
}

/* ---- The list. */

/* Of jobs of one name, the first one is listed: it lives, or has ended last, and
 * only of it hoopd tells more. */
static void
job_list(struct page_verdicts *verdicts,
         const struct cluster_job_summary *job,
         uint64_t now_ns)
{
    struct page_verdict *item = item_of_name(verdicts, job->name);

    if (item && item->is_listed)
        return;
    if (item && !item_is_of(item, job, now_ns))
        item_clear(item);
    if (!item)
        item = item_of_name(verdicts, "");
    if (!item)
        return;
    snprintf(item->job, sizeof(item->job), "%s", job->name);
    item->epoch = job->epoch;
    item->since_ns = now_ns - job->age_ns;
    item->size = job->size;
    item->has_ended = job->state == CLUSTER_JOB_ENDED;
    item->is_listed = true;
}

void
page_verdicts_list(struct page_verdicts *verdicts,
                   const struct cluster_jobs *jobs,
                   uint64_t now_ns)
{
    if (now_ns - verdicts->listed_ns > PAUSE_NS)
        page_verdicts_deinit(verdicts);
    verdicts->listed_ns = now_ns;
    for (size_t i = 0; i < PAGE_VERDICTS_MAX; i++)
        verdicts->items[i].is_listed = false;
    /* Those that are gone make room only next time. */
    for (size_t i = 0; i < jobs->n_items; i++)
        job_list(verdicts, &jobs->items[i], now_ns);
    for (size_t i = 0; i < PAGE_VERDICTS_MAX; i++) {
        if (!verdicts->items[i].is_listed)
            item_clear(&verdicts->items[i]);
    }
}

void
page_verdicts_watch(struct page_verdicts *verdicts,
                    const char *job,
                    uint64_t now_ns)
{
    struct page_verdict *item = item_of_name(verdicts, job);

    if (item)
        item->watched_ns = now_ns;
}

void
page_verdicts_keep(struct page_verdicts *verdicts,
                   const struct cluster_job_summary *job,
                   const struct verdict *verdict,
                   uint64_t now_ns)
{
    struct page_verdict *item = item_of_name(verdicts, job->name);

    if (!item || !item_is_of(item, job, now_ns))
        return;
    free(item->sentence);
    item->sentence = strdup(verdict->sentence);
    item->is_held_up = verdict->is_held_up;
    item->asked_ns = now_ns;
}

const struct page_verdict *
page_verdicts_find(const struct page_verdicts *verdicts,
                   const struct cluster_job_summary *job,
                   uint64_t now_ns)
{
    for (size_t i = 0; i < PAGE_VERDICTS_MAX; i++) {
        const struct page_verdict *item = &verdicts->items[i];

        if (item->sentence && item_is_of(item, job, now_ns))
            return item;
    }
    return NULL;
}

/* ---- Turns. */

static bool
is_due(const struct page_verdict *item, uint64_t now_ns)
{
    uint64_t pause_ns = TURNS_NS;

    if (item->watched_ns && now_ns - item->watched_ns < WATCHED_NS)
        return false;
    if (item->sentence && item->has_ended)
        pause_ns += (now_ns - item->since_ns) / AGE_PARTS;
    return item->job[0] &&
           (!item->asked_ns || now_ns - item->asked_ns >= pause_ns);
}

const char *
page_verdicts_take_turn(struct page_verdicts *verdicts, uint64_t now_ns)
{
    struct page_verdict *next = NULL;

    if (now_ns - verdicts->turns_ns >= TURNS_NS) {
        verdicts->turns_ns = now_ns;
        verdicts->n_turns = 0;
        verdicts->n_ranks = 0;
    }
    if (verdicts->n_turns >= PAGE_VERDICT_TURNS ||
        verdicts->n_ranks >= PAGE_VERDICT_RANKS)
        return NULL;
    for (size_t i = 0; i < PAGE_VERDICTS_MAX; i++) {
        struct page_verdict *item = &verdicts->items[i];

        if (is_due(item, now_ns) && (!next || item->asked_ns < next->asked_ns))
            next = item;
    }
    if (!next)
        return NULL;
    next->asked_ns = now_ns;
    verdicts->n_turns++;
    verdicts->n_ranks += next->has_ended ? 0 : next->size;
    return next->job;
}
