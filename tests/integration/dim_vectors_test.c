/* tests/integration/dim_vectors_test.c - hoop_allgather_dim() and its inverse */

#include <string.h>

#include "vectors.h"

/* A row-major [2, 2 n, 2] of which rank r has [2, 2, 2], cut along dim 1. */
static struct vector
part(uint32_t rank, uint32_t size)
{
    struct vector vector = vector_empty();

    for (size_t row = 0; row < 2; row++) {
        for (size_t i = 0; i < 4; i++)
            vector.at[4 * row + i] =
                (int64_t)(row * 4 * size + 4 * (size_t)rank + i);
    }
    return vector;
}

static int
body(struct rank *rank)
{
    const size_t shape[3] = {2, 2, 2};
    const size_t whole[3] = {2, 2 * (size_t)rank->size, 2};
    const struct hoop_extent extent = {3, shape};
    const struct hoop_extent whole_extent = {3, whole};
    const size_t n = 8 * (size_t)rank->size;
    const struct vector mine = part(rank->rank, rank->size);
    const struct vector all = vector_from(0, n);
    struct vector recv = vector_empty();
    hoop_op_t *op = NULL;

    RANK_CHECK(hoop_allgather_dim(mine.at, recv.at, &extent, 1, HOOP_INT64,
                                  rank->comm) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &all));
    for (size_t i = 0; i < n; i++)
        recv.at[i] = i / 4 % rank->size == rank->rank ? all.at[i] : SENTINEL;
    RANK_CHECK(
        vector_finish(hoop_allgather_dim_start(HOOP_IN_PLACE, recv.at, &extent,
                                               1, HOOP_INT64, rank->comm, &op),
                      &op) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &all));
    /* Along the first dimension it is the flat one. */
    struct vector flat = vector_empty();
    recv = vector_empty();
    RANK_CHECK(hoop_allgather(mine.at, flat.at, 8, HOOP_INT64, rank->comm) ==
               HOOP_OK);
    RANK_CHECK(hoop_allgather_dim(mine.at, recv.at, &extent, 0, HOOP_INT64,
                                  rank->comm) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &flat));

    /* The largest of equal tensors is the tensor: what comes is the cut. */
    recv = vector_empty();
    RANK_CHECK(hoop_reduce_scatter_dim(all.at, recv.at, &whole_extent, 1,
                                       HOOP_INT64, HOOP_MAX,
                                       rank->comm) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &mine));
    struct vector buffer = all;
    struct vector in_place = all;
    memcpy(in_place.at, mine.at, 8 * sizeof(mine.at[0]));
    RANK_CHECK(vector_finish(hoop_reduce_scatter_dim_start(
                                 buffer.at, HOOP_IN_PLACE, &whole_extent, 1,
                                 HOOP_INT64, HOOP_MAX, rank->comm, &op),
                             &op) == HOOP_OK);
    RANK_CHECK(vector_equal(&buffer, &in_place));
    return 0;
}

int
main(void)
{
    return vectors_run(body);
}
