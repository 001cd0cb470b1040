/* tests/integration/collectives/dim_vectors_test.c - collectives along
 * dimensions
 *
 * The dimensions are counted from both ends. */

#include <string.h>

#include "integration/vectors.h"

static const struct hoop_shape shape_22 = {2, {2, 2}};
static const struct hoop_shape shape_222 = {3, {2, 2, 2}};

/* Returns the part [2, 2, 2] of this rank in a row-major [2, 2 n, 2] that is
 * cut along dimension 1. */
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

/* Returns whether both numbers of a dimension give the n expected elements. */
static bool
gathers(struct rank *rank,
        const struct vector *mine,
        const struct hoop_shape *shape,
        int32_t dim,
        const int64_t *expected)
{
    const int32_t names[2] = {dim, dim - (int32_t)shape->n_dims};
    size_t n = rank->size;

    for (uint32_t i = 0; i < shape->n_dims; i++)
        n *= shape->dims[i];
    for (int i = 0; i < 2; i++) {
        struct vector recv = vector_empty();

        if (hoop_allgather_dim(mine->at, recv.at, shape, names[i], HOOP_INT64,
                               rank->comm) != HOOP_OK ||
            !vector_is(&recv, expected, n))
            return false;
    }
    return true;
}

/* These are worked examples for two ranks. */
static int
gather_examples(struct rank *rank)
{
    const struct vector mine =
        vector_from(4 * (int64_t)rank->rank + 1, 4); /* 1 to 4, and 5 to 8 */
    const struct vector cube = vector_from(100 * (int64_t)rank->rank, 8);

    RANK_CHECK(gathers(rank, &mine, &shape_22, 0,
                       (const int64_t[]){1, 2, 3, 4, 5, 6, 7, 8}));
    RANK_CHECK(gathers(rank, &mine, &shape_22, 1,
                       (const int64_t[]){1, 2, 5, 6, 3, 4, 7, 8}));
    RANK_CHECK(gathers(rank, &cube, &shape_222, 1,
                       (const int64_t[]){0, 1, 2, 3, 100, 101, 102, 103, 4, 5,
                                         6, 7, 104, 105, 106, 107}));
    RANK_CHECK(gathers(rank, &cube, &shape_222, 2,
                       (const int64_t[]){0, 1, 100, 101, 2, 3, 102, 103, 4, 5,
                                         104, 105, 6, 7, 106, 107}));
    return 0;
}

struct cut {
    const int64_t *mine;
    struct hoop_shape shape;
    int32_t dim;
    enum hoop_reduce_op op;
};

static bool
scatters(struct rank *rank, const struct cut *cut, const int64_t *expected)
{
    const int32_t names[2] = {cut->dim, cut->dim - (int32_t)cut->shape.n_dims};
    size_t n = 1;

    for (uint32_t i = 0; i < cut->shape.n_dims; i++)
        n *= cut->shape.dims[i];
    for (int i = 0; i < 2; i++) {
        struct vector recv = vector_empty();

        if (hoop_reduce_scatter_dim(cut->mine, recv.at, &cut->shape, names[i],
                                    HOOP_INT64, cut->op,
                                    rank->comm) != HOOP_OK ||
            !vector_is(&recv, expected, n / rank->size))
            return false;
    }
    return true;
}

static int
scatter_examples_of_two(struct rank *rank)
{
    const int64_t r = rank->rank;
    int64_t mine[8];
    struct cut cut = {mine, {2, {2, 4}}, 0, HOOP_SUM};

    for (int64_t i = 0; i < 8; i++)
        mine[i] = (i + 1) * (r == 0 ? 1 : 10);
    RANK_CHECK(scatters(rank, &cut,
                        r == 0 ? (const int64_t[]){11, 22, 33, 44}
                               : (const int64_t[]){55, 66, 77, 88}));
    cut.dim = 1;
    RANK_CHECK(scatters(rank, &cut,
                        r == 0 ? (const int64_t[]){11, 22, 55, 66}
                               : (const int64_t[]){33, 44, 77, 88}));
    cut.op = HOOP_MAX;
    RANK_CHECK(scatters(rank, &cut,
                        r == 0 ? (const int64_t[]){10, 20, 50, 60}
                               : (const int64_t[]){30, 40, 70, 80}));
    return 0;
}

static int
scatter_example_of_three(struct rank *rank)
{
    const int64_t powers[3] = {1, 10, 100};
    const int64_t first = 2 * (int64_t)rank->rank + 1;
    const int64_t expected[2] = {111 * first, 111 * (first + 1)};
    int64_t mine[6];
    const struct cut cut = {mine, {1, {6}}, 0, HOOP_SUM};

    for (int64_t i = 0; i < 6; i++)
        mine[i] = (i + 1) * powers[rank->rank];
    RANK_CHECK(scatters(rank, &cut, expected));
    return 0;
}

/* Sizes that cannot be divided and dimensions that do not exist fail on every
 * rank, and the communicator remains usable. */
static int
wrong_calls_fail_everywhere(struct rank *rank)
{
    const struct hoop_shape five = {2, {5, 1}};
    const struct vector mine = vector_from(0, 5);
    struct vector recv = vector_empty();
    const enum hoop_status expected =
        5 % rank->size == 0 ? HOOP_OK : HOOP_E_INVALID;

    for (int32_t dim = -2; dim <= 0; dim += 2)
        RANK_CHECK(hoop_reduce_scatter_dim(mine.at, recv.at, &five, dim,
                                           HOOP_INT64, HOOP_SUM,
                                           rank->comm) == expected);
    for (int32_t dim = -3; dim <= 2; dim += 5) {
        RANK_CHECK(hoop_allgather_dim(mine.at, recv.at, &five, dim, HOOP_INT64,
                                      rank->comm) == HOOP_E_INVALID);
        RANK_CHECK(hoop_reduce_scatter_dim(mine.at, recv.at, &five, dim,
                                           HOOP_INT64, HOOP_SUM,
                                           rank->comm) == HOOP_E_INVALID);
    }
    RANK_CHECK(rank->size == 1 || vector_is(&recv, NULL, 0));
    RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    return 0;
}

static int
gathering(struct rank *rank)
{
    const size_t n = 8 * (size_t)rank->size;
    const struct vector mine = part(rank->rank, rank->size);
    const struct vector all = vector_from(0, n);
    struct vector recv = vector_empty();
    hoop_op_t *op = NULL;

    RANK_CHECK(gathers(rank, &mine, &shape_222, 1, all.at));
    for (size_t i = 0; i < n; i++)
        recv.at[i] = i / 4 % rank->size == rank->rank ? all.at[i] : SENTINEL;
    RANK_CHECK(vector_finish(
                   hoop_allgather_dim_start(HOOP_IN_PLACE, recv.at, &shape_222,
                                            -2, HOOP_INT64, rank->comm, &op),
                   &op) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &all));
    /* Along the first dimension the result is that of hoop_allgather(). */
    struct vector flat = vector_empty();
    RANK_CHECK(hoop_allgather(mine.at, flat.at, 8, HOOP_INT64, rank->comm) ==
               HOOP_OK);
    RANK_CHECK(gathers(rank, &mine, &shape_222, 0, flat.at));
    return 0;
}

/* The maximum of equal tensors is the tensor itself, so the result is its
 * part. */
static int
scattering(struct rank *rank)
{
    const struct hoop_shape whole = {3, {2, 2 * (size_t)rank->size, 2}};
    const struct vector mine = part(rank->rank, rank->size);
    const struct vector all = vector_from(0, 8 * (size_t)rank->size);
    struct vector buffer = all;
    struct vector in_place = all;
    hoop_op_t *op = NULL;

    RANK_CHECK(
        scatters(rank, &(struct cut){all.at, whole, 1, HOOP_MAX}, mine.at));
    memcpy(in_place.at, mine.at, 8 * sizeof(mine.at[0]));
    RANK_CHECK(vector_finish(hoop_reduce_scatter_dim_start(
                                 buffer.at, HOOP_IN_PLACE, &whole, -2,
                                 HOOP_INT64, HOOP_MAX, rank->comm, &op),
                             &op) == HOOP_OK);
    RANK_CHECK(vector_equal(&buffer, &in_place));
    return 0;
}

static int
body(struct rank *rank)
{
    int line = gathering(rank);

    if (line == 0)
        line = scattering(rank);
    if (line == 0 && rank->size == 2)
        line = gather_examples(rank);
    if (line == 0 && rank->size == 2)
        line = scatter_examples_of_two(rank);
    if (line == 0 && rank->size == 3)
        line = scatter_example_of_three(rank);
    if (line == 0)
        line = wrong_calls_fail_everywhere(rank);
    return line;
}

int
main(void)
{
    static const struct rank_case cases[] = {{"dim", body}};

    return vectors_run(cases, COUNT_OF(cases));
}
