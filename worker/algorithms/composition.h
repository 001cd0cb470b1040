/*
 * algorithms/composition.h - a plan made of other plans, each run by a team of ranks
 *
 * A part is an algorithm that a team of ranks (algorithms/team.h) runs. The algorithm
 * plans its steps as if the team were the whole communicator. The composition
 * then translates them:
 *
 *     peer      from an index in the team to the rank
 *     message   * COMPOSITION_PARTS + the part's number, so that ranks which
 *               meet in several parts never use a number twice
 *     spans     input and output move to where the part says, scratch moves
 *               behind the elements that the composition itself keeps there
 *     is_final  only where the part says so: the sum of some of the ranks is
 *               not final
 *
 * A rank runs its parts one after another; a part whose team it is not in has
 * no rounds for it. Ranks do not synchronize between parts: as in any plan,
 * data orders the steps. Parts that are each free of deadlock stay so together,
 * because no part waits for a later one. For the same reason all parts can use
 * the same scratch.
 *
 * Every rank composes the same parts in the same order. Composing is cheap and
 * is repeated for every query; nothing is cached.
 */

#ifndef ALGORITHMS_COMPOSITION_H
#define ALGORITHMS_COMPOSITION_H

#include <stddef.h>
#include <stdint.h>

#include "algorithms/team.h"
#include "plan/plan.h"

enum {
    COMPOSITION_PARTS = 3
};

/* Is the combination that ends the part also the last one of its block? */
enum composition_finality {
    COMPOSITION_PARTIAL,
    COMPOSITION_FINAL,
};

/* What one element of the part stands for in the whole plan. */
enum composition_element_unit {
    COMPOSITION_ELEMENT,
    /* All blocks that a member of the team represents (team_represented_ranks), in the
     * output. The algorithm must be a gather or an all-gather of one block per
     * member. Blocks that are not contiguous make several messages. */
    COMPOSITION_BLOCKS,
};

struct composition_part {
    const struct algorithm *algorithm;
    struct team team;
    /* The shape that the team sees; root is an index in the team.
     * composition_add_part() fills in size and rank. */
    struct plan_shape shape;
    /* Where element 0 of the part's input and output stands in the whole plan.
     * With COMPOSITION_BLOCKS, input is the rank's own block, and output is not
     * used. */
    struct plan_span input;
    struct plan_span output;
    enum composition_finality end;
    enum composition_element_unit unit;
    /* The part runs rounds [begin, end) of the algorithm; a larger end is
     * reduced to the algorithm's number of rounds. */
    uint32_t round_begin;
    uint32_t round_end;
};

struct composition {
    const struct plan_shape *shape; /* borrowed */
    /* Elements at the start of scratch that the parts' own scratch follows. */
    size_t n_kept;
    uint32_t n_parts;
    struct composition_part parts[COMPOSITION_PARTS];
};

/* Add a part. Before the first call, composition must be zeroed except for
 * shape. */
void
composition_add_part(struct composition *composition,
                     const struct composition_part *part);

/* Answer the queries of struct algorithm. composition_plan_round() appends the
 * round's steps to plan. */
uint32_t
composition_n_rounds(const struct composition *composition);
size_t
composition_n_scratch(const struct composition *composition);
void
composition_plan_round(const struct composition *composition,
                       struct plan *plan,
                       uint32_t round);

#endif
