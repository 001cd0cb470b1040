/*
 * tests/sim/plan_proof.h - proves an algorithm for all small shapes
 *
 * Ranks 1 to 33, counts 0 to 40, in place and not, even and uneven blocks, all
 * roots. A test that fails says for which shape.
 */

#ifndef TESTS_SIM_PLAN_PROOF_H
#define TESTS_SIM_PLAN_PROOF_H

#include <stddef.h>

#include "checker/checker.h"

enum {
    PROOF_SIZE_MAX = 33,
    PROOF_COUNT_MAX = 40,
};

/* Of the counts (or patterns of counts) from 0 to PROOF_COUNT_MAX. */
struct plan_case_counts {
    size_t first;
    size_t stride;
};

extern const struct plan_case_counts plan_case_all_counts;

/* Size, and what else the shape has, is the caller's to fill in. */
struct checker_case
plan_case(const struct algorithm *algorithm, enum checker_collective goal);

void
plan_case_both_places(struct checker_case scenario);
void
plan_case_even(struct checker_case scenario, struct plan_case_counts counts);
/* Uneven blocks, many of them empty, one of them much larger. */
void
plan_case_uneven(struct checker_case scenario, struct plan_case_counts counts);
/* All of either; at large sizes a case is in place or not, by turns. */
void
plan_case_blocks(struct checker_case scenario);
/* prove, for all roots: with all counts at small sizes; at large ones, where a
 * case costs more, each root with some counts and each count with some roots.
 */
void
plan_case_roots(struct checker_case scenario,
                void (*prove)(struct checker_case, struct plan_case_counts));

/* Say how much has been proved. */
void
plan_case_report(void);

#endif
