/*
 * tests/integration/parallel/gradients_steps_test.c - data-parallel steps
 *
 * The test compares random models, whose gradients become ready in a random
 * order on each rank, with plain loops. Then it tests failures: wrong calls,
 * lists that differ, and a rank that dies in the middle of a step.
 */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/reference.h"
#include "ranks.h"

/*
 * The tensors of a random model. All ranks draw the same shapes, and know the
 * values of every rank, so that the test can compute the result of a reduction
 * without the library.
 */

enum {
    MODEL_TENSORS_MAX = 12,
    MODEL_RANKS_MAX = 4,
};

struct model {
    enum hoop_dtype dtype;
    size_t n_tensors;
    struct hoop_tensor list[MODEL_TENSORS_MAX];
    size_t count;               /* elements of all tensors */
    void *values;               /* of this rank, one tensor after the other */
    void *all[MODEL_RANKS_MAX]; /* of each rank, when they were filled */
};

static struct hoop_shape
draw_shape(uint64_t *seed)
{
    struct hoop_shape shape = {.n_dims = (uint32_t)draw_below(seed, 5)};

    for (uint32_t i = 0; i < shape.n_dims; i++) {
        /* A size of 0 is rare, since a single one makes the tensor empty. */
        const size_t size = draw_below(seed, 26);

        shape.dims[i] = size == 25 ? 0 : size % 5 + 1;
    }
    return shape;
}

/* The shapes have up to 4 dimensions and sizes from 0 to 5. */
static void
model_init(struct model *model, enum hoop_dtype dtype, uint64_t seed)
{
    size_t counts[MODEL_TENSORS_MAX];

    memset(model, 0, sizeof(*model));
    model->dtype = dtype;
    model->n_tensors = 1 + draw_below(&seed, MODEL_TENSORS_MAX);
    for (size_t i = 0; i < model->n_tensors; i++) {
        const struct hoop_shape shape = draw_shape(&seed);

        model->list[i] = (struct hoop_tensor){.dtype = dtype, .shape = shape};
        if (hoop_shape_count(&shape, &counts[i]) != HOOP_OK)
            abort();
        model->count += counts[i];
    }
    const size_t n_bytes = model->count * hoop_dtype_size(dtype);
    model->values = malloc(n_bytes + 1);
    for (uint32_t rank = 0; rank < MODEL_RANKS_MAX; rank++)
        model->all[rank] = malloc(n_bytes + 1);
    uint8_t *at = model->values;
    for (size_t i = 0; i < model->n_tensors; i++) {
        model->list[i].data = counts[i] > 0 ? at : NULL;
        at += counts[i] * hoop_dtype_size(dtype);
    }
}

static void
model_deinit(struct model *model)
{
    free(model->values);
    for (uint32_t rank = 0; rank < MODEL_RANKS_MAX; rank++)
        free(model->all[rank]);
}

/* Sets new values, which are different on each rank. */
static void
model_fill(struct model *model, const struct rank *rank, uint64_t seed)
{
    for (uint32_t r = 0; r < rank->size; r++)
        reference_fill(model->all[r], model->dtype, model->count,
                       seed * 101 + r);
    memcpy(model->values, model->all[rank->rank],
           model->count * hoop_dtype_size(model->dtype));
}

/* Returns whether result is a possible element of the reduction over all
 * ranks. */
static bool
model_allows(const struct model *model,
             uint32_t size,
             enum hoop_reduce_op op,
             size_t index,
             const void *result)
{
    const struct reference reference = {
        .dtype = model->dtype,
        .op = op,
        .inputs = (const void *const *)model->all,
        .n_inputs = size,
    };

    return reference_allows(&reference, index, result);
}

/* Returns whether all ranks have the same bytes. */
static bool
model_is_everywhere(const struct model *model, struct rank *rank)
{
    const uint8_t *bytes = model->values;
    uint64_t hashes[MODEL_RANKS_MAX] = {0};
    uint64_t hash = 1;

    for (size_t i = 0; i < model->count * hoop_dtype_size(model->dtype); i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    if (hoop_allgather(&hash, hashes, 1, HOOP_UINT64, rank->comm) != HOOP_OK)
        return false;
    for (uint32_t r = 0; r < rank->size; r++) {
        if (hashes[r] != hash)
            return false;
    }
    return true;
}

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

/* Reports the gradients as ready, in a random order. */
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

/* The values are integers, so that the sum does not depend on the order. It
 * must be exactly that of an allreduce, in buckets that take several frames. */
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

/* The calls are refused on every rank, and the step can continue. */
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

/* One rank has another list, with a different shape, or with another length, so
 * that the ranks do not even have the same number of buckets. */
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

/* The last rank dies when half of its second step is ready. */
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
    run(1, random_body);
}

static void
large_buckets_are_what_allreduce_gives(void **state)
{
    run(1, large_body);
}

static void
wrong_calls_are_refused_on_all_ranks(void **state)
{
    run(1, wrong_calls_body);
}

static void
other_lists_are_a_mismatch_on_all_ranks(void **state)
{
    run(1, other_lists_body);
}

static void
killed_rank_ends_the_step_of_all(void **state)
{
    run(2, killed_body);
}

/*
 * The cases below test hoop/sharded.h. They compare random models with plain
 * loops, and an optimizer with momentum whose state is cut with one whose state
 * is not. Then they test failures.
 */

enum {
    SHARDED_N_MODELS = 20,
    SHARDED_N_STEPS = 2,
};

/* The shards follow each other, and all but the last have the same size. */
static int
parts_cover_all(struct rank *rank, const hoop_sharded_t *sharded, size_t count)
{
    const size_t equal = (count + rank->size - 1) / rank->size;
    size_t at = 0;

    for (uint32_t r = 0; r < rank->size; r++) {
        const struct hoop_shard shard = hoop_sharded_part(sharded, r);

        RANK_CHECK(shard.offset == at);
        RANK_CHECK(shard.count == equal || at + shard.count == count);
        at += shard.count;
    }
    RANK_CHECK(at == count);
    return 0;
}

/* The gradients are copied to the parameters, so that afterwards all ranks have
 * all gradients. */
static int
one_step(struct rank *rank,
         hoop_sharded_t *sharded,
         struct model *parameters,
         const struct model *gradients,
         enum hoop_reduce_op op)
{
    const struct hoop_shard shard = hoop_sharded_part(sharded, rank->rank);
    const size_t element_size = hoop_dtype_size(parameters->dtype);
    const uint8_t *values = parameters->values;
    struct hoop_tensor gradient;
    struct hoop_tensor parameter;

    RANK_CHECK(hoop_sharded_reduce(sharded, gradients->list, op, &gradient,
                                   &parameter) == HOOP_OK);
    RANK_CHECK(gradient.shape.dims[0] == shard.count &&
               hoop_shape_equal(&gradient.shape, &parameter.shape));
    RANK_CHECK((gradient.data == NULL) == (shard.count == 0));
    if (shard.count > 0) {
        const size_t n_bytes = shard.count * element_size;

        RANK_CHECK(memcmp(parameter.data, values + shard.offset * element_size,
                          n_bytes) == 0);
        memcpy(parameter.data, gradient.data, n_bytes);
    }
    RANK_CHECK(hoop_sharded_gather(sharded) == HOOP_OK);
    for (size_t i = 0; i < parameters->count; i++)
        RANK_CHECK(model_allows(gradients, rank->size, op, i,
                                values + i * element_size));
    RANK_CHECK(model_is_everywhere(parameters, rank));
    return 0;
}

static int
sharded_one_model(struct rank *rank, uint64_t seed)
{
    static const enum hoop_dtype sharded_dtypes[] = {
        HOOP_FLOAT32, HOOP_BFLOAT16, HOOP_FLOAT16, HOOP_INT64, HOOP_FLOAT64};
    const enum hoop_dtype dtype =
        sharded_dtypes[seed % COUNT_OF(sharded_dtypes)];
    const enum hoop_reduce_op op = seed % 2 == 0 ? HOOP_SUM : HOOP_AVG;
    struct model parameters;
    struct model gradients;
    hoop_sharded_t *sharded = NULL;
    int line = 0;

    model_init(&parameters, dtype, seed);
    model_init(&gradients, dtype, seed);
    model_fill(&parameters, rank, 1000 + seed);
    RANK_CHECK(hoop_sharded_create(parameters.list, parameters.n_tensors,
                                   rank->comm, &sharded) == HOOP_OK);
    line = parts_cover_all(rank, sharded, parameters.count);
    for (uint64_t step = 0; step < SHARDED_N_STEPS && line == 0; step++) {
        model_fill(&gradients, rank, seed * SHARDED_N_STEPS + step);
        line = one_step(rank, sharded, &parameters, &gradients, op);
    }
    hoop_sharded_free(sharded);
    model_deinit(&parameters);
    model_deinit(&gradients);
    return line;
}

static int
sharded_random_body(struct rank *rank)
{
    int line = 0;

    for (uint64_t seed = 1; seed <= SHARDED_N_MODELS && line == 0; seed++)
        line = sharded_one_model(rank, seed);
    return line;
}

/* An optimizer with momentum. The numbers are halves and small integers, so
 * that no step rounds, and the order of a sum has no effect. */
struct momentum {
    float velocity[32];
};

static void
momentum_step(struct momentum *momentum,
              float *parameters,
              const float *gradients,
              size_t count)
{
    for (size_t i = 0; i < count; i++) {
        momentum->velocity[i] = 0.5F * momentum->velocity[i] + gradients[i];
        parameters[i] -= 0.25F * momentum->velocity[i];
    }
}

static float
gradient_of(uint32_t rank, size_t step, size_t i)
{
    return (float)((i * 7 + step * 3 + rank * 5) % 11) - 5.0F;
}

static int
momentum_body(struct rank *rank)
{
    static const size_t counts[] = {1, 3, 4, 23, 32};

    for (size_t c = 0; c < COUNT_OF(counts); c++) {
        const size_t count = counts[c];
        float parameters[32] = {0};
        float whole[32] = {0};
        float mine[32];
        struct momentum shard_state = {{0}};
        struct momentum whole_state = {{0}};
        const struct hoop_tensor list[1] = {
            {parameters, HOOP_FLOAT32, {1, {count}}, NULL}};
        const struct hoop_tensor grads[1] = {
            {mine, HOOP_FLOAT32, {1, {count}}, NULL}};
        hoop_sharded_t *sharded = NULL;

        RANK_CHECK(hoop_sharded_create(list, 1, rank->comm, &sharded) ==
                   HOOP_OK);
        for (size_t step = 0; step < 6; step++) {
            struct hoop_tensor gradient;
            struct hoop_tensor parameter;
            float sum[32] = {0};

            for (size_t i = 0; i < count; i++) {
                mine[i] = gradient_of(rank->rank, step, i);
                for (uint32_t r = 0; r < rank->size; r++)
                    sum[i] += gradient_of(r, step, i);
            }
            RANK_CHECK(hoop_sharded_reduce(sharded, grads, HOOP_SUM, &gradient,
                                           &parameter) == HOOP_OK);
            momentum_step(&shard_state, parameter.data, gradient.data,
                          parameter.shape.dims[0]);
            RANK_CHECK(hoop_sharded_gather(sharded) == HOOP_OK);
            momentum_step(&whole_state, whole, sum, count);
            RANK_CHECK(memcmp(parameters, whole, sizeof(whole)) == 0);
        }
        hoop_sharded_free(sharded);
    }
    return 0;
}

/* The failure of a call that does not match is reported once: by the call
 * itself (its status is given), or, if the call did not wait for others, by one
 * of the next two calls. */
static int
require_told_once(struct rank *rank, enum hoop_status status)
{
    unsigned n_told = status == HOOP_E_MISMATCH;

    RANK_CHECK(n_told == 1 || status == HOOP_OK);
    for (unsigned i = 0; i < 2; i++) {
        const enum hoop_status next = hoop_barrier(rank->comm);

        RANK_CHECK(next == HOOP_OK || next == HOOP_E_MISMATCH);
        n_told += next == HOOP_E_MISMATCH;
    }
    RANK_CHECK(n_told == (rank->size > 1 ? 1 : 0));
    return 0;
}

static int
sharded_wrong_calls_body(struct rank *rank)
{
    float values[6] = {0};
    struct hoop_tensor list[2] = {{values, HOOP_FLOAT32, {1, {4}}, NULL},
                                  {values + 4, HOOP_FLOAT32, {1, {2}}, NULL}};
    struct hoop_tensor gradient = {.data = NULL};
    struct hoop_tensor parameter = {.data = NULL};
    hoop_sharded_t *sharded = NULL;

    RANK_CHECK(hoop_sharded_create(list, 2, rank->comm, &sharded) == HOOP_OK);
    RANK_CHECK(hoop_sharded_gather(sharded) == HOOP_E_PRECONDITION);
    RANK_CHECK(hoop_sharded_reduce(sharded, list, HOOP_MAX, &gradient,
                                   &parameter) == HOOP_E_INVALID);
    list[1].shape.dims[0] = 1;
    RANK_CHECK(hoop_sharded_reduce(sharded, list, HOOP_SUM, &gradient,
                                   &parameter) == HOOP_E_INVALID);
    RANK_CHECK(!gradient.data && !parameter.data);
    hoop_sharded_free(sharded);

    /* The last rank has the same number of elements, but they are cut
     * differently. */
    list[1].shape.dims[0] = 2;
    if (rank->rank == rank->size - 1)
        list[0].shape = (struct hoop_shape){2, {2, 2}};
    RANK_CHECK(hoop_sharded_create(list, 2, rank->comm, &sharded) == HOOP_OK);
    const enum hoop_status status =
        hoop_sharded_reduce(sharded, list, HOOP_SUM, &gradient, &parameter);
    hoop_sharded_free(sharded);
    return require_told_once(rank, status);
}

/* The rank dies between the two halves of a step. */
static int
sharded_killed_body(struct rank *rank)
{
    float values[6] = {0};
    const struct hoop_tensor list[1] = {{values, HOOP_FLOAT32, {1, {6}}, NULL}};
    struct hoop_tensor gradient;
    struct hoop_tensor parameter;
    hoop_sharded_t *sharded = NULL;

    RANK_CHECK(hoop_sharded_create(list, 1, rank->comm, &sharded) == HOOP_OK);
    RANK_CHECK(hoop_sharded_reduce(sharded, list, HOOP_SUM, &gradient,
                                   &parameter) == HOOP_OK);
    room_add(rank, 0);
    if (rank->rank == 0) {
        room_await(rank, 0, rank->size);
        kill(getpid(), SIGKILL);
    }
    RANK_CHECK(hoop_sharded_gather(sharded) == HOOP_E_PEER_LOST);
    RANK_CHECK(strstr(hoop_error_text(), "rank 0"));
    RANK_CHECK(hoop_sharded_reduce(sharded, list, HOOP_SUM, &gradient,
                                   &parameter) == HOOP_E_PEER_LOST);
    hoop_sharded_free(sharded);
    return 0;
}

static void
models_are_reduced_and_gathered(void **state)
{
    run(1, sharded_random_body);
}

static void
optimizer_in_shards_is_that_of_the_whole(void **state)
{
    run(1, momentum_body);
}

static void
wrong_calls_fail_on_all_ranks(void **state)
{
    run(1, sharded_wrong_calls_body);
}

static void
sharded_killed_rank_ends_the_step_of_all(void **state)
{
    run(2, sharded_killed_body);
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
        cmocka_unit_test(models_are_reduced_and_gathered),
        cmocka_unit_test(optimizer_in_shards_is_that_of_the_whole),
        cmocka_unit_test(wrong_calls_fail_on_all_ranks),
        cmocka_unit_test(sharded_killed_rank_ends_the_step_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
