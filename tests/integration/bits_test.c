/*
 * tests/integration/bits_test.c - all ranks end with the same bits
 *
 * Sums of floats that no order of adding leaves alone, of every float type, from
 * a few elements to some frames for each pair of ranks, whatever the path
 * (path.h) makes of them on their way: every rank's result of an allreduce, an
 * allgather and a broadcast has one digest, and so has the next call with the same
 * operands.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "check.h"
#include "ranks.h"
#include "reference.h"

/* Around where floats begin to lose bits, if they may, and above frames. */
#if defined(__SANITIZE_THREAD__)
static const size_t counts[] = {1, 7, 1000, 4099, 100003};
#else
static const size_t counts[] = {1, 7, 1000, 4099, 65537, 400003};
#endif

static const enum hoop_dtype dtypes[] = {HOOP_FLOAT32, HOOP_FLOAT64,
                                         HOOP_FLOAT16, HOOP_BFLOAT16};

/* What every rank says here must be one. */
static int
require_alike(struct rank *rank, uint64_t mine)
{
    uint64_t all[RANKS_MAX];

    RANK_CHECK(hoop_allgather(&mine, all, 1, HOOP_UINT64, rank->comm) ==
               HOOP_OK);
    for (uint32_t s = 0; s < rank->size; s++)
        RANK_CHECK(all[s] == mine);
    return 0;
}

struct operands {
    enum hoop_dtype dtype;
    size_t count;
    const uint8_t *send;
    uint8_t *recv; /* room for all ranks' */
};

static enum hoop_status
call(const struct operands *operands, unsigned which, hoop_comm_t *comm)
{
    const enum hoop_dtype dtype = operands->dtype;
    const size_t count = operands->count;

    if (which == 0)
        return hoop_allreduce(operands->send, operands->recv, count, dtype,
                              HOOP_SUM, comm);
    if (which == 1)
        return hoop_allgather(operands->send, operands->recv, count, dtype,
                              comm);
    return hoop_broadcast(hoop_comm_rank(comm) == 0 ? operands->send : NULL,
                          operands->recv, count, dtype, 0, comm);
}

/* Twice: one of two calls may find a table, or memory, that the other makes. */
static int
calls_agree(struct rank *rank, const struct operands *operands)
{
    const size_t n_bytes = operands->count * hoop_dtype_size(operands->dtype);

    for (unsigned which = 0; which < 3; which++) {
        const size_t n = which == 1 ? n_bytes * rank->size : n_bytes;
        uint64_t seen = 0;

        for (unsigned i = 0; i < 2; i++) {
            memset(operands->recv, 0, n);
            RANK_CHECK(call(operands, which, rank->comm) == HOOP_OK);
            const uint64_t now = digest_bytes(operands->recv, n);
            RANK_CHECK(i == 0 || now == seen);
            seen = now;
        }
        if (require_alike(rank, seen) != 0) {
            fprintf(stderr, "call %u of %zu %s\n", which, operands->count,
                    hoop_dtype_name(operands->dtype));
            return 1;
        }
    }
    return 0;
}

static int
body(struct rank *rank)
{
    for (size_t i = 0; i < COUNT_OF(dtypes); i++) {
        for (size_t c = 0; c < COUNT_OF(counts); c++) {
            const size_t n_bytes = counts[c] * hoop_dtype_size(dtypes[i]);
            CLEANUP(free) uint8_t *send = malloc(n_bytes);
            CLEANUP(free) uint8_t *recv = malloc(n_bytes * rank->size);

            RANK_CHECK(send && recv);
            reference_fill(send, dtypes[i], counts[c], 1000 * i + rank->rank);
            RANK_CHECK(calls_agree(rank, &(struct operands){
                                             .dtype = dtypes[i],
                                             .count = counts[c],
                                             .send = send,
                                             .recv = recv,
                                         }) == 0);
        }
    }
    return 0;
}

static void
all_ranks_end_with_the_same_bits(void **state)
{
    static const uint32_t sizes[] = {2, 3, 4, 8};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        assert_int_equal(ranks_run_all(sizes[i], body), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ranks_end_with_the_same_bits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
