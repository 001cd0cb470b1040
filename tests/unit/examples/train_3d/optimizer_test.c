/* tests/unit/examples/train_3d/optimizer_test.c - train_3d/optimizer.c */

#include "alone.h"
#include "check.h"
#include "train_3d/noise.h"
#include "train_3d/optimizer.h"

/* A model and its optimizer; gradients are invented. */
struct fixture {
    struct model model;
    struct optimizer optimizer;
    struct timeline timeline;
};

static void
fixture_init(struct fixture *fixture,
             enum optimizer_place place,
             hoop_comm_t *comm)
{
    const struct model_options model = {
        .dimensions =
            {
                .n_blocks = 2,
                .width = 8,
                .hidden = 12,
                .n_heads = 2,
                .n_positions = 5,
                .n_windows = 1,
                .n_parts = 1,
            },
        .comm = comm,
        .n_stages = 1,
        .n_chunks = 2,
        .n_micro_batches = 1,
    };
    const struct optimizer_options options = {place, comm, 0.1F};

    model_init(&fixture->model, &model);
    timeline_init(&fixture->timeline, 8);
    timeline_begin(&fixture->timeline);
    assert_int_equal(
        optimizer_init(&fixture->optimizer, &options, &fixture->model),
        HOOP_OK);
}

static void
fixture_deinit(struct fixture *fixture)
{
    optimizer_deinit(&fixture->optimizer);
    timeline_deinit(&fixture->timeline);
    model_deinit(&fixture->model);
}

static void
gradients_invent(struct model *model, uint64_t seed)
{
    for (size_t i = 0; i < model->n_parameters; i++) {
        const struct matrix gradient = model->parameters[i]->gradient;

        for (size_t j = 0; j < matrix_count(gradient); j++)
            gradient.at[j] =
                noise_signed((struct noise){seed, "gradient"}, 1000 * i + j);
    }
}

static void
fixture_step(struct fixture *fixture, uint64_t seed)
{
    gradients_invent(&fixture->model, seed);
    for (size_t i = fixture->model.options.n_chunks; i > 0; i--)
        assert_int_equal(
            optimizer_ready(&fixture->optimizer, &fixture->model.chunks[i - 1]),
            HOOP_OK);
    assert_int_equal(optimizer_step(&fixture->optimizer, &fixture->timeline),
                     HOOP_OK);
}

/* Alone, a shard is everything: to the bit. */
static void
optimizer_places_take_the_same_steps(void **state)
{
    struct fixture replicated;
    struct fixture sharded;

    fixture_init(&replicated, OPTIMIZER_REPLICATED, alone_comm(state));
    fixture_init(&sharded, OPTIMIZER_SHARDED, alone_comm(state));
    for (uint64_t seed = 1; seed <= 3; seed++) {
        fixture_step(&replicated, seed);
        fixture_step(&sharded, seed);
    }
    for (size_t i = 0; i < replicated.model.n_parameters; i++) {
        const struct matrix a = replicated.model.parameters[i]->value;
        const struct matrix b = sharded.model.parameters[i]->value;

        assert_memory_equal(a.at, b.at, matrix_count(a) * sizeof(float));
    }
    fixture_deinit(&replicated);
    fixture_deinit(&sharded);
}

static void
optimizer_first_step_is_the_rate_down_the_gradient(void **state)
{
    struct fixture fixture;

    fixture_init(&fixture, OPTIMIZER_REPLICATED, alone_comm(state));
    const struct parameter *parameter = fixture.model.parameters[0];
    const float before = parameter->value.at[3];
    fixture_step(&fixture, 1);
    const float moved = parameter->value.at[3] - before;
    const float slope = parameter->gradient.at[3];

    assert_true(moved * slope < 0);
    assert_true(moved * moved > 0.0099F && moved * moved < 0.0101F);
    assert_int_equal(fixture.timeline.n_events, 2);
    assert_int_equal(fixture.timeline.events[0].kind, EVENT_REDUCE);
    assert_int_equal(fixture.timeline.events[1].kind, EVENT_UPDATE);
    fixture_deinit(&fixture);
}

/* A step without the gradients of a chunk is refused. */
static void
optimizer_step_too_early_is_told(void **state)
{
    struct fixture fixture;

    fixture_init(&fixture, OPTIMIZER_REPLICATED, alone_comm(state));
    assert_int_equal(
        optimizer_ready(&fixture.optimizer, &fixture.model.chunks[1]), HOOP_OK);
    assert_int_equal(optimizer_step(&fixture.optimizer, &fixture.timeline),
                     HOOP_E_PRECONDITION);
    fixture_deinit(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimizer_places_take_the_same_steps),
        cmocka_unit_test(optimizer_first_step_is_the_rate_down_the_gradient),
        cmocka_unit_test(optimizer_step_too_early_is_told),
    };
    return cmocka_run_group_tests(tests, alone_setup, alone_teardown);
}
