/* tests/unit/worker/api/coalesced_test.c - api/coalesced.c */

#include "engine_pair_api.h"

static int32_t values[8];

static void
wrong_arguments_are_invalid(void **state)
{
    const struct hoop_piece fine = {values, values + 4, 2};
    const struct hoop_piece pieces[] = {
        fine, {NULL, values, 1}, {values, NULL, 1}};
    const struct hoop_piece twice = {HOOP_IN_PLACE, HOOP_IN_PLACE, 0};
    const struct hoop_piece many[] = {{values, values, SIZE_MAX}, fine};
    hoop_op_t *op = NULL;

    assert_invalid(
        hoop_allreduce_coalesced(&fine, 1, HOOP_INT32, HOOP_SUM, NULL),
        "comm is NULL");
    assert_invalid(
        hoop_allreduce_coalesced(NULL, 1, HOOP_INT32, HOOP_SUM, both()),
        "pieces is NULL");
    assert_invalid(
        hoop_allreduce_coalesced(pieces, 3, HOOP_INT32, HOOP_SUM, both()),
        "piece 1: send is NULL");
    assert_invalid(
        hoop_allreduce_coalesced(pieces + 2, 1, HOOP_INT32, HOOP_SUM, both()),
        "piece 0: recv is NULL");
    assert_invalid(
        hoop_allreduce_coalesced(&twice, 1, HOOP_INT32, HOOP_SUM, both()),
        "cannot both be HOOP_IN_PLACE");
    assert_invalid(
        hoop_allreduce_coalesced(many, 2, HOOP_INT32, HOOP_SUM, both()),
        "more than 2^64");
    assert_invalid(
        hoop_allreduce_coalesced(many, 1, HOOP_INT32, HOOP_SUM, both()),
        "too many");
    assert_invalid(hoop_allreduce_coalesced(&fine, 1, (enum hoop_dtype)99,
                                            HOOP_SUM, both()),
                   "dtype 99");
    assert_invalid(hoop_allreduce_coalesced_start(&fine, 1, HOOP_FLOAT32,
                                                  HOOP_BAND, both(), &op),
                   "band of float32");
    assert_invalid(hoop_allreduce_coalesced_start(&fine, 1, HOOP_INT32,
                                                  HOOP_SUM, both(), NULL),
                   "out_op is NULL");
    assert_null(op);
}

static void
no_member_has_nothing_to_reduce(void **state)
{
    int32_t value = 3;
    const struct hoop_piece piece = {HOOP_IN_PLACE, &value, 1};
    hoop_op_t *op = NULL;

    assert_ok(
        hoop_allreduce_coalesced(&piece, 1, HOOP_INT32, HOOP_SUM, foreign()));
    assert_ok(finish(hoop_allreduce_coalesced_start(&piece, 1, HOOP_INT32,
                                                    HOOP_SUM, foreign(), &op),
                     &op));
    assert_int_equal(value, 3);
}

/* Out of place, in place in each way, and nothing. */
static int
every_piece_is_reduced(struct side *side)
{
    const int32_t rank = (int32_t)side->rank;
    const int32_t a[3] = {1 + rank, 2 + rank, 3 + rank};
    int32_t b[3] = {-1, -1, -1};
    int32_t c[2] = {10 * rank, 5};
    int32_t d = 7;
    const struct hoop_piece pieces[] = {
        {a, b, 3},
        {HOOP_IN_PLACE, c, 2},
        {NULL, NULL, 0},
        {&d, HOOP_IN_PLACE, 1},
    };
    hoop_op_t *op = NULL;

    SIDE_CHECK(hoop_allreduce_coalesced(pieces, 4, HOOP_INT32, HOOP_SUM,
                                        side->comms) == HOOP_OK);
    SIDE_CHECK(values_are(b, (int32_t[]){3, 5, 7}, 3));
    SIDE_CHECK(c[0] == 10 && c[1] == 10 && d == 14 && a[0] == 1 + rank);
    SIDE_CHECK(finish(hoop_allreduce_coalesced_start(
                          pieces, 4, HOOP_INT32, HOOP_MAX, side->comms, &op),
                      &op) == HOOP_OK);
    SIDE_CHECK(values_are(b, (int32_t[]){2, 3, 4}, 3) && c[0] == 10);
    SIDE_CHECK(hoop_allreduce_coalesced(NULL, 0, HOOP_INT32, HOOP_SUM,
                                        side->comms) == HOOP_OK);
    return 0;
}

/* The same number of elements, cut in another way. */
static int
pieces_that_differ_are_a_mismatch(struct side *side)
{
    int32_t buffer[4] = {0};
    const struct hoop_piece pieces[] = {
        {HOOP_IN_PLACE, buffer, 1 + side->rank},
        {HOOP_IN_PLACE, buffer + 2, 2 - side->rank},
    };

    SIDE_CHECK(hoop_allreduce_coalesced(pieces, 2, HOOP_INT32, HOOP_SUM,
                                        side->comms) == HOOP_E_MISMATCH);
    SIDE_CHECK(strstr(hoop_error_text(), "allreduce_coalesced #1"));
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_TEST(wrong_arguments_are_invalid),
        ENGINE_PAIR_TEST(no_member_has_nothing_to_reduce),
        SIDES_TEST(every_piece_is_reduced),
        SIDES_TEST(pieces_that_differ_are_a_mismatch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
