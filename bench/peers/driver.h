/*
 * bench/peers/driver.h - the measuring loop that every library is put into
 *
 * One program for each library: PEER TRANSPORT OPS SCHEDULE. OPS is a comma
 * list of allreduce (in place), allgather (from other to buffer),
 * reduce_scatter (from buffer; the result where the library's result is) and
 * broadcast (in place, from rank 0), all of float, sums. A first run of every
 * operation is checked. Read by C and by C++.
 */

#ifndef BENCH_PEERS_DRIVER_H
#define BENCH_PEERS_DRIVER_H

#include <time.h>

#include "schedule.h"

struct driver {
    int rank;
    int size;
    float *buffer; /* the schedule's greatest size each */
    float *other;
    int scatters_in_place; /* a reduce_scatter leaves its result in buffer */
    /* Called before the runs of an operation of count floats; may be NULL. */
    void (*prepare)(struct driver *driver, const char *op, size_t count);
    void (*run)(struct driver *driver, const char *op, size_t count);
    void (*barrier)(struct driver *driver);
    /* Each of n numbers becomes its maximum over all ranks, at least on 0. */
    void (*maximize)(struct driver *driver, double *numbers, int n);
};

static inline double
driver_now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static inline float
driver_element(int rank, size_t at)
{
    return (float)(rank + 1) + (float)(at % 7);
}

static inline float
driver_sum(int size, size_t at)
{
    return (float)(size * (size + 1) / 2) + (float)size * (float)(at % 7);
}

/* How many elements of the result are not what they must be. */
static inline size_t
driver_count_wrong(const struct driver *driver, const char *op, size_t count)
{
    const size_t part = count / (size_t)driver->size;
    const size_t mine = part * (size_t)driver->rank;
    const float *scattered =
        driver->scatters_in_place ? driver->buffer : driver->other;
    size_t n_wrong = 0;

    if (strcmp(op, "allreduce") == 0)
        for (size_t i = 0; i < count; i++)
            n_wrong += driver->buffer[i] != driver_sum(driver->size, i);
    if (strcmp(op, "broadcast") == 0)
        for (size_t i = 0; i < count; i++)
            n_wrong += driver->buffer[i] != driver_element(0, i);
    if (strcmp(op, "allgather") == 0)
        for (size_t i = 0; i < part * (size_t)driver->size; i++)
            n_wrong +=
                driver->buffer[i] != driver_element((int)(i / part), i % part);
    if (strcmp(op, "reduce_scatter") == 0)
        for (size_t i = 0; i < part; i++)
            n_wrong += scattered[i] != driver_sum(driver->size, mine + i);
    return n_wrong;
}

static inline void
driver_check(struct driver *driver, const char *op, size_t count)
{
    for (size_t i = 0; i < count; i++)
        driver->buffer[i] = driver->other[i] = driver_element(driver->rank, i);
    driver->barrier(driver);
    driver->run(driver, op, count);

    const size_t n_wrong = driver_count_wrong(driver, op, count);
    if (n_wrong > 0) {
        fprintf(stderr, "rank %d: %s of %zu: %zu are wrong\n", driver->rank, op,
                count, n_wrong);
        exit(1);
    }
    /* Sums of sums would overflow. */
    memset(driver->buffer, 0, count * sizeof(float));
    memset(driver->other, 0, count * sizeof(float));
    driver->barrier(driver);
}

static inline void
driver_measure(struct driver *driver,
               const struct schedule_subject *subject,
               const struct schedule_row *row)
{
    const size_t count = row->n_bytes / sizeof(float);
    double batches_us[SCHEDULE_BATCHES_MAX] = {0};

    if (driver->prepare)
        driver->prepare(driver, subject->op, count);
    driver_check(driver, subject->op, count);
    for (int batch = 0; batch < row->n_batches; batch++) {
        driver->barrier(driver);
        const double start_us = driver_now_us();
        for (int i = 0; i < row->n_inner; i++)
            driver->run(driver, subject->op, count);
        batches_us[batch] = (driver_now_us() - start_us) / row->n_inner;
    }
    driver->maximize(driver, batches_us, SCHEDULE_BATCHES_MAX);
    if (driver->rank == 0)
        schedule_report(subject, row, batches_us);
}

/* Not every library can gather or scatter parts of no element. */
static inline int
driver_has_parts(const struct driver *driver,
                 const char *op,
                 const struct schedule_row *row)
{
    return strcmp(op, "allreduce") == 0 || strcmp(op, "broadcast") == 0 ||
           row->n_bytes >= sizeof(float) * (size_t)driver->size;
}

/* arguments: PEER TRANSPORT OPS SCHEDULE. rank, size and calls are set. */
static inline void
driver_run(struct driver *driver, char **arguments)
{
    struct schedule schedule;
    struct schedule_subject subject = {arguments[0], arguments[1], NULL,
                                       driver->size};
    const size_t page = 4096;

    schedule_read(arguments[3], &schedule);
    const size_t n_bytes = (schedule.n_bytes_max / page + 1) * page;
    driver->buffer = (float *)aligned_alloc(page, n_bytes);
    driver->other = (float *)aligned_alloc(page, n_bytes);
    if (!driver->buffer || !driver->other)
        abort();
    for (char *op = strtok(arguments[2], ","); op; op = strtok(NULL, ",")) {
        subject.op = op;
        for (int row = 0; row < schedule.n_rows; row++)
            if (driver_has_parts(driver, op, &schedule.rows[row]))
                driver_measure(driver, &subject, &schedule.rows[row]);
    }
    free(driver->buffer);
    free(driver->other);
}

#endif
