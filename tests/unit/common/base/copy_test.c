/* tests/unit/common/base/copy_test.c - base/copy.h */

#include "base/copy.h"
#include "check.h"

enum {
    N_BYTES = 3 * COPY_AT_ONCE + 300,
};

typedef void
copy_fn(uint8_t *to, const uint8_t *from, size_t n_bytes);

/* Any ends, and nothing beside them. */
static void
copy_with(copy_fn *copy)
{
    static const size_t sizes[] = {0,
                                   1,
                                   15,
                                   63,
                                   64,
                                   65,
                                   200,
                                   COPY_AT_ONCE,
                                   COPY_AT_ONCE + 1,
                                   3 * COPY_AT_ONCE + 77};
    static uint8_t from[N_BYTES];
    static uint8_t to[N_BYTES];

    for (size_t i = 0; i < N_BYTES; i++)
        from[i] = (uint8_t)(i * 7 + i / 256);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        for (size_t at = 1; at < 130; at += 9) {
            memset(to, 0xee, sizeof(to));
            copy(to + at, from + at / 2, sizes[i]);
            assert_memory_equal(to + at, from + at / 2, sizes[i]);
            assert_int_equal(to[at - 1], 0xee);
            assert_int_equal(to[at + sizes[i]], 0xee);
        }
    }
}

static void
what_is_copied_is_the_same(void **state)
{
    copy_with(copy_bytes);
    copy_with(copy_bytes_nontemporal);
}

#ifdef __SSE2__
/* As the processors do whose own instruction is slower. */
static void
copy_lines_of(uint8_t *to, const uint8_t *from, size_t n_bytes)
{
    if (n_bytes >= COPY_LINE)
        copy_by_cache_lines(to, from, n_bytes);
    else
        memcpy(to, from, n_bytes);
}

static void
what_is_copied_by_lines_is_the_same(void **state)
{
    copy_with(copy_lines_of);
}
#endif

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_copied_is_the_same),
#ifdef __SSE2__
        cmocka_unit_test(what_is_copied_by_lines_is_the_same),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
