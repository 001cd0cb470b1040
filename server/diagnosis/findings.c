/* diagnosis/findings.c - what may hold a job up: one predicate for each
 * cause */

#include "diagnosis/findings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/evidence.h"
#include "diagnosis/finding_ranks.h"

enum {
    /* Who is silent for less may only get no processor. */
    UNHEARD_MS = 600,
    EDGES_NAMED_MAX = 4,
    /* Ranks that end of a loss end within so long after it. */
    AFTERMATH_MS = 10000,
};

void
finding_rank_name(const struct snapshot_rank *rank, char text[FINDING_NAME_MAX])
{
    if (rank->rank == SNAPSHOT_NO_RANK)
        snprintf(text, FINDING_NAME_MAX, "%s:%" PRIu32, rank->host, rank->pid);
    else
        snprintf(text, FINDING_NAME_MAX, "rank %" PRIu32 " (%s:%" PRIu32 ")",
                 rank->rank, rank->host, rank->pid);
}

void
finding_communicator_name(const struct snapshot_call *call,
                          char text[FINDING_COMMUNICATOR_MAX])
{
    text[0] = '\0';
    if (call->communicator[0])
        snprintf(text, FINDING_COMMUNICATOR_MAX, " of '%.60s'",
                 call->communicator);
    else if (call->communicator_id > 0)
        snprintf(text, FINDING_COMMUNICATOR_MAX, " of communicator @%" PRIu64,
                 call->communicator_id);
}

static bool
awaits(const struct snapshot_rank *waiter, const struct snapshot_rank *rank)
{
    return is_stuck(waiter) && waiter->call.awaited_rank == rank->rank;
}

/* Note who waits for the culprit, the longest first. If nobody does, the rank
 * that has waited longest for anyone is named. */
static void
finding_note_waiters(const struct snapshot *snapshot, struct finding *finding)
{
    const struct snapshot_rank *longest = NULL;

    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *rank = &snapshot->ranks[i];

        if (!is_stuck(rank) || rank == finding->culprit)
            continue;
        finding->n_waiters++;
        if (!longest || rank->call.age_ms > longest->call.age_ms)
            longest = rank;
        if (finding->culprit && awaits(rank, finding->culprit) &&
            (!finding->waiter ||
             rank->call.age_ms > finding->waiter->call.age_ms))
            finding->waiter = rank;
    }
    if (!finding->waiter)
        finding->waiter = longest;
}

static bool
finding_blame(const struct snapshot *snapshot,
              const struct snapshot_rank *culprit,
              struct finding *finding)
{
    finding->culprit = culprit;
    finding_add_culprit(finding, culprit);
    finding_note_waiters(snapshot, finding);
    return true;
}

/* Jobs that do not run. */

/* Name the ranks that nobody who has joined has. */
static void
missing_ranks_name(const struct snapshot *snapshot, struct finding *finding)
{
    bool has_joined[LIMIT_RANKS] = {false};

    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        if (snapshot->ranks[i].rank >= LIMIT_RANKS)
            return; /* it takes whichever rank is left */
        has_joined[snapshot->ranks[i].rank] = true;
    }
    for (uint32_t rank = 0; rank < snapshot->size && rank < LIMIT_RANKS &&
                            finding->n_culprits < LIMIT_WHY_CULPRITS;
         rank++) {
        if (!has_joined[rank])
            finding_add_culprit(finding, &(struct snapshot_rank){.rank = rank});
    }
}

bool
finding_missing_at_join(const struct snapshot *snapshot,
                        struct finding *finding)
{
    if (snapshot->state != SNAPSHOT_FORMING || !snapshot->missing[0])
        return false;
    if (snapshot->n_ranks > 0)
        missing_ranks_name(snapshot, finding);
    snprintf(finding->detail, sizeof(finding->detail), "%s", snapshot->missing);
    return true;
}

bool
finding_forming(const struct snapshot *snapshot, struct finding *finding)
{
    (void)finding;
    return snapshot->state == SNAPSHOT_FORMING;
}

/* Return the rank that was lost first in the last n_ms, or NULL. */
static const struct snapshot_rank *
first_rank_lost_within(const struct snapshot *snapshot, uint64_t n_ms)
{
    const struct snapshot_rank *first = NULL;

    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *rank = &snapshot->ranks[i];

        if (rank->state == SNAPSHOT_LOST && rank->lost_ms <= n_ms &&
            (!first || rank->end_revision < first->end_revision))
            first = rank;
    }
    return first;
}

static const struct snapshot_rank *
first_lost_rank(const struct snapshot *snapshot)
{
    return first_rank_lost_within(snapshot, UINT64_MAX);
}

/* Return whether it was a process that was stopped for too long. */
static bool
was_stopped(const struct snapshot_rank *lost)
{
    return lost && strncmp(lost->reason, EVIDENCE_STOPPED,
                           strlen(EVIDENCE_STOPPED)) == 0;
}

bool
finding_ended_after_stop(const struct snapshot *snapshot,
                         struct finding *finding)
{
    return was_stopped(first_lost_rank(snapshot)) &&
           finding_ended_after_loss(snapshot, finding);
}

bool
finding_ended_after_loss(const struct snapshot *snapshot,
                         struct finding *finding)
{
    const struct snapshot_rank *lost = first_lost_rank(snapshot);

    return snapshot->state == SNAPSHOT_ENDED && lost &&
           finding_blame(snapshot, lost, finding);
}

bool
finding_ended_after_failure(const struct snapshot *snapshot,
                            struct finding *finding)
{
    if (snapshot->state != SNAPSHOT_ENDED)
        return false;
    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *rank = &snapshot->ranks[i];

        if (!rank->failure[0])
            continue;
        /* The first to fail is not known, but a mismatch follows from nothing
         * else. */
        if (!finding->culprit ||
            (rank->failure_status == HOOP_E_MISMATCH &&
             finding->culprit->failure_status != HOOP_E_MISMATCH))
            finding->culprit = rank;
        finding_add_culprit(finding, rank);
    }
    return finding->culprit != NULL;
}

bool
finding_ended(const struct snapshot *snapshot, struct finding *finding)
{
    if (snapshot->state != SNAPSHOT_ENDED)
        return false;
    if (!snapshot->has_formed)
        snprintf(finding->detail, sizeof(finding->detail),
                 "it never formed, since %" PRIu32 " of %" PRIu32
                 " workers came in time",
                 snapshot->n_members, snapshot->size);
    else if (snapshot->n_lost > 0 && snapshot->n_ranks > 0)
        snprintf(finding->detail, sizeof(finding->detail),
                 "all ranks that it had last have left in good order, and "
                 "%" PRIu32 " were lost before",
                 snapshot->n_lost);
    else if (snapshot->n_lost > 0)
        snprintf(finding->detail, sizeof(finding->detail),
                 "%" PRIu32 " of its ranks were lost, and hoopd does not know "
                 "why any more",
                 snapshot->n_lost);
    else if (snapshot->n_ranks > 0)
        snprintf(finding->detail, sizeof(finding->detail),
                 "all of its ranks have left in good order");
    else
        snprintf(finding->detail, sizeof(finding->detail),
                 "all of its ranks have left, and hoopd does not know any more "
                 "whether their last calls had failed");
    return true;
}

/* Ranks that differ or are held up by what is outside of hoop. */

bool
finding_mismatch(const struct snapshot *snapshot, struct finding *finding)
{
    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *rank = &snapshot->ranks[i];

        if (!is_active(rank) || rank->failure_status != HOOP_E_MISMATCH)
            continue;
        if (!finding->culprit)
            finding->culprit = rank;
        finding_add_culprit(finding, rank);
    }
    return finding->culprit != NULL;
}

static bool
process_find(const struct snapshot *snapshot,
             const char *states,
             struct finding *finding)
{
    const struct snapshot_rank *found = NULL;

    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *rank = &snapshot->ranks[i];

        if (!is_active(rank) || !rank->process.state ||
            !strchr(states, rank->process.state))
            continue;
        if (found)
            finding_add_culprit(finding, rank);
        else {
            found = rank;
            finding_blame(snapshot, rank, finding);
        }
    }
    return found != NULL;
}

bool
finding_stopped(const struct snapshot *snapshot, struct finding *finding)
{
    return process_find(snapshot, "T", finding);
}

bool
finding_process_ended(const struct snapshot *snapshot, struct finding *finding)
{
    return process_find(snapshot, "ZX", finding);
}

bool
finding_uninterruptible(const struct snapshot *snapshot,
                        struct finding *finding)
{
    if (!process_find(snapshot, "D", finding))
        return false;
    /* A short read from a disk holds nobody up. */
    if (!finding->waiter && finding->culprit->has_answered)
        return false;

    const struct snapshot_process *process = &finding->culprit->process;
    int n = 0;

    if (process->where[0])
        n = snprintf(finding->detail, sizeof(finding->detail), " in %s",
                     process->where);
    if (process->swapped_kib > 0)
        snprintf(finding->detail + n, sizeof(finding->detail) - (size_t)n,
                 " (%" PRIu64 " MiB of its memory are swapped out)",
                 process->swapped_kib / 1024);
    return true;
}

/* Find a rank that does not hear the one that it waits for, although both
 * answer the coordinator. */
static bool
link_find(const struct snapshot *snapshot,
          enum snapshot_sign back,
          struct finding *finding)
{
    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *deaf = &snapshot->ranks[i];
        const struct snapshot_rank *unheard =
            rank_by_number(snapshot, deaf->call.awaited_rank);

        if (!is_stuck(deaf) || !unheard || !is_active(unheard) ||
            !unheard->has_answered ||
            deaf->call.awaited_sign != SNAPSHOT_IS_SILENT ||
            deaf->call.awaited_silence_ms < UNHEARD_MS)
            continue;
        if (deaf->call.awaited_hears != back)
            continue;
        finding->culprit = unheard;
        finding->other = deaf;
        finding->waiter = deaf;
        finding->n_waiters = 1;
        finding_add_culprit(finding, unheard);
        finding_add_culprit(finding, deaf);
        return true;
    }
    return false;
}

bool
finding_link_one_way(const struct snapshot *snapshot, struct finding *finding)
{
    return link_find(snapshot, SNAPSHOT_LIVES, finding);
}

bool
finding_link_both_ways(const struct snapshot *snapshot, struct finding *finding)
{
    return link_find(snapshot, SNAPSHOT_IS_SILENT, finding);
}

bool
finding_link_silent(const struct snapshot *snapshot, struct finding *finding)
{
    return link_find(snapshot, SNAPSHOT_SIGN_UNKNOWN, finding);
}

bool
finding_silent(const struct snapshot *snapshot, struct finding *finding)
{
    const struct snapshot_rank *silent = NULL;

    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *rank = &snapshot->ranks[i];

        if (!is_active(rank) || !rank->was_asked || rank->has_answered)
            continue;
        if (silent)
            finding_add_culprit(finding, rank);
        else {
            silent = rank;
            finding_blame(snapshot, rank, finding);
        }
    }
    return silent != NULL;
}

bool
finding_all_silent(const struct snapshot *snapshot, struct finding *finding)
{
    size_t n_answers = 0;

    if (!finding_silent(snapshot, finding))
        return false;
    for (size_t i = 0; i < snapshot->n_ranks; i++)
        n_answers += snapshot->ranks[i].has_answered;
    return n_answers == 0 && finding->n_culprits > 1;
}

/* Calls. */

/* Return the rank that has waited longest, in a call of the coordinator or in
 * another one. */
static const struct snapshot_rank *
longest_waiter(const struct snapshot *snapshot)
{
    const struct snapshot_rank *longest = NULL;

    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *rank = &snapshot->ranks[i];

        if (is_stuck(rank) &&
            rank_by_number(snapshot, rank->call.awaited_rank) &&
            (!longest || rank->call.age_ms > longest->call.age_ms))
            longest = rank;
    }
    return longest;
}

/* Return the rank for which rank waits, which may have come late to its call;
 * NULL: it waits for nobody. */
static const struct snapshot_rank *
next_in_chain(const struct snapshot *snapshot, const struct snapshot_rank *rank)
{
    return is_active(rank) && rank->has_answered && rank->call.text[0]
               ? rank_by_number(snapshot, rank->call.awaited_rank)
               : NULL;
}

/* Follow who waits for whom from the rank that has waited longest, and return
 * the rank at the end, or one of a circle; NULL: nobody waits. */
static const struct snapshot_rank *
wait_chain_end(const struct snapshot *snapshot)
{
    const struct snapshot_rank *rank = longest_waiter(snapshot);

    /* After as many steps as there are ranks, the chain is in a circle. */
    for (size_t i = 0; rank && i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *next = next_in_chain(snapshot, rank);

        if (!next || next == rank)
            break;
        rank = next;
    }
    return rank;
}

bool
finding_half_joined(const struct snapshot *snapshot, struct finding *finding)
{
    const struct snapshot_rank *end = wait_chain_end(snapshot);

    if (!end)
        return false;
    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *waiter = &snapshot->ranks[i];

        if (!awaits(waiter, end) || !waiter->call.is_setup || is_stuck(end))
            continue;
        finding_blame(snapshot, end, finding);
        finding->waiter = waiter;
        snprintf(finding->detail, sizeof(finding->detail), "%s",
                 waiter->call.waits_for);
        return true;
    }
    return false;
}

/* Return whether the two wait in calls that cannot end together. */
static bool
is_other_call(const struct snapshot_rank *rank,
              const struct snapshot_rank *next)
{
    return rank->call.awaited_doing == SNAPSHOT_IN_OTHER_CALL ||
           rank->call.is_setup != next->call.is_setup ||
           rank->call.communicator_id != next->call.communicator_id ||
           rank->call.number != next->call.number ||
           (rank->call.number == 0 && rank->call.n_done_bytes == 0);
}

/* Write where the program of rank is. Return false if it does not tell: without
 * a second line there is no stack, but maybe the reason. */
static bool
place_of_rank(const struct snapshot_rank *rank, size_t n_room, char *text)
{
    const char *end = strchr(rank->stack, '\n');

    text[0] = '\0';
    if (!end || end == rank->stack)
        return false;
    snprintf(text, n_room, "%.*s", (int)(end - rank->stack), rank->stack);
    return true;
}

/* "rank 2 (a:7) waits at train.py:8 in step, in recv (int32, 1 elements) of
 * 'world' for rank 1 (a:6) to send tag 77, but it has sent tag 78" */
static size_t
edge_describe(const struct snapshot_rank *rank,
              const struct snapshot_rank *next,
              size_t n_room,
              char *text)
{
    char name[FINDING_NAME_MAX];
    char awaited[FINDING_NAME_MAX];
    char communicator[FINDING_COMMUNICATOR_MAX];
    char place[160];
    char tags[96] = "";

    finding_rank_name(rank, name);
    finding_rank_name(next, awaited);
    finding_communicator_name(&rank->call, communicator);
    place_of_rank(rank, sizeof(place), place);
    if (rank->call.sent_tag > 0)
        snprintf(tags, sizeof(tags),
                 " to send tag %" PRIu64 ", but it has sent tag %" PRIu64,
                 rank->call.receive_tag - 1, rank->call.sent_tag - 1);
    const int n =
        snprintf(text, n_room, "%s waits%s%s%s in %.100s%s for %s%s", name,
                 place[0] ? " at " : "", place, place[0] ? "," : "",
                 rank->call.text, communicator, awaited, tags);
    return n > 0 && (size_t)n < n_room ? (size_t)n : 0;
}

bool
finding_deadlock(const struct snapshot *snapshot, struct finding *finding)
{
    const struct snapshot_rank *first = wait_chain_end(snapshot);
    const struct snapshot_rank *rank = first;
    bool is_deadlock = false;
    size_t n = 0;
    size_t n_edges = 0;

    if (!first || !is_stuck(first))
        return false;
    do {
        const struct snapshot_rank *next =
            rank_by_number(snapshot, rank->call.awaited_rank);

        if (!is_stuck(rank) || !next || n_edges++ == snapshot->n_ranks)
            return false;
        is_deadlock |= is_other_call(rank, next);
        finding_add_culprit(finding, rank);
        if (n_edges <= EDGES_NAMED_MAX &&
            sizeof(finding->detail) - n > sizeof(", and ")) {
            n += (size_t)snprintf(finding->detail + n,
                                  sizeof(finding->detail) - n, "%s",
                                  n_edges > 1 ? ", and " : "");
            n += edge_describe(rank, next, sizeof(finding->detail) - n,
                               finding->detail + n);
        }
        rank = next;
    } while (rank != first);
    if (!is_deadlock)
        return false;
    finding->culprit = first;
    finding->waiter = first;
    return true;
}

bool
finding_deadlock_of_communicators(const struct snapshot *snapshot,
                                  struct finding *finding)
{
    if (!finding_deadlock(snapshot, finding))
        return false;
    for (size_t i = 1; i < finding->n_culprits; i++) {
        if (rank_by_number(snapshot, finding->culprits[i])
                ->call.communicator_id !=
            finding->culprit->call.communicator_id)
            return true;
    }
    return false;
}

bool
finding_deadlock_of_tags(const struct snapshot *snapshot,
                         struct finding *finding)
{
    if (!finding_deadlock(snapshot, finding))
        return false;
    for (size_t i = 0; i < finding->n_culprits; i++) {
        if (rank_by_number(snapshot, finding->culprits[i])->call.sent_tag > 0)
            return true;
    }
    return false;
}

/* Return whether the chain of those who wait ends at a rank in no call. */
static bool
idle_find(const struct snapshot *snapshot, struct finding *finding)
{
    const struct snapshot_rank *end = wait_chain_end(snapshot);

    return end && is_active(end) && end->has_answered && !end->call.text[0] &&
           finding_blame(snapshot, end, finding);
}

/* Say where the program of the culprit is. Return false if it does not tell. */
static bool
place_describe(struct finding *finding)
{
    return place_of_rank(finding->culprit, sizeof(finding->place),
                         finding->place);
}

/* Add to the detail why the culprit's stack is not known, if it says so. */
static void
missing_stack_describe(struct finding *finding)
{
    const char *stack = finding->culprit->stack;
    const size_t n = strlen(finding->detail);

    if (stack[0] && !strchr(stack, '\n'))
        snprintf(finding->detail + n, sizeof(finding->detail) - n, ": %s",
                 stack);
}

/* One rank waits in a collective that none of several others has called, and
 * these are in no call: it may call too often, or they may all be late. */
bool
finding_calls_alone(const struct snapshot *snapshot, struct finding *finding)
{
    uint32_t n_idle = 0;
    uint32_t n_active = 0;

    /* Of another communicator, not all ranks are members. */
    if (!idle_find(snapshot, finding) || finding->n_waiters != 1 ||
        finding->waiter->call.number == 0 ||
        finding->waiter->call.communicator_id != 0)
        return false;
    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *rank = &snapshot->ranks[i];

        n_active += is_active(rank);
        n_idle += is_active(rank) && rank->has_answered && !rank->call.text[0];
    }
    finding_add_culprit(finding, finding->waiter);
    snprintf(finding->detail, sizeof(finding->detail), "%" PRIu32, n_idle);
    return n_idle >= 2 && n_idle + 1 == n_active;
}

bool
finding_computes_at(const struct snapshot *snapshot, struct finding *finding)
{
    return finding_computes(snapshot, finding) && place_describe(finding);
}

bool
finding_computes(const struct snapshot *snapshot, struct finding *finding)
{
    if (!idle_find(snapshot, finding) || finding->culprit->process.state != 'R')
        return false;
    missing_stack_describe(finding);
    return true;
}

bool
finding_never_calls(const struct snapshot *snapshot, struct finding *finding)
{
    if (!idle_find(snapshot, finding))
        return false;
    if (finding->culprit->process.where[0])
        snprintf(finding->detail, sizeof(finding->detail), " and sleeps in %s",
                 finding->culprit->process.where);
    missing_stack_describe(finding);
    return true;
}

bool
finding_never_calls_at(const struct snapshot *snapshot, struct finding *finding)
{
    return finding_never_calls(snapshot, finding) && place_describe(finding);
}

bool
finding_waits(const struct snapshot *snapshot, struct finding *finding)
{
    const struct snapshot_rank *longest = longest_waiter(snapshot);

    if (!longest)
        return false;
    finding->waiter = longest;
    finding->n_waiters = 1;
    finding->culprit = rank_by_number(snapshot, longest->call.awaited_rank);
    finding_add_culprit(finding, finding->culprit);
    snprintf(finding->detail, sizeof(finding->detail), "%s",
             longest->call.waits_for);
    /* The call of the waiter is about to fail. */
    return finding->culprit->state != SNAPSHOT_LOST;
}

/* A rank may wait for a message from any other one, and a rank of an earlier
 * version does not tell for whom it waits but in words. */
bool
finding_waits_for_any(const struct snapshot *snapshot, struct finding *finding)
{
    if (longest_waiter(snapshot))
        return false;
    finding_note_waiters(snapshot, finding);
    if (!finding->waiter)
        return false;
    snprintf(finding->detail, sizeof(finding->detail), "%s",
             finding->waiter->call.waits_for);
    return true;
}

/* Blame the rank that was lost first in the last n_ms, and name those that were
 * lost after it. */
static bool
loss_find(const struct snapshot *snapshot,
          uint64_t n_ms,
          struct finding *finding)
{
    const struct snapshot_rank *lost = first_rank_lost_within(snapshot, n_ms);

    if (!lost)
        return false;
    finding_blame(snapshot, lost, finding);
    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *rank = &snapshot->ranks[i];

        if (rank->state == SNAPSHOT_LOST && rank->lost_ms <= n_ms &&
            rank != lost)
            finding_add_culprit(finding, rank);
    }
    return true;
}

bool
finding_lost(const struct snapshot *snapshot, struct finding *finding)
{
    return loss_find(snapshot, UINT64_MAX, finding);
}

/* Return how long ago any of the active ranks was heard. */
static uint64_t
newest_sign_ms(const struct snapshot *snapshot)
{
    uint64_t newest_ms = UINT64_MAX;

    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *rank = &snapshot->ranks[i];

        if (is_active(rank) && rank->last_sign_ms < newest_ms)
            newest_ms = rank->last_sign_ms;
    }
    return newest_ms;
}

/* The others have ended of that loss, or are about to, unless they were heard
 * long after it: then they went on without that rank. */
bool
finding_all_silent_after_loss(const struct snapshot *snapshot,
                              struct finding *finding)
{
    const uint64_t heard_ms = newest_sign_ms(snapshot);
    struct finding silent = {0};

    return finding_all_silent(snapshot, &silent) &&
           loss_find(snapshot,
                     heard_ms < UINT64_MAX - AFTERMATH_MS
                         ? heard_ms + AFTERMATH_MS
                         : UINT64_MAX,
                     finding);
}

bool
finding_lost_by_stop(const struct snapshot *snapshot, struct finding *finding)
{
    return was_stopped(first_lost_rank(snapshot)) &&
           finding_lost(snapshot, finding);
}

bool
finding_moves(const struct snapshot *snapshot, struct finding *finding)
{
    uint64_t longest_ms = 0;
    uint32_t n_in_call = 0;

    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const struct snapshot_rank *rank = &snapshot->ranks[i];

        if (!is_active(rank) || !rank->has_answered || !rank->call.text[0])
            continue;
        n_in_call++;
        if (rank->call.age_ms > longest_ms)
            longest_ms = rank->call.age_ms;
    }
    if (n_in_call == 0)
        snprintf(finding->detail, sizeof(finding->detail),
                 "no rank is in a call of hoop");
    else
        snprintf(finding->detail, sizeof(finding->detail),
                 "%" PRIu32 " of %" PRIu32 " ranks are in a call, the longest "
                 "for %.1f s",
                 n_in_call, snapshot->n_members, (double)longest_ms / 1000);
    return true;
}
