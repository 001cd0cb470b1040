/*
 * tests/integration/p2p/p2p_train_test.c - Megatron's 1F1B schedule
 *
 * The schedule without virtual stages has a warm-up, a steady state and a
 * drain, and uses the calls of a P2PCommunicator. Layers are sums that every
 * stage can compute for all others, so that each tensor that arrives can be
 * checked.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "integration/p2p/p2p_case.h"
#include "pseudo_random.h"

enum {
    N_BATCHES = 8
};

struct training {
    struct rank *rank;
    hoop_p2p_t *p2p;
    unsigned at;
    uint32_t n_forward; /* done so far */
    uint32_t n_backward;
    struct hoop_tensor inputs[N_BATCHES];
    struct hoop_tensor outputs[N_BATCHES];
    int64_t weight_grad;
};

/* The lengths of sequences differ between batches. */
static struct hoop_shape
batch_shape(uint32_t batch)
{
    return shape_of(2 + batch % 3, 1, 5);
}

/* Returns what enters a stage. Stage 0 gets the text itself, and each stage
 * computes x -> 3 x + stage. */
static int64_t
value_before(uint32_t stage, uint32_t batch)
{
    int64_t value = 100 * (int64_t)batch + 7;

    for (uint32_t s = 0; s < stage; s++)
        value = 3 * value + s;
    return value;
}

/* Returns the gradient that comes back to stage from the next one. The last
 * stage has its own, that of the loss. */
static int64_t
grad_behind(uint32_t stage, uint32_t size, uint32_t batch)
{
    int64_t grad = (int64_t)batch + 1;

    for (uint32_t s = size - 1; s > stage; s--)
        grad = 3 * grad - s;
    return grad;
}

/* Makes a list of one tensor. At the ends it is empty. */
static struct hoop_tensors
list_of(struct hoop_tensor *tensor)
{
    return (struct hoop_tensors){1, tensor, tensor, 0};
}

/* The list of input is empty on the first stage, which has its own text. */
static int
forward(struct training *training, const struct hoop_tensors *input)
{
    const struct rank *rank = training->rank;
    const uint32_t batch = training->n_forward++;
    const struct hoop_shape shape = batch_shape(batch);
    const int64_t before = value_before(rank->rank, batch);

    RANK_CHECK(input->n_received == (rank->rank == 0 ? 0 : 1));
    if (rank->rank == 0)
        training->inputs[batch] = tensor_filled(&shape, before, 0);
    RANK_CHECK(tensor_is(&training->inputs[batch], &shape, before, 0));
    training->outputs[batch] =
        tensor_filled(&shape, 3 * before + (int64_t)rank->rank, 0);
    return 0;
}

/* The backward passes are in the order of the forward passes. Each frees what
 * its batch has kept. */
static int
backward(struct training *training,
         const struct hoop_tensors *output_grad,
         struct hoop_tensor *out_input_grad)
{
    const struct rank *rank = training->rank;
    const bool is_last = rank->rank == rank->size - 1;
    const uint32_t batch = training->n_backward++;
    const struct hoop_shape shape = batch_shape(batch);
    const int64_t grad = grad_behind(rank->rank, rank->size, batch);

    RANK_CHECK(output_grad->n_received == (is_last ? 0 : 1));
    if (!is_last)
        RANK_CHECK(tensor_is(&output_grad->tensors[0], &shape, grad, 0));
    training->weight_grad +=
        grad * ((const int64_t *)training->inputs[batch].data)[0];
    *out_input_grad = tensor_filled(&shape, 3 * grad - (int64_t)rank->rank, 0);
    hoop_tensor_free(&training->inputs[batch]);
    hoop_tensor_free(&training->outputs[batch]);
    return 0;
}

static int
warm_up(struct training *training, uint32_t n_warm_up_forwards)
{
    const struct rank *rank = training->rank;

    for (uint32_t i = 0; i < n_warm_up_forwards; i++) {
        const struct hoop_shape shape = batch_shape(i);
        struct hoop_tensors input = list_of(&training->inputs[i]);

        training->inputs[i] = tensor_awaited(&shape);
        RANK_CHECK(hoop_p2p_recv_forward(training->p2p, &input, training->at) ==
                   HOOP_OK);
        RANK_CHECK(forward(training, &input) == 0);
        const struct hoop_tensors output = list_of(&training->outputs[i]);
        RANK_CHECK(hoop_p2p_send_forward(training->p2p, &output,
                                         training->at) == HOOP_OK);
    }
    return 0;
}

/* Computes one batch forward, whose input has come, and one backward. Then one
 * call sends the gradient back and receives the input of the next batch. */
static int
steady_step(struct training *training, struct hoop_tensors *input)
{
    const struct rank *rank = training->rank;
    const uint32_t behind = training->n_backward;
    const struct hoop_shape shape = batch_shape(behind);
    struct hoop_tensor grad = tensor_awaited(&shape);
    struct hoop_tensors grads = list_of(&grad);
    struct hoop_tensor input_grad;
    const struct hoop_tensors input_grads = list_of(&input_grad);

    RANK_CHECK(forward(training, input) == 0);
    const uint32_t next = training->n_forward;
    const struct hoop_tensors output = list_of(&training->outputs[next - 1]);
    RANK_CHECK(hoop_p2p_send_forward_recv_backward(
                   training->p2p, &output, &grads, training->at) == HOOP_OK);
    RANK_CHECK(backward(training, &grads, &input_grad) == 0);
    if (next == N_BATCHES) {
        RANK_CHECK(hoop_p2p_send_backward(training->p2p, &input_grads,
                                          training->at) == HOOP_OK);
    } else {
        const struct hoop_shape next_shape = batch_shape(next);

        training->inputs[next] = tensor_awaited(&next_shape);
        *input = list_of(&training->inputs[next]);
        RANK_CHECK(hoop_p2p_send_backward_recv_forward(
                       training->p2p, &input_grads, input, training->at) ==
                   HOOP_OK);
    }
    hoop_tensor_free(&grad);
    hoop_tensor_free(&input_grad);
    return 0;
}

static int
steady_state(struct training *training, uint32_t n_warm_up_forwards)
{
    const struct rank *rank = training->rank;
    const struct hoop_shape shape = batch_shape(n_warm_up_forwards);
    struct hoop_tensors input = list_of(&training->inputs[n_warm_up_forwards]);

    training->inputs[n_warm_up_forwards] = tensor_awaited(&shape);
    RANK_CHECK(hoop_p2p_recv_forward(training->p2p, &input, training->at) ==
               HOOP_OK);
    for (uint32_t i = n_warm_up_forwards; i < N_BATCHES; i++)
        RANK_CHECK(steady_step(training, &input) == 0);
    return 0;
}

static int
drain(struct training *training)
{
    const struct rank *rank = training->rank;

    while (training->n_backward < N_BATCHES) {
        const struct hoop_shape shape = batch_shape(training->n_backward);
        struct hoop_tensor grad = tensor_awaited(&shape);
        struct hoop_tensors grads = list_of(&grad);
        struct hoop_tensor input_grad;
        const struct hoop_tensors input_grads = list_of(&input_grad);

        RANK_CHECK(hoop_p2p_recv_backward(training->p2p, &grads,
                                          training->at) == HOOP_OK);
        RANK_CHECK(backward(training, &grads, &input_grad) == 0);
        RANK_CHECK(hoop_p2p_send_backward(training->p2p, &input_grads,
                                          training->at) == HOOP_OK);
        hoop_tensor_free(&grad);
        hoop_tensor_free(&input_grad);
    }
    return 0;
}

static int
train(struct rank *rank, uint32_t kind)
{
    const uint32_t n_warm_up_forwards = rank->size - rank->rank - 1;
    struct training training = {
        .rank = rank, .p2p = p2p_of_kind(rank, kind), .at = stage_of(rank)};
    int64_t expected = 0;

    RANK_CHECK(warm_up(&training, n_warm_up_forwards) == 0);
    RANK_CHECK(steady_state(&training, n_warm_up_forwards) == 0);
    RANK_CHECK(drain(&training) == 0);
    for (uint32_t batch = 0; batch < N_BATCHES; batch++)
        expected += grad_behind(rank->rank, rank->size, batch) *
                    value_before(rank->rank, batch);
    RANK_CHECK(training.weight_grad == expected);
    hoop_p2p_free(training.p2p);
    return 0;
}

static int
train_body(struct rank *rank)
{
    for (uint32_t kind = 0; kind < N_P2P_KINDS; kind++)
        RANK_CHECK(train(rank, kind) == 0);
    return 0;
}

/*
 * The rest of the file tests 64 micro-batches in flight at the same time.
 *
 * Each stage of a ring starts all its transfers, with forward and backward
 * mixed at random, and waits for them in any order, with random pauses. Only
 * the order within one direction is the same on all stages. There are five
 * rounds for each number of stages; P2P_ROUNDS=1000 and P2P_SEED=1 in the
 * environment make it longer.
 */

enum {
    STORM_N_BATCHES = 64,
    N_ROUNDS = 5,
};

enum way {
    FORWARD,
    BACKWARD,
    N_WAYS
};

struct transfer {
    struct hoop_tensor send;
    struct hoop_tensor receive;
    struct hoop_p2p_requests requests;
};

struct storm {
    struct rank *rank;
    hoop_p2p_t *p2p;
    uint64_t chance; /* differs between ranks */
    uint32_t round;
    struct transfer transfers[N_WAYS][STORM_N_BATCHES];
};

static void
pause_by_chance(struct storm *storm)
{
    if (random_below(&storm->chance, 8) == 0)
        usleep(random_below(&storm->chance, 200));
}

/* Some shapes are larger than what is sent without a request, and some are
 * empty. All stages know them. */
static struct hoop_shape
storm_batch_shape(const struct storm *storm, enum way way, uint32_t batch)
{
    const uint32_t mixed = 7 * storm->round + 5 * batch + (uint32_t)way;

    return shape_of(1 + mixed % 5, mixed % 13 == 0 ? 0 : 1,
                    mixed % 17 == 0 ? 3000 : 1 + mixed % 3);
}

static int64_t
batch_value(const struct storm *storm,
            uint32_t rank,
            enum way way,
            uint32_t batch)
{
    const int64_t value =
        ((int64_t)storm->round * 10 + rank) * 1000 + (int64_t)batch + 1;

    return way == FORWARD ? value : -value;
}

static enum hoop_status
transfer_start(struct storm *storm, enum way way, uint32_t batch)
{
    struct transfer *transfer = &storm->transfers[way][batch];
    const struct hoop_shape shape = storm_batch_shape(storm, way, batch);

    transfer->send = tensor_filled(
        &shape, batch_value(storm, storm->rank->rank, way, batch), 0);
    transfer->receive = tensor_awaited(&shape);
    return way == FORWARD ? hoop_p2p_send_forward_recv_forward(
                                storm->p2p, &transfer->send, &transfer->receive,
                                &transfer->receive, &transfer->requests)
                          : hoop_p2p_send_backward_recv_backward(
                                storm->p2p, &transfer->send, &transfer->receive,
                                &transfer->receive, &transfer->requests);
}

static int
start_all(struct storm *storm)
{
    const struct rank *rank = storm->rank;
    uint32_t n_started[N_WAYS] = {0};

    while (n_started[FORWARD] + n_started[BACKWARD] <
           N_WAYS * STORM_N_BATCHES) {
        enum way way = (enum way)random_below(&storm->chance, N_WAYS);

        if (n_started[way] == STORM_N_BATCHES)
            way = way == FORWARD ? BACKWARD : FORWARD;
        pause_by_chance(storm);
        RANK_CHECK(transfer_start(storm, way, n_started[way]++) == HOOP_OK);
    }
    return 0;
}

static int
finish_one(struct storm *storm, enum way way, uint32_t batch)
{
    const struct rank *rank = storm->rank;
    struct transfer *transfer = &storm->transfers[way][batch];
    const struct hoop_shape shape = storm_batch_shape(storm, way, batch);
    const uint32_t from =
        way == FORWARD ? hoop_p2p_prev(storm->p2p) : hoop_p2p_next(storm->p2p);

    RANK_CHECK(hoop_p2p_wait(&transfer->requests, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(tensor_is(&transfer->receive, &shape,
                         batch_value(storm, from, way, batch), 0));
    hoop_tensor_free(&transfer->send);
    hoop_tensor_free(&transfer->receive);
    return 0;
}

static int
finish_all(struct storm *storm)
{
    const struct rank *rank = storm->rank;
    uint32_t order[N_WAYS * STORM_N_BATCHES];

    for (uint32_t i = 0; i < COUNT_OF(order); i++)
        order[i] = i;
    for (uint32_t n = COUNT_OF(order); n > 0; n--) {
        const uint32_t i = random_below(&storm->chance, n);
        const uint32_t chosen = order[i];

        order[i] = order[n - 1];
        pause_by_chance(storm);
        RANK_CHECK(finish_one(storm, (enum way)(chosen / STORM_N_BATCHES),
                              chosen % STORM_N_BATCHES) == 0);
    }
    return 0;
}

/* Exchanges in both directions at the same time, and waits in the call. */
static int
exchange_all(struct storm *storm)
{
    const struct hoop_shape shape = shape_of(1, 1, 1);

    pause_by_chance(storm);
    return p2p_exchange_check(storm->rank, storm->p2p, &shape, &shape);
}

static int
storm_body(struct rank *rank)
{
    const uint64_t seed = number_from_environment("P2P_SEED", 1);
    const uint64_t n_rounds = number_from_environment("P2P_ROUNDS", N_ROUNDS);
    CLEANUP(free) struct storm *storm = calloc(1, sizeof(*storm));

    storm->rank = rank;
    storm->chance = 0x9e3779b97f4a7c15U * (seed + 1) + rank->rank;
    for (uint32_t round = 0; round < n_rounds; round++) {
        storm->round = round;
        storm->p2p = p2p_of_kind(rank, round % 2 == 0 ? 1 : 3);
        RANK_CHECK(start_all(storm) == 0);
        RANK_CHECK(finish_all(storm) == 0);
        RANK_CHECK(exchange_all(storm) == 0);
        hoop_p2p_free(storm->p2p);
    }
    return 0;
}

int
main(void)
{
    static const struct rank_case cases[] = {
        {"train", train_body},
        {"storm", storm_body},
    };

    return p2p_case_run(cases, COUNT_OF(cases), 600);
}
