/* tests/unit/examples/train_digits/random_test.c - train_digits/random.c */

#include "check.h"
#include "train_digits/random.h"

static void
random_signed_stays_in_its_range(void **state)
{
    struct random random = {1};
    double sum = 0;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        const double value = random_signed(&random);
        assert_true(value >= -1 && value < 1);
        sum += value;
    }
    assert_true(sum > -300 && sum < 300);
}

static void
random_shuffle_keeps_every_index(void **state)
{
    struct random random = {2};
    size_t indices[100];
    size_t n_seen[100] = {0};
    size_t n_moved = 0;

    (void)state;
    for (size_t i = 0; i < 100; i++)
        indices[i] = i;
    random_shuffle(&random, indices, 100);
    for (size_t i = 0; i < 100; i++) {
        n_seen[indices[i]]++;
        n_moved += indices[i] != i;
    }
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(n_seen[i], 1);
    assert_true(n_moved > 80);
}

static void
random_same_seed_gives_same_order(void **state)
{
    struct random a = {3};
    struct random b = {3};

    (void)state;
    for (int i = 0; i < 100; i++)
        assert_int_equal(random_below(&a, 1000), random_below(&b, 1000));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_signed_stays_in_its_range),
        cmocka_unit_test(random_shuffle_keeps_every_index),
        cmocka_unit_test(random_same_seed_gives_same_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
