/* tests/integration/reduce_scatter_vectors_test.c - hoop_reduce_scatter() */

#include "vectors.h"

static int64_t
sum_at(int64_t size, size_t i)
{
    return size * (int64_t)i + 5 * size * (size - 1);
}

static int
even(struct rank *rank)
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
uneven(struct rank *rank)
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
