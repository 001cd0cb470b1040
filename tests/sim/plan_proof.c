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

const struct proof_counts proof_all_counts = {.first = 0, .stride = 1};

static size_t n_met;
static size_t n_cases;
static size_t n_schedules;

static void
prove(struct checker_case proof)
{
    proof.n_schedules = proof.shape.size <= SIZE_MAX_FULL ? 4 : 1;
    proof.seed = n_schedules;
    if (n_met++ % CASE_STRIDE > 0)
        return;
    n_cases++;
    n_schedules += proof.n_schedules;
    if (checker_prove(&proof) == HOOP_OK)
        return;
    fail_msg("%s: size %u root %u count %zu %s granule %zu %s seed %llu: %s",
             proof.algorithm->name, proof.shape.size, proof.shape.root,
             proof.shape.count, proof.shape.counts ? "uneven" : "even",
             proof.shape.granule,
             proof.shape.is_in_place ? "in place" : "out of place",
             (unsigned long long)proof.seed, error_text());
}

struct checker_case
proof_case(const struct algorithm *algorithm, enum checker_goal goal)
{
    return (struct checker_case){
        .algorithm = algorithm,
        .goal = goal,
        .shape = {.granule = 1},
    };
}

void
proof_both_places(struct checker_case proof)
{
    proof.shape.is_in_place = false;
    prove(proof);
    proof.shape.is_in_place = true;
    prove(proof);
}

/* In place or not, by turns. */
static void
prove_one_place(struct checker_case proof)
{
    proof.shape.is_in_place = n_met % 2 == 1;
    prove(proof);
}

static void
prove_even(struct checker_case proof,
           struct proof_counts counts,
           void (*prove_places)(struct checker_case))
{
    for (size_t count = counts.first; count <= PROOF_COUNT_MAX;
         count += counts.stride) {
        proof.shape.count = count;
        prove_places(proof);
    }
}

void
proof_even(struct checker_case proof, struct proof_counts counts)
{
    prove_even(proof, counts, proof_both_places);
}

static void
prove_uneven(struct checker_case proof,
             struct proof_counts patterns,
             void (*prove_places)(struct checker_case))
{
    size_t counts[PROOF_SIZE_MAX];

    for (size_t pattern = patterns.first; pattern <= PROOF_COUNT_MAX;
         pattern += patterns.stride) {
        for (uint32_t rank = 0; rank < proof.shape.size; rank++) {
            const size_t draw = (pattern * 7 + rank * 5 + rank * pattern) % 11;

            counts[rank] = draw < 4 ? 0 : draw - 3;
        }
        counts[pattern % proof.shape.size] = pattern % 3 ? pattern : 0;
        proof.shape.counts = counts;
        prove_places(proof);
    }
}

void
proof_uneven(struct checker_case proof, struct proof_counts patterns)
{
    prove_uneven(proof, patterns, proof_both_places);
}

void
proof_blocks(struct checker_case proof)
{
    const bool is_full = proof.shape.size <= SIZE_MAX_FULL;

    prove_even(proof, proof_all_counts,
               is_full ? proof_both_places : prove_one_place);
    prove_uneven(proof, proof_all_counts,
                 is_full ? proof_both_places : prove_one_place);
}

void
proof_roots(struct checker_case proof,
            void (*prove_counts)(struct checker_case, struct proof_counts))
{
    const bool is_full = proof.shape.size <= SIZE_MAX_FULL;

    for (uint32_t root = 0; root < proof.shape.size; root++) {
        const struct proof_counts some = {root % COUNT_STRIDE, COUNT_STRIDE};

        proof.shape.root = root;
        prove_counts(proof, is_full ? proof_all_counts : some);
    }
}

void
proof_report(void)
{
    printf("# %zu cases proved, %zu schedules run\n", n_cases, n_schedules);
}
