/* tests/integration/allgather_vectors_test.c - hoop_allgather(), and v */

#include <string.h>

#include "vectors.h"

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
