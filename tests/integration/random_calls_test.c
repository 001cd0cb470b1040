/*
 * tests/integration/random_calls_test.c - seeded calls against plain loops
 *
 * Every collective with every type, operator, root and count that chance
 * picks, in place or not, even or not. All ranks draw the same and make all
 * ranks' inputs themselves; where an element of a result must come from is said
 * once, from the definition. HOOP_TEST_SEED repeats a run.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "ranks.h"
#include "reference.h"

enum {
    COUNT_MAX = 4097,
    SIZE_MAX_RANKS = 8,
    N_CASES = 500,
    GUARD_BYTES = 64,
};

enum kind {
    KIND_ALLREDUCE,
    KIND_REDUCE,
    KIND_BROADCAST,
    KIND_ALLGATHER,
    KIND_GATHER,
    KIND_SCATTER,
    KIND_REDUCE_SCATTER,
    KIND_ALLTOALL,
    KIND_SCAN,
    KIND_EXSCAN,
    KINDS,
};

static const char *const names[KINDS] = {
    "allreduce", "reduce",         "broadcast", "allgather", "gather",
    "scatter",   "reduce_scatter", "alltoall",  "scan",      "exscan",
};

/* One call, the same on all ranks. counts[s] are rank s's; of an all-to-all,
 * pair[s][r] go from s to r. */
struct draw {
    enum kind kind;
    enum hoop_dtype dtype;
    enum hoop_reduce_op op;
    uint32_t size;
    uint32_t root;
    bool is_in_place;
    bool is_even;
    size_t element_size;
    size_t count;
    size_t counts[SIZE_MAX_RANKS];
    size_t pairs[SIZE_MAX_RANKS][SIZE_MAX_RANKS];
    void *inputs[SIZE_MAX_RANKS];
};

static size_t
below(uint64_t *seed, size_t bound)
{
    return (size_t)(reference_random(seed) % bound);
}

/* Small ones more often: every bit length is as likely. */
static size_t
draw_count(uint64_t *seed, size_t bound)
{
    const size_t n = below(seed, (size_t)1 << below(seed, 14));

    return n > bound ? bound : n;
}

static void
draw_operator(struct draw *draw, uint64_t *seed)
{
    static const enum hoop_reduce_op ops[] = {
        HOOP_SUM, HOOP_PRODUCT, HOOP_MIN,  HOOP_MAX,
        HOOP_BOR, HOOP_BAND,    HOOP_BXOR, HOOP_AVG};
    const bool is_prefix = draw->kind == KIND_SCAN || draw->kind == KIND_EXSCAN;

    do {
        draw->dtype = (enum hoop_dtype)below(seed, HOOP_BOOL + 1);
        draw->op = ops[below(seed, COUNT_OF(ops))];
    } while (!reference_is_defined(draw->dtype, draw->op) ||
             (is_prefix && draw->op == HOOP_AVG));
    draw->element_size = hoop_dtype_size(draw->dtype);
}

static void
draw_counts(struct draw *draw, uint64_t *seed)
{
    draw->count = draw_count(seed, COUNT_MAX);
    for (uint32_t s = 0; s < draw->size; s++) {
        draw->counts[s] =
            draw->is_even ? draw->count : draw_count(seed, COUNT_MAX);
        for (uint32_t r = 0; r < draw->size; r++)
            draw->pairs[s][r] =
                draw->is_even ? draw->count : draw_count(seed, COUNT_MAX);
    }
}

static size_t
sum_of(const size_t *counts, uint32_t n)
{
    size_t sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += counts[i];
    return sum;
}

/* Elements that rank gives. */
static size_t
n_given(const struct draw *draw, uint32_t rank)
{
    switch (draw->kind) {
    case KIND_ALLREDUCE:
    case KIND_REDUCE:
    case KIND_SCAN:
    case KIND_EXSCAN:
    case KIND_BROADCAST:
        return draw->count;
    case KIND_ALLGATHER:
    case KIND_GATHER:
        return draw->counts[rank];
    case KIND_SCATTER:
    case KIND_REDUCE_SCATTER:
        return sum_of(draw->counts, draw->size);
    case KIND_ALLTOALL:
        return sum_of(draw->pairs[rank], draw->size);
    case KINDS:
        break;
    }
    return 0;
}

static void
draw_make(struct draw *draw, uint32_t size, uint64_t seed)
{
    memset(draw, 0, sizeof(*draw));
    draw->size = size;
    draw->kind = (enum kind)below(&seed, KINDS);
    draw->root = (uint32_t)below(&seed, size);
    draw->is_in_place = below(&seed, 2);
    draw->is_even = below(&seed, 2);
    draw_operator(draw, &seed);
    draw_counts(draw, &seed);
    for (uint32_t s = 0; s < size; s++) {
        const size_t n = n_given(draw, s);

        draw->inputs[s] = malloc(n * draw->element_size + 1);
        reference_fill(draw->inputs[s], draw->dtype, n, seed + s);
    }
}

static void
draw_free(struct draw *draw)
{
    for (uint32_t s = 0; s < draw->size; s++)
        free(draw->inputs[s]);
}

/* Where an element of a result comes from: one rank, or the first n_ranks
 * reduced. n_ranks 0: from nowhere, it stays. */
struct origin {
    uint32_t n_ranks;
    bool is_reduced;
    uint32_t rank;
    size_t index;
};

/* Element i of blocks of these counts, from all ranks. */
static struct origin
of_blocks(const size_t *counts, uint32_t n, size_t i)
{
    for (uint32_t s = 0; s < n; s++) {
        if (i < counts[s])
            return (struct origin){1, false, s, i};
        i -= counts[s];
    }
    return (struct origin){0};
}

static struct origin
of_pairs(const struct draw *draw, uint32_t rank, size_t i)
{
    size_t coming[SIZE_MAX_RANKS];

    for (uint32_t s = 0; s < draw->size; s++)
        coming[s] = draw->pairs[s][rank];
    struct origin origin = of_blocks(coming, draw->size, i);
    if (origin.n_ranks > 0)
        origin.index += sum_of(draw->pairs[origin.rank], rank);
    return origin;
}

static struct origin
reduced(uint32_t n_ranks, size_t index, size_t n)
{
    return (struct origin){index < n ? n_ranks : 0, true, 0, index};
}

/* From the definitions in hoop/coll.h. */
static struct origin
origin_of(const struct draw *draw, uint32_t rank, size_t i)
{
    const struct origin nowhere = {0};
    const size_t first = sum_of(draw->counts, rank);
    const bool is_mine = i < draw->counts[rank];

    switch (draw->kind) {
    case KIND_REDUCE:
        return rank == draw->root ? reduced(draw->size, i, draw->count)
                                  : nowhere;
    case KIND_ALLREDUCE:
        return reduced(draw->size, i, draw->count);
    case KIND_SCAN:
        return reduced(rank + 1, i, draw->count);
    case KIND_EXSCAN:
        return reduced(rank, i, draw->count);
    case KIND_BROADCAST:
        return (struct origin){i < draw->count, false, draw->root, i};
    case KIND_GATHER:
        if (rank != draw->root)
            return nowhere;
        return of_blocks(draw->counts, draw->size, i);
    case KIND_ALLGATHER:
        return of_blocks(draw->counts, draw->size, i);
    case KIND_SCATTER:
        if (draw->is_in_place && rank == draw->root)
            return nowhere;
        return (struct origin){is_mine, false, draw->root, first + i};
    case KIND_REDUCE_SCATTER:
        return is_mine ? reduced(draw->size, first + i, SIZE_MAX) : nowhere;
    case KIND_ALLTOALL:
        return of_pairs(draw, rank, i);
    case KINDS:
        break;
    }
    return nowhere;
}

/* Where a rank's own input lies in place, in elements. */
static size_t
place_of(const struct draw *draw, uint32_t rank)
{
    if (draw->kind == KIND_ALLGATHER ||
        (draw->kind == KIND_GATHER && rank == draw->root))
        return sum_of(draw->counts, rank);
    return 0;
}

static bool
has_input(const struct draw *draw, uint32_t rank)
{
    return rank == draw->root ||
           (draw->kind != KIND_BROADCAST && draw->kind != KIND_SCATTER);
}

static enum hoop_status
start_even(const struct draw *draw,
           const void *send,
           void *recv,
           hoop_comm_t *comm,
           hoop_op_t **op)
{
    const enum hoop_dtype dtype = draw->dtype;
    const size_t count = draw->count;

    switch (draw->kind) {
    case KIND_ALLREDUCE:
        return hoop_allreduce_start(send, recv, count, dtype, draw->op, comm,
                                    op);
    case KIND_REDUCE:
        return hoop_reduce_start(send, recv, count, dtype, draw->op, draw->root,
                                 comm, op);
    case KIND_BROADCAST:
        return hoop_broadcast_start(send, recv, count, dtype, draw->root, comm,
                                    op);
    case KIND_ALLGATHER:
        return hoop_allgather_start(send, recv, count, dtype, comm, op);
    case KIND_GATHER:
        return hoop_gather_start(send, recv, count, dtype, draw->root, comm,
                                 op);
    case KIND_SCATTER:
        return hoop_scatter_start(send, recv, count, dtype, draw->root, comm,
                                  op);
    case KIND_REDUCE_SCATTER:
        return hoop_reduce_scatter_start(send, recv, count, dtype, draw->op,
                                         comm, op);
    case KIND_ALLTOALL:
        return hoop_alltoall_start(send, recv, count, dtype, comm, op);
    case KIND_SCAN:
        return hoop_scan_start(send, recv, count, dtype, draw->op, comm, op);
    case KIND_EXSCAN:
        return hoop_exscan_start(send, recv, count, dtype, draw->op, comm, op);
    case KINDS:
        break;
    }
    return HOOP_E_INVALID;
}

/* Those that have no uneven form are the same in both. */
static enum hoop_status
start(const struct draw *draw,
      const void *send,
      void *recv,
      hoop_comm_t *comm,
      hoop_op_t **op)
{
    const uint32_t rank = hoop_comm_rank(comm);
    const enum hoop_dtype dtype = draw->dtype;
    const size_t *counts = draw->counts;
    size_t coming[SIZE_MAX_RANKS];

    if (draw->is_even)
        return start_even(draw, send, recv, comm, op);
    if (draw->kind == KIND_ALLGATHER)
        return hoop_allgatherv_start(send, recv, counts, dtype, comm, op);
    if (draw->kind == KIND_GATHER)
        return hoop_gatherv_start(send, recv, counts, dtype, draw->root, comm,
                                  op);
    if (draw->kind == KIND_SCATTER)
        return hoop_scatterv_start(send, recv, counts, dtype, draw->root, comm,
                                   op);
    if (draw->kind == KIND_REDUCE_SCATTER)
        return hoop_reduce_scatterv_start(send, recv, counts, dtype, draw->op,
                                          comm, op);
    if (draw->kind != KIND_ALLTOALL)
        return start_even(draw, send, recv, comm, op);
    for (uint32_t s = 0; s < draw->size; s++)
        coming[s] = draw->pairs[s][rank];
    return hoop_alltoallv_start(send, draw->pairs[rank], recv, coming, dtype,
                                comm, op);
}

/* Every element, and that nothing else has changed. */
static bool
is_right(const struct draw *draw,
         uint32_t rank,
         const uint8_t *before,
         const uint8_t *after,
         size_t n)
{
    const size_t size = draw->element_size;
    const bool keeps_rest = draw->kind != KIND_ALLTOALL || !draw->is_in_place;
    struct reference reference = {
        .dtype = draw->dtype,
        .op = draw->op,
        .inputs = (const void *const *)draw->inputs,
    };
    bool is_equal = true;

    for (size_t i = 0; i < n && is_equal; i++) {
        const struct origin from = origin_of(draw, rank, i);
        const uint8_t *given = draw->inputs[from.rank];

        reference.n_inputs = from.n_ranks;
        if (from.n_ranks == 0)
            is_equal = !keeps_rest ||
                       memcmp(after + i * size, before + i * size, size) == 0;
        else if (from.is_reduced)
            is_equal =
                reference_allows(&reference, from.index, after + i * size);
        else
            is_equal =
                memcmp(after + i * size, given + from.index * size, size) == 0;
    }
    return is_equal &&
           memcmp(before + n * size, after + n * size, GUARD_BYTES) == 0;
}

/* FNV-1a of a result: the same on all ranks? */
static bool
is_same_everywhere(const struct rank *rank, const uint8_t *bytes, size_t n)
{
    uint64_t least = 0xcbf29ce484222325u;

    for (size_t i = 0; i < n; i++)
        least = (least ^ bytes[i]) * 0x100000001b3u;
    uint64_t most = least;
    return hoop_allreduce(HOOP_IN_PLACE, &least, 1, HOOP_UINT64, HOOP_MIN,
                          rank->comm) == HOOP_OK &&
           hoop_allreduce(HOOP_IN_PLACE, &most, 1, HOOP_UINT64, HOOP_MAX,
                          rank->comm) == HOOP_OK &&
           least == most;
}

/* More than any of its buffers holds. */
static size_t
capacity_of(const struct draw *draw, uint32_t rank)
{
    size_t n = draw->count + sum_of(draw->counts, draw->size) +
               sum_of(draw->pairs[rank], draw->size);

    for (uint32_t s = 0; s < draw->size; s++)
        n += draw->pairs[s][rank];
    return n;
}

static int
one_call(struct rank *rank, const struct draw *draw)
{
    const size_t size = draw->element_size;
    const size_t n = capacity_of(draw, rank->rank);
    const size_t n_bytes = n * size + GUARD_BYTES;
    CLEANUP(free) uint8_t *before = malloc(n_bytes);
    CLEANUP(free) uint8_t *after = malloc(n_bytes);
    hoop_op_t *op = NULL;

    RANK_CHECK(before && after);
    memset(before, 0xa5, n_bytes);
    if (draw->is_in_place && has_input(draw, rank->rank))
        memcpy(before + place_of(draw, rank->rank) * size,
               draw->inputs[rank->rank], n_given(draw, rank->rank) * size);
    memcpy(after, before, n_bytes);
    const void *send =
        draw->is_in_place ? HOOP_IN_PLACE : draw->inputs[rank->rank];
    RANK_CHECK(start(draw, send, after, rank->comm, &op) == HOOP_OK);
    RANK_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(is_right(draw, rank->rank, before, after, n));
    RANK_CHECK(draw->kind != KIND_ALLREDUCE ||
               is_same_everywhere(rank, after, draw->count * size));
    return 0;
}

static uint64_t
first_seed(void)
{
    const char *given = getenv("HOOP_TEST_SEED");

    return given ? strtoull(given, NULL, 0) : 20260901;
}

static int
body(struct rank *rank)
{
    uint64_t seed = first_seed();

    for (unsigned i = 0; i < N_CASES; i++) {
        struct draw draw;

        draw_make(&draw, rank->size, reference_random(&seed));
        const int result = one_call(rank, &draw);
        if (result != 0)
            fprintf(stderr,
                    "HOOP_TEST_SEED=%" PRIu64 ", call %u of %u ranks: %s%s "
                    "(%s, %s, root %u, %zu elements%s)\n",
                    first_seed(), i, rank->size, names[draw.kind],
                    draw.is_even ? "" : "v", hoop_dtype_name(draw.dtype),
                    hoop_reduce_op_name(draw.op), draw.root, draw.count,
                    draw.is_in_place ? ", in place" : "");
        draw_free(&draw);
        RANK_CHECK(result == 0);
    }
    return 0;
}

static void
every_call_gives_what_plain_loops_give(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 8};

    (void)state;
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        assert_int_equal(ranks_run_all(sizes[i], body), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_gives_what_plain_loops_give),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
