/* tests/unit/worker/pipeline/p2p_methods_test.c - the ends, and wrong lists
 *
 * No call here has a partner: nothing may move.
 */

#include "hoop/p2p_communicator.h"

#include "engine_pair_api.h"

static const struct hoop_shape pair = {.n_dims = 1, .dims = {2}};
static hoop_p2p_t *p2p;
static int64_t values[2] = {1, 2};
static struct hoop_tensor full[3];
static struct hoop_tensor empty[3];

static int
set_up(void **state)
{
    static const enum hoop_dtype dtype = HOOP_INT64;

    engine_pair_set_up(state);
    const struct hoop_p2p_options options = {.stages = both(), .dtype = &dtype};
    for (size_t i = 0; i < 3; i++) {
        full[i] = (struct hoop_tensor){
            .data = values, .dtype = HOOP_INT64, .shape = pair};
        empty[i] = (struct hoop_tensor){.shape = pair};
    }
    return hoop_p2p_create(&options, &p2p) == HOOP_OK ? 0 : -1;
}

static int
tear_down(void **state)
{
    hoop_p2p_free(p2p);
    return engine_pair_tear_down(state);
}

static void
lists_of_different_lengths_are_invalid(void **state)
{
    const struct hoop_tensors send = {2, full, NULL, 0};
    struct hoop_tensors receive = {3, empty, empty, 0};

    assert_invalid(hoop_p2p_send_forward_recv_backward(p2p, &send, &receive, 0),
                   "2 tensors to send, but 3 to receive");
    assert_invalid(hoop_p2p_send_backward_recv_forward(p2p, &send, &receive, 0),
                   "2 tensors to send, but 3 to receive");
    assert_null(empty[0].data);
    assert_int_equal(receive.n_tensors, 3);
}

/* The last of three is found before the first has moved. */
static void
wrong_last_tensor_is_found_first(void **state)
{
    const struct hoop_tensors send = {3, full, NULL, 0};
    struct hoop_tensors receive = {3, empty, empty, 0};

    full[2].dtype = (enum hoop_dtype)99;
    assert_invalid(hoop_p2p_send_forward(p2p, &send, 0),
                   "tensor 2 to send: dtype 99");
    full[2].dtype = HOOP_INT64;
    empty[2].shape.n_dims = HOOP_ANY_SHAPE;
    assert_invalid(hoop_p2p_send_forward_recv_backward(p2p, &send, &receive, 0),
                   "tensor 2 to receive has no shape");
}

static void
missing_lists_are_invalid(void **state)
{
    const struct hoop_tensors none = {2, NULL, NULL, 0};
    struct hoop_tensors receive = {2, NULL, NULL, 0};

    assert_invalid(hoop_p2p_send_forward(p2p, NULL, 0), "no list");
    assert_invalid(hoop_p2p_recv_backward(p2p, NULL, 0), "no list");
    assert_invalid(hoop_p2p_send_backward(p2p, &none, 0), "no tensors");
    assert_invalid(hoop_p2p_recv_forward(p2p, &receive, 0), "no tensors");
    assert_invalid(hoop_p2p_exchange_all(p2p, NULL), "ops is NULL");
}

static void
missing_communicator_is_invalid(void **state)
{
    const struct hoop_tensors send = {1, full, NULL, 0};
    struct hoop_tensors receive = {1, empty, empty, 0};
    const struct hoop_p2p_ops ops = {.recv_prev = empty,
                                     .received_prev = empty};

    assert_invalid(hoop_p2p_recv_forward(NULL, &receive, 0), "p2p is NULL");
    assert_invalid(hoop_p2p_recv_backward(NULL, &receive, 0), "p2p is NULL");
    assert_invalid(hoop_p2p_send_forward(NULL, &send, 0), "p2p is NULL");
    assert_invalid(hoop_p2p_send_backward(NULL, &send, 0), "p2p is NULL");
    assert_invalid(
        hoop_p2p_send_forward_recv_backward(NULL, &send, &receive, 0),
        "p2p is NULL");
    assert_invalid(
        hoop_p2p_send_backward_recv_forward(NULL, &send, &receive, 0),
        "p2p is NULL");
    assert_invalid(
        hoop_p2p_send_forward_recv_forward(NULL, full, empty, empty, NULL),
        "p2p is NULL");
    assert_invalid(
        hoop_p2p_send_backward_recv_backward(NULL, full, empty, empty, NULL),
        "p2p is NULL");
    assert_invalid(hoop_p2p_exchange_all(NULL, &ops), "p2p is NULL");
}

static void
unknown_stage_is_invalid(void **state)
{
    const struct hoop_tensors send = {1, full, NULL, 0};
    struct hoop_tensors receive = {1, empty, empty, 0};

    assert_invalid(hoop_p2p_send_forward(p2p, &send, 4), "stage 0x4");
    assert_invalid(hoop_p2p_recv_forward(p2p, &receive, 8 | 1), "stage 0x9");
}

/* Each looks at one end only, and there moves nothing, whatever is given. */
static void
ends_move_nothing(void **state)
{
    const struct hoop_tensors send = {2, full, NULL, 0};
    struct hoop_tensors receive = {3, empty, empty, 0};

    assert_ok(hoop_p2p_recv_forward(p2p, &receive, HOOP_P2P_STAGE_FIRST));
    assert_int_equal(receive.n_received, 0);
    receive.n_tensors = 3;
    assert_ok(hoop_p2p_recv_backward(p2p, &receive, HOOP_P2P_STAGE_LAST));
    assert_int_equal(receive.n_received, 0);
    assert_ok(hoop_p2p_send_forward(p2p, &send, HOOP_P2P_STAGE_LAST));
    assert_ok(hoop_p2p_send_backward(p2p, NULL, HOOP_P2P_STAGE_FIRST));
    receive.n_tensors = 3;
    assert_ok(hoop_p2p_send_forward_recv_backward(
        p2p, &send, &receive, HOOP_P2P_STAGE_FIRST | HOOP_P2P_STAGE_LAST));
    assert_int_equal(receive.n_received, 0);
    receive.n_tensors = 3;
    assert_ok(hoop_p2p_send_backward_recv_forward(p2p, &send, &receive,
                                                  HOOP_P2P_STAGE_FIRST));
    assert_int_equal(receive.n_received, 0);
    assert_null(empty[0].data);
}

static void
nothing_to_exchange_is_done(void **state)
{
    const struct hoop_p2p_ops ops = {0};

    assert_ok(hoop_p2p_exchange_all(p2p, &ops));
    assert_ok(hoop_p2p_send_forward_recv_forward(p2p, NULL, NULL, NULL, NULL));
    assert_ok(
        hoop_p2p_send_backward_recv_backward(p2p, NULL, NULL, NULL, NULL));
}

#define METHODS_TEST(name)                                                     \
    cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        METHODS_TEST(lists_of_different_lengths_are_invalid),
        METHODS_TEST(wrong_last_tensor_is_found_first),
        METHODS_TEST(missing_lists_are_invalid),
        METHODS_TEST(missing_communicator_is_invalid),
        METHODS_TEST(unknown_stage_is_invalid),
        METHODS_TEST(ends_move_nothing),
        METHODS_TEST(nothing_to_exchange_is_done),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
