/* tests/unit/examples/reshard/layout_test.c - reshard/layout.c and the files
 * beside it */

#include <string.h>

#include "check.h"
#include "reshard/amount.h"
#include "reshard/content.h"
#include "reshard/layout.h"

static struct layout
layout_of(const char *text)
{
    struct layout layout = {0};
    struct problem problem;

    if (!layout_parse(text, &layout, &problem))
        fail_msg("%s: %s", text, problem.text);
    return layout;
}

/* What is read is what is meant: hoop's own description of it. */
static void
layout_in_words_is_the_layout(void **state)
{
    static const struct {
        const char *text;
        const char *words;
        uint32_t n_ranks;
    } cases[] = {
        {"2x4:S0,S1", "2x4 [S0, S1]", 8},
        {"4x2:S01,R", "4x2 [S01, R]", 8},
        {"4x2:R,S10", "4x2 [R, S10]", 8},
        {"3:S0,R+uneven", "3 [S0, R] uneven", 3},
        {"2x2@4:S1,S0", "2x2@4 [S1, S0]", 4},
        {"1:R", "1 [R]", 1},
        {"2x2x2:S2,R,S0,R", "2x2x2 [S2, R, S0, R]", 8},
        {"1x1x1x1x1x1x1x1:R,R,R,R,R,R,R,S01234567",
         "1x1x1x1x1x1x1x1 [R, R, R, R, R, R, R, S01234567]", 1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct layout layout = layout_of(cases[i].text);

        assert_string_equal(layout_describe(&layout).text, cases[i].words);
        assert_int_equal(layout.n_ranks, cases[i].n_ranks);
    }
}

static void
layout_that_is_none_says_what_is_expected(void **state)
{
    static const struct {
        const char *text;
        const char *words;
    } cases[] = {
        {"", "begins with the sizes of a mesh"},
        {"2x4", "and a colon"},
        {"S0,S1", "begins with the sizes of a mesh"},
        {"2x0:S0,R", "each at least 1"},
        {"2x:S0,R", "as in 2x4:"},
        {"2@:S0", "2x2@4:"},
        {"2@x:S0", "2x2@4:"},
        {"2@99999999999:S0", "2x2@4:"},
        {"1x1x1x1x1x1x1x1x1:R", "up to 8"},
        {"1048577:R", "more than 1048576 ranks"},
        {"1024x1024x2:R", "more than 1048576 ranks"},
        {"2:", "\"\" is no placement"},
        {"2:S0,", "\"\" is no placement"},
        {"2:,S0", "\"\" is no placement"},
        {"2:S", "\"S\" is no placement"},
        {"2:s0", "\"s0\" is no placement"},
        {"2:S0, R", "\" R\" is no placement"},
        {"2:S0x", "\"S0x\" is no placement"},
        {"2:S-1", "\"S-1\" is no placement"},
        {"2:RR", "\"RR\" is no placement"},
        {"2:S0,Q1", "\"Q1\" is no placement, which is R (whole) or S"},
        {"2:S000000000", "\"S000000000\" is no placement"},
        {"2:P0,R", "partial sums cannot be saved"},
        {"2:R,R,R,R,R,R,R,R,R", "more placements than a tensor"},
        {"2:S0+even", "\"+even\" is not known: +uneven"},
        {"2:S0+uneven+uneven", "\"+uneven+uneven\" is not known"},
        {"2:S0+", "\"+\" is not known"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct problem problem = {""};
        struct layout layout = {.n_ranks = 77};

        if (layout_parse(cases[i].text, &layout, &problem) ||
            !strstr(problem.text, cases[i].words))
            fail_msg("%s: %s", cases[i].text, problem.text);
        assert_int_equal(layout.n_ranks, 77);
    }
}

/* Eight ranks, a tensor of 6 x 8. */
static void
layout_that_does_not_fit_says_why(void **state)
{
    static const struct {
        const char *text;
        const char *words; /* NULL: it fits */
    } cases[] = {
        {"2x4:S0,S1", NULL},
        {"4x2:S0,R+uneven", NULL},
        {"4@4:R,S0", NULL},
        {"4@5:R,S0", "wants ranks 5 to 8, but the world has 8"},
        {"3x3:R,R", "wants ranks 0 to 8, but the world has 8: start more, as "
                    "by hooprun -n 9"},
        {"2x4:S0", "has 2 dimensions, but placements are there for 1"},
        {"2x4:S0,R,S1", "has 2 dimensions, but placements are there for 3"},
        {"4x2:S0,R", "6 elements along dim 0 cannot be cut into 4 equal"},
        {"2x4:S2,R", "names axis 2, but the mesh has 2 axes"},
        {"2x4:S0,S0", "names axis 0, which is there already"},
        {"2x4:S00,R", "names axis 0, which is there already"},
    };
    const struct hoop_shape shape = {2, {6, 8}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct layout layout = layout_of(cases[i].text);
        struct problem problem = {""};
        const bool fits = layout_check(&layout, &shape, 8, &problem);

        if (fits != !cases[i].words ||
            (!fits && !strstr(problem.text, cases[i].words)))
            fail_msg("%s: %s", cases[i].text, problem.text);
    }
}

/* What is whole on several ranks is there several times. */
static void
layout_bytes_count_what_every_rank_has(void **state)
{
    static const struct {
        const char *text;
        uint64_t n_bytes;
    } cases[] = {
        {"2x4:S0,S1", 192},     {"2x4:S0,R", 4 * 192},    {"2x4:R,R", 8 * 192},
        {"5:S0,R+uneven", 192}, {"4x2:R,S1+uneven", 768}, {"1:R,R", 192},
    };
    const struct hoop_shape shape = {2, {6, 8}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct layout layout = layout_of(cases[i].text);

        assert_int_equal(layout_n_bytes(&layout, &shape, HOOP_FLOAT32),
                         cases[i].n_bytes);
    }
}

/* These cases test reshard/content.c. */

enum {
    ELEMENTS_MAX = 256,
    ELEMENT_BYTES = 16,
};

/* Every part of the tensor equals the same elements of the whole. */
static void
parts_check(const char *text,
            const struct hoop_shape *shape,
            enum hoop_dtype dtype)
{
    static unsigned char whole[ELEMENTS_MAX * ELEMENT_BYTES];
    static unsigned char local[ELEMENTS_MAX * ELEMENT_BYTES];
    const size_t n_bytes = hoop_dtype_size(dtype);
    const struct hoop_part all = {.shape = *shape};
    struct problem problem;
    struct layout layout;

    content_fill(&all, shape,
                 &(struct hoop_tensor){.data = whole, .dtype = dtype});
    assert_true(layout_parse(text, &layout, &problem));
    for (uint32_t place = 0; place < layout.n_ranks; place++) {
        struct hoop_part part;
        size_t n = 0;

        assert_ok(hoop_sharding_part(&layout.sharding, &layout.mesh, shape,
                                     place, &part));
        content_fill(&part, shape,
                     &(struct hoop_tensor){.data = local, .dtype = dtype});
        for (size_t x = 0; x < part.shape.dims[0]; x++)
            for (size_t y = 0; y < part.shape.dims[1]; y++)
                for (size_t z = 0; z < part.shape.dims[2]; z++, n++) {
                    const size_t index =
                        ((part.offset[0] + x) * shape->dims[1] +
                         part.offset[1] + y) *
                            shape->dims[2] +
                        part.offset[2] + z;

                    assert_memory_equal(local + n * n_bytes,
                                        whole + index * n_bytes, n_bytes);
                }
    }
}

static void
content_of_a_part_is_that_of_the_whole(void **state)
{
    static const char *const layouts[] = {
        "1:R,R,R",     "2x3:S0,S1,R",        "2x3:S1,R,S0+uneven",
        "2x3:R,S01,R", "5x2:S0,R,S1+uneven", /* some have nothing */
    };
    const struct hoop_shape shape = {3, {6, 6, 4}};

    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        const struct hoop_shape small = {3, {3, 4, 5}};

        if (i != 1 && i != 3)
            parts_check(layouts[i], &small, HOOP_COMPLEX128);
        parts_check(layouts[i], &shape, HOOP_FLOAT32);
        parts_check(layouts[i], &shape, HOOP_UINT8);
    }
}

/* Any two elements that are confused change the hash. */
static void
content_has_no_element_twice(void **state)
{
    const struct hoop_shape shape = {1, {ELEMENTS_MAX}};
    const struct hoop_part all = {.shape = shape};
    static uint64_t elements[ELEMENTS_MAX];

    content_fill(&all, &shape,
                 &(struct hoop_tensor){.data = elements, .dtype = HOOP_INT64});
    for (size_t i = 0; i < ELEMENTS_MAX; i++)
        for (size_t j = 0; j < i; j++)
            assert_true(elements[i] != elements[j]);
}

static void
content_of_nothing_touches_nothing(void **state)
{
    const struct hoop_shape shape = {2, {0, 4}};
    const struct hoop_part all = {.shape = shape};
    const struct hoop_tensor none = {.data = NULL, .dtype = HOOP_FLOAT32};

    content_fill(&all, &shape, &none);
}

/* These cases test reshard/amount.c. */

static void
amount_bytes_with_a_unit_are_multiplied(void **state)
{
    static const struct {
        const char *text;
        uint64_t n_bytes;
    } cases[] = {
        {"1", 1},
        {"1000", 1000},
        {"64K", 64 * 1024},
        {"256M", 256 * 1024 * 1024},
        {"1g", (uint64_t)1 << 30},
        {"1024G", (uint64_t)1 << 40},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t n_bytes = 0;

        assert_true(amount_bytes_parse(cases[i].text, &n_bytes));
        assert_int_equal(n_bytes, cases[i].n_bytes);
    }
}

static void
amount_bytes_that_are_none_are_refused(void **state)
{
    static const char *const texts[] = {
        "",   "0",  "-1",   "K",    "1T",    "1KK",
        " 1", "1 ", "0x10", "1.5M", "1025G", "99999999999999999999999"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        uint64_t n_bytes = 7;

        if (amount_bytes_parse(texts[i], &n_bytes) || n_bytes != 7)
            fail_msg("%s", texts[i]);
    }
}

static void
amount_list_ends_where_the_numbers_do(void **state)
{
    struct amount_list list;
    const char *rest = NULL;

    assert_true(amount_list_parse("2x4:S0", &list, &rest));
    assert_int_equal(list.n_numbers, 2);
    assert_int_equal(list.numbers[0], 2);
    assert_int_equal(list.numbers[1], 4);
    assert_string_equal(rest, ":S0");
    assert_true(amount_list_parse("1x2x3x4x5x6x7x8", &list, &rest));
    assert_int_equal(list.n_numbers, AMOUNT_LIST_MAX);
    assert_string_equal(rest, "");
}

static void
amount_list_that_is_none_is_refused(void **state)
{
    static const char *const texts[] = {"",      "x",
                                        "x2",    "2x",
                                        "2x:S0", "0x2",
                                        "2x0",   "1x2x3x4x5x6x7x8x9",
                                        "2xx2",  "99999999999999"};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct amount_list list;
        const char *rest = NULL;

        if (amount_list_parse(texts[i], &list, &rest) || rest)
            fail_msg("%s", texts[i]);
    }
}

static void
amount_describe_takes_the_largest_unit(void **state)
{
    assert_string_equal(amount_describe(0).text, "0 B");
    assert_string_equal(amount_describe(1023).text, "1023 B");
    assert_string_equal(amount_describe(1024).text, "1 KiB");
    assert_string_equal(amount_describe(256 * 1024 * 1024).text, "256 MiB");
    assert_string_equal(amount_describe(89478485).text, "85.33 MiB");
    assert_string_equal(amount_describe((uint64_t)1 << 40).text, "1 TiB");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_in_words_is_the_layout),
        cmocka_unit_test(layout_that_is_none_says_what_is_expected),
        cmocka_unit_test(layout_that_does_not_fit_says_why),
        cmocka_unit_test(layout_bytes_count_what_every_rank_has),
        cmocka_unit_test(content_of_a_part_is_that_of_the_whole),
        cmocka_unit_test(content_has_no_element_twice),
        cmocka_unit_test(content_of_nothing_touches_nothing),
        cmocka_unit_test(amount_bytes_with_a_unit_are_multiplied),
        cmocka_unit_test(amount_bytes_that_are_none_are_refused),
        cmocka_unit_test(amount_list_ends_where_the_numbers_do),
        cmocka_unit_test(amount_list_that_is_none_is_refused),
        cmocka_unit_test(amount_describe_takes_the_largest_unit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
