/* tests/unit/worker/plan/actor_test.c - plan/actor.c */

#include "check.h"
#include "plan/actor.h"
#include "plan/algorithms.h"

static const struct checker_case sum_of_two = {
    .algorithm = &algorithm_reduce_chain,
    .goal = CHECKER_REDUCE,
    .shape = {.size = 2, .count = 1, .granule = 1},
};

struct stage {
    struct ledger ledger;
    struct actor cast[2];
    uint64_t bytes[2];
};

static void
stage_start(struct stage *stage)
{
    assert_int_equal(ledger_build(&stage->ledger, &sum_of_two), HOOP_OK);
    stage->ledger.sends.messages[0].bytes = stage->bytes;
    for (uint32_t rank = 0; rank < 2; rank++) {
        struct actor *actor = &stage->cast[rank];

        *actor = (struct actor){.proof = &sum_of_two,
                                .ledger = &stage->ledger,
                                .cast = stage->cast,
                                .rank = rank};
        assert_int_equal(actor_init(actor), HOOP_OK);
        actor_reset(actor);
    }
}

static void
stage_stop(struct stage *stage)
{
    for (uint32_t rank = 0; rank < 2; rank++)
        actor_deinit(&stage->cast[rank]);
    ledger_deinit(&stage->ledger);
}

static struct track *
actor_first(struct actor *actor)
{
    assert_int_equal(actor_refill(actor), HOOP_OK);
    assert_int_equal(actor->tracker.n_active, 1);
    return TAILQ_FIRST(&actor->tracker.active);
}

/* Rank 1 sends, the root combines. */
static void
actor_move_without_buffer_waits_for_both_sides(void **state)
{
    const struct actor_pace pace = {.move_bytes_max = 9};
    struct stage stage = {0};

    (void)state;
    stage_start(&stage);
    struct track *send = actor_first(&stage.cast[1]);
    assert_int_equal(actor_move(&stage.cast[1], send, &pace), 0);
    actor_first(&stage.cast[0]);
    assert_int_equal(actor_move(&stage.cast[1], send, &pace), 2);
    assert_true(tracker_is_done(&stage.cast[0].tracker));
    assert_true(tracker_is_done(&stage.cast[1].tracker));
    assert_int_equal(actor_check(&stage.cast[0]), HOOP_OK);
    assert_int_equal(actor_check(&stage.cast[1]), HOOP_OK);
    stage_stop(&stage);
}

static void
actor_move_half_an_element_is_not_combined(void **state)
{
    const struct actor_pace pace = {.move_bytes_max = 9,
                                    .socket_buffer_bytes = 1};
    struct stage stage = {0};

    (void)state;
    stage_start(&stage);
    struct track *send = actor_first(&stage.cast[1]);
    struct track *reduce = actor_first(&stage.cast[0]);
    assert_int_equal(actor_move(&stage.cast[0], reduce, &pace), 0);
    assert_int_equal(actor_move(&stage.cast[1], send, &pace), 1);
    assert_int_equal(actor_move(&stage.cast[1], send, &pace), 0);
    assert_int_equal(actor_move(&stage.cast[0], reduce, &pace), 1);
    assert_int_equal(reduce->done, 0);
    assert_int_equal(actor_move(&stage.cast[1], send, &pace), 1);
    assert_int_equal(actor_move(&stage.cast[0], reduce, &pace), 1);
    assert_int_equal(actor_check(&stage.cast[0]), HOOP_OK);
    stage_stop(&stage);
}

static void
actor_check_before_the_end_is_refused(void **state)
{
    struct stage stage = {0};

    (void)state;
    stage_start(&stage);
    assert_int_equal(actor_check(&stage.cast[0]), HOOP_E_INTERNAL);
    stage_stop(&stage);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(actor_move_without_buffer_waits_for_both_sides),
        cmocka_unit_test(actor_move_half_an_element_is_not_combined),
        cmocka_unit_test(actor_check_before_the_end_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
