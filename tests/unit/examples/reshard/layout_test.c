/* tests/unit/examples/reshard/layout_test.c - reshard/layout.c */

#include <string.h>

#include "check.h"
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

    (void)state;
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

    (void)state;
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

    (void)state;
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

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct layout layout = layout_of(cases[i].text);

        assert_int_equal(layout_n_bytes(&layout, &shape, HOOP_FLOAT32),
                         cases[i].n_bytes);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layout_in_words_is_the_layout),
        cmocka_unit_test(layout_that_is_none_says_what_is_expected),
        cmocka_unit_test(layout_that_does_not_fit_says_why),
        cmocka_unit_test(layout_bytes_count_what_every_rank_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
