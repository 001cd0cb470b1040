/* tests/unit/worker/pipeline/single_shape_test.c - one shape, or a list */

#include "hoop/p2p_communicator.h"

#include "base/cleanup.h"
#include "check.h"

static const struct hoop_variant integers[] = {
    {.kind = HOOP_VARIANT_INTEGER},
    {.kind = HOOP_VARIANT_INTEGER},
    {.kind = HOOP_VARIANT_INTEGER},
};

static struct hoop_variant
list_of(const struct hoop_variant *items, size_t n_items)
{
    return (struct hoop_variant){
        .kind = HOOP_VARIANT_LIST, .n_items = n_items, .items = items};
}

static void
integers_are_a_shape(void **state)
{
    const struct hoop_variant three = list_of(integers, 3);
    const struct hoop_variant one = list_of(integers, 1); /* also [True] */

    (void)state;
    assert_true(hoop_is_single_shape(&three));
    assert_true(hoop_is_single_shape(&one));
}

static void
size_of_any_length_is_a_shape(void **state)
{
    struct hoop_variant size = {
        .kind = HOOP_VARIANT_SIZE, .n_items = 3, .items = integers};

    (void)state;
    assert_true(hoop_is_single_shape(&size));
    size.n_items = 0;
    size.items = NULL;
    assert_true(hoop_is_single_shape(&size));
}

static void
empty_list_is_no_shape(void **state)
{
    const struct hoop_variant empty = list_of(NULL, 0);

    (void)state;
    assert_false(hoop_is_single_shape(&empty));
}

static void
list_of_shapes_is_no_shape(void **state)
{
    const struct hoop_variant pairs[] = {list_of(integers, 2),
                                         list_of(integers, 2)};
    const struct hoop_variant sizes[] = {{.kind = HOOP_VARIANT_SIZE}};
    const struct hoop_variant lists = list_of(pairs, 2);
    const struct hoop_variant objects = list_of(sizes, 1);

    (void)state;
    assert_false(hoop_is_single_shape(&lists));
    assert_false(hoop_is_single_shape(&objects));
}

static void
mixed_list_is_no_shape(void **state)
{
    const struct hoop_variant items[] = {{.kind = HOOP_VARIANT_INTEGER},
                                         {.kind = HOOP_VARIANT_TEXT}};
    const struct hoop_variant mixed = list_of(items, 2);

    (void)state;
    assert_false(hoop_is_single_shape(&mixed));
}

static void
anything_else_is_no_shape(void **state)
{
    static const enum hoop_variant_kind kinds[] = {
        HOOP_VARIANT_NONE, HOOP_VARIANT_INTEGER, HOOP_VARIANT_TEXT};

    (void)state;
    assert_false(hoop_is_single_shape(NULL));
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const struct hoop_variant variant = {.kind = kinds[i]};

        assert_false(hoop_is_single_shape(&variant));
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_are_a_shape),
        cmocka_unit_test(size_of_any_length_is_a_shape),
        cmocka_unit_test(empty_list_is_no_shape),
        cmocka_unit_test(list_of_shapes_is_no_shape),
        cmocka_unit_test(mixed_list_is_no_shape),
        cmocka_unit_test(anything_else_is_no_shape),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
