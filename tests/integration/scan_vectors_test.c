/* tests/integration/scan_vectors_test.c - hoop_scan() and hoop_exscan() */

#include "vectors.h"

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
body(struct rank *rank)
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

int
main(void)
{
    return vectors_run(body);
}
