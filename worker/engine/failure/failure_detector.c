/*
 * engine/failure/failure_detector.c - finds lost ranks, or believes others who
 * found them
 *
 * docs/failure.md describes the model. A process that was seen to end is lost,
 * whatever its rank; its launcher is given a moment to say how it ended. A
 * broken connection or silence proves nothing about the peer: this rank reports
 * a suspicion to the coordinator, which hears all ranks, and waits for its
 * decision.
 *
 * If there is no coordinator, or it does not decide in time, a rule decides.
 * When a link breaks between two ranks that both live, each sees the other as
 * lost, and all ranks must blame the same one. The lower rank accuses at once.
 * The higher rank first waits for as long as an accusation needs to reach all
 * ranks, and so learns that it is the one accused. If only two ranks are left,
 * the higher one hears of no accusation: it believes the lower one if it sees
 * that the lower one lives. A rank that is told of its own loss believes it,
 * because no other rank will talk to it again.
 */

#include "engine/failure/failure_detector.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/failure/departure.h"
#include "engine/failure/failure_notice.h"
#include "engine/failure/heartbeat.h"
#include "engine/failure/lost_rank.h"
#include "engine/failure/operations.h"
#include "engine/failure/revocation.h"
#include "engine/progress.h"
#include "engine/shm_executor.h"
#include "engine/shm_queue.h"
#include "engine/state.h"

/* Time an accusation needs from rank to rank, with a margin. */
static const uint64_t SUSPICION_DEFER_NS = 50 * CLOCK_NS_PER_MS;
/* The same if the connection has ended but the peer is seen to live on this
 * host: it will notice, too, as soon as it gets a processor. */
static const uint64_t SUSPICION_DEFER_ALIVE_NS = 200 * CLOCK_NS_PER_MS;
/* Time a launcher needs to learn from the kernel how a process ended, and to
 * say so. */
static const uint64_t PROCESS_EXIT_STATUS_WAIT_NS = 80 * CLOCK_NS_PER_MS;
static const uint64_t PROCESS_EXIT_STATUS_POLL_NS = CLOCK_NS_PER_MS;
static const uint64_t PROCESS_ALIVE_POLL_NS = 10 * CLOCK_NS_PER_MS;

enum {
    SILENCE_TEXT_MAX = 48,
    /* Room for who said so, and how long after the last byte. */
    REASON_TAIL_TEXT_MAX = ROSTER_NAME_MAX + SILENCE_TEXT_MAX + 16,
};

_Static_assert((int)REASON_TAIL_TEXT_MAX < (int)LOST_REASON_TEXT_MAX,
               "it is never cut");

static void
fail_ops_needing(struct engine *engine,
                 uint32_t world_rank,
                 const struct failure_notice *failure_notice)
{
    struct op *next;

    for (struct op *op = TAILQ_FIRST(&engine->progress.running); op;
         op = next) {
        next = TAILQ_NEXT(op, link);
        if (op_needs_rank(op, world_rank))
            op_fail(op, failure_notice);
    }
}

static void
clear_suspicion(struct engine *engine, struct rank_liveness *liveness)
{
    engine->liveness.n_suspects -= liveness->is_suspect;
    liveness->is_suspect = false;
}

/* Returns whether rank may be marked as lost: it is not yet, and it has not
 * left in good order. A rank that is lost itself sees all connections end, and
 * must accuse nobody. */
static bool
can_rank_be_marked_lost(struct engine *engine, uint32_t rank)
{
    const struct rank_liveness *liveness = &engine->liveness.ranks[rank];

    if (rank_is_gone(liveness) || engine->is_leaving ||
        engine->liveness.ranks[engine->roster->rank].is_lost)
        return false;
    /* First advance operations: what rank sent or posted before may be all that
     * they were waiting for. */
    shm_queue_mark_ready(engine);
    progress_advance_ops(engine);
    if (!shm_departure_exists(engine, rank))
        return !rank_is_gone(liveness);
    shm_departure_apply(engine, rank);
    engine_mark_left(engine, rank);
    return false;
}

/* Note that rank is lost, and tell all ranks. Returns false if it may not be
 * marked as lost: rank_end_ops() must follow otherwise. */
static bool
rank_note_loss(struct engine *engine,
               uint32_t rank,
               enum evidence evidence,
               const char *why)
{
    struct rank_liveness *liveness = &engine->liveness.ranks[rank];
    const bool is_new = can_rank_be_marked_lost(engine, rank);

    clear_suspicion(engine, liveness);
    if (!is_new)
        return false;
    liveness->is_lost = true;
    liveness->has_given_up = evidence == EVIDENCE_GIVEN_UP;
    engine->liveness.n_lost++;
    if (rank == engine->roster->rank && !liveness->has_given_up)
        expulsion_add_time(why, liveness->why);
    else
        reason_write_truncated(why, "", liveness->why);
    if (rank == engine->roster->rank)
        atomic_store(&engine->liveness.is_expelled, true);
    const struct frame failure_notice = lost_rank_frame(engine, rank);
    /* Tell all ranks before operations end, so that peers learn which rank is
     * lost. The lost rank is told, too, since it may live. */
    transport_broadcast_control(engine->transport, engine->roster->rank,
                                &failure_notice, liveness->why);
    return true;
}

/* End the operations that need rank, which is lost, and report the loss. */
static void
rank_end_ops(struct engine *engine, uint32_t rank, enum evidence evidence)
{
    const struct rank_liveness *liveness = &engine->liveness.ranks[rank];
    const struct failure_notice failed = lost_rank_failure(engine, rank);
    log_warning("engine", "%s", failed.why);
    fail_ops_needing(engine, rank, &failed);
    member_watch_on_loss(engine, rank);
    transport_mark_unreachable(engine->transport, rank, liveness->why);
    engine->options.on_lost(engine->options.owner, rank, evidence,
                            liveness->why);
}

void
engine_mark_lost(struct engine *engine,
                 uint32_t rank,
                 enum evidence evidence,
                 const char *why)
{
    if (rank_note_loss(engine, rank, evidence, why))
        rank_end_ops(engine, rank, evidence);
}

bool
engine_give_up_execute(struct engine *engine, const char *why)
{
    const uint32_t self = engine->roster->rank;
    const bool was_new =
        !engine->liveness.ranks[self].is_lost && !engine->is_leaving;

    engine_mark_lost(engine, self, EVIDENCE_GIVEN_UP, why);
    /* Send the notices now, because the process may end at once. */
    engine->progress.must_flush = true;
    return was_new;
}

void
engine_fail_without_memory(struct engine *engine,
                           uint32_t peer,
                           const char *why)
{
    const uint32_t self = engine->roster->rank;
    const struct rank_liveness *other = &engine->liveness.ranks[peer];
    char reason[LIMIT_REPORT_REASON];
    char name[ROSTER_NAME_MAX];
    struct op *next;

    /* Nobody needs the connection to a rank that is gone. */
    if (other->is_lost || other->has_left)
        return;
    snprintf(reason, sizeof(reason), EVIDENCE_GAVE_UP "it had %.200s", why);
    if (!rank_note_loss(engine, self, EVIDENCE_GIVEN_UP, reason))
        return;
    if (engine->options.on_gave_up)
        engine->options.on_gave_up(engine->options.owner, reason);
    const struct failure_notice failed = failure_notice_make(
        HOOP_E_EXHAUSTED, self, "%s %s",
        roster_format_name(engine->roster, self, name), reason);
    /* The other ranks have been told of the loss, and of nothing else. */
    for (struct op *op = TAILQ_FIRST(&engine->progress.running); op;
         op = next) {
        next = TAILQ_NEXT(op, link);
        if (op_needs_rank(op, peer))
            op_fail_without_notice(op, &failed);
    }
    rank_end_ops(engine, self, EVIDENCE_GIVEN_UP);
    engine->progress.must_flush = true;
}

/* Returns whether this rank and one other are all that is left. */
static bool
are_only_two_ranks_left(const struct engine *engine)
{
    return engine->roster->size - engine->liveness.n_lost -
               engine->liveness.n_left ==
           2;
}

/* Returns a running shared-memory operation that rank takes part in, or NULL.
 * Posts in a shared region carry no time of arrival. */
static struct op *
find_running_shm_op(const struct engine *engine, uint32_t rank)
{
    struct op *op;

    TAILQ_FOREACH(op, &engine->progress.running, link)
    {
        if (op_is_shm(op) && context_has_member(op->run.context, rank))
            break;
    }
    return op;
}

/* Returns whether nothing has come from rank for op. */
static bool
has_no_data_arrived_from(struct op *op, uint32_t rank)
{
    const struct step_flow *flow;

    if (op->run.rounds.round > 0)
        return false;
    shm_executor_list_awaited(op);
    TAILQ_FOREACH(flow, &op->run.step_flows, link)
    {
        if (step_flow_peer(flow) == rank)
            break;
    }
    return flow;
}

/* Returns whether rank may have published in a shared region, which carries no
 * time: when its last frame came says nothing then. */
static bool
shares_region_with(struct engine *engine, uint32_t rank)
{
    const struct comm_context *context;

    pthread_mutex_lock(&engine->lock);
    TAILQ_FOREACH(context, &engine->contexts.open, link)
    {
        if (context->shm_region && context_has_member(context, rank))
            break;
    }
    pthread_mutex_unlock(&engine->lock);
    return context;
}

/* Example: ", 0.310 s after its last byte". "": not known. */
static void
silence_describe(struct engine *engine,
                 uint32_t rank,
                 char text[SILENCE_TEXT_MAX])
{
    const uint64_t n_ms = transport_silence_ms(engine->transport, rank);
    const bool has_ended = transport_is_disconnected(engine->transport, rank);
    struct op *op = find_running_shm_op(engine, rank);

    text[0] = '\0';
    /* The reason given for a silent rank already says how long. */
    if (!has_ended)
        return;
    if (op)
        snprintf(text, SILENCE_TEXT_MAX, ", %s than %.3f s after its last byte",
                 has_no_data_arrived_from(op, rank) ? "more" : "less",
                 ns_to_seconds(clock_now_ns() - op->run.wait.started_ns));
    else if (n_ms != TRANSPORT_SILENCE_UNKNOWN &&
             !shares_region_with(engine, rank))
        snprintf(text, SILENCE_TEXT_MAX, ", %.3f s after its last byte",
                 (double)n_ms / 1000.0);
}

/* Example: "connection reset, 0.310 s after its last byte, reported by rank 0
 * (a:70)". */
static void
report_and_mark_lost(struct engine *engine,
                     uint32_t rank,
                     enum evidence evidence)
{
    struct rank_liveness *liveness = &engine->liveness.ranks[rank];
    char name[ROSTER_NAME_MAX];
    char silence[SILENCE_TEXT_MAX];
    char tail[REASON_TAIL_TEXT_MAX];

    silence_describe(engine, rank, silence);
    snprintf(tail, sizeof(tail), "%s" EVIDENCE_REPORTED_BY "%s", silence,
             roster_format_name(engine->roster, engine->roster->rank, name));
    reason_write_truncated(liveness->why, tail, liveness->why);
    engine_mark_lost(engine, rank, evidence, liveness->why);
}

/* The lower rank is believed, though it cannot say so itself. */
static void
mark_self_lost_by_peer_rule(struct engine *engine, uint32_t rank)
{
    char name[ROSTER_NAME_MAX];
    char tail[REASON_TAIL_TEXT_MAX];
    char why[LOST_REASON_TEXT_MAX];

    snprintf(tail, sizeof(tail),
             EVIDENCE_REPORTED_BY "%s, which lives and is believed",
             roster_format_name(engine->roster, rank, name));
    reason_write_truncated(engine->liveness.ranks[rank].why, tail, why);
    clear_suspicion(engine, &engine->liveness.ranks[rank]);
    engine_mark_lost(engine, engine->roster->rank, EVIDENCE_TOLD, why);
}

/* Returns for how long the lower rank may accuse first. */
static uint64_t
suspicion_report_delay_ns(const struct engine *engine,
                          uint32_t rank,
                          enum engine_process_status process_status)
{
    return process_status == ENGINE_PROCESS_ALIVE &&
                   transport_is_disconnected(engine->transport, rank)
               ? SUSPICION_DEFER_ALIVE_NS
               : SUSPICION_DEFER_NS;
}

/* Returns whether rank was suspected only of silence and has been heard
 * again. */
static bool
is_silent_suspect_heard_again(const struct engine *engine, uint32_t rank)
{
    const struct rank_liveness *liveness = &engine->liveness.ranks[rank];

    return liveness->evidence == EVIDENCE_SILENT &&
           transport_is_connected(engine->transport, rank) &&
           transport_read_count(engine->transport, rank) !=
               liveness->peer_activity_count;
}

/* Report the suspicion to the coordinator, once. */
static void
report_suspicion(struct engine *engine, uint32_t rank)
{
    struct rank_liveness *liveness = &engine->liveness.ranks[rank];
    char silence[SILENCE_TEXT_MAX];
    char why[LOST_REASON_TEXT_MAX];
    const struct engine_suspicion suspicion = {
        .evidence = liveness->evidence,
        .slack_ms = longest_peer_round_trip_ms(engine),
        .why = why,
    };

    if (liveness->is_suspicion_reported || !engine->options.on_suspected)
        return;
    liveness->is_suspicion_reported = true;
    silence_describe(engine, rank, silence);
    reason_write_truncated(liveness->why, silence, why);
    engine->options.on_suspected(engine->options.owner, rank, &suspicion);
}

/* Nobody else decides: declare rank dead, or set when to check again. */
static void
decide_suspicion_by_lower_rank(struct engine *engine,
                               uint32_t rank,
                               enum engine_process_status process_status,
                               uint64_t now_ns)
{
    struct rank_liveness *liveness = &engine->liveness.ranks[rank];
    const bool is_lower = rank < engine->roster->rank;
    const uint64_t declare_dead_ns =
        liveness->decide_by_rule_ns +
        suspicion_report_delay_ns(engine, rank, process_status);

    if (is_lower && now_ns < declare_dead_ns)
        /* Check often: rank may die of what broke the connection. */
        liveness->next_check_ns =
            now_ns + PROCESS_ALIVE_POLL_NS < declare_dead_ns
                ? now_ns + PROCESS_ALIVE_POLL_NS
                : declare_dead_ns;
    else if (process_status == ENGINE_PROCESS_ALIVE && is_lower &&
             are_only_two_ranks_left(engine))
        mark_self_lost_by_peer_rule(engine, rank);
    else
        report_and_mark_lost(engine, rank, EVIDENCE_TOLD);
}

/* The process has ended, but how is not known. */
static void
process_end_describe(struct rank_liveness *liveness)
{
    static const char ended[] = "its process has ended";
    char why[LOST_REASON_TEXT_MAX + 2 * sizeof(ended)];

    if (strncmp(liveness->why, ended, sizeof(ended) - 1) == 0)
        return;
    /* The end explains the silence. */
    if (liveness->evidence == EVIDENCE_SILENT) {
        strcpy(liveness->why, ended);
        return;
    }
    snprintf(why, sizeof(why), "%s (%s", ended, liveness->why);
    reason_write_truncated(why, ")", liveness->why);
}

/* Declare rank dead, clear the suspicion, or set when to check again. */
static void
failure_detector_check_rank(struct engine *engine,
                            uint32_t rank,
                            uint64_t now_ns)
{
    struct rank_liveness *liveness = &engine->liveness.ranks[rank];
    char how[LIMIT_NAME];
    const enum engine_process_status process_status =
        engine_process_status_of(engine, rank, how);

    if (process_status == ENGINE_PROCESS_DYING &&
        now_ns < liveness->suspected_ns + PROCESS_EXIT_STATUS_WAIT_NS) {
        liveness->next_check_ns = now_ns + PROCESS_EXIT_STATUS_POLL_NS;
        return;
    }
    if (how[0])
        snprintf(liveness->why, sizeof(liveness->why), "%s", how);
    if (process_status == ENGINE_PROCESS_DYING ||
        process_status == ENGINE_PROCESS_DEAD) {
        if (!how[0])
            process_end_describe(liveness);
        report_and_mark_lost(engine, rank, EVIDENCE_ENDED);
        return;
    }
    if (is_silent_suspect_heard_again(engine, rank)) {
        clear_suspicion(engine, liveness);
        return;
    }
    report_suspicion(engine, rank);
    if (now_ns < liveness->decide_by_rule_ns)
        liveness->next_check_ns =
            now_ns + PROCESS_ALIVE_POLL_NS < liveness->decide_by_rule_ns
                ? now_ns + PROCESS_ALIVE_POLL_NS
                : liveness->decide_by_rule_ns;
    else
        decide_suspicion_by_lower_rank(engine, rank, process_status, now_ns);
}

void
engine_suspect_rank(struct engine *engine,
                    uint32_t rank,
                    enum evidence evidence,
                    const char *why)
{
    struct rank_liveness *liveness = &engine->liveness.ranks[rank];
    const uint64_t decide_ns =
        engine->options.on_suspected
            ? (EVIDENCE_UNDECIDED_MS + longest_peer_round_trip_ms(engine)) *
                  CLOCK_NS_PER_MS
            : 0;

    /* can_rank_be_marked_lost() advances operations, which may suspect rank
     * themselves. */
    if (liveness->is_suspect || !can_rank_be_marked_lost(engine, rank) ||
        liveness->is_suspect)
        return;
    reason_write_truncated(why, "", liveness->why);
    liveness->is_suspect = true;
    liveness->is_suspicion_reported = false;
    liveness->evidence = evidence;
    liveness->suspected_ns = clock_now_ns();
    liveness->peer_activity_count =
        transport_read_count(engine->transport, rank);
    liveness->decide_by_rule_ns = liveness->suspected_ns + decide_ns;
    engine->liveness.n_suspects++;
    failure_detector_check_rank(engine, rank, liveness->suspected_ns);
    if (liveness->is_suspect &&
        liveness->next_check_ns < engine->progress.deadline_ns)
        engine->progress.deadline_ns = liveness->next_check_ns;
}

void
failure_detector_decide_now(struct engine *engine, uint32_t rank)
{
    struct rank_liveness *liveness = &engine->liveness.ranks[rank];
    const uint64_t now_ns = clock_now_ns();

    if (!liveness->is_suspect || now_ns >= liveness->decide_by_rule_ns)
        return;
    liveness->decide_by_rule_ns = liveness->suspected_ns;
    liveness->next_check_ns = now_ns;
    engine->progress.deadline_ns = 0;
}

uint64_t
engine_check_heartbeats(struct engine *engine, uint64_t now_ns)
{
    uint32_t silent;
    char why[LIMIT_REPORT_REASON];
    const uint64_t next_ns =
        heartbeat_check_awaited(engine, now_ns, &silent, why);

    if (silent != HOOP_NO_RANK)
        engine_suspect_rank(engine, silent, EVIDENCE_SILENT, why);
    return next_ns;
}

uint64_t
engine_check_suspects(struct engine *engine, uint64_t now_ns)
{
    uint64_t next_ns = CLOCK_NEVER;

    for (uint32_t rank = 0;
         engine->liveness.n_suspects > 0 && rank < engine->roster->size;
         rank++) {
        struct rank_liveness *liveness = &engine->liveness.ranks[rank];

        if (liveness->is_suspect && liveness->next_check_ns <= now_ns)
            failure_detector_check_rank(engine, rank, now_ns);
        if (liveness->is_suspect && liveness->next_check_ns < next_ns)
            next_ns = liveness->next_check_ns;
    }
    return next_ns;
}

bool
op_cannot_end(struct op *op, struct failure_notice *out_notice)
{
    const struct engine *engine = op->engine;

    for (uint32_t i = 0;
         engine->liveness.n_lost > 0 && i < op->run.context->size; i++) {
        const uint32_t rank = op->run.context->ranks[i];

        if (!engine->liveness.ranks[rank].is_lost || !op_needs_rank(op, rank))
            continue;
        *out_notice = lost_rank_failure(engine, rank);
        return true;
    }
    return op_waits_for_departed(op, out_notice);
}
