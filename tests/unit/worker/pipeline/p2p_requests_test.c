/* tests/unit/worker/pipeline/p2p_requests_test.c - started, and waited for */

#include "hoop/p2p_communicator.h"

#include "couple_case.h"

static hoop_p2p_t *
of(hoop_comm_t *comm)
{
    const struct hoop_p2p_options options = {.stages = comm};
    hoop_p2p_t *p2p = NULL;

    assert_int_equal(hoop_p2p_create(&options, &p2p), HOOP_OK);
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
    hoop_p2p_t *p2p = of(both());

    (void)state;
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
    hoop_p2p_t *p2p = of(both());

    (void)state;
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
    hoop_p2p_t *p2p = of(alone());

    (void)state;
    assert_int_equal(hoop_p2p_ops_batched(p2p, &ops, &requests), HOOP_OK);
    assert_int_equal(requests.n_requests, 4);
    assert_int_equal(hoop_p2p_wait(&requests, 20000), HOOP_OK);
    assert_memory_equal(from_prev, forward, sizeof(forward));
    assert_memory_equal(from_next, backward, sizeof(backward));
    for (uint32_t i = 0; i < 4; i++)
        assert_null(requests.requests[i].op);
    assert_int_equal(hoop_p2p_wait(&requests, 0), HOOP_OK);
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
    hoop_p2p_t *p2p = of(alone());

    (void)state;
    assert_int_equal(hoop_p2p_ops_batched(p2p, &receive, &first), HOOP_OK);
    assert_int_equal(hoop_p2p_wait(&first, 0), HOOP_E_PENDING);
    assert_non_null(first.requests[0].op);
    assert_int_equal(hoop_p2p_ops_batched(p2p, &send, &second), HOOP_OK);
    assert_int_equal(hoop_p2p_wait(&first, 20000), HOOP_OK);
    assert_int_equal(hoop_p2p_wait(&second, 20000), HOOP_OK);
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
    hoop_p2p_t *p2p = of(foreign());

    (void)state;
    assert_int_equal(hoop_p2p_ops_batched(p2p, &ops, &requests), HOOP_OK);
    assert_int_equal(requests.n_requests, 0);
    assert_int_equal(hoop_p2p_wait(&requests, HOOP_FOREVER), HOOP_OK);
    hoop_p2p_free(p2p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        COUPLE_TEST(wrong_arguments_are_invalid),
        COUPLE_TEST(wrong_tensor_starts_nothing),
        COUPLE_TEST(alone_ways_do_not_cross),
        COUPLE_TEST(pending_request_stays),
        COUPLE_TEST(no_member_starts_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
