/* tests/unit/examples/train_3d/optimizer_test.c - train_3d/optimizer.c and
 * the files beside it */

#include <math.h>

#include "alone.h"
#include "check.h"
#include "train_3d/adam.h"
#include "train_3d/noise.h"
#include "train_3d/optimizer.h"
#include "train_3d/parameter.h"
#include "train_3d/region.h"

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
    assert_ok(optimizer_init(&fixture->optimizer, &options, &fixture->model));
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
        assert_ok(optimizer_ready(&fixture->optimizer,
                                  &fixture->model.chunks[i - 1]));
    assert_ok(optimizer_step(&fixture->optimizer, &fixture->timeline));
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
    assert_ok(optimizer_ready(&fixture.optimizer, &fixture.model.chunks[1]));
    assert_int_equal(optimizer_step(&fixture.optimizer, &fixture.timeline),
                     HOOP_E_PRECONDITION);
    fixture_deinit(&fixture);
}

/* These cases test train_3d/adam.c. */

/* The first step is the rate, whatever the gradient's size. */
static void
adam_first_step_is_the_rate(void **state)
{
    const float gradients[] = {100, -0.01F, 0};
    float values[] = {1, 1, 1};
    struct adam adam;

    adam_init(&adam, 3, 0.5F);
    adam_step(
        &adam, 1,
        &(struct adam_part){.n = 3, .gradients = gradients, .values = values});
    assert_true(fabsf(values[0] - 0.5F) < 1e-4F);
    assert_true(fabsf(values[1] - 1.5F) < 1e-4F);
    assert_true(values[2] == 1);
    adam_deinit(&adam);
}

/* All at once, or in two parts: the same, to the bit. */
static void
adam_parts_make_the_whole(void **state)
{
    const float gradients[] = {1, -2, 3};
    float whole[] = {0, 0, 0};
    float parts[] = {0, 0, 0};
    struct adam a;
    struct adam b;

    adam_init(&a, 3, 0.1F);
    adam_init(&b, 3, 0.1F);
    for (size_t step = 1; step <= 3; step++) {
        adam_step(&a, step, &(struct adam_part){0, 3, gradients, whole});
        adam_step(&b, step,
                  &(struct adam_part){1, 2, &gradients[1], &parts[1]});
        adam_step(&b, step, &(struct adam_part){0, 1, gradients, parts});
    }
    assert_memory_equal(whole, parts, sizeof(whole));
    adam_deinit(&a);
    adam_deinit(&b);
    adam_deinit(&b);
}

static void
adam_finds_the_lowest_point(void **state)
{
    float value = 3;
    struct adam adam;

    adam_init(&adam, 1, 0.05F);
    for (size_t step = 1; step <= 500; step++) {
        const float gradient = 2 * (value - 1);

        adam_step(&adam, step, &(struct adam_part){0, 1, &gradient, &value});
    }
    assert_true(fabsf(value - 1) < 0.05F);
    adam_deinit(&adam);
}

/* These cases test train_3d/parameter.c. */

static struct parameter
part_make(struct span rows, struct span columns)
{
    struct parameter parameter;

    parameter_init(&parameter, &(struct parameter_options){
                                   .name = "weights",
                                   .seed = 3,
                                   .rows = rows,
                                   .columns = columns,
                                   .reach = 0.5F,
                               });
    return parameter;
}

/* However the whole of 6 x 4 is cut, an element begins with its own value. */
static void
parameter_parts_are_those_of_the_whole(void **state)
{
    struct parameter whole = part_make(span_all(6), span_all(4));

    assert_true(whole.is_whole);
    for (size_t part = 0; part < 2; part++) {
        struct parameter rows = part_make(span_part(6, part, 2), span_all(4));
        struct parameter columns =
            part_make(span_all(6), span_part(4, part, 2));

        assert_false(rows.is_whole);
        assert_false(columns.is_whole);
        for (size_t i = 0; i < 12; i++) {
            assert_true(rows.value.at[i] == whole.value.at[12 * part + i]);
            assert_true(columns.value.at[i] ==
                        whole.value.at[i / 2 * 4 + 2 * part + i % 2]);
        }
        parameter_deinit(&rows);
        parameter_deinit(&columns);
    }
    parameter_deinit(&whole);
}

static void
parameter_values_are_around_the_middle(void **state)
{
    struct parameter gain;

    parameter_init(&gain, &(struct parameter_options){
                              .name = "",
                              .rows = span_all(1),
                              .columns = span_all(3),
                              .middle = 1,
                          });
    for (size_t i = 0; i < 3; i++) {
        assert_true(gain.value.at[i] == 1);
        assert_true(gain.gradient.at[i] == 0);
    }
    parameter_deinit(&gain);
    parameter_deinit(&gain);
}

/*
 * These cases test train_3d/region.c.
 *
 * On one rank; what regions of several ranks do, train_3d_test.c sees.
 */

typedef enum hoop_status
region_fn(struct region *region, struct matrix from, struct matrix to);

/* Alone, all rows are mine: every way in or out is a copy. */
static void
region_of_one_rank_copies(void **state)
{
    static region_fn *const ways[] = {region_enter, region_leave,
                                      region_leave_backward,
                                      region_enter_backward};
    struct region region = {.comm = alone_comm(state)};
    float from[] = {1, 2, 3, 4, 5, 6};

    for (size_t i = 0; i < 2 * sizeof(ways) / sizeof(ways[0]); i++) {
        float to[6] = {0};

        region.rows = i % 2 == 0 ? ROWS_SEQUENCE_PARALLEL : ROWS_REPLICATED;
        assert_ok(ways[i / 2](&region, (struct matrix){from, 3, 2},
                              (struct matrix){to, 3, 2}));
        assert_memory_equal(to, from, sizeof(from));
    }
    assert_true(region.wait_ns > 0);
}

/* Rows that cannot come from here are hoop's to refuse. */
static void
region_of_other_sizes_is_refused(void **state)
{
    struct region region = {.comm = alone_comm(state)};
    float from[6] = {0};
    float to[8] = {0};

    assert_int_equal(region_enter(&region, (struct matrix){from, 3, 2},
                                  (struct matrix){to, 4, 2}),
                     HOOP_E_INVALID);
}

/* These cases test train_3d/noise.c. */

enum {
    N = 10000,
};

static void
noise_is_a_function_of_seed_name_and_index(void **state)
{
    const struct noise noise = {1, "a"};

    assert_true(noise_signed(noise, 5) ==
                noise_signed((struct noise){1, "a"}, 5));
    assert_true(noise_signed(noise, 5) != noise_signed(noise, 6));
    assert_true(noise_signed(noise, 5) !=
                noise_signed((struct noise){2, "a"}, 5));
    assert_true(noise_signed(noise, 5) !=
                noise_signed((struct noise){1, "b"}, 5));
}

static void
noise_signed_fills_its_range_evenly(void **state)
{
    const struct noise noise = {7, "even"};
    double sum = 0;
    double squares = 0;

    for (size_t i = 0; i < N; i++) {
        const double value = (double)noise_signed(noise, i);

        assert_true(value >= -1 && value < 1);
        sum += value;
        squares += value * value;
    }
    assert_true(fabs(sum / N) < 0.03);
    assert_true(fabs(squares / N - 1.0 / 3) < 0.02);
}

static void
noise_below_reaches_all_and_no_more(void **state)
{
    const struct noise noise = {7, "below"};
    size_t n_of[5] = {0};

    for (size_t i = 0; i < N; i++) {
        const size_t value = noise_below(noise, i, 5);

        assert_true(value < 5);
        n_of[value]++;
    }
    for (size_t i = 0; i < 5; i++)
        assert_in_range(n_of[i], N / 5 - 200, N / 5 + 200);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimizer_places_take_the_same_steps),
        cmocka_unit_test(optimizer_first_step_is_the_rate_down_the_gradient),
        cmocka_unit_test(optimizer_step_too_early_is_told),
        cmocka_unit_test(adam_first_step_is_the_rate),
        cmocka_unit_test(adam_parts_make_the_whole),
        cmocka_unit_test(adam_finds_the_lowest_point),
        cmocka_unit_test(parameter_parts_are_those_of_the_whole),
        cmocka_unit_test(parameter_values_are_around_the_middle),
        cmocka_unit_test(region_of_one_rank_copies),
        cmocka_unit_test(region_of_other_sizes_is_refused),
        cmocka_unit_test(noise_is_a_function_of_seed_name_and_index),
        cmocka_unit_test(noise_signed_fills_its_range_evenly),
        cmocka_unit_test(noise_below_reaches_all_and_no_more),
    };
    return cmocka_run_group_tests(tests, alone_setup, alone_teardown);
}
