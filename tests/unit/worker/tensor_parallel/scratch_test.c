/* tests/unit/worker/tensor_parallel/scratch_test.c - tensor_parallel/target.c */

#include <string.h>

#include "base/error.h"
#include "check.h"
#include "tensor_parallel/target.h"

static struct hoop_tensor
bytes_at(void *at, size_t n)
{
    return (struct hoop_tensor){
        .data = at, .dtype = HOOP_UINT8, .shape = {1, {n}}};
}

static void
scratch_grows_to_the_largest_and_stays(void **state)
{
    uint8_t outside[8] = {0};
    const struct hoop_tensor tensor = bytes_at(outside, sizeof(outside));
    hoop_scratch_t *scratch = NULL;
    void *large = NULL;
    void *small = NULL;

    (void)state;
    assert_int_equal(hoop_scratch_create(&scratch), HOOP_OK);
    assert_int_equal(scratch_acquire(scratch, 10, &tensor, &small), HOOP_OK);
    scratch_release(scratch);
    assert_int_equal(scratch_acquire(scratch, 100000, &tensor, &large),
                     HOOP_OK);
    assert_true((uintptr_t)large % 64 == 0);
    memset(large, 1, 100000);
    scratch_release(scratch);
    assert_int_equal(scratch_acquire(scratch, 3, &tensor, &small), HOOP_OK);
    assert_ptr_equal(small, large);
    scratch_release(scratch);
    assert_int_equal(scratch_acquire(scratch, 100000, &tensor, &small),
                     HOOP_OK);
    assert_ptr_equal(small, large);
    hoop_scratch_free(scratch);
}

static void
scratch_of_nothing_is_lent(void **state)
{
    const struct hoop_tensor tensor = bytes_at(NULL, 0);
    hoop_scratch_t *scratch = NULL;
    void *bytes = &scratch;

    (void)state;
    assert_int_equal(hoop_scratch_create(&scratch), HOOP_OK);
    assert_int_equal(scratch_acquire(scratch, 0, &tensor, &bytes), HOOP_OK);
    assert_null(bytes);
    hoop_scratch_free(scratch);
    hoop_scratch_free(NULL);
    scratch_release(NULL);
}

static void
scratch_that_is_lent_is_refused_until_it_is_returned(void **state)
{
    uint8_t outside[8] = {0};
    const struct hoop_tensor tensor = bytes_at(outside, sizeof(outside));
    hoop_scratch_t *scratch = NULL;
    void *bytes = NULL;

    (void)state;
    assert_int_equal(hoop_scratch_create(&scratch), HOOP_OK);
    assert_int_equal(scratch_acquire(scratch, 10, &tensor, &bytes), HOOP_OK);
    assert_int_equal(scratch_acquire(scratch, 10, &tensor, &bytes),
                     HOOP_E_PRECONDITION);
    assert_non_null(strstr(hoop_error_text(), "wait for it"));
    scratch_release(scratch);
    assert_int_equal(scratch_acquire(scratch, 10, &tensor, &bytes), HOOP_OK);
    hoop_scratch_free(scratch);
}

static void
scratch_that_holds_what_is_moved_is_refused(void **state)
{
    uint8_t outside[8] = {0};
    const struct hoop_tensor tensor = bytes_at(outside, sizeof(outside));
    hoop_scratch_t *scratch = NULL;
    void *bytes = NULL;

    (void)state;
    assert_int_equal(hoop_scratch_create(&scratch), HOOP_OK);
    assert_int_equal(scratch_acquire(scratch, 64, &tensor, &bytes), HOOP_OK);
    scratch_release(scratch);
    const struct hoop_tensor first = bytes_at(bytes, 1);
    const struct hoop_tensor last = bytes_at((uint8_t *)bytes + 63, 1);
    const struct hoop_tensor behind = bytes_at((uint8_t *)bytes + 64, 1);
    const struct hoop_tensor none = bytes_at(bytes, 0);
    assert_int_equal(scratch_acquire(scratch, 1, &first, &bytes),
                     HOOP_E_INVALID);
    assert_int_equal(scratch_acquire(scratch, 1, &last, &bytes),
                     HOOP_E_INVALID);
    assert_non_null(strstr(hoop_error_text(), "use another"));
    assert_int_equal(scratch_acquire(scratch, 1, &behind, &bytes), HOOP_OK);
    scratch_release(scratch);
    assert_int_equal(scratch_acquire(scratch, 1, &none, &bytes), HOOP_OK);
    hoop_scratch_free(scratch);
}

static void
scratch_without_memory_stays_as_it_was(void **state)
{
    uint8_t outside[8] = {0};
    const struct hoop_tensor tensor = bytes_at(outside, sizeof(outside));
    hoop_scratch_t *scratch = NULL;
    void *before = NULL;
    void *bytes = NULL;

    (void)state;
    assert_int_equal(hoop_scratch_create(&scratch), HOOP_OK);
    assert_int_equal(scratch_acquire(scratch, 100, &tensor, &before), HOOP_OK);
    scratch_release(scratch);
    assert_int_equal(scratch_acquire(scratch, (size_t)1 << 60, &tensor, &bytes),
                     HOOP_E_EXHAUSTED);
    assert_null(bytes);
    assert_int_equal(scratch_acquire(scratch, 100, &tensor, &bytes), HOOP_OK);
    assert_ptr_equal(bytes, before);
    hoop_scratch_free(scratch);
}

static void
scratch_create_without_a_place_is_invalid(void **state)
{
    (void)state;
    assert_int_equal(hoop_scratch_create(NULL), HOOP_E_INVALID);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scratch_grows_to_the_largest_and_stays),
        cmocka_unit_test(scratch_of_nothing_is_lent),
        cmocka_unit_test(scratch_that_is_lent_is_refused_until_it_is_returned),
        cmocka_unit_test(scratch_that_holds_what_is_moved_is_refused),
        cmocka_unit_test(scratch_without_memory_stays_as_it_was),
        cmocka_unit_test(scratch_create_without_a_place_is_invalid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
