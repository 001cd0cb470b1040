/* tests/integration/broadcast_vectors_test.c - hoop_broadcast() */

#include "vectors.h"

static int
from_root(struct rank *rank, uint32_t root)
{
    static const int64_t given[2] = {7, 8};
    const bool is_root = rank->rank == root;
    struct vector recv = vector_empty();
    struct vector buffer = is_root ? vector_from(7, 2) : vector_empty();
    hoop_op_t *op = NULL;

    RANK_CHECK(hoop_broadcast(is_root ? given : NULL, recv.at, 2, HOOP_INT64,
                              root, rank->comm) == HOOP_OK);
    RANK_CHECK(vector_is(&recv, given, 2));
    recv = vector_empty();
    RANK_CHECK(vector_finish(hoop_broadcast_start(given, recv.at, 2, HOOP_INT64,
                                                  root, rank->comm, &op),
                             &op) == HOOP_OK);
    RANK_CHECK(vector_is(&recv, given, 2));
    RANK_CHECK(hoop_broadcast(HOOP_IN_PLACE, buffer.at, 2, HOOP_INT64, root,
                              rank->comm) == HOOP_OK);
    RANK_CHECK(vector_is(&buffer, given, 2));
    return 0;
}

static int
body(struct rank *rank)
{
    for (uint32_t root = 0; root < rank->size; root++)
        RANK_CHECK(from_root(rank, root) == 0);
    RANK_CHECK(hoop_broadcast(NULL, NULL, 0, HOOP_INT64, 0, rank->comm) ==
               HOOP_OK);
    return 0;
}

int
main(void)
{
    return vectors_run(body);
}
