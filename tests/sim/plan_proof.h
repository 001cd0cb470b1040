/*
 * tests/sim/plan_proof.h - proves an algorithm for all small shapes
 *
 * The shapes have 1 to 33 ranks, counts from 0 to 40, even and uneven blocks,
 * and all roots, in place and not. A test that fails prints the shape.
 */

#ifndef TESTS_SIM_PLAN_PROOF_H
#define TESTS_SIM_PLAN_PROOF_H

#include <stddef.h>

#include "checker/checker.h"

enum {
    PROOF_SIZE_MAX = 33,
    PROOF_COUNT_MAX = 40,
};

/* This selects counts, or patterns of counts, from 0 to PROOF_COUNT_MAX. */
struct plan_case_counts {
    size_t first;
    size_t stride;
};

extern const struct plan_case_counts plan_case_all_counts;

/* The caller fills in the size and whatever else the shape has. */
struct checker_case
plan_case(const struct algorithm *algorithm, enum checker_collective goal);

void
plan_case_both_places(struct checker_case scenario);
void
plan_case_even(struct checker_case scenario, struct plan_case_counts counts);
/* The blocks are uneven: many are empty, and one is much larger. */
void
plan_case_uneven(struct checker_case scenario, struct plan_case_counts counts);
/* Runs all even and uneven cases. At large sizes they alternate between in
 * place and not. */
void
plan_case_blocks(struct checker_case scenario);
/* Calls prove for all roots: at small sizes with all counts, and at large ones,
 * where a case costs more, each root with some counts and each count with some
 * roots. */
void
plan_case_roots(struct checker_case scenario,
                void (*prove)(struct checker_case, struct plan_case_counts));

/* Prints how much has been proved. */
void
plan_case_report(void);

#endif
