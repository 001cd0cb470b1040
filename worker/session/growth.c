/*
 * session/growth.c - members and newcomers meet in a job that succeeds theirs
 *
 * No test of its own: tests/integration/grow_test.c replaces ranks.
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
#include "base/log.h"
#include "base/spelling.h"
#include "engine/mishap.h"
#include "rpc/messages/store_messages.h"
#include "rpc/method.h"
#include "session/control.h"
#include "session/lifetime.h"
#include "session/recovery.h"
#include "wire/pack.h"

enum {
    NAME_ROOT_MAX = 70, /* of the root's name, in that of a successor */
    /* Not before the first deadline of those who wait; all must say the same,
     * who may have other deadlines. */
    SETTLE_MS = 7 * 24 * 3600 * 1000,
    NEXT_TRY_MS = 50,
    ANSWER_MS = 5000, /* of the coordinator */
    /* Behind the last draw: then a place that was drawn by one who died is drawn
     * again; by others as well, who learn that it is taken. Who draws is in the
     * job long before. */
    PLACES_MS = 5000,
    COUNTER_TEXT = 24,
    /* A newcomer waits so much longer than members: with it, none of them
     * comes too late. */
    LONGER_MS = 1000,
};

/* In the root's store: the job that newcomers are to join. */
static const char *const GROWTH_KEY = "hoop/grow";

/* Newcomers. */

static hoop_control_t *
control_of(const struct terms *terms, const char *job)
{
    hoop_control_t *control = NULL;
    const struct hoop_control_options options = {
        .coordinator = terms->coordinator,
        .job = job,
        .token = terms->token[0] ? terms->token : NULL,
        .timeout_ms = ANSWER_MS,
    };

    if (hoop_control_create(&options, &control) != HOOP_OK)
        log_debug("session", "no look for a successor: %s", error_text());
    return control;
}

/* "JOB MEMBERS NEWCOMERS SETTLE_MS TIMEOUT_MS", as announcement_write() wrote
 * it. */
static bool
announcement_read(const struct hoop_control_value *value,
                  struct successor *successor,
                  uint32_t *n_newcomers)
{
    char text[LIMIT_NAME + 64];
    uint32_t n_members;

    if (value->n_bytes >= sizeof(text))
        return false;
    memcpy(text, value->bytes, value->n_bytes);
    text[value->n_bytes] = '\0';
    if (sscanf(text, "%127s %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32,
               successor->job, &n_members, n_newcomers, &successor->settle_ms,
               &successor->timeout_ms) != 5 ||
        n_members == 0 || n_members > LIMIT_RANKS || *n_newcomers == 0 ||
        *n_newcomers > LIMIT_RANKS)
        return false;
    successor->rank = n_members;
    successor->size_min = n_members + 1;
    successor->world_size = n_members + *n_newcomers;
    return true;
}

static void
announcement_write(const struct terms *terms, char text[LIMIT_NAME + 64])
{
    const uint32_t n_members = terms->size_min - 1;

    snprintf(text, LIMIT_NAME + 64, "%s %u %u %u %u", terms->job, n_members,
             terms->world_size - n_members, terms->settle_ms,
             terms->join_timeout_ms);
}

/* How many places have been drawn, 0 where nobody knows. */
static uint64_t
places_count(hoop_control_t *control, const char *key)
{
    struct hoop_control_value value;
    char text[COUNTER_TEXT] = "";

    if (hoop_control_get(control, key, &value) != HOOP_OK ||
        value.n_bytes >= sizeof(text))
        return 0;
    memcpy(text, value.bytes, value.n_bytes);
    return strtoull(text, NULL, 10);
}

/* What each of the coordinator's answers may take. */
static uint32_t
answer_ms(uint64_t deadline_ns)
{
    const int left_ms = clock_left_ms(deadline_ns);

    if (left_ms <= 0)
        return 1;
    return left_ms < ANSWER_MS ? (uint32_t)left_ms : ANSWER_MS;
}

/* Each who asks has the next number, from 1; 0: there is none any more, or nobody
 * answers. Who adds prolongs the counter's life: who waits for a place must not,
 * or those of the dead would never be free. */
static uint64_t
place_draw(hoop_control_t *control,
           const struct successor *successor,
           uint32_t n_newcomers,
           uint64_t deadline_ns)
{
    CLEANUP(pack_deinit) struct pack pack = {0};
    CLEANUP(store_reply_deinit) struct store_reply reply = {0};
    struct store_add_request request = {.delta = 1, .ttl_ms = PLACES_MS};

    snprintf(request.key, sizeof(request.key), "%s/%s", GROWTH_KEY,
             successor->job);
    control->timeout_ms = answer_ms(deadline_ns);
    if (places_count(control, request.key) >= n_newcomers)
        return 0;
    control->timeout_ms = answer_ms(deadline_ns);
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    store_add_request_encode(&request, &pack);
    if (control_call(control, METHOD_STORE_ADD, &pack) != HOOP_OK ||
        store_reply_decode(control_body(control), &reply) != HOOP_OK ||
        reply.counter < 0 || (uint64_t)reply.counter > n_newcomers)
        return 0;
    return (uint64_t)reply.counter;
}

void
growth_look(const struct terms *terms,
            uint64_t deadline_ns,
            hoop_control_t **control,
            struct successor *out_successor)
{
    struct hoop_control_value value;
    struct successor successor = {0};
    uint32_t n_newcomers;

    *out_successor = (struct successor){0};
    if (!*control)
        *control = control_of(terms, terms->job);
    if (*control)
        (*control)->timeout_ms = answer_ms(deadline_ns);
    if (!*control ||
        hoop_control_get(*control, GROWTH_KEY, &value) != HOOP_OK ||
        !announcement_read(&value, &successor, &n_newcomers))
        return;
    const uint64_t place =
        place_draw(*control, &successor, n_newcomers, deadline_ns);

    if (place == 0)
        return;
    successor.rank += (uint32_t)place - 1;
    *out_successor = successor;
}

static bool
is_worth_another_try(enum hoop_status status)
{
    return status == HOOP_E_UNAVAILABLE || status == HOOP_E_PRECONDITION ||
           status == HOOP_E_TIMEOUT || status == HOOP_E_PEER_LOST ||
           status == HOOP_E_EXISTS;
}

/* Where members have given up in the meantime, nobody else will come. */
static uint32_t
patience_ms(const struct successor *successor, int left_ms)
{
    const uint64_t most_ms = (uint64_t)successor->timeout_ms + LONGER_MS;

    if (left_ms <= 0)
        return 1;
    return (uint64_t)left_ms < most_ms ? (uint32_t)left_ms : (uint32_t)most_ms;
}

/* It may fail, or be given up: then the next. */
static enum hoop_status
newcomer_try(const struct terms *terms,
             uint64_t deadline_ns,
             struct successor *successor,
             hoop_session_t **out_session)
{
    int left_ms = clock_left_ms(deadline_ns);
    struct successor none;
    struct terms now = *terms;

    log_debug("session", "job '%s' has a successor: '%s'", terms->job,
              successor->job);
    snprintf(now.root, sizeof(now.root), "%s", terms->job);
    snprintf(now.job, sizeof(now.job), "%s", successor->job);
    now.rank = successor->rank;
    now.rank_min = successor->size_min - 1; /* where others have died */
    now.world_size = successor->world_size;
    now.size_min = successor->size_min;
    now.settle_ms = successor->settle_ms;
    now.join_timeout_ms = patience_ms(successor, left_ms);
    enum hoop_status status = session_create(&now, &none, out_session);
    left_ms = clock_left_ms(deadline_ns);
    if (is_worth_another_try(status) && left_ms > NEXT_TRY_MS) {
        nanosleep(&(struct timespec){.tv_nsec = NEXT_TRY_MS * 1000000L}, NULL);
        now = *terms;
        now.join_timeout_ms = (uint32_t)(left_ms - NEXT_TRY_MS);
        status = session_create(&now, successor, out_session);
    } else {
        successor->job[0] = '\0';
    }
    terms_deinit(&now);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
growth_join(const struct terms *terms, hoop_session_t **out_session)
{
    const uint64_t deadline_ns = clock_deadline_ns(terms->join_timeout_ms);
    struct successor successor = {0};
    enum hoop_status status = session_create(terms, &successor, out_session);

    while (status != HOOP_OK && successor.job[0])
        status = newcomer_try(terms, deadline_ns, &successor, out_session);
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

static const char *
root_of(const struct terms *terms)
{
    return terms->root[0] ? terms->root : terms->job;
}

/* No two growths have the same: an epoch, an id and a turn come once. */
static void
successor_name(const struct hoop_comm *comm, char name[LIMIT_NAME])
{
    const struct terms *terms = session_terms(comm->family->session);

    snprintf(name, LIMIT_NAME, "%.*s+%" PRIx64 ".%" PRIx64 ".%" PRIx64,
             NAME_ROOT_MAX, root_of(terms), comm->family->roster->epoch,
             channel_id(comm->channel), comm->accord.turns[GROUP_GROW]);
}

/* By rank 0: from now on newcomers come there, or (NULL) no longer. */
static enum hoop_status
successor_announce(const struct terms *terms, const char *text)
{
    hoop_control_t *control = control_of(terms, root_of(terms));
    const struct hoop_control_value value = {
        .bytes = text,
        .n_bytes = text ? strlen(text) : 0,
    };

    if (!control)
        return error_pass(HOOP_E_UNAVAILABLE);
    const enum hoop_status status =
        text ? hoop_control_set(control, GROWTH_KEY, &value)
             : hoop_control_delete(control, GROWTH_KEY);

    hoop_control_destroy(control);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static struct terms
successor_terms(const struct hoop_comm *comm,
                uint32_t n_newcomers,
                uint32_t timeout_ms)
{
    const struct terms *terms = session_terms(comm->family->session);
    const uint32_t size = channel_size(comm->channel);
    struct terms grown = *terms;

    snprintf(grown.root, sizeof(grown.root), "%s", root_of(terms));
    successor_name(comm, grown.job);
    grown.rank = channel_rank(comm->channel);
    grown.rank_min = 0;
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
successor_join(struct hoop_comm *comm,
               uint32_t n_newcomers,
               uint32_t timeout_ms,
               struct hoop_session **out_session)
{
    const bool is_first = channel_rank(comm->channel) == 0;
    struct terms grown = successor_terms(comm, n_newcomers, timeout_ms);
    enum hoop_status status = HOOP_OK;
    struct successor none;
    char announcement[LIMIT_NAME + 64];
    char text[LIMIT_ERROR_TEXT];

    announcement_write(&grown, announcement);
    if (is_first)
        status = successor_announce(&grown, announcement);
    if (status == HOOP_OK)
        status = session_create(&grown, &none, out_session);
    snprintf(text, sizeof(text), "%s", error_text());
    if (is_first && successor_announce(&grown, NULL) != HOOP_OK)
        log_debug("session", "newcomers still look: %s", error_text());
    terms_deinit(&grown);
    return status == HOOP_OK ? HOOP_OK : error_raise(status, "%s", text);
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
        status = successor_join(comm, n_newcomers, timeout_ms, &grown);
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
