/*
 * tests/sim/plan_fault_test.c - the checker finds every fault in every plan
 *
 * A mutated algorithm is the right one with one step of one rank dropped,
 * doubled, or sent elsewhere. Where the fault is stands in a global, for an
 * algorithm has no context. The algorithms are those of the registry.
 */

#include <stdio.h>

#include "algorithms/algorithms.h"
#include "algorithms/registry.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "checker/checker.h"
#include "checker/expectation.h"
#include "plan/nodes.h"

enum fault_kind {
    FAULT_DROP,
    FAULT_DOUBLE,
    FAULT_REDIRECT,
};

struct fault {
    const struct algorithm *algorithm;
    enum fault_kind kind;
    uint32_t rank;
    uint32_t round;
    size_t step;
    bool is_met; /* the plan has that step, and can be faulty so */
    bool is_in_barrier;
};

/* One fault in so many; a sanitizer looks for others than those of plans. */
enum {
#if defined(__SANITIZE_ADDRESS__)
    FAULT_STRIDE = 7,
#else
    FAULT_STRIDE = 1,
#endif
};

static struct fault fault;
static size_t n_tried;
static size_t n_faults;

static uint32_t
faulty_n_rounds(const struct plan_shape *shape)
{
    return algorithm_n_rounds(fault.algorithm, shape);
}

static size_t
faulty_n_scratch(const struct plan_shape *shape)
{
    return algorithm_n_scratch(fault.algorithm, shape);
}

static void
faulty_redirect(const struct plan_shape *shape, struct plan_step *step)
{
    uint32_t peer = step->peer;

    if (step->kind == PLAN_COPY || step->kind == PLAN_COMBINE ||
        step->kind == PLAN_POST_TO_SLOT || step->kind == PLAN_EXPOSE ||
        shape->size < 3)
        return;
    do
        peer = (peer + 1) % shape->size;
    while (peer == shape->rank);
    step->peer = peer;
    fault.is_met = true;
}

static bool
is_await(const struct plan_step *step)
{
    return step->kind == PLAN_FETCH && step->to.count == 0;
}

/* plan_add_step() would leave out what awaits and has no elements. */
static void
step_add(struct plan *plan, const struct plan_step *step)
{
    if (is_await(step))
        plan_add_await(plan, step->peer);
    else
        plan_add_step(plan, step);
}

static void
faulty_step(struct plan *plan,
            const struct plan_shape *shape,
            const struct plan_step *right)
{
    struct plan_step step = *right;

    /* Elsewhere no result depends on it, but who hears of other calls. */
    if (is_await(right) && !fault.is_in_barrier) {
        step_add(plan, right);
        return;
    }
    switch (fault.kind) {
    case FAULT_DROP:
        fault.is_met = true;
        return;
    case FAULT_DOUBLE:
        fault.is_met = true;
        step_add(plan, &step);
        break;
    case FAULT_REDIRECT:
        faulty_redirect(shape, &step);
        break;
    }
    step_add(plan, &step);
}

static void
faulty_plan_round(struct plan *plan,
                  const struct plan_shape *shape,
                  uint32_t round)
{
    struct plan right = {0};

    algorithm_plan_round(fault.algorithm, &right, shape, round);
    for (size_t i = 0; i < right.n_steps; i++) {
        if (shape->rank == fault.rank && round == fault.round &&
            i == fault.step)
            faulty_step(plan, shape, &right.steps[i]);
        else
            step_add(plan, &right.steps[i]);
    }
    plan_deinit(&right);
}

static struct algorithm algorithm_faulty = {
    .name = "faulty",
    .n_rounds = faulty_n_rounds,
    .plan_round = faulty_plan_round,
    .n_scratch = faulty_n_scratch,
};

static void
fault_check(struct checker_case scenario)
{
    if (n_tried++ % FAULT_STRIDE > 0)
        return;
    algorithm_faulty.is_shm = fault.algorithm->is_shm;
    scenario.algorithm = &algorithm_faulty;
    scenario.n_schedules = 3;
    fault.is_met = false;

    const enum hoop_status status = checker_verify_algorithm(&scenario);

    if (!fault.is_met)
        return;
    n_faults++;
    if (status != HOOP_E_INTERNAL)
        fail_msg("%s, fault %d: size %u root %u count %zu, rank %u round %u "
                 "step %zu was not found",
                 fault.algorithm->name, (int)fault.kind, scenario.shape.size,
                 scenario.shape.root, scenario.shape.count, fault.rank,
                 fault.round, fault.step);
}

static void
faults_of_round(const struct checker_case *scenario)
{
    enum {
        STEPS_MAX = 4
    };

    for (int kind = FAULT_DROP; kind <= FAULT_REDIRECT; kind++) {
        fault.kind = (enum fault_kind)kind;
        for (fault.step = 0; fault.step < STEPS_MAX; fault.step++)
            fault_check(*scenario);
    }
}

static void
faults_of_case(const struct checker_case *scenario)
{
    for (fault.rank = 0; fault.rank < scenario->shape.size; fault.rank++) {
        const struct plan_shape shape =
            expectation_shape_of_rank(scenario, fault.rank);
        const uint32_t n_rounds =
            algorithm_n_rounds(scenario->algorithm, &shape);
        for (fault.round = 0; fault.round < n_rounds; fault.round++)
            faults_of_round(scenario);
    }
}

/* Roots and counts change together. */
static void
faults_of_counts(struct checker_case scenario)
{
    for (size_t count = 1; count <= 7; count += 3) {
        scenario.shape.count = count;
        scenario.shape.root = (uint32_t)count % scenario.shape.size;
        scenario.shape.is_in_place = false;
        faults_of_case(&scenario);
        scenario.shape.is_in_place = true;
        faults_of_case(&scenario);
    }
}

static void
faults_of_entry(const struct registry_algorithm *entry,
                enum checker_collective goal)
{
    static const size_t uneven[] = {2, 0, 3, 1, 4};
    /* Four ranks are on two equal nodes, five are not; in no order. */
    static const uint32_t node_names[COUNT_OF(uneven)] = {0, 1, 1, 0, 2};
    const bool has_counts = registry_is_blockwise(entry->collective) &&
                            !entry->is_even_only && goal != CHECKER_ALLTOALL;
    struct checker_case scenario = {
        .algorithm = entry->algorithm,
        .goal = goal,
        .shape = {.granule = 1,
                  .slot_capacity =
                      entry->algorithm->is_shm ? COUNT_OF(uneven) : 0,
                  .has_cma = entry->algorithm->is_direct},
    };

    fault.algorithm = entry->algorithm;
    fault.is_in_barrier = goal == CHECKER_BARRIER;
    for (uint32_t size = 1; size <= COUNT_OF(uneven); size++) {
        struct plan_nodes *nodes = NULL;

        assert_ok(plan_nodes_create(node_names, size, &nodes));
        scenario.shape.size = size;
        scenario.shape.nodes = entry->needs_nodes ? nodes : NULL;
        scenario.shape.counts = NULL;
        faults_of_counts(scenario);
        scenario.shape.counts = uneven;
        if (has_counts)
            faults_of_counts(scenario);
        plan_nodes_destroy(nodes);
    }
}

/* At least one algorithm, and faults in each. */
static void
faults_of_collective(enum collective_kind collective,
                     enum checker_collective goal)
{
    size_t n_entries = 0;
    const struct registry_algorithm *entries =
        registry_collective_entries(collective, &n_entries);

    assert_int_not_equal(n_entries, 0);
    for (size_t i = 0; i < n_entries; i++) {
        const size_t n_before = n_faults;

        faults_of_entry(&entries[i], goal);
        assert_int_not_equal(n_faults, n_before);
    }
}

static void
faults_in_allreduce_are_found(void **state)
{
    faults_of_collective(COLLECTIVE_ALLREDUCE, CHECKER_ALLREDUCE);
}

static void
faults_in_reduce_are_found(void **state)
{
    faults_of_collective(COLLECTIVE_REDUCE, CHECKER_REDUCE);
}

static void
faults_in_broadcast_are_found(void **state)
{
    faults_of_collective(COLLECTIVE_BROADCAST, CHECKER_BROADCAST);
}

static void
faults_in_allgather_are_found(void **state)
{
    faults_of_collective(COLLECTIVE_ALLGATHER, CHECKER_ALLGATHER);
}

static void
faults_in_reduce_scatter_are_found(void **state)
{
    faults_of_collective(COLLECTIVE_REDUCE_SCATTER, CHECKER_REDUCE_SCATTER);
}

static void
faults_in_gather_are_found(void **state)
{
    faults_of_collective(COLLECTIVE_GATHER, CHECKER_GATHER);
}

static void
faults_in_scatter_are_found(void **state)
{
    faults_of_collective(COLLECTIVE_SCATTER, CHECKER_SCATTER);
}

static void
faults_in_alltoall_are_found(void **state)
{
    faults_of_collective(COLLECTIVE_ALLTOALL, CHECKER_ALLTOALL);
}

static void
faults_in_alltoallv_are_found(void **state)
{
    static const size_t to_each[] = {2, 3, 1, 0, 1, 4, 5, 2, 1};
    static const size_t from_each[] = {2, 0, 5, 3, 1, 2, 1, 4, 1};
    struct checker_case scenario = {
        .algorithm = &algorithm_alltoall_pairwise,
        .goal = CHECKER_ALLTOALL,
        .shape = {.size = 3, .granule = 1},
        .to_each = to_each,
        .from_each = from_each,
    };

    fault.algorithm = scenario.algorithm;
    faults_of_case(&scenario);
    scenario.shape.is_in_place = true;
    faults_of_case(&scenario);
}

static void
faults_in_scan_are_found(void **state)
{
    faults_of_collective(COLLECTIVE_SCAN, CHECKER_SCAN);
}

static void
faults_in_exscan_are_found(void **state)
{
    faults_of_collective(COLLECTIVE_EXSCAN, CHECKER_EXSCAN);
}

static void
faults_in_barrier_are_found(void **state)
{
    faults_of_collective(COLLECTIVE_BARRIER, CHECKER_BARRIER);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_in_allreduce_are_found),
        cmocka_unit_test(faults_in_reduce_are_found),
        cmocka_unit_test(faults_in_broadcast_are_found),
        cmocka_unit_test(faults_in_allgather_are_found),
        cmocka_unit_test(faults_in_reduce_scatter_are_found),
        cmocka_unit_test(faults_in_gather_are_found),
        cmocka_unit_test(faults_in_scatter_are_found),
        cmocka_unit_test(faults_in_alltoall_are_found),
        cmocka_unit_test(faults_in_alltoallv_are_found),
        cmocka_unit_test(faults_in_scan_are_found),
        cmocka_unit_test(faults_in_exscan_are_found),
        cmocka_unit_test(faults_in_barrier_are_found),
    };
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);

    printf("# %zu faults found\n", n_faults);
    return n_failed;
}
