/*
 * tests/integration/p2p/p2p_case.h - stages of a pipeline, as processes
 *
 * Stage s has activations [100 s + 1, 100 s + 2] and gradients of the same
 * values, negative: who got what from whom is seen in each number.
 */

#ifndef TESTS_P2P_CASE_H
#define TESTS_P2P_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/p2p_communicator.h"

#include "ranks.h"

/* Three dimensions, as Megatron's. */
struct hoop_shape
shape_of(size_t sequence, size_t batch, size_t hidden);

/* int64: first, first + step, ...; for hoop_tensor_free(). */
struct hoop_tensor
tensor_filled(const struct hoop_shape *shape, int64_t first, int64_t step);
/* To receive: no data yet. */
struct hoop_tensor
tensor_awaited(const struct hoop_shape *shape);
/* int64, of this shape and content. */
bool
tensor_is(const struct hoop_tensor *tensor,
          const struct hoop_shape *shape,
          int64_t first,
          int64_t step);

/* Both ways of posting, with and without a shape that is expected. */
enum {
    N_P2P_KINDS = 4
};
/* int64; the test ends when it cannot be. */
hoop_p2p_t *
p2p_of_kind(struct rank *rank, uint32_t kind);
/* Where the rank is, when the pipeline has no virtual stages. */
unsigned
stage_of(const struct rank *rank);

/* [1, 1, 2] */
extern const struct hoop_shape pair;

struct stage {
    struct rank *rank;
    hoop_p2p_t *p2p;
    unsigned at;   /* stage_of() */
    uint32_t next; /* ranks */
    uint32_t prev;
    struct hoop_tensor act;
    struct hoop_tensor grad;
    struct hoop_tensors acts; /* lists of one */
    struct hoop_tensors grads;
};

void
stage_init(struct stage *stage, struct rank *rank, uint32_t kind);
void
stage_deinit(struct stage *stage);

/* Whether it is what stage of had. */
bool
is_act(const struct hoop_tensor *tensor, uint32_t of);
bool
is_grad(const struct hoop_tensor *tensor, uint32_t of);

/* Hand a tensor of shape out on and one of shape in back, all in one call, and
 * check what comes; 0 when all is well. */
int
p2p_exchange_check(const struct rank *rank,
                   hoop_p2p_t *p2p,
                   const struct hoop_shape *out,
                   const struct hoop_shape *in);

/* The main of a test program: each case on 1, 2, 3 and 4 stages. */
int
p2p_case_run(const struct rank_case *cases,
             size_t n_cases,
             uint32_t deadline_s);

#endif
