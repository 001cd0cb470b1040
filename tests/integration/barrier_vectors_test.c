/* tests/integration/barrier_vectors_test.c - hoop_barrier() */

#include "vectors.h"

/* Nobody is through before all have come: each counts itself first. */
static int
body(struct rank *rank)
{
    hoop_op_t *op = NULL;

    for (uint32_t round = 0; round < 50; round++) {
        __atomic_add_fetch(&rank->room[round], 1, __ATOMIC_SEQ_CST);
        if (round % 2 == 0)
            RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
        else
            RANK_CHECK(vector_finish(hoop_barrier_start(rank->comm, &op),
                                     &op) == HOOP_OK);
        RANK_CHECK(__atomic_load_n(&rank->room[round], __ATOMIC_SEQ_CST) ==
                   rank->size);
    }
    return 0;
}

int
main(void)
{
    return vectors_run(body);
}
