/*
 * plan/binomial.h - a tree of ceil(log2 n) levels, any size, any root
 *
 * Ranks are not turned until the root stands first; they keep their order. At
 * level k they are cut into blocks of 2^(k+1) neighbours, and the two halves of
 * each block are joined by one edge, between the rank that speaks for the one
 * half and the rank that speaks for the other. The root speaks for every block
 * that it is in, the first rank for any other. Size 6, root 3:
 *
 *     level 0    0-1    2-3    4-5
 *     level 1    0------3      4        (4 has nobody to be joined to)
 *     level 2           3------4
 *
 * So whatever lies behind an edge are neighbours in the order of the ranks:
 * their given blocks stand side by side in a buffer, a root takes them to their
 * places, and a reduction keeps lower ranks left for every root.
 */

#ifndef PLAN_BINOMIAL_H
#define PLAN_BINOMIAL_H

#include <stdint.h>

#include "plan/plan.h"

/* [first, end) */
struct rank_range {
    uint32_t first;
    uint32_t end;
};

/* Which end of an edge a rank is. */
enum binomial_end {
    BINOMIAL_NONE, /* no edge at this level */
    BINOMIAL_NEAR, /* the root's side */
    BINOMIAL_FAR,
};

struct binomial_edge {
    enum binomial_end end;
    uint32_t peer;            /* at the other end */
    struct rank_range beyond; /* the ranks of the far half */
};

/* Levels that have edges: 0 for a rank alone. */
uint32_t
binomial_depth(const struct plan_shape *shape);

/* This rank's edge at a level. A rank is at the far end once, and at no edge of
 * a higher level; the root never is. */
struct binomial_edge
binomial_edge_at(const struct plan_shape *shape, uint32_t level);

/* This rank and all that are joined to the root by way of it: at the root all,
 * elsewhere ranks from this one on. */
struct rank_range
binomial_subtree(const struct plan_shape *shape);

/*
 * Where a rank has the given blocks of some ranks of its subtree: the root in
 * whole, all in their places; others in scratch, from their own block on, as
 * large as binomial_scratch() says; that is nothing for the root and for who
 * has nobody behind it.
 */
struct plan_span
binomial_blocks(const struct plan_shape *shape,
                enum plan_buffer whole,
                struct rank_range ranks);
size_t
binomial_scratch(const struct plan_shape *shape);

#endif
