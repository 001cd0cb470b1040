/*
 * tests/integration/mesh/dtensor_pairs_test.c - each layout to each other one
 *
 * Workers that have joined redistribute as users do. The result must be what
 * the whole tensor says, and each rank must send what the plan says. Every
 * other pair uses the start form, and the gradient must return to where the
 * tensor came from.
 */

#include <stdio.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/daemon.h"
#include "integration/mesh/sharding_model.h"

/* With a sanitizer, only some of the pairs are tested. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
static const size_t PAIRS_STEP = 11;
#else
static const size_t PAIRS_STEP = 1;
#endif

static const struct family {
    struct hoop_shape shape;
    bool is_uneven;
} families[] = {
    {{1, {13}}, true},
    {{2, {8, 16}}, false},
    {{2, {7, 5}}, true},
};

struct pair {
    struct mesh_process *mesh_process;
    const struct family *family;
    const struct hoop_sharding *from;
    const struct hoop_sharding *to;
    size_t number;
    hoop_dtensor_t *before;
    hoop_dtensor_t *after;
};

static struct hoop_tensor_spec
spec_of(const struct pair *pair, const struct hoop_sharding *sharding)
{
    return (struct hoop_tensor_spec){.mesh = pair->mesh_process->mesh,
                                     .sharding = *sharding};
}

static int
pair_begin(struct pair *pair)
{
    const struct hoop_tensor_spec spec = spec_of(pair, pair->from);
    int32_t values[SHARDING_MODEL_ELEMENTS_MAX];
    const struct hoop_tensor whole = {
        .data = values, .dtype = HOOP_INT32, .shape = pair->family->shape};

    for (size_t i = 0; i < sharding_model_whole(&whole.shape); i++)
        values[i] = (int32_t)sharding_model_value(i);
    WORKER_CHECK(hoop_dtensor_from_global(&whole, &spec, &pair->before) ==
                 HOOP_OK);
    return 0;
}

/* A rank must send exactly as much as the plan says. */
static int
pair_move(struct pair *pair)
{
    const struct hoop_tensor_spec spec = spec_of(pair, pair->to);
    struct hoop_redistribution plan;
    struct hoop_stats before;
    struct hoop_stats after;
    hoop_op_t *op = NULL;

    WORKER_CHECK(hoop_redistribute_plan(pair->before, &spec, &plan) == HOOP_OK);
    hoop_session_stats(pair->mesh_process->session, &before);
    if (pair->number % 2 == 0) {
        WORKER_CHECK(hoop_dtensor_redistribute(pair->before, &spec,
                                               &pair->after) == HOOP_OK);
    } else {
        WORKER_CHECK(hoop_dtensor_redistribute_start(
                         pair->before, &spec, &pair->after, &op) == HOOP_OK);
        WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    }
    hoop_session_stats(pair->mesh_process->session, &after);
    WORKER_CHECK(after.bytes_sent - before.bytes_sent == plan.bytes_sent);
    return 0;
}

/* Checks a tensor that is not partial. */
static int
part_is_right(const struct pair *pair, const hoop_dtensor_t *dtensor)
{
    const struct hoop_tensor_spec *spec = hoop_dtensor_spec(dtensor);
    const struct hoop_mesh_shape mesh = hoop_mesh_shape_of(spec->mesh);
    const struct sharding_model_part seat = {.sharding = &spec->sharding,
                                             .mesh = &mesh,
                                             .shape = &pair->family->shape,
                                             .place = pair->mesh_process->rank};
    const int32_t *values = hoop_dtensor_local(dtensor)->data;
    size_t n_seen = 0;
    size_t at;

    for (size_t i = 0; i < sharding_model_whole(seat.shape); i++) {
        if (!sharding_model_has(&seat, i, &at))
            continue;
        WORKER_CHECK(values[at] == (int32_t)sharding_model_value(i));
        n_seen++;
    }
    WORKER_CHECK(n_seen == sharding_model_count(&seat));
    return 0;
}

/* Checks a partial tensor after its addends are summed. */
static int
sum_is_right(const struct pair *pair, const hoop_dtensor_t *dtensor)
{
    struct hoop_tensor whole = {.data = NULL};

    WORKER_CHECK(hoop_dtensor_gather(dtensor, &whole) == HOOP_OK);
    for (size_t i = 0; i < sharding_model_whole(&pair->family->shape); i++)
        WORKER_CHECK(((const int32_t *)whole.data)[i] ==
                     (int32_t)sharding_model_value(i));
    hoop_tensor_free(&whole);
    return 0;
}

/* Takes the gradient of a whole result. A partial tensor counts as whole there,
 * too. */
static int
gradient_is_right(const struct pair *pair)
{
    const struct hoop_tensor_spec spec = spec_of(pair, pair->from);
    hoop_dtensor_t *grad = NULL;

    WORKER_CHECK(hoop_dtensor_redistribute_backward(pair->after, &spec,
                                                    &grad) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_spec(grad)->sharding.partial.n_axes == 0);
    WORKER_CHECK(part_is_right(pair, grad) == 0);
    hoop_dtensor_free(grad);
    return 0;
}

static int
pair_go(struct pair *pair)
{
    const bool is_partial = pair->to->partial.n_axes > 0;

    WORKER_CHECK(pair_begin(pair) == 0);
    WORKER_CHECK(pair_move(pair) == 0);
    WORKER_CHECK((is_partial ? sum_is_right(pair, pair->after)
                             : part_is_right(pair, pair->after)) == 0);
    if (!is_partial && pair->number % 5 == 0)
        WORKER_CHECK(gradient_is_right(pair) == 0);
    hoop_dtensor_free(pair->after);
    hoop_dtensor_free(pair->before);
    return 0;
}

static int
family_go(struct mesh_process *mesh_process, const struct family *family)
{
    const struct hoop_sharding empty = {.is_uneven = family->is_uneven};
    const uint32_t n_dims = family->shape.n_dims;
    struct hoop_sharding layouts[SHARDING_MODEL_MAX];
    const size_t n = sharding_model_list(n_dims, &empty, layouts);

    for (size_t i = 0; i < n * n; i += PAIRS_STEP) {
        struct pair pair = {.mesh_process = mesh_process,
                            .family = family,
                            .from = &layouts[i / n],
                            .to = &layouts[i % n],
                            .number = i};

        if (pair_go(&pair) == 0)
            continue;
        fprintf(stderr, "from %s to %s\n",
                hoop_sharding_describe(pair.from, n_dims).text,
                hoop_sharding_describe(pair.to, n_dims).text);
        return 1;
    }
    return 0;
}

static int
pairs_body(struct mesh_process *mesh_process)
{
    for (size_t i = 0; i < COUNT_OF(families); i++) {
        if (family_go(mesh_process, &families[i]))
            return 1;
    }
    return 0;
}

static void
all_pairs_on_two_by_two(void **state)
{
    assert_int_equal(mesh_processes_run(2, 2, 0, pairs_body), 0);
}

static void
all_pairs_on_two_by_four(void **state)
{
    assert_int_equal(mesh_processes_run(2, 4, 0, pairs_body), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pairs_on_two_by_two),
        cmocka_unit_test(all_pairs_on_two_by_four),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
