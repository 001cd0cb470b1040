/* tests/unit/examples/reshard/content_test.c - reshard/content.c */

#include <string.h>

#include "check.h"
#include "reshard/content.h"
#include "reshard/layout.h"

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

        assert_int_equal(hoop_sharding_part(&layout.sharding, &layout.mesh,
                                            shape, place, &part),
                         HOOP_OK);
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

    (void)state;
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

    (void)state;
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

    (void)state;
    content_fill(&all, &shape, &none);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_of_a_part_is_that_of_the_whole),
        cmocka_unit_test(content_has_no_element_twice),
        cmocka_unit_test(content_of_nothing_touches_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
