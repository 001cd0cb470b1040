/*
 * bench/peers/schedule.h - what to measure, and the line that reports it
 *
 * A schedule is BYTES:INNERxBATCHES,... A batch consists of INNER operations
 * back to back, and takes as long as its slowest rank. Median and minimum are
 * taken over the batches. BYTES is the size of nccl-tests: that of the larger
 * of a rank's two buffers. The header is for C and for C++.
 */

#ifndef BENCH_PEERS_SCHEDULE_H
#define BENCH_PEERS_SCHEDULE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCHEDULE_ROWS_MAX = 32,
    SCHEDULE_BATCHES_MAX = 128,
};

struct schedule_row {
    size_t n_bytes;
    int n_inner;
    int n_batches;
};

struct schedule {
    int n_rows;
    size_t n_bytes_max;
    struct schedule_row rows[SCHEDULE_ROWS_MAX];
};

/* The first four columns of a result: what is measured. */
struct schedule_subject {
    const char *peer;
    const char *transport;
    const char *op;
    int n_ranks;
};

/* Reads one row, and moves *text to the next one. */
static inline struct schedule_row
schedule_row_read(const char **text)
{
    struct schedule_row row;
    char *end;

    double n_bytes = strtod(*text, &end);
    if (*end == 'K')
        n_bytes *= 1 << 10;
    if (*end == 'M')
        n_bytes *= 1 << 20;
    end += strcspn(end, ":,");
    row.n_bytes = (size_t)n_bytes;
    row.n_inner = *end == ':' ? (int)strtol(end + 1, &end, 10) : 1;
    row.n_batches = *end == 'x' ? (int)strtol(end + 1, &end, 10) : 1;
    if (row.n_batches > SCHEDULE_BATCHES_MAX)
        row.n_batches = SCHEDULE_BATCHES_MAX;
    *text = *end == ',' ? end + 1 : end + strlen(end);
    return row;
}

static inline void
schedule_read(const char *text, struct schedule *out_schedule)
{
    out_schedule->n_rows = 0;
    out_schedule->n_bytes_max = 0;
    while (*text && out_schedule->n_rows < SCHEDULE_ROWS_MAX) {
        const struct schedule_row row = schedule_row_read(&text);

        out_schedule->rows[out_schedule->n_rows++] = row;
        if (row.n_bytes > out_schedule->n_bytes_max)
            out_schedule->n_bytes_max = row.n_bytes;
    }
}

/* Returns bus bandwidth divided by algorithm bandwidth, as nccl-tests define
 * them. */
static inline double
schedule_bus_factor(const struct schedule_subject *subject)
{
    const double n = subject->n_ranks;

    if (strcmp(subject->op, "allreduce") == 0)
        return 2 * (n - 1) / n;
    return strcmp(subject->op, "allgather") == 0 ||
                   strcmp(subject->op, "alltoall") == 0 ||
                   strcmp(subject->op, "reduce_scatter") == 0
               ? (n - 1) / n
               : 1;
}

static inline int
schedule_compare(const void *left, const void *right)
{
    const double a = *(const double *)left;
    const double b = *(const double *)right;

    return (a > b) - (a < b);
}

/* The result of a row of a schedule, or of a part of its batches. */
struct schedule_result {
    const char *label;               /* name of the part; the last column */
    int n;                           /* number of batches */
    double us[SCHEDULE_BATCHES_MAX]; /* of one operation, for each batch */
    double cpu_us;                   /* of all ranks, for one operation */
};

static inline void
schedule_report(const struct schedule_subject *subject,
                const struct schedule_row *row,
                struct schedule_result *result)
{
    const double *us = result->us;
    const int n = result->n;

    qsort(result->us, (size_t)n, sizeof(*us), schedule_compare);
    const double median = n % 2 ? us[n / 2] : (us[n / 2 - 1] + us[n / 2]) / 2;
    const double bandwidth = (double)row->n_bytes / median / 1e3;
    printf("%s,%s,%s,%d,%zu,%.2f,%.2f,%.4f,%.4f,%.2f,%s\n", subject->peer,
           subject->transport, subject->op, subject->n_ranks, row->n_bytes,
           median, us[0], bandwidth, bandwidth * schedule_bus_factor(subject),
           result->cpu_us, result->label);
    fflush(stdout);
}

#endif
