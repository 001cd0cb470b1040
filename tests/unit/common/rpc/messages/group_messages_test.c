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
        {"row/0", 1, COUNT_OF(rows), rows},
        {"empty", 2, 0, NULL},
        {"column/1", UINT64_MAX, COUNT_OF(columns), columns},
    };
    CLEANUP(pack_deinit) struct pack pack;
    CLEANUP(free) uint8_t *bytes = NULL;
    CLEANUP(groups_reply_deinit) struct groups_reply reply = {0};
    size_t n_bytes = 0;

    (void)state;
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    groups_reply_encode(&(struct groups_reply){5, 3, groups}, &pack);
    assert_int_equal(pack_take(&pack, &bytes, &n_bytes), HOOP_OK);
    assert_int_equal(
        groups_reply_decode((struct message_span){bytes, n_bytes}, &reply),
        HOOP_OK);
    assert_int_equal(reply.n_more, 5);
    assert_int_equal(reply.n_groups, 3);
    assert_string_equal(reply.groups[0].key, "row/0");
    assert_int_equal(reply.groups[1].n_ranks, 0);
    assert_true(reply.groups[2].communicator == UINT64_MAX);
    assert_int_equal(reply.groups[2].n_ranks, 3);
    assert_int_equal(reply.groups[2].ranks[0], 3);
    assert_int_equal(reply.groups[2].ranks[2], 70000);
}

static void
group_bodies_hold_the_rules_of_bodies(void **state)
{
    uint32_t ranks[] = {2, 0, 1};
    struct group_entry groups[] = {{"row/0", 1, COUNT_OF(ranks), ranks},
                                   {"row/1", 2, COUNT_OF(ranks), ranks}};
    CLEANUP(pack_deinit) struct pack pack;

    (void)state;
    pack_init(&pack, LIMIT_RPC_MESSAGE);
    group_create_request_encode(
        &(struct group_create_request){{3, 9}, "row/0", 3, ranks}, &pack);
    body_check("group_create_request", &pack);
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
        cmocka_unit_test(group_bodies_hold_the_rules_of_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
