/* tests/unit/worker/api/collective_test.c - api/collective.c */

#include <stdint.h>
#include <string.h>

#include "hoop/hoop.h"

#include "check.h"
#include "couple.h"

static struct couple couple;
static int32_t here[8];
static int32_t there[8];

static int
couple_set_up(void **state)
{
    (void)state;
    couple_open(&couple);
    couple_connect(&couple);
    memset(here, 0, sizeof(here));
    memset(there, 0, sizeof(there));
    return 0;
}

static int
couple_tear_down(void **state)
{
    (void)state;
    couple_close(&couple);
    return 0;
}

static hoop_comm_t *
both(void)
{
    return &couple.sides[0].comms[0];
}

static hoop_comm_t *
alone(void)
{
    return &couple.sides[0].alone;
}

static void
assert_invalid(enum hoop_status status, const char *text)
{
    assert_int_equal(status, HOOP_E_INVALID);
    if (!strstr(hoop_error_text(), text))
        fail_msg("the text is: %s", hoop_error_text());
}

static void
null_communicator_is_invalid(void **state)
{
    (void)state;
    assert_invalid(hoop_allreduce(here, there, 1, HOOP_INT32, HOOP_SUM, NULL),
                   "comm is NULL");
    assert_invalid(hoop_barrier(NULL), "comm is NULL");
}

static void
no_member_has_nothing_to_call(void **state)
{
    struct hoop_comm foreign = {.context = NULL};
    hoop_op_t *op = NULL;

    (void)state;
    there[0] = 5;
    assert_int_equal(
        hoop_allreduce(here, there, 1, HOOP_INT32, HOOP_SUM, &foreign),
        HOOP_OK);
    assert_int_equal(
        hoop_broadcast_start(NULL, there, 1, HOOP_INT32, 7, &foreign, &op),
        HOOP_OK);
    assert_int_equal(hoop_test(op), HOOP_OK);
    assert_int_equal(hoop_barrier(&foreign), HOOP_OK);
    assert_int_equal(there[0], 5);
}

static void
null_operation_is_invalid(void **state)
{
    (void)state;
    assert_invalid(hoop_barrier_start(both(), NULL), "out_op is NULL");
    assert_invalid(hoop_allreduce_start(here, there, 1, HOOP_INT32, HOOP_SUM,
                                        both(), NULL),
                   "out_op is NULL");
}

static void
unknown_dtype_is_invalid(void **state)
{
    (void)state;
    assert_invalid(hoop_allgather(here, there, 1, (enum hoop_dtype)15, both()),
                   "dtype 15");
    assert_invalid(
        hoop_allgather(here, there, 1, (enum hoop_dtype) - 1, both()),
        "dtype -1");
}

static void
reduction_without_a_meaning_is_invalid(void **state)
{
    (void)state;
    assert_invalid(
        hoop_allreduce(here, there, 1, HOOP_FLOAT32, HOOP_BAND, both()),
        "band of float32 has no meaning");
    assert_invalid(
        hoop_allreduce(here, there, 1, HOOP_COMPLEX64, HOOP_MAX, both()),
        "max of complex64");
    assert_invalid(hoop_allreduce(here, there, 1, HOOP_BOOL, HOOP_AVG, both()),
                   "avg of bool");
    assert_invalid(hoop_allreduce(here, there, 1, HOOP_INT32,
                                  (enum hoop_reduce_op)5, both()),
                   "reduce operator 5 is not known to hoop");
}

static void
root_outside_is_invalid(void **state)
{
    (void)state;
    assert_invalid(hoop_broadcast(here, there, 1, HOOP_INT32, 2, both()),
                   "root 2 is not below the communicator's size, 2");
    assert_invalid(
        hoop_reduce(here, there, 1, HOOP_INT32, HOOP_SUM, UINT32_MAX, both()),
        "root 4294967295");
    assert_invalid(hoop_broadcast(here, there, 1, HOOP_INT32, 1, alone()),
                   "size, 1");
}

static void
counts_that_overflow_are_invalid(void **state)
{
    const size_t counts[] = {SIZE_MAX, 1};
    const size_t large[] = {SIZE_MAX / 8, 9};

    (void)state;
    assert_invalid(
        hoop_allreduce(here, there, SIZE_MAX, HOOP_INT32, HOOP_SUM, both()),
        "too many");
    assert_invalid(hoop_allreduce(here, there, (size_t)INT64_MAX / 4 + 1,
                                  HOOP_INT32, HOOP_SUM, both()),
                   "too many");
    assert_invalid(
        hoop_allgather(here, there, SIZE_MAX / 2 + 1, HOOP_INT8, both()),
        "overflow");
    assert_invalid(hoop_allgatherv(here, there, counts, HOOP_INT8, both()),
                   "add up to more");
    assert_invalid(hoop_allgatherv(here, there, large, HOOP_INT32, both()),
                   "too many");
}

static void
missing_counts_are_invalid(void **state)
{
    hoop_op_t *op = NULL;

    (void)state;
    assert_invalid(hoop_allgatherv(here, there, NULL, HOOP_INT32, both()),
                   "counts is NULL");
    assert_invalid(
        hoop_allgatherv_start(here, there, NULL, HOOP_INT32, both(), &op),
        "counts is NULL");
    assert_invalid(
        hoop_reduce_scatterv(here, there, NULL, HOOP_INT32, HOOP_SUM, both()),
        "counts is NULL");
    assert_invalid(hoop_reduce_scatterv_start(here, there, NULL, HOOP_INT32,
                                              HOOP_SUM, both(), &op),
                   "counts is NULL");
    assert_null(op);
}

static void
null_buffers_are_invalid_unless_they_are_empty(void **state)
{
    (void)state;
    assert_invalid(hoop_allreduce(NULL, there, 1, HOOP_INT32, HOOP_SUM, both()),
                   "send is NULL on rank 0");
    assert_invalid(hoop_allreduce(here, NULL, 1, HOOP_INT32, HOOP_SUM, both()),
                   "recv is NULL on rank 0");
    assert_invalid(
        hoop_allreduce(HOOP_IN_PLACE, NULL, 1, HOOP_INT32, HOOP_SUM, both()),
        "NULL on rank 0");
    assert_int_equal(
        hoop_allreduce(NULL, NULL, 0, HOOP_INT32, HOOP_SUM, alone()), HOOP_OK);
}

static void
in_place_twice_is_invalid(void **state)
{
    (void)state;
    assert_invalid(hoop_allreduce(HOOP_IN_PLACE, HOOP_IN_PLACE, 1, HOOP_INT32,
                                  HOOP_SUM, both()),
                   "cannot both be HOOP_IN_PLACE");
    assert_invalid(hoop_allreduce(HOOP_IN_PLACE, HOOP_IN_PLACE, 0, HOOP_INT32,
                                  HOOP_SUM, both()),
                   "cannot both be HOOP_IN_PLACE");
}

/* Nothing was sent, no number drawn: the next call still fits the other's. */
static int
side_sum_after_refusal(struct side *side)
{
    int32_t value = 4;

    if (side->rank == 0)
        SIDE_CHECK(hoop_allreduce(NULL, &value, 1, HOOP_INT32, HOOP_SUM,
                                  &side->comms[0]) == HOOP_E_INVALID);
    SIDE_CHECK(hoop_allreduce(&value, HOOP_IN_PLACE, 1, HOOP_INT32, HOOP_SUM,
                              &side->comms[0]) == HOOP_OK);
    SIDE_CHECK(value == 8);
    return 0;
}

static void
refused_call_has_no_consequence(void **state)
{
    (void)state;
    couple_run(&couple, side_sum_after_refusal);
}

static void
success_leaves_no_error_text(void **state)
{
    (void)state;
    assert_invalid(hoop_barrier(NULL), "comm");
    assert_int_equal(hoop_barrier(alone()), HOOP_OK);
    assert_string_equal(hoop_error_text(), "");
}

#define COUPLE_TEST(name)                                                      \
    cmocka_unit_test_setup_teardown(name, couple_set_up, couple_tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(null_communicator_is_invalid),
        COUPLE_TEST(no_member_has_nothing_to_call),
        COUPLE_TEST(null_operation_is_invalid),
        COUPLE_TEST(unknown_dtype_is_invalid),
        COUPLE_TEST(reduction_without_a_meaning_is_invalid),
        COUPLE_TEST(root_outside_is_invalid),
        COUPLE_TEST(counts_that_overflow_are_invalid),
        COUPLE_TEST(missing_counts_are_invalid),
        COUPLE_TEST(null_buffers_are_invalid_unless_they_are_empty),
        COUPLE_TEST(in_place_twice_is_invalid),
        COUPLE_TEST(refused_call_has_no_consequence),
        COUPLE_TEST(success_leaves_no_error_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
