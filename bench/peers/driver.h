/*
 * bench/peers/driver.h - the measuring loop in which every library is run
 *
 * There is one program for each library: PEER TRANSPORT OPS SCHEDULE. OPS is a
 * comma-separated list. All operations take floats, reductions are sums, and
 * the root is rank 0:
 *   allreduce, broadcast  in place in buffer
 *   allgather, alltoall   from other to buffer
 *   reduce                from other to rank 0's buffer
 *   reduce_scatter        from buffer to where the library leaves the result
 *   pingpong              buffer from rank 0 to rank 1 and back; half the time
 *                         is reported
 *   barrier               measured once, with the schedule's first row
 *   startup               a barrier at once; the time is counted from
 *                         STARTED_US in the environment, on CLOCK_MONOTONIC
 * The first run of every operation is checked. The buffers are zero afterwards.
 * If BENCH_DATA is in the environment, each batch begins with other values:
 * random ones if it is "noise", otherwise those of the file BENCH_DATA.<rank>.
 * This is for libraries whose speed depends on the data. A batch must then be a
 * single operation, since sums of sums would grow. If BENCH_WATCH is in the
 * environment (bench/peers/watch.h), batches are reported separately for each
 * state of the processors, and batches during which the state changed are left
 * out. The header is for C and for C++.
 */

#ifndef BENCH_PEERS_DRIVER_H
#define BENCH_PEERS_DRIVER_H

#include <stdint.h>
#include <sys/resource.h>
#include <time.h>

#include "schedule.h"
#include "watch.h"

enum {
    DRIVER_NUMBERS_MAX = 512, /* numbers that ranks compare at a time */
};

struct driver {
    int rank;
    int size;
    float *buffer; /* of the schedule's largest size, like other */
    float *other;
    float *pattern;            /* values at the start of a batch, or NULL */
    const struct watch *watch; /* NULL: no watch is running */
    int scatters_in_place; /* a reduce_scatter leaves its result in buffer */
    /* Called before the runs of an operation on count floats; may be NULL. */
    void (*prepare)(struct driver *driver, const char *op, size_t count);
    void (*run)(struct driver *driver, const char *op, size_t count);
    void (*barrier)(struct driver *driver);
    /* Replaces each of n numbers with its maximum over all ranks, at least on
     * rank 0. */
    void (*maximize)(struct driver *driver, double *numbers, int n);
};

static inline double
driver_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Returns the processor time that all threads of this process have used. */
static inline double
driver_cpu_us(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* Returns the value that a rank has at an index before an operation. No index
 * needs more than 32 bits, whose remainder compilers make vectors of. */
static inline float
driver_element(int rank, size_t at)
{
    return (float)(rank + 1) + (float)((uint32_t)at % 7);
}

/* Returns how many of count numbers differ from the rank's elements from first
 * on. */
static inline size_t
driver_count_strange(const float *numbers, size_t count, int rank, size_t first)
{
    size_t n_strange = 0;

    for (size_t i = 0; i < count; i++)
        n_strange += numbers[i] != driver_element(rank, first + i);
    return n_strange;
}

/* Returns how many of count numbers differ from the sums over all ranks from
 * first on. */
static inline size_t
driver_count_wrong_sums(const float *numbers,
                        size_t count,
                        int size,
                        size_t first)
{
    const float ranks = (float)(size * (size + 1) / 2);
    size_t n_wrong = 0;

    for (size_t i = 0; i < count; i++)
        n_wrong += numbers[i] !=
                   ranks + (float)size * (float)((uint32_t)(first + i) % 7);
    return n_wrong;
}

/* Returns how many elements of the result are wrong. */
static inline size_t
driver_count_wrong(const struct driver *driver, const char *op, size_t count)
{
    const size_t part = count / (size_t)driver->size;
    const size_t mine = part * (size_t)driver->rank;
    const int gathers = strcmp(op, "allgather") == 0;
    size_t n_wrong = 0;

    if (strcmp(op, "reduce_scatter") == 0)
        return driver_count_wrong_sums(
            driver->scatters_in_place ? driver->buffer : driver->other, part,
            driver->size, mine);
    if (gathers || strcmp(op, "alltoall") == 0) {
        for (int r = 0; r < driver->size; r++)
            n_wrong += driver_count_strange(driver->buffer + part * (size_t)r,
                                            part, r, gathers ? 0 : mine);
        return n_wrong;
    }
    if (strcmp(op, "broadcast") == 0 ||
        (strcmp(op, "pingpong") == 0 && driver->rank < 2))
        return driver_count_strange(driver->buffer, count, 0, 0);
    if (strcmp(op, "reduce") == 0 && driver->rank > 0)
        return driver_count_strange(driver->buffer, count, driver->rank, 0);
    if (strcmp(op, "pingpong") == 0)
        return 0;
    return driver_count_wrong_sums(driver->buffer, count, driver->size, 0);
}

/* Returns whether the operation uses the second buffer. */
static inline int
driver_uses_other(const char *op)
{
    return strcmp(op, "allreduce") != 0 && strcmp(op, "broadcast") != 0 &&
           strcmp(op, "pingpong") != 0;
}

static inline void
driver_check(struct driver *driver, const char *op, size_t count)
{
    const size_t n_other = driver_uses_other(op) ? count : 0;

    for (size_t i = 0; i < count; i++)
        driver->buffer[i] = driver_element(driver->rank, i);
    if (n_other > 0)
        memcpy(driver->other, driver->buffer, n_other * sizeof(float));
    driver->barrier(driver);
    driver->run(driver, op, count);

    const size_t n_wrong = driver_count_wrong(driver, op, count);
    if (n_wrong > 0) {
        fprintf(stderr, "rank %d: %s of %zu: %zu are wrong\n", driver->rank, op,
                count, n_wrong);
        exit(1);
    }
    /* Operations are repeated in place, and sums of sums would overflow. */
    memset(driver->buffer, 0, count * sizeof(float));
    memset(driver->other, 0, n_other * sizeof(float));
    driver->barrier(driver);
}

/* Adds up each of n numbers over all ranks, at least on rank 0. All ranks must
 * call it. */
static inline void
driver_total(struct driver *driver, double *numbers, int n)
{
    double all[DRIVER_NUMBERS_MAX] = {0};
    const int n_all = driver->size * n;

    if (n_all > DRIVER_NUMBERS_MAX) {
        fprintf(stderr, "%d batches of %d ranks are more than %d\n", n,
                driver->size, DRIVER_NUMBERS_MAX);
        exit(64);
    }
    memcpy(all + driver->rank * n, numbers, (size_t)n * sizeof(*numbers));
    driver->maximize(driver, all, n_all);
    for (int i = 0; i < n; i++) {
        numbers[i] = 0;
        for (int r = 0; r < driver->size; r++)
            numbers[i] += all[r * n + i];
    }
}

static inline void
driver_fill(struct driver *driver, const char *op, size_t count)
{
    if (!driver->pattern)
        return;
    memcpy(driver->buffer, driver->pattern, count * sizeof(float));
    if (driver_uses_other(op))
        memcpy(driver->other, driver->pattern, count * sizeof(float));
}

/* Per batch: the time of one operation, the processor time of all ranks for it,
 * and the state of the processors. */
struct driver_batches {
    double us[SCHEDULE_BATCHES_MAX];
    double cpu_us[SCHEDULE_BATCHES_MAX];
    enum watch_state states[SCHEDULE_BATCHES_MAX];
};

/* Prints a line for the batches in one state, if there are any. */
static inline void
driver_report(const struct schedule_subject *subject,
              const struct schedule_row *row,
              const struct driver_batches *batches,
              enum watch_state state)
{
    struct schedule_result result = {watch_state_name(state), 0, {0}, 0};

    for (int i = 0; i < row->n_batches; i++) {
        if (batches->states[i] != state)
            continue;
        result.us[result.n++] = batches->us[i];
        result.cpu_us += batches->cpu_us[i];
    }
    result.cpu_us /= result.n > 0 ? result.n : 1;
    if (result.n > 0)
        schedule_report(subject, row, &result);
}

/* Runs and reports all batches of a row, on count floats. */
static inline void
driver_time(struct driver *driver,
            const struct schedule_subject *subject,
            const struct schedule_row *row,
            size_t count)
{
    const int n_ways = strcmp(subject->op, "pingpong") == 0 ? 2 : 1;
    const double n_runs = (double)row->n_inner * n_ways;
    struct driver_batches batches;

    for (int batch = 0; batch < row->n_batches; batch++) {
        driver_fill(driver, subject->op, count);
        driver->barrier(driver);
        const struct watch before = watch_look(driver->watch);
        const double start_cpu_us = driver_cpu_us();
        const double start_us = driver_now_us();
        for (int i = 0; i < row->n_inner; i++)
            driver->run(driver, subject->op, count);
        batches.us[batch] = (driver_now_us() - start_us) / n_runs;
        batches.cpu_us[batch] = (driver_cpu_us() - start_cpu_us) / n_runs;
        /* The state is read after the slowest rank has finished, too. */
        driver->barrier(driver);
        batches.states[batch] = watch_since(driver->watch, before);
    }
    driver->maximize(driver, batches.us, row->n_batches);
    driver_total(driver, batches.cpu_us, row->n_batches);
    for (int state = WATCH_NONE; state < WATCH_MIXED && driver->rank == 0;
         state++)
        driver_report(subject, row, &batches, (enum watch_state)state);
}

static inline void
driver_measure(struct driver *driver,
               const struct schedule_subject *subject,
               const struct schedule_row *row)
{
    const size_t count = row->n_bytes / sizeof(float);

    if (driver->prepare)
        driver->prepare(driver, subject->op, count);
    driver_check(driver, subject->op, count);
    driver_time(driver, subject, row, count);
}

static inline void
driver_measure_barrier(struct driver *driver,
                       const struct schedule_subject *subject,
                       struct schedule_row row)
{
    row.n_bytes = 0;
    if (driver->prepare)
        driver->prepare(driver, subject->op, 0);
    driver_time(driver, subject, &row, 0);
}

static inline void
driver_measure_startup(struct driver *driver,
                       const struct schedule_subject *subject)
{
    const struct schedule_row row = {0, 1, 1};
    const char *started = getenv("STARTED_US");

    driver->barrier(driver);
    const double passed_us = driver_now_us() - (started ? atof(started) : 0);
    struct schedule_result result = {"", 1, {passed_us}, 0};
    if (driver->rank == 0)
        schedule_report(subject, &row, &result);
}

/* Not every library can gather or scatter parts without elements. */
static inline int
driver_has_parts(const struct driver *driver,
                 const char *op,
                 const struct schedule_row *row)
{
    const int is_parted = strcmp(op, "allgather") == 0 ||
                          strcmp(op, "alltoall") == 0 ||
                          strcmp(op, "reduce_scatter") == 0;

    return !is_parted || row->n_bytes >= sizeof(float) * (size_t)driver->size;
}

/* Fills the pattern with the floats of the rank's file, repeated as often as
 * needed. */
static inline void
driver_read(const struct driver *driver, const char *name, size_t count)
{
    char path[4096];

    snprintf(path, sizeof(path), "%s.%d", name, driver->rank);
    FILE *file = fopen(path, "rb");
    for (size_t n_read = 0; n_read < count;) {
        const size_t n = file ? fread(driver->pattern + n_read, sizeof(float),
                                      count - n_read, file)
                              : 0;

        if (n == 0) {
            fprintf(stderr, "%s: cannot be read\n", path);
            exit(1);
        }
        n_read += n;
        rewind(file);
    }
    if (file)
        fclose(file);
}

/*
 * Fills the pattern with numbers that no codec can compress: all bits are
 * random, including the exponents. Only exponents whose sums could become
 * infinite, and those of denormals, with which processors are slow, are left
 * out.
 */
static inline void
driver_make_noise(const struct driver *driver, size_t count)
{
    const uint32_t n_exponents = 250;
    uint64_t state = 0x9e3779b97f4a7c15U * (uint64_t)(driver->rank + 1);

    for (size_t i = 0; i < count; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const uint32_t exponent = 1 + (uint32_t)state % n_exponents;
        const uint32_t bits =
            ((uint32_t)(state >> 32) & 0x807fffffU) | exponent << 23;
        memcpy(&driver->pattern[i], &bits, sizeof(bits));
    }
}

static inline float *
driver_allocate(size_t n_bytes)
{
    const size_t page = 4096;
    float *room = (float *)aligned_alloc(page, (n_bytes / page + 1) * page);

    if (!room)
        abort();
    return room;
}

static inline void
driver_make_buffers(struct driver *driver, size_t n_bytes)
{
    const char *name = getenv("BENCH_DATA");

    driver->buffer = driver_allocate(n_bytes);
    driver->other = driver_allocate(n_bytes);
    if (!name)
        return;
    driver->pattern = driver_allocate(n_bytes);
    if (strcmp(name, "noise") == 0)
        driver_make_noise(driver, n_bytes / sizeof(float));
    else
        driver_read(driver, name, n_bytes / sizeof(float));
}

/* The caller has set rank, size and the functions. The arguments are PEER,
 * TRANSPORT, OPS and SCHEDULE. */
static inline void
driver_run(struct driver *driver, char **arguments)
{
    struct schedule schedule;
    struct schedule_subject subject = {arguments[0], arguments[1], NULL,
                                       driver->size};

    driver->watch = watch_open();
    schedule_read(arguments[3], &schedule);
    driver_make_buffers(driver, schedule.n_bytes_max);
    for (char *op = strtok(arguments[2], ","); op; op = strtok(NULL, ",")) {
        subject.op = op;
        if (strcmp(op, "startup") == 0)
            driver_measure_startup(driver, &subject);
        else if (strcmp(op, "barrier") == 0)
            driver_measure_barrier(driver, &subject, schedule.rows[0]);
        else
            for (int row = 0; row < schedule.n_rows; row++)
                if (driver_has_parts(driver, op, &schedule.rows[row]))
                    driver_measure(driver, &subject, &schedule.rows[row]);
    }
    free(driver->buffer);
    free(driver->other);
    free(driver->pattern);
}

#endif
