/* tests/unit/worker/pipeline/p2p_communicator_test.c - created, and asked */

#include "hoop/p2p_communicator.h"

#include "base/cleanup.h"
#include "engine_pair_api.h"
#include "pipeline/p2p_communicator.h"

static void
wrong_options_are_invalid(void **state)
{
    const enum hoop_dtype unknown = (enum hoop_dtype)99;
    struct hoop_p2p_options options = {.stages = both()};
    hoop_p2p_t *p2p = NULL;

    assert_invalid(hoop_p2p_create(NULL, &p2p), "options is NULL");
    assert_invalid(hoop_p2p_create(&options, NULL), "out_p2p is NULL");
    options.dtype = &unknown;
    assert_invalid(hoop_p2p_create(&options, &p2p), "dtype 99");
    options.dtype = NULL;
    options.stages = NULL;
    assert_invalid(hoop_p2p_create(&options, &p2p), "stages is NULL");
    assert_null(p2p);
    hoop_p2p_free(NULL);
}

static void
neighbours_of(hoop_comm_t *comm, uint32_t next, uint32_t prev)
{
    const struct hoop_p2p_options options = {.stages = comm};
    hoop_p2p_t *p2p = NULL;

    assert_ok(hoop_p2p_create(&options, &p2p));
    assert_int_equal(hoop_p2p_next(p2p), next);
    assert_int_equal(hoop_p2p_prev(p2p), prev);
    hoop_p2p_free(p2p);
}

static void
neighbours_wrap_around(void **state)
{
    neighbours_of(both(), 1, 1);
    neighbours_of(alone(), 0, 0);
}

static void
no_member_has_no_neighbours(void **state)
{
    neighbours_of(foreign(), HOOP_NO_RANK, HOOP_NO_RANK);
    assert_int_equal(hoop_p2p_next(NULL), HOOP_NO_RANK);
    assert_int_equal(hoop_p2p_prev(NULL), HOOP_NO_RANK);
}

static const struct hoop_shape three = {.n_dims = 3, .dims = {4, 1, 2}};

static void
shape_is_its_three_sizes(void **state)
{
    const int64_t expected[P2P_SHAPES_DIMS] = {4, 1, 2};
    int64_t sizes[P2P_SHAPES_DIMS] = {0};
    struct hoop_shape shape;

    assert_int_equal(sizeof(sizes), 24);
    assert_ok(p2p_shapes_pack(&three, "x", sizes));
    assert_memory_equal(sizes, expected, sizeof(expected));
    assert_ok(p2p_shapes_unpack(sizes, 5, &shape));
    assert_true(hoop_shape_equal(&shape, &three));
}

static void
other_number_of_dims_is_invalid(void **state)
{
    static const uint32_t n_dims[] = {0, 1, 2, 4, 8, HOOP_ANY_SHAPE};
    int64_t sizes[P2P_SHAPES_DIMS];

    for (size_t i = 0; i < COUNT_OF(n_dims); i++) {
        struct hoop_shape shape = three;

        shape.n_dims = n_dims[i];
        assert_invalid(p2p_shapes_pack(&shape, "send_next", sizes),
                       "send_next has");
    }
}

static void
sizes_that_no_tensor_has_are_refused(void **state)
{
    static const int64_t wrong[][P2P_SHAPES_DIMS] = {
        {-1, 1, 1},
        {1, INT64_MIN, 1},
        {1, 1, -3},
        {INT64_MAX, 2, 1},
        {(int64_t)1 << 40, (int64_t)1 << 40, 0},
    };
    struct hoop_shape shape = three;

    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        assert_int_equal(p2p_shapes_unpack(wrong[i], 5, &shape),
                         HOOP_E_MISMATCH);
        assert_non_null(strstr(hoop_error_text(), "rank 5 gave ["));
        assert_true(hoop_shape_equal(&shape, &three));
    }
    /* Nor does who has them send them. */
    int64_t sizes[P2P_SHAPES_DIMS];
    const struct hoop_shape huge = {.n_dims = 3, .dims = {SIZE_MAX, 1, 1}};
    assert_int_equal(p2p_shapes_pack(&huge, "x", sizes), HOOP_E_INVALID);
}

static void
wrong_arguments_are_invalid(void **state)
{
    const struct hoop_p2p_options options = {.stages = both()};
    struct hoop_tensor flat = {.shape = {.n_dims = 1, .dims = {6}}};
    const struct hoop_p2p_exchange exchange = {.send_prev = &flat};
    struct hoop_shape prev;
    struct hoop_shape next;
    hoop_p2p_t *p2p = NULL;

    assert_ok(hoop_p2p_create(&options, &p2p));
    assert_invalid(hoop_p2p_exchange_shapes(NULL, &exchange, &prev, &next),
                   "p2p is NULL");
    assert_invalid(hoop_p2p_exchange_shapes(p2p, NULL, &prev, &next),
                   "exchange is NULL");
    assert_invalid(hoop_p2p_exchange_shapes(p2p, &exchange, NULL, &next),
                   "out_prev is NULL");
    assert_invalid(hoop_p2p_exchange_shapes(p2p, &exchange, &prev, NULL),
                   "out_next is NULL");
    assert_invalid(hoop_p2p_exchange_shapes(p2p, &exchange, &prev, &next),
                   "send_prev has 1 dimensions");
    hoop_p2p_free(p2p);
}

/* Nobody would ever receive it. */
static void
alone_what_is_sent_must_be_received(void **state)
{
    const struct hoop_p2p_options options = {.stages = alone()};
    struct hoop_tensor tensor = {.shape = three};
    struct hoop_p2p_exchange exchange = {.send_next = &tensor};
    struct hoop_shape prev;
    struct hoop_shape next;
    hoop_p2p_t *p2p = NULL;

    assert_ok(hoop_p2p_create(&options, &p2p));
    assert_invalid(hoop_p2p_exchange_shapes(p2p, &exchange, &prev, &next),
                   "alone in the pipeline");
    exchange.recv_prev = true;
    assert_ok(hoop_p2p_exchange_shapes(p2p, &exchange, &prev, &next));
    assert_true(hoop_shape_equal(&prev, &three));
    hoop_p2p_free(p2p);
}

static void
no_member_gets_nothing(void **state)
{
    const struct hoop_p2p_options options = {.stages = foreign()};
    const struct hoop_p2p_exchange exchange = {.recv_prev = true};
    struct hoop_shape prev = three;
    struct hoop_shape next = three;
    hoop_p2p_t *p2p = NULL;

    assert_ok(hoop_p2p_create(&options, &p2p));
    assert_ok(hoop_p2p_exchange_shapes(p2p, &exchange, &prev, &next));
    assert_true(hoop_shape_equal(&prev, &three));
    assert_true(hoop_shape_equal(&next, &three));
    hoop_p2p_free(p2p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_TEST(wrong_options_are_invalid),
        ENGINE_PAIR_TEST(neighbours_wrap_around),
        ENGINE_PAIR_TEST(no_member_has_no_neighbours),
        ENGINE_PAIR_TEST(shape_is_its_three_sizes),
        ENGINE_PAIR_TEST(other_number_of_dims_is_invalid),
        ENGINE_PAIR_TEST(sizes_that_no_tensor_has_are_refused),
        ENGINE_PAIR_TEST(wrong_arguments_are_invalid),
        ENGINE_PAIR_TEST(alone_what_is_sent_must_be_received),
        ENGINE_PAIR_TEST(no_member_gets_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
