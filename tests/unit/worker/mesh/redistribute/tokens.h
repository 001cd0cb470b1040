/*
 * tests/unit/worker/mesh/redistribute/tokens.h - a redistribution done with
 * tokens
 *
 * An element of a part is a set of addends, a bit for each place of the source
 * mesh that one comes from.
 */

#ifndef TESTS_PARALLEL_TOKENS_H
#define TESTS_PARALLEL_TOKENS_H

#include "mesh/redistribute/redistribution.h"

enum {
    TOKENS_RANKS = 16,
    TOKENS_ELEMENTS = 512,
};

/* Of each rank of the context: its part, and of each element its addends. */
struct tokens {
    uint32_t n_ranks;
    bool is_there[TOKENS_RANKS];
    struct hoop_part parts[TOKENS_RANKS];
    unsigned tokens[TOKENS_RANKS][TOKENS_ELEMENTS];
};

/* A rank has not got the element. */
static const unsigned TOKENS_NONE = 1U << 31;

struct tokens_run {
    const struct redistribution_request *request;
    struct redistribution *plan;
    uint32_t step;
    const struct tokens *before;
    struct tokens *after;
};

/* What there is before the first step. */
void
tokens_begin(struct tokens *tokens,
             const struct redistribution_request *request);
/* From before to after a step. */
void
tokens_step(struct tokens_run *run);

/* What a rank has of the element at a place of the whole tensor. */
unsigned
tokens_at(const struct tokens *tokens,
          uint32_t rank,
          const size_t at[HOOP_MAX_DIMS]);

/* Where an element of the whole tensor is in a part, SIZE_MAX: nowhere; and the
 * reverse. */
size_t
tokens_index(const struct hoop_part *part, const size_t at[HOOP_MAX_DIMS]);
void
tokens_locate(const struct hoop_part *part,
              size_t index,
              size_t at[HOOP_MAX_DIMS]);

/* Of a place along an axis, and its rank. */
uint32_t
tokens_coordinate(const struct hoop_mesh_shape *mesh,
                  uint32_t place,
                  uint32_t axis);
uint32_t
tokens_rank(const struct redistribution_side *side, uint32_t place);

#endif
