/* session/grow.c - growing a job: members and newcomers form a new world */

#include "session/grow.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hoop/elastic.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/spelling.h"
#include "engine/engine.h"
#include "session/recovery.h"
#include "session/session.h"

enum {
    /* bytes of the root's name that are used in a new world's name */
    GROWN_NAME_ROOT_BYTES_MAX = 70,
    /* Longer than any join deadline, so that the world settles at the first
     * deadline of its members. All members must give the same value, though
     * their deadlines may differ. */
    GROWN_WORLD_SETTLE_MS = 7 * 24 * 3600 * 1000,
    GROW_RETRY_PAUSE_MS = 50,
};

/* The calls of newcomers. */

static bool
join_failure_is_retryable(enum hoop_status status)
{
    return status == HOOP_E_UNAVAILABLE || status == HOOP_E_TIMEOUT ||
           status_is_loss(status);
}

/* A newcomer whose admitting members died before all were connected waits for
 * the next world by which its job grows. */
static enum hoop_status
session_join_with_retries(const struct config *config,
                          hoop_session_t **out_session)
{
    const uint64_t deadline_ns = clock_deadline_ns(config->join_timeout_ms);
    struct config now = *config;
    enum admission admission;
    enum hoop_status status = session_create(&now, &admission, out_session);
    int left_ms = clock_left_ms(deadline_ns);

    while (status != HOOP_OK && admission == ADMISSION_BY_GROWTH &&
           join_failure_is_retryable(status) && left_ms > GROW_RETRY_PAUSE_MS) {
        nanosleep(&(struct timespec){.tv_nsec = GROW_RETRY_PAUSE_MS * 1000000L},
                  NULL);
        now.join_timeout_ms = (uint32_t)(left_ms - GROW_RETRY_PAUSE_MS);
        status = session_create(&now, &admission, out_session);
        left_ms = clock_left_ms(deadline_ns);
    }
    config_deinit(&now);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* One warning is enough for a job, and one for an attempt to join it. */
static bool
join_is_warning_rank(const struct config *config, hoop_session_t *session)
{
    if (session)
        return hoop_comm_rank(hoop_world(session)) == 0;
    return config->rank == 0 || config->rank == RENDEZVOUS_RANK_ANY;
}

enum hoop_status
hoop_join(const struct hoop_join_options *options, hoop_session_t **out_session)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    struct config config;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_session)
        return error_raise(HOOP_E_INVALID, "out_session is NULL");
    enum hoop_status status = config_resolve(options, &config);
    if (status != HOOP_OK) {
        spelling_warn();
        return error_pass(status);
    }
    config_apply_log(&config);
    status = session_join_with_retries(&config, out_session);
    if (join_is_warning_rank(&config, status == HOOP_OK ? *out_session : NULL))
        spelling_warn();
    config_deinit(&config);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* The calls of members. */

/* A name that no other growth has: the combination of epoch, communicator id
 * and turn is unique. */
static void
grown_world_name(const struct hoop_comm *comm, char name[LIMIT_NAME])
{
    const struct config *config = session_config(comm->domain->session);

    snprintf(name, LIMIT_NAME, "%.*s+%" PRIx64 ".%" PRIx64 ".%" PRIx64,
             GROWN_NAME_ROOT_BYTES_MAX, config_job_name(config),
             comm->domain->roster->epoch, context_id(comm->context),
             comm->agreement.turns[GROUP_GROW]);
}

static struct config
grown_world_config(const struct hoop_comm *comm,
                   uint32_t n_newcomers,
                   uint32_t timeout_ms)
{
    const struct config *config = session_config(comm->domain->session);
    const uint32_t size = context_size(comm->context);
    struct config grown = *config;

    snprintf(grown.place.root, sizeof(grown.place.root), "%s",
             config_job_name(config));
    grown_world_name(comm, grown.job);
    grown.place.membership = comm->domain->roster->credential;
    grown.rank = context_rank(comm->context);
    grown.place.prefers_rank = false;
    grown.world_size = size + n_newcomers;
    grown.place.size_min = size + 1;
    grown.place.settle_ms = GROWN_WORLD_SETTLE_MS;
    grown.join_timeout_ms = timeout_ms;
    /* The current session holds the only port. */
    if (grown.ports.first == grown.ports.last)
        grown.ports = (struct port_range){0};
    return grown;
}

static enum hoop_status
grown_world_join(struct hoop_comm *comm,
                 uint32_t n_newcomers,
                 uint32_t timeout_ms,
                 struct hoop_session **out_session)
{
    struct config grown = grown_world_config(comm, n_newcomers, timeout_ms);
    enum admission admission;
    const enum hoop_status status =
        session_create(&grown, &admission, out_session);

    config_deinit(&grown);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Agree on the smallest number of newcomers that a member asks for. All members
 * continue together. */
static enum hoop_status
grow_agree_newcomers(struct hoop_comm *comm,
                     uint32_t *n_newcomers,
                     uint64_t deadline_ns)
{
    uint64_t least = *n_newcomers;
    const enum hoop_status status =
        comm_sync_survivors(comm, GROUP_GROW, deadline_ns, &least);

    if (status != HOOP_OK)
        return error_pass(status);
    *n_newcomers = (uint32_t)least;
    return HOOP_OK;
}

/* Add grown to the list of the session that the user joined. The user may leave
 * only that one. */
static void
grown_domain_link(struct comm_domain *domain, struct comm_domain *grown)
{
    struct comm_domain *root = domain->grown_from ? domain->grown_from : domain;

    grown->grown_from = root;
    pthread_mutex_lock(&root->lock);
    LIST_INSERT_HEAD(&root->grown, grown, grown_link);
    pthread_mutex_unlock(&root->lock);
}

void
grow_leave_grown_sessions(struct comm_domain *domain)
{
    struct comm_domain *grown;

    while ((grown = LIST_FIRST(&domain->grown)))
        hoop_leave(grown->session);
    if (!domain->grown_from)
        return;
    pthread_mutex_lock(&domain->grown_from->lock);
    LIST_REMOVE(domain, grown_link);
    pthread_mutex_unlock(&domain->grown_from->lock);
    domain->grown_from = NULL;
}

static enum hoop_status
comm_grow(struct hoop_comm *comm,
          uint32_t n_newcomers,
          uint32_t timeout_ms,
          struct hoop_comm **out_comm)
{
    struct hoop_session *grown = NULL;
    enum hoop_status status = grow_agree_newcomers(
        comm, &n_newcomers, clock_deadline_ns(context_timeout(comm->context)));

    if (status == HOOP_OK)
        status = grown_world_join(comm, n_newcomers, timeout_ms, &grown);
    if (status != HOOP_OK)
        return error_pass(status);
    struct hoop_comm *world = hoop_world(grown);

    grown_domain_link(comm->domain, world->domain);
    recovery_fault_inject(comm->domain->engine, comm->agreement.faults,
                          FAULT_AT_END, 1);
    *out_comm = world;
    return HOOP_OK;
}

enum hoop_status
hoop_comm_grow(hoop_comm_t *comm,
               uint32_t n_newcomers,
               uint32_t timeout_ms,
               hoop_comm_t **out_comm)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!comm || !out_comm)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           comm ? "out_comm" : "comm");
    if (n_newcomers == 0 || timeout_ms == 0)
        return error_raise(HOOP_E_INVALID,
                           "a communicator grows by one rank at least, in a "
                           "time that is not 0");
    if (n_newcomers > LIMIT_RANKS)
        return error_raise(HOOP_E_INVALID,
                           "a communicator cannot grow by %u ranks: %d are the "
                           "limit",
                           n_newcomers, LIMIT_RANKS);
    const enum hoop_status status =
        comm->context ? comm_grow(comm, n_newcomers, timeout_ms, out_comm)
                      : comm_create_without_context(comm->domain, out_comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

hoop_session_t *
hoop_comm_session(const hoop_comm_t *comm)
{
    return comm && comm->domain ? comm->domain->session : NULL;
}

void
grow_abort_grown_sessions(struct comm_domain *domain, const char *why)
{
    struct comm_domain *grown;

    pthread_mutex_lock(&domain->lock);
    LIST_FOREACH(grown, &domain->grown, grown_link)
    {
        session_abort_calls(grown->session, why);
    }
    pthread_mutex_unlock(&domain->lock);
}

/* Freeing a communicator leaves the grown session that it was the last of. */

/* Returns true once: the user has freed the world of a grown session and all
 * communicators made from it. */
static bool
grown_domain_take_unused(struct comm_domain *domain)
{
    pthread_mutex_lock(&domain->lock);
    const bool is_over =
        domain->is_grown_world_freed && TAILQ_EMPTY(&domain->comms);
    domain->is_grown_world_freed &= !is_over;
    pthread_mutex_unlock(&domain->lock);
    return is_over;
}

static void
grown_domain_mark_freed(struct comm_domain *domain)
{
    pthread_mutex_lock(&domain->lock);
    domain->is_grown_world_freed = domain->grown_from != NULL;
    pthread_mutex_unlock(&domain->lock);
}

void
hoop_comm_free(hoop_comm_t *comm)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    if (!comm || engine_check_not_forked(comm->domain->engine) != HOOP_OK)
        return;
    struct comm_domain *domain = comm->domain;

    if (comm->is_world)
        grown_domain_mark_freed(domain);
    else
        comm_leave_and_free(comm);
    if (grown_domain_take_unused(domain))
        hoop_leave(domain->session);
}
