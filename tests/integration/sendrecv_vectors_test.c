/* tests/integration/sendrecv_vectors_test.c - hoop_sendrecv(), and send, recv */

#include <stdlib.h>

#include "vectors.h"

/* By one rank, of so much that nobody's send ends before its receive begins;
 * alone it is a message to oneself. */
static int
rotate(struct rank *rank, size_t count)
{
    const uint32_t next = (rank->rank + 1) % rank->size;
    const uint32_t prev = (rank->rank + rank->size - 1) % rank->size;
    int32_t *mine = malloc(count * sizeof(*mine) + 1);
    int32_t *theirs = malloc(count * sizeof(*theirs) + 1);
    const struct hoop_message out = {.kind = HOOP_SEND,
                                     .buffer = mine,
                                     .count = count,
                                     .dtype = HOOP_INT32,
                                     .peer = next,
                                     .tag = 7};
    const struct hoop_message in = {.kind = HOOP_RECV,
                                    .buffer = theirs,
                                    .count = count,
                                    .dtype = HOOP_INT32,
                                    .peer = count % 2 ? prev : HOOP_ANY_SOURCE,
                                    .tag = 7};
    struct hoop_received received = {99, 99};
    hoop_op_t *op = NULL;

    for (size_t i = 0; i < count; i++)
        mine[i] = (int32_t)(rank->rank * 1000 + i % 997);
    RANK_CHECK(hoop_sendrecv(&out, &in, rank->comm, &received) == HOOP_OK);
    RANK_CHECK(received.source == prev && received.count == count);
    for (size_t i = 0; i < count; i++)
        RANK_CHECK(theirs[i] == (int32_t)(prev * 1000 + i % 997));
    RANK_CHECK(
        vector_finish(hoop_sendrecv_start(&out, &in, rank->comm, NULL, &op),
                      &op) == HOOP_OK);
    RANK_CHECK(count == 0 ||
               theirs[count - 1] == (int32_t)(prev * 1000 + (count - 1) % 997));
    free(mine);
    free(theirs);
    return 0;
}

static int
body(struct rank *rank)
{
    static const size_t counts[] = {0, 1, 2, 16383, 65536, 1000001};

    for (size_t i = 0; i < COUNT_OF(counts); i++)
        RANK_CHECK(rotate(rank, counts[i]) == 0);
    return 0;
}

int
main(void)
{
    return vectors_run(body);
}
