/* tests/unit/examples/train_digits/digits_test.c - train_digits/digits.c */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "temporary.h"
#include "train_digits/digits.h"

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

    (void)state;
    assert_int_equal(digits_load(DIGITS_CSV, &digits), HOOP_OK);
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

    (void)state;
    line_print(line, sizeof(line), 16, "7\n");
    assert_int_equal(text_load(line, &digits), HOOP_OK);
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

    (void)state;
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

    (void)state;
    assert_int_equal(digits_load("/nowhere/digits.csv", &digits),
                     HOOP_E_NOT_FOUND);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits_shipped_file_is_whole),
        cmocka_unit_test(digits_pixels_are_scaled),
        cmocka_unit_test(digits_damaged_lines_are_refused),
        cmocka_unit_test(digits_missing_file_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
