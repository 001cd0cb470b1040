/* tests/unit/common/rpc/messages/status_messages_test.c - Status */

#include <stdlib.h>
#include <string.h>

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
    {"",
     "allreduce #7",
     "world",
     "rank 1",
     7,
     5000,
     2,
     1200,
     STATUS_RANK_NONE,
     {(const uint8_t *)"details", 7}},
    {"it is lost", "", "", "", 0, 0, 0, STATUS_TIME_UNKNOWN, 3, {NULL, 0}},
};

static struct rank_process sample_processes[] = {
    {0, 'S', "read", 0},
    {1, 'T', "", 2048},
};

static struct rank_wait sample_waits[] = {{1, 30000}, {2, 100}};

static struct rank_asker sample_askers[] = {{3, 40}};

static const struct activity_details sample_details = {
    .communicator_id = 9,
    .awaited_rank = 1,
    .awaited_doing = AWAITED_IN_OTHER_CALL,
    .awaited_sign = AWAITED_LIVES,
    .awaited_call = "barrier #2",
    .awaited_silence_ms = 120,
    .n_done_bytes = 8,
    .n_bytes = 32,
    .finished = "barrier #1 of 'world'",
    .failure = "differs",
    .failure_status = HOOP_E_MISMATCH,
    .n_processes = 2,
    .processes = sample_processes,
    .n_waits = 2,
    .waits = sample_waits,
    .n_askers = 1,
    .askers = sample_askers,
    .stack = {(const uint8_t *)"a.py:1 in f", sizeof("a.py:1 in f")},
    .recent_ms = 2800,
    .n_recent_waits = 1,
    .recent_waits = sample_waits,
    .moving_ms = 70,
    .backlog_rank = 2,
    .backlog_ms = 300,
    .receive_tag = 8,
    .sent_tag = 9,
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
    assert_int_equal(reply.activities[0].last_sign_ms, 1200);
    assert_int_equal(reply.activities[0].missing_rank, STATUS_RANK_NONE);
    assert_int_equal(reply.activities[0].details.n_bytes, 7);
    assert_string_equal(reply.activities[1].silence, "it is lost");
    assert_int_equal(reply.activities[1].missing_rank, 3);
    assert_int_equal(reply.activities[1].details.n_bytes, 0);
}

/* As a rank wrote it that knew seven fields. */
static void
activity_of_an_older_rank_says_less(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    struct rank_activity activity = {0};
    size_t n_bytes = 0;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    pack_array(&pack, 7);
    pack_str(&pack, "");
    pack_str(&pack, "allreduce #7");
    pack_str(&pack, "world");
    pack_str(&pack, "rank 1");
    for (uint32_t i = 0; i < 3; i++)
        pack_uint(&pack, i);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_ok(
        rank_activity_decode((struct message_span){bytes, n_bytes}, &activity));
    assert_string_equal(activity.call, "allreduce #7");
    assert_int_equal(activity.n_calls, 2);
    assert_true(activity.last_sign_ms == STATUS_TIME_UNKNOWN);
    assert_int_equal(activity.missing_rank, STATUS_RANK_NONE);
    assert_int_equal(activity.details.n_bytes, 0);
}

static void
activity_details_travel_whole(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    CLEANUP(activity_details_deinit) struct activity_details details = {0};
    size_t n_bytes = 0;

    pack_init(&pack, LIMIT_ACTIVITY_DETAILS);
    activity_details_encode(&sample_details, &pack);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_ok(activity_details_decode((struct message_span){bytes, n_bytes},
                                      &details));
    assert_int_equal(details.communicator_id, 9);
    assert_int_equal(details.awaited_rank, 1);
    assert_int_equal(details.awaited_doing, AWAITED_IN_OTHER_CALL);
    assert_int_equal(details.awaited_sign, AWAITED_LIVES);
    assert_string_equal(details.awaited_call, "barrier #2");
    assert_int_equal(details.awaited_silence_ms, 120);
    assert_int_equal(details.n_done_bytes, 8);
    assert_int_equal(details.n_bytes, 32);
    assert_string_equal(details.finished, "barrier #1 of 'world'");
    assert_string_equal(details.failure, "differs");
    assert_int_equal(details.failure_status, HOOP_E_MISMATCH);
    assert_int_equal(details.n_processes, 2);
    assert_string_equal(details.processes[0].where, "read");
    assert_int_equal(details.processes[1].state, 'T');
    assert_int_equal(details.processes[1].swapped_kib, 2048);
    assert_int_equal(details.n_waits, 2);
    assert_int_equal(details.waits[0].wait_ms, 30000);
    assert_int_equal(details.n_askers, 1);
    assert_int_equal(details.askers[0].age_ms, 40);
    assert_int_equal(details.recent_ms, 2800);
    assert_int_equal(details.n_recent_waits, 1);
    assert_int_equal(details.recent_waits[0].rank, 1);
    assert_int_equal(details.moving_ms, 70);
    assert_int_equal(details.backlog_rank, 2);
    assert_int_equal(details.backlog_ms, 300);
    assert_int_equal(details.receive_tag, 8);
    assert_int_equal(details.sent_tag, 9);
    assert_string_equal(status_span_text(details.stack), "a.py:1 in f");
}

/* A text of a stranger that has no end is none. */
static void
span_without_a_final_0_holds_no_text(void **state)
{
    const uint8_t bytes[] = {'a', 'b', 0};

    assert_string_equal(status_span_text((struct message_span){bytes, 3}),
                        "ab");
    assert_string_equal(status_span_text((struct message_span){bytes, 2}), "");
    assert_string_equal(status_span_text((struct message_span){NULL, 0}), "");
}

/* The longest answer of a rank fits into its bound. */
static void
longest_activity_details_fit(void **state)
{
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    struct rank_process processes[LIMIT_ACTIVITY_PROCESSES];
    struct rank_wait waits[LIMIT_ACTIVITY_WAITS];
    struct rank_asker askers[LIMIT_ACTIVITY_ASKERS];
    struct activity_details details = sample_details;
    char stack[LIMIT_PROGRAM_STACK] = "";
    size_t n_bytes = 0;

    details.stack = (struct message_span){(uint8_t *)stack, sizeof(stack)};
    for (size_t i = 0; i < COUNT_OF(processes); i++) {
        processes[i] = (struct rank_process){UINT32_MAX, 'S', "", UINT64_MAX};
        /* As long as a process tells it. */
        memset(processes[i].where, 'w', 47);
    }
    for (size_t i = 0; i < COUNT_OF(waits); i++)
        waits[i] = (struct rank_wait){UINT32_MAX, UINT64_MAX};
    memset(details.awaited_call, 'a', sizeof(details.awaited_call) - 1);
    memset(details.finished, 'f', sizeof(details.finished) - 1);
    memset(details.failure, 'x', sizeof(details.failure) - 1);
    details.n_processes = COUNT_OF(processes);
    details.processes = processes;
    details.n_waits = COUNT_OF(waits);
    details.waits = waits;
    details.n_recent_waits = COUNT_OF(waits);
    details.recent_waits = waits;
    for (size_t i = 0; i < COUNT_OF(askers); i++)
        askers[i] = (struct rank_asker){UINT32_MAX, UINT64_MAX};
    details.n_askers = COUNT_OF(askers);
    details.askers = askers;
    details.receive_tag = details.sent_tag = UINT64_MAX;
    pack_init(&pack, LIMIT_ACTIVITY_DETAILS);
    activity_details_encode(&details, &pack);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
}

static void
why_reply_holds_the_rules_of_bodies(void **state)
{
    uint32_t culprits[] = {1};
    uint32_t order[] = {1, 0};
    struct why_rank ranks[] = {
        {.awaited_call = "", .where = "", .finished = "f", .failure = ""},
        {.awaited_call = "a", .where = "read", .finished = "", .failure = "x"},
    };
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    activity_details_encode(&sample_details, &pack);
    body_check("activity_details", &pack);
    why_reply_encode(&(struct why_reply){.kind = "stopped",
                                         .sentence = "Rank 1 is stopped.",
                                         .advice = "Continue it.",
                                         .is_held_up = 1,
                                         .n_culprits = 1,
                                         .culprits = culprits,
                                         .job = sample_job,
                                         .n_ranks = 2,
                                         .ranks = ranks,
                                         .n_order = 2,
                                         .order = order},
                     &pack);
    body_check("why_reply", &pack);
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
    recording_request_encode(&(struct recording_request){2, 3}, &pack);
    body_check("recording_request", &pack);
    recording_reply_encode(
        &(struct recording_reply){{(const uint8_t *)"HOOP", 4}}, &pack);
    body_check("recording_reply", &pack);
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
        cmocka_unit_test(activity_of_an_older_rank_says_less),
        cmocka_unit_test(activity_details_travel_whole),
        cmocka_unit_test(span_without_a_final_0_holds_no_text),
        cmocka_unit_test(longest_activity_details_fit),
        cmocka_unit_test(why_reply_holds_the_rules_of_bodies),
        cmocka_unit_test(operator_bodies_hold_the_rules_of_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
