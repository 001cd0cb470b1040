/*
 * tests/sim/plan_fault_test.c - the checker finds every fault in every plan
 *
 * A mutated algorithm is the right one with one step of one rank dropped,
 * doubled, or sent elsewhere. Where the fault is stands in a global, for an
 * algorithm has no context. Then come faults of order that only some schedule
 * shows, and the trace V-24, which the seeds give for three ranks.
 */

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "check.h"
#include "plan/algorithms.h"
#include "plan/checker.h"
#include "plan/expectation.h"

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
};

static struct fault fault;
static size_t n_faults;

static uint32_t
faulty_n_rounds(const struct plan_shape *shape)
{
    return fault.algorithm->n_rounds(shape);
}

static size_t
faulty_n_scratch(const struct plan_shape *shape)
{
    return fault.algorithm->n_scratch ? fault.algorithm->n_scratch(shape) : 0;
}

static void
faulty_redirect(const struct plan_shape *shape, struct plan_step *step)
{
    uint32_t peer = step->peer;

    if (step->kind == PLAN_COPY || step->kind == PLAN_COMBINE ||
        shape->size < 3)
        return;
    do
        peer = (peer + 1) % shape->size;
    while (peer == shape->rank);
    step->peer = peer;
    fault.is_met = true;
}

static void
faulty_step(struct plan *plan,
            const struct plan_shape *shape,
            const struct plan_step *right)
{
    struct plan_step step = *right;

    switch (fault.kind) {
    case FAULT_DROP:
        fault.is_met = true;
        return;
    case FAULT_DOUBLE:
        fault.is_met = true;
        plan_add(plan, &step);
        break;
    case FAULT_REDIRECT:
        faulty_redirect(shape, &step);
        break;
    }
    plan_add(plan, &step);
}

static void
faulty_plan_round(struct plan *plan,
                  const struct plan_shape *shape,
                  uint32_t round)
{
    struct plan right = {0};

    fault.algorithm->plan_round(&right, shape, round);
    for (size_t i = 0; i < right.n_steps; i++) {
        if (shape->rank == fault.rank && round == fault.round &&
            i == fault.step)
            faulty_step(plan, shape, &right.steps[i]);
        else
            plan_add(plan, &right.steps[i]);
    }
    plan_deinit(&right);
}

static const struct algorithm algorithm_faulty = {
    .name = "faulty",
    .n_rounds = faulty_n_rounds,
    .plan_round = faulty_plan_round,
    .n_scratch = faulty_n_scratch,
};

static void
fault_check(struct checker_case proof)
{
    proof.algorithm = &algorithm_faulty;
    proof.n_schedules = 3;
    fault.is_met = false;

    const enum hoop_status status = checker_prove(&proof);

    if (!fault.is_met)
        return;
    n_faults++;
    if (status != HOOP_E_INTERNAL)
        fail_msg("%s, fault %d: size %u root %u count %zu, rank %u round %u "
                 "step %zu was not found",
                 fault.algorithm->name, (int)fault.kind, proof.shape.size,
                 proof.shape.root, proof.shape.count, fault.rank, fault.round,
                 fault.step);
}

static void
faults_of_round(const struct checker_case *proof)
{
    enum {
        STEPS_MAX = 4
    };

    for (int kind = FAULT_DROP; kind <= FAULT_REDIRECT; kind++) {
        fault.kind = (enum fault_kind)kind;
        for (fault.step = 0; fault.step < STEPS_MAX; fault.step++)
            fault_check(*proof);
    }
}

static void
faults_of_case(const struct checker_case *proof)
{
    for (fault.rank = 0; fault.rank < proof->shape.size; fault.rank++) {
        const struct plan_shape shape = expectation_shape(proof, fault.rank);
        const uint32_t n_rounds = proof->algorithm->n_rounds(&shape);
        for (fault.round = 0; fault.round < n_rounds; fault.round++)
            faults_of_round(proof);
    }
}

static void
faults_of_algorithm(const struct algorithm *algorithm, enum checker_goal goal)
{
    struct checker_case proof = {
        .algorithm = algorithm,
        .goal = goal,
        .shape = {.granule = 1},
    };

    fault.algorithm = algorithm;
    for (uint32_t size = 1; size <= 5; size++) {
        proof.shape.size = size;
        for (size_t count = 1; count <= 7; count += 3) {
            proof.shape.count = count;
            proof.shape.root = (uint32_t)count % size;
            proof.shape.is_in_place = false;
            faults_of_case(&proof);
            proof.shape.is_in_place = true;
            faults_of_case(&proof);
        }
    }
}

static void
faults_in_allreduce_ring_are_found(void **state)
{
    (void)state;
    faults_of_algorithm(&algorithm_allreduce_ring, CHECKER_ALLREDUCE);
}

static void
faults_in_allreduce_recursive_doubling_are_found(void **state)
{
    (void)state;
    faults_of_algorithm(&algorithm_allreduce_recursive_doubling,
                        CHECKER_ALLREDUCE);
}

static void
faults_in_reduce_scatter_ring_are_found(void **state)
{
    (void)state;
    faults_of_algorithm(&algorithm_reduce_scatter_ring, CHECKER_REDUCE_SCATTER);
}

static void
faults_in_allgather_ring_are_found(void **state)
{
    (void)state;
    faults_of_algorithm(&algorithm_allgather_ring, CHECKER_ALLGATHER);
}

static void
faults_in_allgather_bruck_are_found(void **state)
{
    (void)state;
    faults_of_algorithm(&algorithm_allgather_bruck, CHECKER_ALLGATHER);
}

static void
faults_in_broadcast_chain_are_found(void **state)
{
    (void)state;
    faults_of_algorithm(&algorithm_broadcast_chain, CHECKER_BROADCAST);
}

static void
faults_in_broadcast_binomial_are_found(void **state)
{
    (void)state;
    faults_of_algorithm(&algorithm_broadcast_binomial, CHECKER_BROADCAST);
}

static void
faults_in_reduce_chain_are_found(void **state)
{
    (void)state;
    faults_of_algorithm(&algorithm_reduce_chain, CHECKER_REDUCE);
}

static void
faults_in_reduce_binomial_are_found(void **state)
{
    (void)state;
    faults_of_algorithm(&algorithm_reduce_binomial, CHECKER_REDUCE);
}

static void
faults_in_gather_linear_are_found(void **state)
{
    (void)state;
    faults_of_algorithm(&algorithm_gather_linear, CHECKER_GATHER);
}

static void
faults_in_scatter_linear_are_found(void **state)
{
    (void)state;
    faults_of_algorithm(&algorithm_scatter_linear, CHECKER_SCATTER);
}

static void
faults_in_barrier_dissemination_are_found(void **state)
{
    (void)state;
    faults_of_algorithm(&algorithm_barrier_dissemination, CHECKER_BARRIER);
}

static void
faults_in_alltoall_pairwise_are_found(void **state)
{
    (void)state;
    faults_of_algorithm(&algorithm_alltoall_pairwise, CHECKER_ALLTOALL);
}

static void
faults_in_alltoallv_pairwise_are_found(void **state)
{
    static const size_t to_each[] = {2, 3, 1, 0, 1, 4, 5, 2, 1};
    static const size_t from_each[] = {2, 0, 5, 3, 1, 2, 1, 4, 1};
    struct checker_case proof = {
        .algorithm = &algorithm_alltoall_pairwise,
        .goal = CHECKER_ALLTOALL,
        .shape = {.size = 3, .granule = 1},
        .to_each = to_each,
        .from_each = from_each,
    };

    (void)state;
    fault.algorithm = proof.algorithm;
    faults_of_case(&proof);
    proof.shape.is_in_place = true;
    faults_of_case(&proof);
}

static void
faults_in_scan_chain_are_found(void **state)
{
    (void)state;
    faults_of_algorithm(&algorithm_scan_chain, CHECKER_SCAN);
}

static void
faults_in_exscan_chain_are_found(void **state)
{
    (void)state;
    faults_of_algorithm(&algorithm_exscan_chain, CHECKER_EXSCAN);
}

/*
 * Two ranks swap their buffers in place, first sending, then receiving: right
 * if the sockets buffer what is sent, a deadlock if they do not.
 */
static uint32_t
swap_n_rounds(const struct plan_shape *shape)
{
    (void)shape;
    return 2;
}

static void
swap_plan_round(struct plan *plan,
                const struct plan_shape *shape,
                uint32_t round)
{
    const struct plan_span all = {PLAN_OUTPUT, 0, shape->count};
    const uint32_t peer = 1 - shape->rank;

    if (round == 0)
        plan_send(plan, peer, 0, all);
    else
        plan_add(plan, &(struct plan_step){.kind = PLAN_REDUCE,
                                           .peer = peer,
                                           .from = all,
                                           .to = all,
                                           .is_final = true});
}

static void
receive_behind_the_send_of_its_peer_is_a_deadlock(void **state)
{
    static const struct algorithm algorithm = {
        .name = "swap",
        .n_rounds = swap_n_rounds,
        .plan_round = swap_plan_round,
    };
    struct checker_case proof = {
        .algorithm = &algorithm,
        .goal = CHECKER_ALLREDUCE,
        .shape = {.size = 2, .count = 5, .granule = 1, .is_in_place = true},
        .n_schedules = 1,
    };

    (void)state;
    /* Seeds 0, 1, 2: nothing, a byte, all is buffered. */
    assert_int_equal(checker_prove(&proof), HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "deadlock"));
    proof.seed = 2;
    assert_int_equal(checker_prove(&proof), HOOP_OK);
}

/* The all-reduce, but the first all-gather round sends another block: each
 * message fits, only the sums are wrong. */
static void
early_plan_round(struct plan *plan,
                 const struct plan_shape *shape,
                 uint32_t round)
{
    const size_t before = plan->n_steps;

    algorithm_allreduce_ring.plan_round(plan, shape, round);
    if (round + 1 != shape->size)
        return;
    for (size_t i = before; i < plan->n_steps; i++) {
        if (plan->steps[i].kind == PLAN_SEND)
            plan->steps[i].from.first =
                (plan->steps[i].from.first + 1) % (shape->count);
    }
}

static void
right_messages_of_wrong_blocks_are_found(void **state)
{
    struct algorithm algorithm = algorithm_allreduce_ring;
    const struct checker_case proof = {
        .algorithm = &algorithm,
        .goal = CHECKER_ALLREDUCE,
        .shape = {.size = 3, .count = 3, .granule = 1, .is_in_place = true},
        .n_schedules = 3,
    };

    (void)state;
    assert_int_equal(checker_prove(&proof), HOOP_OK);
    algorithm.plan_round = early_plan_round;
    assert_int_equal(checker_prove(&proof), HOOP_E_INTERNAL);
    assert_non_null(strstr(error_text(), "wrong at the end"));
}

/* An average that is divided in the wrong place, or not at all. */
static void
unfinal_plan_round(struct plan *plan,
                   const struct plan_shape *shape,
                   uint32_t round)
{
    algorithm_reduce_chain.plan_round(plan, shape, round);
    for (size_t i = 0; i < plan->n_steps; i++)
        plan->steps[i].is_final = !plan->steps[i].is_final;
}

static void
final_mark_on_the_wrong_steps_is_found(void **state)
{
    struct algorithm algorithm = algorithm_reduce_chain;
    struct checker_case proof = {
        .algorithm = &algorithm,
        .goal = CHECKER_REDUCE,
        .shape = {.size = 3, .count = 2, .granule = 1},
        .n_schedules = 1,
    };

    (void)state;
    algorithm.plan_round = unfinal_plan_round;
    assert_int_equal(checker_prove(&proof), HOOP_E_INTERNAL);
}

/* The block of three that a rank sends in a round. */
static size_t
block_sent(uint32_t rank, uint32_t round)
{
    const struct plan_shape shape = {
        .rank = rank, .size = 3, .count = 3, .granule = 1, .is_in_place = true};
    struct plan plan = {0};
    size_t block = SIZE_MAX;

    algorithm_allreduce_ring.plan_round(&plan, &shape, round);
    for (size_t i = 0; i < plan.n_steps; i++) {
        if (plan.steps[i].kind == PLAN_SEND)
            block = plan.steps[i].from.first;
    }
    plan_deinit(&plan);
    return block;
}

static void
allreduce_ring_three_ranks_follow_trace_v24(void **state)
{
    static const size_t trace[4][3] = {
        {2, 0, 1},
        {1, 2, 0}, /* reduce-scatter: r ends with block r */
        {0, 1, 2},
        {2, 0, 1}, /* all-gather */
    };

    (void)state;
    for (uint32_t round = 0; round < 4; round++) {
        for (uint32_t rank = 0; rank < 3; rank++)
            assert_int_equal(block_sent(rank, round), trace[round][rank]);
    }
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_in_allreduce_ring_are_found),
        cmocka_unit_test(faults_in_allreduce_recursive_doubling_are_found),
        cmocka_unit_test(faults_in_reduce_scatter_ring_are_found),
        cmocka_unit_test(faults_in_allgather_ring_are_found),
        cmocka_unit_test(faults_in_allgather_bruck_are_found),
        cmocka_unit_test(faults_in_broadcast_chain_are_found),
        cmocka_unit_test(faults_in_broadcast_binomial_are_found),
        cmocka_unit_test(faults_in_reduce_chain_are_found),
        cmocka_unit_test(faults_in_reduce_binomial_are_found),
        cmocka_unit_test(faults_in_gather_linear_are_found),
        cmocka_unit_test(faults_in_scatter_linear_are_found),
        cmocka_unit_test(faults_in_barrier_dissemination_are_found),
        cmocka_unit_test(faults_in_alltoall_pairwise_are_found),
        cmocka_unit_test(faults_in_alltoallv_pairwise_are_found),
        cmocka_unit_test(faults_in_scan_chain_are_found),
        cmocka_unit_test(faults_in_exscan_chain_are_found),
        cmocka_unit_test(receive_behind_the_send_of_its_peer_is_a_deadlock),
        cmocka_unit_test(right_messages_of_wrong_blocks_are_found),
        cmocka_unit_test(final_mark_on_the_wrong_steps_is_found),
        cmocka_unit_test(allreduce_ring_three_ranks_follow_trace_v24),
    };
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);

    printf("# %zu faults found\n", n_faults);
    return n_failed;
}
