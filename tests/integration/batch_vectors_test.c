/* tests/integration/batch_vectors_test.c - hoop_batch(): all pairs at once */

#include "vectors.h"

static struct hoop_message
message(enum hoop_message_kind kind, int64_t *at, uint32_t peer)
{
    return (struct hoop_message){
        .kind = kind,
        .buffer = at,
        .count = 2,
        .dtype = HOOP_INT64,
        .peer = peer,
        .tag = 3,
    };
}

/* Two messages to each rank, oneself included: the all-to-all by hand. */
static int
body(struct rank *rank)
{
    const uint32_t n = rank->size;
    struct vector mine = vector_ramp(rank->rank, n);
    struct vector recv = vector_empty();
    struct vector expected = vector_empty();
    struct hoop_message messages[VECTOR_MAX];
    hoop_op_t *ops[VECTOR_MAX];

    for (uint32_t s = 0; s < n; s++) {
        messages[s] = message(HOOP_RECV, recv.at + 2 * s, s);
        messages[n + s] = message(HOOP_SEND, mine.at + 2 * s, s);
        expected.at[2 * s] = 10 * (int64_t)s + 2 * (int64_t)rank->rank;
        expected.at[2 * s + 1] = expected.at[2 * s] + 1;
    }
    RANK_CHECK(hoop_batch(messages, 2 * (size_t)n, rank->comm) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &expected));
    recv = vector_empty();
    RANK_CHECK(hoop_batch_start(messages, 2 * (size_t)n, rank->comm, ops) ==
               HOOP_OK);
    RANK_CHECK(hoop_wait(ops[n - 1], HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(recv.at[2 * n - 1] == expected.at[2 * n - 1]);
    ops[n - 1] = NULL;
    RANK_CHECK(hoop_wait_all(ops, 2 * (size_t)n, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(vector_equal(&recv, &expected));
    return 0;
}

int
main(void)
{
    return vectors_run(body);
}
