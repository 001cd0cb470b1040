/*
 * tests/sim/verdict_sim_party.c - a rank, around the engine's own judgement
 *
 * What failure_detector.c needs of the engine and the transport is here, and no more: no
 * operation runs. What a member's standing does with verdicts is as in
 * session/lease_client.c.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/context_command.h"
#include "engine/failure/wait_diagnosis.h"
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

static struct party *
party_of(const struct transport *transport)
{
    return (struct party *)(uintptr_t)transport;
}

static uint32_t
rank_of(const struct party *party)
{
    return (uint32_t)(party - sim->parties);
}

void
transport_send_control(struct transport *transport,
                       uint32_t peer,
                       const struct frame *frame,
                       const char *text)
{
    const struct party *party = party_of(transport);
    struct sim_letter letter = {
        .kind = SIM_VERDICT,
        .from = (int)rank_of(party),
        .to = (int)peer,
        .rank = (uint32_t)frame->op,
    };

    if (party->is_gone[peer])
        return;
    snprintf(letter.why, sizeof(letter.why), "%s", text);
    sim_post(&letter);
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
    struct party *party = party_of(transport);

    (void)why;
    if (peer == rank_of(party) || party->is_gone[peer])
        return;
    party->is_gone[peer] = true;
    sim_post(&(struct sim_letter){.kind = SIM_BREAK,
                                  .from = (int)rank_of(party),
                                  .to = (int)peer,
                                  .why = "connection closed"});
}

bool
transport_is_disconnected(const struct transport *transport, uint32_t peer)
{
    return party_of(transport)->is_gone[peer];
}

/* Another number while something comes. */
uint64_t
transport_read_count(const struct transport *transport, uint32_t peer)
{
    const struct party *party = party_of(transport);

    return sim_is_mute(sim, peer, rank_of(party)) ? 0 : sim->now_ns;
}

bool
transport_is_connected(const struct transport *transport, uint32_t peer)
{
    return !party_of(transport)->is_gone[peer];
}

uint32_t
peer_round_trip_max_ms(const struct engine *engine)
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

struct failure_notice
failure_notice_make(enum hoop_status status,
                    uint32_t rank,
                    const char *format,
                    ...)
{
    (void)format;
    return (struct failure_notice){.status = status, .rank = rank};
}

bool
op_waits_for_departed(struct op *op, struct failure_notice *out_notice)
{
    (void)op;
    (void)out_notice;
    return false;
}

/* The engine's callbacks. */

static enum engine_process_status
process_status_of(void *owner, uint32_t rank, char out_how[LIMIT_NAME])
{
    (void)owner;
    out_how[0] = '\0';
    if (!sim->see_each_other || sim->still_until_ns[rank] > sim->now_ns)
        return ENGINE_PROCESS_UNKNOWN;
    return sim->parties[rank].is_dead ? ENGINE_PROCESS_DEAD
                                      : ENGINE_PROCESS_ALIVE;
}

static void
on_lost(void *owner, uint32_t rank, enum evidence evidence, const char *why)
{
    struct party *party = owner;
    struct sim_letter letter = {
        .kind = SIM_REPORT,
        .from = (int)rank_of(party),
        .to = COORDINATOR,
        .rank = rank,
    };

    (void)evidence;
    if (party->is_known[rank] || party->is_over)
        return;
    party->is_known[rank] = true;
    snprintf(letter.why, sizeof(letter.why), "%s", why);
    sim_post(&letter);
}

static void
on_suspected(void *owner,
             uint32_t rank,
             const struct engine_suspicion *suspicion)
{
    const struct party *party = owner;
    struct sim_letter letter = {
        .kind = SIM_REPORT,
        .from = (int)rank_of(party),
        .to = COORDINATOR,
        .rank = rank,
        .evidence = suspicion->evidence,
        .slack_ms = suspicion->slack_ms,
    };

    if (party->is_known[rank] || party->is_over)
        return;
    snprintf(letter.why, sizeof(letter.why), "%s", suspicion->why);
    sim_post(&letter);
}

/* As engine/failure/heartbeat.c: at once where all peers answer, else after a while. */
static void
question_take(struct party *party, uint64_t question)
{
    struct sim_letter letter = {
        .kind = SIM_LOOK,
        .from = (int)rank_of(party),
        .to = (int)rank_of(party),
        .question = question,
    };

    if (question == 0 || question == party->question)
        return;
    party->question = question;
    if (!party->is_over)
        sim_post(&(struct sim_letter){.kind = SIM_ANSWER,
                                      .from = letter.from,
                                      .to = COORDINATOR,
                                      .question = question});
    sim_post_at(&letter, sim->now_ns + EVIDENCE_ANSWER_MS * SIM_MS);
}

static uint8_t
view_of(const struct party *party, uint32_t rank)
{
    const struct rank_liveness *lost = &party->lost[rank];

    if (rank == rank_of(party) || lost->is_lost)
        return VIEW_NONE;
    if (lost->is_suspect && lost->evidence == EVIDENCE_BROKEN)
        return VIEW_BROKEN;
    if (party->is_gone[rank])
        return VIEW_NONE;
    if (!sim_is_mute(sim, rank, rank_of(party)))
        return VIEW_HEARD;
    return lost->is_suspect ? VIEW_SILENT : VIEW_UNANSWERED;
}

static void
question_answer(const struct party *party, uint64_t question)
{
    struct sim_letter letter = {
        .kind = SIM_ANSWER,
        .from = (int)rank_of(party),
        .to = COORDINATOR,
        .question = question,
    };

    for (uint32_t rank = 0; rank < sim->size; rank++)
        letter.views[rank] = view_of(party, rank);
    letter.n_views = sim->size;
    if (!party->is_over)
        sim_post(&letter);
}

/* Its life. */

void
party_create(uint32_t rank)
{
    struct party *party = &sim->parties[rank];

    if (roster_create(sim->size, &party->roster) != HOOP_OK)
        abort();
    party->roster->rank = rank;
    party->roster->epoch = sim->epoch;
    for (uint32_t i = 0; i < sim->size; i++) {
        struct member *member = &party->roster->members[i];

        member->incarnation = i + 1;
        member->rank = i;
        member->pid = 100 + i;
        snprintf(member->host, sizeof(member->host), "h");
    }
    party->engine.roster = party->roster;
    party->engine.lost = party->lost;
    party->engine.transport = (struct transport *)(uintptr_t)party;
    party->engine.deadline_ns = CLOCK_NEVER;
    party->engine.options.process_status_of = process_status_of;
    party->engine.options.on_lost = on_lost;
    party->engine.options.on_suspected = on_suspected;
    party->engine.options.owner = party;
    TAILQ_INIT(&party->engine.running);
    party->renew_ns = sim->now_ns + sim_random(RENEW_NS);
    party->revision = 1; /* that it formed */
    sim_post(&(struct sim_letter){.kind = SIM_WATCH,
                                  .from = (int)rank,
                                  .to = COORDINATOR,
                                  .number = party->revision});
}

void
party_destroy(uint32_t rank)
{
    roster_destroy(sim->parties[rank].roster);
}

void
party_die(uint32_t rank)
{
    struct party *party = &sim->parties[rank];

    party->is_dead = true;
    for (uint32_t peer = 0; peer < sim->size; peer++) {
        if (peer != rank && !party->is_gone[peer])
            sim_post(&(struct sim_letter){.kind = SIM_BREAK,
                                          .from = (int)rank,
                                          .to = (int)peer,
                                          .why = "connection reset"});
    }
}

static void
change_take(struct party *party, const struct sim_letter *letter)
{
    if (letter->rank == rank_of(party))
        party->is_over = true;
    if (party->is_known[letter->rank])
        return;
    party->is_known[letter->rank] = true;
    engine_mark_lost(&party->engine, letter->rank, EVIDENCE_TOLD, letter->why);
}

void
party_take(uint32_t rank, const struct sim_letter *letter)
{
    struct party *party = &sim->parties[rank];

    if (party->is_dead)
        return;
    switch (letter->kind) {
    case SIM_VERDICT:
        /* Behind the end of a connection nothing comes, and who is lost is not
         * believed, as in engine/events.c. */
        if (!party->is_gone[letter->from] && !party->lost[letter->from].is_lost)
            engine_mark_lost(&party->engine, letter->rank, EVIDENCE_TOLD,
                             letter->why);
        return;
    case SIM_BREAK:
        if (party->is_gone[letter->from])
            return;
        party->is_gone[letter->from] = true;
        engine_suspect_rank(&party->engine, (uint32_t)letter->from,
                            EVIDENCE_BROKEN, letter->why);
        return;
    case SIM_SILENCE:
        if (sim->now_ns <
            sim->silent_from_ns[rank][letter->rank] + FAILURE_MS * SIM_MS)
            return; /* it was heard in between */
        if (sim->cut_until_ns[letter->rank][rank] > sim->now_ns ||
            sim->still_until_ns[letter->rank] > sim->now_ns)
            engine_suspect_rank(&party->engine, letter->rank, EVIDENCE_SILENT,
                                letter->why);
        return;
    case SIM_CHANGE:
        change_take(party, letter);
        return;
    case SIM_WATCHED:
        party->revision = letter->number;
        question_take(party, letter->question);
        if (!party->is_over)
            sim_post(&(struct sim_letter){.kind = SIM_WATCH,
                                          .from = (int)rank,
                                          .to = COORDINATOR,
                                          .number = party->revision,
                                          .question = party->question});
        return;
    case SIM_LOOK:
        if (letter->question == party->question)
            question_answer(party, letter->question);
        return;
    case SIM_OVER:
        party->is_over = true;
        return;
    case SIM_REPORT:
    case SIM_ANSWER:
    case SIM_RENEW:
    case SIM_WATCH:
        return;
    }
}

uint64_t
party_due_ns(uint32_t rank)
{
    const struct party *party = &sim->parties[rank];
    uint64_t due_ns = CLOCK_NEVER;

    if (party->is_dead)
        return CLOCK_NEVER;
    if (!party->is_over)
        due_ns = party->renew_ns;
    for (uint32_t i = 0; i < sim->size; i++) {
        if (party->lost[i].is_suspect && party->lost[i].next_check_ns < due_ns)
            due_ns = party->lost[i].next_check_ns;
    }
    return due_ns != CLOCK_NEVER && due_ns < sim->still_until_ns[rank]
               ? sim->still_until_ns[rank]
               : due_ns;
}

void
party_wake(uint32_t rank)
{
    struct party *party = &sim->parties[rank];

    engine_check_suspects(&party->engine, sim->now_ns);
    if (party->is_over || party->renew_ns > sim->now_ns)
        return;
    party->renew_ns = sim->now_ns + RENEW_NS;
    sim_post(&(struct sim_letter){
        .kind = SIM_RENEW, .from = (int)rank, .to = COORDINATOR});
}
