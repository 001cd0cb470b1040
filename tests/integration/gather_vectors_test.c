/* tests/integration/gather_vectors_test.c - hoop_gather() and hoop_gatherv() */

#include <string.h>

#include "vectors.h"

static int
even(struct rank *rank, uint32_t root)
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
uneven(struct rank *rank, uint32_t root)
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
body(struct rank *rank)
{
    for (uint32_t root = 0; root < rank->size; root++)
        RANK_CHECK(even(rank, root) == 0 && in_place(rank, root) == 0 &&
                   uneven(rank, root) == 0);
    RANK_CHECK(hoop_gather(NULL, NULL, 0, HOOP_INT64, 0, rank->comm) ==
               HOOP_OK);
    return 0;
}

int
main(void)
{
    return vectors_run(body);
}
