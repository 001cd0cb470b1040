/*
 * session/session.c - join a job by its coordinator's address, and leave it
 *
 * Until the world has formed, the calling thread runs the control loop. Then
 * everything that lives on the loop is created, and only then the background
 * thread takes the loop over. Leaving does the same in reverse order.
 */

#include "hoop/session.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/evidence.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "engine/background.h"
#include "engine/engine.h"
#include "net/loop.h"
#include "net/socket.h"
#include "rpc/rpc_client.h"
#include "select/tuner.h"
#include "session/activity_details.h"
#include "session/advertise.h"
#include "session/comm.h"
#include "session/config.h"
#include "session/data_path.h"
#include "session/fork.h"
#include "session/grow.h"
#include "session/launcher.h"
#include "session/lease_client.h"
#include "session/loop_thread.h"
#include "session/program_stack.h"
#include "session/rendezvous.h"
#include "session/session.h"
#include "session/world.h"
#include "transport/connect/connector.h"

enum {
    /* The least time for connecting to the ring neighbours, however little of
     * the join's deadline is left. It is longer than the connector's own
     * timeout, after which the connector tells the peers whom it could not
     * reach: a rank that gave up and left earlier would be blamed in their
     * place. */
    PEERS_NOTIFY_MS = 1000,
    RING_CONNECT_MIN_MS = CONNECTOR_UNREACHABLE_MS + PEERS_NOTIFY_MS,
    /* for telling the peers, and for telling the coordinator */
    SESSION_LEAVE_TIMEOUT_MS = 1000,
};

struct hoop_session {
    uint64_t credential; /* with which this process joined */
    struct config config;
    struct fork_watch fork_watch;
    bool
        is_fork_child; /* this process is a forked child of the one that joined */
    int listen_fd;
    uint64_t join_deadline_ns;
    uint64_t join_began_ns;
    _Atomic uint64_t join_ns; /* how long the join took; 0: it is not over */
    struct transport_stats stats_at_join; /* set before join_ns: what it took to
                                             measure the links */
    uint64_t forming_until_ns; /* the world must have formed by then */
    struct loop *loop;
    struct rpc_client *client;
    struct roster *roster;
    struct data_path data_path;
    struct lease_client *lease_client;
    struct stack_wait *stack_wait; /* until the last query can be answered */
    uint64_t activity_query;       /* the loop's: that query */
    struct tuner *tuner;
    uint64_t world_id;
    struct world world;
    _Atomic bool has_joined;
    /* the join failed for lack of a local resource (connector.h) */
    _Atomic bool join_lacked_resource;
    /* why this member cannot go on; "": it can */
    char give_up_reason[LIMIT_REPORT_REASON];
    atomic_bool has_given_up;      /* by its own decision (hoop_abort()) */
    atomic_bool has_fallen_short;  /* it gave up for lack of something */
    atomic_bool is_abort_reported; /* the coordinator knows that */
    bool has_loop_thread;
    pthread_t thread; /* runs the loop */
};

static uint64_t
ns_to_us(uint64_t ns)
{
    return ns / 1000;
}

static void
session_note_join_time(struct hoop_session *session)
{
    struct engine_stats stats;

    engine_stats(session->data_path.engine, &stats);
    session->stats_at_join = stats.transport;
    atomic_store(&session->join_ns, clock_now_ns() - session->join_began_ns);
}

/* What this rank has done since it joined. */
static struct rank_totals
session_totals(void *owner)
{
    const struct hoop_session *session = owner;
    const uint64_t join_ns = atomic_load(&session->join_ns);
    const struct transport_stats *before = &session->stats_at_join;
    struct engine_stats stats = {0};

    if (join_ns == 0)
        return (struct rank_totals){0};
    engine_stats(session->data_path.engine, &stats);
    return (struct rank_totals){
        .calls = stats.operations,
        .bytes_sent = stats.transport.bytes_sent - before->bytes_sent,
        .bytes_received =
            stats.transport.bytes_received - before->bytes_received,
        .wait_collective_us = ns_to_us(stats.wait_ns[ENGINE_WAIT_COLLECTIVE]),
        .wait_message_us = ns_to_us(stats.wait_ns[ENGINE_WAIT_MESSAGE]),
        .wait_forming_us =
            ns_to_us(join_ns + stats.wait_ns[ENGINE_WAIT_FORMING]),
        .join_us = ns_to_us(join_ns),
        .failures_timeout = stats.failures[ENGINE_FAILURE_TIMEOUT],
        .failures_lost = stats.failures[ENGINE_FAILURE_LOST],
        .failures_mismatch = stats.failures[ENGINE_FAILURE_MISMATCH],
        .failures_cancelled = stats.failures[ENGINE_FAILURE_CANCELLED],
        .failures_other = stats.failures[ENGINE_FAILURE_OTHER],
    };
}

/* Callbacks: the parts of a session know only each other's interfaces. The
 * owner of those of the engine and of the connector is the data path. */

static void
session_report_lost_rank(void *owner,
                         uint32_t rank,
                         enum evidence evidence,
                         const char *why)
{
    const struct hoop_session *session =
        CONTAINER_OF(owner, struct hoop_session, data_path);

    /* hoop_abort() and session_on_gave_up() report it. */
    if (rank == session->roster->rank && evidence == EVIDENCE_GIVEN_UP)
        return;
    lease_client_report_lost(session->lease_client, rank, evidence, why);
}

/* This rank cannot go on for lack of something: the others are told the cause
 * when it leaves, if they have not been told before. */
static void
session_set_shortage(struct hoop_session *session, const char *why)
{
    snprintf(session->give_up_reason, sizeof(session->give_up_reason), "%s",
             why);
    atomic_store(&session->has_fallen_short, true);
}

static void
session_on_gave_up(void *owner, const char *why)
{
    struct hoop_session *session =
        CONTAINER_OF(owner, struct hoop_session, data_path);

    session_set_shortage(session, why);
    /* While the session is being left, the lease client no longer exists. */
    if (session->lease_client)
        lease_client_report_gave_up(session->lease_client, why);
}

static void
session_report_suspicion(void *owner,
                         uint32_t rank,
                         const struct engine_suspicion *suspicion)
{
    const struct hoop_session *session =
        CONTAINER_OF(owner, struct hoop_session, data_path);

    lease_client_report_suspicion(session->lease_client, rank, suspicion);
}

static void
session_send_peer_views(void *owner, uint64_t question, const uint8_t *views)
{
    const struct hoop_session *session =
        CONTAINER_OF(owner, struct hoop_session, data_path);

    /* While the session is being left, the lease client no longer exists. */
    if (session->lease_client)
        lease_client_send_peer_views(session->lease_client, question, views);
}

static void
session_send_activity(void *owner,
                      uint64_t query,
                      const struct engine_activity *activity)
{
    const struct hoop_session *session =
        CONTAINER_OF(owner, struct hoop_session, data_path);

    if (session->lease_client)
        lease_client_send_activity(session->lease_client, query, activity);
}

/* The program's stack is read first, so that the answer can tell it. */
static void
session_query_activity(void *owner, uint64_t query)
{
    struct hoop_session *session = owner;

    session->activity_query = query;
    stack_wait_start(session->stack_wait);
}

static void
session_on_stack_read(void *owner)
{
    const struct hoop_session *session = owner;

    engine_query_activity(session->data_path.engine, session->activity_query);
}

static void
session_query_peer_views(void *owner, uint64_t question)
{
    const struct hoop_session *session = owner;

    engine_request_peer_views(session->data_path.engine, question);
}

static void
session_on_suspicion_undecided(void *owner, uint32_t rank)
{
    const struct hoop_session *session = owner;

    engine_report_undecided(session->data_path.engine, rank);
}

static enum engine_process_status
session_process_status(void *owner, uint32_t rank, char out_how[LIMIT_NAME])
{
    const struct hoop_session *session =
        CONTAINER_OF(owner, struct hoop_session, data_path);

    return launcher_rank_process_status(session->roster, rank,
                                        session->config.exit_status, out_how);
}

/* While the world forms, a rank that lacks a resource cannot join it, so nobody
 * needs to wait for that rank. Later, the shortage fails a call, and the next
 * call may succeed. */
static void
session_on_resource_shortage(void *owner,
                             const struct connector_shortage *shortage)
{
    struct hoop_session *session =
        CONTAINER_OF(owner, struct hoop_session, data_path);
    char why[LIMIT_REPORT_REASON];

    if (shortage->of == session->roster->rank)
        atomic_store(&session->join_lacked_resource, true);
    if (atomic_load(&session->has_joined) ||
        shortage->of == session->roster->rank) {
        engine_report_shortage(session->data_path.engine, shortage);
        return;
    }
    snprintf(why, sizeof(why), "it cannot accept connections: %.200s",
             shortage->why);
    engine_declare_dead(session->data_path.engine, shortage->of, why);
}

static void
session_on_declared_dead(void *owner,
                         uint32_t rank,
                         enum evidence evidence,
                         const char *why)
{
    const struct hoop_session *session = owner;

    if (evidence == EVIDENCE_GIVEN_UP)
        engine_report_given_up(session->data_path.engine, rank, why);
    else
        engine_declare_dead(session->data_path.engine, rank, why);
}

static void
session_on_fork_child(void *owner)
{
    struct hoop_session *session = owner;

    session->is_fork_child = true;
    if (session->data_path.engine)
        engine_mark_forked_child(session->data_path.engine);
}

/* Raise that the coordinator's name is unknown. The thread's last error says
 * which name. */
static enum hoop_status
session_raise_unknown_coordinator(const struct config *config)
{
    char why[LIMIT_ERROR_TEXT];

    snprintf(why, sizeof(why), "%s", error_text());
    return error_raise(HOOP_E_UNAVAILABLE,
                       "cannot join job '%s' at %s: %.500s; correct "
                       "HOOP_COORDINATOR, or let this host know the name",
                       config_job_name(config), config->coordinator, why);
}

static enum hoop_status
session_create_rpc_client(struct hoop_session *session)
{
    const struct config *config = &session->config;
    const struct tls_files files = config_tls_files(config);

    enum hoop_status status = loop_create(&session->loop);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct rpc_client_options options = {
        .loop = session->loop,
        .address = config->coordinator,
        .job = config->job,
        .token = config->token,
        .tls = config->is_encrypted ? &files : NULL,
    };
    status = rpc_client_create(&options, &session->client);
    if (status == HOOP_E_UNAVAILABLE)
        return session_raise_unknown_coordinator(config);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static struct rendezvous
session_rendezvous_params(struct hoop_session *session)
{
    return (struct rendezvous){
        .loop = session->loop,
        .client = session->client,
        .config = &session->config,
        .credential = &session->credential,
    };
}

/* Join, and wait for the world to form. */
static enum hoop_status
session_rendezvous_run(struct hoop_session *session,
                       struct join_reply *out_reply)
{
    const struct config *config = &session->config;
    const struct rendezvous rendezvous = session_rendezvous_params(session);
    struct advertised_address advertised;

    enum hoop_status status = advertised_address_find(config, &advertised);
    if (status == HOOP_OK)
        status = peer_listener_open(config->ports, &advertised.address,
                                    &session->listen_fd);
    if (status != HOOP_OK)
        return error_pass(status);
    status = rendezvous_join(&rendezvous, &advertised, out_reply);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Create the engine. The roster exists. */
static enum hoop_status
session_create_engine(struct hoop_session *session)
{
    const struct engine_options options = {
        .roster = session->roster,
        .config = &session->config,
        .process_status_of = session_process_status,
        .on_gave_up = session_on_gave_up,
        .on_lost = session_report_lost_rank,
        .on_suspected = session_report_suspicion,
        .on_views = session_send_peer_views,
        .on_activity = session_send_activity,
    };
    const enum hoop_status status =
        data_path_create_engine(&session->data_path, session->loop, &options);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
session_create_connector(struct hoop_session *session)
{
    const struct connector_options options = {
        .loop = session->loop,
        .roster = session->roster,
        .config = &session->config,
        .listen_fd = session->listen_fd,
        .forming_until_ns =
            session->forming_until_ns - PEERS_NOTIFY_MS * CLOCK_NS_PER_MS,
        .on_shortage = session_on_resource_shortage,
    };
    const enum hoop_status status =
        data_path_create_connector(&session->data_path, &options);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static void
session_on_clock(void *owner, const struct recorder_round_trip *trip)
{
    const struct hoop_session *session = owner;

    engine_compare_clocks(session->data_path.engine, trip);
}

static enum hoop_status
session_create_lease_client(struct hoop_session *session,
                            const struct join_reply *reply)
{
    const struct lease_client_options options = {
        .loop = session->loop,
        .client = session->client,
        .roster = session->roster,
        .lease_ms = reply->lease_ms,
        .revision = reply->revision,
        .config = &session->config,
        .on_lost = session_on_declared_dead,
        .on_peer_views_query = session_query_peer_views,
        .on_activity_query = session_query_activity,
        .on_suspicion_undecided = session_on_suspicion_undecided,
        .totals = session_totals,
        .on_clock =
            session->config.recorder.folder[0] ? session_on_clock : NULL,
        .owner = session,
    };
    const enum hoop_status status =
        lease_client_create(&options, &session->lease_client);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static struct world_options
session_world_options(const struct hoop_session *session)
{
    return (struct world_options){
        .loop = session->loop,
        .client = session->client,
        .config = &session->config,
        .roster = session->roster,
        .engine = session->data_path.engine,
        .tuner = session->tuner,
        .id = session->world_id,
    };
}

static enum hoop_status
session_create_components(struct hoop_session *session,
                          const struct join_reply *reply)
{
    const uint64_t least_ns = clock_deadline_ns(RING_CONNECT_MIN_MS);

    session->forming_until_ns = session->join_deadline_ns > least_ns
                                    ? session->join_deadline_ns
                                    : least_ns;
    enum hoop_status status =
        rendezvous_roster_create(&session->config, reply, &session->roster);
    if (status == HOOP_OK) {
        session->roster->credential = session->credential;
        status = session_create_engine(session);
    }
    if (status == HOOP_OK)
        status = session_create_connector(session);
    if (status == HOOP_OK)
        status = stack_wait_create(session->loop, session_on_stack_read,
                                   session, &session->stack_wait);
    if (status == HOOP_OK)
        status = session_create_lease_client(session, reply);
    if (status == HOOP_OK)
        status =
            tuner_create(session->roster, &session->config, &session->tuner);
    if (status != HOOP_OK)
        return error_pass(status);

    session->world_id = reply->world;
    const struct world_options options = session_world_options(session);
    status = world_open(&options, &session->world);
    session->world.domain.session = session;
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
session_connect_world(struct hoop_session *session)
{
    const struct world_options options = session_world_options(session);
    const enum hoop_status status =
        world_connect(&options, &session->world, session->forming_until_ns);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Note why this rank cannot be a member, so that the others are told the cause:
 * the thread's last error without its first part, which only repeats the job
 * and rank. */
static void
session_set_join_failure_reason(struct hoop_session *session)
{
    static const char joined[] = ", but: ";
    const char *why = strstr(error_text(), joined);

    char reason[LIMIT_REPORT_REASON];

    why = why ? why + strlen(joined) : error_text();
    snprintf(reason, sizeof(reason),
             EVIDENCE_GAVE_UP "it could not join: %.220s", why);
    if (!session->has_loop_thread ||
        engine_give_up(session->data_path.engine, reason))
        session_set_shortage(session, reason);
}

/* The coordinator has admitted this process to a world by which the job grows.
 * Only the coordinator knows that world by its own name. */
static void
session_switch_to_grown_world(struct hoop_session *session, const char *job)
{
    struct config *config = &session->config;

    snprintf(config->place.root, sizeof(config->place.root), "%s", config->job);
    snprintf(config->job, sizeof(config->job), "%s", job);
    rpc_client_set_job(session->client, job);
}

static enum hoop_status
session_open(struct hoop_session *session)
{
    CLEANUP(join_reply_deinit) struct join_reply reply = {0};
    char name[LIMIT_NAME];

    enum hoop_status status = session_create_rpc_client(session);
    if (status == HOOP_OK)
        status = session_rendezvous_run(session, &reply);
    if (status != HOOP_OK)
        return error_pass(status);

    if (reply.job[0] && strcmp(reply.job, session->config.job) != 0)
        session_switch_to_grown_world(session, reply.job);
    snprintf(name, sizeof(name), "rank %u", reply.rank);
    log_set_name(name);
    log_debug("session", "joined job '%s': %u ranks, epoch %llu",
              session->config.job, reply.size, (unsigned long long)reply.epoch);
    status = session_create_components(session, &reply);
    if (status == HOOP_OK)
        status = loop_thread_start(session->loop, &session->thread);
    session->has_loop_thread = status == HOOP_OK;
    atomic_store(&session->join_lacked_resource, status != HOOP_OK);
    if (status == HOOP_OK)
        status = session_connect_world(session);
    if (status == HOOP_OK)
        status = connector_end_forming(session->data_path.connector);
    if (status == HOOP_OK)
        session_note_join_time(session);
    atomic_store(&session->has_joined, status == HOOP_OK);
    if (status != HOOP_OK && atomic_load(&session->join_lacked_resource))
        session_set_join_failure_reason(session);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* The coordinator knows that this rank has given up, or learns it from the
 * session that has grown into this one. */
static bool
session_give_up_is_reported(const struct hoop_session *session)
{
    return atomic_load(&session->is_abort_reported) ||
           (atomic_load(&session->has_given_up) &&
            session->config.place.membership != 0);
}

/* The peers are told first, so that they need not learn it from the
 * coordinator. */
static void
session_leave_job(struct hoop_session *session)
{
    const bool has_left = session->has_loop_thread;
    CLEANUP(free) uint8_t *failure = NULL;

    if (session->has_loop_thread) {
        engine_shutdown(session->data_path.engine,
                        clock_deadline_ns(SESSION_LEAVE_TIMEOUT_MS));
        loop_stop(session->loop);
        pthread_join(session->thread, NULL);
        session->has_loop_thread = false;
    }
    lease_client_destroy(STEAL(session->lease_client));
    stack_wait_destroy(STEAL(session->stack_wait));
    if (has_left)
        connector_await_welcomes(session->data_path.connector);
    connector_destroy(STEAL(session->data_path.connector));
    if (has_left)
        engine_await_peers_shutdown(
            session->data_path.engine,
            clock_deadline_ns(SESSION_LEAVE_TIMEOUT_MS));
    background_progress_destroy(STEAL(session->data_path.background));
    if (session->roster && !session_give_up_is_reported(session)) {
        struct rendezvous rendezvous = session_rendezvous_params(session);
        /* Who cannot join a world by which its job grows stays in the
         * others. */
        const bool has_given_up = atomic_load(&session->has_given_up) ||
                                  (atomic_load(&session->has_fallen_short) &&
                                   session->config.place.membership == 0);

        rendezvous.totals = session_totals(session);
        if (has_left &&
            activity_end_pack(session->data_path.engine, &failure,
                              &rendezvous.failure.n_bytes) == HOOP_OK)
            rendezvous.failure.bytes = failure;
        rendezvous_leave(&rendezvous, session->roster,
                         has_given_up ? EVIDENCE_GIVEN_UP : EVIDENCE_TOLD,
                         session->give_up_reason, SESSION_LEAVE_TIMEOUT_MS);
    }
}

/* Also frees a session that is only partly open. */
static void
session_destroy(struct hoop_session *session)
{
    if (!session)
        return;
    session_leave_job(session);
    rpc_client_destroy(session->client);
    world_close(&session->world);
    tuner_destroy(session->tuner);
    data_path_close(&session->data_path);
    roster_destroy(session->roster);
    loop_destroy(session->loop);
    socket_close(session->listen_fd);
    fork_watch_stop(&session->fork_watch);
    config_deinit(&session->config);
    free(session);
}

enum hoop_status
session_create(const struct config *config,
               enum admission *out_admission,
               struct hoop_session **out_session)
{
    struct hoop_session *session = calloc(1, sizeof(*session));
    char text[LIMIT_ERROR_TEXT];

    *out_admission = ADMISSION_AT_FORMING;
    if (!session)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a session");
    session->config = *config;
    session->listen_fd = -1;
    session->join_began_ns = clock_now_ns();
    session->join_deadline_ns = clock_deadline_ns(config->join_timeout_ms);
    session->fork_watch.on_fork_child = session_on_fork_child;
    session->fork_watch.owner = session;
    fork_watch_start(&session->fork_watch);

    const enum hoop_status status = session_open(session);
    *out_admission = session->config.place.root[0] && !config->place.root[0]
                         ? ADMISSION_BY_GROWTH
                         : ADMISSION_AT_FORMING;
    if (status == HOOP_OK) {
        *out_session = session;
        return HOOP_OK;
    }
    /* Keep the error of the join: leaving may set another. */
    snprintf(text, sizeof(text), "%s", error_text());
    session_destroy(session);
    return error_raise(status, "%s", text);
}

const struct config *
session_config(const struct hoop_session *session)
{
    return &session->config;
}

void
hoop_leave(hoop_session_t *session)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    if (!session || session->is_fork_child)
        return;
    grow_leave_grown_sessions(&session->world.domain);
    session_destroy(session);
}

bool
session_abort_calls(struct hoop_session *session, const char *why)
{
    if (engine_give_up(session->data_path.engine, why)) {
        snprintf(session->give_up_reason, sizeof(session->give_up_reason), "%s",
                 why);
        atomic_store(&session->has_given_up, true);
    }
    return atomic_load(&session->has_given_up);
}

void
hoop_abort(hoop_session_t *session, const char *reason)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    char why[LIMIT_REPORT_REASON];

    if (!session || session->is_fork_child)
        return;
    escape_text(reason && reason[0] ? reason : "has given up", why,
                sizeof(why));
    const bool has_given_up = session_abort_calls(session, why);
    grow_abort_grown_sessions(&session->world.domain, why);
    if (!has_given_up || atomic_load(&session->is_abort_reported))
        return;
    if (lease_client_report_give_up(session->lease_client,
                                    session->give_up_reason,
                                    SESSION_LEAVE_TIMEOUT_MS))
        atomic_store(&session->is_abort_reported, true);
}

hoop_comm_t *
hoop_world(hoop_session_t *session)
{
    return session ? &session->world.comm : NULL;
}

static enum hoop_status
rank_list_check_has_self(const struct roster *roster,
                         const struct rank_list *list)
{
    for (uint32_t i = 0; i < list->n_ranks; i++) {
        if (list->ranks[i] == roster->rank)
            return HOOP_OK;
    }
    return error_raise(HOOP_E_INVALID,
                       "this is rank %u, which is not among the %u ranks: only "
                       "members call",
                       roster->rank, list->n_ranks);
}

enum hoop_status
hoop_comm_create(hoop_session_t *session,
                 const uint32_t *ranks,
                 uint32_t n_ranks,
                 hoop_comm_t **out_comm)
{
    const struct rank_list list = {ranks, n_ranks};

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!session || !out_comm)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           session ? "out_comm" : "session");
    if (!ranks || n_ranks == 0)
        return error_raise(HOOP_E_INVALID,
                           "a communicator has at least one rank");

    struct comm_domain *domain = hoop_world(session)->domain;
    enum hoop_status status = rank_list_check(domain->roster, &list);
    if (status == HOOP_OK)
        status = rank_list_check_has_self(domain->roster, &list);
    if (status == HOOP_OK)
        status =
            comm_form(domain, &list,
                      clock_deadline_ns(domain->forming_timeout_ms), out_comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

void
hoop_session_stats(hoop_session_t *session, struct hoop_stats *out_stats)
{
    const struct hoop_comm *world = hoop_world(session);
    struct engine_stats stats = {0};

    if (!out_stats)
        return;
    if (world)
        engine_stats(world->domain->engine, &stats);
    *out_stats = (struct hoop_stats){
        .operations = stats.operations,
        .bytes_sent = stats.transport.bytes_sent,
        .bytes_received = stats.transport.bytes_received,
        .wire_sent = stats.transport.wire_sent,
        .connections = stats.transport.connections,
    };
}
