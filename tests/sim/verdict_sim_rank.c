/*
 * tests/sim/verdict_sim_rank.c - a rank, around the engine's own judgement
 *
 * What failure_detector.c needs of the engine and the transport is here, and no
 * more: no operation runs. What a member's standing does with verdicts is as in
 * session/lease_client.c.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/context_command.h"
#include "engine/events.h"
#include "engine/failure/departure.h"
#include "engine/failure/failure_detector.h"
#include "engine/failure/failure_notice.h"
#include "engine/failure/heartbeat.h"
#include "engine/failure/operations.h"
#include "engine/failure/revocation.h"
#include "engine/failure/wait_diagnosis.h"
#include "engine/progress.h"
#include "engine/shm_executor.h"
#include "engine/shm_queue.h"
#include "verdict_sim.h"

static const uint64_t RENEW_NS = 1500 * SIM_MS;

uint64_t
__wrap_clock_now_ns(void);

uint64_t
__wrap_clock_now_ns(void)
{
    return sim->now_ns;
}

/* Stubs. A transport is its rank. */

static struct sim_rank *
sim_rank_of(const struct transport *transport)
{
    return (struct sim_rank *)(uintptr_t)transport;
}

static uint32_t
rank_of(const struct sim_rank *sim_rank)
{
    return (uint32_t)(sim_rank - sim->ranks);
}

void
transport_send_control(struct transport *transport,
                       uint32_t peer,
                       const struct frame *frame,
                       const char *text)
{
    const struct sim_rank *sim_rank = sim_rank_of(transport);
    struct sim_message message = {
        .kind = SIM_VERDICT,
        .from = (int)rank_of(sim_rank),
        .to = (int)peer,
        .rank = (uint32_t)frame->op,
    };

    if (sim_rank->is_gone[peer])
        return;
    snprintf(message.why, sizeof(message.why), "%s", text);
    sim_post(&message);
}

void
transport_broadcast_control(struct transport *transport,
                            uint32_t except,
                            const struct frame *frame,
                            const char *text)
{
    for (uint32_t peer = 0; peer < sim->size; peer++) {
        if (peer != except)
            transport_send_control(transport, peer, frame, text);
    }
}

void
transport_mark_unreachable(struct transport *transport,
                           uint32_t peer,
                           const char *why)
{
    struct sim_rank *sim_rank = sim_rank_of(transport);

    (void)why;
    if (peer == rank_of(sim_rank) || sim_rank->is_gone[peer])
        return;
    sim_rank->is_gone[peer] = true;
    sim_post(&(struct sim_message){.kind = SIM_BREAK,
                                   .from = (int)rank_of(sim_rank),
                                   .to = (int)peer,
                                   .why = "connection closed"});
}

bool
transport_is_disconnected(const struct transport *transport, uint32_t peer)
{
    return sim_rank_of(transport)->is_gone[peer];
}

/* Another number while something comes. */
uint64_t
transport_read_count(const struct transport *transport, uint32_t peer)
{
    const struct sim_rank *sim_rank = sim_rank_of(transport);

    return sim_is_mute(sim, peer, rank_of(sim_rank)) ? 0 : sim->now_ns;
}

bool
transport_is_connected(const struct transport *transport, uint32_t peer)
{
    return !sim_rank_of(transport)->is_gone[peer];
}

uint32_t
longest_peer_round_trip_ms(const struct engine *engine)
{
    (void)engine;
    /* A complaint, a question, an answer, and a watch that is on its way. */
    return (uint32_t)(4 * sim->slowest_ns / SIM_MS);
}

uint64_t
transport_silence_ms(const struct transport *transport, uint32_t peer)
{
    (void)transport;
    (void)peer;
    return TRANSPORT_SILENCE_UNKNOWN;
}

void
shm_queue_mark_ready(struct engine *engine)
{
    (void)engine;
}

bool
progress_advance_ops(struct engine *engine)
{
    (void)engine;
    return false;
}

bool
shm_departure_exists(struct engine *engine, uint32_t rank)
{
    (void)engine;
    (void)rank;
    return false;
}

void
shm_departure_apply(struct engine *engine, uint32_t rank)
{
    (void)engine;
    (void)rank;
}

void
engine_mark_left(struct engine *engine, uint32_t rank)
{
    (void)engine;
    (void)rank;
}

void
member_watch_on_loss(struct engine *engine, uint32_t rank)
{
    (void)engine;
    (void)rank;
}

void
shm_executor_list_awaited(struct op *op)
{
    (void)op;
}

void
op_fail(struct op *op, const struct failure_notice *failure_notice)
{
    (void)op;
    (void)failure_notice;
}

void
op_fail_without_notice(struct op *op,
                       const struct failure_notice *failure_notice)
{
    (void)op;
    (void)failure_notice;
}

struct failure_notice
failure_notice_make(enum hoop_status status,
                    uint32_t rank,
                    const char *format,
                    ...)
{
    (void)format;
    return (struct failure_notice){.status = status, .rank = rank};
}

struct failure_notice
lost_rank_failure(const struct engine *engine, uint32_t rank)
{
    (void)engine;
    return (struct failure_notice){.status = HOOP_E_PEER_LOST, .rank = rank};
}

bool
op_waits_for_departed(struct op *op, struct failure_notice *out_notice)
{
    (void)op;
    (void)out_notice;
    return false;
}

/* The sim finds silence itself. */
uint64_t
heartbeat_check_awaited(struct engine *engine,
                        uint64_t now_ns,
                        uint32_t *out_rank,
                        char out_why[LIMIT_REPORT_REASON])
{
    (void)engine;
    (void)now_ns;
    *out_rank = HOOP_NO_RANK;
    out_why[0] = '\0';
    return CLOCK_NEVER;
}

enum engine_process_status
engine_process_status_of(const struct engine *engine,
                         uint32_t rank,
                         char how[LIMIT_NAME])
{
    (void)engine;
    how[0] = '\0';
    if (!sim->see_each_other || sim->still_until_ns[rank] > sim->now_ns)
        return ENGINE_PROCESS_UNKNOWN;
    return sim->ranks[rank].is_dead ? ENGINE_PROCESS_DEAD
                                    : ENGINE_PROCESS_ALIVE;
}

/* The engine's callbacks. */

static void
on_lost(void *owner, uint32_t rank, enum evidence evidence, const char *why)
{
    struct sim_rank *sim_rank = owner;
    struct sim_message message = {
        .kind = SIM_REPORT,
        .from = (int)rank_of(sim_rank),
        .to = COORDINATOR,
        .rank = rank,
    };

    (void)evidence;
    if (sim_rank->is_known[rank] || sim_rank->is_over)
        return;
    sim_rank->is_known[rank] = true;
    snprintf(message.why, sizeof(message.why), "%s", why);
    sim_post(&message);
}

static void
on_suspected(void *owner,
             uint32_t rank,
             const struct engine_suspicion *suspicion)
{
    const struct sim_rank *sim_rank = owner;
    struct sim_message message = {
        .kind = SIM_REPORT,
        .from = (int)rank_of(sim_rank),
        .to = COORDINATOR,
        .rank = rank,
        .evidence = suspicion->evidence,
        .slack_ms = suspicion->slack_ms,
    };

    if (sim_rank->is_known[rank] || sim_rank->is_over)
        return;
    snprintf(message.why, sizeof(message.why), "%s", suspicion->why);
    sim_post(&message);
}

/* As engine/failure/heartbeat.c: at once where all peers answer, else after
 * a while. */
static void
question_take(struct sim_rank *sim_rank, uint64_t question)
{
    struct sim_message message = {
        .kind = SIM_LOOK,
        .from = (int)rank_of(sim_rank),
        .to = (int)rank_of(sim_rank),
        .question = question,
    };

    if (question == 0 || question == sim_rank->question)
        return;
    sim_rank->question = question;
    if (!sim_rank->is_over)
        sim_post(&(struct sim_message){.kind = SIM_ANSWER,
                                       .from = message.from,
                                       .to = COORDINATOR,
                                       .question = question});
    sim_post_at(&message, sim->now_ns + EVIDENCE_ANSWER_MS * SIM_MS);
}

static uint8_t
view_of(const struct sim_rank *sim_rank, uint32_t rank)
{
    const struct rank_liveness *lost = &sim_rank->lost[rank];

    if (rank == rank_of(sim_rank) || lost->is_lost)
        return VIEW_NONE;
    if (lost->is_suspect && lost->evidence == EVIDENCE_BROKEN)
        return VIEW_BROKEN;
    if (sim_rank->is_gone[rank])
        return VIEW_NONE;
    if (!sim_is_mute(sim, rank, rank_of(sim_rank)))
        return VIEW_HEARD;
    return lost->is_suspect ? VIEW_SILENT : VIEW_UNANSWERED;
}

static void
question_answer(const struct sim_rank *sim_rank, uint64_t question)
{
    struct sim_message message = {
        .kind = SIM_ANSWER,
        .from = (int)rank_of(sim_rank),
        .to = COORDINATOR,
        .question = question,
    };

    for (uint32_t rank = 0; rank < sim->size; rank++)
        message.views[rank] = view_of(sim_rank, rank);
    message.n_views = sim->size;
    if (!sim_rank->is_over)
        sim_post(&message);
}

/* Its life. */

void
sim_rank_create(uint32_t rank)
{
    struct sim_rank *sim_rank = &sim->ranks[rank];

    if (roster_create(sim->size, &sim_rank->roster) != HOOP_OK)
        abort();
    sim_rank->roster->rank = rank;
    sim_rank->roster->epoch = sim->epoch;
    for (uint32_t i = 0; i < sim->size; i++) {
        struct member *member = &sim_rank->roster->members[i];

        member->incarnation = i + 1;
        member->rank = i;
        member->pid = 100 + i;
        snprintf(member->host, sizeof(member->host), "h");
    }
    sim_rank->engine.roster = sim_rank->roster;
    sim_rank->engine.liveness.ranks = sim_rank->lost;
    sim_rank->engine.transport = (struct transport *)(uintptr_t)sim_rank;
    sim_rank->engine.progress.deadline_ns = CLOCK_NEVER;
    sim_rank->engine.options.on_lost = on_lost;
    sim_rank->engine.options.on_suspected = on_suspected;
    sim_rank->engine.options.owner = sim_rank;
    TAILQ_INIT(&sim_rank->engine.progress.running);
    sim_rank->renew_ns = sim->now_ns + sim_random(RENEW_NS);
    sim_rank->revision = 1; /* that it formed */
    sim_post(&(struct sim_message){.kind = SIM_WATCH,
                                   .from = (int)rank,
                                   .to = COORDINATOR,
                                   .number = sim_rank->revision});
}

void
sim_rank_destroy(uint32_t rank)
{
    roster_destroy(sim->ranks[rank].roster);
}

void
sim_rank_die(uint32_t rank)
{
    struct sim_rank *sim_rank = &sim->ranks[rank];

    sim_rank->is_dead = true;
    for (uint32_t peer = 0; peer < sim->size; peer++) {
        if (peer != rank && !sim_rank->is_gone[peer])
            sim_post(&(struct sim_message){.kind = SIM_BREAK,
                                           .from = (int)rank,
                                           .to = (int)peer,
                                           .why = "connection reset"});
    }
}

static void
change_take(struct sim_rank *sim_rank, const struct sim_message *message)
{
    if (message->rank == rank_of(sim_rank))
        sim_rank->is_over = true;
    if (sim_rank->is_known[message->rank])
        return;
    sim_rank->is_known[message->rank] = true;
    engine_mark_lost(&sim_rank->engine, message->rank, EVIDENCE_TOLD,
                     message->why);
}

void
sim_rank_take(uint32_t rank, const struct sim_message *message)
{
    struct sim_rank *sim_rank = &sim->ranks[rank];

    if (sim_rank->is_dead)
        return;
    switch (message->kind) {
    case SIM_VERDICT:
        /* Behind the end of a connection nothing comes, and who is lost is not
         * believed, as in engine/events.c. */
        if (!sim_rank->is_gone[message->from] &&
            !sim_rank->lost[message->from].is_lost)
            engine_mark_lost(&sim_rank->engine, message->rank, EVIDENCE_TOLD,
                             message->why);
        return;
    case SIM_BREAK:
        if (sim_rank->is_gone[message->from])
            return;
        sim_rank->is_gone[message->from] = true;
        engine_suspect_rank(&sim_rank->engine, (uint32_t)message->from,
                            EVIDENCE_BROKEN, message->why);
        return;
    case SIM_SILENCE:
        if (sim->now_ns <
            sim->silent_from_ns[rank][message->rank] + FAILURE_MS * SIM_MS)
            return; /* it was heard in between */
        if (sim->cut_until_ns[message->rank][rank] > sim->now_ns ||
            sim->still_until_ns[message->rank] > sim->now_ns)
            engine_suspect_rank(&sim_rank->engine, message->rank,
                                EVIDENCE_SILENT, message->why);
        return;
    case SIM_CHANGE:
        change_take(sim_rank, message);
        return;
    case SIM_WATCHED:
        sim_rank->revision = message->number;
        question_take(sim_rank, message->question);
        if (!sim_rank->is_over)
            sim_post(&(struct sim_message){.kind = SIM_WATCH,
                                           .from = (int)rank,
                                           .to = COORDINATOR,
                                           .number = sim_rank->revision,
                                           .question = sim_rank->question});
        return;
    case SIM_LOOK:
        if (message->question == sim_rank->question)
            question_answer(sim_rank, message->question);
        return;
    case SIM_OVER:
        sim_rank->is_over = true;
        return;
    case SIM_REPORT:
    case SIM_ANSWER:
    case SIM_RENEW:
    case SIM_WATCH:
        return;
    }
}

uint64_t
sim_rank_due_ns(uint32_t rank)
{
    const struct sim_rank *sim_rank = &sim->ranks[rank];
    uint64_t due_ns = CLOCK_NEVER;

    if (sim_rank->is_dead)
        return CLOCK_NEVER;
    if (!sim_rank->is_over)
        due_ns = sim_rank->renew_ns;
    for (uint32_t i = 0; i < sim->size; i++) {
        if (sim_rank->lost[i].is_suspect &&
            sim_rank->lost[i].next_check_ns < due_ns)
            due_ns = sim_rank->lost[i].next_check_ns;
    }
    return due_ns != CLOCK_NEVER && due_ns < sim->still_until_ns[rank]
               ? sim->still_until_ns[rank]
               : due_ns;
}

void
sim_rank_wake(uint32_t rank)
{
    struct sim_rank *sim_rank = &sim->ranks[rank];

    engine_check_suspects(&sim_rank->engine, sim->now_ns);
    if (sim_rank->is_over || sim_rank->renew_ns > sim->now_ns)
        return;
    sim_rank->renew_ns = sim->now_ns + RENEW_NS;
    sim_post(&(struct sim_message){
        .kind = SIM_RENEW, .from = (int)rank, .to = COORDINATOR});
}
