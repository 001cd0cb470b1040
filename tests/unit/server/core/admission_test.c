/* tests/unit/server/core/admission_test.c - who may join, who is told why
 * not */

#include <stdio.h>

#include "base/limits.h"
#include "fixture.h"

static void
join_wrong_version_names_both(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event event = fixture_join_event(1, 0, 2);

    fixture_init(&f, &(struct cluster_options){0});
    event.join.protocol_version = CLUSTER_PROTOCOL_VERSION + 6;
    const uint64_t ticket = fixture_step(&f, event);

    fixture_refused(&f, ticket, HOOP_E_PRECONDITION, "version 7");
    fixture_refused(&f, ticket, HOOP_E_PRECONDITION, "version 1");
    assert_non_null(fixture_notice(&f, CLUSTER_NOTICE_REFUSED));
    assert_int_equal(cluster_counters(f.cluster)->jobs, 0);
}

static void
join_taken_rank_names_the_holder(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 11, 1, 3);
    const uint64_t ticket = fixture_join(&f, 12, 1, 3);

    fixture_refused(&f, ticket, HOOP_E_EXISTS, "rank 1 is taken by h:11");
    assert_non_null(strstr(fixture_notice(&f, CLUSTER_NOTICE_REFUSED)->text,
                           "rank 1 is taken by h:11"));
}

/* Whoever asks again until its deadline must not learn of the deadline
 * alone. */
static void
join_past_its_deadline_is_told_what_it_would_have_been_before(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event event = {
        .kind = CLUSTER_JOIN,
        .join = {.incarnation = 12,
                 .protocol_version = CLUSTER_PROTOCOL_VERSION,
                 .rank = 1,
                 .world_size = 2,
                 .pid = 12,
                 .host = "h",
                 .address = "h:1"},
    };

    fixture_init(&f, &(struct cluster_options){0});
    event.deadline_ns = f.now_ns;
    fixture_join(&f, 11, 1, 2);
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_EXISTS,
                    "rank 1 is taken by h:11 at h:1: give each worker a "
                    "HOOP_RANK of its own, or none");
    event.join.world_size = 3;
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_PRECONDITION,
                    "use one value for all workers");
    fixture_join(&f, 10, 0, 2);
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_UNAVAILABLE,
                    "job \"a\" is full: 2 of 2 ranks have joined");
}

static void
join_rank_out_of_range_is_refused(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.world_size = 2});
    fixture_refused(&f, fixture_join(&f, 1, 4, 4), HOOP_E_INVALID,
                    "rank 4 is out of range");
    fixture_refused(&f, fixture_join(&f, 1, 2, 0), HOOP_E_INVALID, "0 to 1");
}

static void
join_least_rank_above_the_rank_is_refused(void **state)
{
    const uint32_t ranks[] = {1, CLUSTER_RANK_ANY};
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    for (uint32_t i = 0; i < 2; i++) {
        struct cluster_event event = fixture_join_event(1, ranks[i], 4);

        event.join.least_accepted_rank = 2;
        fixture_refused(&f, fixture_step(&f, event), HOOP_E_INVALID,
                        "a least rank of 2");
    }
}

/* Over their connections members wait for changes. */
static void
watches_park(struct fixture *f, uint64_t epoch, uint32_t first, uint32_t last)
{
    for (uint32_t client = first; client <= last; client++)
        fixture_step(f, (struct cluster_event){
                            .kind = CLUSTER_WATCH,
                            .client = client,
                            .watch = {.epoch = epoch,
                                      .since = 1,
                                      .question = CLUSTER_NO_QUESTION},
                        });
}

static void
join_fifth_of_four_is_refused(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 4);
    char part[64];

    watches_park(&f, epoch, 1, 4);
    const uint64_t fifth = fixture_join(&f, 5, CLUSTER_RANK_ANY, 4);

    snprintf(part, sizeof(part), "is full: 4 of 4 ranks have joined, epoch %u",
             (unsigned int)epoch);
    fixture_refused(&f, fifth, HOOP_E_PRECONDITION, part);
    assert_non_null(fixture_notice(&f, CLUSTER_NOTICE_REFUSED));
}

static void
join_of_a_job_that_ends_is_to_be_tried_again(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);
    fixture_member(&f, CLUSTER_LEAVE, epoch, 1);
    fixture_refused(&f, fixture_join(&f, 3, CLUSTER_RANK_ANY, 2),
                    HOOP_E_UNAVAILABLE,
                    "; it ends when these have left, too: rank 1 (h:2)");
    fixture_member(&f, CLUSTER_LEAVE, epoch, 2);
    assert_null(fixture_find(&f, fixture_join(&f, 3, CLUSTER_RANK_ANY, 2)));
}

static void
join_for_a_place_whose_holder_is_not_connected_is_to_be_tried_again(
    void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 7);

    watches_park(&f, epoch, 1, 2);
    fixture_refused(
        &f, fixture_join(&f, 8, CLUSTER_RANK_ANY, 7), HOOP_E_UNAVAILABLE,
        "(7 active, 0 left, 0 lost); not connected, and lost unless "
        "they come back before their leases end: rank 2 (h:3), rank 3 "
        "(h:4), rank 4 (h:5), rank 5 (h:6) and 1 more");
    fixture_refused(&f, fixture_join(&f, 8, 2, 7), HOOP_E_UNAVAILABLE,
                    "not connected");
    fixture_refused(&f, fixture_join(&f, 8, 1, 7), HOOP_E_EXISTS,
                    "rank 1 is taken by h:2 at h:1");
    watches_park(&f, epoch, 3, 7);
    fixture_refused(&f, fixture_join(&f, 8, 2, 7), HOOP_E_EXISTS,
                    "rank 2 is taken by h:3");
    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_DISCONNECT, .client = 3});
    fixture_refused(&f, fixture_join(&f, 8, 2, 7), HOOP_E_UNAVAILABLE,
                    "leases end: rank 2 (h:3)");
    /* It comes back over another connection. */
    fixture_step(&f, (struct cluster_event){.kind = CLUSTER_RENEW,
                                            .client = 30,
                                            .renewal.member = {epoch, 3}});
    watches_park(&f, epoch, 30, 30);
    fixture_refused(&f, fixture_join(&f, 8, 2, 7), HOOP_E_EXISTS,
                    "rank 2 is taken by h:3");
}

/* Nobody closes the connections of a host whose power fails. */
static void
join_for_a_place_whose_holder_is_silent_is_to_be_tried_again(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){.lease_ms = 10000});
    watches_park(&f, fixture_world(&f, 2), 1, 2);
    f.now_ns += 4999 * CLOCK_NS_PER_MS;
    fixture_refused(&f, fixture_join(&f, 3, 1, 2), HOOP_E_EXISTS, "is taken");
    f.now_ns += CLOCK_NS_PER_MS;
    fixture_refused(&f, fixture_join(&f, 3, 1, 2), HOOP_E_UNAVAILABLE,
                    "not connected");
}

/* Without a requested_size, of the PID namespace space. */
static struct cluster_event
spaced_join_event(uint32_t number, uint64_t space)
{
    struct cluster_event event =
        fixture_join_event(number, CLUSTER_RANK_ANY, 3);

    event.join.pid_namespace_id = space;
    return event;
}

static uint64_t
spaced_world(struct fixture *f)
{
    const uint64_t spaces[] = {7, 8, 0};
    uint64_t ticket = 0;

    for (uint32_t i = 0; i < 3; i++)
        ticket = fixture_step(f, spaced_join_event(i + 1, spaces[i]));
    return fixture_reply(f, ticket)->world.epoch;
}

static void
join_after_processes_that_have_ended_loses_those_it_can_see(void **state)
{
    const uint8_t ended[] = {1, 1, 1, 1};
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = spaced_world(&f);
    struct cluster_event event = spaced_join_event(4, 7);

    event.join.ended = ended;
    event.join.n_ended = 4;
    event.join.ended_epoch = epoch + 1;
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_UNAVAILABLE,
                    "3 active, 0 left, 0 lost");
    event.join.ended_epoch = epoch;
    event.join.pid_namespace_id = 0;
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_UNAVAILABLE,
                    "3 active, 0 left, 0 lost");
    event.join.pid_namespace_id = 7;
    event.join.n_ended = 0;
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_UNAVAILABLE,
                    "3 active, 0 left, 0 lost");
    event.join.n_ended = 1;
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_UNAVAILABLE,
                    "2 active, 0 left, 1 lost");
    assert_non_null(strstr(fixture_notice(&f, CLUSTER_NOTICE_LOST)->text,
                           "rank 0 (h:1) of job \"a\" is lost: its process has "
                           "ended, reported by h:4, which comes after it"));
    event.join.n_ended = 4;
    event.join.pid_namespace_id = 8;
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_UNAVAILABLE,
                    "1 active, 0 left, 2 lost); it ends when these have left, "
                    "too: rank 2 (h:3)");
}

static void
join_after_all_have_ended_finds_the_name_free(void **state)
{
    const uint8_t ended[] = {1};
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    struct cluster_event event = spaced_join_event(1, 7);

    event.join.world_size = 1;
    const uint64_t first = fixture_step(&f, event);
    const uint64_t epoch = fixture_reply(&f, first)->world.epoch;

    event = spaced_join_event(2, 7);
    event.join.world_size = 1;
    event.join.ended = ended;
    event.join.n_ended = 1;
    event.join.ended_epoch = epoch;
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_UNAVAILABLE, "1 lost");
    assert_non_null(fixture_notice(&f, CLUSTER_NOTICE_ENDED));
    const uint64_t again = fixture_step(&f, event);
    assert_true(fixture_reply(&f, again)->world.epoch > epoch);
    assert_int_equal(fixture_reply(&f, again)->world.size, 1);
}

static void
join_again_replaces_the_parked_one(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t first = fixture_join(&f, 1, 0, 2);
    const uint64_t again = fixture_join(&f, 1, 0, 2);

    fixture_refused(&f, first, HOOP_E_CANCELLED, "joined again");
    assert_null(fixture_find(&f, again));
    assert_int_equal(cluster_counters(f.cluster)->members, 1);
    fixture_join(&f, 2, 1, 2);
    const uint64_t epoch = fixture_reply(&f, again)->world.epoch;
    const uint64_t late = fixture_join(&f, 1, 0, 2);

    assert_int_equal(fixture_reply(&f, late)->world.epoch, epoch);
    assert_int_equal(fixture_reply(&f, late)->world.rank, 0);
}

static void
join_of_the_lost_is_aborted(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t epoch = fixture_world(&f, 2);

    fixture_member(&f, CLUSTER_LEAVE, epoch, 2);
    fixture_refused(&f, fixture_join(&f, 2, 1, 2), HOOP_E_ABORTED,
                    "must join anew");
}

static void
join_bad_fields_are_refused(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event event = fixture_join_event(1, 0, 2);

    fixture_init(&f, &(struct cluster_options){0});
    event.join.host = "a\tb";
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_INVALID, "host");
    event = fixture_join_event(1, 0, 2);
    event.join.address = NULL;
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_INVALID, "address");
    event = fixture_join_event(0, 0, 2);
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_INVALID, "incarnation");
    event = fixture_join_event(1, 0, 2);
    event.join.size_min = 3;
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_INVALID, "smallest");
    event = fixture_join_event(1, 0, LIMIT_RANKS + 1);
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_INVALID, "limit");
    assert_int_equal(cluster_counters(f.cluster)->joins_refused, 5);
}

static void
join_past_its_deadline_is_refused_alone(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;
    struct cluster_event event = fixture_join_event(2, 1, 3);

    fixture_init(&f, &(struct cluster_options){0});
    const uint64_t first = fixture_join(&f, 1, 0, 3);

    event.deadline_ns = f.now_ns;
    fixture_refused(&f, fixture_step(&f, event), HOOP_E_TIMEOUT, "passed");
    assert_null(fixture_find(&f, first));
    assert_int_equal(cluster_counters(f.cluster)->members, 1);
}

static void
join_disconnect_withdraws_it(void **state)
{
    CLEANUP(fixture_deinit) struct fixture f;

    fixture_init(&f, &(struct cluster_options){0});
    fixture_join(&f, 1, 0, 2);
    fixture_step(
        &f, (struct cluster_event){.kind = CLUSTER_DISCONNECT, .client = 1});
    assert_non_null(fixture_notice(&f, CLUSTER_NOTICE_WITHDRAWN));
    assert_int_equal(cluster_counters(f.cluster)->jobs, 0);
    assert_true(cluster_next_deadline_ns(f.cluster) == UINT64_MAX);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(join_wrong_version_names_both),
        cmocka_unit_test(join_taken_rank_names_the_holder),
        cmocka_unit_test(
            join_past_its_deadline_is_told_what_it_would_have_been_before),
        cmocka_unit_test(join_rank_out_of_range_is_refused),
        cmocka_unit_test(join_least_rank_above_the_rank_is_refused),
        cmocka_unit_test(join_fifth_of_four_is_refused),
        cmocka_unit_test(join_of_a_job_that_ends_is_to_be_tried_again),
        cmocka_unit_test(
            join_for_a_place_whose_holder_is_not_connected_is_to_be_tried_again),
        cmocka_unit_test(
            join_for_a_place_whose_holder_is_silent_is_to_be_tried_again),
        cmocka_unit_test(
            join_after_processes_that_have_ended_loses_those_it_can_see),
        cmocka_unit_test(join_after_all_have_ended_finds_the_name_free),
        cmocka_unit_test(join_again_replaces_the_parked_one),
        cmocka_unit_test(join_of_the_lost_is_aborted),
        cmocka_unit_test(join_bad_fields_are_refused),
        cmocka_unit_test(join_past_its_deadline_is_refused_alone),
        cmocka_unit_test(join_disconnect_withdraws_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
