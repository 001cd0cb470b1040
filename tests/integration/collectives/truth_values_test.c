/*
 * tests/integration/collectives/truth_values_test.c - reductions of bools give
 * 0 or 1
 *
 * The test reduces every combination of the bytes 0, 1, 2 and 255 on 1 to 5
 * ranks, with every operator, collective and algorithm, in place and not. It
 * compares the results with a count of the operands that are true. Collectives
 * that do not combine pass bytes on unchanged. A single rank loses no bits of
 * its floats.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/collectives/lossy_job.h"
#include "session/comm.h"

enum {
    LARGEST = 5,
    N_BYTES = 4,
    ROOM = 1024 * LARGEST, /* every combination for each rank */
    UNTOUCHED = 77,
};

static const uint8_t bytes[N_BYTES] = {0, 1, 2, 255};

static const enum hoop_reduce_op operators[] = {
    HOOP_SUM, HOOP_PRODUCT, HOOP_MIN, HOOP_MAX, HOOP_BOR, HOOP_BAND, HOOP_BXOR,
};

enum reducing {
    ALLREDUCE,
    REDUCE,
    SCAN,
    EXSCAN,
    REDUCE_SCATTER,
    REDUCE_SCATTERV,
    REDUCE_SCATTER_DIM,
    COALESCED,
    N_REDUCING,
};

static const char *const families[N_REDUCING] = {
    "allreduce",      "reduce",         "scan",           "exscan",
    "reduce_scatter", "reduce_scatter", "reduce_scatter", "allreduce"};

struct trial {
    enum reducing call;
    enum hoop_reduce_op op;
    bool is_in_place;
    bool is_started;
    const char *algorithm;
};

static size_t
power(uint32_t exponent)
{
    return (size_t)1 << 2 * exponent;
}

/* Returns element i of rank. The indices below 4^size give every combination
 * once. */
static uint8_t
value_of(uint32_t rank, size_t i)
{
    return bytes[i >> 2 * rank & (N_BYTES - 1)];
}

static uint8_t
reduced(enum hoop_reduce_op op, uint32_t n_ranks, size_t i)
{
    uint32_t n_true = 0;

    for (uint32_t rank = 0; rank < n_ranks; rank++)
        n_true += value_of(rank, i) != 0;
    switch (op) {
    case HOOP_SUM:
    case HOOP_MAX:
    case HOOP_BOR:
        return n_true > 0;
    case HOOP_PRODUCT:
    case HOOP_MIN:
    case HOOP_BAND:
        return n_true == n_ranks;
    case HOOP_BXOR:
        return n_true % 2;
    case HOOP_AVG:
        break;
    }
    return UNTOUCHED;
}

static bool
scatters(const struct trial *trial)
{
    return trial->call == REDUCE_SCATTER || trial->call == REDUCE_SCATTERV ||
           trial->call == REDUCE_SCATTER_DIM;
}

/* In a scatter, the block of every rank has every combination; of uneven
 * blocks, all but the last are one element shorter. */
static size_t
count_of(const struct trial *trial, uint32_t size, uint32_t rank)
{
    return power(size) -
           (trial->call == REDUCE_SCATTERV && rank + 1 < size ? 1 : 0);
}

static size_t
first_of(const struct trial *trial, uint32_t size, uint32_t rank)
{
    size_t first = 0;

    for (uint32_t i = 0; i < rank; i++)
        first += count_of(trial, size, i);
    return first;
}

static enum hoop_status
finish(enum hoop_status status, hoop_op_t *const *op)
{
    return status == HOOP_OK ? hoop_wait(*op, HOOP_FOREVER) : status;
}

static enum hoop_status
coalesced(const struct trial *trial,
          uint8_t *send,
          uint8_t *recv,
          const struct rank *rank)
{
    const size_t n = power(rank->size);
    const struct hoop_piece pieces[] = {
        {.send = trial->is_in_place ? HOOP_IN_PLACE : send,
         .recv = recv,
         .count = n / 2},
        {.send = send + n / 2,
         .recv = trial->is_in_place ? HOOP_IN_PLACE : recv + n / 2,
         .count = n - n / 2},
    };
    hoop_op_t *op = NULL;

    if (!trial->is_started)
        return hoop_allreduce_coalesced(pieces, 2, HOOP_BOOL, trial->op,
                                        rank->comm);
    return finish(hoop_allreduce_coalesced_start(pieces, 2, HOOP_BOOL,
                                                 trial->op, rank->comm, &op),
                  &op);
}

static enum hoop_status
scatter(const struct trial *trial,
        const void *send,
        void *recv,
        const struct rank *rank)
{
    const size_t n = power(rank->size);
    const struct hoop_shape shape = {2, {rank->size, n}};
    size_t counts[LARGEST];
    hoop_op_t *op = NULL;

    for (uint32_t i = 0; i < rank->size; i++)
        counts[i] = count_of(trial, rank->size, i);
    if (trial->call == REDUCE_SCATTERV && trial->is_started)
        return finish(hoop_reduce_scatterv_start(send, recv, counts, HOOP_BOOL,
                                                 trial->op, rank->comm, &op),
                      &op);
    if (trial->call == REDUCE_SCATTERV)
        return hoop_reduce_scatterv(send, recv, counts, HOOP_BOOL, trial->op,
                                    rank->comm);
    if (trial->call == REDUCE_SCATTER_DIM && trial->is_started)
        return finish(hoop_reduce_scatter_dim_start(send, recv, &shape, 0,
                                                    HOOP_BOOL, trial->op,
                                                    rank->comm, &op),
                      &op);
    if (trial->call == REDUCE_SCATTER_DIM)
        return hoop_reduce_scatter_dim(send, recv, &shape, 0, HOOP_BOOL,
                                       trial->op, rank->comm);
    if (trial->is_started)
        return finish(hoop_reduce_scatter_start(send, recv, n, HOOP_BOOL,
                                                trial->op, rank->comm, &op),
                      &op);
    return hoop_reduce_scatter(send, recv, n, HOOP_BOOL, trial->op, rank->comm);
}

static enum hoop_status
reduce(const struct trial *trial,
       const void *send,
       void *recv,
       const struct rank *rank)
{
    const size_t n = power(rank->size);
    const enum hoop_reduce_op op = trial->op;
    hoop_comm_t *comm = rank->comm;
    hoop_op_t *started = NULL;

    switch (trial->call) {
    case ALLREDUCE:
        return trial->is_started
                   ? finish(hoop_allreduce_start(send, recv, n, HOOP_BOOL, op,
                                                 comm, &started),
                            &started)
                   : hoop_allreduce(send, recv, n, HOOP_BOOL, op, comm);
    case REDUCE:
        return trial->is_started
                   ? finish(hoop_reduce_start(send, recv, n, HOOP_BOOL, op,
                                              rank->size - 1, comm, &started),
                            &started)
                   : hoop_reduce(send, recv, n, HOOP_BOOL, op, rank->size - 1,
                                 comm);
    case SCAN:
        return trial->is_started
                   ? finish(hoop_scan_start(send, recv, n, HOOP_BOOL, op, comm,
                                            &started),
                            &started)
                   : hoop_scan(send, recv, n, HOOP_BOOL, op, comm);
    case EXSCAN:
        return trial->is_started
                   ? finish(hoop_exscan_start(send, recv, n, HOOP_BOOL, op,
                                              comm, &started),
                            &started)
                   : hoop_exscan(send, recv, n, HOOP_BOOL, op, comm);
    case REDUCE_SCATTER:
    case REDUCE_SCATTERV:
    case REDUCE_SCATTER_DIM:
        return scatter(trial, send, recv, rank);
    case COALESCED:
    case N_REDUCING:
        break;
    }
    return HOOP_E_INVALID;
}

/* Returns the expected element i of the buffer that holds the result. */
static uint8_t
expected(const struct trial *trial, const struct rank *rank, size_t i)
{
    const uint8_t before =
        trial->is_in_place ? value_of(rank->rank, i) : UNTOUCHED;
    const size_t count = count_of(trial, rank->size, rank->rank);

    if (scatters(trial))
        return i < count ? reduced(trial->op, rank->size,
                                   first_of(trial, rank->size, rank->rank) + i)
                         : before;
    if (i >= count)
        return before;
    if (trial->call == SCAN)
        return reduced(trial->op, rank->rank + 1, i);
    if (trial->call == EXSCAN)
        return rank->rank == 0 ? before : reduced(trial->op, rank->rank, i);
    if (trial->call == REDUCE && rank->rank != rank->size - 1)
        return before;
    return reduced(trial->op, rank->size, i);
}

static int
try_once(struct rank *rank, const struct trial *trial)
{
    uint8_t send[ROOM];
    uint8_t recv[ROOM];
    uint8_t *result = trial->is_in_place ? send : recv;

    for (size_t i = 0; i < ROOM; i++) {
        send[i] = value_of(rank->rank, i);
        recv[i] = trial->call == COALESCED && trial->is_in_place ? send[i]
                                                                 : UNTOUCHED;
    }
    if (trial->call == COALESCED) {
        const size_t half = power(rank->size) / 2;

        RANK_CHECK(coalesced(trial, send, recv, rank) == HOOP_OK);
        /* The result of the first piece is in recv, and that of the other in
         * send. */
        if (trial->is_in_place)
            memcpy(send, recv, half);
    } else {
        RANK_CHECK(reduce(trial, trial->is_in_place ? HOOP_IN_PLACE : send,
                          result, rank) == HOOP_OK);
    }
    for (size_t i = 0; i < ROOM; i++) {
        if (result[i] == expected(trial, rank, i))
            continue;
        fprintf(stderr, "%s, call %d, op %d by %s%s: element %zu is %u\n",
                families[trial->call], (int)trial->call, (int)trial->op,
                trial->algorithm, trial->is_in_place ? ", in place" : "", i,
                result[i]);
        RANK_CHECK(result[i] == expected(trial, rank, i));
    }
    return 0;
}

static int
try_all(struct rank *rank, enum reducing call, const char *algorithm)
{
    for (size_t i = 0; i < COUNT_OF(operators); i++) {
        for (unsigned form = 0; form < 4; form++) {
            const struct trial trial = {.call = call,
                                        .op = operators[i],
                                        .is_in_place = form & 1,
                                        .is_started = form & 2,
                                        .algorithm = algorithm};

            if (try_once(rank, &trial) != 0)
                return 1;
        }
    }
    return 0;
}

/* First the table chooses the algorithm, then each one that these ranks can run
 * is forced. */
static int
algorithms_body(struct rank *rank)
{
    for (enum reducing call = 0; call < N_REDUCING; call++) {
        if (try_all(rank, call, "the table") != 0)
            return 1;
        for (uint32_t i = 0; rank->comm->tuning; i++) {
            const char *name = hoop_algorithm_name(families[call], i);
            char text[64];

            if (!name)
                break;
            snprintf(text, sizeof(text), "%s:%s", families[call], name);
            if (hoop_comm_set_algorithms(rank->comm, text) != HOOP_OK)
                continue;
            if (try_all(rank, call, name) != 0)
                return 1;
        }
        RANK_CHECK(!rank->comm->tuning ||
                   hoop_comm_set_algorithms(rank->comm, "") == HOOP_OK);
    }
    return 0;
}

/* The ranks also pretend to be on nodes of two, since hierarchical algorithms
 * exist only there. */
static int
nodes_body(struct rank *rank)
{
    if (rank->comm->tuning)
        return algorithms_body(rank);
    const int result =
        lossy_job_begin(rank, rank->size % 2 ? LOSS_BF16 : LOSS_NONE) ||
        algorithms_body(rank);

    lossy_job_end(rank);
    return result;
}

static void
every_reduction_gives_truth_values(void **state)
{
    for (uint32_t size = 1; size <= LARGEST; size++)
        assert_int_equal(ranks_run_all(size, nodes_body), 0);
}

static void
every_reduction_gives_truth_values_when_coded_or_checked(void **state)
{
    static const char *const codecs[] = {"zstd", "planes"};

    for (size_t i = 0; i < COUNT_OF(codecs); i++) {
        for (uint32_t size = 1; size <= 3; size++)
            assert_int_equal(ranks_run(&(struct ranks_options){
                                 .size = size,
                                 .body = nodes_body,
                                 .codec = codecs[i],
                                 .is_checked = i == 0,
                             }),
                             0);
    }
}

/* These collectives combine nothing, so they must not change anything. */
static int
what_combines_nothing_passes_bytes_on(struct rank *rank)
{
    uint8_t own[N_BYTES];
    uint8_t all[N_BYTES * LARGEST];
    uint8_t back[N_BYTES * LARGEST];

    for (size_t i = 0; i < N_BYTES; i++)
        own[i] = bytes[(i + rank->rank) % N_BYTES];
    RANK_CHECK(hoop_allgather(own, all, N_BYTES, HOOP_BOOL, rank->comm) ==
               HOOP_OK);
    for (size_t i = 0; i < N_BYTES * rank->size; i++)
        RANK_CHECK(all[i] == bytes[(i + i / N_BYTES) % N_BYTES]);
    memset(back, UNTOUCHED, sizeof(back));
    RANK_CHECK(hoop_gather(own, back, N_BYTES, HOOP_BOOL, 0, rank->comm) ==
               HOOP_OK);
    RANK_CHECK(rank->rank != 0 || memcmp(back, all, N_BYTES * rank->size) == 0);
    RANK_CHECK(hoop_broadcast(rank->rank == 0 ? all : NULL, back,
                              N_BYTES * rank->size, HOOP_BOOL, 0,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(memcmp(back, all, N_BYTES * rank->size) == 0);
    memset(back, UNTOUCHED, sizeof(back));
    RANK_CHECK(hoop_scatter(all, back, N_BYTES, HOOP_BOOL, 0, rank->comm) ==
               HOOP_OK);
    RANK_CHECK(memcmp(back, own, N_BYTES) == 0);
    RANK_CHECK(hoop_alltoall(all, back, N_BYTES, HOOP_BOOL, rank->comm) ==
               HOOP_OK);
    for (uint32_t s = 0; s < rank->size; s++)
        RANK_CHECK(memcmp(back + (size_t)s * N_BYTES, own, N_BYTES) == 0);
    return 0;
}

enum {
    N_FLOATS = 5000, /* lossy codecs need as many */
    N_CALLS = 6,
};

static enum hoop_status
alone_call(unsigned call, const float *send, float *recv, hoop_comm_t *comm)
{
    const size_t count = N_FLOATS;

    if (call == 0)
        return hoop_allreduce(send, recv, count, HOOP_FLOAT32, HOOP_SUM, comm);
    if (call == 1)
        return hoop_reduce(send, recv, count, HOOP_FLOAT32, HOOP_SUM, 0, comm);
    if (call == 2)
        return hoop_reduce_scatter(send, recv, count, HOOP_FLOAT32, HOOP_AVG,
                                   comm);
    if (call == 3)
        return hoop_allgather(send, recv, count, HOOP_FLOAT32, comm);
    if (call == 4)
        return hoop_allgatherv(send, recv, &count, HOOP_FLOAT32, comm);
    return hoop_gather(send, recv, count, HOOP_FLOAT32, 0, comm);
}

/* bf16, fp16 and int8 cannot represent a third. */
static int
alone_body(struct rank *rank)
{
    const enum codec_loss *loss = rank->input;
    CLEANUP(free) float *send = malloc(N_FLOATS * sizeof(*send));
    CLEANUP(free) float *recv = malloc(N_FLOATS * sizeof(*recv));

    RANK_CHECK(send && recv && lossy_job_begin(rank, *loss) == 0);
    for (size_t i = 0; i < N_FLOATS; i++)
        send[i] = (float)(i + 1) / 3;
    for (unsigned call = 0; call < N_CALLS; call++) {
        memset(recv, 0, N_FLOATS * sizeof(*recv));
        RANK_CHECK(alone_call(call, send, recv, rank->comm) == HOOP_OK);
        RANK_CHECK(memcmp(send, recv, N_FLOATS * sizeof(*send)) == 0);
    }
    lossy_job_end(rank);
    return 0;
}

static void
a_rank_alone_loses_no_bits(void **state)
{
    static const enum codec_loss losses[] = {LOSS_NONE, LOSS_BF16, LOSS_FP16,
                                             LOSS_INT8};

    for (size_t i = 0; i < COUNT_OF(losses); i++)
        assert_int_equal(
            ranks_run(&(struct ranks_options){
                .size = 1, .body = alone_body, .input = &losses[i]}),
            0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_reduction_gives_truth_values),
        cmocka_unit_test(
            every_reduction_gives_truth_values_when_coded_or_checked),
        RANKS_TEST(what_combines_nothing_passes_bytes_on, 1, LARGEST),
        cmocka_unit_test(a_rank_alone_loses_no_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
