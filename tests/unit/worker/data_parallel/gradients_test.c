/* tests/unit/worker/data_parallel/gradients_test.c - data_parallel/gradients.c */

#include "engine_pair_api.h"

enum {
    N_GRADIENTS = 4,
};

/* A side's gradients: [2, 3], [4], [0], [1]. */
struct model {
    int32_t values[11];
    struct hoop_tensor list[N_GRADIENTS];
};

static void
model_init(struct model *model)
{
    int32_t *at = model->values;

    model->list[0] = (struct hoop_tensor){at, HOOP_INT32, {2, {2, 3}}, NULL};
    model->list[1] = (struct hoop_tensor){at + 6, HOOP_INT32, {1, {4}}, NULL};
    model->list[2] = (struct hoop_tensor){NULL, HOOP_INT32, {1, {0}}, NULL};
    model->list[3] = (struct hoop_tensor){at + 10, HOOP_INT32, {0, {0}}, NULL};
}

static void
model_fill(struct model *model, uint32_t rank, int32_t step)
{
    for (int32_t i = 0; i < 11; i++)
        model->values[i] = (1000 * step + i) * (rank == 0 ? 1 : 10000);
}

static bool
model_is_summed(const struct model *model, int32_t step)
{
    for (int32_t i = 0; i < 11; i++) {
        if (model->values[i] != (1000 * step + i) * 10001)
            return false;
    }
    return true;
}

static hoop_gradients_t *
create(struct model *model, size_t bucket_bytes, hoop_comm_t *comm)
{
    const struct hoop_gradients_options options = {
        .comm = comm, .op = HOOP_SUM, .bucket_bytes = bucket_bytes};
    hoop_gradients_t *gradients = NULL;

    model_init(model);
    if (hoop_gradients_create(model->list, N_GRADIENTS, &options, &gradients) !=
        HOOP_OK)
        return NULL;
    return gradients;
}

static enum hoop_status
ready_all(hoop_gradients_t *gradients)
{
    for (size_t i = N_GRADIENTS; i > 0; i--) {
        const enum hoop_status status = hoop_gradients_ready(gradients, i - 1);

        if (status != HOOP_OK)
            return status;
    }
    return HOOP_OK;
}

static void
wrong_lists_and_options_are_invalid(void **state)
{
    struct hoop_gradients_options options = {.comm = both(), .op = HOOP_SUM};
    struct hoop_tensor flag = {(bool[]){true}, HOOP_BOOL, {0, {0}}, NULL};
    hoop_gradients_t *gradients = NULL;
    struct model model;

    model_init(&model);
    assert_invalid(hoop_gradients_create(model.list, 4, &options, NULL),
                   "out_gradients is NULL");
    assert_invalid(hoop_gradients_create(model.list, 4, NULL, &gradients),
                   "options is NULL");
    assert_invalid(hoop_gradients_create(NULL, 4, &options, &gradients),
                   "the list of gradients is NULL");
    options.op = HOOP_MAX;
    assert_invalid(hoop_gradients_create(model.list, 4, &options, &gradients),
                   "not with max");
    options.op = HOOP_AVG;
    assert_invalid(hoop_gradients_create(&flag, 1, &options, &gradients),
                   "avg of bool");
    options.comm = NULL;
    assert_invalid(hoop_gradients_create(model.list, 4, &options, &gradients),
                   "comm is NULL");
    options.comm = both();
    model.list[1].data = NULL;
    assert_invalid(hoop_gradients_create(model.list, 4, &options, &gradients),
                   "gradient 1 has no data");
    model_init(&model);
    model.list[3].dtype = HOOP_FLOAT32;
    assert_invalid(hoop_gradients_create(model.list, 4, &options, &gradients),
                   "gradient 3 is float32, but gradient 0 is int32");
    assert_null(gradients);
    assert_int_equal(hoop_gradients_n_buckets(NULL), 0);
    hoop_gradients_free(NULL);
    assert_invalid(hoop_gradients_ready(NULL, 0), "gradients is NULL");
    assert_invalid(hoop_gradients_wait(NULL), "gradients is NULL");
}

static void
buckets_are_as_many_as_their_size_says(void **state)
{
    const struct {
        size_t bucket_bytes;
        size_t n_buckets;
    } rows[] = {{0, 1}, {44, 1}, {43, 2}, {20, 2}, {16, 3}, {4, 3}, {1, 3}};

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct model model;
        hoop_gradients_t *gradients =
            create(&model, rows[i].bucket_bytes, both());

        assert_int_equal(hoop_gradients_n_buckets(gradients),
                         rows[i].n_buckets);
        hoop_gradients_free(gradients);
    }
}

/* The calls that are refused leave the step as it was. */
static void
wrong_calls_do_not_end_a_step(void **state)
{
    struct model model;
    hoop_gradients_t *gradients = create(&model, 8, alone());

    model_fill(&model, 0, 1);
    assert_invalid(hoop_gradients_ready(gradients, 4),
                   "there is no gradient 4: 4 were given");
    assert_ok(hoop_gradients_ready(gradients, 1));
    assert_invalid(hoop_gradients_ready(gradients, 1),
                   "gradient 1 is ready already");
    assert_int_equal(hoop_gradients_wait(gradients), HOOP_E_PRECONDITION);
    assert_non_null(
        strstr(hoop_error_text(), "3 of 4 gradients are not ready: 0, 2, 3"));
    assert_ok(hoop_gradients_ready(gradients, 3));
    assert_ok(hoop_gradients_ready(gradients, 2));
    assert_ok(hoop_gradients_ready(gradients, 0));
    assert_ok(hoop_gradients_wait(gradients));
    for (int32_t i = 0; i < 11; i++)
        assert_int_equal(model.values[i], 1000 + i);
    hoop_gradients_free(gradients);
}

static void
many_missing_gradients_are_counted(void **state)
{
    const struct hoop_gradients_options options = {.comm = alone()};
    struct hoop_tensor list[20];
    float values[20] = {0};
    hoop_gradients_t *gradients = NULL;

    for (size_t i = 0; i < 20; i++)
        list[i] =
            (struct hoop_tensor){&values[i], HOOP_FLOAT32, {.n_dims = 0}, NULL};
    assert_ok(hoop_gradients_create(list, 20, &options, &gradients));
    assert_int_equal(hoop_gradients_wait(gradients), HOOP_E_PRECONDITION);
    assert_non_null(strstr(hoop_error_text(), "20 of 20 gradients are not "
                                              "ready: 0, 1, 2, 3, 4, 5, 6, 7, "
                                              "..."));
    hoop_gradients_free(gradients);
}

static int
steps_sum_whatever_the_orders(struct side *side)
{
    static const size_t orders[2][N_GRADIENTS] = {{0, 2, 1, 3}, {3, 1, 0, 2}};
    static const size_t sizes[] = {1, 4, 16, 20, 43, 44, 0};

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        struct model model;
        hoop_gradients_t *gradients = create(&model, sizes[s], &side->comms[0]);

        SIDE_CHECK(gradients);
        for (int32_t step = 1; step <= 3; step++) {
            model_fill(&model, side->rank, step);
            for (size_t i = 0; i < N_GRADIENTS; i++)
                SIDE_CHECK(hoop_gradients_ready(
                               gradients, orders[side->rank][i]) == HOOP_OK);
            SIDE_CHECK(hoop_gradients_wait(gradients) == HOOP_OK);
            SIDE_CHECK(model_is_summed(&model, step));
        }
        hoop_gradients_free(gradients);
    }
    return 0;
}

/* Both are told once, cannot go on with the gradients, but with comm. */
static int
differs(struct side *side, hoop_gradients_t *gradients)
{
    int32_t value = 1;

    SIDE_CHECK(gradients);
    SIDE_CHECK(ready_all(gradients) == HOOP_OK);
    SIDE_CHECK(hoop_gradients_wait(gradients) == HOOP_E_MISMATCH);
    SIDE_CHECK(strstr(hoop_error_text(), "allreduce_coalesced"));
    SIDE_CHECK(hoop_gradients_wait(gradients) == HOOP_E_PRECONDITION);
    SIDE_CHECK(hoop_gradients_ready(gradients, 0) == HOOP_E_PRECONDITION);
    SIDE_CHECK(strstr(hoop_error_text(), "an earlier step failed"));
    hoop_gradients_free(gradients);
    SIDE_CHECK(hoop_allreduce(HOOP_IN_PLACE, &value, 1, HOOP_INT32, HOOP_SUM,
                              &side->comms[0]) == HOOP_OK);
    SIDE_CHECK(value == 2);
    return 0;
}

static int
other_shapes_are_a_mismatch_on_both(struct side *side)
{
    const struct hoop_gradients_options options = {
        .comm = &side->comms[0], .op = HOOP_SUM, .bucket_bytes = 4};
    hoop_gradients_t *gradients = NULL;
    struct model model;

    /* As many elements, but not the same; far from the first bucket. */
    model_init(&model);
    memset(model.values, 0, sizeof(model.values));
    if (side->rank == 1)
        model.list[0].shape = (struct hoop_shape){2, {3, 2}};
    SIDE_CHECK(hoop_gradients_create(model.list, N_GRADIENTS, &options,
                                     &gradients) == HOOP_OK);
    return differs(side, gradients);
}

/* The first bucket is empty but for what follows. */
static int
empty_gradients_hide_no_mismatch(struct side *side)
{
    const struct hoop_gradients_options options = {
        .comm = &side->comms[0], .op = HOOP_SUM, .bucket_bytes = 4};
    int32_t values[6] = {0};
    const struct hoop_tensor list[4] = {
        {values, HOOP_INT32, {1, {2}}, NULL},
        {values + 2, HOOP_INT32, {1, {2 - side->rank}}, NULL},
        {values + 4, HOOP_INT32, {1, {2}}, NULL},
        {NULL, HOOP_INT32, {1, {0}}, NULL},
    };
    hoop_gradients_t *gradients = NULL;

    SIDE_CHECK(hoop_gradients_create(list, N_GRADIENTS, &options, &gradients) ==
               HOOP_OK);
    return differs(side, gradients);
}

static int
other_bucket_sizes_are_a_mismatch_on_both(struct side *side)
{
    struct model model = {.values = {0}};

    return differs(side,
                   create(&model, side->rank == 0 ? 1 : 16, &side->comms[0]));
}

/* Three buckets of two gradients, whose bytes do not fill cache lines. */
static int
buckets_of_odd_sizes_do_not_overlap(struct side *side)
{
    enum {
        N_ODD = 6,
        N_EACH = 3,
    };
    int32_t values[N_ODD][N_EACH];
    struct hoop_tensor list[N_ODD];
    const struct hoop_gradients_options options = {.comm = &side->comms[0],
                                                   .op = HOOP_SUM,
                                                   .bucket_bytes =
                                                       2 * sizeof(values[0])};
    hoop_gradients_t *gradients = NULL;

    for (unsigned i = 0; i < N_ODD; i++) {
        list[i] =
            (struct hoop_tensor){values[i], HOOP_INT32, {1, {N_EACH}}, NULL};
        for (unsigned k = 0; k < N_EACH; k++)
            values[i][k] = (int32_t)((100 * i + k) * (1 + side->rank));
    }
    SIDE_CHECK(hoop_gradients_create(list, N_ODD, &options, &gradients) ==
               HOOP_OK);
    SIDE_CHECK(hoop_gradients_n_buckets(gradients) == N_ODD / 2);
    for (unsigned i = N_ODD; i > 0; i--)
        SIDE_CHECK(hoop_gradients_ready(gradients, i - 1) == HOOP_OK);
    SIDE_CHECK(hoop_gradients_wait(gradients) == HOOP_OK);
    for (unsigned i = 0; i < N_ODD; i++) {
        for (unsigned k = 0; k < N_EACH; k++)
            SIDE_CHECK(values[i][k] == (int32_t)(3 * (100 * i + k)));
    }
    hoop_gradients_free(gradients);
    return 0;
}

/* Given up in the middle of a step, by both. */
static int
free_waits_for_what_is_under_way(struct side *side)
{
    struct model model;
    hoop_gradients_t *gradients = create(&model, 16, &side->comms[0]);

    SIDE_CHECK(gradients);
    model_fill(&model, side->rank, 1);
    SIDE_CHECK(hoop_gradients_ready(gradients, 3) == HOOP_OK);
    SIDE_CHECK(hoop_gradients_ready(gradients, 2) == HOOP_OK);
    hoop_gradients_free(gradients);
    return 0;
}

static void
no_member_keeps_its_own(void **state)
{
    struct model model;
    hoop_gradients_t *gradients = create(&model, 16, foreign());

    for (int32_t step = 0; step < 2; step++) {
        model_fill(&model, 0, 1);
        assert_ok(ready_all(gradients));
        assert_ok(hoop_gradients_wait(gradients));
        for (int32_t i = 0; i < 11; i++)
            assert_int_equal(model.values[i], 1000 + i);
    }
    hoop_gradients_free(gradients);
}

static void
no_gradients_are_a_step_of_nothing(void **state)
{
    const struct hoop_gradients_options options = {.comm = both()};
    hoop_gradients_t *gradients = NULL;

    assert_ok(hoop_gradients_create(NULL, 0, &options, &gradients));
    assert_int_equal(hoop_gradients_n_buckets(gradients), 0);
    assert_ok(hoop_gradients_wait(gradients));
    assert_invalid(hoop_gradients_ready(gradients, 0), "0 were given");
    hoop_gradients_free(gradients);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        ENGINE_PAIR_TEST(wrong_lists_and_options_are_invalid),
        ENGINE_PAIR_TEST(buckets_are_as_many_as_their_size_says),
        ENGINE_PAIR_TEST(wrong_calls_do_not_end_a_step),
        ENGINE_PAIR_TEST(many_missing_gradients_are_counted),
        SIDES_TEST(steps_sum_whatever_the_orders),
        SIDES_TEST(buckets_of_odd_sizes_do_not_overlap),
        SIDES_TEST(other_shapes_are_a_mismatch_on_both),
        SIDES_TEST(empty_gradients_hide_no_mismatch),
        SIDES_TEST(other_bucket_sizes_are_a_mismatch_on_both),
        SIDES_TEST(free_waits_for_what_is_under_way),
        ENGINE_PAIR_TEST(no_member_keeps_its_own),
        ENGINE_PAIR_TEST(no_gradients_are_a_step_of_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
