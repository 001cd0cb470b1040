/*
 * session/growth.c - members and newcomers meet in a world that their job grows by
 */

#include "session/growth.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hoop/elastic.h"

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/spelling.h"
#include "base/status.h"
#include "engine/mishap.h"
#include "session/lifetime.h"
#include "session/recovery.h"

enum {
    NAME_ROOT_MAX = 70, /* of the root's name, in that of a world it grows by */
    /* Not before the first deadline of those who wait; all must say the same,
     * who may have other deadlines. */
    SETTLE_MS = 7 * 24 * 3600 * 1000,
    NEXT_TRY_MS = 50,
};

/* Newcomers. */

static bool
is_worth_another_try(enum hoop_status status)
{
    return status == HOOP_E_UNAVAILABLE || status == HOOP_E_TIMEOUT ||
           status_is_loss(status);
}

/* Who was taken in by members that died before all were connected waits for the
 * next of its job. */
static enum hoop_status
growth_join(const struct terms *terms, hoop_session_t **out_session)
{
    const uint64_t deadline_ns = clock_deadline_ns(terms->join_timeout_ms);
    struct terms now = *terms;
    enum admission admission;
    enum hoop_status status = session_create(&now, &admission, out_session);
    int left_ms = clock_left_ms(deadline_ns);

    while (status != HOOP_OK && admission == ADMISSION_BY_GROWTH &&
           is_worth_another_try(status) && left_ms > NEXT_TRY_MS) {
        nanosleep(&(struct timespec){.tv_nsec = NEXT_TRY_MS * 1000000L}, NULL);
        now.join_timeout_ms = (uint32_t)(left_ms - NEXT_TRY_MS);
        status = session_create(&now, &admission, out_session);
        left_ms = clock_left_ms(deadline_ns);
    }
    terms_deinit(&now);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* One warning is enough for a job, and so is one for a try to join it. */
static bool
speaks_for_job(const struct terms *terms, hoop_session_t *session)
{
    if (session)
        return hoop_comm_rank(hoop_world(session)) == 0;
    return terms->rank == 0 || terms->rank == RENDEZVOUS_RANK_ANY;
}

enum hoop_status
hoop_join(const struct hoop_join_options *options, hoop_session_t **out_session)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    struct terms terms;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_session)
        return error_raise(HOOP_E_INVALID, "out_session is NULL");
    enum hoop_status status = terms_resolve(options, &terms);
    if (status != HOOP_OK) {
        spelling_warn();
        return error_pass(status);
    }
    terms_log(&terms);
    status = growth_join(&terms, out_session);
    if (speaks_for_job(&terms, status == HOOP_OK ? *out_session : NULL))
        spelling_warn();
    terms_deinit(&terms);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Members. */

/* No two growths have the same: an epoch, an id and a turn come once. */
static void
grown_name(const struct hoop_comm *comm, char name[LIMIT_NAME])
{
    const struct terms *terms = session_terms(comm->family->session);

    snprintf(name, LIMIT_NAME, "%.*s+%" PRIx64 ".%" PRIx64 ".%" PRIx64,
             NAME_ROOT_MAX, terms_job_name(terms), comm->family->roster->epoch,
             channel_id(comm->channel), comm->accord.turns[GROUP_GROW]);
}

static struct terms
grown_terms(const struct hoop_comm *comm,
            uint32_t n_newcomers,
            uint32_t timeout_ms)
{
    const struct terms *terms = session_terms(comm->family->session);
    const uint32_t size = channel_size(comm->channel);
    struct terms grown = *terms;

    snprintf(grown.root, sizeof(grown.root), "%s", terms_job_name(terms));
    grown_name(comm, grown.job);
    grown.membership = comm->family->roster->credential;
    grown.rank = channel_rank(comm->channel);
    grown.prefers_rank = false;
    grown.world_size = size + n_newcomers;
    grown.size_min = size + 1;
    grown.settle_ms = SETTLE_MS;
    grown.join_timeout_ms = timeout_ms;
    /* The other session has the only one. */
    if (grown.ports.first == grown.ports.last)
        grown.ports = (struct port_range){0};
    return grown;
}

static enum hoop_status
grown_join(struct hoop_comm *comm,
           uint32_t n_newcomers,
           uint32_t timeout_ms,
           struct hoop_session **out_session)
{
    struct terms grown = grown_terms(comm, n_newcomers, timeout_ms);
    enum admission admission;
    const enum hoop_status status =
        session_create(&grown, &admission, out_session);

    terms_deinit(&grown);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* All members begin together, with the fewest newcomers that one asks for. */
static enum hoop_status
growth_agree(struct hoop_comm *comm,
             uint32_t *n_newcomers,
             uint64_t deadline_ns)
{
    uint64_t least = *n_newcomers;
    const enum hoop_status status =
        comm_gather(comm, GROUP_GROW, deadline_ns, &least);

    if (status != HOOP_OK)
        return error_pass(status);
    *n_newcomers = (uint32_t)least;
    return HOOP_OK;
}

/* In the list of the session that the user has, who may leave that. */
static void
growth_attach(struct comm_family *family, struct comm_family *grown)
{
    struct comm_family *root = family->grown_from ? family->grown_from : family;

    grown->grown_from = root;
    pthread_mutex_lock(&root->lock);
    LIST_INSERT_HEAD(&root->grown, grown, grown_link);
    pthread_mutex_unlock(&root->lock);
}

void
growth_end(struct comm_family *family)
{
    struct comm_family *grown;

    while ((grown = LIST_FIRST(&family->grown)))
        hoop_leave(grown->session);
    if (!family->grown_from)
        return;
    pthread_mutex_lock(&family->grown_from->lock);
    LIST_REMOVE(family, grown_link);
    pthread_mutex_unlock(&family->grown_from->lock);
    family->grown_from = NULL;
}

static enum hoop_status
comm_grow(struct hoop_comm *comm,
          uint32_t n_newcomers,
          uint32_t timeout_ms,
          struct hoop_comm **out_comm)
{
    struct hoop_session *grown = NULL;
    enum hoop_status status = growth_agree(
        comm, &n_newcomers, clock_deadline_ns(channel_timeout(comm->channel)));

    if (status == HOOP_OK)
        status = grown_join(comm, n_newcomers, timeout_ms, &grown);
    if (status != HOOP_OK)
        return error_pass(status);
    struct hoop_comm *world = hoop_world(grown);

    growth_attach(comm->family, world->family);
    mishap_strike(comm->family->engine, comm->accord.faults, FAULT_AT_END, 1);
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
        comm->channel ? comm_grow(comm, n_newcomers, timeout_ms, out_comm)
                      : comm_form_without_us(comm->family, out_comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

hoop_session_t *
hoop_comm_session(const hoop_comm_t *comm)
{
    return comm && comm->family ? comm->family->session : NULL;
}

void
growth_abort(struct comm_family *family, const char *why)
{
    struct comm_family *grown;

    pthread_mutex_lock(&family->lock);
    LIST_FOREACH(grown, &family->grown, grown_link)
    {
        session_give_up(grown->session, why);
    }
    pthread_mutex_unlock(&family->lock);
}
