/* tests/integration/coalesced_vectors_test.c - hoop_allreduce_coalesced() */

#include "vectors.h"

enum {
    N_PIECES = 9
};

/* Piece p holds p % 4 elements, every second one in place. */
static int
body(struct rank *rank)
{
    const int64_t size = rank->size;
    struct vector send = vector_ramp(rank->rank, VECTOR_MAX / 2);
    struct vector recv = vector_empty();
    struct hoop_piece pieces[N_PIECES];
    size_t total = 0;
    hoop_op_t *op = NULL;

    for (size_t p = 0; p < N_PIECES; p++) {
        pieces[p] = (struct hoop_piece){
            .send = p % 2 ? HOOP_IN_PLACE : send.at + total,
            .recv = (p % 2 ? send.at : recv.at) + total,
            .count = p % 4,
        };
        total += p % 4;
    }
    RANK_CHECK(hoop_allreduce_coalesced(pieces, N_PIECES, HOOP_INT64, HOOP_SUM,
                                        rank->comm) == HOOP_OK);
    for (size_t p = 0, i = 0; p < N_PIECES; p++) {
        for (size_t k = 0; k < pieces[p].count; k++, i++) {
            const int64_t *at = (p % 2 ? send.at : recv.at) + i;

            RANK_CHECK(*at == size * (int64_t)i + 5 * size * (size - 1));
            RANK_CHECK(p % 2 == 0 || recv.at[i] == SENTINEL);
        }
    }
    RANK_CHECK(
        vector_finish(hoop_allreduce_coalesced_start(pieces, 1, HOOP_INT64,
                                                     HOOP_MAX, rank->comm, &op),
                      &op) == HOOP_OK);
    RANK_CHECK(hoop_allreduce_coalesced(NULL, 0, HOOP_INT64, HOOP_SUM,
                                        rank->comm) == HOOP_OK);
    return 0;
}

int
main(void)
{
    return vectors_run(body);
}
