/* tests/unit/server/service/reply_encode_test.c - service/reply_encode.c */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/evidence.h"
#include "check.h"
#include "rpc/messages/group_messages.h"
#include "rpc/messages/rendezvous_messages.h"
#include "rpc/messages/status_messages.h"
#include "rpc/messages/store_messages.h"
#include "service/reply_encode.h"
#include "wire/pack.h"

static struct encoded_roster shared_roster;
static const struct reply_encode_context context = {
    .roster = &shared_roster,
    .now_ns = 5 * 1000000000ull,
    .uptime_ms = 5000,
    .clock_ns = 1700000000000000000,
    .serving = HEALTH_SERVING,
    .version = "1.2.3",
};

struct body {
    uint8_t *bytes;
    size_t n_bytes;
};

static void
body_deinit_at(struct body *body)
{
    free(body->bytes);
}

static struct message_span
body_encode(const struct cluster_reply *reply, struct body *body)
{
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    assert_ok(reply_encode_body(reply, &context, &pack));
    assert_ok(pack_take(&pack, &body->bytes, &body->n_bytes));
    return (struct message_span){body->bytes, body->n_bytes};
}

static void
world_has_its_roster(void **state)
{
    const struct cluster_member roster[] = {
        {.rank = 0,
         .pid = 70,
         .incarnation = 1,
         .host = "a",
         .host_id = "m",
         .address = "x:1"},
        {.rank = 1,
         .pid = 71,
         .incarnation = 2,
         .host = "b",
         .host_id = "n",
         .address = "y:2"},
    };
    const struct cluster_reply reply = {
        .kind = CLUSTER_REPLY_WORLD,
        .world = {.rank = 1,
                  .size = 2,
                  .epoch = 3,
                  .revision = 1,
                  .seed = 99,
                  .lease_ms = 10000,
                  .roster = roster},
    };
    CLEANUP(body_deinit) struct body body = {0};
    CLEANUP(join_reply_deinit) struct join_reply decoded = {0};

    assert_ok(join_reply_decode(body_encode(&reply, &body), &decoded));
    assert_int_equal(decoded.rank, 1);
    assert_int_equal(decoded.epoch, 3);
    assert_int_equal(decoded.seed, 99);
    assert_int_equal(decoded.n_members, 2);
    assert_string_equal(decoded.roster[1].host, "b");
    assert_string_equal(decoded.roster[1].host_id, "n");
    assert_string_equal(decoded.roster[1].address, "y:2");
    assert_int_equal(decoded.roster[1].pid, 71);
    encoded_roster_deinit(&shared_roster);
}

/* All members of a world get one roster, and those of the next another. */
static void
roster_is_packed_once_for_each_world(void **state)
{
    const struct cluster_member worlds[2] = {
        {.incarnation = 1, .host = "a", .host_id = "m", .address = "x:1"},
        {.incarnation = 2, .host = "b", .host_id = "n", .address = "y:2"},
    };
    const void *packed = NULL;

    for (unsigned i = 0; i < 4; i++) {
        const struct cluster_reply reply = {
            .kind = CLUSTER_REPLY_WORLD,
            .world = {.size = 1, .epoch = 3 + i / 2, .roster = &worlds[i / 2]},
        };
        CLEANUP(body_deinit) struct body body = {0};
        CLEANUP(join_reply_deinit) struct join_reply decoded = {0};

        assert_ok(join_reply_decode(body_encode(&reply, &body), &decoded));
        assert_string_equal(decoded.roster[0].host, worlds[i / 2].host);
        if (i % 2 == 1)
            assert_ptr_equal(shared_roster.bytes, packed);
        packed = shared_roster.bytes;
    }
    encoded_roster_deinit(&shared_roster);
}

static void
lease_has_the_clock(void **state)
{
    const struct cluster_reply reply = {
        .kind = CLUSTER_REPLY_LEASE,
        .lease = {.membership_epoch = 4, .revision = 2, .lease_ms = 10000},
    };
    CLEANUP(body_deinit) struct body body = {0};
    struct lease_reply decoded;

    assert_ok(lease_reply_decode(body_encode(&reply, &body), &decoded));
    assert_int_equal(decoded.membership_epoch, 4);
    assert_int_equal(decoded.lease_ms, 10000);
    assert_int_equal(decoded.clock_ns, context.clock_ns);
}

static void
verdict_has_its_age(void **state)
{
    const struct cluster_membership_change lost = {
        .revision = 2,
        .kind = CLUSTER_CHANGE_LOST,
        .membership_epoch = 4,
        .rank = 1,
        .when_ns = 3 * CLOCK_NS_PER_S,
        .host = "b",
        .reason = "lease expired",
        .has_reported_own_failure = true,
    };
    const struct cluster_reply reply = {
        .kind = CLUSTER_REPLY_CHANGES,
        .changes = {.world_epoch = 3,
                    .revision = 2,
                    .items = &lost,
                    .n_items = 1},
    };
    CLEANUP(body_deinit) struct body body = {0};
    CLEANUP(watch_reply_deinit) struct watch_reply decoded = {0};

    assert_ok(watch_reply_decode(body_encode(&reply, &body), &decoded));
    assert_int_equal(decoded.n_events, 1);
    assert_int_equal(decoded.events[0].kind, WATCH_LOST);
    assert_int_equal(decoded.events[0].age_ms, 2000);
    assert_string_equal(decoded.events[0].reason, "lease expired");
    assert_int_equal(decoded.events[0].evidence, EVIDENCE_GIVEN_UP);
}

static void
lost_compare_and_set_is_an_answer(void **state)
{
    const struct cluster_store_entry there = {
        .key = "k", .value = "v", .n_bytes = 1, .revision = 6};
    const struct cluster_reply reply = {
        .status = HOOP_E_ABORTED,
        .kind = CLUSTER_REPLY_STORE,
        .store = {.revision = 8, .entries = &there, .n_entries = 1},
    };
    CLEANUP(body_deinit) struct body body = {0};
    CLEANUP(store_reply_deinit) struct store_reply decoded = {0};

    assert_ok(reply_encode_status(&reply));
    assert_ok(store_reply_decode(body_encode(&reply, &body), &decoded));
    assert_false(decoded.is_applied);
    assert_int_equal(decoded.n_entries, 1);
    assert_true(decoded.entries[0].is_found);
    assert_memory_equal(decoded.entries[0].value.bytes, "v", 1);
}

static void
other_failures_keep_their_status_and_have_no_body(void **state)
{
    const struct cluster_reply reply = {
        .status = HOOP_E_ABORTED,
        .kind = CLUSTER_REPLY_NONE,
    };
    CLEANUP(body_deinit) struct body body = {0};

    assert_int_equal(reply_encode_status(&reply), HOOP_E_ABORTED);
    assert_int_equal(body_encode(&reply, &body).n_bytes, 0);
}

static void
jobs_come_with_what_the_core_cannot_know(void **state)
{
    const struct cluster_job_summary line = {
        .name = "train",
        .state = CLUSTER_JOB_RUNNING,
        .epoch = 3,
        .size = 2,
        .age_ns = CLOCK_NS_PER_S,
    };
    const struct cluster_reply reply = {
        .kind = CLUSTER_REPLY_JOBS,
        .jobs = {.items = &line, .n_items = 1},
    };
    CLEANUP(body_deinit) struct body body = {0};
    CLEANUP(jobs_reply_deinit) struct jobs_reply decoded = {0};

    assert_ok(jobs_reply_decode(body_encode(&reply, &body), &decoded));
    assert_string_equal(decoded.version, "1.2.3");
    assert_int_equal(decoded.uptime_ms, 5000);
    assert_int_equal(decoded.clock_ms, 1700000000000);
    assert_int_equal(decoded.serving, HEALTH_SERVING);
    assert_string_equal(decoded.jobs[0].name, "train");
    assert_string_equal(decoded.jobs[0].state, "running");
    assert_int_equal(decoded.jobs[0].age_ms, 1000);
}

static void
group_slot_has_its_communicator(void **state)
{
    const struct cluster_reply reply = {
        .kind = CLUSTER_REPLY_GROUP_SLOT,
        .group_slot = {.communicator = 70000},
    };
    CLEANUP(body_deinit) struct body body = {0};
    struct group_join_reply decoded;

    assert_ok(group_join_reply_decode(body_encode(&reply, &body), &decoded));
    assert_int_equal(decoded.communicator, 70000);
}

static void
outcome_has_its_survivors(void **state)
{
    const uint32_t ranks[] = {3, 1};
    const struct cluster_reply reply = {
        .kind = CLUSTER_REPLY_VOTE_OUTCOME,
        .outcome = {.flags = 6,
                    .least = 7,
                    .communicator = 8,
                    .membership_epoch = 9,
                    .ranks = ranks,
                    .n_ranks = 2},
    };
    CLEANUP(body_deinit) struct body body = {0};
    CLEANUP(group_agree_reply_deinit) struct group_agree_reply decoded = {0};

    assert_ok(group_agree_reply_decode(body_encode(&reply, &body), &decoded));
    assert_int_equal(decoded.flags, 6);
    assert_int_equal(decoded.least, 7);
    assert_int_equal(decoded.communicator, 8);
    assert_int_equal(decoded.membership_epoch, 9);
    assert_int_equal(decoded.n_ranks, 2);
    assert_int_equal(decoded.ranks[0], 3);
}

static void
groups_have_their_ranks_and_who_joined(void **state)
{
    const uint32_t ranks[] = {3, 1};
    const struct cluster_group group = {"@4", 4, ranks, 2, 1};
    const struct cluster_reply reply = {
        .kind = CLUSTER_REPLY_GROUPS,
        .groups = {.items = &group, .n_items = 1, .n_more = 2},
    };
    CLEANUP(body_deinit) struct body body = {0};
    CLEANUP(groups_reply_deinit) struct groups_reply decoded = {0};

    assert_ok(groups_reply_decode(body_encode(&reply, &body), &decoded));
    assert_int_equal(decoded.n_more, 2);
    assert_string_equal(decoded.groups[0].key, "@4");
    assert_int_equal(decoded.groups[0].ranks[0], 3);
    assert_int_equal(decoded.groups[0].n_joined, 1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(group_slot_has_its_communicator),
        cmocka_unit_test(outcome_has_its_survivors),
        cmocka_unit_test(groups_have_their_ranks_and_who_joined),
        cmocka_unit_test(world_has_its_roster),
        cmocka_unit_test(roster_is_packed_once_for_each_world),
        cmocka_unit_test(lease_has_the_clock),
        cmocka_unit_test(verdict_has_its_age),
        cmocka_unit_test(lost_compare_and_set_is_an_answer),
        cmocka_unit_test(other_failures_keep_their_status_and_have_no_body),
        cmocka_unit_test(jobs_come_with_what_the_core_cannot_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
