/*
 * tests/integration/pipeline/pipe_case.h - tensors for tests of pipelines
 *
 * They are in small lists and are of int64. The test chooses their values.
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

/* A pair is a tensor of two elements with a list of it. It points into
 * itself. */
struct pair {
    int64_t at[2];
    struct hoop_tensor tensor;
    struct hoop_tensors list;
};

/* Fills in [a, b]. */
const struct hoop_tensors *
pair_fill(struct pair *pair, int64_t a, int64_t b);
/* Prepares a receive of two elements into memory of the library. */
struct hoop_tensors *
pair_want(struct pair *pair);
/* Prepares a receive of any shape. */
struct hoop_tensors *
pair_want_any(struct pair *pair);
/* Returns whether [a, b] was received, and frees it. */
bool
pair_came(struct pair *pair, int64_t a, int64_t b);
/* Returns whether nothing was received. */
bool
pair_is_none(const struct pair *pair);

/* Returns a dense tensor of dtype and of n_dims sizes, without data. */
struct hoop_tensor
tensor_like(enum hoop_dtype dtype, uint32_t n_dims, const size_t *dims);

/* Creates a communicator of some ranks of the world. Its ID must be unique and
 * at least 2. All ranks of the world call it. comm_end() frees it. */
enum hoop_status
comm_begin(const struct rank *rank,
           uint64_t id,
           const uint32_t *ranks,
           uint32_t n_ranks,
           hoop_comm_t *out_comm);
void
comm_end(hoop_comm_t *comm);

/* Returns how many bytes this rank has sent to others so far. */
uint64_t
bytes_sent(const struct rank *rank);

#endif
