/* tests/unit/server/core/outbox_test.c - actions and their memory */

#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "core/outbox.h"

static void
outbox_many_actions_keep_their_texts(void **state)
{
    struct outbox outbox = {0};

    (void)state;
    for (unsigned int i = 0; i < 5000; i++)
        outbox_refuse(&outbox, outbox_reply(&outbox, i), HOOP_E_ABORTED, "%u",
                      i);
    assert_int_equal(outbox.n_actions, 5000);
    assert_int_equal(outbox.actions[4999].reply.ticket, 4999);
    assert_string_equal(outbox.actions[0].reply.text, "0");
    assert_string_equal(outbox.actions[4999].reply.text, "4999");
    outbox_clear(&outbox);
    assert_int_equal(outbox.n_actions, 0);
    assert_true(outbox.n_room <= LIMIT_PAGE);
    assert_string_equal(outbox_reply(&outbox, 1)->text, "");
    outbox_deinit(&outbox);
}

static void
outbox_memory_is_zeroed_and_aligned(void **state)
{
    struct outbox outbox = {0};

    (void)state;
    for (size_t n_bytes = 0; n_bytes < 40000; n_bytes += 997) {
        char *memory = outbox_memory(&outbox, n_bytes, 1);

        assert_int_equal((uintptr_t)memory % 16, 0);
        for (size_t i = 0; i < n_bytes; i++)
            assert_int_equal(memory[i], 0);
        memset(memory, 1, n_bytes);
    }
    assert_string_equal(outbox_text(&outbox, NULL), "");
    outbox_deinit(&outbox);
}

static void
outbox_notice_copies_job_and_text(void **state)
{
    struct outbox outbox = {0};
    char job[] = "a";

    (void)state;
    outbox_notice(&outbox, &(struct cluster_notice){.job = job, .rank = 3},
                  "rank %u", 3U);
    job[0] = 'b';
    assert_int_equal(outbox.actions[0].kind, CLUSTER_NOTICE);
    assert_string_equal(outbox.actions[0].notice.job, "a");
    assert_string_equal(outbox.actions[0].notice.text, "rank 3");
    outbox_deinit(&outbox);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outbox_many_actions_keep_their_texts),
        cmocka_unit_test(outbox_memory_is_zeroed_and_aligned),
        cmocka_unit_test(outbox_notice_copies_job_and_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
