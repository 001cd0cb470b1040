/* core/roll.c - who is here and who is missing, in words */

#include "core/roll.h"

#include <string.h>
#include <uthash.h>

#include "base/clock.h"
#include "core/ending.h"
#include "core/growth.h"
#include "core/job.h"
#include "core/state.h"
#include "core/wish.h"

/* More names do not help. */
enum {
    NAMES_MAX = 8,
};

static const char *
plural(uint32_t n)
{
    return n == 1 ? "" : "s";
}

static void
roll_add_present(struct sentence *sentence, const struct job *job)
{
    const struct member *member = NULL;
    uint32_t n_named = 0;

    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        if (n_named == NAMES_MAX)
            break;
        sentence_add(sentence, "%s%s", n_named ? ", " : "",
                     member_label(member).text);
        n_named++;
    }
    if (job->n_members > n_named)
        sentence_add(sentence, " and %u more", job->n_members - n_named);
}

static bool
rank_is_free(const struct job *job, uint32_t rank)
{
    return !job_requester(job, rank);
}

/* Ranks below end that nobody requested, as "0, 2-5". */
static void
roll_add_free_ranks(struct sentence *sentence,
                    const struct job *job,
                    uint32_t end)
{
    uint32_t n_named = 0;

    for (uint32_t rank = 0; rank < end; rank++) {
        if (!rank_is_free(job, rank))
            continue;

        const uint32_t first = rank;

        while (rank + 1 < end && rank_is_free(job, rank + 1))
            rank++;
        if (n_named == NAMES_MAX) {
            sentence_add(sentence, ", ...");
            return;
        }
        sentence_add(sentence, "%s%u", n_named ? ", " : "", first);
        if (rank > first)
            sentence_add(sentence, "-%u", rank);
        n_named++;
    }
}

static uint32_t
highest_request(const struct job *job)
{
    uint32_t highest = 0;

    for (const struct member *member = job->requests; member;
         member = member->hh_rank.next)
        if (member->rank > highest)
            highest = member->rank;
    return highest;
}

static void
roll_add_ranks(struct sentence *sentence, const struct job *job, uint32_t size)
{
    const uint32_t n_requests = HASH_CNT(hh_rank, job->requests);
    const uint32_t n_missing = size - job->n_members;

    if (!n_requests) {
        sentence_add(sentence, "%u more worker%s", n_missing,
                     plural(n_missing));
        return;
    }
    if (n_requests < job->n_members)
        sentence_add(sentence, "%u more worker%s for the ", n_missing,
                     plural(n_missing));
    sentence_add(sentence, "rank%s ", plural(size - n_requests));
    roll_add_free_ranks(sentence, job, size);
}

/* size is known. */
static void
roll_add_missing(struct sentence *sentence,
                 const struct cluster *cluster,
                 const struct job *job)
{
    const uint32_t size = wish_size(cluster, job);
    const uint32_t size_min = wish_size_min(cluster, job);

    if (!growth_has_members(job)) {
        sentence_add(sentence, "rank ");
        roll_add_free_ranks(sentence, job, growth_members(job));
    } else if (size_min == size)
        roll_add_ranks(sentence, job, size);
    else if (job->n_members < size_min)
        sentence_add(sentence, "at least %u more worker%s",
                     size_min - job->n_members,
                     plural(size_min - job->n_members));
    else
        roll_add_ranks(sentence, job, highest_request(job) + 1);
}

struct sentence
roll_missing(const struct cluster *cluster, const struct job *job)
{
    const uint32_t size_min = wish_size_min(cluster, job);
    struct sentence sentence = {0};

    if (!size_min)
        return sentence;
    if (job->n_members < size_min || !growth_has_members(job) ||
        highest_request(job) >= job->n_members)
        roll_add_missing(&sentence, cluster, job);
    else if (job->root)
        sentence_add(&sentence, "others, for as long as its members wait");
    else
        sentence_add(&sentence, "others, until nobody has come for %.1f s",
                     (double)wish_settle_ns(cluster, job) /
                         (double)CLOCK_NS_PER_S);
    return sentence;
}

struct sentence
roll_hosts(const struct job *job)
{
    const struct member *member = NULL;
    const char *named[NAMES_MAX];
    struct sentence sentence = {0};
    uint32_t n_named = 0;

    TAILQ_FOREACH(member, &job->arrivals, arrival)
    {
        uint32_t i = 0;

        while (i < n_named && strcmp(named[i], member->host) != 0)
            i++;
        if (i < n_named)
            continue;
        if (n_named == NAMES_MAX) {
            sentence_add(&sentence, ", ...");
            break;
        }
        sentence_add(&sentence, "%s%s", n_named ? ", " : "", member->host);
        named[n_named++] = member->host;
    }
    return sentence;
}

static void
roll_add_earlier(struct sentence *sentence,
                 const struct cluster *cluster,
                 const struct job *job)
{
    const struct ending *earlier = endings_find(&cluster->endings, job->name);

    if (!earlier || earlier->epoch)
        return;

    /* Both may be known from the wall clock, which may have been set. */
    const uint64_t ago_ns =
        job->born_ns > earlier->when_ns ? job->born_ns - earlier->when_ns : 0;

    sentence_add(sentence, "; an earlier attempt, with %u", earlier->n_joined);
    if (earlier->size > 0)
        sentence_add(sentence, " of %u", earlier->size);
    sentence_add(sentence, ", gave up %.1f s before the first of these came",
                 (double)ago_ns / (double)CLOCK_NS_PER_S);
}

struct sentence
roll_call(const struct cluster *cluster, const struct job *job)
{
    const uint32_t size = wish_size(cluster, job);
    const uint32_t size_min = wish_size_min(cluster, job);
    struct sentence sentence = {0};

    sentence_add(&sentence, "job \"%s\" has not %s: %u", job_title(job),
                 job->root ? "grown in time" : "formed before a join deadline",
                 job->n_members);
    if (size_min < size)
        sentence_add(&sentence, " of %u to %u", size_min, size);
    else if (size)
        sentence_add(&sentence, " of %u", size);
    sentence_add(&sentence,
                 " %s joined: ", job->n_members == 1 ? "has" : "have");
    roll_add_present(&sentence, job);

    if (job->n_given_up)
        sentence_add(&sentence, "; %u gave up before, at %s own deadline%s",
                     job->n_given_up, job->n_given_up == 1 ? "its" : "their",
                     plural(job->n_given_up));
    sentence_add(&sentence, "; missing: ");
    if (!size)
        sentence_add(&sentence, "the world size, which nobody said (set "
                                "HOOP_WORLD_SIZE, or hoopd --world-size)");
    else
        roll_add_missing(&sentence, cluster, job);
    roll_add_earlier(&sentence, cluster, job);
    return sentence;
}
