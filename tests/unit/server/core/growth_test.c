/* tests/unit/server/core/growth_test.c - worlds that a job grows by */

#include <stdio.h>
#include <stdlib.h>

#include "base/evidence.h"
#include "base/identity.h"
#include "base/limits.h"
#include "fixture.h"
#include "record_store.h"

static const char *const GROWN = "a+1";

/* A member, by its number there, of the world that job "a" is to grow by. */
static struct cluster_event
member_event(uint32_t number, uint32_t membership, uint32_t n_members)
{
    struct cluster_event event =
        fixture_join_event(number, membership - 1, n_members + 2);

    event.job = GROWN;
    event.join.root = "a";
    event.join.membership = membership;
    event.join.size_min = n_members + 1;
    event.join.settle_ms = 600000;
    return event;
}

static struct cluster_event
newcomer_event(uint32_t number, uint32_t rank)
{
    return fixture_join_event(number, rank, 2);
}

/* Job "a" of two, both of whom wait, as 11 and 12, for up to two newcomers. */
static void
growing_begin(struct fixture *f, uint64_t out_tickets[2])
{
    fixture_world(f, 2);
    out_tickets[0] = fixture_step(f, member_event(11, 1, 2));
    out_tickets[1] = fixture_step(f, member_event(12, 2, 2));
}

static void
newcomers_get_what_they_wish_and_what_is_left(void **state)
{
    uint64_t members[2];
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    growing_begin(&f, members);
    const uint64_t third = fixture_step(&f, newcomer_event(3, 3));
    const uint64_t fourth =
        fixture_step(&f, newcomer_event(4, CLUSTER_RANK_ANY));

    assert_int_equal(fixture_reply(&f, members[0])->world.rank, 0);
    assert_int_equal(fixture_reply(&f, members[1])->world.rank, 1);
    assert_int_equal(fixture_reply(&f, third)->world.rank, 3);
    assert_int_equal(fixture_reply(&f, fourth)->world.rank, 2);
    assert_string_equal(fixture_reply(&f, fourth)->world.job, GROWN);
    assert_non_null(strstr(fixture_notice(&f, CLUSTER_NOTICE_GROWN)->text,
                           "job \"a\" has grown: 4 ranks"));
    /* The same again has the same. */
    const uint64_t again = fixture_step(&f, newcomer_event(3, 3));
    assert_int_equal(fixture_reply(&f, again)->world.rank, 3);
    assert_string_equal(fixture_reply(&f, again)->world.job, GROWN);
}

/* The older world is full when it comes, and has room when it asks again. */
static void
newcomer_that_asks_again_stays_in_its_world(void **state)
{
    struct fixture f;

    fixture_init(&f, &(struct cluster_options){.lease_ms = 100000});
    fixture_world(&f, 2);
    fixture_step(&f, member_event(11, 1, 2));
    fixture_step(&f, newcomer_event(3, CLUSTER_RANK_ANY));
    fixture_step(&f, newcomer_event(4, CLUSTER_RANK_ANY));
    struct cluster_event member = member_event(21, 1, 2);
    member.job = "a+2";
    fixture_step(&f, member);
    fixture_step(&f, newcomer_event(5, CLUSTER_RANK_ANY));
    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_DISCONNECT, .client = 3});
    const uint64_t again =
        fixture_step(&f, newcomer_event(5, CLUSTER_RANK_ANY));
    member = member_event(22, 2, 2);
    member.job = "a+2";
    fixture_step(&f, member);
    fixture_next(&f);
    assert_string_equal(fixture_reply(&f, again)->world.job, "a+2");
    assert_int_equal(fixture_reply(&f, again)->world.size, 3);
    fixture_deinit(&f);
}

static void
ranks_that_others_have_are_refused(void **state)
{
    uint64_t members[2];
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    growing_begin(&f, members);
    fixture_refused(&f, fixture_step(&f, newcomer_event(3, 1)), HOOP_E_EXISTS,
                    "rank 1 is a member's: job \"a\" grows from 2 to 4 ranks, "
                    "and those who come have 2 to 3: give one of these");
    fixture_refused(&f, fixture_step(&f, newcomer_event(3, 4)), HOOP_E_INVALID,
                    "rank 4 is out of range");
    fixture_step(&f, newcomer_event(3, 2));
    fixture_refused(&f, fixture_step(&f, newcomer_event(4, 2)), HOOP_E_EXISTS,
                    "rank 2 is taken by h:3");
    /* A launcher's number is no requested_size. */
    struct cluster_event event = newcomer_event(4, 2);

    event.join.prefers_rank = true;
    const uint64_t ticket = fixture_step(&f, event);

    assert_int_equal(fixture_reply(&f, ticket)->world.rank, 3);
}

static void
those_who_come_are_bounded(void **state)
{
    uint64_t members[2];
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 2);
    members[0] = fixture_step(&f, member_event(11, 1, 2));
    fixture_step(&f, newcomer_event(3, CLUSTER_RANK_ANY));
    fixture_step(&f, newcomer_event(4, CLUSTER_RANK_ANY));
    fixture_refused(&f, fixture_step(&f, newcomer_event(5, CLUSTER_RANK_ANY)),
                    HOOP_E_UNAVAILABLE, "is full: 2 of 2");
    /* All newcomers and one member are not the world. */
    assert_null(fixture_find(&f, members[0]));
    fixture_step(&f, member_event(12, 2, 2));
    assert_int_equal(fixture_reply(&f, members[0])->world.size, 4);
}

static void
members_go_on_with_those_who_are_there_in_time(void **state)
{
    uint64_t members[2];
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.lease_ms = 100000});
    growing_begin(&f, members);
    const uint64_t third =
        fixture_step(&f, newcomer_event(3, CLUSTER_RANK_ANY));

    fixture_next(&f);
    assert_int_equal(fixture_reply(&f, members[0])->world.size, 3);
    assert_int_equal(fixture_reply(&f, third)->world.rank, 2);
}

/* The second member does not come. */
static void
members_that_are_not_all_there_give_up_together(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.lease_ms = 100000});
    fixture_world(&f, 2);
    struct cluster_event event = member_event(11, 1, 2);

    event.deadline_ns = f.now_ns + FIXTURE_S;
    const uint64_t member = fixture_step(&f, event);
    const uint64_t third =
        fixture_step(&f, newcomer_event(3, CLUSTER_RANK_ANY));
    const uint64_t fourth =
        fixture_step(&f, newcomer_event(4, CLUSTER_RANK_ANY));

    fixture_next(&f);
    fixture_refused(&f, member, HOOP_E_TIMEOUT,
                    "job \"a\" has not grown in time: ");
    fixture_refused(&f, third, HOOP_E_UNAVAILABLE, "has not grown");
    fixture_refused(&f, fourth, HOOP_E_UNAVAILABLE, "has not grown");
}

/* The third of four members does not come, but as many newcomers as there are
 * places. */
static void
newcomers_do_not_stand_for_a_member(void **state)
{
    uint64_t tickets[5];
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.lease_ms = 100000});
    fixture_world(&f, 4);
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t rank = i < 2 ? i : 3;
        struct cluster_event event = member_event(11 + i, rank + 1, 4);

        event.deadline_ns = f.now_ns + FIXTURE_S;
        tickets[i] = fixture_step(&f, event);
    }
    for (uint32_t i = 3; i < 5; i++)
        tickets[i] = fixture_step(&f, newcomer_event(i + 2, CLUSTER_RANK_ANY));
    fixture_next(&f);
    for (uint32_t i = 0; i < 3; i++)
        fixture_refused(&f, tickets[i], HOOP_E_TIMEOUT, "missing: rank 2");
    for (uint32_t i = 3; i < 5; i++)
        fixture_refused(&f, tickets[i], HOOP_E_UNAVAILABLE, "missing: rank 2");
    fixture_tick(&f);
}

/* Nor does one that says it is a member, and not of which job. */
static void
newcomer_is_no_member_by_its_own_word(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 2);
    const uint64_t member = fixture_step(&f, member_event(11, 1, 2));

    for (uint32_t i = 3; i < 5; i++) {
        struct cluster_event event = newcomer_event(i, CLUSTER_RANK_ANY);

        event.join.membership = 2;
        fixture_step(&f, event);
    }
    fixture_refused(&f, fixture_step(&f, newcomer_event(5, CLUSTER_RANK_ANY)),
                    HOOP_E_UNAVAILABLE, "is full: 2 of 2");
    assert_null(fixture_find(&f, member));
}

static void
newcomers_are_told_when_all_members_have_gone(void **state)
{
    uint64_t members[2];
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    growing_begin(&f, members);
    const uint64_t third =
        fixture_step(&f, newcomer_event(3, CLUSTER_RANK_ANY));

    for (uint32_t client = 11; client <= 12; client++) {
        assert_null(fixture_find(&f, third));
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_DISCONNECT,
                                                .client = client});
    }
    fixture_refused(&f, third, HOOP_E_UNAVAILABLE, "have gone");
}

static void
only_members_make_a_job_grow(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event event;

    fixture_init(&f, &(struct cluster_options){0});
    event = member_event(11, 1, 2);
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_NOT_FOUND,
                    "there is no job \"a\" to grow");
    const uint64_t epoch = fixture_world(&f, 3);

    event.join.membership = 9;
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_ABORTED,
                    "no member of job \"a\"");
    fixture_member(&f, CLUSTER_LEAVE, epoch, 3);
    event.join.membership = 3;
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_ABORTED,
                    "rank 2 (h:3) has left job \"a\"");
    event.join.membership = 1;
    event.job = "b";
    fixture_step(&f, (struct cluster_event){
                         .kind = CLUSTER_JOIN,
                         .job = "b",
                         .join = fixture_join_event(20, 0, 2).join,
                     });
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_EXISTS,
                    "the name of another job");
    event.job = GROWN;
    assert_null(fixture_find(&f, fixture_step(&f, event)));
    struct cluster_event stranger = fixture_join_event(21, 0, 2);

    stranger.job = GROWN;
    fixture_refused(&f, fixture_step(&f, stranger), HOOP_E_PRECONDITION,
                    "is a world of job \"a\": join that");
}

static void
token_of_the_job_is_needed_to_make_it_grow(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event event;

    fixture_init(&f, &(struct cluster_options){0});
    event = fixture_join_event(1, 0, 1);
    event.token = "t";
    fixture_step(&f, event);
    event = member_event(11, 1, 1);
    event.token = "u";
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_UNAUTHENTICATED,
                    "the token is not that of job \"a\"");
    event.token = "t";
    assert_null(fixture_find(&f, fixture_step(&f, event)));
}

/* The step, and its records. */
static uint64_t
followed_step(struct fixture *f,
              struct record_store *record_store,
              struct cluster_event event)
{
    const uint64_t ticket = fixture_step(f, event);

    record_store_apply(record_store, f);
    return ticket;
}

/* All but the newcomers leave; hoopd may be another by then. */
static void
name_is_kept(struct fixture *f, struct record_store *record_store)
{
    uint64_t member;
    uint64_t epochs[2];

    followed_step(f, record_store, fixture_join_event(1, 0, 2));
    member = followed_step(f, record_store, fixture_join_event(2, 1, 2));
    epochs[0] = fixture_reply(f, member)->world.epoch;
    member = followed_step(f, record_store, member_event(11, 1, 2));
    followed_step(f, record_store, member_event(12, 2, 2));
    followed_step(f, record_store, newcomer_event(3, 2));
    followed_step(f, record_store, newcomer_event(4, 3));
    epochs[1] = fixture_reply(f, member)->world.epoch;
    for (uint32_t i = 1; i <= 2; i++) {
        followed_step(f, record_store,
                      (struct cluster_event){.kind = CLUSTER_LEAVE,
                                             .job = GROWN,
                                             .member = {epochs[1], 10 + i}});
        followed_step(f, record_store,
                      (struct cluster_event){.kind = CLUSTER_LEAVE,
                                             .member = {epochs[0], i}});
        assert_null(fixture_notice(f, CLUSTER_NOTICE_ENDED));
    }
    if (record_store->n_rows > 0)
        record_store_restart(record_store, f);
    fixture_refused(f, fixture_step(f, newcomer_event(5, 0)),
                    HOOP_E_UNAVAILABLE, "is full");
    for (member = 3; member <= 4; member++)
        fixture_step(f, (struct cluster_event){.kind = CLUSTER_LEAVE,
                                               .job = GROWN,
                                               .member = {epochs[1], member}});
    assert_non_null(fixture_notice(f, CLUSTER_NOTICE_ENDED));
    assert_int_equal(cluster_counters(f->cluster)->jobs, 0);
    assert_null(fixture_find(f, fixture_step(f, newcomer_event(5, 0))));
}

static void
name_is_kept_while_a_newcomer_is_there(void **state)
{
    struct record_store record_store = {0};
    struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    name_is_kept(&f, &record_store);
    fixture_deinit(&f);
    record_store_deinit(&record_store);
}

static void
name_is_kept_when_the_coordinator_is_another(void **state)
{
    struct record_store record_store = {0};
    struct fixture f;

    record_store_begin(&f);
    name_is_kept(&f, &record_store);
    fixture_deinit(&f);
    record_store_deinit(&record_store);
}

/* The log has one line of a worker that tries again until it is taken in. */
static void
refusal_of_one_who_tries_again_is_told_once(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 2);
    for (unsigned int i = 0; i < 3; i++) {
        fixture_refused(&f, fixture_step(&f, newcomer_event(3, 0)),
                        HOOP_E_UNAVAILABLE, "is full");
        assert_int_equal(fixture_notice(&f, CLUSTER_NOTICE_REFUSED) != NULL,
                         i == 0);
    }
    fixture_step(&f, newcomer_event(4, 0));
    assert_non_null(fixture_notice(&f, CLUSTER_NOTICE_REFUSED));
    assert_int_equal(cluster_counters(f.cluster)->joins_refused, 4);
}

/* However many they are; and of more than can be known nothing is said. */
static void
refusals_of_many_who_try_again_are_told_once(void **state)
{
    enum {
        MANY = 100,
        KNOWN = 64
    };
    CLEANUP(fixture_deinit) struct fixture f;
    uint32_t n_told = 0;

    fixture_init(&f, &(struct cluster_options){.lease_ms = 1000000});
    fixture_world(&f, 2);
    for (uint32_t i = 0; i < 3 * MANY; i++) {
        fixture_step(&f, newcomer_event(3 + i % MANY, 0));
        const struct cluster_log_notice *told =
            fixture_notice(&f, CLUSTER_NOTICE_REFUSED);

        n_told += told != NULL;
        if (told)
            assert_int_equal(
                strstr(told->text, "; more who try again are not told of") !=
                    NULL,
                n_told == KNOWN);
        f.now_ns += FIXTURE_S / 100;
    }
    assert_int_equal(n_told, KNOWN);
    assert_int_equal(cluster_counters(f.cluster)->joins_refused, 3 * MANY);
    /* They have given up. */
    f.now_ns += 11 * FIXTURE_S;
    fixture_step(&f, newcomer_event(3 + MANY, 0));
    assert_non_null(fixture_notice(&f, CLUSTER_NOTICE_REFUSED));
}

/* By the name that people know. */
static void
newcomer_that_has_ended_is_told_of_its_job(void **state)
{
    uint64_t members[2];
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    growing_begin(&f, members);
    fixture_step(&f, newcomer_event(3, 2));
    const uint64_t fourth = fixture_step(&f, newcomer_event(4, 3));
    const uint64_t epoch = fixture_reply(&f, fourth)->world.epoch;

    fixture_step(&f, (struct cluster_event){.kind = CLUSTER_LEAVE,
                                            .job = GROWN,
                                            .member = {epoch, 3}});
    fixture_refused(&f, fixture_step(&f, newcomer_event(3, 2)), HOOP_E_ABORTED,
                    "rank 2 (h:3) has left job \"a\" and must join anew");
}

/* At its own deadline, before a member's. */
static void
newcomer_whose_time_is_up_is_told_so(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event newcomer = newcomer_event(3, CLUSTER_RANK_ANY);

    fixture_init(&f, &(struct cluster_options){.lease_ms = 100000});
    fixture_world(&f, 2);
    fixture_step(&f, member_event(11, 1, 2));
    newcomer.deadline_ns = f.now_ns + FIXTURE_S;
    const uint64_t ticket = fixture_step(&f, newcomer);

    fixture_next(&f);
    fixture_refused(&f, ticket, HOOP_E_TIMEOUT,
                    "job \"a\" has not grown in time: 2 of");
}

static void
worlds_that_one_job_grows_by_are_bounded(void **state)
{
    struct cluster_event event;
    CLEANUP(fixture_deinit) struct fixture f;
    char name[16];
    uint64_t ticket = 0;

    fixture_init(&f, &(struct cluster_options){.lease_ms = 100000});
    fixture_world(&f, 2);
    for (uint32_t i = 0; i <= LIMIT_JOB_WORLDS; i++) {
        event = member_event(100 + i, 1, 2);
        snprintf(name, sizeof(name), "a+%u", i);
        event.job = name;
        event.client = i == 0 ? 77 : 100;
        ticket = fixture_step(&f, event);
    }
    fixture_refused(&f, ticket, HOOP_E_EXHAUSTED,
                    "job \"a\" has grown 256 times and is in all of these "
                    "worlds still, the limit: free the communicators of "
                    "hoop_comm_grow() that are not needed");
    /* One of them ends. */
    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_DISCONNECT, .client = 77});
    event.job = "a+another";
    event.join.incarnation = 99;
    assert_null(fixture_find(&f, fixture_step(&f, event)));
}

/* It is no new job, and its members are no new workers; also for the next
 * coordinator. */
static void
job_grows_where_no_other_has_room(void **state)
{
    struct record_store record_store = {0};
    struct fixture f;
    char name[16];

    record_store_begin(&f);
    for (uint32_t rank = 0; rank < 2; rank++)
        followed_step(&f, &record_store, fixture_join_event(1 + rank, rank, 2));
    for (uint32_t i = 1; i < LIMIT_JOBS; i++) {
        struct cluster_event event = fixture_join_event(100 + i, 0, 1);

        snprintf(name, sizeof(name), "b%u", i);
        event.job = name;
        followed_step(&f, &record_store, event);
    }
    followed_step(&f, &record_store, member_event(11, 1, 2));
    followed_step(&f, &record_store, member_event(12, 2, 2));
    followed_step(&f, &record_store, newcomer_event(3, 2));
    const uint64_t ticket =
        followed_step(&f, &record_store, newcomer_event(4, 3));

    assert_int_equal(fixture_reply(&f, ticket)->world.size, 4);
    assert_int_equal(cluster_counters(f.cluster)->jobs, LIMIT_JOBS);
    record_store_restart(&record_store, &f);
    assert_int_equal(cluster_counters(f.cluster)->jobs, LIMIT_JOBS);
    fixture_deinit(&f);
    record_store_deinit(&record_store);
}

static void
job_below_its_largest_size_is_worth_another_try(void **state)
{
    const struct cluster_options options = {.world_size = 3, .size_min = 2};
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &options);
    fixture_join(&f, 1, 0, 0);
    fixture_join(&f, 2, 1, 0);
    fixture_next(&f);
    /* Both are known to live by the watches that they keep. */
    for (uint32_t client = 1; client <= 2; client++)
        fixture_step(&f,
                     (struct cluster_event){
                         .kind = CLUSTER_WATCH,
                         .client = client,
                         .watch = {.since = 1, .question = CLUSTER_NO_QUESTION},
                     });
    fixture_refused(&f, fixture_join(&f, 3, CLUSTER_RANK_ANY, 0),
                    HOOP_E_UNAVAILABLE,
                    "takes others when its members call hoop_comm_grow()");
}

static uint64_t
activities_ask(struct fixture *f)
{
    return fixture_step(f, (struct cluster_event){
                               .kind = CLUSTER_JOB,
                               .client = 100,
                               .view = CLUSTER_VIEW_ACTIVITY,
                           });
}

/* Those of the world that was asked, though the job has grown meanwhile. */
static void
activities_have_the_members_of_the_world_that_was_asked(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 2);
    fixture_set(&f, "key", "value");
    const uint64_t first = activities_ask(&f);

    fixture_step(&f, member_event(11, 1, 2));
    fixture_step(&f, member_event(12, 2, 2));
    fixture_step(&f, newcomer_event(3, CLUSTER_RANK_ANY));
    fixture_step(&f, newcomer_event(4, CLUSTER_RANK_ANY));
    const uint64_t second = activities_ask(&f);
    fixture_next(&f);
    assert_int_equal(fixture_reply(&f, first)->job.n_members, 2);
    assert_int_equal(fixture_reply(&f, second)->job.n_members, 4);
    /* The keys are the job's. */
    assert_int_equal(fixture_reply(&f, first)->job.n_keys, 1);
    assert_int_equal(fixture_reply(&f, second)->job.n_keys, 1);
}

/* Job "a" of two grows to three ranks. Return the epochs of both worlds. */
static void
grown_begin(struct fixture *f, uint64_t out_epochs[2])
{
    out_epochs[0] = fixture_world(f, 2);
    fixture_step(f, member_event(11, 1, 2));
    fixture_step(f, member_event(12, 2, 2));
    const uint64_t newcomer = fixture_step(f, newcomer_event(3, 2));

    f->now_ns += 600 * FIXTURE_S;
    fixture_tick(f);
    out_epochs[1] = fixture_reply(f, newcomer)->world.epoch;
}

/* Leave the grown world as number, with the details of a failed call or NULL,
 * and the first world as number - 10. */
static void
grown_leave(struct fixture *f,
            const uint64_t epochs[2],
            uint32_t number,
            const uint8_t *failure)
{
    fixture_step(
        f, (struct cluster_event){.kind = CLUSTER_LEAVE,
                                  .job = GROWN,
                                  .leave = {.member = {epochs[1], number},
                                            .failure = failure,
                                            .n_failure = failure ? 3 : 0}});
    if (number > 10)
        fixture_step(
            f, (struct cluster_event){.kind = CLUSTER_LEAVE,
                                      .member = {epochs[0], number - 10}});
}

static const struct cluster_job_detail *
ended_why(struct fixture *f)
{
    const struct cluster_reply *reply =
        fixture_reply(f, fixture_step(f, (struct cluster_event){
                                             .kind = CLUSTER_WHY, .job = "a"}));

    assert_int_equal(reply->kind, CLUSTER_REPLY_WHY);
    assert_int_equal(reply->job.line.state, CLUSTER_JOB_ENDED);
    return &reply->job;
}

/* In the first world, all have left well. */
static void
end_of_a_job_that_has_grown_is_that_of_its_newest_world(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    static const uint8_t failure[] = {7, 8, 9};
    uint64_t epochs[2];

    fixture_init(&f, &(struct cluster_options){.lease_ms = 10000000});
    grown_begin(&f, epochs);
    grown_leave(&f, epochs, 11, NULL);
    grown_leave(&f, epochs, 12, failure);
    grown_leave(&f, epochs, 3, NULL);
    const struct cluster_job_detail *job = ended_why(&f);

    assert_int_equal(job->line.size, 3);
    assert_int_equal(job->line.n_left, 3);
    assert_int_equal(job->n_members, 3);
    assert_int_equal(job->members[0].rank, 1);
    assert_non_null(job->activities);
    assert_memory_equal(job->activities[0].details, failure, 3);
}

static void
loss_of_a_newcomer_is_told_after_the_end(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    uint64_t epochs[2];

    fixture_init(&f, &(struct cluster_options){.lease_ms = 10000000});
    grown_begin(&f, epochs);
    fixture_step(&f, (struct cluster_event){
                         .kind = CLUSTER_REPORT,
                         .job = GROWN,
                         .report = {.reporter = {epochs[1], 3},
                                    .rank = 2,
                                    .identity = identity_of_incarnation(3),
                                    .reason = "gave up",
                                    .evidence = EVIDENCE_GIVEN_UP}});
    grown_leave(&f, epochs, 11, NULL);
    grown_leave(&f, epochs, 12, NULL);
    const struct cluster_job_detail *job = ended_why(&f);

    assert_int_equal(job->line.n_lost, 1);
    assert_int_equal(job->n_members, 3);
    assert_int_equal(job->members[0].state, CLUSTER_MEMBER_LOST);
    assert_int_equal(job->members[0].rank, 2);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            activities_have_the_members_of_the_world_that_was_asked),
        cmocka_unit_test(
            end_of_a_job_that_has_grown_is_that_of_its_newest_world),
        cmocka_unit_test(loss_of_a_newcomer_is_told_after_the_end),
        cmocka_unit_test(newcomers_get_what_they_wish_and_what_is_left),
        cmocka_unit_test(newcomer_that_asks_again_stays_in_its_world),
        cmocka_unit_test(ranks_that_others_have_are_refused),
        cmocka_unit_test(those_who_come_are_bounded),
        cmocka_unit_test(members_go_on_with_those_who_are_there_in_time),
        cmocka_unit_test(members_that_are_not_all_there_give_up_together),
        cmocka_unit_test(newcomers_do_not_stand_for_a_member),
        cmocka_unit_test(newcomer_is_no_member_by_its_own_word),
        cmocka_unit_test(newcomers_are_told_when_all_members_have_gone),
        cmocka_unit_test(only_members_make_a_job_grow),
        cmocka_unit_test(token_of_the_job_is_needed_to_make_it_grow),
        cmocka_unit_test(name_is_kept_while_a_newcomer_is_there),
        cmocka_unit_test(name_is_kept_when_the_coordinator_is_another),
        cmocka_unit_test(refusal_of_one_who_tries_again_is_told_once),
        cmocka_unit_test(refusals_of_many_who_try_again_are_told_once),
        cmocka_unit_test(newcomer_that_has_ended_is_told_of_its_job),
        cmocka_unit_test(newcomer_whose_time_is_up_is_told_so),
        cmocka_unit_test(worlds_that_one_job_grows_by_are_bounded),
        cmocka_unit_test(job_grows_where_no_other_has_room),
        cmocka_unit_test(job_below_its_largest_size_is_worth_another_try),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
