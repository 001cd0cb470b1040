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

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/escape.h"
#include "base/evidence.h"
#include "base/log.h"
#include "engine/background.h"
#include "engine/engine.h"
#include "net/loop.h"
#include "net/socket.h"
#include "rpc/rpc_client.h"
#include "session/advertise.h"
#include "session/comm.h"
#include "session/config.h"
#include "session/exit_status.h"
#include "session/fork.h"
#include "session/grow.h"
#include "session/lease_client.h"
#include "session/loop_thread.h"
#include "session/rendezvous.h"
#include "session/session.h"
#include "session/world.h"
#include "transport/connector.h"
#include "tune/tuner.h"

enum {
    /* The least time for connecting to the ring neighbours, however little of
     * the join's deadline is left. It is longer than the connector's own
     * timeout, after which the connector tells the peers whom it could not
     * reach: a rank that gave up and left earlier would be blamed in their
     * place. */
    TELLING_MS = 1000,
    CONNECT_MS = CONNECTOR_UNREACHABLE_MS + TELLING_MS,
    /* for telling the peers, and for telling the coordinator */
    LEAVE_MS = 1000,
};

struct hoop_session {
    uint64_t credential; /* with which this process joined */
    struct config config;
    struct fork_watch fork_watch;
    bool is_orphan; /* this process is a forked child of the one that joined */
    int listen_fd;
    uint64_t join_deadline_ns;
    uint64_t forming_until_ns; /* the world must have formed by then */
    struct loop *loop;
    struct rpc_client *client;
    struct roster *roster;
    struct engine *engine;
    struct connector *connector;
    struct background *background;
    struct lease_client *lease_client;
    struct tuner *tuner;
    uint64_t world_id;
    struct world world;
    _Atomic bool has_joined;
    /* the join failed for lack of a local resource (connector.h) */
    _Atomic bool falls_short;
    /* why this member cannot go on; "": it can */
    char resigns_for[LIMIT_REASON];
    atomic_bool has_given_up;   /* by its own decision (hoop_abort()) */
    atomic_bool is_abort_heard; /* the coordinator knows that */
    bool has_thread;
    pthread_t thread; /* runs the loop */
};

/* Callbacks: the parts of a session know only each other's interfaces. */

static void
on_connection_needed(void *owner, uint32_t rank)
{
    const struct hoop_session *session = owner;

    /* The connector is destroyed before the last farewells are sent. */
    if (session->connector)
        connector_dial(session->connector, rank);
}

static void
on_stream_needed(void *owner, uint32_t rank, unsigned stream)
{
    const struct hoop_session *session = owner;

    if (session->connector)
        connector_dial_stream(session->connector, rank, stream);
}

static void
on_stream(void *owner, uint32_t rank, unsigned stream, int fd)
{
    const struct hoop_session *session = owner;

    engine_attach_stream(session->engine, rank, stream, fd);
}

static void
on_encrypted(void *owner,
             uint32_t rank,
             unsigned stream,
             int fd,
             struct tls *tls)
{
    const struct hoop_session *session = owner;

    engine_add_tls_connection(session->engine, rank, stream, fd, tls);
}

static void
on_lost(void *owner, uint32_t rank, enum evidence evidence, const char *why)
{
    const struct hoop_session *session = owner;

    /* hoop_abort() reports it itself. */
    if (rank == session->roster->rank && evidence == EVIDENCE_GIVEN_UP)
        return;
    lease_client_report_lost(session->lease_client, rank, evidence, why);
}

static void
on_suspected(void *owner,
             uint32_t rank,
             const struct engine_suspicion *suspicion)
{
    const struct hoop_session *session = owner;

    lease_client_report_suspicion(session->lease_client, rank, suspicion);
}

static void
on_views(void *owner, uint64_t question, const uint8_t *views)
{
    const struct hoop_session *session = owner;

    /* While the session is being left, the lease client no longer exists. */
    if (session->lease_client)
        lease_client_send_views(session->lease_client, question, views);
}

static void
on_activity(void *owner, uint64_t query, const struct engine_activity *activity)
{
    const struct hoop_session *session = owner;

    if (session->lease_client)
        lease_client_send_activity(session->lease_client, query, activity);
}

static void
on_activity_query(void *owner, uint64_t query)
{
    const struct hoop_session *session = owner;

    engine_query_activity(session->engine, query);
}

static void
on_asked(void *owner, uint64_t question)
{
    const struct hoop_session *session = owner;

    engine_request_peer_views(session->engine, question);
}

static void
on_undecided(void *owner, uint32_t rank)
{
    const struct hoop_session *session = owner;

    engine_report_undecided(session->engine, rank);
}

static enum engine_process_status
process_status_of(void *owner, uint32_t rank, char out_how[LIMIT_NAME])
{
    const struct hoop_session *session = owner;

    return exit_status_find(session->roster, rank, session->config.exit_status,
                            out_how);
}

static void
on_progress_needed(void *owner)
{
    const struct hoop_session *session = owner;

    background_progress_wake(session->background);
}

static void
on_connected(void *owner, uint32_t rank, int fd, struct segment *segment)
{
    const struct hoop_session *session = owner;

    engine_add_shm_connection(session->engine, rank, fd, segment);
}

static void
on_unreachable(void *owner, uint32_t rank, const char *why)
{
    const struct hoop_session *session = owner;

    engine_report_unreachable(session->engine, rank, why);
}

/* While the world forms, a rank that lacks a resource cannot join it, so nobody
 * needs to wait for that rank. Later, the shortage fails a call, and the next
 * call may succeed. */
static void
on_shortage(void *owner, const struct connector_shortage *shortage)
{
    struct hoop_session *session = owner;
    char why[LIMIT_REASON];

    if (shortage->of == session->roster->rank)
        atomic_store(&session->falls_short, true);
    if (atomic_load(&session->has_joined) ||
        shortage->of == session->roster->rank) {
        engine_report_shortage(session->engine, shortage);
        return;
    }
    snprintf(why, sizeof(why), "it cannot accept connections: %.200s",
             shortage->why);
    engine_declare_dead(session->engine, shortage->of, why);
}

static void
on_declared_dead(void *owner,
                 uint32_t rank,
                 enum evidence evidence,
                 const char *why)
{
    const struct hoop_session *session = owner;

    if (evidence == EVIDENCE_GIVEN_UP)
        engine_report_given_up(session->engine, rank, why);
    else
        engine_declare_dead(session->engine, rank, why);
}

static void
on_forked(void *owner)
{
    struct hoop_session *session = owner;

    session->is_orphan = true;
    if (session->engine)
        engine_mark_forked_child(session->engine);
}

/* Raise that the coordinator's name is unknown. The thread's last error says
 * which name. */
static enum hoop_status
name_raise(const struct config *config)
{
    char why[LIMIT_ERROR_TEXT];

    snprintf(why, sizeof(why), "%s", error_text());
    return error_raise(HOOP_E_UNAVAILABLE,
                       "cannot join job '%s' at %s: %.500s; correct "
                       "HOOP_COORDINATOR, or let this host know the name",
                       config_job_name(config), config->coordinator, why);
}

static enum hoop_status
client_open(struct hoop_session *session)
{
    const struct config *config = &session->config;
    const struct tls_files files = config_tls(config);

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
        return name_raise(config);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static struct rendezvous
rendezvous_of(struct hoop_session *session)
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
world_await(struct hoop_session *session, struct join_reply *out_reply)
{
    const struct config *config = &session->config;
    const struct advertise wanted = {
        .advertise = config->advertise,
        .interface = config->interface,
        .coordinator = config->coordinator,
    };
    const struct rendezvous rendezvous = rendezvous_of(session);
    struct advertised advertised;

    enum hoop_status status = advertise_find(&wanted, &advertised);
    if (status == HOOP_OK)
        status = advertise_listen(config->ports, &advertised.address,
                                  &session->listen_fd);
    if (status != HOOP_OK)
        return error_pass(status);
    status = rendezvous_join(&rendezvous, &advertised, out_reply);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Create the engine. The roster exists. */

static enum hoop_status
engine_open(struct hoop_session *session)
{
    const struct engine_options options = {
        .roster = session->roster,
        .faults = session->config.faults,
        .codec = session->config.codec,
        .checking = session->config.checking,
        .settings = session->config.on_failure == COMM_POLICY_RETRY
                        ? CALL_SETTING_RETRIES
                        : 0,
        .is_summing = session->config.is_summing,
        .spinning = session->config.spinning,
        .n_streams = session->config.n_streams,
        .failure_timeout_ms = session->config.failure_timeout_ms,
        .is_failure_timeout_fixed = session->config.is_failure_timeout_fixed,
        .timeout_ms = session->config.op_timeout_ms,
        .late_warning_ms = session->config.late_warning_ms,
        .wait_notice_ms = session->config.wait_notice_ms,
        .process_status_of = process_status_of,
        .on_connection_needed = on_connection_needed,
        .on_stream_needed = on_stream_needed,
        .on_lost = on_lost,
        .on_suspected = on_suspected,
        .on_views = on_views,
        .on_activity = on_activity,
        .on_progress_needed = on_progress_needed,
        .owner = session,
    };

    enum hoop_status status = engine_create(&options, &session->engine);
    if (status == HOOP_OK)
        status = background_progress_create(session->loop, session->engine,
                                            &session->background);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
connector_open(struct hoop_session *session)
{
    const struct config *config = &session->config;
    const struct tls_files files = config_tls(config);
    const struct connector_options options = {
        .loop = session->loop,
        .roster = session->roster,
        .token = config->token,
        .listen_fd = session->listen_fd,
        .forming_until_ns =
            session->forming_until_ns - TELLING_MS * CLOCK_NS_PER_MS,
        .wait_notice_ms = config->wait_notice_ms,
        .shm_negotiation = config->shm_negotiation,
        .tls = config->is_encrypted ? &files : NULL,
        .on_connected = on_connected,
        .on_unreachable = on_unreachable,
        .on_shortage = on_shortage,
        .on_stream = on_stream,
        .on_encrypted = on_encrypted,
        .owner = session,
    };
    const enum hoop_status status =
        connector_create(&options, &session->connector);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
lease_client_open(struct hoop_session *session, const struct join_reply *reply)
{
    const struct lease_client_options options = {
        .loop = session->loop,
        .client = session->client,
        .roster = session->roster,
        .lease_ms = reply->lease_ms,
        .revision = reply->revision,
        .coordinator = session->config.coordinator,
        .wait_notice_ms = session->config.wait_notice_ms,
        .on_lost = on_declared_dead,
        .on_asked = on_asked,
        .on_activity_query = on_activity_query,
        .on_undecided = on_undecided,
        .owner = session,
    };
    const enum hoop_status status =
        lease_client_create(&options, &session->lease_client);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static struct world_options
world_options_of(const struct hoop_session *session)
{
    return (struct world_options){
        .loop = session->loop,
        .client = session->client,
        .config = &session->config,
        .roster = session->roster,
        .engine = session->engine,
        .tuner = session->tuner,
        .id = session->world_id,
    };
}

static enum hoop_status
tuner_open(struct hoop_session *session)
{
    const struct tuner_options options = {
        .roster = session->roster,
        .algorithms = session->config.algorithms,
        .link = session->config.link,
        .loss = session->config.loss,
        .is_coded = session->config.codec != CODEC_NONE,
        .samples = session->roster->rank == 0 ? session->config.tuning : "",
        .requires_cma = session->config.attaching == CMA_ALWAYS,
        .transport =
            session->config.shm_negotiation == SHM_MODE_NEVER ? "tcp" : "shm",
    };
    const enum hoop_status status = tuner_create(&options, &session->tuner);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
parts_open(struct hoop_session *session, const struct join_reply *reply)
{
    const uint64_t least_ns = clock_deadline_ns(CONNECT_MS);

    session->forming_until_ns = session->join_deadline_ns > least_ns
                                    ? session->join_deadline_ns
                                    : least_ns;
    enum hoop_status status =
        rendezvous_roster(&session->config, reply, &session->roster);
    if (status == HOOP_OK) {
        session->roster->credential = session->credential;
        status = engine_open(session);
    }
    if (status == HOOP_OK)
        status = connector_open(session);
    if (status == HOOP_OK)
        status = lease_client_open(session, reply);
    if (status == HOOP_OK)
        status = tuner_open(session);
    if (status != HOOP_OK)
        return error_pass(status);

    session->world_id = reply->world;
    const struct world_options options = world_options_of(session);
    status = world_open(&options, &session->world);
    session->world.domain.session = session;
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
world_join(struct hoop_session *session)
{
    const struct world_options options = world_options_of(session);
    const enum hoop_status status =
        world_connect(&options, &session->world, session->forming_until_ns);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Note why this rank cannot be a member, so that the others are told the cause:
 * the thread's last error without its first part, which only repeats the job
 * and rank. */
static void
resign(struct hoop_session *session)
{
    static const char joined[] = ", but: ";
    const char *why = strstr(error_text(), joined);

    why = why ? why + strlen(joined) : error_text();
    snprintf(session->resigns_for, sizeof(session->resigns_for), "%.250s", why);
    if (session->has_thread)
        engine_mark_self_lost(session->engine, session->resigns_for);
}

/* The coordinator has admitted this process to a world by which the job grows.
 * Only the coordinator knows that world by its own name. */
static void
grow_adopt(struct hoop_session *session, const char *job)
{
    struct config *config = &session->config;

    snprintf(config->root, sizeof(config->root), "%s", config->job);
    snprintf(config->job, sizeof(config->job), "%s", job);
    rpc_client_set_job(session->client, job);
}

static enum hoop_status
session_open(struct hoop_session *session)
{
    CLEANUP(join_reply_deinit) struct join_reply reply = {0};
    char name[LIMIT_NAME];

    enum hoop_status status = client_open(session);
    if (status == HOOP_OK)
        status = world_await(session, &reply);
    if (status != HOOP_OK)
        return error_pass(status);

    if (reply.job[0] && strcmp(reply.job, session->config.job) != 0)
        grow_adopt(session, reply.job);
    snprintf(name, sizeof(name), "rank %u", reply.rank);
    log_name(name);
    log_debug("session", "joined job '%s': %u ranks, epoch %llu",
              session->config.job, reply.size, (unsigned long long)reply.epoch);
    status = parts_open(session, &reply);
    if (status == HOOP_OK)
        status = loop_thread_start(session->loop, &session->thread);
    session->has_thread = status == HOOP_OK;
    atomic_store(&session->falls_short, status != HOOP_OK);
    if (status == HOOP_OK)
        status = world_join(session);
    if (status == HOOP_OK)
        status = connector_end_forming(session->connector);
    atomic_store(&session->has_joined, status == HOOP_OK);
    if (status != HOOP_OK && atomic_load(&session->falls_short))
        resign(session);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* The coordinator knows that this rank has given up, or learns it from the
 * session that has grown into this one. */
static bool
is_known_to_give_up(const struct hoop_session *session)
{
    return atomic_load(&session->is_abort_heard) ||
           (atomic_load(&session->has_given_up) &&
            session->config.membership != 0);
}

/* The peers are told first, so that they need not learn it from the
 * coordinator. */
static void
leave_send(struct hoop_session *session)
{
    const bool has_left = session->has_thread;

    if (session->has_thread) {
        engine_shutdown(session->engine, clock_deadline_ns(LEAVE_MS));
        loop_stop(session->loop);
        pthread_join(session->thread, NULL);
        session->has_thread = false;
    }
    lease_client_destroy(STEAL(session->lease_client));
    if (has_left)
        connector_await_welcomes(session->connector);
    connector_destroy(STEAL(session->connector));
    if (has_left)
        engine_await_peers_shutdown(session->engine,
                                    clock_deadline_ns(LEAVE_MS));
    background_progress_destroy(STEAL(session->background));
    if (session->roster && !is_known_to_give_up(session)) {
        const struct rendezvous rendezvous = rendezvous_of(session);
        const bool has_given_up = atomic_load(&session->has_given_up);

        rendezvous_leave(&rendezvous, session->roster,
                         has_given_up ? EVIDENCE_GIVEN_UP : EVIDENCE_TOLD,
                         session->resigns_for, LEAVE_MS);
    }
}

/* Also frees a session that is only partly open. */
static void
session_destroy(struct hoop_session *session)
{
    if (!session)
        return;
    leave_send(session);
    rpc_client_destroy(session->client);
    world_close(&session->world);
    tuner_destroy(session->tuner);
    engine_destroy(session->engine);
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

    *out_admission = ADMISSION_AT_FIRST;
    if (!session)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a session");
    session->config = *config;
    session->listen_fd = -1;
    session->join_deadline_ns = clock_deadline_ns(config->join_timeout_ms);
    session->fork_watch.on_child = on_forked;
    session->fork_watch.owner = session;
    fork_watch_start(&session->fork_watch);

    const enum hoop_status status = session_open(session);
    *out_admission = session->config.root[0] && !config->root[0]
                         ? ADMISSION_BY_GROWTH
                         : ADMISSION_AT_FIRST;
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
    if (!session || session->is_orphan)
        return;
    grow_end(&session->world.domain);
    session_destroy(session);
}

bool
session_give_up(struct hoop_session *session, const char *why)
{
    if (engine_give_up(session->engine, why)) {
        snprintf(session->resigns_for, sizeof(session->resigns_for), "%s", why);
        atomic_store(&session->has_given_up, true);
    }
    return atomic_load(&session->has_given_up);
}

void
hoop_abort(hoop_session_t *session, const char *reason)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    char why[LIMIT_REASON];

    if (!session || session->is_orphan)
        return;
    escape_text(reason && reason[0] ? reason : "has given up", why,
                sizeof(why));
    const bool has_given_up = session_give_up(session, why);
    grow_abort(&session->world.domain, why);
    if (!has_given_up || atomic_load(&session->is_abort_heard))
        return;
    if (lease_client_give_up(session->lease_client, session->resigns_for,
                             LEAVE_MS))
        atomic_store(&session->is_abort_heard, true);
}

hoop_comm_t *
hoop_world(hoop_session_t *session)
{
    return session ? &session->world.comm : NULL;
}
