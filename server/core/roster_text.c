/* core/roster_text.c - which workers have joined and which are missing, in
 * words */

#include "core/roster_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <uthash.h>

#include "base/clock.h"
#include "core/change.h"
#include "core/forming.h"
#include "core/job.h"
#include "core/state.h"

/* Build a text for the user from parts. */

void
text_buffer_append(struct text_buffer *text_buffer, const char *format, ...)
{
    const size_t n_room = sizeof(text_buffer->text) - text_buffer->n_bytes;
    va_list arguments;

    va_start(arguments, format);
    const int n = vsnprintf(text_buffer->text + text_buffer->n_bytes, n_room,
                            format, arguments);
    va_end(arguments);

    if (n < 0)
        return;
    if ((size_t)n < n_room) {
        text_buffer->n_bytes += (size_t)n;
        return;
    }
    text_buffer->n_bytes = sizeof(text_buffer->text) - 1;
    memcpy(text_buffer->text + text_buffer->n_bytes - 3, "...", 3);
}

/* A longer list would not help the reader. */
enum {
    NAMES_MAX = 8,
};

static const char *
plural_suffix(uint32_t n)
{
    return n == 1 ? "" : "s";
}

static void
roster_text_add_present(struct text_buffer *text_buffer, const struct job *job)
{
    const struct member *member = NULL;
    uint32_t n_named = 0;

    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        if (n_named == NAMES_MAX)
            break;
        text_buffer_append(text_buffer, "%s%s", n_named ? ", " : "",
                           member_label(member).text);
        n_named++;
    }
    if (job->n_members > n_named)
        text_buffer_append(text_buffer, " and %u more",
                           job->n_members - n_named);
}

static bool
rank_is_unrequested(const struct job *job, uint32_t rank)
{
    return !job_find_rank_requester(job, rank);
}

/* List the ranks below end that no member requested, as "0, 2-5". */
static void
roster_text_add_free_ranks(struct text_buffer *text_buffer,
                           const struct job *job,
                           uint32_t end)
{
    uint32_t n_named = 0;

    for (uint32_t rank = 0; rank < end; rank++) {
        if (!rank_is_unrequested(job, rank))
            continue;

        const uint32_t first = rank;

        while (rank + 1 < end && rank_is_unrequested(job, rank + 1))
            rank++;
        if (n_named == NAMES_MAX) {
            text_buffer_append(text_buffer, ", ...");
            return;
        }
        text_buffer_append(text_buffer, "%s%u", n_named ? ", " : "", first);
        if (rank > first)
            text_buffer_append(text_buffer, "-%u", rank);
        n_named++;
    }
}

static uint32_t
highest_requested_rank(const struct job *job)
{
    uint32_t highest = 0;

    for (const struct member *member = job->requests; member;
         member = member->hh_rank.next)
        if (member->rank > highest)
            highest = member->rank;
    return highest;
}

static void
roster_text_add_missing_ranks(struct text_buffer *text_buffer,
                              const struct job *job,
                              uint32_t size)
{
    const uint32_t n_requests = HASH_CNT(hh_rank, job->requests);
    const uint32_t n_missing = size - job->n_members;

    if (!n_requests) {
        text_buffer_append(text_buffer, "%u more worker%s", n_missing,
                           plural_suffix(n_missing));
        return;
    }
    if (n_requests < job->n_members)
        text_buffer_append(text_buffer, "%u more worker%s for the ", n_missing,
                           plural_suffix(n_missing));
    text_buffer_append(text_buffer, "rank%s ",
                       plural_suffix(size - n_requests));
    roster_text_add_free_ranks(text_buffer, job, size);
}

/* Say who is missing. The world size must be known. */
static void
roster_text_add_missing(struct text_buffer *text_buffer,
                        const struct cluster *cluster,
                        const struct job *job)
{
    const uint32_t size = job_max_world_size(cluster, job);
    const uint32_t size_min = job_min_world_size(cluster, job);

    if (!growth_has_all_members(job)) {
        text_buffer_append(text_buffer, "rank ");
        roster_text_add_free_ranks(text_buffer, job,
                                   growth_needed_members(job));
    } else if (size_min == size)
        roster_text_add_missing_ranks(text_buffer, job, size);
    else if (job->n_members < size_min)
        text_buffer_append(text_buffer, "at least %u more worker%s",
                           size_min - job->n_members,
                           plural_suffix(size_min - job->n_members));
    else
        roster_text_add_missing_ranks(text_buffer, job,
                                      highest_requested_rank(job) + 1);
}

struct text_buffer
roster_text_missing(const struct cluster *cluster, const struct job *job)
{
    const uint32_t size_min = job_min_world_size(cluster, job);
    struct text_buffer text_buffer = {0};

    if (!size_min)
        return text_buffer;
    if (job->n_members < size_min || !growth_has_all_members(job) ||
        highest_requested_rank(job) >= job->n_members)
        roster_text_add_missing(&text_buffer, cluster, job);
    else if (job->root)
        text_buffer_append(&text_buffer,
                           "others, for as long as its members wait");
    else
        text_buffer_append(
            &text_buffer, "others, until nobody has come for %.1f s",
            (double)job_settle_time_ns(cluster, job) / (double)CLOCK_NS_PER_S);
    return text_buffer;
}

struct text_buffer
roster_text_hosts(const struct job *job)
{
    const struct member *member = NULL;
    const char *named[NAMES_MAX];
    struct text_buffer text_buffer = {0};
    uint32_t n_named = 0;

    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        uint32_t i = 0;

        while (i < n_named && strcmp(named[i], member->host) != 0)
            i++;
        if (i < n_named)
            continue;
        if (n_named == NAMES_MAX) {
            text_buffer_append(&text_buffer, ", ...");
            break;
        }
        text_buffer_append(&text_buffer, "%s%s", n_named ? ", " : "",
                           member->host);
        named[n_named++] = member->host;
    }
    return text_buffer;
}

static void
roster_text_add_past_attempt(struct text_buffer *text_buffer,
                             const struct cluster *cluster,
                             const struct job *job)
{
    const struct ended_job *earlier =
        ended_jobs_find(&cluster->ended_jobs, job->name);

    if (!earlier || earlier->epoch)
        return;

    /* Both times may come from the wall clock, which may have been set back. */
    const uint64_t ago_ns =
        job->born_ns > earlier->when_ns ? job->born_ns - earlier->when_ns : 0;

    text_buffer_append(text_buffer, "; an earlier attempt, with %u",
                       earlier->n_joined);
    if (earlier->size > 0)
        text_buffer_append(text_buffer, " of %u", earlier->size);
    text_buffer_append(text_buffer,
                       ", gave up %.1f s before the first of these came",
                       (double)ago_ns / (double)CLOCK_NS_PER_S);
}

struct text_buffer
roster_text_summary(const struct cluster *cluster, const struct job *job)
{
    const uint32_t size = job_max_world_size(cluster, job);
    const uint32_t size_min = job_min_world_size(cluster, job);
    struct text_buffer text_buffer = {0};

    text_buffer_append(
        &text_buffer, "job \"%s\" has not %s: %u", job_public_name(job),
        job->root ? "grown in time" : "formed before a join deadline",
        job->n_members);
    if (size_min < size)
        text_buffer_append(&text_buffer, " of %u to %u", size_min, size);
    else if (size)
        text_buffer_append(&text_buffer, " of %u", size);
    text_buffer_append(&text_buffer,
                       " %s joined: ", job->n_members == 1 ? "has" : "have");
    roster_text_add_present(&text_buffer, job);

    if (job->n_given_up)
        text_buffer_append(
            &text_buffer, "; %u gave up before, at %s own deadline%s",
            job->n_given_up, job->n_given_up == 1 ? "its" : "their",
            plural_suffix(job->n_given_up));
    text_buffer_append(&text_buffer, "; missing: ");
    if (!size)
        text_buffer_append(&text_buffer,
                           "the world size, which nobody said (set "
                           "HOOP_WORLD_SIZE, or hoopd --world-size)");
    else
        roster_text_add_missing(&text_buffer, cluster, job);
    roster_text_add_past_attempt(&text_buffer, cluster, job);
    return text_buffer;
}
