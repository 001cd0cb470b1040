/*
 * tests/integration/p2p_storm_test.c - 64 micro-batches in flight at once
 *
 * Each stage of a ring starts all its transfers, forward and backward mixed by
 * chance, and waits for them in any order, with pauses by chance. Only the
 * order within a way is the same on all stages. Five rounds for each number of stages;
 * P2P_ROUNDS=1000 and P2P_SEED=1 in the environment make it longer.
 */

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "p2p_case.h"

enum {
    N_BATCHES = 64,
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
    uint64_t chance; /* of this rank alone */
    uint32_t round;
    struct transfer transfers[N_WAYS][N_BATCHES];
};

static uint32_t
from_environment(const char *name, uint32_t otherwise)
{
    const char *text = getenv(name);

    return text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static uint32_t
below(uint64_t *chance, uint32_t bound)
{
    *chance ^= *chance << 13;
    *chance ^= *chance >> 7;
    *chance ^= *chance << 17;
    return (uint32_t)(*chance >> 33) % bound;
}

static void
pause_by_chance(struct storm *storm)
{
    if (below(&storm->chance, 8) == 0)
        usleep(below(&storm->chance, 200));
}

/* Some more than is sent unasked, some with nothing in it; all stages know. */
static struct hoop_shape
batch_shape(const struct storm *storm, enum way way, uint32_t batch)
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
    const struct hoop_shape shape = batch_shape(storm, way, batch);

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

    while (n_started[FORWARD] + n_started[BACKWARD] < N_WAYS * N_BATCHES) {
        enum way way = (enum way)below(&storm->chance, N_WAYS);

        if (n_started[way] == N_BATCHES)
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
    const struct hoop_shape shape = batch_shape(storm, way, batch);
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
    uint32_t order[N_WAYS * N_BATCHES];

    for (uint32_t i = 0; i < COUNT_OF(order); i++)
        order[i] = i;
    for (uint32_t n = COUNT_OF(order); n > 0; n--) {
        const uint32_t i = below(&storm->chance, n);
        const uint32_t chosen = order[i];

        order[i] = order[n - 1];
        pause_by_chance(storm);
        RANK_CHECK(finish_one(storm, (enum way)(chosen / N_BATCHES),
                              chosen % N_BATCHES) == 0);
    }
    return 0;
}

/* Both ways at once, waited for in the call. */
static int
exchange_all(struct storm *storm)
{
    const struct rank *rank = storm->rank;
    const struct hoop_shape shape = shape_of(1, 1, 1);
    const int64_t mine = 2 * (int64_t)rank->rank;
    struct hoop_tensor output = tensor_filled(&shape, mine + 1, 0);
    struct hoop_tensor input_grad = tensor_filled(&shape, mine + 2, 0);
    struct hoop_tensor input = tensor_awaited(&shape);
    struct hoop_tensor output_grad = tensor_awaited(&shape);
    const struct hoop_p2p_ops ops = {&input_grad,  &input, &output,
                                     &output_grad, &input, &output_grad};

    pause_by_chance(storm);
    RANK_CHECK(hoop_p2p_exchange_all(storm->p2p, &ops) == HOOP_OK);
    RANK_CHECK(tensor_is(&input, &shape,
                         2 * (int64_t)hoop_p2p_prev(storm->p2p) + 1, 0));
    RANK_CHECK(tensor_is(&output_grad, &shape,
                         2 * (int64_t)hoop_p2p_next(storm->p2p) + 2, 0));
    hoop_tensor_free(&output);
    hoop_tensor_free(&input_grad);
    hoop_tensor_free(&input);
    hoop_tensor_free(&output_grad);
    return 0;
}

static int
body(struct rank *rank)
{
    const uint32_t seed = from_environment("P2P_SEED", 1);
    const uint32_t n_rounds = from_environment("P2P_ROUNDS", N_ROUNDS);
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
    return p2p_case_run(body, 600);
}
