/* tests/sim/plan_proof.c - proves an algorithm for all small shapes */

#include "plan_proof.h"

#include <stdio.h>

#include "base/error.h"
#include "check.h"

enum {
    /* Up to this size all that can vary does so, and under more schedules. */
    SIZE_MAX_FULL = 9,
    /* Above it a root is met with one count in so many. */
    COUNT_STRIDE = 7,
    /* One case in so many; a sanitizer looks for other things than proofs. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    CASE_STRIDE = 23,
#else
    CASE_STRIDE = 1,
#endif
};

const struct plan_case_counts plan_case_all_counts = {.first = 0, .stride = 1};

static size_t n_met;
static size_t n_cases;
static size_t n_schedules;

static void
prove(struct checker_case scenario)
{
    scenario.n_schedules = scenario.shape.size <= SIZE_MAX_FULL ? 4 : 1;
    scenario.seed = n_schedules;
    if (n_met++ % CASE_STRIDE > 0)
        return;
    n_cases++;
    n_schedules += scenario.n_schedules;
    if (checker_verify_algorithm(&scenario) == HOOP_OK)
        return;
    fail_msg("%s: size %u root %u count %zu %s granule %zu %s seed %llu: %s",
             scenario.algorithm->name, scenario.shape.size, scenario.shape.root,
             scenario.shape.count, scenario.shape.counts ? "uneven" : "even",
             scenario.shape.granule,
             scenario.shape.is_in_place ? "in place" : "out of place",
             (unsigned long long)scenario.seed, error_text());
}

struct checker_case
plan_case(const struct algorithm *algorithm, enum checker_collective goal)
{
    return (struct checker_case){
        .algorithm = algorithm,
        .goal = goal,
        .shape = {.granule = 1},
    };
}

void
plan_case_both_places(struct checker_case scenario)
{
    scenario.shape.is_in_place = false;
    prove(scenario);
    scenario.shape.is_in_place = true;
    prove(scenario);
}

/* In place or not, by turns. */
static void
prove_one_place(struct checker_case scenario)
{
    scenario.shape.is_in_place = n_met % 2 == 1;
    prove(scenario);
}

static void
prove_even(struct checker_case scenario,
           struct plan_case_counts counts,
           void (*prove_places)(struct checker_case))
{
    for (size_t count = counts.first; count <= PROOF_COUNT_MAX;
         count += counts.stride) {
        scenario.shape.count = count;
        prove_places(scenario);
    }
}

void
plan_case_even(struct checker_case scenario, struct plan_case_counts counts)
{
    prove_even(scenario, counts, plan_case_both_places);
}

static void
prove_uneven(struct checker_case scenario,
             struct plan_case_counts patterns,
             void (*prove_places)(struct checker_case))
{
    size_t counts[PROOF_SIZE_MAX];

    for (size_t pattern = patterns.first; pattern <= PROOF_COUNT_MAX;
         pattern += patterns.stride) {
        for (uint32_t rank = 0; rank < scenario.shape.size; rank++) {
            const size_t draw = (pattern * 7 + rank * 5 + rank * pattern) % 11;

            counts[rank] = draw < 4 ? 0 : draw - 3;
        }
        counts[pattern % scenario.shape.size] = pattern % 3 ? pattern : 0;
        scenario.shape.counts = counts;
        prove_places(scenario);
    }
}

void
plan_case_uneven(struct checker_case scenario, struct plan_case_counts patterns)
{
    prove_uneven(scenario, patterns, plan_case_both_places);
}

void
plan_case_blocks(struct checker_case scenario)
{
    const bool is_full = scenario.shape.size <= SIZE_MAX_FULL;

    prove_even(scenario, plan_case_all_counts,
               is_full ? plan_case_both_places : prove_one_place);
    prove_uneven(scenario, plan_case_all_counts,
                 is_full ? plan_case_both_places : prove_one_place);
}

void
plan_case_roots(struct checker_case scenario,
                void (*prove_counts)(struct checker_case,
                                     struct plan_case_counts))
{
    const bool is_full = scenario.shape.size <= SIZE_MAX_FULL;

    for (uint32_t root = 0; root < scenario.shape.size; root++) {
        const struct plan_case_counts some = {root % COUNT_STRIDE,
                                              COUNT_STRIDE};

        scenario.shape.root = root;
        prove_counts(scenario, is_full ? plan_case_all_counts : some);
    }
}

void
plan_case_report(void)
{
    printf("# %zu cases proved, %zu schedules run\n", n_cases, n_schedules);
}
