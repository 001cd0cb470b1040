/*
 * tests/sim/plan_proof.h - proves an algorithm for all small shapes
 *
 * Ranks 1 to 33, counts 0 to 40, in place and not, even and uneven blocks, all
 * roots. A test that fails says for which shape.
 */

#ifndef TESTS_SIM_PLAN_PROOF_H
#define TESTS_SIM_PLAN_PROOF_H

#include <stddef.h>

#include "plan/checker.h"

enum {
    PROOF_SIZE_MAX = 33,
    PROOF_COUNT_MAX = 40,
};

/* Of the counts (or patterns of counts) from 0 to PROOF_COUNT_MAX. */
struct proof_counts {
    size_t first;
    size_t stride;
};

extern const struct proof_counts proof_all_counts;

/* Size, and what else the shape has, is the caller's to fill in. */
struct checker_case
proof_case(const struct algorithm *algorithm, enum checker_goal goal);

void
proof_both_places(struct checker_case proof);
void
proof_even(struct checker_case proof, struct proof_counts counts);
/* Uneven blocks, many of them empty, one of them much larger. */
void
proof_uneven(struct checker_case proof, struct proof_counts counts);
/* All of either; at large sizes a case is in place or not, by turns. */
void
proof_blocks(struct checker_case proof);
/* prove, for all roots: with all counts at small sizes; at large ones, where a
 * case costs more, each root with some counts and each count with some roots.
 */
void
proof_roots(struct checker_case proof,
            void (*prove)(struct checker_case, struct proof_counts));

/* Say how much has been proved. */
void
proof_report(void);

#endif
