/* tests/unit/examples/train_digits/mlp_test.c - train_digits/mlp.c and the
 * files beside it */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "temporary.h"
#include "train_digits/chart.h"
#include "train_digits/digits.h"
#include "train_digits/mlp.h"
#include "train_digits/random.h"

enum {
    HIDDEN = 5,
};

static struct image
image_make(uint64_t seed, uint32_t label)
{
    struct random random = {seed};
    struct image image = {.label = label};

    for (size_t i = 0; i < DIGITS_PIXELS; i++)
        image.pixels[i] = fabs(random_signed(&random));
    return image;
}

static double
loss_of(struct mlp *mlp, const struct image *image, double *scratch)
{
    return mlp_backward(mlp, image, scratch);
}

/* Against differences of the loss, for every parameter. */
static void
mlp_gradient_is_the_slope_of_the_loss(void **state)
{
    const double step = 1e-5;
    const struct image image = image_make(3, 4);
    struct mlp mlp;

    assert_ok(mlp_init(&mlp, HIDDEN, 1));
    double *gradient = calloc(mlp.n_parameters, sizeof(double));
    double *scratch = calloc(mlp.n_parameters, sizeof(double));
    assert_non_null(gradient);
    assert_non_null(scratch);

    mlp_backward(&mlp, &image, gradient);
    for (size_t i = 0; i < mlp.n_parameters; i++) {
        const double kept = mlp.parameters[i];
        mlp.parameters[i] = kept + step;
        const double above = loss_of(&mlp, &image, scratch);
        mlp.parameters[i] = kept - step;
        const double below = loss_of(&mlp, &image, scratch);
        mlp.parameters[i] = kept;
        assert_true(fabs((above - below) / (2 * step) - gradient[i]) < 1e-6);
    }
    free(gradient);
    free(scratch);
    mlp_deinit(&mlp);
}

static void
mlp_gradients_of_images_add_up(void **state)
{
    const struct image images[] = {image_make(1, 0), image_make(2, 9)};
    struct mlp mlp;

    assert_ok(mlp_init(&mlp, HIDDEN, 1));
    double *apart = calloc(2 * mlp.n_parameters, sizeof(double));
    double *together = calloc(mlp.n_parameters, sizeof(double));
    assert_non_null(apart);
    assert_non_null(together);

    for (size_t i = 0; i < 2; i++) {
        mlp_backward(&mlp, &images[i], &apart[i * mlp.n_parameters]);
        mlp_backward(&mlp, &images[i], together);
    }
    for (size_t i = 0; i < mlp.n_parameters; i++)
        assert_true(fabs(apart[i] + apart[mlp.n_parameters + i] - together[i]) <
                    1e-12);
    free(apart);
    free(together);
    mlp_deinit(&mlp);
}

static void
mlp_steps_learn_an_image(void **state)
{
    const struct image image = image_make(5, 8);
    const struct mlp_rates rates = {.rate = 0.05, .momentum = 0.5};
    struct mlp mlp;
    double last = INFINITY;

    assert_ok(mlp_init(&mlp, HIDDEN, 1));
    for (size_t i = 0; i < 50; i++) {
        double *gradient = calloc(mlp.n_parameters, sizeof(double));
        assert_non_null(gradient);
        last = mlp_backward(&mlp, &image, gradient);
        mlp_step(&mlp, gradient, 1, rates);
        free(gradient);
    }
    assert_true(last < 0.05);
    assert_int_equal(mlp_classify(&mlp, &image), 8);
    mlp_deinit(&mlp);
}

static void
mlp_same_seed_gives_same_weights(void **state)
{
    struct mlp a;
    struct mlp b;

    assert_ok(mlp_init(&a, HIDDEN, 9));
    assert_ok(mlp_init(&b, HIDDEN, 9));
    assert_int_equal(a.n_parameters, HIDDEN * 65 + 10 * (HIDDEN + 1));
    assert_memory_equal(a.parameters, b.parameters,
                        a.n_parameters * sizeof(double));
    mlp_deinit(&a);
    mlp_deinit(&b);
}

/* These cases test train_digits/digits.c. */

/* Loads what stands in text. */
static enum hoop_status
text_load(const char *text, struct digits *out_digits)
{
    char path[TEMPORARY_PATH] = "hoop_digits_XXXXXX";
    const int fd = temporary_file(path, sizeof(path));

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    const enum hoop_status status = digits_load(path, out_digits);
    unlink(path);
    return status;
}

/* A line of 64 times the same number, and a label. */
static void
line_print(char *out_text, size_t n_bytes, int pixel, const char *rest)
{
    size_t n = 0;

    for (int i = 0; i < DIGITS_PIXELS; i++)
        n += (size_t)snprintf(out_text + n, n_bytes - n, "%d,", pixel);
    snprintf(out_text + n, n_bytes - n, "%s", rest);
}

static void
digits_shipped_file_is_whole(void **state)
{
    struct digits digits = {0};
    size_t n_of[DIGITS_CLASSES] = {0};

    assert_ok(digits_load(DIGITS_CSV, &digits));
    assert_int_equal(digits.n_images, 1797);
    for (size_t i = 0; i < digits.n_images; i++) {
        for (size_t j = 0; j < DIGITS_PIXELS; j++)
            assert_true(digits.images[i].pixels[j] >= 0 &&
                        digits.images[i].pixels[j] <= 1);
        n_of[digits.images[i].label]++;
    }
    for (size_t i = 0; i < DIGITS_CLASSES; i++)
        assert_in_range(n_of[i], 174, 183);
    assert_int_equal(digits.images[0].label, 0);
    assert_true(digits.images[0].pixels[2] == 5.0 / 16);
    digits_deinit(&digits);
}

static void
digits_pixels_are_scaled(void **state)
{
    struct digits digits = {0};
    char line[512];

    line_print(line, sizeof(line), 16, "7\n");
    assert_ok(text_load(line, &digits));
    assert_int_equal(digits.n_images, 1);
    assert_int_equal(digits.images[0].label, 7);
    assert_true(digits.images[0].pixels[63] == 1);
    digits_deinit(&digits);
}

static void
digits_damaged_lines_are_refused(void **state)
{
    static const char *const rests[] = {"10\n", "\n", "1,1\n", "x\n", "-1\n"};
    struct digits digits = {0};
    char line[512];

    for (size_t i = 0; i < sizeof(rests) / sizeof(rests[0]); i++) {
        line_print(line, sizeof(line), 3, rests[i]);
        assert_int_equal(text_load(line, &digits), HOOP_E_INVALID);
    }
    line_print(line, sizeof(line), 17, "1\n");
    assert_int_equal(text_load(line, &digits), HOOP_E_INVALID);
    assert_int_equal(text_load("", &digits), HOOP_E_INVALID);
    assert_null(digits.images);
}

static void
digits_missing_file_is_not_found(void **state)
{
    struct digits digits = {0};

    assert_int_equal(digits_load("/nowhere/digits.csv", &digits),
                     HOOP_E_NOT_FOUND);
}

/* These cases test train_digits/random.c. */

static void
random_signed_stays_in_its_range(void **state)
{
    struct random random = {1};
    double sum = 0;

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

    for (int i = 0; i < 100; i++)
        assert_int_equal(random_below(&a, 1000), random_below(&b, 1000));
}

/* These cases test train_digits/chart.c. */

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
        cmocka_unit_test(mlp_gradient_is_the_slope_of_the_loss),
        cmocka_unit_test(mlp_gradients_of_images_add_up),
        cmocka_unit_test(mlp_steps_learn_an_image),
        cmocka_unit_test(mlp_same_seed_gives_same_weights),
        cmocka_unit_test(digits_shipped_file_is_whole),
        cmocka_unit_test(digits_pixels_are_scaled),
        cmocka_unit_test(digits_damaged_lines_are_refused),
        cmocka_unit_test(digits_missing_file_is_not_found),
        cmocka_unit_test(random_signed_stays_in_its_range),
        cmocka_unit_test(random_shuffle_keeps_every_index),
        cmocka_unit_test(random_same_seed_gives_same_order),
        cmocka_unit_test(chart_has_a_point_for_each_value),
        cmocka_unit_test(chart_of_one_or_no_value_is_finite),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
