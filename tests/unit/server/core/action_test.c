/* tests/unit/server/core/action_test.c - actions and their memory */

#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "core/action.h"

static void
action_list_many_actions_keep_their_texts(void **state)
{
    struct action_list action_list = {0};

    (void)state;
    for (unsigned int i = 0; i < 5000; i++)
        action_list_fail_reply(&action_list,
                               action_list_add_reply(&action_list, i),
                               HOOP_E_ABORTED, "%u", i);
    assert_int_equal(action_list.n_actions, 5000);
    assert_int_equal(action_list.actions[4999].reply.ticket, 4999);
    assert_string_equal(action_list.actions[0].reply.text, "0");
    assert_string_equal(action_list.actions[4999].reply.text, "4999");
    action_list_clear(&action_list);
    assert_int_equal(action_list.n_actions, 0);
    assert_true(action_list.n_room <= LIMIT_PAGE);
    assert_string_equal(action_list_add_reply(&action_list, 1)->text, "");
    action_list_deinit(&action_list);
}

static void
action_list_memory_is_zeroed_and_aligned(void **state)
{
    struct action_list action_list = {0};

    (void)state;
    for (size_t n_bytes = 0; n_bytes < 40000; n_bytes += 997) {
        char *memory = action_list_alloc(&action_list, n_bytes, 1);

        assert_int_equal((uintptr_t)memory % 16, 0);
        for (size_t i = 0; i < n_bytes; i++)
            assert_int_equal(memory[i], 0);
        memset(memory, 1, n_bytes);
    }
    assert_string_equal(action_list_copy_text(&action_list, NULL), "");
    action_list_deinit(&action_list);
}

static void
action_list_notice_copies_job_and_text(void **state)
{
    struct action_list action_list = {0};
    char job[] = "a";

    (void)state;
    action_list_add_notice(&action_list,
                           &(struct cluster_log_notice){.job = job, .rank = 3},
                           "rank %u", 3U);
    job[0] = 'b';
    assert_int_equal(action_list.actions[0].kind, CLUSTER_NOTICE);
    assert_string_equal(action_list.actions[0].notice.job, "a");
    assert_string_equal(action_list.actions[0].notice.text, "rank 3");
    action_list_deinit(&action_list);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(action_list_many_actions_keep_their_texts),
        cmocka_unit_test(action_list_memory_is_zeroed_and_aligned),
        cmocka_unit_test(action_list_notice_copies_job_and_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
