/* tests/unit/worker/algorithms/binomial_test.c - algorithms/binomial.c */

#include "algorithms/binomial.h"
#include "check.h"

static const uint32_t size_max = 40;

static void
binomial_depth_is_the_rounded_up_logarithm(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 8, 9, 1024, 1025};
    static const uint32_t depths[] = {0, 1, 2, 2, 3, 3, 4, 10, 11};
    struct plan_shape shape = {.count = 1};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        shape.size = sizes[i];
        assert_int_equal(binomial_tree_depth(&shape), depths[i]);
    }
    shape.size = UINT32_MAX;
    assert_int_equal(binomial_tree_depth(&shape), 32);
}

/* The picture in binomial.h. */
static void
binomial_edges_of_six_around_three(void **state)
{
    const struct plan_shape three = {.rank = 3, .size = 6, .root = 3};
    const struct plan_shape four = {.rank = 4, .size = 6, .root = 3};

    assert_int_equal(binomial_edge_at(&three, 0).peer, 2);
    assert_int_equal(binomial_edge_at(&three, 1).peer, 0);
    assert_int_equal(binomial_edge_at(&three, 1).beyond.end, 2);
    assert_int_equal(binomial_edge_at(&three, 2).peer, 4);
    assert_int_equal(binomial_edge_at(&three, 2).beyond.end, 6);
    assert_int_equal(binomial_edge_at(&four, 0).end, BINOMIAL_PARENT_SIDE);
    assert_int_equal(binomial_edge_at(&four, 1).end, BINOMIAL_NO_EDGE);
    assert_int_equal(binomial_edge_at(&four, 2).end, BINOMIAL_CHILD_SIDE);
    assert_int_equal(binomial_edge_at(&four, 2).peer, 3);
}

/* The peer sees the same edge from its other end. */
static void
edge_check(const struct plan_shape *shape, uint32_t level)
{
    const struct binomial_edge edge = binomial_edge_at(shape, level);
    struct plan_shape peer = *shape;

    if (edge.end == BINOMIAL_NO_EDGE)
        return;
    peer.rank = edge.peer;

    const struct binomial_edge other = binomial_edge_at(&peer, level);

    assert_int_equal(other.peer, shape->rank);
    assert_int_equal(edge.end + other.end,
                     BINOMIAL_PARENT_SIDE + BINOMIAL_CHILD_SIDE);
    assert_int_equal(edge.beyond.first, other.beyond.first);
    assert_int_equal(edge.beyond.end, other.beyond.end);
    assert_false(edge.beyond.first <= shape->root &&
                 shape->root < edge.beyond.end);
}

/* How often a rank is at the far end; then no higher level may join it. */
static uint32_t
edges_check(const struct plan_shape *shape)
{
    uint32_t n_far = 0;

    for (uint32_t level = 0; level < binomial_tree_depth(shape); level++) {
        const enum binomial_edge_end end = binomial_edge_at(shape, level).end;

        edge_check(shape, level);
        assert_true(n_far == 0 || end == BINOMIAL_NO_EDGE);
        n_far += end == BINOMIAL_CHILD_SIDE ? 1 : 0;
    }
    return n_far;
}

static void
binomial_edges_join_each_rank_to_the_root_once(void **state)
{
    struct plan_shape shape = {.count = 1};

    for (shape.size = 1; shape.size <= size_max; shape.size++)
        for (shape.root = 0; shape.root < shape.size; shape.root++)
            for (shape.rank = 0; shape.rank < shape.size; shape.rank++)
                assert_int_equal(edges_check(&shape),
                                 shape.rank == shape.root ? 0 : 1);
}

/* A rank and what lies beyond its near ends, side by side. */
static void
subtree_check(const struct plan_shape *shape)
{
    const struct rank_range subtree = binomial_subtree(shape);
    uint32_t n_ranks = 1;

    for (uint32_t level = 0; level < binomial_tree_depth(shape); level++) {
        const struct binomial_edge edge = binomial_edge_at(shape, level);

        if (edge.end != BINOMIAL_PARENT_SIDE)
            continue;
        assert_true(edge.beyond.first >= subtree.first);
        assert_true(edge.beyond.end <= subtree.end);
        n_ranks += edge.beyond.end - edge.beyond.first;
    }
    assert_int_equal(subtree.end - subtree.first, n_ranks);
    assert_true(shape->rank == shape->root || subtree.first == shape->rank);
}

static void
binomial_subtree_is_neighbours_and_the_root_has_all(void **state)
{
    struct plan_shape shape = {.count = 1};

    for (shape.size = 1; shape.size <= size_max; shape.size++)
        for (shape.root = 0; shape.root < shape.size; shape.root++)
            for (shape.rank = 0; shape.rank < shape.size; shape.rank++)
                subtree_check(&shape);
    shape = (struct plan_shape){.rank = 5, .size = 7, .root = 5};
    assert_int_equal(binomial_subtree(&shape).first, 0);
    assert_int_equal(binomial_subtree(&shape).end, 7);
}

/* Scratch begins with the rank's own block, wherever that stands elsewhere. */
static void
binomial_blocks_begin_with_the_own_one_in_scratch(void **state)
{
    static const size_t counts[] = {3, 1, 2, 4, 0, 6};
    const struct rank_range last = {5, 6};
    struct plan_shape shape = {
        .rank = 4, .size = 6, .root = 3, .counts = counts};
    struct plan_span span = binomial_blocks_span(&shape, PLAN_OUTPUT, last);

    assert_int_equal(binomial_scratch_count(&shape), 6);
    assert_int_equal(span.buffer, PLAN_SCRATCH);
    assert_int_equal(span.first, 0);
    assert_int_equal(span.count, 6);
    shape.rank = 3;
    span = binomial_blocks_span(&shape, PLAN_OUTPUT, last);
    assert_int_equal(binomial_scratch_count(&shape), 0);
    assert_int_equal(span.buffer, PLAN_OUTPUT);
    assert_int_equal(span.first, 10);
    shape.rank = 5;
    assert_int_equal(binomial_scratch_count(&shape), 0);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(binomial_depth_is_the_rounded_up_logarithm),
        cmocka_unit_test(binomial_edges_of_six_around_three),
        cmocka_unit_test(binomial_edges_join_each_rank_to_the_root_once),
        cmocka_unit_test(binomial_subtree_is_neighbours_and_the_root_has_all),
        cmocka_unit_test(binomial_blocks_begin_with_the_own_one_in_scratch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
