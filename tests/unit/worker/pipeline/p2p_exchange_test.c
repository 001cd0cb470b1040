/* tests/unit/worker/pipeline/p2p_exchange_test.c - what is checked, and undone
 *
 * No call here has a partner: what is wrong must be found before anything has
 * moved, and leave every tensor as it was.
 */

#include "hoop/p2p_communicator.h"

#include "engine_pair_api.h"

static const struct hoop_shape pair = {.n_dims = 1, .dims = {2}};

enum {
    WITH_DTYPE = 1,
    VARIABLE = 2,
    UNBATCHED = 4,
};

static hoop_p2p_t *
of(hoop_comm_t *comm, unsigned how)
{
    static const enum hoop_dtype dtype = HOOP_INT64;
    const struct hoop_p2p_options options = {
        .stages = comm,
        .dtype = how & WITH_DTYPE ? &dtype : NULL,
        .has_variable_shapes = (how & VARIABLE) != 0,
        .is_unbatched = (how & UNBATCHED) != 0,
    };
    hoop_p2p_t *p2p = NULL;

    assert_ok(hoop_p2p_create(&options, &p2p));
    return p2p;
}

static void
expect_untouched(const struct hoop_tensor *tensor,
                 const struct hoop_tensor *before)
{
    assert_memory_equal(tensor, before, sizeof(*tensor));
}

static void
receive_without_dtype_is_invalid(void **state)
{
    struct hoop_tensor input = {.dtype = HOOP_INT64, .shape = pair};
    const struct hoop_tensor before = input;
    struct hoop_tensors list = {1, &input, &input, 0};
    struct hoop_p2p_received received = {0};
    const struct hoop_p2p_exchange exchange = {.recv_next = true};
    const struct hoop_p2p_ops ops = {.recv_next = &input,
                                     .received_next = &input};
    hoop_p2p_t *p2p = of(both(), 0);

    assert_invalid(hoop_p2p_recv_forward(p2p, &list, 0), "without a dtype");
    assert_invalid(hoop_p2p_recv_backward(p2p, &list, 0), "without a dtype");
    assert_invalid(
        hoop_p2p_send_forward_recv_forward(p2p, NULL, &input, &input, NULL),
        "without a dtype");
    assert_invalid(hoop_p2p_communicate(p2p, &exchange, &pair, &received, NULL),
                   "without a dtype");
    assert_invalid(hoop_p2p_exchange_all(p2p, &ops), "without a dtype");
    expect_untouched(&input, &before);
    assert_int_equal(received.next.shape.n_dims, 0);
    hoop_p2p_free(p2p);
}

static void
receive_without_shape_is_invalid(void **state)
{
    struct hoop_tensor input = {.shape = {.n_dims = HOOP_ANY_SHAPE}};
    const struct hoop_tensor before = input;
    struct hoop_tensors list = {1, &input, &input, 0};
    struct hoop_p2p_received received = {0};
    const struct hoop_p2p_exchange exchange = {.recv_prev = true};
    hoop_p2p_t *p2p = of(both(), WITH_DTYPE);

    assert_invalid(hoop_p2p_recv_forward(p2p, &list, 0),
                   "tensor 0 to receive has no shape");
    assert_invalid(
        hoop_p2p_send_backward_recv_backward(p2p, NULL, &input, &input, NULL),
        "what comes from next has no shape");
    assert_invalid(hoop_p2p_communicate(p2p, &exchange, NULL, &received, NULL),
                   "shape is NULL");
    expect_untouched(&input, &before);
    hoop_p2p_free(p2p);
    /* As upstream, where its value counts for nothing either. */
    p2p = of(both(), WITH_DTYPE | VARIABLE);
    assert_invalid(hoop_p2p_communicate(p2p, &exchange, NULL, &received, NULL),
                   "shape is NULL");
    hoop_p2p_free(p2p);
}

static void
tensor_with_data_cannot_vary(void **state)
{
    int64_t values[2] = {0};
    struct hoop_tensor input = {
        .data = values, .dtype = HOOP_INT64, .shape = pair};
    struct hoop_tensors list = {1, &input, &input, 0};
    hoop_p2p_t *p2p = of(both(), WITH_DTYPE | VARIABLE);

    assert_invalid(hoop_p2p_recv_forward(p2p, &list, 0), "set data to NULL");
    hoop_p2p_free(p2p);
}

static void
wrong_tensors_are_invalid(void **state)
{
    int64_t values[4] = {0};
    const size_t strides[1] = {2};
    struct hoop_tensor tensor = {
        .data = values, .dtype = HOOP_INT64, .shape = pair};
    const struct hoop_tensors list = {1, &tensor, NULL, 0};
    struct hoop_tensors receive = {1, &tensor, &tensor, 0};
    hoop_p2p_t *p2p = of(both(), WITH_DTYPE);

    tensor.strides = strides;
    assert_invalid(hoop_p2p_send_forward(p2p, &list, 0), "tensor 0 to send");
    assert_invalid(hoop_p2p_recv_forward(p2p, &receive, 0), "dense");
    tensor.strides = NULL;
    tensor.data = NULL;
    assert_invalid(hoop_p2p_send_backward(p2p, &list, 0), "data");
    tensor.shape.n_dims = HOOP_MAX_DIMS + 1;
    assert_invalid(hoop_p2p_recv_backward(p2p, &receive, 0), "dim");
    tensor.shape = pair;
    tensor.dtype = (enum hoop_dtype)77;
    assert_invalid(
        hoop_p2p_send_forward_recv_forward(p2p, &tensor, NULL, NULL, NULL),
        "dtype 77");
    hoop_p2p_free(p2p);
}

static void
batch_cannot_overlap(void **state)
{
    struct hoop_p2p_received received = {0};
    struct hoop_p2p_requests requests = {.n_requests = 7};
    struct hoop_tensor input = {.shape = pair};
    const struct hoop_p2p_exchange exchange = {.recv_prev = true};
    hoop_p2p_t *p2p = of(both(), WITH_DTYPE);

    assert_invalid(
        hoop_p2p_communicate(p2p, &exchange, &pair, &received, &requests),
        "cannot overlap");
    assert_invalid(hoop_p2p_send_forward_recv_forward(p2p, NULL, &input, &input,
                                                      &requests),
                   "cannot overlap");
    assert_invalid(
        hoop_p2p_send_backward_recv_backward(p2p, NULL, NULL, NULL, &requests),
        "cannot overlap");
    assert_int_equal(requests.n_requests, 7);
    assert_null(received.prev.data);
    assert_int_equal(received.prev.shape.n_dims, 0);
    hoop_p2p_free(p2p);
}

static void
failed_start_changes_nothing(void **state)
{
    struct hoop_p2p_requests requests = {.n_requests = 7};
    struct hoop_tensor input = {.dtype = HOOP_UINT8, .shape = pair};
    const struct hoop_tensor before = input;
    struct hoop_tensor wrong = {.dtype = HOOP_INT64, .shape = pair};
    hoop_p2p_t *p2p = of(both(), WITH_DTYPE | UNBATCHED);

    assert_invalid(hoop_p2p_send_forward_recv_forward(p2p, &wrong, &input,
                                                      &input, &requests),
                   "what goes to next");
    expect_untouched(&input, &before);
    assert_int_equal(requests.n_requests, 7);
    hoop_p2p_free(p2p);
}

static void
null_arguments_are_invalid(void **state)
{
    struct hoop_p2p_received received = {0};
    const struct hoop_p2p_exchange exchange = {.recv_prev = true};
    hoop_p2p_t *p2p = of(both(), WITH_DTYPE);

    assert_invalid(
        hoop_p2p_communicate(NULL, &exchange, &pair, &received, NULL),
        "p2p is NULL");
    assert_invalid(hoop_p2p_communicate(p2p, NULL, &pair, &received, NULL),
                   "exchange is NULL");
    assert_invalid(hoop_p2p_communicate(p2p, &exchange, &pair, NULL, NULL),
                   "out_received is NULL");
    hoop_p2p_free(p2p);
}

/* An error at once, of any size, where nobody could ever receive it. */
static void
alone_what_is_sent_must_be_received(void **state)
{
    int64_t values[2] = {3, 4};
    struct hoop_tensor output = {
        .data = values, .dtype = HOOP_INT64, .shape = pair};
    struct hoop_tensor input = {.shape = pair};
    struct hoop_tensors outputs = {1, &output, &output, 0};
    struct hoop_tensors inputs = {1, &input, &input, 0};
    hoop_p2p_t *p2p = of(alone(), WITH_DTYPE);

    assert_invalid(hoop_p2p_send_forward(p2p, &outputs, 0), "alone");
    assert_invalid(hoop_p2p_recv_backward(p2p, &inputs, 0), "alone");
    assert_invalid(
        hoop_p2p_send_forward_recv_backward(p2p, &outputs, &inputs, 0),
        "alone");
    assert_invalid(
        hoop_p2p_send_backward_recv_backward(p2p, &output, NULL, NULL, NULL),
        "alone");
    assert_null(input.data);
    assert_ok(hoop_p2p_send_backward_recv_backward(p2p, &output, &input, &input,
                                                   NULL));
    assert_memory_equal(input.data, values, sizeof(values));
    hoop_tensor_free(&input);
    hoop_p2p_free(p2p);
}

static void
no_member_touches_nothing(void **state)
{
    struct hoop_tensor input = {.dtype = HOOP_UINT8, .shape = pair};
    const struct hoop_tensor before = input;
    struct hoop_tensors list = {1, &input, &input, 0};
    struct hoop_p2p_received received = {.prev = input};
    struct hoop_p2p_requests requests = {.n_requests = 7};
    const struct hoop_shape other = {.n_dims = 1, .dims = {9}};
    const struct hoop_p2p_exchange exchange = {.recv_prev = true};
    hoop_p2p_t *p2p = of(foreign(), WITH_DTYPE | VARIABLE | UNBATCHED);

    assert_ok(hoop_p2p_recv_forward(p2p, &list, 0));
    assert_ok(hoop_p2p_recv_forward(p2p, &list, HOOP_P2P_STAGE_FIRST));
    assert_int_equal(list.n_tensors, 1);
    assert_ok(
        hoop_p2p_send_forward_recv_forward(p2p, NULL, &input, &input, NULL));
    assert_ok(
        hoop_p2p_communicate(p2p, &exchange, &other, &received, &requests));
    assert_int_equal(requests.n_requests, 0);
    expect_untouched(&input, &before);
    expect_untouched(&received.prev, &before);
    hoop_p2p_free(p2p);
}

static hoop_p2p_t *
p2p_requests_of(hoop_comm_t *comm)
{
    const struct hoop_p2p_options options = {.stages = comm};
    hoop_p2p_t *p2p = NULL;

    assert_ok(hoop_p2p_create(&options, &p2p));
    return p2p;
}

static struct hoop_tensor
tensor_at(int64_t *at)
{
    return (struct hoop_tensor){
        .data = at,
        .dtype = HOOP_INT64,
        .shape = {.n_dims = 1, .dims = {2}},
    };
}

static void
wrong_arguments_are_invalid(void **state)
{
    int64_t values[2] = {0};
    struct hoop_tensor tensor = tensor_at(values);
    const struct hoop_p2p_ops ops = {.send_next = &tensor};
    struct hoop_p2p_requests requests = {.n_requests = 9};
    hoop_p2p_t *p2p = p2p_requests_of(both());

    assert_invalid(hoop_p2p_ops_batched(NULL, &ops, &requests), "p2p is NULL");
    assert_invalid(hoop_p2p_ops_batched(p2p, NULL, &requests), "ops is NULL");
    assert_invalid(hoop_p2p_ops_unbatched(p2p, &ops, NULL),
                   "out_requests is NULL");
    assert_invalid(hoop_p2p_wait(NULL, 0), "requests is NULL");
    assert_invalid(hoop_p2p_wait(&requests, 0), "9 requests");
    hoop_p2p_free(p2p);
}

/* All are checked before any is started. */
static void
wrong_tensor_starts_nothing(void **state)
{
    int64_t values[2] = {0};
    const size_t strides[1] = {3};
    struct hoop_tensor right = tensor_at(values);
    struct hoop_tensor wrong = tensor_at(values);
    const struct hoop_p2p_ops ops = {.send_next = &right, .send_prev = &wrong};
    struct hoop_p2p_requests requests = {.n_requests = 7};
    hoop_p2p_t *p2p = p2p_requests_of(both());

    wrong.strides = strides;
    assert_invalid(hoop_p2p_ops_unbatched(p2p, &ops, &requests), "dense");
    wrong = tensor_at(NULL);
    assert_invalid(hoop_p2p_ops_batched(p2p, &ops, &requests), "data");
    wrong = tensor_at(values);
    wrong.dtype = (enum hoop_dtype)99;
    assert_invalid(hoop_p2p_ops_batched(p2p, &ops, &requests), "dtype 99");
    assert_int_equal(requests.n_requests, 7);
    hoop_p2p_free(p2p);
}

/* To oneself: what went to next came from prev, and not from next, although
 * what went to prev was posted first. */
static void
alone_ways_do_not_cross(void **state)
{
    int64_t forward[2] = {1, 2};
    int64_t backward[2] = {-1, -2};
    int64_t from_prev[2] = {0};
    int64_t from_next[2] = {0};
    struct hoop_tensor tensors[4] = {tensor_at(backward), tensor_at(from_prev),
                                     tensor_at(forward), tensor_at(from_next)};
    const struct hoop_p2p_ops ops = {&tensors[0], &tensors[1], &tensors[2],
                                     &tensors[3], &tensors[1], &tensors[3]};
    struct hoop_p2p_requests requests;
    hoop_p2p_t *p2p = p2p_requests_of(alone());

    assert_ok(hoop_p2p_ops_batched(p2p, &ops, &requests));
    assert_int_equal(requests.n_requests, 4);
    assert_ok(hoop_p2p_wait(&requests, 20000));
    assert_memory_equal(from_prev, forward, sizeof(forward));
    assert_memory_equal(from_next, backward, sizeof(backward));
    for (uint32_t i = 0; i < 4; i++)
        assert_null(requests.requests[i].op);
    assert_ok(hoop_p2p_wait(&requests, 0));
    hoop_p2p_free(p2p);
}

/* A wait that was too short leaves the request as it is. */
static void
pending_request_stays(void **state)
{
    int64_t sent[2] = {5, 6};
    int64_t received[2] = {0};
    struct hoop_tensor output = tensor_at(sent);
    struct hoop_tensor input = tensor_at(received);
    const struct hoop_p2p_ops receive = {.recv_prev = &input,
                                         .received_prev = &input};
    const struct hoop_p2p_ops send = {.send_next = &output};
    struct hoop_p2p_requests first;
    struct hoop_p2p_requests second;
    hoop_p2p_t *p2p = p2p_requests_of(alone());

    assert_ok(hoop_p2p_ops_batched(p2p, &receive, &first));
    assert_int_equal(hoop_p2p_wait(&first, 0), HOOP_E_PENDING);
    assert_non_null(first.requests[0].op);
    assert_ok(hoop_p2p_ops_batched(p2p, &send, &second));
    assert_ok(hoop_p2p_wait(&first, 20000));
    assert_ok(hoop_p2p_wait(&second, 20000));
    assert_memory_equal(received, sent, sizeof(sent));
    hoop_p2p_free(p2p);
}

static void
no_member_starts_nothing(void **state)
{
    int64_t values[2] = {0};
    struct hoop_tensor tensor = tensor_at(values);
    const struct hoop_p2p_ops ops = {
        .send_next = &tensor, .recv_prev = &tensor, .received_prev = &tensor};
    struct hoop_p2p_requests requests = {.n_requests = 7};
    hoop_p2p_t *p2p = p2p_requests_of(foreign());

    assert_ok(hoop_p2p_ops_batched(p2p, &ops, &requests));
    assert_int_equal(requests.n_requests, 0);
    assert_ok(hoop_p2p_wait(&requests, HOOP_FOREVER));
    hoop_p2p_free(p2p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_TEST(receive_without_dtype_is_invalid),
        ENGINE_PAIR_TEST(receive_without_shape_is_invalid),
        ENGINE_PAIR_TEST(tensor_with_data_cannot_vary),
        ENGINE_PAIR_TEST(wrong_tensors_are_invalid),
        ENGINE_PAIR_TEST(batch_cannot_overlap),
        ENGINE_PAIR_TEST(failed_start_changes_nothing),
        ENGINE_PAIR_TEST(null_arguments_are_invalid),
        ENGINE_PAIR_TEST(alone_what_is_sent_must_be_received),
        ENGINE_PAIR_TEST(no_member_touches_nothing),
        ENGINE_PAIR_TEST(wrong_arguments_are_invalid),
        ENGINE_PAIR_TEST(wrong_tensor_starts_nothing),
        ENGINE_PAIR_TEST(alone_ways_do_not_cross),
        ENGINE_PAIR_TEST(pending_request_stays),
        ENGINE_PAIR_TEST(no_member_starts_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
