/*
 * tests/unit/examples/train_3d/trainer_test.c - train_3d/trainer.c and stage.c
 *
 * On one rank; what several do, train_3d_test.c sees.
 */

#include "alone.h"
#include "check.h"
#include "train_3d/trainer.h"

enum {
    STEPS = 12,
};

static const unsigned char bytes[] =
    "the cat sat on the mat. the cat sat on the mat. the cat sat on the mat.";
static const struct text text = {(unsigned char *)bytes, sizeof(bytes) - 1};

static struct trainer_options
options_make(enum hoop_schedule_kind schedule, uint32_t n_chunks)
{
    return (struct trainer_options){
        .sizes = {1, 1, 1},
        .dimensions =
            {
                .n_blocks = 2,
                .width = 16,
                .hidden = 16,
                .n_heads = 2,
                .n_positions = 12,
                .n_windows = 2,
                .seed = 1,
            },
        .schedule = schedule,
        .n_chunks = n_chunks,
        .n_micro_batches = 3,
        .rate = 0.03F,
    };
}

/* The losses of some steps. */
static void
losses_of(void **state,
          const struct trainer_options *options,
          double out_losses[static STEPS])
{
    const struct axes axes = {
        .world = alone_comm(state),
        .data = alone_comm(state),
        .tensor = alone_comm(state),
        .pipeline = alone_comm(state),
    };
    struct trainer trainer;

    assert_int_equal(trainer_init(&trainer, options, &axes, &text), HOOP_OK);
    for (size_t i = 0; i < STEPS; i++)
        assert_int_equal(trainer_step(&trainer, &out_losses[i]), HOOP_OK);

    const struct trainer_times *times = &trainer.times;
    assert_true(times->compute_ns <= times->schedule_ns);
    assert_true(times->schedule_ns <= times->total_ns);
    /* Forward and backward of each micro-batch, and what follows them. */
    assert_true(trainer.timeline.n_events >=
                2 * (size_t)options->n_micro_batches * options->n_chunks + 2);
    trainer_deinit(&trainer);
}

static void
trainer_learns_a_sentence(void **state)
{
    const struct trainer_options options = options_make(HOOP_1F1B, 1);
    double losses[STEPS];

    losses_of(state, &options, losses);
    assert_true(losses[0] > 4.5);
    assert_true(losses[STEPS - 1] < losses[0] - 1);
}

/* Micro-batches go backward in one order whatever the schedule: to the bit. */
static void
trainer_loss_does_not_depend_on_the_schedule(void **state)
{
    const struct trainer_options others[] = {options_make(HOOP_GPIPE, 1),
                                             options_make(HOOP_INTERLEAVED, 2)};
    const struct trainer_options options = options_make(HOOP_1F1B, 1);
    double losses[STEPS];

    losses_of(state, &options, losses);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        double same[STEPS];

        losses_of(state, &others[i], same);
        assert_memory_equal(losses, same, sizeof(losses));
    }
}

static void
trainer_of_another_seed_has_another_loss(void **state)
{
    const struct trainer_options options = options_make(HOOP_1F1B, 1);
    struct trainer_options other = options;
    double losses[STEPS];
    double different[STEPS];

    other.dimensions.seed = 2;
    losses_of(state, &options, losses);
    losses_of(state, &other, different);
    assert_true(losses[0] != different[0]);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trainer_learns_a_sentence),
        cmocka_unit_test(trainer_loss_does_not_depend_on_the_schedule),
        cmocka_unit_test(trainer_of_another_seed_has_another_loss),
    };
    return cmocka_run_group_tests(tests, alone_setup, alone_teardown);
}
