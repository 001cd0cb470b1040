/* tests/unit/common/rpc/messages/status_messages_test.c - Status */

#include <stdlib.h>

#include "base/cleanup.h"
#include "bodies.h"
#include "check.h"
#include "rpc/messages/status_messages.h"
#include "wire/pack.h"

static struct job_member sample_members[] = {
    {0, 70, 1, "node-1", "10.0.0.1:7000", "active", 9000, 5, "", 0},
    {1, 71, 2, "node-2", "10.0.0.2:7000", "lost", 0, UINT64_MAX,
     "raised ValueError", 5},
};

static struct rank_activity sample_activities[] = {
    {"", "allreduce #7", "world", "rank 1", 7, 5000, 2},
    {"it is lost", "", "", "", 0, 0, 0},
};

static const struct job_reply sample_job = {
    .line = {"train", "running", 3, 2, 1, 1, 0, 5000},
    .membership_epoch = 4,
    .revision = 6,
    .n_groups = 1,
    .n_keys = 2,
    .n_store_bytes = 300,
    .n_waiters = 1,
    .n_members = 2,
    .members = sample_members,
    .size_min = 2,
    .missing = "ranks 0, 3",
    .hosts = "node-1, node-2",
    .activities = sample_activities,
};

static void
job_reply_travels_whole(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    CLEANUP(job_reply_deinit) struct job_reply reply = {0};
    size_t n_bytes = 0;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    job_reply_encode(&sample_job, &pack);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_ok(job_reply_decode((struct message_span){bytes, n_bytes}, &reply));
    assert_string_equal(reply.line.name, "train");
    assert_string_equal(reply.line.state, "running");
    assert_int_equal(reply.line.n_lost, 1);
    assert_int_equal(reply.line.age_ms, 5000);
    assert_int_equal(reply.membership_epoch, 4);
    assert_int_equal(reply.revision, 6);
    assert_int_equal(reply.n_store_bytes, 300);
    assert_int_equal(reply.n_members, 2);
    assert_string_equal(reply.members[1].state, "lost");
    assert_int_equal(reply.members[0].lease_left_ms, 9000);
    assert_int_equal(reply.members[0].pid_namespace_id, 5);
    assert_true(reply.members[1].pid_namespace_id == UINT64_MAX);
    assert_string_equal(reply.members[0].reason, "");
    assert_string_equal(reply.members[1].reason, "raised ValueError");
    assert_int_equal(reply.members[1].given_up_revision, 5);
    assert_int_equal(reply.size_min, 2);
    assert_string_equal(reply.missing, "ranks 0, 3");
    assert_string_equal(reply.hosts, "node-1, node-2");
    assert_string_equal(reply.activities[0].silence, "");
    assert_string_equal(reply.activities[0].call, "allreduce #7");
    assert_string_equal(reply.activities[0].communicator, "world");
    assert_string_equal(reply.activities[0].waits_for, "rank 1");
    assert_int_equal(reply.activities[0].number, 7);
    assert_int_equal(reply.activities[0].age_ms, 5000);
    assert_int_equal(reply.activities[0].n_calls, 2);
    assert_string_equal(reply.activities[1].silence, "it is lost");
}

/* As a coordinator wrote it that knew eight fields. */
static void
job_reply_of_an_older_coordinator_says_less(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    CLEANUP(job_reply_deinit) struct job_reply reply = {0};
    size_t n_bytes = 0;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    pack_array(&pack, 8);
    pack_array(&pack, 8);
    pack_str(&pack, "train");
    pack_str(&pack, "forming");
    for (uint32_t i = 0; i < 6 + 6; i++)
        pack_uint(&pack, i);
    pack_array(&pack, 0);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_ok(job_reply_decode((struct message_span){bytes, n_bytes}, &reply));
    assert_string_equal(reply.line.state, "forming");
    assert_int_equal(reply.line.size, 1);
    assert_int_equal(reply.n_waiters, 11);
    assert_int_equal(reply.size_min, 0);
    assert_string_equal(reply.missing, "");
    assert_string_equal(reply.hosts, "");
}

static void
operator_bodies_hold_the_rules_of_bodies(void **state)
{
    struct job_summary lines[] = {sample_job.line, sample_job.line};
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    job_reply_encode(&sample_job, &pack);
    body_check("job_reply", &pack);
    job_request_encode(&(struct job_request){1, 1, 1}, &pack);
    body_check("job_request", &pack);
    jobs_reply_encode(&(struct jobs_reply){"0.1.0", 77777, HEALTH_SERVING, 2,
                                           lines, 1700000000000},
                      &pack);
    body_check("jobs_reply", &pack);
    health_request_encode(&(struct health_request){"hoop.v1.Store"}, &pack);
    body_check("health_request", &pack);
    health_reply_encode(&(struct health_reply){HEALTH_NOT_SERVING}, &pack);
    body_check("health_reply", &pack);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_reply_travels_whole),
        cmocka_unit_test(job_reply_of_an_older_coordinator_says_less),
        cmocka_unit_test(operator_bodies_hold_the_rules_of_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
