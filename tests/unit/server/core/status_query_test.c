/* tests/unit/server/core/status_query_test.c - what operators see */

#include <stdio.h>

#include "base/evidence.h"
#include "base/identity.h"
#include "check.h"
#include "core/change.h"
#include "fixture.h"

static void
status_query_shows_jobs_that_live_and_that_ended(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event join = fixture_join_event(9, 0, 5);

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);

    fixture_member(&f, CLUSTER_LEAVE, epoch, 1);
    join.job = "b";
    fixture_step(&f, join);
    f.now_ns += FIXTURE_S;
    const uint64_t ticket =
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_JOBS});
    const struct cluster_jobs *jobs = &fixture_reply(&f, ticket)->jobs;

    assert_int_equal(jobs->n_items, 2);
    assert_string_equal(jobs->items[0].name, "b");
    assert_int_equal(jobs->items[0].state, CLUSTER_JOB_FORMING);
    assert_int_equal(jobs->items[0].size, 5);
    assert_int_equal(jobs->items[0].n_members, 1);
    assert_string_equal(jobs->items[1].name, "a");
    assert_int_equal(jobs->items[1].state, CLUSTER_JOB_ENDED);
    assert_int_equal(jobs->items[1].n_left, 1);
    assert_int_equal(jobs->items[1].age_ns, FIXTURE_S);
}

static void
status_query_shows_members_of_a_job(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.lease_ms = 4000});
    const uint64_t epoch = fixture_world(&f, 2);

    fixture_set(&f, "key", "value");
    fixture_member(&f, CLUSTER_LEAVE, epoch, 1);
    f.now_ns += FIXTURE_S;
    const uint64_t ticket =
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_JOB});
    const struct cluster_job_detail *job = &fixture_reply(&f, ticket)->job;

    assert_int_equal(job->line.state, CLUSTER_JOB_RUNNING);
    assert_int_equal(job->line.n_members, 1);
    assert_int_equal(job->n_members, 2);
    assert_int_equal(job->members[0].state, CLUSTER_MEMBER_LEFT);
    assert_int_equal(job->members[1].state, CLUSTER_MEMBER_ACTIVE);
    assert_int_equal(job->members[1].lease_left_ns, 3 * FIXTURE_S);
    assert_int_equal(job->n_keys, 1);
    assert_int_equal(job->n_store_bytes, 8);
    assert_int_equal(job->revision, 2);
}

static void
status_query_shows_who_waits_for_a_world(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, CLUSTER_RANK_ANY, 2);
    const uint64_t ticket =
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_JOB});
    const struct cluster_job_detail *job = &fixture_reply(&f, ticket)->job;

    assert_int_equal(job->n_members, 1);
    assert_int_equal(job->members[0].rank, CLUSTER_RANK_ANY);
    assert_int_equal(job->members[0].lease_left_ns, 60 * FIXTURE_S);
    assert_int_equal(job->n_waiters, 1);
}

static void
status_query_of_a_job_that_forms_says_who_is_missing(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, 1, 4);
    fixture_join(&f, 2, 2, 4);
    const uint64_t ticket =
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_JOB,
                                                .view = CLUSTER_VIEW_BRIEF});
    const struct cluster_job_detail *job = &fixture_reply(&f, ticket)->job;

    assert_int_equal(job->n_members, 0);
    assert_int_equal(job->line.n_members, 2);
    assert_int_equal(job->line.size, 4);
    assert_int_equal(job->size_min, 4);
    assert_string_equal(job->missing, "ranks 0, 3");
    assert_string_equal(job->hosts, "h");
}

static void
status_query_of_a_job_that_runs_misses_nobody(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, 0, 1);
    const uint64_t ticket =
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_JOB});
    const struct cluster_job_detail *job = &fixture_reply(&f, ticket)->job;

    assert_int_equal(job->line.state, CLUSTER_JOB_RUNNING);
    assert_int_equal(job->size_min, 0);
    assert_string_equal(job->missing, "");
    assert_string_equal(job->hosts, "");
}

static void
status_query_needs_a_configured_token(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event event = {.kind = CLUSTER_JOBS};

    fixture_init(&f, &(struct cluster_options){.token = "t"});
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_UNAUTHENTICATED, "");
    event.token = "t";
    assert_ok(fixture_reply(&f, fixture_step(&f, event))->status);
}

/* The text when nobody else comes. */
static void
roster_text_expect(struct fixture *f, uint64_t ticket, const char *part)
{
    fixture_next(f);
    fixture_refused(f, ticket, HOOP_E_TIMEOUT, part);
}

static void
roster_text_no_requests_counts_workers(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    for (uint32_t i = 1; i < 3; i++)
        fixture_join(&f, i, CLUSTER_RANK_ANY, 4);
    roster_text_expect(
        &f, fixture_join(&f, 3, CLUSTER_RANK_ANY, 4),
        "3 of 4 have joined: h:1, h:2, h:3; missing: 1 more worker");
}

static void
roster_text_some_requests_name_the_free_ranks(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, 1, 5);
    roster_text_expect(&f, fixture_join(&f, 2, CLUSTER_RANK_ANY, 5),
                       "2 of 5 have joined: rank 1 (h:1), h:2; missing: 3 more "
                       "workers for the ranks 0, 2-4");
}

static void
roster_text_unknown_size_says_how_to_give_it(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    roster_text_expect(&f, fixture_join(&f, 1, 0, 0), "HOOP_WORLD_SIZE");
}

static void
roster_text_range_says_how_many_are_enough(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.world_size = 8, .size_min = 3});
    roster_text_expect(
        &f, fixture_join(&f, 1, 7, 0),
        "1 of 3 to 8 has joined: rank 7 (h:1); missing: at least 2 "
        "more workers");
}

static void
roster_text_many_are_not_all_named(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    uint64_t ticket = 0;

    fixture_init(&f, &(struct cluster_options){0});
    for (uint32_t i = 0; i < 20; i++)
        ticket = fixture_join(&f, 1 + i, 2 * i, 100);
    fixture_next(&f);
    fixture_refused(&f, ticket, HOOP_E_TIMEOUT, "and 12 more");
    fixture_refused(&f, ticket, HOOP_E_TIMEOUT,
                    "1, 3, 5, 7, 9, 11, 13, 15, ...");
}

/* Of job "a". */
static const struct cluster_job_detail *
job_ask(struct fixture *f)
{
    const uint64_t ticket =
        fixture_step(f, (struct cluster_event){.kind = CLUSTER_JOB,
                                               .view = CLUSTER_VIEW_BRIEF});

    return &fixture_reply(f, ticket)->job;
}

static void
roster_text_before_the_deadline_says_for_whom_it_waits(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){
                         .world_size = 8, .size_min = 3, .settle_ms = 2500});
    fixture_join(&f, 1, CLUSTER_RANK_ANY, 0);
    assert_string_equal(job_ask(&f)->missing, "at least 2 more workers");
    fixture_join(&f, 2, CLUSTER_RANK_ANY, 0);
    assert_string_equal(job_ask(&f)->missing, "at least 1 more worker");
    fixture_join(&f, 3, CLUSTER_RANK_ANY, 0);
    assert_string_equal(job_ask(&f)->missing,
                        "others, until nobody has come for 2.5 s");
    assert_int_equal(job_ask(&f)->size_min, 3);
    fixture_join(&f, 4, 5, 0);
    assert_string_equal(job_ask(&f)->missing,
                        "2 more workers for the ranks 0-4");
}

static void
roster_text_without_a_size_misses_the_size(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, 1, 0);
    assert_string_equal(job_ask(&f)->missing, "");
    assert_int_equal(job_ask(&f)->line.size, 0);
    fixture_join(&f, 2, 0, 3);
    assert_string_equal(job_ask(&f)->missing, "rank 2");
}

static void
roster_text_names_each_host_once_and_not_all(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    char host[8];

    fixture_init(&f, &(struct cluster_options){.world_size = 100});
    for (uint32_t i = 0; i < 20; i++) {
        snprintf(host, sizeof(host), "n%u", i / 2);
        fixture_step(&f,
                     (struct cluster_event){
                         .kind = CLUSTER_JOIN,
                         .join = {.incarnation = 1 + i,
                                  .protocol_version = CLUSTER_PROTOCOL_VERSION,
                                  .rank = CLUSTER_RANK_ANY,
                                  .pid = 1,
                                  .host = host,
                                  .address = "n:1"}});
        if (i == 3)
            assert_string_equal(job_ask(&f)->hosts, "n0, n1");
    }
    assert_string_equal(job_ask(&f)->hosts,
                        "n0, n1, n2, n3, n4, n5, n6, n7, ...");
}

static const uint64_t TIME_NS = 800 * CLOCK_NS_PER_MS;

static uint64_t
ask(struct fixture *f)
{
    return fixture_step(f, (struct cluster_event){
                               .kind = CLUSTER_JOB,
                               .client = 100,
                               .view = CLUSTER_VIEW_ACTIVITY,
                           });
}

/* By the member of that number, who has seen seen. */
static uint64_t
watch(struct fixture *f, uint64_t epoch, uint32_t number, uint64_t seen)
{
    return fixture_step(f, (struct cluster_event){
                               .kind = CLUSTER_WATCH,
                               .client = number,
                               .watch = {.epoch = epoch,
                                         .since = 1,
                                         .question = CLUSTER_NO_QUESTION,
                                         .activity_query = seen},
                           });
}

static void
tell(struct fixture *f,
     uint64_t epoch,
     uint32_t number,
     uint64_t query,
     const char *call)
{
    fixture_step(f, (struct cluster_event){
                        .kind = CLUSTER_RENEW,
                        .client = number,
                        .renewal = {.member = {epoch, number},
                                    .activity_query = query,
                                    .activity = {.call = call,
                                                 .communicator = "world",
                                                 .waits_for = "rank 1",
                                                 .number = 7,
                                                 .age_ms = 40,
                                                 .n_calls = 2}},
                    });
}

static const struct cluster_member_activity *
activities_of(const struct fixture *f, uint64_t ticket)
{
    const struct cluster_reply *reply = fixture_reply(f, ticket);

    assert_int_equal(reply->kind, CLUSTER_REPLY_JOB);
    return reply->job.activities;
}

static void
members_that_watch_are_asked_and_their_answers_told(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    const uint64_t parked = watch(&f, epoch, 1, 0);
    const uint64_t asked = ask(&f);
    const uint64_t query = fixture_reply(&f, parked)->changes.activity_query;

    assert_true(query > 0);
    assert_null(fixture_find(&f, asked));
    /* Who watches later is asked, too, but once. */
    const uint64_t late = watch(&f, epoch, 2, 0);
    assert_true(fixture_reply(&f, late)->changes.activity_query == query);
    assert_null(fixture_find(&f, watch(&f, epoch, 2, query)));
    tell(&f, epoch, 1, query, "allreduce #7");
    assert_null(fixture_find(&f, asked));
    tell(&f, epoch, 1, query, "another");
    const uint64_t again = ask(&f);
    f.now_ns += TIME_NS / 2;
    tell(&f, epoch, 2, query, "");

    const struct cluster_member_activity *activities = activities_of(&f, asked);
    assert_int_equal(fixture_reply(&f, asked)->job.n_members, 2);
    assert_string_equal(activities[0].silence, "");
    assert_string_equal(activities[0].call, "allreduce #7");
    assert_string_equal(activities[0].communicator, "world");
    assert_string_equal(activities[0].waits_for, "rank 1");
    assert_int_equal(activities[0].number, 7);
    /* It has waited on until the other one answered. */
    assert_int_equal(activities[0].age_ms, 40 + TIME_NS / 2 / CLOCK_NS_PER_MS);
    assert_int_equal(activities[0].n_calls, 2);
    assert_int_equal(activities[0].answer_ms, 0);
    assert_int_equal(activities[1].answer_ms, TIME_NS / 2 / CLOCK_NS_PER_MS);
    assert_string_equal(activities[1].call, "");
    assert_string_equal(activities_of(&f, again)[0].call, "allreduce #7");
    /* Nobody is asked any more. */
    assert_null(fixture_find(&f, watch(&f, epoch, 1, 0)));
}

static void
members_that_do_not_answer_are_told_with_the_reason(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 5);

    fixture_member(&f, CLUSTER_LEAVE, epoch, 4);
    f.now_ns += FIXTURE_S;
    watch(&f, epoch, 2, CLUSTER_NO_QUESTION);
    const uint64_t asked = ask(&f);
    const uint64_t began_ns = f.now_ns;

    fixture_next(&f);
    assert_true(f.now_ns == began_ns + TIME_NS);
    const struct cluster_member_activity *activities = activities_of(&f, asked);
    assert_string_equal(activities[0].silence,
                        "no answer within 0.8 s: stopped, dead or cut off? "
                        "hoopd last heard of it 1.8 s ago");
    assert_string_equal(activities[3].silence, "it has left the job");
}

/* Whoever waits for less time takes none from the others. */
static void
impatience_of_one_is_not_that_of_others(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);
    const uint64_t parked = watch(&f, epoch, 1, 0);
    const uint64_t hasty =
        fixture_step(&f, (struct cluster_event){
                             .kind = CLUSTER_JOB,
                             .client = 101,
                             .deadline_ns = f.now_ns + CLOCK_NS_PER_MS,
                             .view = CLUSTER_VIEW_ACTIVITY,
                         });
    const uint64_t query = fixture_reply(&f, parked)->changes.activity_query;
    const uint64_t asked = ask(&f);

    fixture_next(&f);
    assert_null(fixture_find(&f, asked));
    assert_string_equal(activities_of(&f, hasty)[0].silence,
                        "no answer within 0.0 s: stopped, dead or cut off? "
                        "hoopd last heard of it 0.0 s ago");
    tell(&f, epoch, 1, query, "allreduce #7");
    assert_string_equal(activities_of(&f, asked)[0].call, "allreduce #7");
}

static void
member_of_an_earlier_version_is_told_as_such(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);

    watch(&f, epoch, 1, CLUSTER_NO_QUESTION);
    const uint64_t asked = ask(&f);
    fixture_next(&f);
    assert_string_equal(activities_of(&f, asked)[0].silence,
                        "its version of hoop does not tell");
}

static void
answer_to_a_query_that_is_over_is_passed_over(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);
    const uint64_t parked = watch(&f, epoch, 1, 0);
    const uint64_t gone = ask(&f);
    const uint64_t query = fixture_reply(&f, parked)->changes.activity_query;

    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_CANCEL, .ticket = gone});
    watch(&f, epoch, 1, query);
    const uint64_t asked = ask(&f);
    tell(&f, epoch, 1, query, "old");
    assert_null(fixture_find(&f, asked));
    tell(&f, epoch, 1, query + 1, "new");
    assert_string_equal(activities_of(&f, asked)[0].call, "new");
    tell(&f, epoch, 1, query + 1, "late");
    fixture_member(&f, CLUSTER_LEAVE, epoch, 1);
}

/* An operator who goes away leaves no question behind. */
static void
members_are_asked_no_longer_when_the_asker_is_gone(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);

    for (int i = 0; i < 2; i++) {
        const uint64_t asked = ask(&f);

        fixture_step(&f, (struct cluster_event){.kind = i ? CLUSTER_CANCEL
                                                          : CLUSTER_DISCONNECT,
                                                .client = 100,
                                                .ticket = i ? asked : 0});
        const uint64_t parked = watch(&f, epoch, 1, 0);
        assert_null(fixture_find(&f, parked));
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_CANCEL,
                                                .ticket = parked});
    }
}

static void
asker_is_answered_when_the_last_that_is_silent_leaves(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    const uint64_t parked = watch(&f, epoch, 1, 0);
    const uint64_t asked = ask(&f);

    tell(&f, epoch, 1, fixture_reply(&f, parked)->changes.activity_query, "x");
    assert_null(fixture_find(&f, asked));
    fixture_member(&f, CLUSTER_LEAVE, epoch, 2);
    assert_string_equal(activities_of(&f, asked)[0].call, "x");
    assert_string_equal(activities_of(&f, asked)[1].silence,
                        "it has left the job");
}

/* They wait here, and their engines know of nothing. */
static void
members_that_set_up_communicators_are_told_to_wait(void **state)
{
    static const uint32_t ranks[] = {0, 2};
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);

    fixture_step(&f, (struct cluster_event){.kind = CLUSTER_GROUP_JOIN,
                                            .group_slot = {.member = {epoch, 1},
                                                           .number = 4,
                                                           .ranks = ranks,
                                                           .n_ranks = 2}});
    fixture_step(&f,
                 (struct cluster_event){.kind = CLUSTER_VOTE,
                                        .vote = {.member = {epoch, 2},
                                                 .kind = CLUSTER_VOTE_SHRINK,
                                                 .turn = 1,
                                                 .number = 9}});
    f.now_ns += FIXTURE_S;
    const uint64_t parked = watch(&f, epoch, 1, 0);
    const uint64_t asked = ask(&f);
    const uint64_t query = fixture_reply(&f, parked)->changes.activity_query;

    for (uint32_t number = 1; number <= 3; number++)
        tell(&f, epoch, number, query, "");
    const struct cluster_member_activity *activities = activities_of(&f, asked);
    assert_string_equal(activities[0].call,
                        "hoop_comm_create or hoop_comm_split (2 ranks)");
    assert_string_equal(activities[0].waits_for, "rank 2 (h:3)");
    assert_int_equal(activities[0].age_ms, 1000);
    assert_int_equal(activities[0].n_calls, 1);
    assert_string_equal(activities[1].call, "hoop_comm_shrink (3 ranks)");
    assert_string_equal(activities[1].waits_for, "rank 0 (h:1), rank 2 (h:3)");
    assert_int_equal(activities[1].age_ms, 1000);
    assert_string_equal(activities[2].call, "");
}

static void
job_that_forms_is_told_without(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, 0, 2);
    assert_null(activities_of(&f, ask(&f)));
}

static uint64_t
ask_why(struct fixture *f, const char *job, const char *token)
{
    return fixture_step(f, (struct cluster_event){
                               .kind = CLUSTER_WHY,
                               .client = 100,
                               .job = job,
                               .token = token,
                               .role = ROLE_OPERATOR,
                           });
}

/* What a member tells beyond its call comes back as it is, and how long ago it
 * was heard. */
static void
why_is_answered_with_the_details_of_members(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    const uint8_t details[] = {1, 2, 3};

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    const uint64_t ticket = ask_why(&f, "a", NULL);
    const uint64_t watcher = watch(&f, epoch, 1, 0);
    const uint64_t query = fixture_reply(&f, watcher)->changes.activity_query;

    fixture_step(&f, (struct cluster_event){
                         .kind = CLUSTER_RENEW,
                         .client = 1,
                         .renewal = {.member = {epoch, 1},
                                     .activity_query = query,
                                     .activity = {.call = "barrier #1",
                                                  .communicator = "",
                                                  .waits_for = "",
                                                  .details = details,
                                                  .n_details = 3}},
                     });
    f.now_ns += TIME_NS;
    fixture_tick(&f);
    const struct cluster_reply *reply = fixture_reply(&f, ticket);

    assert_int_equal(reply->kind, CLUSTER_REPLY_WHY);
    const struct cluster_member_activity *told = reply->job.activities;

    assert_string_equal(told[0].call, "barrier #1");
    assert_int_equal(told[0].n_details, 3);
    assert_memory_equal(told[0].details, details, 3);
    assert_int_equal(told[0].missing_rank, CLUSTER_RANK_ANY);
    assert_int_equal(told[0].last_sign_ms, 800);
    assert_true(told[1].silence[0]);
    assert_int_equal(told[1].n_details, 0);
}

/* Both questions may be open at once. */
static void
why_and_job_are_each_answered_in_kind(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    const uint64_t why = ask_why(&f, "a", NULL);
    const uint64_t job = ask(&f);

    f.now_ns += TIME_NS;
    fixture_tick(&f);
    assert_int_equal(fixture_reply(&f, why)->kind, CLUSTER_REPLY_WHY);
    assert_int_equal(fixture_reply(&f, job)->kind, CLUSTER_REPLY_JOB);
}

static void
report_lost(struct fixture *f, uint64_t epoch, uint32_t rank, const char *why)
{
    fixture_step(f,
                 (struct cluster_event){
                     .kind = CLUSTER_REPORT,
                     .job = "a",
                     .token = "secret",
                     .report = {.reporter = {epoch, rank + 1},
                                .rank = rank,
                                .identity = identity_of_incarnation(rank + 1),
                                .reason = why,
                                .evidence = EVIDENCE_GIVEN_UP}});
}

/* Start job "a" with a token of its own, lose rank 2, then rank 0, and end. */
static void
end_with_losses(struct fixture *f)
{
    uint64_t ticket = 0;

    for (uint32_t rank = 0; rank < 3; rank++) {
        struct cluster_event join = fixture_join_event(rank + 1, rank, 3);

        join.token = "secret";
        ticket = fixture_step(f, join);
    }
    const uint64_t epoch = fixture_reply(f, ticket)->world.epoch;

    report_lost(f, epoch, 2, "gave up first");
    report_lost(f, epoch, 0, "gave up then");
    fixture_step(f, (struct cluster_event){.kind = CLUSTER_LEAVE,
                                           .token = "secret",
                                           .member = {epoch, 2}});
}

static void
ended_job_is_told_with_those_that_were_lost_first(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    end_with_losses(&f);
    f.now_ns += FIXTURE_S;
    const struct cluster_reply *reply =
        fixture_reply(&f, ask_why(&f, "a", "secret"));

    assert_int_equal(reply->kind, CLUSTER_REPLY_WHY);
    assert_int_equal(reply->job.line.state, CLUSTER_JOB_ENDED);
    assert_int_equal(reply->job.line.age_ns, FIXTURE_S);
    assert_int_equal(reply->job.n_members, 3);
    assert_int_equal(reply->job.members[0].rank, 2);
    assert_string_equal(reply->job.members[0].reason, "gave up first");
    assert_string_equal(reply->job.members[0].host, "h");
    assert_int_equal(reply->job.members[1].rank, 0);
    assert_int_equal(reply->job.members[2].state, CLUSTER_MEMBER_LEFT);
    assert_true(reply->job.members[0].lost_revision <
                reply->job.members[1].lost_revision);
}

static void
leave(struct fixture *f, uint64_t epoch, uint32_t rank, const uint8_t *failure)
{
    fixture_step(
        f, (struct cluster_event){.kind = CLUSTER_LEAVE,
                                  .leave = {.member = {epoch, rank + 1},
                                            .failure = failure,
                                            .n_failure = failure ? 3 : 0}});
}

/* What a rank says of its last call when it leaves outlives the job. */
static void
ended_job_is_told_with_the_calls_that_failed(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    const uint8_t failure[] = {7, 8, 9};

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 3);

    for (uint32_t rank = 0; rank < 3; rank++)
        leave(&f, epoch, rank, rank == 1 ? failure : NULL);
    const struct cluster_reply *reply =
        fixture_reply(&f, ask_why(&f, "a", NULL));
    const struct cluster_member_activity *told = reply->job.activities;

    assert_int_equal(reply->job.line.state, CLUSTER_JOB_ENDED);
    assert_int_equal(reply->job.members[0].rank, 1);
    assert_int_equal(reply->job.members[1].rank, 0);
    assert_int_equal(told[0].n_details, 3);
    assert_memory_equal(told[0].details, failure, 3);
    assert_string_equal(told[0].silence, "");
    assert_int_equal(told[1].n_details, 0);
    assert_int_equal(told[0].missing_rank, CLUSTER_RANK_ANY);
}

static void
ended_job_of_ranks_that_left_well_tells_nothing_of_calls(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);

    leave(&f, epoch, 0, NULL);
    leave(&f, epoch, 1, NULL);
    assert_null(fixture_reply(&f, ask_why(&f, "a", NULL))->job.activities);
}

/* Its token is needed as while it lived; and nobody learns of jobs that never
 * were. */
static void
ended_job_is_told_to_those_with_its_token(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    end_with_losses(&f);
    fixture_refused(&f, ask_why(&f, "a", "other"), HOOP_E_UNAUTHENTICATED, "");
    fixture_refused(&f, ask_why(&f, "a", NULL), HOOP_E_UNAUTHENTICATED, "");
    fixture_refused(&f, ask_why(&f, "b", NULL), HOOP_E_NOT_FOUND,
                    "there is no job \"b\"");
}

static void
many_ends_of_a_job_are_bounded(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    for (uint32_t i = 0; i < 2 * LIMIT_ENDED_JOBS; i++) {
        const uint64_t epoch = fixture_world(&f, 20);

        for (uint32_t rank = 0; rank < 20; rank++)
            fixture_member(&f, CLUSTER_LEAVE, epoch, rank + 1);
    }
    assert_int_equal(fixture_reply(&f, ask_why(&f, "a", NULL))->job.n_members,
                     ENDED_MEMBERS_MAX);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(status_query_shows_jobs_that_live_and_that_ended),
        cmocka_unit_test(status_query_shows_members_of_a_job),
        cmocka_unit_test(status_query_shows_who_waits_for_a_world),
        cmocka_unit_test(status_query_of_a_job_that_forms_says_who_is_missing),
        cmocka_unit_test(status_query_of_a_job_that_runs_misses_nobody),
        cmocka_unit_test(status_query_needs_a_configured_token),
        cmocka_unit_test(roster_text_no_requests_counts_workers),
        cmocka_unit_test(roster_text_some_requests_name_the_free_ranks),
        cmocka_unit_test(roster_text_unknown_size_says_how_to_give_it),
        cmocka_unit_test(roster_text_range_says_how_many_are_enough),
        cmocka_unit_test(roster_text_many_are_not_all_named),
        cmocka_unit_test(
            roster_text_before_the_deadline_says_for_whom_it_waits),
        cmocka_unit_test(roster_text_without_a_size_misses_the_size),
        cmocka_unit_test(roster_text_names_each_host_once_and_not_all),
        cmocka_unit_test(members_that_watch_are_asked_and_their_answers_told),
        cmocka_unit_test(members_that_do_not_answer_are_told_with_the_reason),
        cmocka_unit_test(impatience_of_one_is_not_that_of_others),
        cmocka_unit_test(member_of_an_earlier_version_is_told_as_such),
        cmocka_unit_test(answer_to_a_query_that_is_over_is_passed_over),
        cmocka_unit_test(members_are_asked_no_longer_when_the_asker_is_gone),
        cmocka_unit_test(asker_is_answered_when_the_last_that_is_silent_leaves),
        cmocka_unit_test(members_that_set_up_communicators_are_told_to_wait),
        cmocka_unit_test(job_that_forms_is_told_without),
        cmocka_unit_test(why_is_answered_with_the_details_of_members),
        cmocka_unit_test(why_and_job_are_each_answered_in_kind),
        cmocka_unit_test(ended_job_is_told_with_those_that_were_lost_first),
        cmocka_unit_test(ended_job_is_told_with_the_calls_that_failed),
        cmocka_unit_test(
            ended_job_of_ranks_that_left_well_tells_nothing_of_calls),
        cmocka_unit_test(ended_job_is_told_to_those_with_its_token),
        cmocka_unit_test(many_ends_of_a_job_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
