/*
 * bench/reduction_bench.c - how fast reductions run out of the L2 cache
 *
 * GB/s of results, in place (out is left, as the ring combines) and into a
 * third buffer, next to memcpy of as many bytes. Argument: bytes per buffer.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "dtype/dtype.h"
#include "dtype/reduction.h"

enum {
    BENCH_BYTES = 128 * 1024,
    BENCH_TURNS = 200, /* of which the fastest counts */
    BENCH_ROOM = 256,  /* keeps the buffers from one offset modulo 4096 */
    BENCH_RANKS = 3,
};

struct bench {
    size_t n_bytes;
    char *left;
    char *right;
    char *out;
};

typedef void
bench_fn(const struct bench *bench,
         enum reduction_level level,
         enum hoop_dtype dtype,
         enum hoop_reduce_op op);

static const char *const level_names[] = {
    [REDUCTION_PLAIN] = "plain",
    [REDUCTION_AVX2] = "avx2",
    [REDUCTION_AVX512] = "avx512",
};

static void
copy(const struct bench *bench,
     enum reduction_level level,
     enum hoop_dtype dtype,
     enum hoop_reduce_op op)
{
    (void)level;
    (void)dtype;
    (void)op;
    memcpy(bench->out, bench->left, bench->n_bytes);
}

static void
combine_apart(const struct bench *bench,
              enum reduction_level level,
              enum hoop_dtype dtype,
              enum hoop_reduce_op op)
{
    reduction_find_at(level, dtype, op)(bench->out, bench->left, bench->right,
                                        bench->n_bytes / dtype_size(dtype));
}

static void
combine_in_place(const struct bench *bench,
                 enum reduction_level level,
                 enum hoop_dtype dtype,
                 enum hoop_reduce_op op)
{
    reduction_find_at(level, dtype, op)(bench->out, bench->out, bench->right,
                                        bench->n_bytes / dtype_size(dtype));
}

static void
divide(const struct bench *bench,
       enum reduction_level level,
       enum hoop_dtype dtype,
       enum hoop_reduce_op op)
{
    (void)op;
    division_find_at(level, dtype)(
        bench->out, bench->n_bytes / dtype_size(dtype), BENCH_RANKS);
}

static double
bench_gb_per_s(const struct bench *bench,
               bench_fn *turn,
               enum reduction_level level,
               enum hoop_dtype dtype,
               enum hoop_reduce_op op)
{
    uint64_t best_ns = UINT64_MAX;

    /* The same numbers in every run: none grows into a NaN or subnormal. */
    memset(bench->left, 0x3c, bench->n_bytes);
    memset(bench->right, 0, bench->n_bytes);
    memset(bench->out, 0x3c, bench->n_bytes);
    for (int i = 0; i < BENCH_TURNS; i++) {
        const uint64_t start_ns = clock_now_ns();
        turn(bench, level, dtype, op);
        const uint64_t turn_ns = clock_now_ns() - start_ns;
        if (turn_ns < best_ns)
            best_ns = turn_ns;
    }
    return (double)bench->n_bytes / (double)(best_ns > 0 ? best_ns : 1);
}

static void
bench_dtype(const struct bench *bench,
            enum reduction_level level,
            enum hoop_dtype dtype)
{
    for (int i = 0; i < REDUCE_OP_COUNT; i++) {
        const enum hoop_reduce_op op = (enum hoop_reduce_op)i;

        if (!reduction_find_at(level, dtype, op) || op == HOOP_AVG)
            continue;
        printf("%-7s %-10s %-8s %9.1f %9.1f\n", level_names[level],
               dtype_name(dtype), reduce_op_name(op),
               bench_gb_per_s(bench, combine_in_place, level, dtype, op),
               bench_gb_per_s(bench, combine_apart, level, dtype, op));
    }
    if (division_find_at(level, dtype))
        printf("%-7s %-10s %-8s %9.1f\n", level_names[level], dtype_name(dtype),
               "divide", bench_gb_per_s(bench, divide, level, dtype, HOOP_AVG));
}

int
main(int argc, char **argv)
{
    const size_t n_bytes =
        argc > 1 ? strtoull(argv[1], NULL, 10) : (size_t)BENCH_BYTES;
    const size_t n_apart = n_bytes + BENCH_ROOM;
    CLEANUP(free) char *buffers = malloc(3 * n_apart);

    if (!buffers || n_bytes == 0)
        return EXIT_FAILURE;

    const struct bench bench = {
        .n_bytes = n_bytes,
        .left = buffers,
        .right = buffers + n_apart,
        .out = buffers + 2 * n_apart,
    };
    printf("%-7s %-10s %-8s %9s %9s   GB/s, %zu bytes\n", "level", "dtype",
           "op", "in place", "apart", n_bytes);
    printf("%-7s %-10s %-8s %9s %9.1f\n", "", "memcpy", "", "",
           bench_gb_per_s(&bench, copy, REDUCTION_PLAIN, HOOP_INT8, HOOP_SUM));
    for (int level = 0; level <= (int)reduction_level_best(); level++)
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++)
            bench_dtype(&bench, (enum reduction_level)level,
                        (enum hoop_dtype)dtype);
    return EXIT_SUCCESS;
}
