/* tests/integration/alltoall_vectors_test.c - hoop_alltoall(), even or not */

#include "vectors.h"

static int
even(struct rank *rank)
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
uneven(struct rank *rank)
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
body(struct rank *rank)
{
    RANK_CHECK(even(rank) == 0 && uneven(rank) == 0);
    return 0;
}

int
main(void)
{
    return vectors_run(body);
}
