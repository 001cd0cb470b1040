/* tests/integration/scatter_vectors_test.c - hoop_scatter(), hoop_scatterv() */

#include "vectors.h"

static int
even(struct rank *rank, uint32_t root)
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
uneven(struct rank *rank, uint32_t root)
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
body(struct rank *rank)
{
    for (uint32_t root = 0; root < rank->size; root++)
        RANK_CHECK(even(rank, root) == 0 && uneven(rank, root) == 0);
    RANK_CHECK(hoop_scatter(NULL, NULL, 0, HOOP_INT64, 0, rank->comm) ==
               HOOP_OK);
    return 0;
}

int
main(void)
{
    return vectors_run(body);
}
