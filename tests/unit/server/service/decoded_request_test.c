/* tests/unit/server/service/decoded_request_test.c - service/decoded_request.c */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "check.h"
#include "rpc/messages/status_messages.h"
#include "service/decoded_request.h"
#include "wire/pack.h"

enum {
    NOW_NS = 1000,
};

/* A request with what pack holds, read at NOW_NS with a minute to go. */
struct fixture {
    struct pack pack;
    struct envelope_request envelope;
    struct decoded_request decoded_request;
    struct cluster_event event;
    uint8_t *body;
};

static void
fixture_init(struct fixture *fixture)
{
    *fixture = (struct fixture){
        .envelope = {.job = "train"},
        .event = {.now_ns = NOW_NS,
                  .deadline_ns = NOW_NS + 60 * CLOCK_NS_PER_S},
    };
    pack_init(&fixture->pack, LIMIT_RPC_MESSAGE);
}

static void
fixture_deinit_at(struct fixture *fixture)
{
    decoded_request_deinit(&fixture->decoded_request);
    pack_deinit(&fixture->pack);
    free(fixture->body);
}

static enum hoop_status
fixture_read(struct fixture *fixture, enum method_id method)
{
    struct message_span *body = &fixture->envelope.body;

    assert_ok(pack_take(&fixture->pack, &fixture->body, &body->n_bytes));
    body->bytes = fixture->body;
    return decoded_request_to_event(&fixture->decoded_request, method,
                                    &fixture->envelope, &fixture->event);
}

static void
join_carries_who_and_brings_its_deadline_closer(void **state)
{
    CLEANUP(fixture_deinit) struct fixture fixture;

    fixture_init(&fixture);
    join_request_encode(&(struct join_request){.incarnation = 9,
                                               .protocol = 1,
                                               .rank = 3,
                                               .world_size = 4,
                                               .size_min = 2,
                                               .settle_ms = 7,
                                               .least_accepted_rank = 8,
                                               .pid_namespace_id = 6,
                                               .deadline_ms = 500,
                                               .pid = 77,
                                               .host = "node",
                                               .address = "10.0.0.1:1"},
                        &fixture.pack);
    assert_ok(fixture_read(&fixture, METHOD_RENDEZVOUS_JOIN));
    assert_int_equal(fixture.event.kind, CLUSTER_JOIN);
    assert_string_equal(fixture.event.job, "train");
    assert_true(fixture.event.deadline_ns == NOW_NS + 500 * CLOCK_NS_PER_MS);
    assert_int_equal(fixture.event.join.incarnation, 9);
    assert_int_equal(fixture.event.join.rank, 3);
    assert_int_equal(fixture.event.join.world_size, 4);
    assert_int_equal(fixture.event.join.size_min, 2);
    assert_int_equal(fixture.event.join.settle_ms, 7);
    assert_int_equal(fixture.event.join.least_accepted_rank, 8);
    assert_int_equal(fixture.event.join.pid_namespace_id, 6);
    assert_int_equal(fixture.event.join.pid, 77);
    assert_string_equal(fixture.event.join.host, "node");
    assert_null(fixture.event.join.host_id);
    assert_string_equal(fixture.event.join.address, "10.0.0.1:1");
}

static void
request_without_a_job_is_for_the_default_one(void **state)
{
    CLEANUP(fixture_deinit) struct fixture fixture;

    fixture_init(&fixture);
    fixture.envelope.job[0] = '\0';
    assert_ok(fixture_read(&fixture, METHOD_STATUS_JOB));
    assert_string_equal(fixture.event.job, "default");
}

static void
job_is_viewed_with_its_members_unless_asked_otherwise(void **state)
{
    CLEANUP(fixture_deinit) struct fixture fixture;

    fixture_init(&fixture);
    assert_ok(fixture_read(&fixture, METHOD_RENDEZVOUS_MEMBERS));
    assert_int_equal(fixture.event.view, CLUSTER_VIEW_WITH_MEMBERS);
    job_request_encode(&(struct job_request){.is_brief = 1}, &fixture.pack);
    assert_ok(fixture_read(&fixture, METHOD_RENDEZVOUS_MEMBERS));
    assert_int_equal(fixture.event.view, CLUSTER_VIEW_BRIEF);
}

static void
join_deadline_beyond_the_call_does_not_extend_it(void **state)
{
    CLEANUP(fixture_deinit) struct fixture fixture;

    fixture_init(&fixture);
    join_request_encode(
        &(struct join_request){.incarnation = 9, .deadline_ms = UINT32_MAX},
        &fixture.pack);
    assert_ok(fixture_read(&fixture, METHOD_RENDEZVOUS_JOIN));
    assert_true(fixture.event.deadline_ns == NOW_NS + 60 * CLOCK_NS_PER_S);
}

static void
swap_says_what_it_expects(void **state)
{
    CLEANUP(fixture_deinit) struct fixture fixture;
    struct store_swap_request swap = {
        .key = "k",
        .expected = {(const uint8_t *)"old", 3},
        .value = {(const uint8_t *)"new", 3},
    };

    fixture_init(&fixture);
    store_swap_request_encode(&swap, &fixture.pack);
    assert_ok(fixture_read(&fixture, METHOD_STORE_COMPARE_SET));
    assert_int_equal(fixture.event.kind, CLUSTER_STORE_SWAP);
    assert_int_equal(fixture.event.write.expect, CLUSTER_EXPECT_VALUE);
    assert_int_equal(fixture.event.write.n_expected, 3);
    assert_memory_equal(fixture.event.write.expected, "old", 3);
    assert_memory_equal(fixture.event.write.value, "new", 3);
}

static void
keys_are_texts(void **state)
{
    const char *keys[] = {"a", "b/c"};
    CLEANUP(fixture_deinit) struct fixture fixture;

    fixture_init(&fixture);
    store_keys_request_encode(
        &(struct store_keys_request){.n_keys = 2, .keys = keys}, &fixture.pack);
    assert_ok(fixture_read(&fixture, METHOD_STORE_WAIT));
    assert_int_equal(fixture.event.kind, CLUSTER_STORE_WAIT);
    assert_int_equal(fixture.event.keys.n_keys, 2);
    assert_string_equal(fixture.event.keys.keys[1], "b/c");
}

static void
group_carries_its_creator_and_ranks(void **state)
{
    uint32_t ranks[] = {2, 0};
    CLEANUP(fixture_deinit) struct fixture fixture;

    fixture_init(&fixture);
    group_create_request_encode(
        &(struct group_create_request){{5, 9}, "row", 2, ranks}, &fixture.pack);
    assert_ok(fixture_read(&fixture, METHOD_GROUPS_CREATE));
    assert_int_equal(fixture.event.kind, CLUSTER_GROUP_CREATE);
    assert_int_equal(fixture.event.group.creator.epoch, 5);
    assert_int_equal(fixture.event.group.creator.incarnation, 9);
    assert_int_equal(fixture.event.group.n_ranks, 2);
    assert_int_equal(fixture.event.group.ranks[0], 2);
}

static void
vote_carries_what_its_member_says(void **state)
{
    CLEANUP(fixture_deinit) struct fixture fixture;

    fixture_init(&fixture);
    group_agree_request_encode(
        &(struct group_agree_request){{5, 9}, 4, GROUP_CONFIRM, 2, 6, 7, 8},
        &fixture.pack);
    assert_ok(fixture_read(&fixture, METHOD_GROUPS_AGREE));
    assert_int_equal(fixture.event.kind, CLUSTER_VOTE);
    assert_int_equal(fixture.event.vote.member.epoch, 5);
    assert_int_equal(fixture.event.vote.member.incarnation, 9);
    assert_int_equal(fixture.event.vote.communicator, 4);
    assert_int_equal(fixture.event.vote.kind, CLUSTER_VOTE_CONFIRM);
    assert_int_equal(fixture.event.vote.turn, 2);
    assert_int_equal(fixture.event.vote.flags, 6);
    assert_int_equal(fixture.event.vote.least, 7);
    assert_int_equal(fixture.event.vote.number, 8);
}

static void
group_slot_carries_its_member_and_numbers(void **state)
{
    uint32_t ranks[] = {2, 0};
    uint64_t numbers[] = {4, 7};
    CLEANUP(fixture_deinit) struct fixture joins;
    CLEANUP(fixture_deinit) struct fixture leaves;

    fixture_init(&joins);
    group_join_request_encode(&(struct group_join_request){{5, 9}, 3, 2, ranks},
                              &joins.pack);
    assert_ok(fixture_read(&joins, METHOD_GROUPS_JOIN));
    assert_int_equal(joins.event.kind, CLUSTER_GROUP_JOIN);
    assert_int_equal(joins.event.group_slot.member.epoch, 5);
    assert_int_equal(joins.event.group_slot.member.incarnation, 9);
    assert_int_equal(joins.event.group_slot.number, 3);
    assert_int_equal(joins.event.group_slot.n_ranks, 2);
    assert_int_equal(joins.event.group_slot.ranks[0], 2);

    fixture_init(&leaves);
    group_leave_request_encode(
        &(struct group_leave_request){{5, 9}, 2, numbers, 1}, &leaves.pack);
    assert_ok(fixture_read(&leaves, METHOD_GROUPS_LEAVE));
    assert_int_equal(leaves.event.kind, CLUSTER_GROUP_LEAVE);
    assert_int_equal(leaves.event.group_slot.member.incarnation, 9);
    assert_int_equal(leaves.event.group_slot.n_numbers, 2);
    assert_true(leaves.event.group_slot.is_withdrawal);
    assert_int_equal(leaves.event.group_slot.numbers[1], 7);
}

static void
body_of_another_method_is_refused(void **state)
{
    CLEANUP(fixture_deinit) struct fixture fixture;

    fixture_init(&fixture);
    group_key_request_encode(&(struct group_key_request){"row"}, &fixture.pack);
    assert_int_equal(fixture_read(&fixture, METHOD_RENDEZVOUS_RENEW),
                     HOOP_E_DATA_LOSS);
}

/* A method that is new in the table must have its reader. */
static void
every_method_that_is_the_cores_has_a_reader(void **state)
{
    for (size_t i = 0; i < METHOD_COUNT; i++) {
        CLEANUP(fixture_deinit) struct fixture fixture;
        const enum method_id id = method_by_id((enum method_id)i)->id;

        fixture_init(&fixture);
        const enum hoop_status status = decoded_request_to_event(
            &fixture.decoded_request, id, &fixture.envelope, &fixture.event);
        if (id == METHOD_HEALTH_CHECK || id == METHOD_AUTH_CHALLENGE ||
            id == METHOD_AUTH_PROVE)
            assert_int_equal(status, HOOP_E_UNIMPLEMENTED);
        else
            assert_int_not_equal(status, HOOP_E_UNIMPLEMENTED);
    }
}

static void
request_needs_the_role_of_its_method(void **state)
{
    static const enum method_id bodiless[] = {
        METHOD_RENDEZVOUS_MEMBERS, METHOD_STATUS_JOBS, METHOD_STATUS_JOB};

    for (size_t i = 0; i < COUNT_OF(bodiless); i++) {
        CLEANUP(fixture_deinit) struct fixture fixture;

        fixture_init(&fixture);
        assert_ok(fixture_read(&fixture, bodiless[i]));
        assert_int_equal(fixture.event.role, method_by_id(bodiless[i])->role);
    }
}

static void
parked_reply_leaves_before_its_deadline(void **state)
{
    const uint64_t now_ns = CLOCK_NS_PER_S;

    assert_true(decoded_request_reply_by_ns(CLOCK_NEVER, now_ns) ==
                CLOCK_NEVER);
    assert_true(decoded_request_reply_by_ns(now_ns - 1, now_ns) == now_ns - 1);
    assert_true(decoded_request_reply_by_ns(now_ns + 1000, now_ns) ==
                now_ns + 900);
    assert_true(
        decoded_request_reply_by_ns(now_ns + 60 * CLOCK_NS_PER_S, now_ns) ==
        now_ns + 60 * CLOCK_NS_PER_S - 500 * CLOCK_NS_PER_MS);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(join_carries_who_and_brings_its_deadline_closer),
        cmocka_unit_test(request_without_a_job_is_for_the_default_one),
        cmocka_unit_test(job_is_viewed_with_its_members_unless_asked_otherwise),
        cmocka_unit_test(join_deadline_beyond_the_call_does_not_extend_it),
        cmocka_unit_test(swap_says_what_it_expects),
        cmocka_unit_test(keys_are_texts),
        cmocka_unit_test(group_carries_its_creator_and_ranks),
        cmocka_unit_test(vote_carries_what_its_member_says),
        cmocka_unit_test(group_slot_carries_its_member_and_numbers),
        cmocka_unit_test(body_of_another_method_is_refused),
        cmocka_unit_test(every_method_that_is_the_cores_has_a_reader),
        cmocka_unit_test(request_needs_the_role_of_its_method),
        cmocka_unit_test(parked_reply_leaves_before_its_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
