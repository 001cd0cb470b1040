/*
 * tests/integration/gradients_steps_test.c - hoop/gradients.h on processes
 *
 * Models by chance, in the order that chance gives each rank, against plain
 * loops; then what goes wrong: wrong calls, lists that differ, a rank that
 * dies in the middle of a step.
 */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check.h"
#include "draw.h"
#include "model.h"
#include "ranks.h"

enum {
    N_MODELS = 24,
    N_STEPS = 3,
};

static hoop_gradients_t *
create(const struct model *model,
       const struct rank *rank,
       enum hoop_reduce_op op,
       size_t bucket_bytes)
{
    const struct hoop_gradients_options options = {
        .comm = rank->comm, .op = op, .bucket_bytes = bucket_bytes};
    hoop_gradients_t *gradients = NULL;

    return hoop_gradients_create(model->list, model->n_tensors, &options,
                                 &gradients) == HOOP_OK
               ? gradients
               : NULL;
}

/* In any order. */
static enum hoop_status
ready_all(hoop_gradients_t *gradients, size_t n, uint64_t seed)
{
    size_t order[MODEL_TENSORS_MAX];

    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = n; i > 0; i--) {
        const size_t at = draw_below(&seed, i);
        const size_t index = order[at];
        const enum hoop_status status = hoop_gradients_ready(gradients, index);

        if (status != HOOP_OK)
            return status;
        order[at] = order[i - 1];
    }
    return HOOP_OK;
}

static int
one_model(struct rank *rank, uint64_t seed)
{
    static const enum hoop_dtype dtypes[] = {
        HOOP_FLOAT32, HOOP_BFLOAT16, HOOP_FLOAT16, HOOP_INT64, HOOP_FLOAT64};
    static const size_t sizes[] = {1, 8, 64, 256, 1000, 0};
    const enum hoop_reduce_op op = seed % 3 == 0 ? HOOP_SUM : HOOP_AVG;
    struct model model;

    model_init(&model, dtypes[seed % COUNT_OF(dtypes)], seed);
    const size_t element_size = hoop_dtype_size(model.dtype);
    hoop_gradients_t *gradients =
        create(&model, rank, op, sizes[seed % COUNT_OF(sizes)]);
    RANK_CHECK(gradients);
    for (uint64_t step = 0; step < N_STEPS; step++) {
        model_fill(&model, rank, seed * N_STEPS + step);
        RANK_CHECK(ready_all(gradients, model.n_tensors,
                             (seed * N_STEPS + step) * 64 + rank->rank) ==
                   HOOP_OK);
        RANK_CHECK(hoop_gradients_wait(gradients) == HOOP_OK);
        for (size_t i = 0; i < model.count; i++)
            RANK_CHECK(
                model_allows(&model, rank->size, op, i,
                             (const uint8_t *)model.values + i * element_size));
        RANK_CHECK(model_is_everywhere(&model, rank));
    }
    hoop_gradients_free(gradients);
    model_deinit(&model);
    return 0;
}

static int
random_body(struct rank *rank)
{
    int line = 0;

    for (uint64_t seed = 1; seed <= N_MODELS && line == 0; seed++)
        line = one_model(rank, seed);
    return line;
}

/* As a sum may be taken in another order, integers: exactly the same as of
 * allreduce, in buckets that take several frames. */
static int
large_body(struct rank *rank)
{
    enum {
        N = 3,
        COUNT = 200000
    };
    float *values = malloc(N * COUNT * sizeof(*values));
    float *expected = malloc(N * COUNT * sizeof(*expected));
    const struct hoop_gradients_options options = {
        .comm = rank->comm, .op = HOOP_SUM, .bucket_bytes = 2 * COUNT * 4};
    struct hoop_tensor list[N];
    hoop_gradients_t *gradients = NULL;

    RANK_CHECK(values && expected);
    for (size_t i = 0; i < N * COUNT; i++) {
        values[i] = (float)(i % 1000 * (rank->rank + 1));
        expected[i] = values[i];
    }
    for (size_t i = 0; i < N; i++)
        list[i] = (struct hoop_tensor){
            values + i * COUNT, HOOP_FLOAT32, {1, {COUNT}}, NULL};
    RANK_CHECK(hoop_allreduce(HOOP_IN_PLACE, expected, N * COUNT, HOOP_FLOAT32,
                              HOOP_SUM, rank->comm) == HOOP_OK);
    RANK_CHECK(hoop_gradients_create(list, N, &options, &gradients) == HOOP_OK);
    RANK_CHECK(hoop_gradients_n_buckets(gradients) == 2);
    RANK_CHECK(ready_all(gradients, N, rank->rank) == HOOP_OK);
    RANK_CHECK(hoop_gradients_wait(gradients) == HOOP_OK);
    RANK_CHECK(memcmp(values, expected, N * COUNT * sizeof(*values)) == 0);
    hoop_gradients_free(gradients);
    free(values);
    free(expected);
    return 0;
}

/* Every rank is refused alike, and the step goes on. */
static int
wrong_calls_body(struct rank *rank)
{
    struct model model;

    model_init(&model, HOOP_FLOAT32, 7);
    model_fill(&model, rank, 7);
    hoop_gradients_t *gradients = create(&model, rank, HOOP_AVG, 64);
    RANK_CHECK(gradients);
    RANK_CHECK(!create(&model, rank, HOOP_MIN, 64));
    RANK_CHECK(hoop_gradients_ready(gradients, model.n_tensors) ==
               HOOP_E_INVALID);
    RANK_CHECK(hoop_gradients_ready(gradients, SIZE_MAX) == HOOP_E_INVALID);
    RANK_CHECK(hoop_gradients_wait(gradients) == HOOP_E_PRECONDITION);
    RANK_CHECK(hoop_gradients_ready(gradients, 0) == HOOP_OK);
    RANK_CHECK(hoop_gradients_ready(gradients, 0) == HOOP_E_INVALID);
    RANK_CHECK(strstr(hoop_error_text(), "gradient 0 is ready already"));
    RANK_CHECK(hoop_gradients_wait(gradients) == HOOP_E_PRECONDITION);
    for (size_t i = 1; i < model.n_tensors; i++)
        RANK_CHECK(hoop_gradients_ready(gradients, i) == HOOP_OK);
    RANK_CHECK(hoop_gradients_wait(gradients) == HOOP_OK);
    RANK_CHECK(model_is_everywhere(&model, rank));
    hoop_gradients_free(gradients);
    model_deinit(&model);
    return 0;
}

/* One rank's list is another: in a shape, or in how many there are, so that
 * the ranks do not even have as many buckets. */
static int
other_lists_body(struct rank *rank)
{
    float values[8] = {0};
    const struct hoop_gradients_options options = {
        .comm = rank->comm, .op = HOOP_SUM, .bucket_bytes = 4};
    const bool is_other = rank->rank == rank->size - 1;
    struct hoop_tensor list[4];

    for (size_t other = 0; other < 2; other++) {
        hoop_gradients_t *gradients = NULL;
        const size_t n = is_other && other == 1 ? 3 : 4;

        for (size_t i = 0; i < 4; i++)
            list[i] = (struct hoop_tensor){
                values + 2 * i, HOOP_FLOAT32, {1, {2}}, NULL};
        if (is_other && other == 0)
            list[0].shape = (struct hoop_shape){2, {1, 2}};
        RANK_CHECK(hoop_gradients_create(list, n, &options, &gradients) ==
                   HOOP_OK);
        RANK_CHECK(ready_all(gradients, n, rank->rank) == HOOP_OK);
        RANK_CHECK(hoop_gradients_wait(gradients) ==
                   (rank->size > 1 ? HOOP_E_MISMATCH : HOOP_OK));
        RANK_CHECK(rank->size == 1 ||
                   hoop_gradients_ready(gradients, 0) == HOOP_E_PRECONDITION);
        hoop_gradients_free(gradients);
        RANK_CHECK(hoop_barrier(rank->comm) == HOOP_OK);
    }
    return 0;
}

/* The last rank dies when its second step is half ready. */
static int
killed_body(struct rank *rank)
{
    const uint32_t culprit = rank->size - 1;
    char name[32];
    struct model model;

    snprintf(name, sizeof(name), "rank %u", culprit);
    model_init(&model, HOOP_FLOAT32, 11);
    hoop_gradients_t *gradients = create(&model, rank, HOOP_SUM, 1);
    RANK_CHECK(gradients && model.n_tensors > 3);
    model_fill(&model, rank, 1);
    RANK_CHECK(ready_all(gradients, model.n_tensors, rank->rank) == HOOP_OK);
    RANK_CHECK(hoop_gradients_wait(gradients) == HOOP_OK);
    room_add(rank, 0);
    if (rank->rank == culprit) {
        room_await(rank, 0, rank->size);
        for (size_t i = model.n_tensors; i > model.n_tensors / 2; i--)
            RANK_CHECK(hoop_gradients_ready(gradients, i - 1) == HOOP_OK);
        kill(getpid(), SIGKILL);
    }
    RANK_CHECK(ready_all(gradients, model.n_tensors, rank->rank) == HOOP_OK);
    RANK_CHECK(hoop_gradients_wait(gradients) == HOOP_E_PEER_LOST);
    RANK_CHECK(strstr(hoop_error_text(), name));
    RANK_CHECK(hoop_gradients_ready(gradients, 0) == HOOP_E_PRECONDITION);
    RANK_CHECK(strstr(hoop_error_text(), name));
    RANK_CHECK(hoop_gradients_wait(gradients) == HOOP_E_PRECONDITION);
    hoop_gradients_free(gradients);
    model_deinit(&model);
    return 0;
}

static void
run(uint32_t first, rank_fn *body)
{
    for (uint32_t size = first; size <= MODEL_RANKS_MAX; size++)
        assert_int_equal(ranks_run_all(size, body), 0);
}

static void
models_are_reduced_in_any_order(void **state)
{
    (void)state;
    run(1, random_body);
}

static void
large_buckets_are_what_allreduce_gives(void **state)
{
    (void)state;
    run(1, large_body);
}

static void
wrong_calls_are_refused_on_all_ranks(void **state)
{
    (void)state;
    run(1, wrong_calls_body);
}

static void
other_lists_are_a_mismatch_on_all_ranks(void **state)
{
    (void)state;
    run(1, other_lists_body);
}

static void
killed_rank_ends_the_step_of_all(void **state)
{
    (void)state;
    run(2, killed_body);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_reduced_in_any_order),
        cmocka_unit_test(large_buckets_are_what_allreduce_gives),
        cmocka_unit_test(wrong_calls_are_refused_on_all_ranks),
        cmocka_unit_test(other_lists_are_a_mismatch_on_all_ranks),
        cmocka_unit_test(killed_rank_ends_the_step_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
