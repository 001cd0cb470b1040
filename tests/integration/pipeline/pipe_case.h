/*
 * tests/integration/pipeline/pipe_case.h - tensors for tests of pipelines
 *
 * Small lists of int64 tensors, their values said by the test.
 */

#ifndef TESTS_PIPE_CASE_H
#define TESTS_PIPE_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/hoop.h"
#include "hoop/pipeline.h"
#include "hoop/tensor.h"

#include "ranks.h"
#include "session/comm.h"

/* One tensor of two elements, and the list of it. Points into itself. */
struct pair {
    int64_t at[2];
    struct hoop_tensor tensor;
    struct hoop_tensors list;
};

/* [a, b]. */
const struct hoop_tensors *
pair_fill(struct pair *pair, int64_t a, int64_t b);
/* To be received: two elements, of hoop's memory. */
struct hoop_tensors *
pair_want(struct pair *pair);
/* ... any shape. */
struct hoop_tensors *
pair_want_any(struct pair *pair);
/* What came is [a, b]; frees it. */
bool
pair_came(struct pair *pair, int64_t a, int64_t b);
/* Nothing was to come. */
bool
pair_is_none(const struct pair *pair);

/* A dense tensor of dtype and of the n_dims sizes, without data. */
struct hoop_tensor
tensor_like(enum hoop_dtype dtype, uint32_t n_dims, const size_t *dims);

/* A communicator of some ranks of the test's world, with an id of its own, 2 or
 * more. All ranks of the world call it. Freed by comm_end(). */
enum hoop_status
comm_begin(const struct rank *rank,
           uint64_t id,
           const uint32_t *ranks,
           uint32_t n_ranks,
           hoop_comm_t *out_comm);
void
comm_end(hoop_comm_t *comm);

/* Bytes that this rank has sent to others so far. */
uint64_t
bytes_sent(const struct rank *rank);

#endif
