/* tests/unit/examples/train_3d/parameter_test.c - train_3d/parameter.c */

#include "check.h"
#include "train_3d/parameter.h"

static struct parameter
part_make(struct span rows, struct span columns)
{
    struct parameter parameter;

    parameter_init(&parameter, &(struct parameter_options){
                                   .name = "weights",
                                   .seed = 3,
                                   .rows = rows,
                                   .columns = columns,
                                   .reach = 0.5F,
                               });
    return parameter;
}

/* However the whole of 6 x 4 is cut, an element begins with its own value. */
static void
parameter_parts_are_those_of_the_whole(void **state)
{
    struct parameter whole = part_make(span_all(6), span_all(4));

    (void)state;
    assert_true(whole.is_whole);
    for (size_t part = 0; part < 2; part++) {
        struct parameter rows = part_make(span_part(6, part, 2), span_all(4));
        struct parameter columns =
            part_make(span_all(6), span_part(4, part, 2));

        assert_false(rows.is_whole);
        assert_false(columns.is_whole);
        for (size_t i = 0; i < 12; i++) {
            assert_true(rows.value.at[i] == whole.value.at[12 * part + i]);
            assert_true(columns.value.at[i] ==
                        whole.value.at[i / 2 * 4 + 2 * part + i % 2]);
        }
        parameter_deinit(&rows);
        parameter_deinit(&columns);
    }
    parameter_deinit(&whole);
}

static void
parameter_values_are_around_the_middle(void **state)
{
    struct parameter gain;

    (void)state;
    parameter_init(&gain, &(struct parameter_options){
                              .name = "",
                              .rows = span_all(1),
                              .columns = span_all(3),
                              .middle = 1,
                          });
    for (size_t i = 0; i < 3; i++) {
        assert_true(gain.value.at[i] == 1);
        assert_true(gain.gradient.at[i] == 0);
    }
    parameter_deinit(&gain);
    parameter_deinit(&gain);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameter_parts_are_those_of_the_whole),
        cmocka_unit_test(parameter_values_are_around_the_middle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
