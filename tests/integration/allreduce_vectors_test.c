/* tests/integration/allreduce_vectors_test.c - hoop_allreduce() */

#include <complex.h>
#include <string.h>

#include "vectors.h"

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
body(struct rank *rank)
{
    RANK_CHECK(sum(rank) == 0);
    RANK_CHECK(rank->size != 3 ||
               (operators(rank) == 0 && averages(rank) == 0));
    RANK_CHECK(rank->size != 2 || pairs(rank) == 0);
    return 0;
}

int
main(void)
{
    return vectors_run(body);
}
