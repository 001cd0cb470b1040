/* tests/unit/server/core/history_test.c - revisions, and what is forgotten */

#include <stdio.h>

#include "base/limits.h"
#include "check.h"
#include "core/history.h"

static void
history_revisions_are_consecutive_and_the_oldest_forgotten(void **state)
{
    struct history history = {0};
    char key[16];

    (void)state;
    assert_int_equal(history_first(&history), 1);
    for (unsigned int i = 1; i <= LIMIT_STORE_HISTORY + 5; i++) {
        snprintf(key, sizeof(key), "%u", i);
        assert_int_equal(history_add(&history, CLUSTER_KEY_SET, key), i);
    }
    assert_int_equal(history_first(&history), 6);
    assert_string_equal(history_at(&history, 6).key, "6");
    assert_string_equal(history_at(&history, history.revision).key, key);
    assert_int_equal(history_at(&history, 7).revision, 7);
    history_deinit(&history);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            history_revisions_are_consecutive_and_the_oldest_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
