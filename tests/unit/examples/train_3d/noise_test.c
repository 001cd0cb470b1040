/* tests/unit/examples/train_3d/noise_test.c - train_3d/noise.c */

#include <math.h>

#include "check.h"
#include "train_3d/noise.h"

enum {
    N = 10000,
};

static void
noise_is_a_function_of_seed_name_and_index(void **state)
{
    const struct noise noise = {1, "a"};

    (void)state;
    assert_true(noise_signed(noise, 5) ==
                noise_signed((struct noise){1, "a"}, 5));
    assert_true(noise_signed(noise, 5) != noise_signed(noise, 6));
    assert_true(noise_signed(noise, 5) !=
                noise_signed((struct noise){2, "a"}, 5));
    assert_true(noise_signed(noise, 5) !=
                noise_signed((struct noise){1, "b"}, 5));
}

static void
noise_signed_fills_its_range_evenly(void **state)
{
    const struct noise noise = {7, "even"};
    double sum = 0;
    double squares = 0;

    (void)state;
    for (size_t i = 0; i < N; i++) {
        const double value = (double)noise_signed(noise, i);

        assert_true(value >= -1 && value < 1);
        sum += value;
        squares += value * value;
    }
    assert_true(fabs(sum / N) < 0.03);
    assert_true(fabs(squares / N - 1.0 / 3) < 0.02);
}

static void
noise_below_reaches_all_and_no_more(void **state)
{
    const struct noise noise = {7, "below"};
    size_t n_of[5] = {0};

    (void)state;
    for (size_t i = 0; i < N; i++) {
        const size_t value = noise_below(noise, i, 5);

        assert_true(value < 5);
        n_of[value]++;
    }
    for (size_t i = 0; i < 5; i++)
        assert_in_range(n_of[i], N / 5 - 200, N / 5 + 200);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(noise_is_a_function_of_seed_name_and_index),
        cmocka_unit_test(noise_signed_fills_its_range_evenly),
        cmocka_unit_test(noise_below_reaches_all_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
