/* select/benchmark.c - measures all algorithms when a world forms */

#include "select/benchmark.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "algorithms/algorithms.h"
#include "algorithms/registry.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "base/log.h"
#include "select/samples.h"

enum {
    ELEMENT_BYTES = 4,
    GRANULE_BYTES = 64,
    /* The measured runs, of which the median is used; one more run before them
     * is not measured. */
    BENCHMARK_REPETITIONS = 3,
    BENCHMARK_BYTES_MAX = 2 << 20,
    /* The size at which reading each other's memory is measured. */
    CMA_BENCHMARK_BYTES = 512 << 10,
};

/* Reading each other's memory must take less than this fraction of the time. */
static const double CMA_MAX_TIME_RATIO = 0.87;

/* Each stands for the sizes around it: select/samples.c. */
static const size_t sizes[] = {256, 4096, 32768, 256 << 10,
                               BENCHMARK_BYTES_MAX};

static const enum call_name names[COLLECTIVE_KINDS] = {
    [COLLECTIVE_ALLREDUCE] = CALL_ALLREDUCE,
    [COLLECTIVE_REDUCE] = CALL_REDUCE,
    [COLLECTIVE_BROADCAST] = CALL_BROADCAST,
    [COLLECTIVE_ALLGATHER] = CALL_ALLGATHER,
    [COLLECTIVE_REDUCE_SCATTER] = CALL_REDUCE_SCATTER,
    [COLLECTIVE_GATHER] = CALL_GATHER,
    [COLLECTIVE_SCATTER] = CALL_SCATTER,
    [COLLECTIVE_ALLTOALL] = CALL_ALLTOALL,
    [COLLECTIVE_SCAN] = CALL_SCAN,
    [COLLECTIVE_EXSCAN] = CALL_EXSCAN,
    [COLLECTIVE_BARRIER] = CALL_BARRIER,
};

struct benchmark {
    struct comm_context *context;
    const struct plan_nodes *nodes;
    struct plan_shm_region shm_region;
    /* The calls are part of the session's agreement, not a user's call. */
    bool is_internal_call;
    char *input;
    char *output;
    uint64_t end_ns; /* rank 0's is used */
    FILE *lines;     /* on rank 0; elsewhere NULL */
};

/* The algorithms to compare, and the size of the call. */
struct trial {
    const struct registry_algorithm *entries[SAMPLE_ENTRIES_MAX];
    size_t n;
    size_t n_bytes;
};

/* The times of a sample, and whether the time limit has passed. Each value
 * becomes the largest of all ranks. */
struct timings {
    double ns[SAMPLE_ENTRIES_MAX][BENCHMARK_REPETITIONS];
    double is_over;
};

static struct plan_shape
benchmark_shape_of(const struct benchmark *benchmark,
                   enum collective_kind collective,
                   size_t n_bytes)
{
    const uint32_t size = context_size(benchmark->context);
    const size_t n_blocks = registry_is_blockwise(collective) ? size : 1;
    const size_t count = n_bytes / ELEMENT_BYTES / n_blocks;
    const bool is_barrier = collective == COLLECTIVE_BARRIER;

    return (struct plan_shape){
        .rank = context_rank(benchmark->context),
        .size = size,
        .count = is_barrier  ? 0
                 : count > 0 ? count
                             : 1,
        .granule = is_barrier ? GRANULE_BYTES : GRANULE_BYTES / ELEMENT_BYTES,
        .nodes = benchmark->nodes,
        .slot_capacity = benchmark->shm_region.slot_capacity /
                         (is_barrier ? 1 : ELEMENT_BYTES),
        .has_cma = benchmark->shm_region.has_cma,
    };
}

static enum hoop_status
benchmark_run_algorithm(const struct benchmark *benchmark,
                        const struct registry_algorithm *entry,
                        size_t n_bytes)
{
    const struct plan_shape shape =
        benchmark_shape_of(benchmark, entry->collective, n_bytes);
    struct engine_collective request = {
        .call = {.name = names[entry->collective], .count = shape.count},
        .algorithm = entry->algorithm,
        .shape = shape,
        .input = benchmark->input,
        .output = benchmark->output,
        .mode = ENGINE_START_AND_WAIT,
    };
    struct op *op = NULL;

    if (entry->collective != COLLECTIVE_BARRIER) {
        request.call.dtype = HOOP_FLOAT32;
        request.call.reduce_op = HOOP_SUM;
    }
    if (benchmark->is_internal_call) {
        request.call.name = CALL_AGREE;
        request.call.root = context_agreed_settings(benchmark->context);
    }
    enum hoop_status status =
        engine_start_collective(benchmark->context, &request, &op);
    if (status == HOOP_OK)
        status = engine_wait(op, CLOCK_NEVER);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
timed_run(const struct benchmark *benchmark,
          const struct registry_algorithm *entry,
          size_t n_bytes,
          double *out_ns)
{
    size_t n_barriers;
    const struct registry_algorithm *barrier =
        registry_collective_entries(COLLECTIVE_BARRIER, &n_barriers);

    enum hoop_status status = benchmark_run_algorithm(benchmark, barrier, 0);
    const uint64_t begin_ns = clock_now_ns();
    if (status == HOOP_OK)
        status = benchmark_run_algorithm(benchmark, entry, n_bytes);
    *out_ns = (double)(clock_now_ns() - begin_ns);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Replace each value by the largest of all ranks. */
static enum hoop_status
timings_reduce(const struct benchmark *benchmark, struct timings *timings)
{
    const struct engine_collective request = {
        .call = {.name = CALL_ALLREDUCE,
                 .dtype = HOOP_FLOAT64,
                 .reduce_op = HOOP_MAX,
                 .count = sizeof(*timings) / sizeof(double)},
        .algorithm = &algorithm_allreduce_recursive_doubling,
        .shape = {.rank = context_rank(benchmark->context),
                  .size = context_size(benchmark->context),
                  .is_in_place = true,
                  .count = sizeof(*timings) / sizeof(double),
                  .granule = GRANULE_BYTES / sizeof(double)},
        .input = timings,
        .output = timings,
        .mode = ENGINE_START_AND_WAIT,
    };
    struct op *op = NULL;

    enum hoop_status status =
        engine_start_collective(benchmark->context, &request, &op);
    if (status == HOOP_OK)
        status = engine_wait(op, CLOCK_NEVER);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static int
duration_compare(const void *left, const void *right)
{
    const double one = *(const double *)left;
    const double other = *(const double *)right;

    return (one > other) - (one < other);
}

static void
trial_print(const struct benchmark *benchmark,
            const struct trial *trial,
            struct timings *timings)
{
    if (!benchmark->lines)
        return;
    fprintf(benchmark->lines, "%u %u %s %zu", benchmark->nodes->n_ranks,
            benchmark->nodes->n_nodes,
            registry_collective_name(trial->entries[0]->collective),
            trial->n_bytes);
    for (size_t i = 0; i < trial->n; i++) {
        qsort(timings->ns[i], BENCHMARK_REPETITIONS, sizeof(timings->ns[i][0]),
              duration_compare);
        fprintf(benchmark->lines, " %s=%.0f",
                trial->entries[i]->algorithm->name,
                timings->ns[i][BENCHMARK_REPETITIONS / 2] + 1);
    }
    fputc('\n', benchmark->lines);
}

/* Each round begins with another algorithm; the first round is not measured. */
static enum hoop_status
trial_run(const struct benchmark *benchmark,
          const struct trial *trial,
          bool *out_is_over)
{
    struct timings timings = {.is_over = clock_now_ns() >= benchmark->end_ns};
    enum hoop_status status = HOOP_OK;

    for (size_t i = 0;
         i < (BENCHMARK_REPETITIONS + 1) * trial->n && status == HOOP_OK; i++) {
        const size_t round = i / trial->n;
        const size_t at = (i + round) % trial->n;
        double ns = 0;

        status = timed_run(benchmark, trial->entries[at], trial->n_bytes, &ns);
        if (round > 0)
            timings.ns[at][round - 1] = ns;
    }
    if (context_rank(benchmark->context) > 0)
        timings.is_over = 0;
    if (status == HOOP_OK)
        status = timings_reduce(benchmark, &timings);
    if (status != HOOP_OK)
        return error_pass(status);
    trial_print(benchmark, trial, &timings);
    *out_is_over = timings.is_over > 0;
    return HOOP_OK;
}

/* The algorithms that can run. If there are fewer than two, there is nothing to
 * measure. */
static struct trial
trial_make(const struct benchmark *benchmark,
           enum collective_kind collective,
           size_t n_bytes)
{
    const struct plan_shape shape =
        benchmark_shape_of(benchmark, collective, n_bytes);
    size_t n_entries;
    const struct registry_algorithm *entries =
        registry_collective_entries(collective, &n_entries);
    struct trial trial = {
        .n_bytes = collective == COLLECTIVE_BARRIER ? 0 : n_bytes,
    };

    for (size_t i = 0; i < n_entries && i < SAMPLE_ENTRIES_MAX; i++)
        if ((!entries[i].is_opt_in || entries[i].algorithm->is_direct) &&
            registry_algorithm_suits_shape(&entries[i], &shape))
            trial.entries[trial.n++] = &entries[i];
    return trial;
}

static enum hoop_status
trials_run(const struct benchmark *benchmark)
{
    enum hoop_status status = HOOP_OK;
    bool is_over = false;

    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (unsigned j = 0; j < COLLECTIVE_KINDS; j++) {
            const struct trial trial = trial_make(benchmark, j, sizes[i]);

            if (trial.n < 2 || is_over || (j == COLLECTIVE_BARRIER && i > 0))
                continue;
            status = trial_run(benchmark, &trial, &is_over);
            if (status != HOOP_OK)
                return error_pass(status);
        }
    return HOOP_OK;
}

static void
stream_close_at(FILE **stream)
{
    if (*stream)
        fclose(*stream);
}

/* Small sizes come first, because time may run out. */
enum hoop_status
benchmark_run(struct comm_context *context,
              const struct plan_nodes *nodes,
              char **out_text)
{
    const size_t n_bytes =
        BENCHMARK_BYTES_MAX + (size_t)context_size(context) * ELEMENT_BYTES;
    CLEANUP(free) char *input = calloc(1, n_bytes);
    CLEANUP(free) char *output = calloc(1, n_bytes);
    CLEANUP(free) char *text = NULL;
    CLEANUP(stream_close) FILE *lines = NULL;
    const uint64_t begin_ns = clock_now_ns();
    size_t n_text = 0;

    lines = open_memstream(&text, &n_text);
    if (!input || !output || !lines)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to measure algorithms");
    const struct benchmark benchmark = {
        .context = context,
        .nodes = nodes,
        .shm_region = context_plan_shm_region(context),
        .input = input,
        .output = output,
        .end_ns = begin_ns + LIMIT_BENCHMARK_MS * CLOCK_NS_PER_MS,
        .lines = context_rank(context) == 0 ? lines : NULL,
    };
    const enum hoop_status status = trials_run(&benchmark);
    if (status != HOOP_OK)
        return error_pass(status);
    if (fclose(STEAL(lines)) != 0 || !text)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to measure algorithms");
    log_debug("tune", "measured all algorithms: %zu bytes of times, %.1f ms",
              n_text, (double)(clock_now_ns() - begin_ns) / 1e6);
    *out_text = STEAL(text);
    return HOOP_OK;
}

/* Only rank 0's times are used: a barrier lets all ranks begin together, and a
 * rank that reads the others' memory does not finish before they do. */
static enum hoop_status
cma_time_ratio_measure(const struct benchmark *benchmark, double *out_quotient)
{
    const struct registry_algorithm *ways[] = {
        registry_entry_of_algorithm(&algorithm_alltoall_flat),
        registry_entry_of_algorithm(&algorithm_alltoall_direct),
    };
    double ns[COUNT_OF(ways)][BENCHMARK_REPETITIONS + 1];

    for (size_t i = 0; i < (BENCHMARK_REPETITIONS + 1) * COUNT_OF(ways); i++) {
        const size_t way = i % COUNT_OF(ways);
        const enum hoop_status status =
            timed_run(benchmark, ways[way], CMA_BENCHMARK_BYTES,
                      &ns[way][i / COUNT_OF(ways)]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    for (size_t way = 0; way < COUNT_OF(ways); way++)
        qsort(ns[way] + 1, BENCHMARK_REPETITIONS, sizeof(ns[way][0]),
              duration_compare);
    log_debug("tune", "an alltoall of %d KiB takes %.1f us, direct %.1f",
              CMA_BENCHMARK_BYTES >> 10,
              ns[0][1 + BENCHMARK_REPETITIONS / 2] / 1e3,
              ns[1][1 + BENCHMARK_REPETITIONS / 2] / 1e3);
    *out_quotient = ns[1][1 + BENCHMARK_REPETITIONS / 2] /
                    ns[0][1 + BENCHMARK_REPETITIONS / 2];
    return HOOP_OK;
}

enum hoop_status
benchmark_compare_cma(struct comm_context *context,
                      const struct plan_nodes *nodes,
                      bool *out_is_faster)
{
    const size_t n_bytes =
        CMA_BENCHMARK_BYTES + (size_t)context_size(context) * ELEMENT_BYTES;
    CLEANUP(free) char *input = calloc(1, n_bytes);
    CLEANUP(free) char *output = calloc(1, n_bytes);
    const struct benchmark benchmark = {
        .context = context,
        .nodes = nodes,
        .shm_region = context_plan_shm_region(context),
        .is_internal_call = true,
        .input = input,
        .output = output,
    };
    double quotient = 1;

    if (!input || !output)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to measure algorithms");
    const enum hoop_status status =
        cma_time_ratio_measure(&benchmark, &quotient);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_is_faster = quotient < CMA_MAX_TIME_RATIO;
    return HOOP_OK;
}
