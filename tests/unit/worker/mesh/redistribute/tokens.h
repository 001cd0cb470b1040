/*
 * tests/unit/worker/mesh/redistribute/tokens.h - redistribution of tokens
 *
 * An element of a part is a set of addends. It has one bit for each place of
 * the source mesh from which an addend comes.
 */

#ifndef TESTS_PARALLEL_TOKENS_H
#define TESTS_PARALLEL_TOKENS_H

#include "mesh/redistribute/redistribution.h"

enum {
    TOKENS_RANKS = 16,
    TOKENS_ELEMENTS = 512,
};

/* This has the part of each rank of the context, and the addends of each
 * element. */
struct tokens {
    uint32_t n_ranks;
    bool is_there[TOKENS_RANKS];
    struct hoop_part parts[TOKENS_RANKS];
    unsigned tokens[TOKENS_RANKS][TOKENS_ELEMENTS];
};

/* The rank does not have the element. */
static const unsigned TOKENS_NONE = 1U << 31;

struct tokens_run {
    const struct redistribution_request *request;
    struct redistribution *plan;
    uint32_t step;
    const struct tokens *before;
    struct tokens *after;
};

/* Sets the state before the first step. */
void
tokens_begin(struct tokens *tokens,
             const struct redistribution_request *request);
/* Makes the state after a step from the one before it. */
void
tokens_step(struct tokens_run *run);

/* Returns what a rank has of the element at a place of the whole tensor. */
unsigned
tokens_at(const struct tokens *tokens,
          uint32_t rank,
          const size_t at[HOOP_MAX_DIMS]);

/* Converts the place of an element in the whole tensor to its index in a part
 * (SIZE_MAX: it is not there), and back. */
size_t
tokens_index(const struct hoop_part *part, const size_t at[HOOP_MAX_DIMS]);
void
tokens_locate(const struct hoop_part *part,
              size_t index,
              size_t at[HOOP_MAX_DIMS]);

/* Return the coordinate of a place along an axis, and the rank of a place. */
uint32_t
tokens_coordinate(const struct hoop_mesh_shape *mesh,
                  uint32_t place,
                  uint32_t axis);
uint32_t
tokens_rank(const struct redistribution_side *side, uint32_t place);

#endif
