/* tests/checker/vrank_test.c - checker/vrank.c */

#include "algorithms/algorithms.h"
#include "check.h"
#include "checker/vrank.h"

static const struct checker_case sum_of_two = {
    .algorithm = &algorithm_reduce_chain,
    .goal = CHECKER_REDUCE,
    .shape = {.size = 2, .count = 1, .granule = 1},
};

struct stage {
    struct checker_messages checker_messages;
    struct vrank vranks[2];
    uint64_t bytes[2];
};

static void
stage_start(struct stage *stage)
{
    assert_ok(checker_messages_build(&stage->checker_messages, &sum_of_two));
    stage->checker_messages.sends.messages[0].bytes = stage->bytes;
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct vrank *vrank = &stage->vranks[rank];

        *vrank = (struct vrank){.scenario = &sum_of_two,
                                .checker_messages = &stage->checker_messages,
                                .vranks = stage->vranks,
                                .rank = rank};
        assert_ok(vrank_init(vrank));
        vrank_reset(vrank);
    }
}

static void
stage_stop(struct stage *stage)
{
    for (uint32_t rank = 0; rank < 2; rank++)
        vrank_deinit(&stage->vranks[rank]);
    checker_messages_deinit(&stage->checker_messages);
}

static struct tracked_step *
vrank_first(struct vrank *vrank)
{
    assert_ok(vrank_activate_steps(vrank));
    assert_int_equal(vrank->tracker.n_active, 1);
    return TAILQ_FIRST(&vrank->tracker.active);
}

/* Rank 1 sends, the root combines. */
static void
vrank_move_without_buffer_waits_for_both_sides(void **state)
{
    const struct vrank_move_limits pace = {.move_bytes_max = 9};
    struct stage stage = {0};

    stage_start(&stage);
    struct tracked_step *send = vrank_first(&stage.vranks[1]);
    assert_int_equal(vrank_advance_step(&stage.vranks[1], send, &pace), 0);
    vrank_first(&stage.vranks[0]);
    assert_int_equal(vrank_advance_step(&stage.vranks[1], send, &pace), 2);
    assert_true(tracker_is_done(&stage.vranks[0].tracker));
    assert_true(tracker_is_done(&stage.vranks[1].tracker));
    assert_ok(vrank_check_result(&stage.vranks[0]));
    assert_ok(vrank_check_result(&stage.vranks[1]));
    stage_stop(&stage);
}

static void
vrank_move_half_an_element_is_not_combined(void **state)
{
    const struct vrank_move_limits pace = {.move_bytes_max = 9,
                                           .socket_buffer_bytes = 1};
    struct stage stage = {0};

    stage_start(&stage);
    struct tracked_step *send = vrank_first(&stage.vranks[1]);
    struct tracked_step *reduce = vrank_first(&stage.vranks[0]);
    assert_int_equal(vrank_advance_step(&stage.vranks[0], reduce, &pace), 0);
    assert_int_equal(vrank_advance_step(&stage.vranks[1], send, &pace), 1);
    assert_int_equal(vrank_advance_step(&stage.vranks[1], send, &pace), 0);
    assert_int_equal(vrank_advance_step(&stage.vranks[0], reduce, &pace), 1);
    assert_int_equal(reduce->done, 0);
    assert_int_equal(vrank_advance_step(&stage.vranks[1], send, &pace), 1);
    assert_int_equal(vrank_advance_step(&stage.vranks[0], reduce, &pace), 1);
    assert_ok(vrank_check_result(&stage.vranks[0]));
    stage_stop(&stage);
}

static void
vrank_check_before_the_end_is_refused(void **state)
{
    struct stage stage = {0};

    stage_start(&stage);
    assert_int_equal(vrank_check_result(&stage.vranks[0]), HOOP_E_INTERNAL);
    stage_stop(&stage);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(vrank_move_without_buffer_waits_for_both_sides),
        cmocka_unit_test(vrank_move_half_an_element_is_not_combined),
        cmocka_unit_test(vrank_check_before_the_end_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
