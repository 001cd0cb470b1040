/*
 * tests/integration/p2p_virtual_test.c - virtual stages, as Megatron has them
 *
 * Its interleaved schedule over the calls of a P2PCommunicator: each process
 * has two chunks of the model, and what leaves the last process after the first
 * chunk enters the first one's second. The ring is closed in both ways at once,
 * and only order says of which chunk and batch a tensor is.
 */

#include "p2p_case.h"

enum {
    N_CHUNKS = 2,
    BATCHES_MAX = 8,
    N_ROUNDS = 2, /* of as many batches as there are processes */
};

/* What waits to be computed with, oldest first. */
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
    int n_passes; /* of each kind: batches by chunks */
    int n_warm_up_forwards;
    uint32_t n_forward[N_CHUNKS];
    struct queue inputs[N_CHUNKS];
    struct queue output_grads[N_CHUNKS];
};

/* Of the k-th pass; before the first, as if they had gone on for ever. */
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

/* Of all virtual stages. */
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

/* The batch whose turn it is; what it was before is a matter of the stage
 * before, or behind. */
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

/* out_output stays empty behind the last virtual stage. */
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

/* What a step hands on and gets; chunks below 0: nothing is received. */
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

/* The first process gets what the last one had computed some passes ago, and
 * computes with it in the next chunk; the text's first chunk needs nothing. */
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
body(struct rank *rank)
{
    /* One process has no stages to interleave. */
    for (uint32_t kind = 0; kind < N_P2P_KINDS && rank->size > 1; kind++) {
        for (int n_rounds = 1; n_rounds <= N_ROUNDS; n_rounds++)
            RANK_CHECK(train(rank, kind, n_rounds) == 0);
    }
    return 0;
}

int
main(void)
{
    return p2p_case_run(body, 0);
}
