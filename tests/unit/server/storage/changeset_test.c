/* tests/unit/server/storage/changeset_test.c - lists of changes */

#include "check.h"
/* after cmocka */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "storage/changeset.h"

static struct storage_span
text(const char *text)
{
    return (struct storage_span){text, strlen(text)};
}

static void
expect(const struct changeset *changes, size_t *at, const char *line)
{
    struct change change;
    char found[128];

    assert_true(changeset_next(changes, at, &change));
    snprintf(found, sizeof(found), "%d %.*s=%.*s", change.kind,
             (int)change.key.n_bytes, (const char *)change.key.bytes,
             (int)change.value.n_bytes, (const char *)change.value.bytes);
    assert_string_equal(found, line);
}

static void
changes_come_back_in_order(void **state)
{
    CLEANUP(changeset_deinit) struct changeset changes = {0};
    size_t at = 0;
    struct change change;

    (void)state;
    assert_false(changeset_next(&changes, &at, &change));
    changeset_put(&changes, 'a', text("one"), text("1"));
    changeset_erase(&changes, 'b', text(""));
    changeset_put(&changes, 'c', text("three"), text(""));
    expect(&changes, &at, "0 aone=1");
    expect(&changes, &at, "1 b=");
    expect(&changes, &at, "0 cthree=");
    assert_false(changeset_next(&changes, &at, &change));
}

static void
list_moved_comes_behind_the_other(void **state)
{
    CLEANUP(changeset_deinit) struct changeset to = {0};
    CLEANUP(changeset_deinit) struct changeset from = {0};
    size_t at = 0;

    (void)state;
    changeset_put(&from, 'a', text("1"), text("x"));
    changeset_move(&to, &from);
    assert_int_equal(from.n_bytes, 0);
    changeset_put(&from, 'a', text("2"), text("y"));
    changeset_move(&to, &from);
    changeset_move(&to, &from);
    expect(&to, &at, "0 a1=x");
    expect(&to, &at, "0 a2=y");
    assert_int_equal(at, to.n_bytes);
}

static void
large_values_fit_and_their_memory_goes(void **state)
{
    static char value[3 << 20];
    CLEANUP(changeset_deinit) struct changeset changes = {0};
    struct change change;
    size_t at = 0;

    (void)state;
    memset(value, 'v', sizeof(value));
    for (int i = 0; i < 3; i++)
        changeset_put(&changes, 'a', text("k"),
                      (struct storage_span){value, sizeof(value)});
    for (int i = 0; i < 3; i++) {
        assert_true(changeset_next(&changes, &at, &change));
        assert_int_equal(change.value.n_bytes, sizeof(value));
        assert_memory_equal(change.value.bytes, value, sizeof(value));
    }
    changeset_clear(&changes);
    assert_null(changes.bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_come_back_in_order),
        cmocka_unit_test(list_moved_comes_behind_the_other),
        cmocka_unit_test(large_values_fit_and_their_memory_goes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
