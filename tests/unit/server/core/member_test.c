/* tests/unit/server/core/member_test.c - names, views and states of a member */

#include "check.h"
#include "core/job.h"
#include "core/member.h"

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

    (void)state;
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

    (void)state;
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
    (void)state;
    assert_string_equal(cluster_member_state_name(CLUSTER_MEMBER_JOINING),
                        "joining");
    assert_string_equal(cluster_member_state_name(CLUSTER_MEMBER_LOST), "lost");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(member_label_names_rank_host_and_pid),
        cmocka_unit_test(member_view_shows_the_lease_left),
        cmocka_unit_test(member_states_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
