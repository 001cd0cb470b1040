/*
 * plan/composition.h - a plan made of other plans, each played by some ranks
 *
 * A part is an algorithm that a team of ranks (plan/team.h) runs among itself.
 * The algorithm is asked for its steps as if its team were all there is; then
 * these are fitted into the whole:
 *
 *     peer      a place in the team -> the rank there
 *     message   * COMPOSITION_PARTS + the part's number: ranks that meet in
 *               several parts never share a number
 *     spans     input and output -> where the part says; scratch -> behind what
 *               the whole keeps there for itself
 *     is_final  only where the part says so: a sum of some ranks is not
 *               finished
 *
 * A rank plays its parts one after another, those of teams that it is not in
 * have no rounds for it. Between ranks nothing is in step: as ever, data orders
 * what happens, and the parts, each being sound alone, cannot lock up, for no
 * part waits for a later one. That is also why they may share their scratch.
 *
 * Every rank composes the same parts in the same order. To compose is cheap,
 * and done anew for every question; nothing is kept.
 */

#ifndef PLAN_COMPOSITION_H
#define PLAN_COMPOSITION_H

#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"
#include "plan/team.h"

enum {
    COMPOSITION_PARTS = 3
};

/* Is a combination that ends the part the last one of its block? */
enum composition_end {
    COMPOSITION_PARTIAL,
    COMPOSITION_FINAL,
};

/* What an element of the part is in the whole. */
enum composition_unit {
    COMPOSITION_ELEMENT,
    /* All given blocks that a member of the team stands for (team_share), in
     * output; the algorithm gathers, each having one. Where they are not side
     * by side, a message becomes several. */
    COMPOSITION_BLOCKS,
};

struct composition_part {
    const struct algorithm *algorithm;
    struct team team;
    /* As the team sees it; root is a place. size and rank are filled in. */
    struct plan_shape shape;
    /* Where element 0 of the part's buffers stands. Of blocks, input is the
     * rank's own block, and output plays no part. */
    struct plan_span input;
    struct plan_span output;
    enum composition_end end;
    enum composition_unit unit;
    /* Of the algorithm's rounds, [begin, end); an end beyond is cut. */
    uint32_t round_begin;
    uint32_t round_end;
};

struct composition {
    const struct plan_shape *shape; /* borrowed */
    size_t n_kept;                  /* elements of scratch that parts leave */
    uint32_t n_parts;
    struct composition_part parts[COMPOSITION_PARTS];
};

/* composition has its shape and is else zeroed. */
void
composition_add(struct composition *composition,
                const struct composition_part *part);

/* What struct algorithm asks for; the plan's new steps are at its end. */
uint32_t
composition_n_rounds(const struct composition *composition);
size_t
composition_n_scratch(const struct composition *composition);
void
composition_plan_round(const struct composition *composition,
                       struct plan *plan,
                       uint32_t round);

#endif
