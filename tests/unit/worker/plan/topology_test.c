/* tests/unit/worker/plan/topology_test.c - plan/topology.c */

#include "check.h"
#include "plan/topology.h"

static void
ring_neighbours_wrap_around(void **state)
{
    const struct plan_shape first = {.rank = 0, .size = 5};
    const struct plan_shape last = {.rank = 4, .size = 5};
    const struct plan_shape alone = {.rank = 0, .size = 1};

    assert_int_equal(ring_next(&first), 1);
    assert_int_equal(ring_prev(&first), 4);
    assert_int_equal(ring_next(&last), 0);
    assert_int_equal(ring_prev(&last), 3);
    assert_int_equal(ring_next(&alone), 0);
    assert_int_equal(ring_prev(&alone), 0);
}

static void
ring_back_any_distance_counts_modulo_size(void **state)
{
    const struct plan_shape shape = {.rank = 1, .size = 3};

    assert_int_equal(ring_rank_before(&shape, 0), 1);
    assert_int_equal(ring_rank_before(&shape, 1), 0);
    assert_int_equal(ring_rank_before(&shape, 2), 2);
    assert_int_equal(ring_rank_before(&shape, 3), 1);
    assert_int_equal(ring_rank_before(&shape, 3001), 0);
}

static void
ring_side_own_is_left_at_rank_zero_only(void **state)
{
    struct plan_shape shape = {.size = 4};

    assert_int_equal(ring_operand_side(&shape), PLAN_OWN_IS_LEFT_OPERAND);
    for (shape.rank = 1; shape.rank < shape.size; shape.rank++)
        assert_int_equal(ring_operand_side(&shape),
                         PLAN_RECEIVED_IS_LEFT_OPERAND);
}

static void
doubling_count_is_log2_rounded_up(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 8, 9, 1024, 1025, 65536};
    static const uint32_t counts[] = {0, 1, 2, 2, 3, 3, 4, 10, 11, 16};
    struct plan_shape shape = {0};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        shape.size = sizes[i];
        assert_int_equal(doubling_round_count(&shape), counts[i]);
    }
    shape.size = UINT32_MAX;
    assert_int_equal(doubling_round_count(&shape), 32);
}

static void
fold_six_ranks_pair_the_first_four(void **state)
{
    static const bool is_active[] = {true, false, true, false, true, true};
    static const uint32_t partners[] = {1, 0, 3, 2, 4, 5};
    struct plan_shape shape = {.size = 6};

    assert_int_equal(fold_level_count(&shape), 2);
    for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
        assert_int_equal(fold_is_active(&shape), is_active[shape.rank]);
        assert_int_equal(fold_partner(&shape), partners[shape.rank]);
    }
    shape.rank = 2;
    assert_int_equal(fold_exchange_peer(&shape, 0), 0);
    assert_int_equal(fold_exchange_peer(&shape, 1), 5);
}

static void
fold_power_of_two_has_no_pairs(void **state)
{
    struct plan_shape shape = {.rank = 5, .size = 8};

    assert_int_equal(fold_level_count(&shape), 3);
    assert_true(fold_is_active(&shape));
    assert_int_equal(fold_partner(&shape), 5);
    assert_int_equal(fold_exchange_peer(&shape, 0), 4);
    assert_int_equal(fold_exchange_peer(&shape, 2), 1);
    shape = (struct plan_shape){.size = 1};
    assert_int_equal(fold_level_count(&shape), 0);
    assert_true(fold_is_active(&shape));
}

/* 2^levels are active, and each is its peer's peer. */
static void
fold_any_size_pairs_the_active_ranks(void **state)
{
    struct plan_shape shape = {0};

    for (shape.size = 1; shape.size <= 70; shape.size++) {
        const uint32_t levels = fold_level_count(&shape);
        uint32_t n_active = 0;

        for (shape.rank = 0; shape.rank < shape.size; shape.rank++) {
            n_active += fold_is_active(&shape) ? 1 : 0;
            for (uint32_t i = 0; i < levels && fold_is_active(&shape); i++) {
                struct plan_shape peer = shape;

                peer.rank = fold_exchange_peer(&shape, i);
                assert_true(peer.rank < shape.size);
                assert_true(fold_is_active(&peer));
                assert_int_equal(fold_exchange_peer(&peer, i), shape.rank);
            }
        }
        assert_int_equal(n_active, 1 << levels);
        assert_true(2 * n_active > shape.size);
    }
}

/* Blocks follow one another, end at count, begin on granules, and differ by
 * one granule at most. */
static void
cut_check(const struct plan_shape *shape)
{
    const size_t n_granules =
        (shape->count + shape->granule - 1) / shape->granule;
    size_t end = 0;

    for (uint32_t block = 0; block < shape->size; block++) {
        const struct plan_span span =
            partition_block_span(shape, PLAN_SCRATCH, block);

        assert_int_equal(span.buffer, PLAN_SCRATCH);
        assert_int_equal(span.first, end);
        if (span.count > 0)
            assert_int_equal(span.first % shape->granule, 0);
        assert_true(span.count <=
                    (n_granules / shape->size + 1) * shape->granule);
        end += span.count;
    }
    assert_int_equal(end, shape->count);
}

static void
block_cut_all_small_shapes_tile_the_buffer(void **state)
{
    struct plan_shape shape = {0};

    for (shape.size = 1; shape.size <= 9; shape.size++) {
        for (shape.count = 0; shape.count <= 100; shape.count++) {
            for (shape.granule = 1; shape.granule <= 64; shape.granule *= 4)
                cut_check(&shape);
        }
    }
}

static void
block_cut_largest_count_does_not_wrap(void **state)
{
    const struct plan_shape shape = {
        .size = 7, .count = SIZE_MAX / 16, .granule = 64};

    cut_check(&shape);
}

static void
block_cut_run_joins_neighbours(void **state)
{
    struct plan_shape shape = {.size = 5, .granule = 4};

    for (shape.count = 0; shape.count <= 50; shape.count++) {
        for (uint32_t first = 0; first < 5; first++) {
            size_t count = 0;

            for (uint32_t n = 0; n <= 5 - first; n++) {
                const struct plan_span run =
                    partition_block_run_span(&shape, PLAN_OUTPUT, first, n);

                assert_int_equal(run.count, count);
                assert_int_equal(
                    run.first,
                    partition_block_span(&shape, PLAN_OUTPUT, first).first);
                if (first + n < 5)
                    count +=
                        partition_block_span(&shape, PLAN_OUTPUT, first + n)
                            .count;
            }
        }
    }
}

static void
block_given_even_is_count_for_each(void **state)
{
    const struct plan_shape shape = {.size = 3, .count = 5};
    const struct plan_span span = caller_block_span(&shape, PLAN_INPUT, 2);

    assert_int_equal(span.buffer, PLAN_INPUT);
    assert_int_equal(span.first, 10);
    assert_int_equal(span.count, 5);
    assert_int_equal(caller_block_max_count(&shape), 5);
}

static void
block_given_uneven_follows_the_counts(void **state)
{
    static const size_t counts[] = {3, 0, 9, 2};
    static const size_t firsts[] = {0, 3, 3, 12};
    const struct plan_shape shape = {.size = 4, .count = 77, .counts = counts};

    for (uint32_t block = 0; block < 4; block++) {
        const struct plan_span span =
            caller_block_span(&shape, PLAN_OUTPUT, block);

        assert_int_equal(span.first, firsts[block]);
        assert_int_equal(span.count, counts[block]);
    }
    assert_int_equal(caller_block_max_count(&shape), 9);
}

static void
block_received_follows_the_other_counts(void **state)
{
    const size_t counts[] = {1, 1, 1};
    const size_t recv_counts[] = {4, 0, 3};
    struct plan_shape shape = {.size = 3, .count = 2};

    assert_int_equal(recv_block_span(&shape, PLAN_OUTPUT, 2).first, 4);
    assert_int_equal(recv_block_span(&shape, PLAN_OUTPUT, 2).count, 2);
    shape.counts = counts;
    shape.recv_counts = recv_counts;
    assert_int_equal(recv_block_span(&shape, PLAN_OUTPUT, 1).count, 0);
    assert_int_equal(recv_block_span(&shape, PLAN_OUTPUT, 2).first, 4);
    assert_int_equal(recv_block_span(&shape, PLAN_OUTPUT, 2).count, 3);
}

static void
block_given_run_joins_neighbours(void **state)
{
    static const size_t counts[] = {3, 0, 9, 2};
    struct plan_shape shape = {.size = 4, .count = 77, .counts = counts};

    for (uint32_t first = 0; first < 4; first++) {
        size_t count = 0;

        for (uint32_t n = 0; n <= 4 - first; n++) {
            const struct plan_span run =
                caller_block_run_span(&shape, PLAN_SCRATCH, first, n);

            assert_int_equal(run.buffer, PLAN_SCRATCH);
            assert_int_equal(run.count, count);
            if (n > 0)
                assert_int_equal(
                    run.first,
                    caller_block_span(&shape, PLAN_SCRATCH, first).first);
            count += first + n < 4 ? counts[first + n] : 0;
        }
    }
    shape.counts = NULL;
    assert_int_equal(caller_block_run_span(&shape, PLAN_OUTPUT, 1, 3).count,
                     231);
    assert_int_equal(caller_block_run_span(&shape, PLAN_OUTPUT, 1, 3).first,
                     77);
}

static void
block_whole_is_all_elements(void **state)
{
    const struct plan_shape shape = {.size = 4, .count = 77};
    const struct plan_span span = whole_buffer_span(&shape, PLAN_OUTPUT);

    assert_int_equal(span.buffer, PLAN_OUTPUT);
    assert_int_equal(span.first, 0);
    assert_int_equal(span.count, 77);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_neighbours_wrap_around),
        cmocka_unit_test(ring_back_any_distance_counts_modulo_size),
        cmocka_unit_test(ring_side_own_is_left_at_rank_zero_only),
        cmocka_unit_test(doubling_count_is_log2_rounded_up),
        cmocka_unit_test(fold_six_ranks_pair_the_first_four),
        cmocka_unit_test(fold_power_of_two_has_no_pairs),
        cmocka_unit_test(fold_any_size_pairs_the_active_ranks),
        cmocka_unit_test(block_cut_all_small_shapes_tile_the_buffer),
        cmocka_unit_test(block_cut_largest_count_does_not_wrap),
        cmocka_unit_test(block_cut_run_joins_neighbours),
        cmocka_unit_test(block_given_even_is_count_for_each),
        cmocka_unit_test(block_given_uneven_follows_the_counts),
        cmocka_unit_test(block_received_follows_the_other_counts),
        cmocka_unit_test(block_given_run_joins_neighbours),
        cmocka_unit_test(block_whole_is_all_elements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
