/*
 * tests/integration/collectives/collectives_vectors_test.c - worked examples of each
 * collective
 */

#include <complex.h>
#include <stdlib.h>
#include <string.h>

#include "integration/vectors.h"

static int
even(struct rank *rank)
{
    static const int64_t three[] = {1, 2, 11, 12, 21, 22};
    const struct vector mine = vector_pair(rank->rank);
    const struct vector all = vector_pairs(rank->size);
    struct vector recv = vector_empty();
    hoop_op_t *op = NULL;

    RANK_CHECK(hoop_allgather(mine.at, recv.at, 2, HOOP_INT64, rank->comm) ==
               HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &all));
    RANK_CHECK(rank->size != 3 || vector_is(&recv, three, 6));
    recv = vector_empty();
    memcpy(recv.at + 2 * rank->rank, mine.at, 2 * sizeof(mine.at[0]));
    RANK_CHECK(vector_finish(hoop_allgather_start(HOOP_IN_PLACE, recv.at, 2,
                                                  HOOP_INT64, rank->comm, &op),
                             &op) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &all));
    RANK_CHECK(hoop_allgather(NULL, NULL, 0, HOOP_INT64, rank->comm) ==
               HOOP_OK);
    return 0;
}

/* Rank s has s % 3 elements, 10 s and on. */
static int
uneven(struct rank *rank)
{
    const size_t own = rank->rank % 3;
    const struct vector mine = vector_from(10 * (int64_t)rank->rank, own);
    struct vector all = vector_empty();
    struct vector recv = vector_empty();
    size_t counts[RANKS_MAX];
    size_t total = 0;

    for (uint32_t s = 0; s < rank->size; s++) {
        counts[s] = s % 3;
        for (size_t i = 0; i < counts[s]; i++)
            all.at[total++] = 10 * (int64_t)s + (int64_t)i;
    }
    RANK_CHECK(hoop_allgatherv(own ? mine.at : NULL, recv.at, counts,
                               HOOP_INT64, rank->comm) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &all));
    return 0;
}

static int
allgather_body(struct rank *rank)
{
    RANK_CHECK(even(rank) == 0 && uneven(rank) == 0);
    return 0;
}

/* These cases test hoop_allreduce(). */

static int
sum(struct rank *rank)
{
    static const int64_t three[] = {30, 33, 36, 39, 42, 45};
    const size_t n = 2 * (size_t)rank->size;
    const int64_t size = rank->size;
    const struct vector mine = vector_ramp(rank->rank, rank->size);
    struct vector expected = vector_empty();
    struct vector recv = vector_empty();
    struct vector buffer = mine;
    hoop_op_t *op = NULL;

    for (size_t i = 0; i < n; i++)
        expected.at[i] = size * (int64_t)i + 5 * size * (size - 1);
    RANK_CHECK(hoop_allreduce(mine.at, recv.at, n, HOOP_INT64, HOOP_SUM,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &expected));
    RANK_CHECK(rank->size != 3 || vector_is(&recv, three, 6));
    RANK_CHECK(vector_finish(hoop_allreduce_start(HOOP_IN_PLACE, buffer.at, n,
                                                  HOOP_INT64, HOOP_SUM,
                                                  rank->comm, &op),
                             &op) == HOOP_OK);
    RANK_CHECK(vector_equal(&buffer, &expected));
    buffer = mine;
    RANK_CHECK(hoop_allreduce(buffer.at, buffer.at, n, HOOP_INT64, HOOP_SUM,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(vector_equal(&buffer, &expected));
    RANK_CHECK(hoop_allreduce(NULL, NULL, 0, HOOP_INT64, HOOP_SUM,
                              rank->comm) == HOOP_OK);
    return 0;
}

/* Every operator, on three ranks. */
static int
operators(struct rank *rank)
{
    static const int64_t given[3][3] = {{6, -7, 12}, {3, -2, 10}, {5, 0, 8}};
    static const struct {
        enum hoop_reduce_op op;
        int64_t expected[3];
    } rows[] = {
        {HOOP_SUM, {14, -9, 30}}, {HOOP_PRODUCT, {90, 0, 960}},
        {HOOP_MIN, {3, -7, 8}},   {HOOP_MAX, {6, 0, 12}},
        {HOOP_BAND, {0, 0, 8}},   {HOOP_BOR, {7, -1, 14}},
        {HOOP_BXOR, {0, 7, 14}},  {HOOP_AVG, {4, -3, 10}},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int64_t recv[3];

        RANK_CHECK(hoop_allreduce(given[rank->rank], recv, 3, HOOP_INT64,
                                  rows[i].op, rank->comm) == HOOP_OK);
        RANK_CHECK(memcmp(recv, rows[i].expected, sizeof(recv)) == 0);
    }
    return 0;
}

static int
averages(struct rank *rank)
{
    uint8_t byte = rank->rank == 0 ? 200 : rank->rank == 1 ? 100 : 0;
    uint8_t total = 0;
    float value = rank->rank == 2 ? 5 : 0;

    RANK_CHECK(hoop_allreduce(&byte, &total, 1, HOOP_UINT8, HOOP_SUM,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(total == 44);
    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, &byte, 1, HOOP_UINT8, HOOP_AVG,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(byte == 14);
    /* Summed, then divided once. */
    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_FLOAT32, HOOP_AVG,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(value == 5.0f / 3.0f);
    return 0;
}

/* Bagua's own examples, and an average that must not be rounded down. */
static int
pairs(struct rank *rank)
{
    const bool is_first = rank->rank == 0;
    int64_t small[2] = {is_first ? 1 : 3, is_first ? 2 : 4};
    double complex numbers[2] = {is_first ? 1 + 1 * I : 3 + 3 * I,
                                 is_first ? 2 + 2 * I : 4 + 4 * I};
    int64_t signs[4] = {-3, 3, 5, -1};
    const int64_t halves[4] = {-1, 1, 2, 0};

    if (!is_first)
        memset(signs, 0, sizeof(signs));
    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, small, 2, HOOP_INT64, HOOP_SUM,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(small[0] == 4 && small[1] == 6);
    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, numbers, 2, HOOP_COMPLEX128,
                              HOOP_SUM, rank->comm) == HOOP_OK);
    RANK_CHECK(numbers[0] == 4 + 4 * I && numbers[1] == 6 + 6 * I);
    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, signs, 4, HOOP_INT64, HOOP_AVG,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(memcmp(signs, halves, sizeof(signs)) == 0);
    return 0;
}

static int
allreduce_body(struct rank *rank)
{
    RANK_CHECK(sum(rank) == 0);
    RANK_CHECK(rank->size != 3 ||
               (operators(rank) == 0 && averages(rank) == 0));
    RANK_CHECK(rank->size != 2 || pairs(rank) == 0);
    return 0;
}

/* These cases test hoop_alltoall(), even or not. */

static int
alltoall_even(struct rank *rank)
{
    static const int64_t three[3][6] = {
        {0, 1, 10, 11, 20, 21}, {2, 3, 12, 13, 22, 23}, {4, 5, 14, 15, 24, 25}};
    struct vector mine = vector_ramp(rank->rank, rank->size);
    struct vector expected = vector_empty();
    struct vector recv = vector_empty();
    hoop_op_t *op = NULL;

    for (uint32_t s = 0; s < rank->size; s++) {
        expected.at[2 * s] = 10 * (int64_t)s + 2 * (int64_t)rank->rank;
        expected.at[2 * s + 1] = expected.at[2 * s] + 1;
    }
    RANK_CHECK(hoop_alltoall(mine.at, recv.at, 2, HOOP_INT64, rank->comm) ==
               HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &expected));
    RANK_CHECK(rank->size != 3 || vector_is(&recv, three[rank->rank], 6));
    RANK_CHECK(vector_finish(hoop_alltoall_start(HOOP_IN_PLACE, mine.at, 2,
                                                 HOOP_INT64, rank->comm, &op),
                             &op) == HOOP_OK);
    RANK_CHECK(vector_equal(&mine, &expected));
    RANK_CHECK(hoop_alltoall(NULL, NULL, 0, HOOP_INT64, rank->comm) == HOOP_OK);
    return 0;
}

/* Rank s sends (s + 2 r) % 4 elements to rank r: 100 s + 10 r and on. */
static size_t
count_between(uint32_t s, uint32_t r)
{
    return (s + 2 * r) % 4;
}

static size_t
fill(struct vector *vector, uint32_t s, uint32_t r, size_t at)
{
    for (size_t i = 0; i < count_between(s, r); i++)
        vector->at[at++] = 100 * (int64_t)s + 10 * (int64_t)r + (int64_t)i;
    return at;
}

static int
alltoall_uneven(struct rank *rank)
{
    struct vector mine = vector_empty();
    struct vector expected = vector_empty();
    struct vector recv = vector_empty();
    size_t out[RANKS_MAX];
    size_t in[RANKS_MAX];
    size_t n_out = 0;
    size_t n_in = 0;

    for (uint32_t s = 0; s < rank->size; s++) {
        out[s] = count_between(rank->rank, s);
        in[s] = count_between(s, rank->rank);
        n_out = fill(&mine, rank->rank, s, n_out);
        n_in = fill(&expected, s, rank->rank, n_in);
    }
    RANK_CHECK(hoop_alltoallv(mine.at, out, recv.at, in, HOOP_INT64,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &expected));
    RANK_CHECK(hoop_alltoallv(HOOP_IN_PLACE, out, mine.at, in, HOOP_INT64,
                              rank->comm) == HOOP_OK);
    for (size_t i = 0; i < n_in; i++)
        RANK_CHECK(mine.at[i] == expected.at[i]);
    for (size_t i = n_in > n_out ? n_in : n_out; i < VECTOR_MAX; i++)
        RANK_CHECK(mine.at[i] == SENTINEL);
    return 0;
}

static int
alltoall_body(struct rank *rank)
{
    RANK_CHECK(alltoall_even(rank) == 0 && alltoall_uneven(rank) == 0);
    return 0;
}

/* These cases test hoop_barrier(). */

/* Nobody is through before all have come: each counts itself first. */
static int
barrier_body(struct rank *rank)
{
    hoop_op_t *op = NULL;

    for (uint32_t round = 0; round < 50; round++) {
        __atomic_add_fetch(&rank->room[round], 1, __ATOMIC_SEQ_CST);
        if (round % 2 == 0)
            RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
        else
            RANK_CHECK(vector_finish(hoop_barrier_start(rank->comm, &op),
                                     &op) == HOOP_OK);
        RANK_CHECK(__atomic_load_n(&rank->room[round], __ATOMIC_SEQ_CST) ==
                   rank->size);
    }
    return 0;
}

/* These cases test hoop_batch(): all pairs at once. */

static struct hoop_message
message(enum hoop_message_kind kind, int64_t *at, uint32_t peer)
{
    return (struct hoop_message){
        .kind = kind,
        .buffer = at,
        .count = 2,
        .dtype = HOOP_INT64,
        .peer = peer,
        .tag = 3,
    };
}

/* Two messages to each rank, oneself included: the all-to-all by hand. */
static int
batch_body(struct rank *rank)
{
    const uint32_t n = rank->size;
    struct vector mine = vector_ramp(rank->rank, n);
    struct vector recv = vector_empty();
    struct vector expected = vector_empty();
    struct hoop_message messages[VECTOR_MAX];
    hoop_op_t *ops[VECTOR_MAX];

    for (uint32_t s = 0; s < n; s++) {
        messages[s] = message(HOOP_RECV, recv.at + 2 * s, s);
        messages[n + s] = message(HOOP_SEND, mine.at + 2 * s, s);
        expected.at[2 * s] = 10 * (int64_t)s + 2 * (int64_t)rank->rank;
        expected.at[2 * s + 1] = expected.at[2 * s] + 1;
    }
    RANK_CHECK(hoop_batch(messages, 2 * (size_t)n, rank->comm) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &expected));
    recv = vector_empty();
    RANK_CHECK(hoop_batch_start(messages, 2 * (size_t)n, rank->comm, ops) ==
               HOOP_OK);
    RANK_CHECK(hoop_wait(ops[n - 1], HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(recv.at[2 * n - 1] == expected.at[2 * n - 1]);
    ops[n - 1] = NULL;
    RANK_CHECK(hoop_wait_all(ops, 2 * (size_t)n, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &expected));
    return 0;
}

/* These cases test hoop_broadcast(). */

static int
from_root(struct rank *rank, uint32_t root)
{
    static const int64_t given[2] = {7, 8};
    const bool is_root = rank->rank == root;
    struct vector recv = vector_empty();
    struct vector buffer = is_root ? vector_from(7, 2) : vector_empty();
    hoop_op_t *op = NULL;

    RANK_CHECK(hoop_broadcast(is_root ? given : NULL, recv.at, 2, HOOP_INT64,
                              root, rank->comm) == HOOP_OK);
    RANK_CHECK(vector_is(&recv, given, 2));
    recv = vector_empty();
    RANK_CHECK(vector_finish(hoop_broadcast_start(given, recv.at, 2, HOOP_INT64,
                                                  root, rank->comm, &op),
                             &op) == HOOP_OK);
    RANK_CHECK(vector_is(&recv, given, 2));
    RANK_CHECK(hoop_broadcast(HOOP_IN_PLACE, buffer.at, 2, HOOP_INT64, root,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(vector_is(&buffer, given, 2));
    return 0;
}

static int
broadcast_body(struct rank *rank)
{
    for (uint32_t root = 0; root < rank->size; root++)
        RANK_CHECK(from_root(rank, root) == 0);
    RANK_CHECK(hoop_broadcast(NULL, NULL, 0, HOOP_INT64, 0, rank->comm) ==
               HOOP_OK);
    return 0;
}

/* These cases test hoop_allreduce_coalesced(). */

enum {
    N_PIECES = 9
};

/* Piece p holds p % 4 elements, every second one in place. */
static int
coalesced_body(struct rank *rank)
{
    const int64_t size = rank->size;
    struct vector send = vector_ramp(rank->rank, VECTOR_MAX / 2);
    struct vector recv = vector_empty();
    struct hoop_piece pieces[N_PIECES];
    size_t total = 0;
    hoop_op_t *op = NULL;

    for (size_t p = 0; p < N_PIECES; p++) {
        pieces[p] = (struct hoop_piece){
            .send = p % 2 ? HOOP_IN_PLACE : send.at + total,
            .recv = (p % 2 ? send.at : recv.at) + total,
            .count = p % 4,
        };
        total += p % 4;
    }
    RANK_CHECK(hoop_allreduce_coalesced(pieces, N_PIECES, HOOP_INT64, HOOP_SUM,
                                        rank->comm) == HOOP_OK);
    for (size_t p = 0, i = 0; p < N_PIECES; p++) {
        for (size_t k = 0; k < pieces[p].count; k++, i++) {
            const int64_t *at = (p % 2 ? send.at : recv.at) + i;

            RANK_CHECK(*at == size * (int64_t)i + 5 * size * (size - 1));
            RANK_CHECK(p % 2 == 0 || recv.at[i] == SENTINEL);
        }
    }
    RANK_CHECK(
        vector_finish(hoop_allreduce_coalesced_start(pieces, 1, HOOP_INT64,
                                                     HOOP_MAX, rank->comm, &op),
                      &op) == HOOP_OK);
    RANK_CHECK(hoop_allreduce_coalesced(NULL, 0, HOOP_INT64, HOOP_SUM,
                                        rank->comm) == HOOP_OK);
    return 0;
}

/* These cases test hoop_gather() and hoop_gatherv(). */

static int
gather_even(struct rank *rank, uint32_t root)
{
    static const int64_t three[] = {1, 2, 11, 12, 21, 22};
    const bool is_root = rank->rank == root;
    const struct vector mine = vector_pair(rank->rank);
    const struct vector all =
        is_root ? vector_pairs(rank->size) : vector_empty();
    struct vector recv = vector_empty();
    hoop_op_t *op = NULL;

    RANK_CHECK(hoop_gather(mine.at, recv.at, 2, HOOP_INT64, root, rank->comm) ==
               HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &all));
    RANK_CHECK(!is_root || rank->size != 3 || vector_is(&recv, three, 6));
    recv = vector_empty();
    RANK_CHECK(
        vector_finish(hoop_gather_start(mine.at, is_root ? recv.at : NULL, 2,
                                        HOOP_INT64, root, rank->comm, &op),
                      &op) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &all));
    return 0;
}

/* The root's block lies at its place, the others' at 0. */
static int
in_place(struct rank *rank, uint32_t root)
{
    const struct vector all = vector_pairs(rank->size);
    const struct vector mine = vector_pair(rank->rank);
    struct vector buffer = mine;

    if (rank->rank == root) {
        buffer = vector_empty();
        memcpy(buffer.at + 2 * root, mine.at, 2 * sizeof(mine.at[0]));
    }
    RANK_CHECK(hoop_gather(HOOP_IN_PLACE, buffer.at, 2, HOOP_INT64, root,
                           rank->comm) == HOOP_OK);
    RANK_CHECK(vector_equal(&buffer, rank->rank == root ? &all : &mine));
    return 0;
}

/* Rank s has s % 3 elements, 10 s and on. */
static int
gather_uneven(struct rank *rank, uint32_t root)
{
    const size_t own = rank->rank % 3;
    const struct vector mine = vector_from(10 * (int64_t)rank->rank, own);
    struct vector all = vector_empty();
    struct vector recv = vector_empty();
    size_t counts[RANKS_MAX];
    size_t total = 0;

    for (uint32_t s = 0; s < rank->size; s++) {
        counts[s] = s % 3;
        for (size_t i = 0; i < counts[s]; i++)
            all.at[total++] = 10 * (int64_t)s + (int64_t)i;
    }
    RANK_CHECK(hoop_gatherv(own ? mine.at : NULL, recv.at, counts, HOOP_INT64,
                            root, rank->comm) == HOOP_OK);
    if (rank->rank == root)
        RANK_CHECK(vector_equal(&recv, &all));
    else
        RANK_CHECK(vector_is(&recv, NULL, 0));
    return 0;
}

static int
gather_body(struct rank *rank)
{
    for (uint32_t root = 0; root < rank->size; root++)
        RANK_CHECK(gather_even(rank, root) == 0 && in_place(rank, root) == 0 &&
                   gather_uneven(rank, root) == 0);
    RANK_CHECK(hoop_gather(NULL, NULL, 0, HOOP_INT64, 0, rank->comm) ==
               HOOP_OK);
    return 0;
}

/* These cases test hoop_reduce(). */

static int
to_root(struct rank *rank, uint32_t root)
{
    static const int64_t three[] = {30, 33, 36, 39, 42, 45};
    const bool is_root = rank->rank == root;
    const size_t n = 2 * (size_t)rank->size;
    const int64_t size = rank->size;
    const struct vector mine = vector_ramp(rank->rank, rank->size);
    const struct vector none = vector_empty();
    struct vector expected = vector_empty();
    struct vector recv = vector_empty();
    struct vector buffer = mine;
    hoop_op_t *op = NULL;

    for (size_t i = 0; i < n; i++)
        expected.at[i] = size * (int64_t)i + 5 * size * (size - 1);
    RANK_CHECK(hoop_reduce(mine.at, recv.at, n, HOOP_INT64, HOOP_SUM, root,
                           rank->comm) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, is_root ? &expected : &none));
    RANK_CHECK(!is_root || rank->size != 3 || vector_is(&recv, three, 6));
    RANK_CHECK(vector_finish(hoop_reduce_start(
                                 mine.at, is_root ? recv.at : NULL, n,
                                 HOOP_INT64, HOOP_SUM, root, rank->comm, &op),
                             &op) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, is_root ? &expected : &none));
    /* In place, elsewhere the input stays. */
    RANK_CHECK(hoop_reduce(HOOP_IN_PLACE, buffer.at, n, HOOP_INT64, HOOP_SUM,
                           root, rank->comm) == HOOP_OK);
    RANK_CHECK(vector_equal(&buffer, is_root ? &expected : &mine));
    return 0;
}

static int
reduce_body(struct rank *rank)
{
    for (uint32_t root = 0; root < rank->size; root++)
        RANK_CHECK(to_root(rank, root) == 0);
    RANK_CHECK(hoop_reduce(NULL, NULL, 0, HOOP_INT64, HOOP_SUM, 0,
                           rank->comm) == HOOP_OK);
    return 0;
}

/* These cases test hoop_reduce_scatter(). */

static int64_t
sum_at(int64_t size, size_t i)
{
    return size * (int64_t)i + 5 * size * (size - 1);
}

static int
reduce_scatter_even(struct rank *rank)
{
    static const int64_t three[3][2] = {{30, 33}, {36, 39}, {42, 45}};
    static const int64_t second[6] = {36, 39, 12, 13, 14, 15};
    const size_t own = 2 * (size_t)rank->rank;
    const int64_t expected[2] = {sum_at(rank->size, own),
                                 sum_at(rank->size, own + 1)};
    const struct vector mine = vector_ramp(rank->rank, rank->size);
    struct vector recv = vector_empty();
    struct vector buffer = mine;
    struct vector in_place = mine;
    hoop_op_t *op = NULL;

    RANK_CHECK(hoop_reduce_scatter(mine.at, recv.at, 2, HOOP_INT64, HOOP_SUM,
                                   rank->comm) == HOOP_OK);
    RANK_CHECK(vector_is(&recv, expected, 2));
    RANK_CHECK(rank->size != 3 || vector_is(&recv, three[rank->rank], 2));
    /* The result stands at 0, the rest stays. */
    in_place.at[0] = expected[0];
    in_place.at[1] = expected[1];
    RANK_CHECK(vector_finish(hoop_reduce_scatter_start(HOOP_IN_PLACE, buffer.at,
                                                       2, HOOP_INT64, HOOP_SUM,
                                                       rank->comm, &op),
                             &op) == HOOP_OK);
    RANK_CHECK(vector_equal(&buffer, &in_place));
    RANK_CHECK(rank->size != 3 || rank->rank != 1 ||
               vector_is(&buffer, second, 6));
    RANK_CHECK(hoop_reduce_scatter(NULL, NULL, 0, HOOP_INT64, HOOP_SUM,
                                   rank->comm) == HOOP_OK);
    return 0;
}

/* Rank s keeps s % 4 elements. */
static int
reduce_scatter_uneven(struct rank *rank)
{
    const struct vector mine = vector_ramp(rank->rank, rank->size);
    struct vector expected = vector_empty();
    struct vector recv = vector_empty();
    size_t counts[RANKS_MAX];
    size_t first = 0;

    for (uint32_t s = 0; s < rank->size; s++) {
        counts[s] = s % 4;
        first += s < rank->rank ? counts[s] : 0;
    }
    const size_t own = counts[rank->rank];
    for (size_t i = 0; i < own; i++)
        expected.at[i] = sum_at(rank->size, first + i);
    RANK_CHECK(hoop_reduce_scatterv(mine.at, own ? recv.at : NULL, counts,
                                    HOOP_INT64, HOOP_SUM,
                                    rank->comm) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &expected));
    return 0;
}

static int
reduce_scatter_body(struct rank *rank)
{
    RANK_CHECK(reduce_scatter_even(rank) == 0 &&
               reduce_scatter_uneven(rank) == 0);
    return 0;
}

/* These cases test hoop_scan() and hoop_exscan(). */

/* The reduction of ranks 0 to n - 1: SUM of 0 + 10 s + i. */
static struct vector
prefix(uint32_t n, uint32_t size)
{
    struct vector vector = vector_empty();

    for (size_t i = 0; n > 0 && i < 2 * (size_t)size; i++)
        vector.at[i] = (int64_t)n * (int64_t)i + 5 * (int64_t)n * (n - 1);
    return vector;
}

static int
scan_body(struct rank *rank)
{
    const size_t n = 2 * (size_t)rank->size;
    const struct vector mine = vector_ramp(rank->rank, rank->size);
    const struct vector with = prefix(rank->rank + 1, rank->size);
    const struct vector without = prefix(rank->rank, rank->size);
    struct vector recv = vector_empty();
    struct vector buffer = mine;
    hoop_op_t *op = NULL;

    RANK_CHECK(hoop_scan(mine.at, recv.at, n, HOOP_INT64, HOOP_SUM,
                         rank->comm) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &with));
    recv = vector_empty();
    RANK_CHECK(hoop_exscan(mine.at, recv.at, n, HOOP_INT64, HOOP_SUM,
                           rank->comm) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &without));
    RANK_CHECK(
        vector_finish(hoop_exscan_start(HOOP_IN_PLACE, buffer.at, n, HOOP_INT64,
                                        HOOP_SUM, rank->comm, &op),
                      &op) == HOOP_OK);
    RANK_CHECK(vector_equal(&buffer, rank->rank == 0 ? &mine : &without));
    buffer = mine;
    RANK_CHECK(
        vector_finish(hoop_scan_start(buffer.at, HOOP_IN_PLACE, n, HOOP_INT64,
                                      HOOP_SUM, rank->comm, &op),
                      &op) == HOOP_OK);
    RANK_CHECK(vector_equal(&buffer, &with));
    RANK_CHECK(hoop_scan(NULL, NULL, 0, HOOP_INT64, HOOP_SUM, rank->comm) ==
               HOOP_OK);
    RANK_CHECK(hoop_exscan(NULL, NULL, 0, HOOP_INT64, HOOP_SUM, rank->comm) ==
               HOOP_OK);
    return 0;
}

/* These cases test hoop_scatter(), hoop_scatterv(). */

static int
scatter_even(struct rank *rank, uint32_t root)
{
    const bool is_root = rank->rank == root;
    const struct vector all = vector_from(0, 2 * (size_t)rank->size);
    const int64_t mine[2] = {2 * (int64_t)rank->rank,
                             2 * (int64_t)rank->rank + 1};
    struct vector recv = vector_empty();
    hoop_op_t *op = NULL;

    RANK_CHECK(hoop_scatter(is_root ? all.at : NULL, recv.at, 2, HOOP_INT64,
                            root, rank->comm) == HOOP_OK);
    RANK_CHECK(vector_is(&recv, mine, 2));
    recv = vector_empty();
    RANK_CHECK(vector_finish(hoop_scatter_start(all.at, recv.at, 2, HOOP_INT64,
                                                root, rank->comm, &op),
                             &op) == HOOP_OK);
    RANK_CHECK(vector_is(&recv, mine, 2));

    /* In place: at 0, but the root keeps what it had. */
    struct vector buffer = is_root ? all : vector_empty();
    RANK_CHECK(hoop_scatter(HOOP_IN_PLACE, buffer.at, 2, HOOP_INT64, root,
                            rank->comm) == HOOP_OK);
    RANK_CHECK(is_root ? vector_equal(&buffer, &all)
                       : vector_is(&buffer, mine, 2));
    return 0;
}

/* Rank s gets (s + 1) % 3 elements. */
static int
scatter_uneven(struct rank *rank, uint32_t root)
{
    const struct vector all = vector_from(0, 3 * (size_t)rank->size);
    struct vector recv = vector_empty();
    size_t counts[RANKS_MAX];
    size_t first = 0;

    for (uint32_t s = 0; s < rank->size; s++) {
        counts[s] = (s + 1) % 3;
        first += s < rank->rank ? counts[s] : 0;
    }
    const size_t own = counts[rank->rank];
    RANK_CHECK(hoop_scatterv(rank->rank == root ? all.at : NULL,
                             own ? recv.at : NULL, counts, HOOP_INT64, root,
                             rank->comm) == HOOP_OK);
    RANK_CHECK(vector_is(&recv, all.at + first, own));
    return 0;
}

static int
scatter_body(struct rank *rank)
{
    for (uint32_t root = 0; root < rank->size; root++)
        RANK_CHECK(scatter_even(rank, root) == 0 &&
                   scatter_uneven(rank, root) == 0);
    RANK_CHECK(hoop_scatter(NULL, NULL, 0, HOOP_INT64, 0, rank->comm) ==
               HOOP_OK);
    return 0;
}

/* These cases test hoop_sendrecv(), and send, recv. */

/* By one rank, of so much that nobody's send ends before its receive begins;
 * alone it is a message to oneself. */
static int
rotate(struct rank *rank, size_t count)
{
    const uint32_t next = (rank->rank + 1) % rank->size;
    const uint32_t prev = (rank->rank + rank->size - 1) % rank->size;
    int32_t *mine = malloc(count * sizeof(*mine) + 1);
    int32_t *theirs = malloc(count * sizeof(*theirs) + 1);
    const struct hoop_message out = {.kind = HOOP_SEND,
                                     .buffer = mine,
                                     .count = count,
                                     .dtype = HOOP_INT32,
                                     .peer = next,
                                     .tag = 7};
    const struct hoop_message in = {.kind = HOOP_RECV,
                                    .buffer = theirs,
                                    .count = count,
                                    .dtype = HOOP_INT32,
                                    .peer = count % 2 ? prev : HOOP_ANY_SOURCE,
                                    .tag = 7};
    struct hoop_received received = {99, 99};
    hoop_op_t *op = NULL;

    for (size_t i = 0; i < count; i++)
        mine[i] = (int32_t)(rank->rank * 1000 + i % 997);
    RANK_CHECK(hoop_sendrecv(&out, &in, rank->comm, &received) == HOOP_OK);
    RANK_CHECK(received.source == prev && received.count == count);
    for (size_t i = 0; i < count; i++)
        RANK_CHECK(theirs[i] == (int32_t)(prev * 1000 + i % 997));
    RANK_CHECK(
        vector_finish(hoop_sendrecv_start(&out, &in, rank->comm, NULL, &op),
                      &op) == HOOP_OK);
    RANK_CHECK(count == 0 ||
               theirs[count - 1] == (int32_t)(prev * 1000 + (count - 1) % 997));
    free(mine);
    free(theirs);
    return 0;
}

static int
sendrecv_body(struct rank *rank)
{
    static const size_t counts[] = {0, 1, 2, 16383, 65536, 1000001};

    for (size_t i = 0; i < COUNT_OF(counts); i++)
        RANK_CHECK(rotate(rank, counts[i]) == 0);
    return 0;
}

int
main(void)
{
    static const struct rank_case cases[] = {
        {"allgather", allgather_body}, {"allreduce", allreduce_body},
        {"alltoall", alltoall_body},   {"barrier", barrier_body},
        {"batch", batch_body},         {"broadcast", broadcast_body},
        {"coalesced", coalesced_body}, {"gather", gather_body},
        {"reduce", reduce_body},       {"reduce_scatter", reduce_scatter_body},
        {"scan", scan_body},           {"scatter", scatter_body},
        {"sendrecv", sendrecv_body},
    };

    return vectors_run(cases, COUNT_OF(cases));
}
