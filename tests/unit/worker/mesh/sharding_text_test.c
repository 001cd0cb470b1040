/* tests/unit/worker/mesh/sharding_text_test.c - notation and equality */

#include "base/cleanup.h"
#include "check.h"
#include "mesh/sharding.h"

static void
text_is(const struct hoop_sharding *sharding,
        uint32_t n_dims,
        const char *expected)
{
    assert_string_equal(hoop_sharding_describe(sharding, n_dims).text,
                        expected);
}

static void
text_names_the_axes_of_each_dimension(void **state)
{
    const struct hoop_sharding replica = {.is_uneven = false};
    const struct hoop_sharding cut = {
        .dims = {{1, {0}}, {0}, {2, {1, 2}}},
        .partial = {1, {3}},
    };
    const struct hoop_sharding uneven = {
        .dims = {{2, {1, 0}}},
        .partial = {2, {2, 3}},
        .partial_op = HOOP_MAX,
        .is_uneven = true,
    };

    (void)state;
    text_is(&replica, 0, "[]");
    text_is(&replica, 2, "[R, R]");
    text_is(&cut, 3, "[S0, R, S12] partial(3)");
    text_is(&uneven, 1, "[S10] partial(23, max) uneven");
    text_is(NULL, 3, "[]");
    assert_string_equal(axes_text(&cut.dims[2]).text, "S12");
    assert_string_equal(dim_text(7).text, "dim 7");
}

static void
text_of_the_longest_fits(void **state)
{
    const struct hoop_axes all = {9, {0, 1, 2, 3, 4, 5, 6, 70}};
    struct hoop_sharding sharding = {
        .partial = all, .partial_op = HOOP_PRODUCT, .is_uneven = true};

    (void)state;
    for (uint32_t i = 0; i < HOOP_MAX_DIMS; i++)
        sharding.dims[i] = all;
    text_is(&sharding, 9,
            "[S0123456?, S0123456?, S0123456?, S0123456?, S0123456?, "
            "S0123456?, S0123456?, S0123456?] partial(0123456?, product) "
            "uneven");
}

static void
equal_is_what_says_the_same(void **state)
{
    const struct hoop_sharding base = {.dims = {{2, {0, 1}}}};
    struct hoop_sharding other = base;

    (void)state;
    assert_true(hoop_sharding_equal(&base, &base));
    /* Behind the axes that count, and without a partial one. */
    other.dims[0].axes[2] = 5;
    other.partial_op = HOOP_MAX;
    assert_true(hoop_sharding_equal(&base, &other));
    other.dims[0].axes[0] = 1;
    other.dims[0].axes[1] = 0;
    assert_false(hoop_sharding_equal(&base, &other));
    other = base;
    other.is_uneven = true;
    assert_false(hoop_sharding_equal(&base, &other));
    other = base;
    other.dims[7].n_axes = 1;
    assert_false(hoop_sharding_equal(&base, &other));
    assert_false(hoop_sharding_equal(&base, NULL));
    assert_false(hoop_sharding_equal(NULL, NULL));
}

static void
equal_partial_sums_have_the_same_operator(void **state)
{
    const struct hoop_sharding base = {.partial = {1, {0}}};
    struct hoop_sharding other = base;

    (void)state;
    other.partial_op = HOOP_MAX;
    assert_false(hoop_sharding_equal(&base, &other));
    other = base;
    other.partial.axes[0] = 1;
    assert_false(hoop_sharding_equal(&base, &other));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_names_the_axes_of_each_dimension),
        cmocka_unit_test(text_of_the_longest_fits),
        cmocka_unit_test(equal_is_what_says_the_same),
        cmocka_unit_test(equal_partial_sums_have_the_same_operator),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
