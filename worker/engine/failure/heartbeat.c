/*
 * engine/failure/heartbeat.c - asks ranks that are waited for whether they live
 *
 * A stopped process, and a link that loses everything, close no connection. So
 * a rank that waits asks the awaited ranks for a sign of life once they have
 * been silent for a moment. Their progress owner answers at once, whatever call
 * the program is in: a late rank is not lost. A rank is lost if nothing at all
 * has come from it for the failure timeout, and it has taken no more of the
 * data on their way to it.
 *
 * - Only time in which this rank itself runs is counted: a rank that was
 *   stopped accuses nobody when it wakes.
 * - On this host the kernel shows whether a process merely finds no processor;
 *   it gets more time. The kernel also shows whether a process has ended while
 *   a child made without pthread_atfork() holds its connections open.
 * - A network that loses packets makes healthy ranks silent. There the failure
 *   timeout is longer, unless the user has set it, and a rank that answers on
 *   a second connection (net/path.h) gets more time, too.
 * - The members of a watched context are checked likewise
 *   (engine/failure/revocation.c).
 *
 * The coordinator asks all ranks which ranks they hear if some rank reports a
 * suspicion, or if it does not hear a rank itself any more. Each rank then asks
 * all connected peers for a sign of life, whether it waits for them or not, and
 * reports what came.
 */

#include "engine/failure/heartbeat.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/process.h"
#include "engine/state.h"

enum {
    /* Checks per failure timeout, or more. A rank is found lost up to two checks
     * late. */
    HEARTBEAT_CHECKS_PER_TIMEOUT = 32,
    /* Grace periods, each half a failure timeout long. */
    GRACE_PERIODS_MAX_SHORT_TIMEOUT = 2,
    /* The same for timeouts from GRACE_LONG_TIMEOUT_MIN_MS on, which grow to
     * at most five times their length. A user who sets a shorter one wants
     * to know soon. */
    GRACE_PERIODS_MAX_LONG_TIMEOUT = 8,
    GRACE_LONG_TIMEOUT_MIN_MS = 1000,
    /* A starved process has run for less than 1/STARVED_CPU_SHARE_DIVISOR of
     * a period, or has waited for a processor for at least that long. */
    STARVED_CPU_SHARE_DIVISOR = 4,
};

/* A check comes at least so often, however long the failure timeout is, so that
 * an operator learns soon which ranks do not hear each other. */
static const uint64_t CHECK_INTERVAL_MAX_NS = 100 * CLOCK_NS_PER_MS;
/* A silent rank is asked again after so long: if only its answers are lost, its
 * list of askers shows that it still hears. */
static const uint64_t REPEAT_QUESTION_NS = 500 * CLOCK_NS_PER_MS;
/* Time an ending process needs to close its connections. */
static const uint64_t DYING_PROCESS_CLOSE_WAIT_NS = 100 * CLOCK_NS_PER_MS;

static void
heartbeat_send(struct engine *engine, uint32_t rank, uint32_t flags)
{
    const struct frame frame = {
        .kind = FRAME_HEARTBEAT,
        .flags = flags,
        .epoch = engine->roster->epoch,
    };

    transport_send_control(engine->transport, rank, &frame, NULL);
}

/* Ask peer for a sign of life. */
static void
heartbeat_request(struct engine *engine, uint32_t peer)
{
    heartbeat_send(engine, peer, FRAME_ASKS);
}

/* The ranks that asked last are kept, each once. */
void
heartbeat_note_asker(struct engine *engine, uint32_t peer)
{
    struct asker *oldest = &engine->liveness.askers[0];

    for (size_t i = 0; i < LIMIT_ACTIVITY_ASKERS; i++) {
        struct asker *asker = &engine->liveness.askers[i];

        if (asker->when_ns > 0 && asker->rank == peer) {
            oldest = asker;
            break;
        }
        if (asker->when_ns < oldest->when_ns)
            oldest = asker;
    }
    *oldest = (struct asker){.rank = peer, .when_ns = clock_now_ns()};
}

void
heartbeat_receive(struct engine *engine,
                  uint32_t peer,
                  const struct frame *frame)
{
    if (frame->flags & FRAME_ASKS)
        heartbeat_send(engine, peer, 0);
}

enum engine_process_status
engine_process_status_of(const struct engine *engine,
                         uint32_t rank,
                         char how[LIMIT_NAME])
{
    const struct engine_options *options = &engine->options;

    how[0] = '\0';
    return options->process_status_of
               ? options->process_status_of(options->owner, rank, how)
               : ENGINE_PROCESS_UNKNOWN;
}

/* Returns whether rank's process is on this node and can be inspected. */
static bool
is_process_inspectable(const struct engine *engine, uint32_t rank)
{
    return engine->roster->members[rank].is_visible &&
           roster_is_same_node(engine->roster, rank);
}

static struct process_cpu_time
process_cpu_time_get(const struct engine *engine, uint32_t rank)
{
    return is_process_inspectable(engine, rank)
               ? process_get_cpu_time(engine->roster->members[rank].pid)
               : (struct process_cpu_time){0};
}

/* Returns whether a process was starved during n_ns: it was runnable but did
 * not run, or ran only after waiting. */
static bool
is_process_starved(const struct process_cpu_time *before,
                   const struct process_cpu_time *now,
                   uint64_t n_ns)
{
    const uint64_t part_ns = n_ns / STARVED_CPU_SHARE_DIVISOR;

    return (now->is_waiting && now->ran_ns < before->ran_ns + part_ns) ||
           now->waited_ns >= before->waited_ns + part_ns;
}

static unsigned
grace_periods_max(const struct engine *engine)
{
    return engine->config->failure_timeout_ms < GRACE_LONG_TIMEOUT_MIN_MS
               ? GRACE_PERIODS_MAX_SHORT_TIMEOUT
               : GRACE_PERIODS_MAX_LONG_TIMEOUT;
}

static uint64_t
half_failure_timeout_ns(const struct engine *engine)
{
    return engine->config->failure_timeout_ms * CLOCK_NS_PER_MS / 2;
}

static uint64_t
check_interval_ns(const struct engine *engine)
{
    const uint64_t part_ns = engine->config->failure_timeout_ms *
                             CLOCK_NS_PER_MS / HEARTBEAT_CHECKS_PER_TIMEOUT;

    return part_ns < CHECK_INTERVAL_MAX_NS ? part_ns : CHECK_INTERVAL_MAX_NS;
}

/* Returns how long rank may be silent. */
static uint64_t
failure_timeout_ns(struct engine *engine, uint32_t rank)
{
    const struct config *config = engine->config;
    const uint64_t set_ns = config->failure_timeout_ms * CLOCK_NS_PER_MS;
    const uint64_t path_ns = transport_path_silence_ns(
        engine->transport, rank, engine->liveness.checked_ns);

    return config->is_failure_timeout_fixed || path_ns < set_ns ? set_ns
                                                                : path_ns;
}

/* Take the baseline at half the timeout, by which a later check tells whether
 * the process runs. */
static void
heartbeat_take_starvation_baseline(struct engine *engine, uint32_t rank)
{
    struct heartbeat *heartbeat = &engine->liveness.heartbeats[rank];

    heartbeat->has_starvation_baseline = true;
    heartbeat->share = process_cpu_time_get(engine, rank);
    path_probe_start(&heartbeat->probe, &engine->roster->members[rank].address);
}

/* Returns whether rank's process answers while its connection loses packets. */
static bool
is_rank_behind_lossy_path(struct engine *engine, uint32_t rank)
{
    return path_probe_poll(&engine->liveness.heartbeats[rank].probe) ==
               PROBE_ANSWERED &&
           transport_is_path_lossy(engine->transport, rank,
                                   engine->liveness.checked_ns);
}

/* Give rank more time if it gets no processor or answers through a bad network,
 * since then it is not frozen. The number of grace periods is limited, because
 * a process that spins behind a cut link also waits for a processor. */
static bool
heartbeat_grant_grace_period(struct engine *engine,
                             uint32_t rank,
                             uint64_t timeout_ns)
{
    struct heartbeat *heartbeat = &engine->liveness.heartbeats[rank];
    const uint64_t half_ns = half_failure_timeout_ns(engine);
    const struct process_cpu_time share = process_cpu_time_get(engine, rank);

    if (heartbeat->n_grace_periods == grace_periods_max(engine) ||
        !(is_process_starved(&heartbeat->share, &share, half_ns) ||
          is_rank_behind_lossy_path(engine, rank)))
        return false;
    heartbeat->n_grace_periods++;
    heartbeat->silent_ns = timeout_ns - half_ns;
    heartbeat_take_starvation_baseline(engine, rank);
    return true;
}

/* Returns whether rank's process has ended while its connection is still open,
 * because another process holds it. */
static bool
has_process_ended(struct engine *engine, uint32_t rank)
{
    struct heartbeat *heartbeat = &engine->liveness.heartbeats[rank];
    char how[LIMIT_NAME];

    if (!atomic_load(&heartbeat->is_process_visible_by_pid))
        return false;
    const enum engine_process_status process_status =
        engine_process_status_of(engine, rank, how);
    if (process_status != ENGINE_PROCESS_DYING &&
        process_status != ENGINE_PROCESS_DEAD) {
        heartbeat->ended_ns = 0;
        return false;
    }
    if (heartbeat->ended_ns == 0)
        heartbeat->ended_ns = engine->liveness.checked_ns;
    return engine->liveness.checked_ns - heartbeat->ended_ns >=
           DYING_PROCESS_CLOSE_WAIT_NS;
}

static bool
is_silent_too_long(struct engine *engine, uint32_t rank)
{
    struct heartbeat *heartbeat = &engine->liveness.heartbeats[rank];
    const uint64_t timeout_ns = failure_timeout_ns(engine, rank);

    if (!heartbeat->has_starvation_baseline &&
        heartbeat->silent_ns >= timeout_ns / 2)
        heartbeat_take_starvation_baseline(engine, rank);
    path_probe_poll(&heartbeat->probe);
    if (heartbeat->silent_ns >= timeout_ns)
        return !heartbeat_grant_grace_period(engine, rank, timeout_ns);
    return heartbeat->silent_ns > 0 && has_process_ended(engine, rank);
}

/* Returns whether rank may be asked: it has neither left nor been lost. */
static bool
is_live_peer(const struct engine *engine, uint32_t rank)
{
    return rank != engine->roster->rank &&
           !rank_is_gone(&engine->liveness.ranks[rank]);
}

/* Check rank, n_ns after the last check. Returns whether it has been silent for
 * too long. */
static bool
heartbeat_check(struct engine *engine, uint32_t rank, uint64_t n_ns)
{
    struct heartbeat *heartbeat = &engine->liveness.heartbeats[rank];

    if (heartbeat->n_checks == engine->liveness.n_checks ||
        !is_live_peer(engine, rank) ||
        !transport_is_connected(engine->transport, rank))
        return false;
    const uint64_t peer_activity_count =
        transport_activity_count(engine->transport, rank);
    const bool is_new = heartbeat->n_checks + 1 != engine->liveness.n_checks;
    heartbeat->n_checks = engine->liveness.n_checks;
    if (heartbeat->peer_activity_count != peer_activity_count || is_new) {
        heartbeat->peer_activity_count = peer_activity_count;
        heartbeat->silent_ns = 0;
        heartbeat->is_asked = false;
        heartbeat->has_starvation_baseline = false;
        heartbeat->n_grace_periods = 0;
        heartbeat->ended_ns = 0;
        path_probe_end(&heartbeat->probe);
        heartbeat->probe.state = PROBE_NONE;
        if (!is_new)
            return false;
    }
    heartbeat->silent_ns += is_new ? 0 : n_ns;
    if (!heartbeat->is_asked)
        heartbeat->round_trip_ms =
            transport_round_trip_ms(engine->transport, rank);
    if (!heartbeat->is_asked ||
        heartbeat->silent_ns >= heartbeat->next_question_ns) {
        heartbeat_send(engine, rank, FRAME_ASKS);
        heartbeat->next_question_ns = heartbeat->silent_ns + REPEAT_QUESTION_NS;
    }
    heartbeat->is_asked = true;
    return !engine->liveness.ranks[rank].is_suspect &&
           is_silent_too_long(engine, rank);
}

/* Returns whether some operation waits for the rank at present. */
static bool
is_rank_watched(const struct engine *engine, const struct heartbeat *heartbeat)
{
    return engine->liveness.n_checks > 0 &&
           heartbeat->n_checks + 1 >= engine->liveness.n_checks;
}

/* Returns the round trip to peer plus four times its variation. Of a silent
 * peer it returns what was measured before the silence. The earlier value is
 * used because the kernel of a process that reads nothing acknowledges 40 ms
 * late and more. */
static uint32_t
heartbeat_round_trip_ms(const struct engine *engine, uint32_t peer)
{
    const struct heartbeat *heartbeat = &engine->liveness.heartbeats[peer];

    return is_rank_watched(engine, heartbeat) && heartbeat->is_asked
               ? heartbeat->round_trip_ms
               : transport_round_trip_ms(engine->transport, peer);
}

/* Returns whether peer, which is waited for, has been silent for the failure
 * timeout. */
static bool
heartbeat_has_timed_out(struct engine *engine, uint32_t peer)
{
    const struct heartbeat *heartbeat = &engine->liveness.heartbeats[peer];

    return engine->config->failure_timeout_ms > 0 &&
           is_rank_watched(engine, heartbeat) &&
           heartbeat->silent_ns >= failure_timeout_ns(engine, peer);
}

enum heartbeat_state
heartbeat_state_of(const struct engine *engine, uint32_t rank)
{
    const struct heartbeat *heartbeat = &engine->liveness.heartbeats[rank];

    if (!is_rank_watched(engine, heartbeat))
        return HEARTBEAT_UNKNOWN;
    /* A rank asked at one check has answered two checks later at the latest. */
    return heartbeat->silent_ns > 3 * check_interval_ns(engine)
               ? HEARTBEAT_MISSED
               : HEARTBEAT_SEEN;
}

/* Check rank. If it has been silent for too long, it becomes *out_rank, unless
 * another one is that already; one that is suspected already makes room. */
static void
check_awaited_rank(struct engine *engine,
                   uint32_t rank,
                   uint64_t n_ns,
                   uint32_t *out_rank)
{
    const struct rank_liveness *ranks = engine->liveness.ranks;

    if (!heartbeat_check(engine, rank, n_ns))
        return;
    if (*out_rank == HOOP_NO_RANK ||
        (ranks[*out_rank].is_suspect && !ranks[rank].is_suspect))
        *out_rank = rank;
}

static void
check_members(struct engine *engine,
              const struct comm_context *context,
              uint64_t n_ns,
              uint32_t *out_rank)
{
    for (uint32_t i = 0; i < context->size; i++)
        check_awaited_rank(engine, context->ranks[i], n_ns, out_rank);
}

/* Check the ranks that op waits for. */
static void
op_check_peers(struct op *op, uint64_t n_ns, uint32_t *out_rank)
{
    struct engine *engine = op->engine;
    struct step_flow *flow;

    if (op_is_message(op) && step_flow_peer(&op->message.flow) == FLOW_ANY_PEER)
        check_members(engine, op->run.context, n_ns, out_rank);
    else if (op_is_message(op))
        check_awaited_rank(engine, step_flow_peer(&op->message.flow), n_ns,
                           out_rank);
    /* Of a message the list is empty. */
    TAILQ_FOREACH(flow, &op->run.step_flows, link)
    {
        if (step_flow_peer(flow) != FLOW_ANY_PEER)
            check_awaited_rank(engine, step_flow_peer(flow), n_ns, out_rank);
    }
}

/* Check all ranks that are waited for, each once: one that is not checked
 * now counts as new at the next check. Returns one that has been silent for
 * too long, or HOOP_NO_RANK. */
static uint32_t
find_dead_rank(struct engine *engine, uint64_t n_ns)
{
    const struct comm_context *context;
    uint32_t rank = HOOP_NO_RANK;
    struct op *op;

    TAILQ_FOREACH(op, &engine->progress.running, link)
    {
        op_check_peers(op, n_ns, &rank);
    }
    TAILQ_FOREACH(context, &engine->contexts.watched, watched_link)
    {
        check_members(engine, context, n_ns, &rank);
    }
    return rank;
}

/* Write what is known of rank, which has been silent for too long. */
static void
silence_write_reason(struct engine *engine,
                     uint32_t rank,
                     char why[LIMIT_REPORT_REASON])
{
    const uint32_t pid = engine->roster->members[rank].pid;
    const struct heartbeat *heartbeat = &engine->liveness.heartbeats[rank];
    const double silent_s = ns_to_seconds(failure_timeout_ns(engine, rank) +
                                          heartbeat->n_grace_periods *
                                              half_failure_timeout_ns(engine));

    if (heartbeat->ended_ns > 0)
        snprintf(why, LIMIT_REPORT_REASON,
                 "its process has ended (a child holds its connections)");
    else if (is_process_inspectable(engine, rank) && process_is_stopped(pid))
        snprintf(why, LIMIT_REPORT_REASON,
                 EVIDENCE_STOPPED "nothing has come from it for %.1f s)",
                 silent_s);
    else if (heartbeat->probe.state == PROBE_ANSWERED)
        snprintf(
            why, LIMIT_REPORT_REASON,
            "nothing has come from it for %.1f s, but it answers new "
            "connections: large packets do not arrive (MTU?), or its program "
            "holds hoop up",
            silent_s);
    else
        snprintf(why, LIMIT_REPORT_REASON,
                 "frozen or unreachable (nothing has come from it for %.1f s)",
                 silent_s);
}

uint64_t
heartbeat_check_awaited(struct engine *engine,
                        uint64_t now_ns,
                        uint32_t *out_rank,
                        char out_why[LIMIT_REPORT_REASON])
{
    const uint64_t timeout_ns =
        engine->config->failure_timeout_ms * CLOCK_NS_PER_MS;
    const uint64_t period_ns = check_interval_ns(engine);

    *out_rank = HOOP_NO_RANK;
    if (timeout_ns == 0 || (TAILQ_EMPTY(&engine->progress.running) &&
                            TAILQ_EMPTY(&engine->contexts.watched)))
        return CLOCK_NEVER;
    if (now_ns - engine->liveness.checked_ns < period_ns)
        return engine->liveness.checked_ns + period_ns;
    const uint64_t passed_ns = now_ns - engine->liveness.checked_ns;
    engine->liveness.checked_ns = now_ns;
    engine->liveness.n_checks++;
    *out_rank = find_dead_rank(
        engine, passed_ns < 2 * period_ns ? passed_ns : 2 * period_ns);
    if (*out_rank != HOOP_NO_RANK)
        silence_write_reason(engine, *out_rank, out_why);
    return now_ns + period_ns;
}

static const uint64_t PEER_VIEWS_POLL_INTERVAL_NS = CLOCK_NS_PER_MS;

uint32_t
longest_peer_round_trip_ms(const struct engine *engine)
{
    uint32_t slack_ms = 0;

    for (uint32_t rank = 0; rank < engine->roster->size; rank++) {
        const uint32_t ms = heartbeat_round_trip_ms(engine, rank);

        slack_ms = ms > slack_ms ? ms : slack_ms;
    }
    return slack_ms;
}

static bool
peer_views_alloc(struct engine *engine)
{
    struct views *views = &engine->liveness.views;
    const uint32_t size = engine->roster->size;

    if (!views->peer_activity_count)
        views->peer_activity_count =
            calloc(size, sizeof(*views->peer_activity_count));
    if (!views->seen)
        views->seen = calloc(size, sizeof(*views->seen));
    return views->peer_activity_count && views->seen;
}

static uint8_t
peer_view_of(struct engine *engine, uint32_t rank)
{
    const struct rank_liveness *liveness = &engine->liveness.ranks[rank];

    if (!is_live_peer(engine, rank))
        return VIEW_NONE;
    if (liveness->is_suspect && liveness->evidence == EVIDENCE_BROKEN)
        return VIEW_BROKEN;
    if (!transport_is_connected(engine->transport, rank))
        return VIEW_NONE;
    if (transport_read_count(engine->transport, rank) !=
        engine->liveness.views.peer_activity_count[rank])
        return VIEW_HEARD;
    return liveness->is_suspect || heartbeat_has_timed_out(engine, rank)
               ? VIEW_SILENT
               : VIEW_UNANSWERED;
}

void
peer_views_request_begin(struct engine *engine, uint64_t question)
{
    struct views *views = &engine->liveness.views;

    if (engine->is_leaving || !peer_views_alloc(engine) ||
        !engine->options.on_views) {
        atomic_store(&engine->inbox.has_views_question, false);
        return;
    }
    /* The answer to the previous question may have cleared it in between. */
    atomic_store(&engine->inbox.has_views_question, true);
    views->question = question;
    views->views_asked_ns = clock_now_ns();
    for (uint32_t rank = 0; rank < engine->roster->size; rank++) {
        views->peer_activity_count[rank] =
            transport_read_count(engine->transport, rank);
        if (is_live_peer(engine, rank) &&
            transport_is_connected(engine->transport, rank))
            heartbeat_request(engine, rank);
    }
    engine->progress.must_flush = true;
    engine->progress.deadline_ns = 0;
}

/* Returns whether rank may still answer. Each rank has its own time limit: a
 * distant rank does not extend the wait for a near one that is silent, since
 * the coordinator waits for this answer only so long. */
static bool
may_peer_still_answer(const struct engine *engine,
                      uint32_t rank,
                      uint64_t now_ns)
{
    const struct views *views = &engine->liveness.views;
    const uint8_t seen = views->seen[rank];

    return (seen == VIEW_UNANSWERED || seen == VIEW_SILENT) &&
           now_ns <
               views->views_asked_ns + (EVIDENCE_ANSWER_MS +
                                        heartbeat_round_trip_ms(engine, rank)) *
                                           CLOCK_NS_PER_MS;
}

uint64_t
engine_check_peer_views(struct engine *engine, uint64_t now_ns)
{
    struct views *views = &engine->liveness.views;
    bool is_complete = true;

    if (views->question == 0)
        return CLOCK_NEVER;
    for (uint32_t rank = 0; rank < engine->roster->size; rank++) {
        views->seen[rank] = peer_view_of(engine, rank);
        is_complete &= !may_peer_still_answer(engine, rank, now_ns);
    }
    if (!is_complete)
        return now_ns + PEER_VIEWS_POLL_INTERVAL_NS;
    const uint64_t question = views->question;
    views->question = 0;
    atomic_store(&engine->inbox.has_views_question, false);
    engine->options.on_views(engine->options.owner, question, views->seen);
    return CLOCK_NEVER;
}
