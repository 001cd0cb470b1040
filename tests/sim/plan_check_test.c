/*
 * tests/sim/plan_check_test.c - every algorithm is proved for all small shapes
 *
 * Ranks 1 to 33, counts 0 to 40, in place and not, even and uneven blocks. The
 * collective is named by the argument, so that they are proved side by side.
 */

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "check.h"
#include "plan/algorithms.h"
#include "plan/checker.h"

enum {
    SIZE_MAX_PROVED = 33,
    COUNT_MAX_PROVED = 40,
    /* All roots up to this size, a few above. */
    SIZE_MAX_ALL_ROOTS = 9,
};

static size_t n_cases;
static size_t n_schedules;

static void
prove(struct checker_case proof)
{
    proof.n_schedules = proof.shape.size <= SIZE_MAX_ALL_ROOTS ? 4 : 1;
    proof.seed = n_schedules;
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

static void
prove_both_places(struct checker_case proof)
{
    proof.shape.is_in_place = false;
    prove(proof);
    proof.shape.is_in_place = true;
    prove(proof);
}

static void
prove_counts(struct checker_case proof)
{
    for (size_t count = 0; count <= COUNT_MAX_PROVED; count++) {
        proof.shape.count = count;
        prove_both_places(proof);
    }
}

static void
prove_roots(struct checker_case proof)
{
    const uint32_t size = proof.shape.size;
    const uint32_t stride = size <= SIZE_MAX_ALL_ROOTS ? 1 : size / 2;

    for (uint32_t root = 0; root < size; root += stride) {
        proof.shape.root = root;
        prove_counts(proof);
    }
    if (stride == 1)
        return;
    proof.shape.root = size - 1;
    prove_counts(proof);
}

/* Uneven blocks, many of them empty, one of them much larger. */
static void
prove_uneven(struct checker_case proof)
{
    size_t counts[SIZE_MAX_PROVED];

    for (size_t pattern = 0; pattern <= COUNT_MAX_PROVED; pattern++) {
        for (uint32_t rank = 0; rank < proof.shape.size; rank++) {
            const size_t draw = (pattern * 7 + rank * 5 + rank * pattern) % 11;

            counts[rank] = draw < 4 ? 0 : draw - 3;
        }
        counts[pattern % proof.shape.size] = pattern % 3 ? pattern : 0;
        proof.shape.counts = counts;
        prove_both_places(proof);
    }
}

static struct checker_case
case_of(const struct algorithm *algorithm, enum checker_goal goal)
{
    return (struct checker_case){
        .algorithm = algorithm,
        .goal = goal,
        .shape = {.granule = 1},
    };
}

static void
allreduce_ring_all_shapes_sums(void **state)
{
    struct checker_case proof =
        case_of(&algorithm_allreduce_ring, CHECKER_ALLREDUCE);

    (void)state;
    for (uint32_t size = 1; size <= SIZE_MAX_PROVED; size++) {
        proof.shape.size = size;
        proof.shape.granule = 1;
        prove_counts(proof);
        proof.shape.granule = 4;
        prove_counts(proof);
    }
}

static void
allreduce_recursive_doubling_all_shapes_sums(void **state)
{
    struct checker_case proof =
        case_of(&algorithm_allreduce_recursive_doubling, CHECKER_ALLREDUCE);

    (void)state;
    for (uint32_t size = 1; size <= SIZE_MAX_PROVED; size++) {
        proof.shape.size = size;
        prove_counts(proof);
    }
}

static void
reduce_scatter_ring_all_shapes_scatters(void **state)
{
    struct checker_case proof =
        case_of(&algorithm_reduce_scatter_ring, CHECKER_REDUCE_SCATTER);

    (void)state;
    for (uint32_t size = 1; size <= SIZE_MAX_PROVED; size++) {
        proof.shape.size = size;
        prove_counts(proof);
        prove_uneven(proof);
    }
}

static void
allgather_ring_all_shapes_gathers(void **state)
{
    struct checker_case proof =
        case_of(&algorithm_allgather_ring, CHECKER_ALLGATHER);

    (void)state;
    for (uint32_t size = 1; size <= SIZE_MAX_PROVED; size++) {
        proof.shape.size = size;
        prove_counts(proof);
        prove_uneven(proof);
    }
}

static void
allgather_bruck_all_shapes_gathers(void **state)
{
    struct checker_case proof =
        case_of(&algorithm_allgather_bruck, CHECKER_ALLGATHER);

    (void)state;
    for (uint32_t size = 1; size <= SIZE_MAX_PROVED; size++) {
        proof.shape.size = size;
        prove_counts(proof);
        prove_uneven(proof);
    }
}

static void
broadcast_chain_all_shapes_copies(void **state)
{
    struct checker_case proof =
        case_of(&algorithm_broadcast_chain, CHECKER_BROADCAST);

    (void)state;
    for (uint32_t size = 1; size <= SIZE_MAX_PROVED; size++) {
        proof.shape.size = size;
        prove_roots(proof);
    }
}

static void
reduce_chain_all_shapes_sums(void **state)
{
    struct checker_case proof =
        case_of(&algorithm_reduce_chain, CHECKER_REDUCE);

    (void)state;
    for (uint32_t size = 1; size <= SIZE_MAX_PROVED; size++) {
        proof.shape.size = size;
        prove_roots(proof);
    }
}

static void
barrier_dissemination_all_sizes_hears_all(void **state)
{
    struct checker_case proof =
        case_of(&algorithm_barrier_dissemination, CHECKER_BARRIER);

    (void)state;
    for (uint32_t size = 1; size <= 4 * SIZE_MAX_PROVED; size++) {
        proof.shape.size = size;
        prove_both_places(proof);
        prove_both_places(proof);
    }
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(allreduce_ring_all_shapes_sums),
        cmocka_unit_test(allreduce_recursive_doubling_all_shapes_sums),
        cmocka_unit_test(reduce_scatter_ring_all_shapes_scatters),
        cmocka_unit_test(allgather_ring_all_shapes_gathers),
        cmocka_unit_test(allgather_bruck_all_shapes_gathers),
        cmocka_unit_test(broadcast_chain_all_shapes_copies),
        cmocka_unit_test(reduce_chain_all_shapes_sums),
        cmocka_unit_test(barrier_dissemination_all_sizes_hears_all),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("# %zu cases proved, %zu schedules run\n", n_cases, n_schedules);
    return n_failed;
}
