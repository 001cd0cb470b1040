/*
 * tests/integration/p2p/p2p_case.h - stages of a pipeline, as processes
 *
 * Stage s has the activations [100 s + 1, 100 s + 2] and gradients of the same
 * values with the other sign, so each number shows which stage sent it.
 */

#ifndef TESTS_P2P_CASE_H
#define TESTS_P2P_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/p2p_communicator.h"

#include "ranks.h"

/* Returns a shape of three dimensions, as in Megatron. */
struct hoop_shape
shape_of(size_t sequence, size_t batch, size_t hidden);

/* Returns an int64 tensor of first, first + step and so on. hoop_tensor_free()
 * frees it. */
struct hoop_tensor
tensor_filled(const struct hoop_shape *shape, int64_t first, int64_t step);
/* Returns a tensor to be received, which has no data yet. */
struct hoop_tensor
tensor_awaited(const struct hoop_shape *shape);
/* Returns whether the tensor is int64 and has this shape and content. */
bool
tensor_is(const struct hoop_tensor *tensor,
          const struct hoop_shape *shape,
          int64_t first,
          int64_t step);

/* There are both ways of posting, each with and without an expected shape. */
enum {
    N_P2P_KINDS = 4
};
/* Creates one for int64 tensors. The test ends if that fails. */
hoop_p2p_t *
p2p_of_kind(struct rank *rank, uint32_t kind);
/* Returns the stage of the rank in a pipeline without virtual stages. */
unsigned
stage_of(const struct rank *rank);

/* The shape is [1, 1, 2]. */
extern const struct hoop_shape pair;

struct stage {
    struct rank *rank;
    hoop_p2p_t *p2p;
    unsigned at;   /* the value of stage_of() */
    uint32_t next; /* the rank of the next stage */
    uint32_t prev;
    struct hoop_tensor act;
    struct hoop_tensor grad;
    struct hoop_tensors acts; /* each list has one tensor */
    struct hoop_tensors grads;
};

void
stage_init(struct stage *stage, struct rank *rank, uint32_t kind);
void
stage_deinit(struct stage *stage);

/* Return whether the tensor is the one that stage of had. */
bool
is_act(const struct hoop_tensor *tensor, uint32_t of);
bool
is_grad(const struct hoop_tensor *tensor, uint32_t of);

/* Sends a tensor of shape out to the next stage and one of shape in to the
 * previous one, all in one call, and checks what arrives. Returns 0 if all is
 * well. */
int
p2p_exchange_check(const struct rank *rank,
                   hoop_p2p_t *p2p,
                   const struct hoop_shape *out,
                   const struct hoop_shape *in);

/* This is the main function of a test program. It runs each case on 1, 2, 3 and
 * 4 stages. */
int
p2p_case_run(const struct rank_case *cases,
             size_t n_cases,
             uint32_t deadline_s);

#endif
