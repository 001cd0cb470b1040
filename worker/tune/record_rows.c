/*
 * tune/record_rows.c - what was fastest, up to which size, in many jobs
 *
 * Written by bench/selection/record.py. No test of its own: record_test.c.
 */

#include "base/cleanup.h"
#include "plan/algorithms.h"
#include "tune/record.h"

const struct record_row record_rows[] = {
    {RECORD_SHM,
     2,
     2,
     CATALOG_BARRIER,
     {{UINT64_MAX, &algorithm_barrier_flat}}},
};

const size_t record_n_rows = COUNT_OF(record_rows);
