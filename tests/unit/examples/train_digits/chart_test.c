/* tests/unit/examples/train_digits/chart_test.c - train_digits/chart.c */

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "train_digits/chart.h"

/* The caller frees it. */
static char *
chart_text(const double *values, size_t n_values)
{
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *file = open_memstream(&text, &n_bytes);

    assert_non_null(file);
    chart_write(
        &(struct chart){
            .title = "title",
            .x_title = "x",
            .y_title = "y",
            .values = values,
            .n_values = n_values,
        },
        file);
    fclose(file);
    return text;
}

static size_t
points_count(const char *text)
{
    size_t n = 0;

    text = strstr(text, "points=\"");
    assert_non_null(text);
    for (; *text && strncmp(text, "\"/>", 3) != 0; text++)
        n += *text == ' ';
    return n;
}

static void
chart_has_a_point_for_each_value(void **state)
{
    const double values[] = {2.3, 1.1, 0.5, 0.25};
    char *text = chart_text(values, 4);

    (void)state;
    assert_ptr_equal(strstr(text, "<svg "), text);
    assert_non_null(strstr(text, "</svg>\n"));
    assert_int_equal(points_count(text), 4);
    assert_non_null(strstr(text, ">title</text>"));
    free(text);
}

static void
chart_of_one_or_no_value_is_finite(void **state)
{
    static const double zero[] = {0};

    (void)state;
    for (size_t n = 0; n < 2; n++) {
        char *text = chart_text(zero, n);
        assert_int_equal(points_count(text), n);
        assert_null(strstr(text, "nan"));
        assert_null(strstr(text, "inf"));
        free(text);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chart_has_a_point_for_each_value),
        cmocka_unit_test(chart_of_one_or_no_value_is_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
