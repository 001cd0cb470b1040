/* tests/unit/common/rpc/messages/rendezvous_messages_test.c - Rendezvous */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "bodies.h"
#include "check.h"
#include "rpc/messages/rendezvous_messages.h"
#include "wire/pack.h"

static const uint8_t sample_ended[] = {1, 0, 1};

static const struct join_request sample_join = {
    .incarnation = UINT64_MAX,
    .protocol = RENDEZVOUS_PROTOCOL,
    .rank = UINT32_MAX,
    .least_accepted_rank = 3,
    .world_size = 4,
    .size_min = 2,
    .settle_ms = 500,
    .deadline_ms = 60000,
    .pid = 77,
    .host = "node-1",
    .host_id = "a1b2",
    .address = "10.0.0.1:7000",
    .pid_namespace_id = UINT64_MAX - 1,
    .ended_epoch = 6,
    .ended = {sample_ended, sizeof(sample_ended)},
    .root = "a",
    .membership = UINT64_MAX - 2,
    .rank_use = JOIN_RANK_PREFERRED,
};

static struct roster_member sample_roster[] = {
    {0, 70, 1, "node-1", "a1b2", "10.0.0.1:7000", 5},
    {1, 71, 2, "node-2", "", "[fe80::1]:7000", 0},
};

static const struct join_reply sample_reply = {
    .epoch = 3,
    .revision = 9,
    .world = 0,
    .seed = 0x0123456789abcdef,
    .rank = 1,
    .size = 2,
    .lease_ms = 10000,
    .n_members = 2,
    .roster = sample_roster,
    .job = "a+1",
};

static void
join_request_travels_whole(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    struct join_request request;
    size_t n_bytes = 0;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    join_request_encode(&sample_join, &pack);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_ok(
        join_request_decode((struct message_span){bytes, n_bytes}, &request));
    assert_true(request.incarnation == UINT64_MAX);
    assert_int_equal(request.protocol, RENDEZVOUS_PROTOCOL);
    assert_true(request.rank == RENDEZVOUS_RANK_ANY);
    assert_int_equal(request.least_accepted_rank, 3);
    assert_true(request.pid_namespace_id == UINT64_MAX - 1);
    assert_int_equal(request.world_size, 4);
    assert_int_equal(request.size_min, 2);
    assert_int_equal(request.settle_ms, 500);
    assert_int_equal(request.deadline_ms, 60000);
    assert_int_equal(request.pid, 77);
    assert_string_equal(request.host, "node-1");
    assert_string_equal(request.host_id, "a1b2");
    assert_string_equal(request.address, "10.0.0.1:7000");
    assert_int_equal(request.ended_epoch, 6);
    assert_int_equal(request.ended.n_bytes, 3);
    assert_memory_equal(request.ended.bytes, sample_ended, 3);
    assert_string_equal(request.root, "a");
    assert_true(request.membership == UINT64_MAX - 2);
    assert_int_equal(request.rank_use, JOIN_RANK_PREFERRED);
}

static void
join_reply_travels_whole(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    CLEANUP(join_reply_deinit) struct join_reply reply = {0};
    size_t n_bytes = 0;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    join_reply_encode(&sample_reply, &pack);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_ok(join_reply_decode((struct message_span){bytes, n_bytes}, &reply));
    assert_int_equal(reply.epoch, 3);
    assert_int_equal(reply.revision, 9);
    assert_true(reply.seed == sample_reply.seed);
    assert_int_equal(reply.rank, 1);
    assert_int_equal(reply.size, 2);
    assert_int_equal(reply.lease_ms, 10000);
    assert_int_equal(reply.n_members, 2);
    assert_int_equal(reply.roster[1].rank, 1);
    assert_int_equal(reply.roster[1].pid, 71);
    assert_int_equal(reply.roster[1].incarnation, 2);
    assert_string_equal(reply.roster[0].host_id, "a1b2");
    assert_string_equal(reply.roster[1].address, "[fe80::1]:7000");
    assert_string_equal(reply.job, "a+1");
}

/* As workers sent it that knew none. */
static void
join_request_without_a_least_rank_is_read(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    struct join_request request = sample_join;
    size_t n_bytes = 0;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    pack_array(&pack, 11);
    for (int i = 0; i < 8; i++)
        pack_uint(&pack, 1);
    for (int i = 0; i < 3; i++)
        pack_str(&pack, "h");
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_ok(
        join_request_decode((struct message_span){bytes, n_bytes}, &request));
    assert_string_equal(request.address, "h");
    assert_int_equal(request.least_accepted_rank, 0);
    assert_int_equal(request.pid_namespace_id, 0);
    assert_int_equal(request.ended_epoch, 0);
    assert_int_equal(request.ended.n_bytes, 0);
}

static void
join_request_host_too_long_is_refused(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    char host[LIMIT_NAME + 1];
    struct join_request request = sample_join;
    size_t n_bytes = 0;

    memset(host, 'h', sizeof(host) - 1);
    host[sizeof(host) - 1] = '\0';
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    pack_array(&pack, 11);
    for (int i = 0; i < 8; i++)
        pack_uint(&pack, 1);
    pack_str(&pack, host);
    pack_str(&pack, "");
    pack_str(&pack, "");
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_int_equal(
        join_request_decode((struct message_span){bytes, n_bytes}, &request),
        HOOP_E_DATA_LOSS);
    assert_string_equal(request.host, "node-1");
}

static void
join_reply_roster_count_without_bytes_is_refused(void **state)
{
    /* [0,0,0,0,0,0,0, array of 2^32-1] */
    static const uint8_t bomb[] = {0x98, 0,    0,    0,    0,    0,   0,
                                   0,    0xdd, 0xff, 0xff, 0xff, 0xff};
    struct join_reply reply;

    assert_int_equal(
        join_reply_decode((struct message_span){bomb, sizeof(bomb)}, &reply),
        HOOP_E_DATA_LOSS);
}

static const struct rank_totals sample_totals = {
    .calls = 1,
    .bytes_sent = 300,
    .bytes_received = 70000,
    .wait_collective_us = 5000000000,
    .wait_message_us = 5,
    .wait_forming_us = 6,
    .join_us = 7,
    .failures_timeout = 8,
    .failures_lost = 9,
    .failures_mismatch = 10,
    .failures_cancelled = 11,
    .failures_other = UINT64_MAX,
};

/* The bytes are those that docs/rpc.md describes. */
static void
totals_are_at_the_end_of_a_renewal(void **state)
{
    static const uint8_t end[] = {
        0x9c, 0x01, 0xcd, 0x01, 0x2c, 0xce, 0x00, 0x01, 0x11, 0x70, 0xcf, 0x00,
        0x00, 0x00, 0x01, 0x2a, 0x05, 0xf2, 0x00, 0x05, 0x06, 0x07, 0x08, 0x09,
        0x0a, 0x0b, 0xcf, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    };
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes = 0;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    renew_request_encode(
        &(struct renew_request){{3, 5}, .totals = sample_totals}, &pack);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_true(n_bytes > sizeof(end));
    assert_memory_equal(bytes + n_bytes - sizeof(end), end, sizeof(end));
}

/* Workers of an earlier version tell none, and what they do tell is read. */
static void
member_requests_without_totals_are_read(void **state)
{
    static const uint8_t leave[] = {0x92, 0x03, 0x05};
    static const uint8_t renew[] = {0x96, 0x03, 0x05, 0x09, 0xc4, 0x01,
                                    0x02, 0x04, 0x97, 0xa0, 0xa1, 'c',
                                    0xa0, 0xa1, 'w',  0x07, 0x08, 0x01};
    static const struct rank_totals none;
    struct leave_request left;
    struct renew_request renewed;

    assert_ok(leave_request_decode((struct message_span){leave, sizeof(leave)},
                                   &left));
    assert_int_equal(left.member.incarnation, 5);
    assert_memory_equal(&left.totals, &none, sizeof(none));
    assert_int_equal(left.failure.n_bytes, 0);
    assert_ok(renew_request_decode((struct message_span){renew, sizeof(renew)},
                                   &renewed));
    assert_int_equal(renewed.activity_query, 4);
    assert_int_equal(renewed.activity.age_ms, 8);
    assert_memory_equal(&renewed.totals, &none, sizeof(none));
}

/* Details of an activity are within it, so totals are behind both, and each may
 * come without the other. */
static void
details_of_an_activity_do_not_move_totals(void **state)
{
    /* Epoch to activity query, an activity, and the totals. */
    static const uint8_t renew[] = {
        0x97, 0x03, 0x05, 0x00, 0xc4, 0x00, 0x04,             /* member */
        0x9a, 0xa0, 0xa1, 'c',  0xa0, 0xa1, 'w',  0x07, 0x08, /* activity */
        0x01, 0x3c, 0x03, 0xc4, 0x02, 'd',  '2',              /* its end */
        0x9c, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0x08, /* totals */
        0x09, 0x0a, 0x0b, 0x0c,
    };
    static const uint8_t renew_without_details[] = {
        0x97, 0x03, 0x05, 0x00, 0xc4, 0x00, 0x04,             /* member */
        0x97, 0xa0, 0xa1, 'c',  0xa0, 0xa1, 'w',  0x07, 0x08, /* activity */
        0x01, 0x9c, 0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, /* totals */
        0x08, 0x09, 0x0a, 0x0b, 0x0c,
    };
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes = 0;
    struct renew_request request;

    assert_ok(renew_request_decode((struct message_span){renew, sizeof(renew)},
                                   &request));
    assert_int_equal(request.activity.n_calls, 1);
    assert_int_equal(request.activity.last_sign_ms, 60);
    assert_int_equal(request.activity.missing_rank, 3);
    assert_int_equal(request.activity.details.n_bytes, 2);
    assert_memory_equal(request.activity.details.bytes, "d2", 2);
    assert_int_equal(request.totals.calls, 1);
    assert_int_equal(request.totals.failures_other, 12);
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    renew_request_encode(&request, &pack);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_int_equal(n_bytes, sizeof(renew));
    assert_memory_equal(bytes, renew, sizeof(renew));

    assert_ok(renew_request_decode(
        (struct message_span){renew_without_details,
                              sizeof(renew_without_details)},
        &request));
    assert_int_equal(request.activity.n_calls, 1);
    assert_int_equal(request.activity.details.n_bytes, 0);
    assert_int_equal(request.totals.calls, 1);
    assert_int_equal(request.totals.failures_other, 12);
}

/* Whoever says nothing of recordings passes none on, and asks for none. */
static void
watch_of_an_earlier_version_has_no_recording(void **state)
{
    static const uint8_t request[] = {0x94, 0x03, 0x02, 0x09, 0x04};
    static const uint8_t reply[] = {0x95, 0x03, 0x02, 0x90, 0x08, 0x04};
    CLEANUP(watch_reply_deinit) struct watch_reply told = {0};
    struct watch_request watch;

    assert_ok(watch_request_decode(
        (struct message_span){request, sizeof(request)}, &watch));
    assert_int_equal(watch.activity_query, 4);
    assert_true(watch.recording_query == WATCH_NO_QUESTION);
    assert_ok(
        watch_reply_decode((struct message_span){reply, sizeof(reply)}, &told));
    assert_int_equal(told.activity_query, 4);
    assert_int_equal(told.recording_query, 0);
}

/* A coordinator of an earlier version does not say what its clock shows. */
static void
lease_reply_ends_with_the_clock_if_there_is_one(void **state)
{
    static const uint8_t reply[] = {
        0x94, 0x03, 0xcd, 0x01, 0x2c, 0xcd, 0x27, 0x10, /* as before */
        0xcf, 0x17, 0x97, 0x9c, 0xfe, 0x36, 0x2a, 0x00, 0x00,
    };
    static const uint8_t former[] = {0x93, 0x03, 0xcd, 0x01,
                                     0x2c, 0xcd, 0x27, 0x10};
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    size_t n_bytes = 0;
    struct lease_reply decoded;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    lease_reply_encode(
        &(struct lease_reply){3, 300, 10000, 1700000000000000000}, &pack);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_int_equal(n_bytes, sizeof(reply));
    assert_memory_equal(bytes, reply, n_bytes);
    assert_ok(lease_reply_decode((struct message_span){reply, sizeof(reply)},
                                 &decoded));
    assert_int_equal(decoded.clock_ns, 1700000000000000000);
    assert_ok(lease_reply_decode((struct message_span){former, sizeof(former)},
                                 &decoded));
    assert_int_equal(decoded.lease_ms, 10000);
    assert_int_equal(decoded.clock_ns, 0);
}

static void
rendezvous_bodies_hold_the_rules_of_bodies(void **state)
{
    struct watch_event events[] = {
        {WATCH_FORMED, 4, 1, 1, 0, 10, 0, "", "", 0},
        {WATCH_LOST, 2, 2, 2, 99, 0, 71, "node-2", "lease expired", 6},
    };
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    join_request_encode(&sample_join, &pack);
    body_check("join_request", &pack);
    join_reply_encode(&sample_reply, &pack);
    body_check("join_reply", &pack);
    leave_request_encode(&(struct leave_request){{3, UINT64_MAX},
                                                 sample_totals,
                                                 {(const uint8_t *)"\x90", 1}},
                         &pack);
    body_check("leave_request", &pack);
    renew_request_encode(
        &(struct renew_request){{3, 5},
                                9,
                                {(const uint8_t *)"\0\1\4", 3},
                                4,
                                {"",
                                 "barrier #7",
                                 "",
                                 "rank 1",
                                 7,
                                 5000,
                                 2,
                                 60,
                                 3,
                                 {(const uint8_t *)"details", 7}},
                                sample_totals},
        &pack);
    body_check("renew_request", &pack);
    lease_reply_encode(
        &(struct lease_reply){3, 300, 10000, 1700000000000000000}, &pack);
    body_check("lease_reply", &pack);
    report_request_encode(
        &(struct report_request){{3, 5}, 2, 99, "connection reset", 4, 20},
        &pack);
    body_check("report_request", &pack);
    watch_request_encode(&(struct watch_request){3, 70000, 9, 4, 6}, &pack);
    body_check("watch_request", &pack);
    watch_reply_encode(&(struct watch_reply){3, 2, 2, events, 8, 4, 6, 1},
                       &pack);
    body_check("watch_reply", &pack);
    recording_answer_encode(
        &(struct recording_answer){
            {3, 5}, 6, {(const uint8_t *)"HOOP", 4}, "there is none"},
        &pack);
    body_check("recording_answer", &pack);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(join_request_travels_whole),
        cmocka_unit_test(join_reply_travels_whole),
        cmocka_unit_test(join_request_without_a_least_rank_is_read),
        cmocka_unit_test(join_request_host_too_long_is_refused),
        cmocka_unit_test(join_reply_roster_count_without_bytes_is_refused),
        cmocka_unit_test(totals_are_at_the_end_of_a_renewal),
        cmocka_unit_test(member_requests_without_totals_are_read),
        cmocka_unit_test(details_of_an_activity_do_not_move_totals),
        cmocka_unit_test(watch_of_an_earlier_version_has_no_recording),
        cmocka_unit_test(lease_reply_ends_with_the_clock_if_there_is_one),
        cmocka_unit_test(rendezvous_bodies_hold_the_rules_of_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
