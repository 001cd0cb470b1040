/*
 * tests/unit/server/core/fixture.h - a cluster that a test drives by hand
 *
 * Every call returns its ticket, by which the actions of the last step can be
 * found.
 */

#ifndef CORE_FIXTURE_H
#define CORE_FIXTURE_H

#include "check.h"
/* after cmocka */
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "core/cluster.h"

static const uint64_t FIXTURE_S = 1000000000;

struct fixture {
    struct cluster *cluster;
    struct cluster_actions actions;
    uint64_t now_ns;
    uint64_t ticket;
};

static inline void
fixture_init(struct fixture *fixture, const struct cluster_options *options)
{
    *fixture = (struct fixture){.now_ns = FIXTURE_S};
    assert_ok(cluster_create(options, &fixture->cluster));
}

static inline void
fixture_deinit(struct fixture *fixture)
{
    cluster_destroy(fixture->cluster);
}

static inline void
fixture_deinit_at(struct fixture *fixture)
{
    fixture_deinit(fixture);
}

/* Fills in what is not given: time, ticket, job "a", and a deadline in 60 s. */
static inline uint64_t
fixture_step(struct fixture *fixture, struct cluster_event event)
{
    event.now_ns = fixture->now_ns;
    if (!event.ticket)
        event.ticket = ++fixture->ticket;
    if (!event.job)
        event.job = "a";
    if (!event.deadline_ns)
        event.deadline_ns = fixture->now_ns + 60 * FIXTURE_S;
    fixture->actions = cluster_step(fixture->cluster, &event);
    return event.ticket;
}

/* Advances the time, with a step whenever one is due. */
static inline void
fixture_tick(struct fixture *fixture)
{
    fixture_step(fixture, (struct cluster_event){.kind = CLUSTER_TICK});
}

/* Works like fixture_tick() at the next deadline, which must be by then. */
static inline void
fixture_next(struct fixture *fixture)
{
    const uint64_t next_ns = cluster_next_deadline_ns(fixture->cluster);

    assert_true(next_ns != UINT64_MAX);
    assert_true(next_ns >= fixture->now_ns);
    fixture->now_ns = next_ns;
    fixture_tick(fixture);
}

/* Returns the reply of the last step to this ticket, or NULL. */
static inline const struct cluster_reply *
fixture_find(const struct fixture *fixture, uint64_t ticket)
{
    for (size_t i = 0; i < fixture->actions.n_items; i++) {
        const struct cluster_action *action = &fixture->actions.items[i];

        if (action->kind == CLUSTER_REPLY && action->reply.ticket == ticket)
            return &action->reply;
    }
    return NULL;
}

static inline const struct cluster_reply *
fixture_reply(const struct fixture *fixture, uint64_t ticket)
{
    const struct cluster_reply *reply = fixture_find(fixture, ticket);

    assert_non_null(reply);
    return reply;
}

/* Checks that the reply has this status and that its text contains part. */
static inline void
fixture_refused(const struct fixture *fixture,
                uint64_t ticket,
                enum hoop_status status,
                const char *part)
{
    const struct cluster_reply *reply = fixture_reply(fixture, ticket);

    if (reply->status != status || !strstr(reply->text, part))
        print_error("status %d, text: %s\n", (int)reply->status, reply->text);
    assert_int_equal(reply->status, status);
    assert_non_null(strstr(reply->text, part));
}

/* Returns the notice of this kind in the last step, or NULL. */
static inline const struct cluster_log_notice *
fixture_notice(const struct fixture *fixture, enum cluster_log_notice_kind kind)
{
    for (size_t i = 0; i < fixture->actions.n_items; i++) {
        const struct cluster_action *action = &fixture->actions.items[i];

        if (action->kind == CLUSTER_LOG_NOTICE && action->notice.kind == kind)
            return &action->notice;
    }
    return NULL;
}

/* Returns a complete join on host "h" whose incarnation and pid are number. */
static inline struct cluster_event
fixture_join_event(uint32_t number, uint32_t rank, uint32_t world_size)
{
    return (struct cluster_event){
        .kind = CLUSTER_JOIN,
        .client = number,
        .join =
            {
                .incarnation = number,
                .protocol_version = CLUSTER_PROTOCOL_VERSION,
                .rank = rank,
                .world_size = world_size,
                .pid = number,
                .host = "h",
                .address = "h:1",
                .seed = number,
            },
    };
}

static inline uint64_t
fixture_join(struct fixture *fixture,
             uint32_t number,
             uint32_t rank,
             uint32_t world_size)
{
    return fixture_step(fixture, fixture_join_event(number, rank, world_size));
}

/* Makes workers 1 to n the ranks 0 to n - 1. Returns the epoch of the world. */
static inline uint64_t
fixture_world(struct fixture *fixture, uint32_t n)
{
    uint64_t ticket = 0;

    for (uint32_t rank = 0; rank < n; rank++)
        ticket = fixture_join(fixture, rank + 1, rank, n);
    assert_int_equal(fixture_reply(fixture, ticket)->kind, CLUSTER_REPLY_WORLD);
    return fixture_reply(fixture, ticket)->world.epoch;
}

static inline uint64_t
fixture_member(struct fixture *fixture,
               enum cluster_event_kind kind,
               uint64_t epoch,
               uint64_t incarnation)
{
    return fixture_step(fixture, (struct cluster_event){
                                     .kind = kind,
                                     .member = {epoch, incarnation},
                                 });
}

static inline uint64_t
fixture_set(struct fixture *fixture, const char *key, const char *value)
{
    return fixture_step(
        fixture,
        (struct cluster_event){
            .kind = CLUSTER_STORE_SET,
            .write = {.key = key, .value = value, .n_bytes = strlen(value)},
        });
}

/* Sends a GET, WAIT or DELETE of one key. */
static inline uint64_t
fixture_key(struct fixture *fixture,
            enum cluster_event_kind kind,
            const char *key)
{
    return fixture_step(fixture, (struct cluster_event){
                                     .kind = kind,
                                     .keys = {.keys = &key, .n_keys = 1},
                                 });
}

#endif
