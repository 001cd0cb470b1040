/* tests/unit/common/rpc/messages/group_messages_test.c - Groups */

#include <stdlib.h>

#include "base/cleanup.h"
#include "bodies.h"
#include "check.h"
#include "rpc/messages/group_messages.h"
#include "wire/pack.h"

static void
groups_reply_travels_whole(void **state)
{
    uint32_t rows[] = {0, 1};
    uint32_t columns[] = {3, 1, 70000};
    struct group_entry groups[] = {
        {"row/0", 1, COUNT_OF(rows), rows, 1},
        {"empty", 2, 0, NULL, 0},
        {"column/1", UINT64_MAX, COUNT_OF(columns), columns, 3},
    };
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    CLEANUP(groups_reply_deinit) struct groups_reply reply = {0};
    size_t n_bytes = 0;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    groups_reply_encode(&(struct groups_reply){5, 3, groups}, &pack);
    assert_ok(pack_take(&pack, &bytes, &n_bytes));
    assert_ok(
        groups_reply_decode((struct message_span){bytes, n_bytes}, &reply));
    assert_int_equal(reply.n_more, 5);
    assert_int_equal(reply.n_groups, 3);
    assert_string_equal(reply.groups[0].key, "row/0");
    assert_int_equal(reply.groups[0].n_joined, 1);
    assert_int_equal(reply.groups[1].n_ranks, 0);
    assert_true(reply.groups[2].communicator == UINT64_MAX);
    assert_int_equal(reply.groups[2].n_ranks, 3);
    assert_int_equal(reply.groups[2].ranks[0], 3);
    assert_int_equal(reply.groups[2].ranks[2], 70000);
}

static void
group_leave_request_beyond_the_limit_is_refused(void **state)
{
    CLEANUP(free)
    uint64_t *numbers = calloc(LIMIT_GROUP_NUMBERS + 1, sizeof(*numbers));

    for (size_t n = LIMIT_GROUP_NUMBERS; n <= LIMIT_GROUP_NUMBERS + 1; n++) {
        CLEANUP(pack_deinit) struct pack pack;
        CLEANUP(free) uint8_t *bytes = NULL;
        CLEANUP(group_leave_request_deinit)
        struct group_leave_request request = {0};
        size_t n_bytes = 0;

        pack_init(&pack, LIMIT_RPC_MESSAGE);
        group_leave_request_encode(
            &(struct group_leave_request){{3, 9}, n, numbers, 0}, &pack);
        assert_ok(pack_take(&pack, &bytes, &n_bytes));
        assert_int_equal(group_leave_request_decode(
                             (struct message_span){bytes, n_bytes}, &request),
                         n > LIMIT_GROUP_NUMBERS ? HOOP_E_DATA_LOSS : HOOP_OK);
    }
}

static void
group_bodies_hold_the_rules_of_bodies(void **state)
{
    uint32_t ranks[] = {2, 0, 1};
    struct group_entry groups[] = {{"row/0", 1, COUNT_OF(ranks), ranks, 3},
                                   {"row/1", 2, COUNT_OF(ranks), ranks, 2}};
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    group_create_request_encode(
        &(struct group_create_request){{3, 9}, "row/0", 3, ranks}, &pack);
    body_check("group_create_request", &pack);
    group_join_request_encode(&(struct group_join_request){{3, 9}, 5, 3, ranks},
                              &pack);
    body_check("group_join_request", &pack);
    group_join_reply_encode(&(struct group_join_reply){UINT64_MAX}, &pack);
    body_check("group_join_reply", &pack);
    group_leave_request_encode(
        &(struct group_leave_request){
            {3, 9}, 2, (uint64_t[]){1, UINT64_MAX}, 1},
        &pack);
    body_check("group_leave_request", &pack);
    group_awaited_request_encode(
        &(struct group_awaited_request){{3, UINT64_MAX}, 1ULL << 40}, &pack);
    body_check("group_awaited_request", &pack);
    group_awaited_reply_encode(
        &(struct group_awaited_reply){4, 2, "rank 2 (a:7), rank 3 (b:9)"},
        &pack);
    body_check("group_awaited_reply", &pack);
    group_agree_request_encode(
        &(struct group_agree_request){
            {3, 9}, 5, GROUP_SHRINK, 2, UINT64_MAX, 77, 6},
        &pack);
    body_check("group_agree_request", &pack);
    group_agree_reply_encode(
        &(struct group_agree_reply){UINT64_MAX, 77, 8, 4, 3, ranks}, &pack);
    body_check("group_agree_reply", &pack);
    group_key_request_encode(&(struct group_key_request){"row/0"}, &pack);
    body_check("group_key_request", &pack);
    groups_reply_encode(&(struct groups_reply){0, 2, groups}, &pack);
    body_check("groups_reply", &pack);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_reply_travels_whole),
        cmocka_unit_test(group_leave_request_beyond_the_limit_is_refused),
        cmocka_unit_test(group_bodies_hold_the_rules_of_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
