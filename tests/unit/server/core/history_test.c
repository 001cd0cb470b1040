/* tests/unit/server/core/history_test.c - revisions, and what is forgotten */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "check.h"
#include "core/change.h"
#include "core/memory.h"

static void
history_revisions_are_consecutive_and_the_oldest_forgotten(void **state)
{
    struct memory_account all = {0};
    struct memory_account memory = {.all = &all};
    struct history history = {.memory = &memory};
    char key[16];

    (void)state;
    assert_int_equal(history_first_revision(&history), 1);
    for (unsigned int i = 1; i <= LIMIT_STORE_HISTORY + 5; i++) {
        snprintf(key, sizeof(key), "%u", i);
        assert_int_equal(history_add(&history, CLUSTER_KEY_SET, key), i);
    }
    assert_int_equal(history_first_revision(&history), 6);
    assert_string_equal(history_change_at(&history, 6).key, "6");
    assert_string_equal(history_change_at(&history, history.revision).key, key);
    assert_int_equal(history_change_at(&history, 7).revision, 7);
    history_deinit(&history);
    assert_int_equal(all.n_bytes, 0);
}

/* All is known that has room, and what is forgotten is freed. */
static void
history_of_long_keys_is_shorter(void **state)
{
    struct memory_account all = {0};
    struct memory_account memory = {.all = &all};
    struct history history = {.memory = &memory};
    char key[1000];

    (void)state;
    memset(key, 'k', sizeof(key));
    key[sizeof(key) - 1] = 0;
    for (unsigned int i = 1; i <= 10000; i++) {
        snprintf(key, sizeof(key) - 500, "%u", i);
        key[strlen(key)] = 'k';
        history_add(&history, CLUSTER_KEY_SET, key);
        history_trim(&history);
        assert_true(all.n_bytes <
                    LIMIT_STORE_HISTORY_BYTES + LIMIT_STORE_HISTORY * 32);
    }
    const uint64_t first = history_first_revision(&history);
    assert_true(first > 10000 - 300 && first < 10000 - 200);
    assert_int_equal(strtoul(history_change_at(&history, first).key, NULL, 10),
                     first);
    history_add(&history, CLUSTER_KEY_DELETED, "short");
    assert_int_equal(history_first_revision(&history), first);
    assert_string_equal(history_change_at(&history, 10001).key, "short");
    history_deinit(&history);
    assert_int_equal(all.n_bytes, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            history_revisions_are_consecutive_and_the_oldest_forgotten),
        cmocka_unit_test(history_of_long_keys_is_shorter),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
