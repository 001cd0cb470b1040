/* tests/unit/examples/reshard/table_test.c - reshard/table.c */

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "reshard/table.h"

static void
table_rows_stand_below_their_columns(void **state)
{
    static const struct table_row rows[] = {
        {"save", "2x4 [S0, S1]", (uint64_t)1 << 28, 500000000, "ab"},
        {"redistribute", "3 [S0, R] uneven", 0, 1000, "the same"},
    };
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *file = open_memstream(&text, &n_bytes);

    (void)state;
    assert_non_null(file);
    table_begin(file);
    table_add(&rows[0], file);
    table_add(&rows[1], file);
    fclose(file);
    assert_string_equal(
        text,
        "part          layout                         bytes    seconds     "
        "GB/s  hash\n"
        "save          2x4 [S0, S1]                 256 MiB     0.5000    "
        "0.537  ab\n"
        "redistribute  3 [S0, R] uneven                 0 B     0.0000    "
        "    -  the same\n");
    free(text);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_rows_stand_below_their_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
