/*
 * tests/integration/ring_forward_vectors_test.c - hoop_ring_forward(): every
 * rank's tensor moves on by one, and home after a whole turn
 */

#include "pipe_case.h"
#include "vectors.h"

enum {
    LARGE = 1 << 20 /* elements: 8 MiB each way */
};

/* in_r = [r, 10 r]. */
static int
vector_is_rotated(struct rank *rank, hoop_comm_t *comm)
{
    const uint32_t n = hoop_comm_size(comm);
    const int64_t r = hoop_comm_rank(comm);
    const int64_t before = (r + n - 1) % n;
    struct pair mine;
    struct pair theirs;

    pair_fill(&mine, r, 10 * r);
    pair_want(&theirs);
    RANK_CHECK(hoop_ring_forward(&mine.tensor, &theirs.tensor, comm) ==
               HOOP_OK);
    RANK_CHECK(mine.at[0] == r && mine.at[1] == 10 * r);
    RANK_CHECK(pair_came(&theirs, before, 10 * before));
    return 0;
}

static int
whole_turn_comes_home(struct rank *rank, hoop_comm_t *comm)
{
    const int64_t r = rank->rank;
    struct pair pairs[2];

    pair_fill(&pairs[0], r, -r);
    pair_fill(&pairs[1], 0, 0);
    for (uint32_t i = 0; i < hoop_comm_size(comm); i++)
        RANK_CHECK(hoop_ring_forward(&pairs[i % 2].tensor,
                                     &pairs[1 - i % 2].tensor,
                                     comm) == HOOP_OK);
    RANK_CHECK(pair_came(&pairs[hoop_comm_size(comm) % 2], r, -r));
    return 0;
}

static int
large_tensor_is_rotated(struct rank *rank)
{
    const int64_t before = (rank->rank + rank->size - 1) % rank->size;
    struct hoop_tensor mine;
    struct hoop_tensor theirs;

    RANK_CHECK(hoop_tensor_create(HOOP_INT64,
                                  &(struct hoop_shape){2, {LARGE / 4, 4}},
                                  &mine) == HOOP_OK);
    int64_t *at = mine.data;
    for (int64_t i = 0; i < LARGE; i++)
        at[i] = i ^ (int64_t)rank->rank;
    theirs = mine;
    theirs.data = NULL;
    RANK_CHECK(hoop_ring_forward(&mine, &theirs, rank->comm) == HOOP_OK);
    RANK_CHECK(hoop_shape_equal(&mine.shape, &theirs.shape));
    at = theirs.data;
    for (int64_t i = 0; i < LARGE; i++)
        RANK_CHECK(at[i] == (i ^ before));
    hoop_tensor_free(&mine);
    hoop_tensor_free(&theirs);
    return 0;
}

/* Of any ranks, in any order: parity decides nothing. */
static int
some_ranks(struct rank *rank)
{
    static const uint32_t lists[][3] = {{0, 2, 4}, {3, 1, 2}};

    if (rank->size < 5)
        return 0;
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        hoop_comm_t comm;

        RANK_CHECK(comm_begin(rank, 2 + i, lists[i], 3, &comm) == HOOP_OK);
        if (hoop_comm_is_member(&comm)) {
            if (vector_is_rotated(rank, &comm) != 0 ||
                whole_turn_comes_home(rank, &comm) != 0)
                return 1;
        } else {
            struct pair pair;

            pair_fill(&pair, 1, 2);
            RANK_CHECK(hoop_ring_forward(&pair.tensor, &pair.tensor, &comm) ==
                       HOOP_OK);
        }
        comm_end(&comm);
    }
    return 0;
}

static int
body(struct rank *rank)
{
    if (vector_is_rotated(rank, rank->comm) != 0 ||
        whole_turn_comes_home(rank, rank->comm) != 0)
        return 1;
    /* Eight such processes only take longer. */
    if (rank->size <= 4 && large_tensor_is_rotated(rank) != 0)
        return 1;
    return some_ranks(rank);
}

int
main(void)
{
    return vectors_run(body);
}
