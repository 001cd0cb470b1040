/* tests/unit/worker/data_parallel/sharded_test.c - data_parallel/sharded.c */

#include "engine_pair_api.h"

/* A side's parameters, or gradients: [2, 2], [0], [3]. */
struct model {
    int32_t values[7];
    struct hoop_tensor list[3];
};

static void
model_init(struct model *model)
{
    int32_t *at = model->values;

    model->list[0] = (struct hoop_tensor){at, HOOP_INT32, {2, {2, 2}}, NULL};
    model->list[1] = (struct hoop_tensor){NULL, HOOP_INT32, {1, {0}}, NULL};
    model->list[2] = (struct hoop_tensor){at + 4, HOOP_INT32, {1, {3}}, NULL};
    for (int32_t i = 0; i < 7; i++)
        at[i] = i;
}

static hoop_sharded_t *
create(struct model *model, hoop_comm_t *comm)
{
    hoop_sharded_t *sharded = NULL;

    model_init(model);
    return hoop_sharded_create(model->list, 3, comm, &sharded) == HOOP_OK
               ? sharded
               : NULL;
}

static void
wrong_arguments_are_invalid(void **state)
{
    hoop_sharded_t *sharded = NULL;
    struct hoop_tensor gradient;
    struct hoop_tensor parameter;
    struct model model;
    struct model other;

    model_init(&model);
    assert_invalid(hoop_sharded_create(model.list, 3, both(), NULL),
                   "out_sharded is NULL");
    assert_invalid(hoop_sharded_create(model.list, 3, NULL, &sharded),
                   "comm is NULL");
    model.list[2].dtype = HOOP_INT64;
    assert_invalid(hoop_sharded_create(model.list, 3, both(), &sharded),
                   "parameter 2 is int64, but parameter 0 is int32");
    assert_null(sharded);
    sharded = create(&model, both());
    model_init(&other);
    assert_invalid(
        hoop_sharded_reduce(NULL, other.list, HOOP_SUM, &gradient, &parameter),
        "sharded is NULL");
    assert_invalid(
        hoop_sharded_reduce(sharded, other.list, HOOP_SUM, NULL, &parameter),
        "out_gradient is NULL");
    assert_invalid(
        hoop_sharded_reduce(sharded, other.list, HOOP_SUM, &gradient, NULL),
        "out_parameter is NULL");
    assert_invalid(hoop_sharded_reduce(sharded, other.list, HOOP_MAX, &gradient,
                                       &parameter),
                   "not with max");
    other.list[2].shape = (struct hoop_shape){2, {1, 3}};
    assert_invalid(hoop_sharded_reduce(sharded, other.list, HOOP_SUM, &gradient,
                                       &parameter),
                   "gradient 2 is [1, 3] and not [3]");
    assert_invalid(hoop_sharded_gather(NULL), "sharded is NULL");
    assert_int_equal(hoop_sharded_gather(sharded), HOOP_E_PRECONDITION);
    hoop_sharded_free(sharded);
    hoop_sharded_free(NULL);
}

static void
parts_are_equal_but_the_last(void **state)
{
    struct model model;
    hoop_sharded_t *sharded = create(&model, both());
    struct hoop_shard shard = hoop_sharded_part(sharded, 0);

    assert_int_equal(shard.offset, 0);
    assert_int_equal(shard.count, 4);
    shard = hoop_sharded_part(sharded, 1);
    assert_int_equal(shard.offset, 4);
    assert_int_equal(shard.count, 3);
    assert_int_equal(hoop_sharded_part(sharded, 2).count, 0);
    assert_int_equal(hoop_sharded_part(NULL, 0).count, 0);
    hoop_sharded_free(sharded);
}

static int
steps_change_all_parameters(struct side *side)
{
    struct model model;
    struct model grads;
    hoop_sharded_t *sharded = create(&model, &side->comms[0]);
    const size_t count = side->rank == 0 ? 4 : 3;
    const int32_t offset = side->rank == 0 ? 0 : 4;

    SIDE_CHECK(sharded);
    for (int32_t step = 1; step <= 3; step++) {
        struct hoop_tensor gradient;
        struct hoop_tensor parameter;

        model_init(&grads);
        for (int32_t i = 0; i < 7; i++)
            grads.values[i] = (i + 1) * (side->rank == 0 ? 1 : 10);
        SIDE_CHECK(hoop_sharded_reduce(sharded, grads.list, HOOP_SUM, &gradient,
                                       &parameter) == HOOP_OK);
        SIDE_CHECK(gradient.shape.n_dims == 1 &&
                   gradient.shape.dims[0] == count);
        SIDE_CHECK(hoop_shape_equal(&gradient.shape, &parameter.shape));
        int32_t *changed = parameter.data;
        const int32_t *summed = gradient.data;
        for (int32_t i = 0; i < (int32_t)count; i++) {
            SIDE_CHECK(summed[i] == 11 * (offset + i + 1));
            SIDE_CHECK(changed[i] == model.values[offset + i]);
            changed[i] += summed[i];
        }
        SIDE_CHECK(hoop_sharded_gather(sharded) == HOOP_OK);
        for (int32_t i = 0; i < 7; i++)
            SIDE_CHECK(model.values[i] == i + step * 11 * (i + 1));
        SIDE_CHECK(hoop_sharded_gather(sharded) == HOOP_E_PRECONDITION);
    }
    hoop_sharded_free(sharded);
    return 0;
}

static int
a_step_can_be_given_up(struct side *side)
{
    struct hoop_tensor gradient;
    struct hoop_tensor parameter;
    struct model model;
    struct model grads;
    hoop_sharded_t *sharded = create(&model, &side->comms[0]);

    SIDE_CHECK(sharded);
    model_init(&grads);
    for (int i = 0; i < 2; i++) {
        SIDE_CHECK(hoop_sharded_reduce(sharded, grads.list, HOOP_AVG, &gradient,
                                       &parameter) == HOOP_OK);
        SIDE_CHECK(memcmp(gradient.data, parameter.data, 3 * 4) == 0);
        memset(parameter.data, 0xff, 3 * 4);
    }
    for (int32_t i = 0; i < 7; i++)
        SIDE_CHECK(model.values[i] == i);
    hoop_sharded_free(sharded);
    return 0;
}

/* As many elements, but in other shapes. */
static int
other_shapes_are_a_mismatch_on_both(struct side *side)
{
    struct hoop_tensor gradient = {.data = NULL};
    struct hoop_tensor parameter = {.data = NULL};
    struct model model;
    hoop_sharded_t *sharded = NULL;

    model_init(&model);
    if (side->rank == 1)
        model.list[0].shape = (struct hoop_shape){1, {4}};
    SIDE_CHECK(hoop_sharded_create(model.list, 3, &side->comms[0], &sharded) ==
               HOOP_OK);
    SIDE_CHECK(hoop_sharded_reduce(sharded, model.list, HOOP_SUM, &gradient,
                                   &parameter) == HOOP_E_MISMATCH);
    SIDE_CHECK(!gradient.data && !parameter.data);
    SIDE_CHECK(hoop_sharded_gather(sharded) == HOOP_E_PRECONDITION);
    hoop_sharded_free(sharded);
    SIDE_CHECK(hoop_barrier(&side->comms[0]) == HOOP_OK);
    return 0;
}

static void
no_member_has_no_shard(void **state)
{
    struct hoop_tensor gradient;
    struct hoop_tensor parameter;
    struct model model;
    hoop_sharded_t *sharded = create(&model, foreign());

    assert_ok(hoop_sharded_reduce(sharded, model.list, HOOP_SUM, &gradient,
                                  &parameter));
    assert_null(gradient.data);
    assert_int_equal(parameter.shape.dims[0], 0);
    assert_ok(hoop_sharded_gather(sharded));
    for (int32_t i = 0; i < 7; i++)
        assert_int_equal(model.values[i], i);
    hoop_sharded_free(sharded);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_TEST(wrong_arguments_are_invalid),
        ENGINE_PAIR_TEST(parts_are_equal_but_the_last),
        SIDES_TEST(steps_change_all_parameters),
        SIDES_TEST(a_step_can_be_given_up),
        SIDES_TEST(other_shapes_are_a_mismatch_on_both),
        ENGINE_PAIR_TEST(no_member_has_no_shard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
