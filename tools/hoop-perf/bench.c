/*
 * hoop-perf/bench.c - measures one operation at one size, and checks its result
 *
 * Iterations run back to back after one barrier, and each is timed. The time of
 * an iteration is that of the slowest rank, which is found by hoop itself
 * afterwards.
 */

#include "hoop-perf/bench.h"

#include <stdlib.h>
#include <string.h>

enum {
    BUFFER_ALIGNMENT = 4096,
    POISON = 0xa5,
};

static bool
is_in_place(const struct bench *bench, const struct operation *operation)
{
    return bench->options->placement == PLACEMENT_IN_PLACE &&
           operation->works_in_place;
}

static bool
is_root(const struct bench *bench)
{
    return bench->rank == bench->options->root;
}

static bool
has_input(const struct bench *bench, const struct operation *operation)
{
    return operation->root != ROOT_PUTS_IN || is_root(bench);
}

static bool
has_output(const struct bench *bench, const struct operation *operation)
{
    return operation->root != ROOT_GETS_OUT || is_root(bench);
}

static size_t
larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* The sizes of the two buffers at the largest size, in elements. */
static void
bench_room(const struct bench *bench, size_t *out_n_send, size_t *out_n_recv)
{
    const struct options *options = bench->options;
    const size_t element_size = hoop_dtype_size(options->dtype);

    for (size_t i = 0; i < options->n_chosen; i++) {
        const struct operation *operation = options->chosen[i];
        const struct extent extent = operation_extent(
            operation, options->max_bytes, element_size, bench->n_ranks);

        if (is_in_place(bench, operation)) {
            *out_n_recv =
                larger(*out_n_recv, larger(extent.n_send, extent.n_receive));
            continue;
        }
        if (has_input(bench, operation))
            *out_n_send = larger(*out_n_send, extent.n_send);
        if (has_output(bench, operation))
            *out_n_recv = larger(*out_n_recv, extent.n_receive);
    }
}

static void *
buffer_create(size_t n_bytes)
{
    void *buffer = NULL;

    if (posix_memalign(&buffer, BUFFER_ALIGNMENT, larger(n_bytes, 1)) != 0)
        return NULL;
    /* Map the pages now, not in the first iteration. */
    memset(buffer, 0, n_bytes);
    return buffer;
}

enum hoop_status
bench_init(struct bench *bench,
           const struct options *options,
           hoop_comm_t *comm)
{
    const size_t element_size = hoop_dtype_size(options->dtype);
    size_t n_send = 0;
    size_t n_receive = 0;

    *bench = (struct bench){
        .options = options,
        .comm = comm,
        .rank = hoop_comm_rank(comm),
        .n_ranks = hoop_comm_size(comm),
        .times_us = calloc(options->n_iterations + 1, sizeof(double)),
        .period = calloc(1, sizeof(struct period)),
    };
    bench_room(bench, &n_send, &n_receive);
    bench->send = buffer_create(n_send * element_size);
    bench->receive = buffer_create(n_receive * element_size);
    if (!bench->send || !bench->receive || !bench->times_us || !bench->period)
        return HOOP_E_EXHAUSTED;
    return HOOP_OK;
}

void
bench_deinit(struct bench *bench)
{
    free(bench->send);
    free(bench->receive);
    free(bench->times_us);
    free(bench->period);
    *bench = (struct bench){0};
}

static struct call
call_make(const struct bench *bench,
          const struct operation *operation,
          const struct extent *extent)
{
    return (struct call){
        .send = is_in_place(bench, operation) ? HOOP_IN_PLACE : bench->send,
        .receive = bench->receive,
        .count = extent->count,
        .dtype = bench->options->dtype,
        .reduce_op = bench->options->reduce_op,
        .root = bench->options->root,
        .comm = bench->comm,
    };
}

static struct pattern
pattern_make(const struct bench *bench, const struct operation *operation)
{
    return (struct pattern){
        .use = operation_reduces(operation) ? PATTERN_REDUCED : PATTERN_MOVED,
        .dtype = bench->options->dtype,
        .reduce_op = bench->options->reduce_op,
        .n_ranks = bench->n_ranks,
    };
}

static void *
element_at(void *buffer, size_t index, enum hoop_dtype dtype)
{
    return (char *)buffer + index * hoop_dtype_size(dtype);
}

/* The position of this rank's block in a buffer, in elements. */
static size_t
own_place(const struct bench *bench,
          const struct operation *operation,
          const struct extent *extent)
{
    const bool has_all =
        operation->layout == LAYOUT_GATHER && has_output(bench, operation);

    return has_all ? bench->rank * extent->count : 0;
}

/* Fill the input by the pattern, and overwrite what a result must replace. */
static void
buffers_fill(struct bench *bench,
             const struct operation *operation,
             const struct extent *extent)
{
    const struct pattern pattern = pattern_make(bench, operation);
    void *input = bench->send;

    if (has_output(bench, operation))
        memset(bench->receive, POISON,
               extent->n_receive * hoop_dtype_size(pattern.dtype));
    if (!has_input(bench, operation))
        return;
    if (is_in_place(bench, operation))
        input = element_at(bench->receive, own_place(bench, operation, extent),
                           pattern.dtype);
    period_of_input(&pattern, bench->rank, bench->period);
    period_fill(bench->period, 0, extent->n_send, input);
}

/* Check one block from each rank, which begins at its element first. */
static size_t
blocks_count_wrong(struct bench *bench,
                   const struct pattern *pattern,
                   const struct extent *extent,
                   size_t first)
{
    size_t n_wrong = 0;

    for (uint32_t source = 0; source < bench->n_ranks; source++) {
        const void *block =
            element_at(bench->receive, source * extent->count, pattern->dtype);
        period_of_input(pattern, source, bench->period);
        n_wrong +=
            period_count_wrong(bench->period, first, extent->count, block);
    }
    return n_wrong;
}

/* The period from which the result comes. */
static void
result_period(struct bench *bench,
              const struct operation *operation,
              const struct pattern *pattern)
{
    const uint32_t previous =
        (bench->rank + bench->n_ranks - 1) % bench->n_ranks;

    switch (operation->result) {
    case RESULT_REDUCED:
        period_of_output(pattern, bench->period);
        break;
    case RESULT_PREFIX:
        period_of_prefix(pattern, bench->rank + 1, bench->period);
        break;
    case RESULT_BEFORE:
        period_of_prefix(pattern, bench->rank, bench->period);
        break;
    case RESULT_ROOTS:
        period_of_input(pattern, bench->options->root, bench->period);
        break;
    case RESULT_PREVIOUS:
        period_of_input(pattern, previous, bench->period);
        break;
    case RESULT_GATHERED:
    case RESULT_EXCHANGED:
    case RESULT_NONE:
        break;
    }
}

static size_t
result_count_wrong(struct bench *bench,
                   const struct operation *operation,
                   const struct extent *extent)
{
    const struct pattern pattern = pattern_make(bench, operation);
    const size_t mine = bench->rank * extent->count;
    const bool has_share = operation->layout == LAYOUT_SCATTER;
    size_t place = 0;

    if (!has_output(bench, operation) || extent->n_receive == 0)
        return 0;
    if (operation->result == RESULT_GATHERED)
        return blocks_count_wrong(bench, &pattern, extent, 0);
    if (operation->result == RESULT_EXCHANGED)
        return blocks_count_wrong(bench, &pattern, extent, mine);
    if (operation->result == RESULT_BEFORE && bench->rank == 0)
        return 0;
    /* A root that scatters in place keeps its block in place. */
    if (has_share && operation->root == ROOT_PUTS_IN && is_root(bench) &&
        is_in_place(bench, operation))
        place = mine;
    result_period(bench, operation, &pattern);
    return period_count_wrong(bench->period, has_share ? mine : 0,
                              extent->n_receive,
                              element_at(bench->receive, place, pattern.dtype));
}

static void
wrong_inject(struct bench *bench, const struct extent *extent)
{
    const struct injection *injection = &bench->options->injection;

    if (!injection->is_wanted || injection->rank != bench->rank ||
        injection->index >= extent->n_receive)
        return;
    unsigned char *element =
        element_at(bench->receive, injection->index, bench->options->dtype);
    *element ^= 1;
}

enum hoop_status
bench_check(struct bench *bench,
            const struct operation *operation,
            const struct extent *extent,
            int64_t *out_n_wrong)
{
    const struct call call = call_make(bench, operation, extent);

    buffers_fill(bench, operation, extent);
    const enum hoop_status status = operation->run(&call);
    if (status != HOOP_OK)
        return status;
    if (has_output(bench, operation))
        wrong_inject(bench, extent);

    const int64_t mine = (int64_t)result_count_wrong(bench, operation, extent);
    return hoop_allreduce(&mine, out_n_wrong, 1, HOOP_INT64, HOOP_SUM,
                          bench->comm);
}

static enum hoop_status
bench_time(struct bench *bench,
           const struct operation *operation,
           const struct extent *extent)
{
    const struct call call = call_make(bench, operation, extent);
    const size_t n_iterations = bench->options->n_iterations;

    buffers_fill(bench, operation, extent);
    for (size_t i = 0; i < bench->options->n_warmups; i++) {
        const enum hoop_status status = operation->run(&call);
        if (status != HOOP_OK)
            return status;
    }
    const enum hoop_status ready = hoop_barrier(bench->comm);
    if (ready != HOOP_OK)
        return ready;

    const double begin_us = timing_now_us();
    double before_us = begin_us;
    for (size_t i = 0; i < n_iterations; i++) {
        const enum hoop_status status = operation->run(&call);
        if (status != HOOP_OK)
            return status;
        const double after_us = timing_now_us();
        bench->times_us[i] = after_us - before_us;
        before_us = after_us;
    }
    bench->times_us[n_iterations] = before_us - begin_us;
    return hoop_allreduce(HOOP_IN_PLACE, bench->times_us, n_iterations + 1,
                          HOOP_FLOAT64, HOOP_MAX, bench->comm);
}

enum hoop_status
bench_round(struct bench *bench,
            const struct operation *operation,
            const struct extent *extent,
            double *out_us)
{
    const struct call call = call_make(bench, operation, extent);
    const size_t n_iterations = bench->options->n_iterations;

    const bool is_ready = bench->is_warm && bench->options->n_warmups == 0;
    double total_us = 0;

    enum hoop_status status = is_ready ? HOOP_OK : operation->run(&call);
    for (size_t i = 0; i < n_iterations && status == HOOP_OK; i++) {
        status = hoop_barrier(bench->comm);
        const double begin_us = timing_now_us();
        if (status == HOOP_OK)
            status = operation->run(&call);
        total_us += timing_now_us() - begin_us;
    }
    *out_us = total_us / (double)n_iterations;
    return status;
}

enum hoop_status
bench_measure(struct bench *bench,
              const struct operation *operation,
              const struct extent *extent,
              struct measurement *out_measurement)
{
    const size_t n_iterations = bench->options->n_iterations;
    struct measurement measurement = {
        .n_wrong = -1,
        .algorithm =
            hoop_comm_algorithm(bench->comm, operation->name, extent->n_bytes),
    };

    enum hoop_status status = bench_time(bench, operation, extent);
    if (status != HOOP_OK)
        return status;
    measurement.timing =
        timing_of(bench->times_us, n_iterations, bench->times_us[n_iterations]);
    if (bench->options->has_check) {
        status = bench_check(bench, operation, extent, &measurement.n_wrong);
        if (status != HOOP_OK)
            return status;
    }
    *out_measurement = measurement;
    return HOOP_OK;
}
