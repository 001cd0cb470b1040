/* tests/integration/reduce_vectors_test.c - hoop_reduce() */

#include "vectors.h"

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
body(struct rank *rank)
{
    for (uint32_t root = 0; root < rank->size; root++)
        RANK_CHECK(to_root(rank, root) == 0);
    RANK_CHECK(hoop_reduce(NULL, NULL, 0, HOOP_INT64, HOOP_SUM, 0,
                           rank->comm) == HOOP_OK);
    return 0;
}

int
main(void)
{
    return vectors_run(body);
}
