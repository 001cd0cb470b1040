/* tests/unit/worker/algorithms/gather_binomial_test.c - algorithms/gather_binomial.c */

#include "algorithms/algorithms.h"
#include "check.h"

static const struct algorithm *const binomial = &algorithm_gather_binomial;
static const size_t counts[] = {3, 1, 2, 4, 0, 6};

/* All steps of one rank of six, root 3: the picture in gather_binomial.c. */
static struct plan_shape
binomial_plan(struct plan *plan, uint32_t rank)
{
    const struct plan_shape shape = {
        .rank = rank, .size = 6, .root = 3, .counts = counts};

    plan_clear(plan);
    for (uint32_t round = 0; round < binomial->n_rounds(&shape); round++)
        binomial->plan_round(plan, &shape, round);
    return shape;
}

static void
gather_binomial_root_takes_blocks_to_their_places(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = binomial_plan(&plan, 3);

    (void)state;
    assert_int_equal(binomial->n_rounds(&shape), 3);
    assert_int_equal(binomial->n_scratch(&shape), 0);
    assert_int_equal(plan.n_steps, 4);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[0].to.first, 6);
    assert_int_equal(plan.steps[1].peer, 2);
    assert_int_equal(plan.steps[1].to.first, 4);
    assert_int_equal(plan.steps[1].to.count, 2);
    assert_int_equal(plan.steps[2].peer, 0);
    assert_int_equal(plan.steps[2].to.first, 0);
    assert_int_equal(plan.steps[2].to.count, 4);
    assert_int_equal(plan.steps[3].peer, 4);
    assert_int_equal(plan.steps[3].to.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[3].to.first, 10);
    assert_int_equal(plan.steps[3].to.count, 6);
    plan_deinit(&plan);
}

static void
gather_binomial_middle_keeps_blocks_behind_its_own(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = binomial_plan(&plan, 0);

    (void)state;
    assert_int_equal(binomial->n_scratch(&shape), 4);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[0].to.first, 0);
    assert_int_equal(plan.steps[0].to.count, 3);
    assert_int_equal(plan.steps[1].kind, PLAN_STORE);
    assert_int_equal(plan.steps[1].to.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[1].to.first, 3);
    assert_int_equal(plan.steps[1].to.count, 1);
    assert_int_equal(plan.steps[2].kind, PLAN_SEND);
    assert_int_equal(plan.steps[2].from.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[2].from.count, 4);
    plan_deinit(&plan);
}

static void
gather_binomial_leaf_sends_its_own(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = binomial_plan(&plan, 5);

    (void)state;
    assert_int_equal(binomial->n_scratch(&shape), 0);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[0].peer, 4);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[0].from.count, 6);
    plan_deinit(&plan);
}

/* All that ranks of one size send; every message is one. */
static size_t
elements_sent(uint32_t size, uint32_t root, size_t *out_n_messages)
{
    struct plan_shape shape = {.size = size, .root = root, .count = 1};
    size_t n_elements = 0;
    size_t n_messages = 0;

    for (shape.rank = 0; shape.rank < size; shape.rank++) {
        struct plan plan = {0};

        for (uint32_t i = 0; i < binomial->n_rounds(&shape); i++)
            binomial->plan_round(&plan, &shape, i);
        for (size_t i = 0; i < plan.n_steps; i++) {
            if (plan.steps[i].kind != PLAN_SEND)
                continue;
            n_elements += plan.steps[i].from.count;
            n_messages++;
        }
        plan_deinit(&plan);
    }
    *out_n_messages = n_messages;
    return n_elements;
}

/* Of 2^k ranks, half of the blocks cross each level. */
static void
gather_binomial_each_level_carries_half_of_the_blocks(void **state)
{
    size_t n_messages = 0;

    (void)state;
    for (uint32_t root = 0; root < 16; root++) {
        assert_int_equal(elements_sent(16, root, &n_messages), 4 * 8);
        assert_int_equal(n_messages, 15);
    }
    assert_true(elements_sent(33, 20, &n_messages) < 6 * 33 / 2);
    assert_int_equal(n_messages, 32);
}

static const struct algorithm *const linear = &algorithm_gather_linear;
static const size_t gather_linear_counts[] = {3, 0, 2, 4};

static struct plan_shape
linear_plan(struct plan *plan, uint32_t rank, bool is_in_place)
{
    const struct plan_shape shape = {
        .rank = rank,
        .size = 4,
        .root = 2,
        .is_in_place = is_in_place,
        .counts = gather_linear_counts,
    };

    plan_clear(plan);
    for (uint32_t round = 0; round < linear->n_rounds(&shape); round++)
        linear->plan_round(plan, &shape, round);
    return shape;
}

static void
gather_linear_root_takes_blocks_to_their_places(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = linear_plan(&plan, 2, false);

    (void)state;
    assert_int_equal(linear->n_rounds(&shape), 3);
    /* Its own, those of 3 and 0; 1 has nothing. */
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[0].from.first, 0);
    assert_int_equal(plan.steps[0].to.first, 3);
    assert_int_equal(plan.steps[1].kind, PLAN_STORE);
    assert_int_equal(plan.steps[1].peer, 3);
    assert_int_equal(plan.steps[1].to.first, 5);
    assert_int_equal(plan.steps[1].to.count, 4);
    assert_int_equal(plan.steps[2].peer, 0);
    assert_int_equal(plan.steps[2].to.first, 0);
    plan_deinit(&plan);
}

static void
gather_linear_others_send_their_block_at_once(void **state)
{
    struct plan plan = {0};
    struct plan_shape shape = linear_plan(&plan, 3, false);

    (void)state;
    assert_int_equal(linear->n_rounds(&shape), 1);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[0].peer, 2);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[0].from.first, 0);
    assert_int_equal(plan.steps[0].from.count, 4);
    shape = linear_plan(&plan, 1, false);
    assert_int_equal(plan.n_steps, 0);
    plan_deinit(&plan);
}

/* The root's block is in its place, the others' is at the beginning. */
static void
gather_linear_in_place_copies_nothing(void **state)
{
    struct plan plan = {0};

    (void)state;
    linear_plan(&plan, 2, true);
    assert_int_equal(plan.n_steps, 2);
    assert_int_equal(plan.steps[0].kind, PLAN_STORE);
    linear_plan(&plan, 3, true);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[0].from.first, 0);
    plan_deinit(&plan);
}

static const struct algorithm *const scatter_binomial_binomial =
    &algorithm_scatter_binomial;
/* All steps of one rank of six, root 3: the picture in scatter_binomial.c. */
static struct plan_shape
scatter_binomial_binomial_plan(struct plan *plan,
                               uint32_t rank,
                               bool is_in_place)
{
    const struct plan_shape shape = {
        .rank = rank,
        .size = 6,
        .root = 3,
        .is_in_place = is_in_place,
        .counts = counts,
    };

    plan_clear(plan);
    for (uint32_t round = 0;
         round < scatter_binomial_binomial->n_rounds(&shape); round++)
        scatter_binomial_binomial->plan_round(plan, &shape, round);
    return shape;
}

static void
scatter_binomial_root_sends_the_larger_part_first(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape =
        scatter_binomial_binomial_plan(&plan, 3, false);

    (void)state;
    assert_int_equal(scatter_binomial_binomial->n_rounds(&shape), 3);
    assert_int_equal(scatter_binomial_binomial->n_scratch(&shape), 0);
    assert_int_equal(plan.n_steps, 4);
    assert_int_equal(plan.steps[0].kind, PLAN_SEND);
    assert_int_equal(plan.steps[0].peer, 4);
    assert_int_equal(plan.steps[0].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[0].from.first, 10);
    assert_int_equal(plan.steps[0].from.count, 6);
    assert_int_equal(plan.steps[1].peer, 0);
    assert_int_equal(plan.steps[1].from.first, 0);
    assert_int_equal(plan.steps[1].from.count, 4);
    assert_int_equal(plan.steps[2].kind, PLAN_COPY);
    assert_int_equal(plan.steps[2].from.first, 6);
    assert_int_equal(plan.steps[2].to.first, 0);
    assert_int_equal(plan.steps[3].peer, 2);
    plan_deinit(&plan);
}

static void
scatter_binomial_in_place_root_writes_nothing(void **state)
{
    struct plan plan = {0};

    (void)state;
    scatter_binomial_binomial_plan(&plan, 3, true);
    assert_int_equal(plan.n_steps, 3);
    for (size_t i = 0; i < plan.n_steps; i++) {
        assert_int_equal(plan.steps[i].kind, PLAN_SEND);
        assert_int_equal(plan.steps[i].from.buffer, PLAN_OUTPUT);
    }
    plan_deinit(&plan);
}

static void
scatter_binomial_middle_takes_its_part_and_sends_the_rest(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape =
        scatter_binomial_binomial_plan(&plan, 0, false);

    (void)state;
    assert_int_equal(scatter_binomial_binomial->n_scratch(&shape), 4);
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].kind, PLAN_STORE);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_SCRATCH);
    assert_int_equal(plan.steps[0].to.count, 4);
    assert_int_equal(plan.steps[1].kind, PLAN_COPY);
    assert_int_equal(plan.steps[1].from.first, 0);
    assert_int_equal(plan.steps[1].from.count, 3);
    assert_int_equal(plan.steps[1].to.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[2].kind, PLAN_SEND);
    assert_int_equal(plan.steps[2].peer, 1);
    assert_int_equal(plan.steps[2].from.first, 3);
    assert_int_equal(plan.steps[2].from.count, 1);
    plan_deinit(&plan);
}

static void
scatter_binomial_leaf_takes_its_block_to_the_beginning(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape =
        scatter_binomial_binomial_plan(&plan, 5, true);

    (void)state;
    assert_int_equal(scatter_binomial_binomial->n_scratch(&shape), 0);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_STORE);
    assert_int_equal(plan.steps[0].peer, 4);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[0].to.first, 0);
    assert_int_equal(plan.steps[0].to.count, 6);
    plan_deinit(&plan);
}

/* What is passed on, and the own block with it. */
static void
scatter_binomial_scratch_is_the_part_of_a_rank(void **state)
{
    static const size_t parts[] = {0, 0, 2, 0, 4, 0, 2, 0};
    struct plan_shape shape = {.size = 8, .count = 5};

    (void)state;
    for (shape.rank = 0; shape.rank < shape.size; shape.rank++)
        assert_int_equal(scatter_binomial_binomial->n_scratch(&shape),
                         5 * parts[shape.rank]);
}

static const struct algorithm *const scatter_linear_linear =
    &algorithm_scatter_linear;
static const size_t scatter_linear_counts[] = {3, 0, 2, 4};

static struct plan_shape
scatter_linear_linear_plan(struct plan *plan, uint32_t rank, bool is_in_place)
{
    const struct plan_shape shape = {
        .rank = rank,
        .size = 4,
        .root = 2,
        .is_in_place = is_in_place,
        .counts = scatter_linear_counts,
    };

    plan_clear(plan);
    for (uint32_t round = 0; round < scatter_linear_linear->n_rounds(&shape);
         round++)
        scatter_linear_linear->plan_round(plan, &shape, round);
    return shape;
}

static void
scatter_linear_root_sends_each_its_block(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = scatter_linear_linear_plan(&plan, 2, false);

    (void)state;
    assert_int_equal(scatter_linear_linear->n_rounds(&shape), 3);
    /* Its own, those of 3 and 0; 1 gets nothing. */
    assert_int_equal(plan.n_steps, 3);
    assert_int_equal(plan.steps[0].kind, PLAN_COPY);
    assert_int_equal(plan.steps[0].from.first, 3);
    assert_int_equal(plan.steps[0].to.first, 0);
    assert_int_equal(plan.steps[1].kind, PLAN_SEND);
    assert_int_equal(plan.steps[1].peer, 3);
    assert_int_equal(plan.steps[1].from.buffer, PLAN_INPUT);
    assert_int_equal(plan.steps[1].from.first, 5);
    assert_int_equal(plan.steps[1].from.count, 4);
    assert_int_equal(plan.steps[2].peer, 0);
    assert_int_equal(plan.steps[2].from.first, 0);
    plan_deinit(&plan);
}

static void
scatter_linear_others_take_their_block_to_the_beginning(void **state)
{
    struct plan plan = {0};
    const struct plan_shape shape = scatter_linear_linear_plan(&plan, 3, true);

    (void)state;
    assert_int_equal(scatter_linear_linear->n_rounds(&shape), 1);
    assert_int_equal(plan.n_steps, 1);
    assert_int_equal(plan.steps[0].kind, PLAN_STORE);
    assert_int_equal(plan.steps[0].peer, 2);
    assert_int_equal(plan.steps[0].to.buffer, PLAN_OUTPUT);
    assert_int_equal(plan.steps[0].to.first, 0);
    assert_int_equal(plan.steps[0].to.count, 4);
    plan_deinit(&plan);
}

static void
scatter_linear_in_place_root_writes_nothing(void **state)
{
    struct plan plan = {0};

    (void)state;
    scatter_linear_linear_plan(&plan, 2, true);
    assert_int_equal(plan.n_steps, 2);
    for (size_t i = 0; i < plan.n_steps; i++) {
        assert_int_equal(plan.steps[i].kind, PLAN_SEND);
        assert_int_equal(plan.steps[i].from.buffer, PLAN_OUTPUT);
    }
    plan_deinit(&plan);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gather_binomial_root_takes_blocks_to_their_places),
        cmocka_unit_test(gather_binomial_middle_keeps_blocks_behind_its_own),
        cmocka_unit_test(gather_binomial_leaf_sends_its_own),
        cmocka_unit_test(gather_binomial_each_level_carries_half_of_the_blocks),
        cmocka_unit_test(gather_linear_root_takes_blocks_to_their_places),
        cmocka_unit_test(gather_linear_others_send_their_block_at_once),
        cmocka_unit_test(gather_linear_in_place_copies_nothing),
        cmocka_unit_test(scatter_binomial_root_sends_the_larger_part_first),
        cmocka_unit_test(scatter_binomial_in_place_root_writes_nothing),
        cmocka_unit_test(
            scatter_binomial_middle_takes_its_part_and_sends_the_rest),
        cmocka_unit_test(
            scatter_binomial_leaf_takes_its_block_to_the_beginning),
        cmocka_unit_test(scatter_binomial_scratch_is_the_part_of_a_rank),
        cmocka_unit_test(scatter_linear_root_sends_each_its_block),
        cmocka_unit_test(
            scatter_linear_others_take_their_block_to_the_beginning),
        cmocka_unit_test(scatter_linear_in_place_root_writes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
