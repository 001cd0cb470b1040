/*
 * algorithms/binomial.h - a tree of ceil(log2 n) levels, for any size and any root
 *
 * Ranks keep their order; they are not rotated so that the root comes first. At
 * level k the ranks are cut into blocks of 2^(k+1) neighbours, and one edge
 * joins the two halves of each block. It joins the representatives of the
 * halves: the root represents every block that it is in, and the first rank
 * represents any other block. Size 6, root 3:
 *
 *     level 0    0-1    2-3    4-5
 *     level 1    0------3      4        (4 has no other half to be joined to)
 *     level 2           3------4
 *
 * The ranks beyond an edge are therefore always neighbours: their blocks are
 * contiguous in a buffer, the root can receive them at their final positions,
 * and a reduction keeps lower ranks on the left for every root.
 */

#ifndef ALGORITHMS_BINOMIAL_H
#define ALGORITHMS_BINOMIAL_H

#include <stdint.h>

#include "plan/plan.h"

/* The ranks [first, end). */
struct rank_range {
    uint32_t first;
    uint32_t end;
};

/* Which end of an edge a rank is at. */
enum binomial_edge_end {
    BINOMIAL_NO_EDGE,     /* no edge at this level */
    BINOMIAL_PARENT_SIDE, /* the end on the root's side */
    BINOMIAL_CHILD_SIDE,
};

struct binomial_edge {
    enum binomial_edge_end end;
    uint32_t peer;            /* the rank at the other end */
    struct rank_range beyond; /* the ranks of the far half */
};

/* The number of levels that have edges: 0 for one rank alone. */
uint32_t
binomial_tree_depth(const struct plan_shape *shape);

/* This rank's edge at a level. Every rank but the root is at the far end of
 * exactly one edge, and has no edge at a higher level. */
struct binomial_edge
binomial_edge_at(const struct plan_shape *shape, uint32_t level);

/* This rank and all ranks whose path to the root leads through it. At the root
 * these are all ranks; elsewhere this rank is the first of them. */
struct rank_range
binomial_subtree(const struct plan_shape *shape);

/*
 * Where a rank holds the blocks of some ranks of its subtree. The root holds
 * them in the buffer whole, at their final positions. Other ranks hold them in
 * scratch, beginning with their own block. binomial_scratch_count() returns the
 * elements of scratch needed, which is 0 for the root and for ranks without
 * children.
 */
struct plan_span
binomial_blocks_span(const struct plan_shape *shape,
                     enum plan_buffer whole,
                     struct rank_range ranks);
size_t
binomial_scratch_count(const struct plan_shape *shape);

#endif
