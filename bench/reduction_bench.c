/*
 * bench/reduction_bench.c - compares the speed of reductions with memcpy
 *
 * Prints one table for each level of the memory. A cell is the bytes of results
 * per second, divided by the bytes that memcpy copies per second between
 * buffers of the same size. Reductions work in place (out is the left operand),
 * as the executor calls them, and touch half as many bytes again as a copy. The
 * argument is the set of kernels (plain, avx2, avx512); the default is the set
 * that hoop uses on this processor.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dtype/dtype.h"
#include "dtype/reduction.h"

enum {
    BENCH_TURN_BYTES = 2 * 1024 * 1024, /* between two clock readings */
    BENCH_TURNS = 30,                   /* the fastest turn counts */
    BENCH_TURNS_LARGE = 4,
    BENCH_ROOM = 256, /* so that the buffers differ modulo 4096 */
    BENCH_RANKS = 3,  /* division by a power of two is multiplication */
};

static const struct place {
    const char *name;
    size_t n_bytes; /* size of each of the two buffers */
} places[] = {
    {"L1", 8 * 1024},
    {"L2", 256 * 1024},
    {"L3", 4 * 1024 * 1024},
    {"DRAM", 64 * 1024 * 1024},
};

struct bench {
    size_t n_bytes;
    char *out;
    char *right;
    enum reduction_level level;
};

typedef void
bench_fn(const struct bench *bench,
         enum hoop_dtype dtype,
         enum hoop_reduce_op op);

static const char *const level_names[] = {
    [REDUCTION_PLAIN] = "plain",
    [REDUCTION_AVX2] = "avx2",
    [REDUCTION_AVX512] = "avx512",
};

static void
copy(const struct bench *bench, enum hoop_dtype dtype, enum hoop_reduce_op op)
{
    (void)dtype;
    (void)op;
    memcpy(bench->out, bench->right, bench->n_bytes);
}

static void
combine(const struct bench *bench,
        enum hoop_dtype dtype,
        enum hoop_reduce_op op)
{
    reduction_find_at(bench->level, dtype,
                      op)(bench->out, bench->out, bench->right,
                          bench->n_bytes / dtype_size(dtype));
}

static void
divide(const struct bench *bench, enum hoop_dtype dtype, enum hoop_reduce_op op)
{
    (void)op;
    division_find_at(bench->level, dtype)(
        bench->out, bench->n_bytes / dtype_size(dtype), BENCH_RANKS);
}

static double
bench_gb_per_s(const struct bench *bench,
               bench_fn *turn,
               enum hoop_dtype dtype,
               enum hoop_reduce_op op)
{
    const bool is_large = bench->n_bytes > BENCH_TURN_BYTES;
    const int n_turns = is_large ? BENCH_TURNS_LARGE : BENCH_TURNS;
    const size_t n_calls =
        is_large ? 1 : (size_t)BENCH_TURN_BYTES / bench->n_bytes;
    uint64_t best_ns = UINT64_MAX;

    /* All runs use the same numbers, and none grows into a NaN or a
     * subnormal. */
    memset(bench->out, 0x3c, bench->n_bytes);
    memset(bench->right, 0, bench->n_bytes);
    for (int i = 0; i < n_turns; i++) {
        const uint64_t start_ns = clock_now_ns();
        for (size_t call = 0; call < n_calls; call++)
            turn(bench, dtype, op);
        const uint64_t turn_ns = clock_now_ns() - start_ns;
        if (turn_ns < best_ns)
            best_ns = turn_ns;
    }
    return (double)(bench->n_bytes * n_calls) / (double)best_ns;
}

static void
bench_dtype(const struct bench *bench, enum hoop_dtype dtype, double copied)
{
    printf("| %s |", dtype_name(dtype));
    for (int i = 0; i < REDUCE_OP_COUNT; i++) {
        const enum hoop_reduce_op op = (enum hoop_reduce_op)i;

        if (strcmp(reduce_op_name(op), "unknown") == 0 || op == HOOP_AVG)
            continue;
        if (reduction_find_at(bench->level, dtype, op))
            printf(" %.2f |",
                   bench_gb_per_s(bench, combine, dtype, op) / copied);
        else
            printf(" |");
    }
    if (division_find_at(bench->level, dtype))
        printf(" %.2f |\n",
               bench_gb_per_s(bench, divide, dtype, HOOP_AVG) / copied);
    else
        printf(" |\n");
}

static void
bench_place(const struct bench *bench, const char *name)
{
    const double copied = bench_gb_per_s(bench, copy, HOOP_INT8, HOOP_SUM);

    printf("\n| %s, memcpy %.1f GB/s |", name, copied);
    for (int i = 0; i < REDUCE_OP_COUNT; i++) {
        const char *op = reduce_op_name((enum hoop_reduce_op)i);

        if (strcmp(op, "unknown") != 0 && i != HOOP_AVG)
            printf(" %s |", op);
    }
    printf(
        " avg's division |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
        bench_dtype(bench, (enum hoop_dtype)dtype, copied);
}

/* Returns false if there is no such level or this processor lacks it. */
static bool
level_read(const char *name, enum reduction_level *out_level)
{
    for (int i = 0; i <= (int)reduction_level_best(); i++) {
        if (strcmp(name, level_names[i]) != 0)
            continue;
        *out_level = (enum reduction_level)i;
        return true;
    }
    return false;
}

int
main(int argc, char **argv)
{
    struct bench bench = {.level = reduction_level_best()};
    const size_t n_most = places[COUNT_OF(places) - 1].n_bytes + BENCH_ROOM;
    CLEANUP(free) char *buffers = aligned_alloc(BENCH_ROOM, 2 * n_most);

    if (!buffers || (argc > 1 && !level_read(argv[1], &bench.level)))
        return EXIT_FAILURE;
    printf("kernels: %s\n", level_names[bench.level]);
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        bench.n_bytes = places[i].n_bytes;
        bench.out = buffers;
        bench.right = buffers + bench.n_bytes + BENCH_ROOM;
        bench_place(&bench, places[i].name);
    }
    return EXIT_SUCCESS;
}
