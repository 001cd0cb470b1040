/* diagnosis/slow_findings.c - what makes ranks slow that are not stuck: one
 * predicate for each cause */

#include <inttypes.h>
#include <stdio.h>

#include "diagnosis/finding_ranks.h"

enum {
    /* A rank is slow if it held another one up for a tenth of the last minute,
     * or for half of the last seconds. */
    SLOW_IN_MINUTE_PERCENT = 10,
    SLOW_LATELY_PERCENT = 50,
    /* A call of a rank for which others wait is shorter. */
    SHORT_CALL_MS = 300,
    /* Before a slow link bytes wait for so long at least, and before each other
     * one less than this part of that. */
    BACKLOG_MS_MIN = 100,
    BACKLOG_LEAD = 4,
};

/* Describe an amount of bytes: "1.5 MB". */
static void
bytes_describe(double n_bytes, char text[32])
{
    if (n_bytes < 1e6)
        snprintf(text, 32, "%.3g kB", n_bytes / 1e3);
    else
        snprintf(text, 32, "%.3g MB", n_bytes / 1e6);
}

/* Return the rank whose bytes wait longest before a link, or NULL. */
static const struct snapshot_rank *
most_backlogged_rank(const struct snapshot *snapshot)
{
    const struct snapshot_rank *most = NULL;

    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *rank = &snapshot->ranks[i];

        if (is_active(rank) && rank->has_answered &&
            rank->backlog_ms >= BACKLOG_MS_MIN &&
            rank_by_number(snapshot, rank->backlog_rank) &&
            (!most || rank->backlog_ms > most->backlog_ms))
            most = rank;
    }
    return most;
}

static bool
is_end_of_backlog(const struct snapshot_rank *rank, uint32_t end)
{
    return rank->rank == end || rank->backlog_rank == end;
}

/* Name the two ends of the link before which bytes wait, first the one before
 * whose other links they wait, too. If they wait everywhere, no link is slower
 * than the others. */
static bool
backlog_find(const struct snapshot *snapshot, struct finding *finding)
{
    const struct snapshot_rank *most = most_backlogged_rank(snapshot);
    bool is_sender = true;
    bool is_receiver = true;

    if (!most)
        return false;
    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *rank = &snapshot->ranks[i];

        if (!rank->has_answered ||
            rank->backlog_ms <= most->backlog_ms / BACKLOG_LEAD)
            continue;
        is_sender &= is_end_of_backlog(rank, most->rank);
        is_receiver &= is_end_of_backlog(rank, most->backlog_rank);
    }
    const struct snapshot_rank *receiver =
        rank_by_number(snapshot, most->backlog_rank);

    finding->culprit = is_sender ? most : receiver;
    finding->other = is_sender ? receiver : most;
    finding_add_culprit(finding, finding->culprit);
    finding_add_culprit(finding, finding->other);
    return is_sender || is_receiver;
}

/* The bytes of a call move, but have not all come for long: of those who wait
 * so, take the one that has got least of its part. All wait for each other's
 * bytes, so the link is the one before which bytes wait, if that is known. */
bool
finding_slow_link(const struct snapshot *snapshot, struct finding *finding)
{
    double least = 1;
    char done[32];
    char all[32];
    char rate[32];

    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *rank = &snapshot->ranks[i];
        const struct snapshot_call *call = &rank->call;
        const double share = call->n_bytes > 0 ? (double)call->n_done_bytes /
                                                     (double)call->n_bytes
                                               : 1;

        if (is_stuck(rank) && rank_by_number(snapshot, call->awaited_rank) &&
            call->awaited_doing == SNAPSHOT_HAS_CALLED &&
            call->n_done_bytes > 0 && share < least) {
            least = share;
            finding->waiter = rank;
        }
    }
    if (!finding->waiter)
        return false;
    const struct snapshot_call *call = &finding->waiter->call;
    if (!backlog_find(snapshot, finding)) {
        finding->culprit = rank_by_number(snapshot, call->awaited_rank);
        finding->other = finding->waiter;
        finding->n_culprits = 0;
        finding_add_culprit(finding, finding->culprit);
        finding_add_culprit(finding, finding->other);
    }
    bytes_describe((double)call->n_done_bytes, done);
    bytes_describe((double)call->n_bytes, all);
    bytes_describe((double)call->n_done_bytes * 1000 / (double)call->age_ms,
                   rate);
    snprintf(finding->detail, sizeof(finding->detail), "%s of %s so far, %s/s",
             done, all, rate);
    return true;
}

static bool
is_long_wait(const struct snapshot_wait *wait)
{
    const uint64_t percent = wait->span_ms < SNAPSHOT_MINUTE_MS
                                 ? SLOW_LATELY_PERCENT
                                 : SLOW_IN_MINUTE_PERCENT;

    return wait->span_ms > 0 && wait->wait_ms * 100 >= wait->span_ms * percent;
}

/* Write "41 s of the last minute" or "1.9 s of the last 2.8 s". */
static void
wait_describe(const struct snapshot_wait *wait, struct finding *finding)
{
    if (wait->span_ms < SNAPSHOT_MINUTE_MS)
        snprintf(finding->detail, sizeof(finding->detail),
                 "%.1f s of the last %.1f s", (double)wait->wait_ms / 1000,
                 (double)wait->span_ms / 1000);
    else
        snprintf(finding->detail, sizeof(finding->detail),
                 "%" PRIu64 " s of the last minute", wait->wait_ms / 1000);
}

/* Return the rank that held another one up for the largest share of a time, or
 * NULL. */
static const struct snapshot_rank *
slowest_rank(const struct snapshot *snapshot)
{
    const struct snapshot_rank *slowest = NULL;

    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *rank = &snapshot->ranks[i];

        if (is_active(rank) && is_long_wait(&rank->held_up) &&
            (!slowest ||
             snapshot_wait_is_longer(&rank->held_up, &slowest->held_up)))
            slowest = rank;
    }
    return slowest;
}

/* Return whether wait takes at least half as large a share as held_up does. */
static bool
explains_wait(const struct snapshot_wait *wait,
              const struct snapshot_wait *held_up)
{
    return is_long_wait(wait) && 2 * wait->wait_ms * held_up->span_ms >=
                                     held_up->wait_ms * wait->span_ms;
}

/* Return whether rank waits in a call itself. For one that comes late to its
 * calls the others wait already, so it is done with them soon. */
static bool
waits_itself(const struct snapshot_rank *rank)
{
    return rank->call.text[0] &&
           (rank->call.is_setup || rank->call.age_ms >= SHORT_CALL_MS);
}

/* One that is late because it waits for another one is not the cause: follow
 * who waits for whom. If that leads around in a circle, or to one that waits for
 * bytes or for several, none of them is. */
bool
finding_holds_up(const struct snapshot *snapshot, struct finding *finding)
{
    const struct snapshot_rank *rank = slowest_rank(snapshot);

    for (size_t i = 0; rank; i++) {
        const struct snapshot_rank *next =
            rank_by_number(snapshot, rank->waited.rank);

        if (!next || !is_active(next) ||
            !explains_wait(&rank->waited, &rank->held_up))
            break;
        rank = i < snapshot->n_ranks ? next : NULL;
    }
    if (!rank || waits_itself(rank) ||
        explains_wait(&rank->waiting, &rank->held_up))
        return false;
    finding->culprit = rank;
    finding->other = rank_by_number(snapshot, rank->held_up.rank);
    finding_add_culprit(finding, rank);
    wait_describe(&rank->held_up, finding);
    return finding->other != NULL;
}

/* No call is stuck, but the ranks wait for much of the time, none of them holds
 * the others up, and bytes wait before one link. */
bool
finding_slow_link_lately(const struct snapshot *snapshot,
                         struct finding *finding)
{
    if (!backlog_find(snapshot, finding))
        return false;
    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *rank = &snapshot->ranks[i];

        if (is_active(rank) && is_long_wait(&rank->waiting) &&
            (!finding->waiter ||
             snapshot_wait_is_longer(&rank->waiting,
                                     &finding->waiter->waiting)))
            finding->waiter = rank;
    }
    if (!finding->waiter)
        return false;
    wait_describe(&finding->waiter->waiting, finding);
    return true;
}
