/* tests/unit/server/core/member_test.c - names, views and states of a member */

#include <stdlib.h>

#include "base/identity.h"
#include "base/limits.h"
#include "check.h"
#include "core/job.h"
#include "core/member.h"
#include "fixture.h"
#include "record_store.h"

static struct cluster_join
join_make(uint32_t rank)
{
    return (struct cluster_join){
        .incarnation = 9,
        .rank = rank,
        .pid = 42,
        .host = "node1",
        .address = "10.0.0.1:7",
    };
}

static void
member_label_names_rank_host_and_pid(void **state)
{
    struct cluster_join join = join_make(3);
    struct memory_account all = {0};
    struct job job = {.memory.all = &all};
    struct member *member = member_create(&job, &join);

    assert_string_equal(member_label(member).text, "rank 3 (node1:42)");
    member->rank = CLUSTER_RANK_ANY;
    assert_string_equal(member_label(member).text, "node1:42");
    assert_string_equal(member->host_id, "node1");
    member_destroy(member);
    member_destroy(NULL);
    assert_int_equal(all.n_bytes, 0);
}

static void
member_view_shows_the_lease_left(void **state)
{
    struct cluster_join join = join_make(3);
    struct memory_account all = {0};
    struct job job = {.memory.all = &all};
    struct member *member = member_create(&job, &join);

    assert_int_equal(member_public_view(member, 100).lease_left_ns, 0);
    member_set_state(member, CLUSTER_MEMBER_ACTIVE);
    member->lease.place = 1;
    member->lease.deadline_ns = 150;
    assert_int_equal(member_public_view(member, 100).lease_left_ns, 50);
    assert_int_equal(member_public_view(member, 200).lease_left_ns, 0);
    assert_string_equal(member_public_view(member, 100).address, "10.0.0.1:7");
    assert_int_equal(member_public_view(member, 100).state,
                     CLUSTER_MEMBER_ACTIVE);
    member_destroy(member);
}

static void
member_states_have_names(void **state)
{
    assert_string_equal(cluster_member_state_name(CLUSTER_MEMBER_JOINING),
                        "joining");
    assert_string_equal(cluster_member_state_name(CLUSTER_MEMBER_LOST), "lost");
}

static void
waiter_key_bytes_over_the_limit_are_refused(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    static char text[LIMIT_STORE_KEY];
    const char *keys[LIMIT_STORE_KEYS_CALL];
    uint64_t ticket = 0;
    size_t n_parked = 0;

    memset(text, 'k', sizeof(text) - 1);
    for (size_t i = 0; i < LIMIT_STORE_KEYS_CALL; i++)
        keys[i] = text;
    fixture_init(&f, &(struct cluster_options){.lease_ms = 100000});
    fixture_world(&f, 1);
    do {
        ticket = fixture_step(
            &f, (struct cluster_event){
                    .kind = CLUSTER_STORE_WAIT,
                    .keys = {.keys = keys, .n_keys = LIMIT_STORE_KEYS_CALL}});
        n_parked++;
    } while (!fixture_find(&f, ticket) && n_parked < 100);
    fixture_refused(&f, ticket, HOOP_E_EXHAUSTED, "the limit");
    assert_int_equal(n_parked, 1 + LIMIT_WAITER_BYTES / (LIMIT_STORE_KEYS_CALL *
                                                         LIMIT_STORE_KEY));

    /* All end at the deadline, and the room is there again. */
    fixture_next(&f);
    assert_int_equal(f.actions.n_items, n_parked - 1);
    assert_int_equal(cluster_counters(f.cluster)->waiters, 0);
    assert_null(fixture_find(&f, fixture_key(&f, CLUSTER_STORE_WAIT, "k")));
}

static uint64_t
watch_as(struct fixture *f, const char *token)
{
    return fixture_step(f, (struct cluster_event){.kind = CLUSTER_WATCH,
                                                  .role = ROLE_OPERATOR,
                                                  .token = token,
                                                  .watch.since = 1});
}

static void
waiters_of_operators_leave_room_for_workers(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event event = fixture_join_event(1, 0, 1);
    char operator[LIMIT_TOKEN];
    uint64_t first = 0;

    assert_ok(role_derive_token(ROLE_OPERATOR, "t", operator));
    fixture_init(&f, &(struct cluster_options){.lease_ms = 100000});
    event.token = "t";
    fixture_step(&f, event);
    for (int i = 0; i < LIMIT_PARKED_REQUESTS_OTHERS; i++) {
        const uint64_t ticket = watch_as(&f, operator);

        assert_null(fixture_find(&f, ticket));
        first = i == 0 ? ticket : first;
    }
    fixture_refused(&f, watch_as(&f, operator), HOOP_E_EXHAUSTED,
                    "not a worker's");
    assert_null(fixture_find(&f, watch_as(&f, "t")));

    /* One of them goes, and the next has its place; what a worker waits for
     * takes none. */
    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_CANCEL, .ticket = first});
    assert_null(fixture_find(&f, watch_as(&f, operator)));
    fixture_refused(&f, watch_as(&f, operator), HOOP_E_EXHAUSTED,
                    "not a worker's");
    fixture_next(&f);
    assert_int_equal(cluster_counters(f.cluster)->waiters, 0);
    assert_null(fixture_find(&f, watch_as(&f, operator)));
}

static void
waiter_cancelled_is_never_answered(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_world(&f, 1);
    const uint64_t ticket = fixture_key(&f, CLUSTER_STORE_WAIT, "k");

    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_CANCEL, .ticket = ticket});
    assert_int_equal(f.actions.n_items, 0);
    fixture_set(&f, "k", "v");
    assert_null(fixture_find(&f, ticket));
    assert_int_equal(cluster_counters(f.cluster)->replies_dropped, 1);
}

static void
waiter_of_a_job_that_ends_is_told(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 1);
    const uint64_t ticket = fixture_key(&f, CLUSTER_STORE_WAIT, "k");

    fixture_member(&f, CLUSTER_LEAVE, epoch, 1);
    fixture_refused(&f, ticket, HOOP_E_NOT_FOUND, "has ended");
}

/* Whichever of them was answered before. */
static void
disconnect_ends_all_that_wait_on_the_connection(void **state)
{
    for (uint32_t answered = 0; answered <= 3; answered++) {
        struct fixture f;
        uint64_t tickets[3];

        fixture_init(&f, &(struct cluster_options){.lease_ms = 100000});
        fixture_world(&f, 1);
        for (size_t i = 0; i < 3; i++)
            tickets[i] = fixture_key(&f, CLUSTER_STORE_WAIT, "k");
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_WATCH,
                                                .client = 7,
                                                .watch.since = 1});
        assert_int_equal(cluster_counters(f.cluster)->waiters, 4);
        if (answered < 3)
            fixture_step(&f,
                         (struct cluster_event){.kind = CLUSTER_CANCEL,
                                                .ticket = tickets[answered]});
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_DISCONNECT});
        assert_int_equal(cluster_counters(f.cluster)->waiters, 1);
        fixture_step(&f, (struct cluster_event){.kind = CLUSTER_DISCONNECT,
                                                .client = 7});
        assert_int_equal(cluster_counters(f.cluster)->waiters, 0);
        fixture_deinit(&f);
    }
}

static const char *const GROWN = "a+1";
static const uint64_t LEASE_NS = 10 * FIXTURE_S; /* the default */

/* Steps, and what they left behind. */
struct run {
    struct fixture f;
    struct record_store record_store;
    unsigned int n_lost; /* notices, of all steps */
    unsigned int n_left;
    unsigned int n_ended;
};

static uint64_t
run_step(struct run *run, struct cluster_event event)
{
    const uint64_t ticket = fixture_step(&run->f, event);

    for (size_t i = 0; i < run->f.actions.n_items; i++) {
        const struct cluster_action *action = &run->f.actions.items[i];

        if (action->kind != CLUSTER_LOG_NOTICE)
            continue;
        assert_null(strstr(action->notice.text, GROWN));
        assert_string_equal(action->notice.job, "a");
        run->n_lost += action->notice.kind == CLUSTER_NOTICE_LOST;
        run->n_left += action->notice.kind == CLUSTER_NOTICE_LEFT;
        run->n_ended += action->notice.kind == CLUSTER_NOTICE_ENDED;
    }
    record_store_apply(&run->record_store, &run->f);
    return ticket;
}

static struct cluster_event
of_grown(struct cluster_event event)
{
    event.job = GROWN;
    return event;
}

static struct cluster_event
member_event(uint32_t number, uint32_t membership)
{
    struct cluster_event event = fixture_join_event(number, membership - 1, 3);

    event.join.root = "a";
    event.join.membership = membership;
    event.join.size_min = 3;
    event.join.settle_ms = 600000;
    return of_grown(event);
}

/* Job "a" of 1 and 2, grown by 3: in the new world they are 11, 12 and 3. */
static void
run_begin(struct run *run, uint64_t out_epochs[2])
{
    uint64_t ticket;

    *run = (struct run){0};
    record_store_begin(&run->f);
    run_step(run, fixture_join_event(1, 0, 2));
    ticket = run_step(run, fixture_join_event(2, 1, 2));
    out_epochs[0] = fixture_reply(&run->f, ticket)->world.epoch;
    run_step(run, member_event(11, 1));
    run_step(run, member_event(12, 2));
    ticket = run_step(run, fixture_join_event(3, CLUSTER_RANK_ANY, 2));
    out_epochs[1] = fixture_reply(&run->f, ticket)->world.epoch;
}

static void
run_end(struct run *run)
{
    fixture_deinit(&run->f);
    record_store_deinit(&run->record_store);
}

static struct cluster_event
leave_event(uint64_t epoch, uint64_t incarnation)
{
    return (struct cluster_event){.kind = CLUSTER_LEAVE,
                                  .member = {epoch, incarnation}};
}

static struct cluster_event
report_event(uint64_t epoch, uint64_t by, uint32_t rank, uint64_t whom)
{
    return (struct cluster_event){
        .kind = CLUSTER_REPORT,
        .report = {.reporter = {epoch, by},
                   .rank = rank,
                   .identity = identity_of_incarnation(whom),
                   .reason = "killed"}};
}

static const struct cluster_job_summary *
line_of_a(struct run *run)
{
    const uint64_t ticket =
        run_step(run, (struct cluster_event){.kind = CLUSTER_JOBS});
    const struct cluster_jobs *jobs = &fixture_reply(&run->f, ticket)->jobs;

    assert_int_equal(jobs->n_items, 1);
    assert_string_equal(jobs->items[0].name, "a");
    return &jobs->items[0];
}

static void
death_is_told_once_and_holds_everywhere(struct run *run,
                                        const uint64_t epochs[2])
{
    const struct cluster_counters *counters;

    run_step(run, of_grown(report_event(epochs[1], 3, 1, 12)));
    run_step(run, report_event(epochs[0], 1, 1, 2));
    run_step(run, of_grown(report_event(epochs[1], 11, 1, 12)));
    assert_int_equal(run->n_lost, 1);
    counters = cluster_counters(run->f.cluster);
    assert_int_equal(counters->verdicts, 1);
    assert_int_equal(counters->members, 2);
    assert_int_equal(counters->jobs, 1);
    const struct cluster_job_summary *line = line_of_a(run);

    assert_int_equal(line->epoch, epochs[1]);
    assert_int_equal(line->size, 3);
    assert_int_equal(line->n_members, 2);
    assert_int_equal(line->n_lost, 1);
    fixture_refused(&run->f, run_step(run, leave_event(epochs[0], 2)),
                    HOOP_E_ABORTED, "has been declared lost: killed");
}

static void
death_in_one_world_is_one_in_all(void **state)
{
    uint64_t epochs[2];
    struct run run;

    run_begin(&run, epochs);
    death_is_told_once_and_holds_everywhere(&run, epochs);
    run_end(&run);
}

static void
death_is_told_once_by_another_coordinator_too(void **state)
{
    uint64_t epochs[2];
    struct run run;

    run_begin(&run, epochs);
    record_store_restart(&run.record_store, &run.f);
    assert_int_equal(line_of_a(&run)->n_members, 3);
    run_step(&run, of_grown(report_event(epochs[1], 3, 1, 12)));
    record_store_restart(&run.record_store, &run.f);
    run_step(&run, report_event(epochs[0], 1, 1, 2));
    assert_int_equal(run.n_lost, 1);
    const struct cluster_job_summary *line = line_of_a(&run);

    assert_int_equal(line->epoch, epochs[1]);
    assert_int_equal(line->n_members, 2);
    assert_int_equal(line->n_lost, 1);
    run_end(&run);
}

static void
worker_leaves_when_it_leaves_its_last_world(void **state)
{
    uint64_t epochs[2];
    struct run run;

    run_begin(&run, epochs);
    run_step(&run, of_grown(leave_event(epochs[1], 11)));
    assert_int_equal(run.n_left, 0);
    assert_int_equal(line_of_a(&run)->n_members, 3);
    run_step(&run, leave_event(epochs[0], 1));
    assert_int_equal(run.n_left, 1);
    assert_int_equal(line_of_a(&run)->n_members, 2);
    run_step(&run, leave_event(epochs[0], 2));
    run_step(&run, of_grown(leave_event(epochs[1], 3)));
    assert_int_equal(run.n_ended, 0);
    run_step(&run, of_grown(leave_event(epochs[1], 12)));
    assert_int_equal(run.n_left, 3);
    assert_int_equal(run.n_ended, 1);
    assert_int_equal(cluster_counters(run.f.cluster)->leaves, 3);
    assert_int_equal(cluster_counters(run.f.cluster)->members, 0);
    assert_int_equal(line_of_a(&run)->n_left, 3);
    run_end(&run);
}

static void
members_of_a_job_are_those_of_its_present_world(void **state)
{
    uint64_t epochs[2];
    struct run run;

    run_begin(&run, epochs);
    const uint64_t ticket =
        run_step(&run, (struct cluster_event){.kind = CLUSTER_JOB});
    const struct cluster_job_detail *job = &fixture_reply(&run.f, ticket)->job;

    assert_string_equal(job->line.name, "a");
    assert_int_equal(job->line.epoch, epochs[1]);
    assert_int_equal(job->n_members, 3);
    assert_int_equal(job->members[2].pid, 3);
    run_end(&run);
}

/* Its report of itself concerns the world that it cannot join. */
static void
worker_that_cannot_be_in_a_world_stays_in_the_others(void **state)
{
    uint64_t epochs[2];
    struct run run;

    run_begin(&run, epochs);
    run_step(&run, of_grown(report_event(epochs[1], 12, 1, 12)));
    assert_int_equal(line_of_a(&run)->n_members, 3);
    run_step(&run, leave_event(epochs[0], 2));
    assert_int_equal(run.n_left, 1);
    run_end(&run);
}

static void
renew(struct run *run, const char *job, uint64_t epoch, uint64_t incarnation)
{
    run_step(run, (struct cluster_event){.kind = CLUSTER_RENEW,
                                         .job = job,
                                         .member = {epoch, incarnation}});
}

/* Worker 1 has left the new world, which nobody heard: it renews its membership
 * of the first, and the others renew theirs. */
static void
lease_that_ends_in_one_world_is_not_the_end_of_a_worker(void **state)
{
    uint64_t epochs[2];
    struct run run;

    run_begin(&run, epochs);
    for (unsigned i = 0; i < 8; i++) {
        run.f.now_ns += LEASE_NS / 4;
        renew(&run, NULL, epochs[0], 1);
        renew(&run, NULL, epochs[0], 2);
        renew(&run, GROWN, epochs[1], 12);
        renew(&run, GROWN, epochs[1], 3);
    }
    fixture_refused(&run.f,
                    run_step(&run, of_grown(leave_event(epochs[1], 11))),
                    HOOP_E_ABORTED, "its lease expired");
    assert_int_equal(cluster_counters(run.f.cluster)->leases_expired, 1);
    assert_int_equal(cluster_counters(run.f.cluster)->verdicts, 0);
    assert_int_equal(line_of_a(&run)->n_members, 3);
    run_step(&run, leave_event(epochs[0], 1));
    assert_int_equal(run.n_left, 1);
    run_end(&run);
}

/* Who renews nothing any more is lost, once. */
static void
leases_that_end_in_all_worlds_are_one_death(void **state)
{
    uint64_t epochs[2];
    struct run run;

    run_begin(&run, epochs);
    run.f.now_ns += LEASE_NS / 4;
    renew(&run, NULL, epochs[0], 1);
    for (unsigned i = 0; i < 8; i++) {
        run.f.now_ns += LEASE_NS / 4;
        renew(&run, NULL, epochs[0], 2);
        renew(&run, GROWN, epochs[1], 12);
        renew(&run, GROWN, epochs[1], 3);
    }
    assert_int_equal(run.n_lost, 1);
    assert_int_equal(cluster_counters(run.f.cluster)->verdicts, 1);
    assert_int_equal(line_of_a(&run)->n_members, 2);
    run_end(&run);
}

/* A member dies while it waits for the job to grow. */
static void
death_of_one_who_waits_to_grow_ends_its_join(void **state)
{
    uint64_t epochs[2];
    struct run run;

    run_begin(&run, epochs);
    run_step(&run, of_grown(leave_event(epochs[1], 12)));
    struct cluster_event event = member_event(22, 2);

    event.job = "a+2";
    const uint64_t waits = run_step(&run, event);

    run_step(&run, report_event(epochs[0], 1, 1, 2));
    fixture_refused(&run.f, waits, HOOP_E_ABORTED, "killed");
    assert_int_equal(run.n_lost, 1);
    assert_int_equal(line_of_a(&run)->n_lost, 1);
    run_end(&run);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(member_label_names_rank_host_and_pid),
        cmocka_unit_test(member_view_shows_the_lease_left),
        cmocka_unit_test(member_states_have_names),
        cmocka_unit_test(waiter_key_bytes_over_the_limit_are_refused),
        cmocka_unit_test(waiters_of_operators_leave_room_for_workers),
        cmocka_unit_test(waiter_cancelled_is_never_answered),
        cmocka_unit_test(waiter_of_a_job_that_ends_is_told),
        cmocka_unit_test(disconnect_ends_all_that_wait_on_the_connection),
        cmocka_unit_test(death_in_one_world_is_one_in_all),
        cmocka_unit_test(death_is_told_once_by_another_coordinator_too),
        cmocka_unit_test(worker_leaves_when_it_leaves_its_last_world),
        cmocka_unit_test(members_of_a_job_are_those_of_its_present_world),
        cmocka_unit_test(worker_that_cannot_be_in_a_world_stays_in_the_others),
        cmocka_unit_test(
            lease_that_ends_in_one_world_is_not_the_end_of_a_worker),
        cmocka_unit_test(leases_that_end_in_all_worlds_are_one_death),
        cmocka_unit_test(death_of_one_who_waits_to_grow_ends_its_join),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
