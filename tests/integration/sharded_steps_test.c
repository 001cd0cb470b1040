/*
 * tests/integration/sharded_steps_test.c - hoop/sharded.h on processes
 *
 * Models by chance against plain loops, an optimizer with momentum whose state
 * is cut against one whose is not, and what goes wrong.
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
    N_MODELS = 20,
    N_STEPS = 2,
};

/* Shards lie one behind the other, all but the last of one size. */
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

/* The gradient takes the parameter's place: then all have all gradients. */
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
one_model(struct rank *rank, uint64_t seed)
{
    static const enum hoop_dtype dtypes[] = {
        HOOP_FLOAT32, HOOP_BFLOAT16, HOOP_FLOAT16, HOOP_INT64, HOOP_FLOAT64};
    const enum hoop_dtype dtype = dtypes[seed % COUNT_OF(dtypes)];
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
    for (uint64_t step = 0; step < N_STEPS && line == 0; step++) {
        model_fill(&gradients, rank, seed * N_STEPS + step);
        line = one_step(rank, sharded, &parameters, &gradients, op);
    }
    hoop_sharded_free(sharded);
    model_deinit(&parameters);
    model_deinit(&gradients);
    return line;
}

static int
random_body(struct rank *rank)
{
    int line = 0;

    for (uint64_t seed = 1; seed <= N_MODELS && line == 0; seed++)
        line = one_model(rank, seed);
    return line;
}

/* An optimizer with momentum. Halves and small integers: no step rounds, so
 * that the order of a sum does not show. */
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

/* That status was of a call that does not match is told once: by it, or where
 * nothing of others was waited for, by one of the next two. */
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
wrong_calls_body(struct rank *rank)
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

    /* As many elements, cut otherwise, on the last rank alone. */
    list[1].shape.dims[0] = 2;
    if (rank->rank == rank->size - 1)
        list[0].shape = (struct hoop_shape){2, {2, 2}};
    RANK_CHECK(hoop_sharded_create(list, 2, rank->comm, &sharded) == HOOP_OK);
    const enum hoop_status status =
        hoop_sharded_reduce(sharded, list, HOOP_SUM, &gradient, &parameter);
    hoop_sharded_free(sharded);
    return require_told_once(rank, status);
}

/* Between a step's two halves. */
static int
killed_body(struct rank *rank)
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
run(uint32_t first, rank_fn *body)
{
    for (uint32_t size = first; size <= MODEL_RANKS_MAX; size++)
        assert_int_equal(ranks_run_all(size, body), 0);
}

static void
models_are_reduced_and_gathered(void **state)
{
    (void)state;
    run(1, random_body);
}

static void
optimizer_in_shards_is_that_of_the_whole(void **state)
{
    (void)state;
    run(1, momentum_body);
}

static void
wrong_calls_fail_on_all_ranks(void **state)
{
    (void)state;
    run(1, wrong_calls_body);
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
        cmocka_unit_test(models_are_reduced_and_gathered),
        cmocka_unit_test(optimizer_in_shards_is_that_of_the_whole),
        cmocka_unit_test(wrong_calls_fail_on_all_ranks),
        cmocka_unit_test(killed_rank_ends_the_step_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
