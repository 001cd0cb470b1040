/*
 * tests/integration/p2p/p2p_virtual_test.c - Megatron's virtual stages
 *
 * The interleaved schedule uses the calls of a P2PCommunicator. Each process
 * has two chunks of the model, and the output of the last process's first chunk
 * is the input of the first process's second chunk. The ring is used in both
 * directions at the same time, and only the order shows to which chunk and
 * batch a tensor belongs.
 */

#include "base/cleanup.h"
#include "integration/p2p/p2p_case.h"

enum {
    N_CHUNKS = 2,
    BATCHES_MAX = 8,
    N_ROUNDS = 2, /* of as many batches as processes */
};

/* Tensors that wait to be used, the oldest first. */
struct queue {
    uint32_t n_put;
    uint32_t n_taken;
    struct hoop_tensor tensors[BATCHES_MAX];
};

struct training {
    struct rank *rank;
    hoop_p2p_t *p2p;
    int size;
    int last;
    int n_passes; /* of each kind: batches times chunks */
    int n_warm_up_forwards;
    uint32_t n_forward[N_CHUNKS];
    struct queue inputs[N_CHUNKS];
    struct queue output_grads[N_CHUNKS];
};

/* Returns the chunk of the k-th pass. Negative k continue the sequence
 * backwards. */
static int
forward_chunk(const struct training *training, int k)
{
    const int period = training->size * N_CHUNKS;

    return (k % period + period) % period / training->size;
}

static int
backward_chunk(const struct training *training, int k)
{
    return N_CHUNKS - 1 - forward_chunk(training, k);
}

/* Returns whether this is the first of all virtual stages. */
static bool
is_first(const struct training *training, int chunk)
{
    return training->rank->rank == 0 && chunk == 0;
}

static bool
is_last(const struct training *training, int chunk)
{
    return (int)training->rank->rank == training->last && chunk == N_CHUNKS - 1;
}

static int64_t
stage_number(const struct training *training, int chunk)
{
    return (int64_t)chunk * training->size + training->rank->rank;
}

static int64_t
value_of(int64_t stage, uint32_t batch)
{
    return 1000 * stage + batch + 1;
}

static void
queue_put(struct queue *queue, const struct hoop_tensor *tensor)
{
    queue->tensors[queue->n_put++] = *tensor;
}

/* Takes the tensor of the next batch, and checks that the neighbouring stage
 * has made it. */
static int
take_expected(struct training *training,
              struct queue *queue,
              int64_t from_stage,
              int64_t sign)
{
    const struct rank *rank = training->rank;
    const uint32_t batch = queue->n_taken++;

    RANK_CHECK(batch < queue->n_put);
    RANK_CHECK(tensor_is(&queue->tensors[batch], &pair,
                         sign * value_of(from_stage, batch), sign));
    hoop_tensor_free(&queue->tensors[batch]);
    return 0;
}

/* out_output stays empty on the last virtual stage. */
static int
forward(struct training *training, int k, struct hoop_tensor *out_output)
{
    const struct rank *rank = training->rank;
    const int chunk = forward_chunk(training, k);
    const int64_t stage = stage_number(training, chunk);
    const uint32_t batch = training->n_forward[chunk]++;

    if (!is_first(training, chunk))
        RANK_CHECK(take_expected(training, &training->inputs[chunk], stage - 1,
                                 1) == 0);
    *out_output = (struct hoop_tensor){0};
    if (!is_last(training, chunk))
        *out_output = tensor_filled(&pair, value_of(stage, batch), 1);
    return 0;
}

static int
backward(struct training *training, int k, struct hoop_tensor *out_grad)
{
    const struct rank *rank = training->rank;
    const int chunk = backward_chunk(training, k);
    const int64_t stage = stage_number(training, chunk);
    struct queue *grads = &training->output_grads[chunk];
    const uint32_t batch = grads->n_taken;

    if (is_last(training, chunk))
        grads->n_taken++;
    else
        RANK_CHECK(take_expected(training, grads, stage + 1, -1) == 0);
    *out_grad = (struct hoop_tensor){0};
    if (!is_first(training, chunk))
        *out_grad = tensor_filled(&pair, -value_of(stage, batch), -1);
    return 0;
}

/* What one step sends and receives. A chunk below 0 means that nothing is
 * received. */
struct step {
    struct hoop_tensor output;
    struct hoop_tensor input_grad;
    int input_chunk;
    int grad_chunk;
};

static int
step_run(struct training *training, struct step *step)
{
    const struct rank *rank = training->rank;
    struct hoop_tensor input = tensor_awaited(&pair);
    struct hoop_tensor grad = tensor_awaited(&pair);
    const struct hoop_p2p_ops ops = {
        .send_next = step->output.data ? &step->output : NULL,
        .send_prev = step->input_grad.data ? &step->input_grad : NULL,
        .recv_prev = step->input_chunk >= 0 ? &input : NULL,
        .received_prev = step->input_chunk >= 0 ? &input : NULL,
        .recv_next = step->grad_chunk >= 0 ? &grad : NULL,
        .received_next = step->grad_chunk >= 0 ? &grad : NULL,
    };

    RANK_CHECK(hoop_p2p_exchange_all(training->p2p, &ops) == HOOP_OK);
    if (ops.recv_prev)
        queue_put(&training->inputs[step->input_chunk], &input);
    if (ops.recv_next)
        queue_put(&training->output_grads[step->grad_chunk], &grad);
    hoop_tensor_free(&step->output);
    hoop_tensor_free(&step->input_grad);
    return 0;
}

static int
warm_up(struct training *training)
{
    const struct rank *rank = training->rank;
    struct step step = {.input_chunk = rank->rank == 0 ? -1 : 0,
                        .grad_chunk = -1};

    RANK_CHECK(step_run(training, &step) == 0);
    for (int k = 0; k < training->n_warm_up_forwards; k++) {
        const int next = forward_chunk(training, k + 1);
        const bool has_next =
            k + 1 < training->n_passes && !(rank->rank == 0 && next == 0);

        RANK_CHECK(forward(training, k, &step.output) == 0);
        step.input_chunk = has_next ? next : -1;
        step.grad_chunk =
            k + 1 == training->n_warm_up_forwards &&
                    training->n_warm_up_forwards < training->n_passes &&
                    (int)rank->rank != training->last
                ? N_CHUNKS - 1
                : -1;
        RANK_CHECK(step_run(training, &step) == 0);
    }
    return 0;
}

/* The first process gets what the last one computed some passes ago, and uses
 * it in the next chunk. Its first chunk needs no input, since it has the
 * text. */
static int
next_input_chunk(const struct training *training, int k)
{
    if (training->rank->rank != 0)
        return forward_chunk(training, k + 1);
    const int behind = forward_chunk(training, k - training->last);
    return behind == N_CHUNKS - 1 ? -1 : behind + 1;
}

static int
next_grad_chunk(const struct training *training, int k)
{
    if ((int)training->rank->rank != training->last)
        return backward_chunk(training, k + 1);
    return backward_chunk(training, k - training->last) - 1;
}

static int
steady_state(struct training *training)
{
    const struct rank *rank = training->rank;

    for (int k = training->n_warm_up_forwards; k < training->n_passes; k++) {
        const int back = k - training->n_warm_up_forwards;
        struct step step;

        RANK_CHECK(forward(training, k, &step.output) == 0);
        RANK_CHECK(backward(training, back, &step.input_grad) == 0);
        step.input_chunk =
            k + 1 < training->n_passes ? next_input_chunk(training, k) : -1;
        step.grad_chunk = next_grad_chunk(training, back);
        RANK_CHECK(step_run(training, &step) == 0);
    }
    return 0;
}

static int
drain(struct training *training)
{
    const struct rank *rank = training->rank;
    const int n_steady = training->n_passes - training->n_warm_up_forwards;
    struct step step = {.input_chunk = -1, .grad_chunk = N_CHUNKS - 1};

    if (n_steady == 0 && (int)rank->rank != training->last)
        RANK_CHECK(step_run(training, &step) == 0);
    for (int k = n_steady; k < training->n_passes; k++) {
        const int next = backward_chunk(training, k + 1);
        const bool has_next =
            k + 1 < training->n_passes &&
            !((int)rank->rank == training->last && next == N_CHUNKS - 1);

        RANK_CHECK(backward(training, k, &step.input_grad) == 0);
        step.grad_chunk = has_next ? next : -1;
        RANK_CHECK(step_run(training, &step) == 0);
    }
    return 0;
}

static int
train(struct rank *rank, uint32_t kind, int n_rounds)
{
    const int size = (int)rank->size;
    struct training training = {
        .rank = rank,
        .p2p = p2p_of_kind(rank, kind),
        .size = size,
        .last = size - 1,
        .n_passes = n_rounds * size * N_CHUNKS,
    };

    training.n_warm_up_forwards = n_rounds == 1
                                      ? training.n_passes
                                      : 2 * (size - (int)rank->rank - 1) + size;
    RANK_CHECK(warm_up(&training) == 0);
    RANK_CHECK(steady_state(&training) == 0);
    RANK_CHECK(drain(&training) == 0);
    for (int chunk = 0; chunk < N_CHUNKS; chunk++) {
        RANK_CHECK((int)training.n_forward[chunk] == n_rounds * size);
        RANK_CHECK((int)training.output_grads[chunk].n_taken ==
                   n_rounds * size);
    }
    hoop_p2p_free(training.p2p);
    return 0;
}

static int
virtual_body(struct rank *rank)
{
    /* A single process has no stages to interleave. */
    for (uint32_t kind = 0; kind < N_P2P_KINDS && rank->size > 1; kind++) {
        for (int n_rounds = 1; n_rounds <= N_ROUNDS; n_rounds++)
            RANK_CHECK(train(rank, kind, n_rounds) == 0);
    }
    return 0;
}

/*
 * The rest of the file tests transfers that are started now and waited for
 * later.
 *
 * It tests the order in which requests are posted, what remains of them when
 * the call returns, and hoop_p2p_communicate(), which hands them out.
 */

/* Receives into memory of the caller if the shape is known. */
static int
communicate_exchanges(struct stage *stage, uint32_t kind)
{
    const struct rank *rank = stage->rank;
    int64_t place[2] = {7, 7};
    struct hoop_p2p_received got = {0};
    const struct hoop_p2p_exchange exchange = {
        .send_next = &stage->act,
        .send_prev = &stage->grad,
        .recv_prev = true,
        .recv_next = true,
        .prev_data = kind < 2 ? place : NULL,
    };

    RANK_CHECK(hoop_p2p_communicate(stage->p2p, &exchange, &pair, &got, NULL) ==
               HOOP_OK);
    RANK_CHECK(is_act(&got.prev, stage->prev));
    RANK_CHECK(is_grad(&got.next, stage->next));
    RANK_CHECK(kind >= 2 || got.prev.data == place);
    if (kind >= 2)
        hoop_tensor_free(&got.prev);
    hoop_tensor_free(&got.next);
    /* If nothing is received, neither a shape nor memory is needed. */
    const struct hoop_p2p_exchange nothing = {0};
    RANK_CHECK(hoop_p2p_communicate(stage->p2p, &nothing, NULL, NULL, NULL) ==
               HOOP_OK);
    return 0;
}

static bool
has_order(const struct hoop_p2p_requests *requests,
          const enum hoop_p2p_direction *expected,
          uint32_t n_expected)
{
    bool is_right = requests->n_requests == n_expected;

    for (uint32_t i = 0; is_right && i < n_expected; i++)
        is_right = requests->requests[i].direction == expected[i];
    return is_right;
}

static int
requests_have_order(struct stage *stage)
{
    static const enum hoop_p2p_direction orders[][4] = {
        {HOOP_P2P_SEND_NEXT, HOOP_P2P_RECV_PREV, HOOP_P2P_SEND_PREV,
         HOOP_P2P_RECV_NEXT},
        {HOOP_P2P_RECV_PREV, HOOP_P2P_SEND_NEXT, HOOP_P2P_RECV_NEXT,
         HOOP_P2P_SEND_PREV},
        {HOOP_P2P_SEND_PREV, HOOP_P2P_RECV_PREV, HOOP_P2P_SEND_NEXT,
         HOOP_P2P_RECV_NEXT},
    };
    const struct rank *rank = stage->rank;
    struct hoop_tensor input = tensor_awaited(&pair);
    struct hoop_tensor output_grad = tensor_awaited(&pair);
    struct hoop_p2p_ops ops = {.send_next = &stage->act,
                               .send_prev = &stage->grad,
                               .recv_prev = &input,
                               .received_prev = &input,
                               .recv_next = &output_grad,
                               .received_next = &output_grad};
    struct hoop_p2p_requests requests;

    input.dtype = HOOP_INT64;
    output_grad.dtype = HOOP_INT64;
    RANK_CHECK(hoop_p2p_ops_unbatched(stage->p2p, &ops, &requests) == HOOP_OK);
    RANK_CHECK(has_order(&requests, orders[rank->rank % 2], 4));
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(is_act(&input, stage->prev));
    RANK_CHECK(is_grad(&output_grad, stage->next));
    RANK_CHECK(hoop_p2p_ops_batched(stage->p2p, &ops, &requests) == HOOP_OK);
    RANK_CHECK(has_order(&requests, orders[2], 4));
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_OK);
    /* Transfers whose tensor is NULL are skipped. */
    ops.send_prev = NULL;
    ops.recv_next = NULL;
    RANK_CHECK(hoop_p2p_ops_batched(stage->p2p, &ops, &requests) == HOOP_OK);
    RANK_CHECK(has_order(&requests, &orders[2][1], 2));
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_OK);
    const struct hoop_p2p_ops nothing = {0};
    RANK_CHECK(hoop_p2p_ops_unbatched(stage->p2p, &nothing, &requests) ==
               HOOP_OK);
    RANK_CHECK(requests.n_requests == 0);
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_OK);
    hoop_tensor_free(&input);
    hoop_tensor_free(&output_grad);
    return 0;
}

/* The last rank sends only after all others have seen that they still wait. */
static int
overlap_returns_before_the_tensor(struct stage *stage, uint32_t kind)
{
    struct rank *rank = stage->rank;
    struct hoop_tensor got = tensor_awaited(&pair);
    struct hoop_p2p_requests requests;
    const uint32_t last = rank->size - 1;

    if (kind % 2 == 0) {
        RANK_CHECK(hoop_p2p_send_forward_recv_forward(stage->p2p, &stage->act,
                                                      &got, &got, &requests) ==
                   HOOP_E_INVALID);
        RANK_CHECK(got.data == NULL);
        return 0;
    }
    if (rank->rank == last)
        room_await(rank, kind, last > 0);
    RANK_CHECK(hoop_p2p_send_forward_recv_forward(stage->p2p, &stage->act, &got,
                                                  &got, &requests) == HOOP_OK);
    RANK_CHECK(requests.n_requests == 2 && requests.requests[0].op &&
               requests.requests[1].op);
    if (rank->rank == 0 && last > 0) {
        RANK_CHECK(hoop_p2p_wait(&requests, 0) == HOOP_E_PENDING);
        room_add(rank, kind);
    }
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(!requests.requests[0].op && !requests.requests[1].op);
    RANK_CHECK(is_act(&got, stage->prev));
    hoop_tensor_free(&got);
    return 0;
}

static int
communicate_overlaps(struct stage *stage, uint32_t kind)
{
    const struct rank *rank = stage->rank;
    struct hoop_p2p_received got = {0};
    struct hoop_p2p_requests requests;
    const struct hoop_p2p_exchange exchange = {
        .send_next = &stage->act,
        .send_prev = &stage->grad,
        .recv_prev = true,
        .recv_next = true,
    };
    const enum hoop_status status =
        hoop_p2p_communicate(stage->p2p, &exchange, &pair, &got, &requests);

    if (kind % 2 == 0) {
        RANK_CHECK(status == HOOP_E_INVALID);
        RANK_CHECK(got.prev.data == NULL && got.prev.shape.n_dims == 0);
        return 0;
    }
    RANK_CHECK(status == HOOP_OK && requests.n_requests == 4);
    RANK_CHECK(hoop_p2p_wait(&requests, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(is_act(&got.prev, stage->prev));
    RANK_CHECK(is_grad(&got.next, stage->next));
    hoop_tensor_free(&got.prev);
    hoop_tensor_free(&got.next);
    return 0;
}

static int
overlap_body(struct rank *rank)
{
    for (uint32_t kind = 0; kind < N_P2P_KINDS; kind++) {
        struct stage stage;

        stage_init(&stage, rank, kind);
        RANK_CHECK(requests_have_order(&stage) == 0);
        RANK_CHECK(communicate_exchanges(&stage, kind) == 0);
        RANK_CHECK(overlap_returns_before_the_tensor(&stage, kind) == 0);
        RANK_CHECK(communicate_overlaps(&stage, kind) == 0);
        stage_deinit(&stage);
    }
    return 0;
}

int
main(void)
{
    static const struct rank_case cases[] = {
        {"virtual", virtual_body},
        {"overlap", overlap_body},
    };

    return p2p_case_run(cases, COUNT_OF(cases), 0);
}
