/*
 * tests/fuzz/session_fuzz.c - a coordinator that answers a session anything at
 * all
 *
 * A session joins, holds its lease, watches, forms communicators, shrinks them
 * and leaves, as session/session.c does it, but nobody of its peers can be
 * reached. The first 8 bytes are its incarnation, of which the roster must have
 * the identity; then comes how many steps there are, what they are, and behind
 * them what the coordinator answers (tests/fuzz/scripted_client.h). After each
 * step the roster and all communicators are what they must be, every rank is
 * lost once at most, and in the end nothing waits for an answer.
 *
 * tests/fuzz/record.py writes such inputs: what hoopd answered in real jobs.
 */

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/elastic.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/evidence.h"
#include "base/identity.h"
#include "base/random.h"
#include "fuzz/fuzz.h"
#include "fuzz/input.h"
#include "fuzz/scripted_client.h"
#include "fuzz/virtual_loop.h"
#include "select/tuner.h"
#include "session/comm.h"
#include "session/lease_client.h"
#include "session/recovery.h"
#include "session/rendezvous.h"
#include "session/world.h"

enum {
    STEPS_MAX = 64,
    COMMS_MAX = 4, /* beside the world */
    RANKS_SHOWN = 64,
    JOIN_MS = 3000,
    OP_MS = 200,
    LEAVE_MS = 1000,
};

struct session {
    struct config config;
    uint64_t credential;
    struct loop *loop;
    struct rpc_client *client;
    struct roster *roster;
    struct engine *engine;
    struct lease_client *lease_client;
    struct tuner *tuner;
    struct world world;
    hoop_comm_t *comms[COMMS_MAX];
    bool *has_lost; /* [rank]: the coordinator has said so */
};

static uint8_t incarnation[sizeof(uint64_t)];

/* Instead of base/random.c. */
enum hoop_status
random_fill(void *out_bytes, size_t n_bytes)
{
    uint8_t *out = out_bytes;

    for (size_t i = 0; i < n_bytes; i++)
        out[i] = incarnation[i % sizeof(incarnation)];
    return HOOP_OK;
}

/* What session/session.c has between its parts. */

static void
on_connection_needed(void *owner, uint32_t rank)
{
    const struct session *session = owner;

    engine_declare_dead(session->engine, rank, "nobody is there");
}

static void
on_lost(void *owner, uint32_t rank, enum evidence evidence, const char *why)
{
    const struct session *session = owner;

    lease_client_report_lost(session->lease_client, rank, evidence, why);
}

static void
on_views(void *owner, uint64_t question, const uint8_t *views)
{
    const struct session *session = owner;

    lease_client_send_peer_views(session->lease_client, question, views);
}

static void
on_progress_needed(void *owner)
{
    (void)owner;
}

static void
on_condemned(void *owner,
             uint32_t rank,
             enum evidence evidence,
             const char *why)
{
    struct session *session = owner;

    fuzz_require(rank < session->roster->size);
    fuzz_require(!session->has_lost[rank]);
    fuzz_require(strlen(why) < LIMIT_ERROR_TEXT);
    session->has_lost[rank] = true;
    if (evidence == EVIDENCE_GIVEN_UP)
        engine_report_given_up(session->engine, rank, why);
    else
        engine_declare_dead(session->engine, rank, why);
}

static void
on_peer_views_query(void *owner, uint64_t question)
{
    const struct session *session = owner;

    fuzz_require(question > 0);
    engine_request_peer_views(session->engine, question);
}

static void
on_activity(void *owner, uint64_t query, const struct engine_activity *activity)
{
    const struct session *session = owner;

    fuzz_require(activity->line.n_calls > 0 || !activity->line.call[0]);
    if (session->lease_client)
        lease_client_send_activity(session->lease_client, query, activity);
}

static void
on_activity_query(void *owner, uint64_t query)
{
    const struct session *session = owner;

    fuzz_require(query > 0);
    engine_query_activity(session->engine, query);
}

static struct rank_totals
totals(void *owner)
{
    const struct session *session = owner;
    struct engine_stats stats;

    engine_stats(session->engine, &stats);
    return (struct rank_totals){.calls = stats.operations};
}

static void
on_suspicion_undecided(void *owner, uint32_t rank)
{
    const struct session *session = owner;

    engine_report_undecided(session->engine, rank);
}

/* Joining. */

static struct rendezvous
rendezvous_of(struct session *session)
{
    return (struct rendezvous){
        .loop = session->loop,
        .client = session->client,
        .config = &session->config,
        .credential = &session->credential,
    };
}

static void
roster_check(const struct session *session, const struct join_reply *reply)
{
    const struct roster *roster = session->roster;

    fuzz_require(roster->size > 0 && roster->size <= LIMIT_RANKS);
    fuzz_require(roster->size == reply->size &&
                 reply->n_members == reply->size);
    fuzz_require(roster->rank < roster->size);
    fuzz_require(roster->members[roster->rank].incarnation ==
                 identity_of_incarnation(session->credential));
    for (uint32_t rank = 0; rank < roster->size; rank++)
        fuzz_require(roster->members[rank].rank == rank);
}

static void
parts_open(struct session *session, const struct join_reply *reply)
{
    const struct engine_options engine = {
        .roster = session->roster,
        .config = &session->config,
        .on_connection_needed = on_connection_needed,
        .on_lost = on_lost,
        .on_views = on_views,
        .on_activity = on_activity,
        .on_progress_needed = on_progress_needed,
        .owner = session,
    };
    const struct lease_client_options lease_client = {
        .loop = session->loop,
        .client = session->client,
        .roster = session->roster,
        .config = &session->config,
        .lease_ms = reply->lease_ms,
        .revision = reply->revision,
        .on_lost = on_condemned,
        .on_peer_views_query = on_peer_views_query,
        .on_activity_query = on_activity_query,
        .totals = totals,
        .on_suspicion_undecided = on_suspicion_undecided,
        .owner = session,
    };

    fuzz_require(engine_create(&engine, &session->engine) == HOOP_OK);
    fuzz_require(lease_client_create(&lease_client, &session->lease_client) ==
                 HOOP_OK);
    fuzz_require(tuner_create(session->roster, &session->config,
                              &session->tuner) == HOOP_OK);
    const struct world_options world = {
        .loop = session->loop,
        .client = session->client,
        .config = &session->config,
        .roster = session->roster,
        .engine = session->engine,
        .tuner = session->tuner,
        .id = reply->world,
    };
    fuzz_require(world_open(&world, &session->world) == HOOP_OK);
}

/* False: it could not. */
static bool
session_join(struct session *session)
{
    CLEANUP(join_reply_deinit) struct join_reply reply = {0};
    const struct rendezvous rendezvous = rendezvous_of(session);
    struct advertised_address advertised = {.is_guess = false};

    fuzz_require(address_parse("127.0.0.1:1", &advertised.address) == HOOP_OK);
    enum hoop_status status = rendezvous_join(&rendezvous, &advertised, &reply);
    if (status == HOOP_OK)
        status = rendezvous_roster_create(&session->config, &reply,
                                          &session->roster);
    if (status != HOOP_OK)
        return false;
    session->roster->credential = session->credential;
    roster_check(session, &reply);
    session->has_lost = calloc(reply.size, sizeof(*session->has_lost));
    fuzz_require(session->has_lost);
    parts_open(session, &reply);
    return true;
}

/* Afterwards. */

static void
comm_check(const struct session *session, hoop_comm_t *comm)
{
    const uint32_t size = hoop_comm_size(comm);
    uint32_t failed[RANKS_SHOWN];
    uint32_t n_failed = 0;

    fuzz_require(size > 0 && size <= session->roster->size);
    fuzz_require(hoop_comm_rank(comm) < size);
    fuzz_require(hoop_comm_world_rank(comm, hoop_comm_rank(comm)) ==
                 session->roster->rank);
    for (uint32_t rank = 0; rank < size; rank++) {
        const uint32_t world_rank = hoop_comm_world_rank(comm, rank);

        fuzz_require(world_rank < session->roster->size);
        for (uint32_t before = 0; before < rank && rank < RANKS_SHOWN; before++)
            fuzz_require(hoop_comm_world_rank(comm, before) != world_rank);
    }
    if (hoop_comm_failed(comm, failed, RANKS_SHOWN, &n_failed) != HOOP_OK)
        return;
    fuzz_require(n_failed <= size);
    for (uint32_t i = 0; i < n_failed && i < RANKS_SHOWN; i++)
        fuzz_require(failed[i] < size && (i == 0 || failed[i - 1] < failed[i]));
}

static void
session_check(const struct session *session)
{
    comm_check(session, (hoop_comm_t *)(uintptr_t)&session->world.comm);
    for (unsigned i = 0; i < COMMS_MAX; i++) {
        if (session->comms[i])
            comm_check(session, session->comms[i]);
    }
}

/* A failure says what it is. */
static void
status_check(enum hoop_status status)
{
    fuzz_require(status == HOOP_OK || error_text()[0] != '\0');
}

/* Every other rank, or all of them, and this one. */
static void
comm_add(struct session *session, hoop_comm_t **place, unsigned which)
{
    const struct roster *roster = session->roster;
    uint32_t *ranks = calloc(roster->size, sizeof(*ranks));
    struct rank_list list = {ranks, 0};

    fuzz_require(ranks);
    for (uint32_t rank = 0; rank < roster->size; rank++) {
        if (rank == roster->rank || (which & 2) || (which & 1 && rank % 2))
            ranks[list.n_ranks++] = rank;
    }
    fuzz_require(rank_list_check(roster, &list) == HOOP_OK);
    status_check(comm_form(&session->world.domain, &list,
                           clock_deadline_ns(OP_MS), place));
    free(ranks);
}

/* What waits for another rank would wait for a time that does not pass. */
static void
peers_lose(const struct session *session)
{
    for (uint32_t rank = 0; rank < session->roster->size; rank++) {
        if (rank != session->roster->rank)
            engine_declare_dead(session->engine, rank, "nobody is there");
    }
}

static void
comm_free(struct session *session, hoop_comm_t **place)
{
    if (*place)
        hoop_comm_free(*place);
    else
        status_check(hoop_comm_revoke(&session->world.comm));
    *place = NULL;
}

/* What a member does with one of its communicators; place: for another. */
static void
comm_step(struct session *session,
          hoop_comm_t **place,
          hoop_comm_t *comm,
          unsigned what)
{
    uint64_t word = 0x5a;

    peers_lose(session);
    switch (what % 5) {
    case 0:
        if (!*place)
            comm_add(session, place, what / 5);
        return;
    case 1:
        if (!*place)
            status_check(hoop_comm_shrink(comm, place));
        return;
    case 2:
        status_check(hoop_comm_agree(comm, &word));
        return;
    case 3:
        status_check(comm_sync_survivors(comm, GROUP_GROW,
                                         clock_deadline_ns(OP_MS), &word));
        return;
    default:
        comm_free(session, place);
        return;
    }
}

static void
lease_client_step(struct session *session, unsigned what)
{
    const struct engine_suspicion suspicion = {
        .evidence = what & 1 ? EVIDENCE_BROKEN : EVIDENCE_SILENT,
        .why = "it was silent",
    };
    const uint32_t rank = what / 4 % session->roster->size;

    switch (what % 3) {
    case 0:
        lease_client_report_lost(session->lease_client, rank, EVIDENCE_BROKEN,
                                 "it was not there");
        return;
    case 1:
        lease_client_report_suspicion(session->lease_client, rank, &suspicion);
        return;
    default:
        for (unsigned i = 0; i < 4; i++)
            (void)engine_progress_background(session->engine);
        return;
    }
}

static void
step(struct session *session, uint8_t what)
{
    hoop_comm_t **place = &session->comms[what >> 2 & (COMMS_MAX - 1)];
    hoop_comm_t *world = &session->world.comm;

    switch (what & 3) {
    case 0:
        for (unsigned i = 0; i < what >> 2; i++)
            (void)virtual_loop_turn(session->loop);
        return;
    case 1:
        lease_client_step(session, what >> 2);
        return;
    case 2:
        comm_step(session, place, world, what >> 4);
        return;
    default:
        /* Of one that is there, to the next place. */
        comm_step(session, &session->comms[((what >> 2) + 1) & (COMMS_MAX - 1)],
                  *place ? *place : world, what >> 4);
        return;
    }
}

static void
session_open(struct session *session)
{
    virtual_clock_reset();
    session->config = (struct config){
        .coordinator = "127.0.0.1:1",
        .job = "fuzz",
        .rank = RENDEZVOUS_RANK_ANY,
        .join_timeout_ms = JOIN_MS,
        .op_timeout_ms = OP_MS,
        .failure_timeout_ms = OP_MS,
        .spinning = ENGINE_SPIN_ALWAYS,
        .shm_negotiation = SHM_MODE_NEVER,
        .link = "latency=1us",
    };
    fuzz_require(loop_create(&session->loop) == HOOP_OK);
    fuzz_require(
        rpc_client_create(&(struct rpc_client_options){.loop = session->loop},
                          &session->client) == HOOP_OK);
}

static void
session_leave(struct session *session)
{
    const struct rendezvous rendezvous = rendezvous_of(session);

    if (session->engine)
        engine_shutdown(session->engine, clock_now_ns());
    lease_client_destroy(session->lease_client);
    session->lease_client = NULL;
    if (session->roster)
        rendezvous_leave(&rendezvous, session->roster, EVIDENCE_TOLD, "",
                         LEAVE_MS);
    rpc_client_destroy(session->client);
    world_close(&session->world);
    tuner_destroy(session->tuner);
    engine_destroy(session->engine);
    roster_destroy(session->roster);
    loop_destroy(session->loop);
    free(session->has_lost);
    fuzz_require(scripted_client_n_waiting() == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct input input = {bytes, n_bytes};
    struct session session = {0};
    const struct input name = input_part(&input, sizeof(incarnation));
    static const uint8_t none[sizeof(incarnation)];

    memset(incarnation, 1, sizeof(incarnation));
    if (memcmp(name.bytes, none, name.n_bytes) != 0)
        memcpy(incarnation, name.bytes, name.n_bytes);
    const struct input steps = input_part(&input, input_byte(&input));
    scripted_client_set(input);
    session_open(&session);
    if (session_join(&session)) {
        session_check(&session);
        for (size_t i = 0; i < steps.n_bytes && i < STEPS_MAX; i++) {
            step(&session, steps.bytes[i]);
            session_check(&session);
        }
    }
    session_leave(&session);
    return 0;
}
