/*
 * tests/integration/parallel/comm_spec_random_test.c - random communication
 * specs
 *
 * The test takes every pattern on tensors of one to three dimensions, forward
 * and backward. It compares the results with index formulas that share no code
 * with the library. Each process knows all inputs, which are small integers
 * that every dtype here can hold and add exactly.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/daemon.h"
#include "pseudo_random.h"

enum {
    CASES = 300,
    RANKS_ALL = 8,
    N_PATTERNS = 7,
    DIMS = 3,
};

static const enum hoop_dtype dtypes[] = {HOOP_INT64, HOOP_FLOAT32,
                                         HOOP_BFLOAT16};

/* Returns element i of a rank's tensor. */
static int64_t
value_of(uint64_t seed, uint32_t rank, size_t i)
{
    return (int64_t)((seed / 64 + rank * 5 + i * 3 + i / 7) % 16);
}

static void
element_write(void *at, enum hoop_dtype dtype, int64_t value)
{
    const float number = (float)value;
    uint32_t bits;

    memcpy(&bits, &number, sizeof(bits));
    const uint16_t half = (uint16_t)(bits >> 16);
    if (dtype == HOOP_INT64)
        memcpy(at, &value, sizeof(value));
    else if (dtype == HOOP_FLOAT32)
        memcpy(at, &number, sizeof(number));
    else
        memcpy(at, &half, sizeof(half));
}

struct drawn {
    struct hoop_comm_spec spec;
    enum hoop_dtype dtype;
    struct hoop_shape shape; /* that of the input */
    bool starts;
    uint64_t seed;
};

/* The ranks that take part together with a rank, in the order of their
 * parts. */
struct group {
    uint32_t n;
    uint32_t ranks[RANKS_ALL];
    uint32_t position;
    uint32_t splits[2]; /* parts of each dimension in a mix-gather */
};

static struct group
group_of(const struct drawn *drawn, const struct mesh_process *mesh_process)
{
    const uint32_t *axes = drawn->spec.axes.axes;
    const uint32_t n_all = mesh_process->n_rows * mesh_process->n_columns;
    const uint32_t sizes[] = {mesh_process->n_rows, mesh_process->n_columns};
    const bool is_mix = drawn->spec.pattern == HOOP_COMM_MIX_GATHER;
    struct group group = {.n = 0};

    for (uint32_t i = 0; i < n_all; i++) {
        uint32_t rank = i;

        /* The order is column by column. */
        if (is_mix && axes[0] == 0)
            rank = i % mesh_process->n_rows * mesh_process->n_columns +
                   i / mesh_process->n_rows;
        if (drawn->spec.axes.n_axes == 1 && axes[0] == 0 &&
            rank % mesh_process->n_columns !=
                mesh_process->rank % mesh_process->n_columns)
            continue;
        if (drawn->spec.axes.n_axes == 1 && axes[0] == 1 &&
            rank / mesh_process->n_columns !=
                mesh_process->rank / mesh_process->n_columns)
            continue;
        if (rank == mesh_process->rank)
            group.position = group.n;
        group.ranks[group.n++] = rank;
    }
    for (uint32_t i = 0; is_mix && i < 2; i++)
        group.splits[i] = axes[0] == axes[1] ? n_all : sizes[axes[i]];
    return group;
}

static void
draw_axes(struct drawn *drawn, uint64_t *seed)
{
    struct hoop_comm_spec *spec = &drawn->spec;

    if (spec->pattern == HOOP_COMM_MIX_GATHER) {
        spec->axes = (struct hoop_axes){
            2, {random_below(seed, 2), random_below(seed, 2)}};
        if (drawn->shape.n_dims == 1)
            spec->axes.axes[1] = spec->axes.axes[0];
    } else if (random_below(seed, 3) == 0) {
        const uint32_t first = random_below(seed, 2);

        spec->axes = (struct hoop_axes){2, {first, 1 - first}};
    } else {
        spec->axes = (struct hoop_axes){1, {random_below(seed, 2)}};
    }
}

static struct hoop_comm_dims
draw_dim(const struct drawn *drawn, uint64_t *seed)
{
    const uint32_t n_dims = drawn->shape.n_dims;
    const int32_t dim = (int32_t)random_below(seed, n_dims);
    const bool is_from_end = random_below(seed, 2) == 1;

    return (struct hoop_comm_dims){1,
                                   {is_from_end ? dim - (int32_t)n_dims : dim}};
}

static struct drawn
draw(uint64_t seed, const struct mesh_process *mesh_process)
{
    struct drawn drawn = {.seed = seed * 1000003};
    uint64_t *at = &drawn.seed;

    drawn.spec.pattern = (enum hoop_comm_pattern)random_below(at, N_PATTERNS);
    drawn.dtype = dtypes[random_below(at, COUNT_OF(dtypes))];
    drawn.starts = random_below(at, 2) == 1;
    drawn.shape.n_dims = 1 + random_below(at, DIMS);
    draw_axes(&drawn, at);
    for (uint32_t i = 0; i < drawn.shape.n_dims; i++)
        drawn.shape.dims[i] =
            random_below(at, 12) == 0 ? 0 : 1 + random_below(at, 3);
    drawn.spec.gather_dim = draw_dim(&drawn, at);
    drawn.spec.shard_dim = drawn.spec.gather_dim;
    if (drawn.spec.pattern == HOOP_COMM_ALL_TO_ALL)
        drawn.spec.shard_dim = draw_dim(&drawn, at);
    if (drawn.spec.pattern == HOOP_COMM_MIX_GATHER &&
        drawn.spec.axes.axes[0] != drawn.spec.axes.axes[1]) {
        const int32_t first = (int32_t)random_below(at, drawn.shape.n_dims);

        drawn.spec.gather_dim = (struct hoop_comm_dims){
            2, {first, (first + 1) % (int32_t)drawn.shape.n_dims}};
    }
    /* A dimension that is cut must be a multiple of all numbers of parts. */
    for (uint32_t i = 0; i < drawn.shape.n_dims; i++) {
        if (drawn.spec.pattern != HOOP_COMM_GATHER)
            drawn.shape.dims[i] *=
                mesh_process->n_rows * mesh_process->n_columns;
    }
    return drawn;
}

static uint32_t
dim_of(const struct hoop_comm_dims *dims, uint32_t i, uint32_t n_dims)
{
    return (uint32_t)(dims->dims[i] < 0 ? dims->dims[i] + (int32_t)n_dims
                                        : dims->dims[i]);
}

/* The shapes before and after, and the rest of the case. */
struct mapping_case {
    const struct drawn *drawn;
    const struct group *group;
    struct hoop_shape in;
    struct hoop_shape out;
    uint64_t seed;
    bool is_backward;
};

static int64_t
in_value(const struct mapping_case *mapping_case,
         uint32_t rank,
         const size_t at[DIMS])
{
    size_t i = 0;

    for (uint32_t dim = 0; dim < mapping_case->in.n_dims; dim++)
        i = i * mapping_case->in.dims[dim] + at[dim];
    return value_of(mapping_case->seed, rank, i);
}

static int64_t
in_sum(const struct mapping_case *mapping_case, const size_t at[DIMS])
{
    int64_t sum = 0;

    for (uint32_t i = 0; i < mapping_case->group->n; i++)
        sum += in_value(mapping_case, mapping_case->group->ranks[i], at);
    return sum;
}

/* Returns the rank in whose block an element of a mix-gather is. at becomes the
 * position in that block. */
static uint32_t
mix_rank(const struct mapping_case *mapping_case, size_t at[DIMS])
{
    const struct hoop_comm_dims *dims = &mapping_case->drawn->spec.gather_dim;
    uint32_t number = 0;
    uint32_t radix = 1;

    for (uint32_t i = 0; i < dims->n_dims; i++) {
        const uint32_t dim = dim_of(dims, i, mapping_case->in.n_dims);

        number += (uint32_t)(at[dim] / mapping_case->in.dims[dim]) * radix;
        radix *= mapping_case->group->splits[i];
        at[dim] %= mapping_case->in.dims[dim];
    }
    return mapping_case->group->ranks[number];
}

/* Turns a position in this rank's block of a mix-gather into one in the
 * whole. */
static void
mix_shift(const struct mapping_case *mapping_case, size_t at[DIMS])
{
    const struct hoop_comm_dims *dims = &mapping_case->drawn->spec.gather_dim;
    uint32_t number = mapping_case->group->position;

    for (uint32_t i = 0; i < dims->n_dims; i++) {
        const uint32_t dim = dim_of(dims, i, mapping_case->in.n_dims);

        at[dim] += number % mapping_case->group->splits[i] *
                   mapping_case->out.dims[dim];
        number /= mapping_case->group->splits[i];
    }
}

/* Returns the element that came from the rank which has this part along gather.
 * That rank had cut its tensor along shard. */
static int64_t
exchanged(const struct mapping_case *mapping_case,
          size_t at[DIMS],
          uint32_t gather,
          uint32_t shard)
{
    const struct group *group = mapping_case->group;
    const size_t n_cut = mapping_case->in.dims[shard] / group->n;
    const size_t length =
        gather == shard ? n_cut : mapping_case->in.dims[gather];
    const uint32_t sender = group->ranks[at[gather] / length];

    at[gather] %= length;
    at[shard] += group->position * n_cut;
    return in_value(mapping_case, sender, at);
}

static int64_t
gathered(const struct mapping_case *mapping_case,
         size_t at[DIMS],
         uint32_t gather)
{
    const size_t length = mapping_case->in.dims[gather];
    const uint32_t sender = mapping_case->group->ranks[at[gather] / length];

    at[gather] %= length;
    return in_value(mapping_case, sender, at);
}

/* Returns the element of the output at these indices. */
static int64_t
expected_at(const struct mapping_case *mapping_case, size_t at[DIMS])
{
    const struct hoop_comm_spec *spec = &mapping_case->drawn->spec;
    const uint32_t n_dims = mapping_case->in.n_dims;
    const uint32_t gather = dim_of(&spec->gather_dim, 0, n_dims);
    const uint32_t shard = dim_of(&spec->shard_dim, 0, n_dims);
    const bool back = mapping_case->is_backward;
    const size_t shift =
        mapping_case->group->position * mapping_case->out.dims[shard];
    const uint32_t rank =
        mapping_case->group->ranks[mapping_case->group->position];

    switch (spec->pattern) {
    case HOOP_COMM_GATHER:
    case HOOP_COMM_SPLIT:
        if (back == (spec->pattern == HOOP_COMM_SPLIT))
            return gathered(mapping_case, at, gather);
        at[shard] += shift;
        return in_value(mapping_case, rank, at);
    case HOOP_COMM_ALL_TO_ALL:
        return back ? exchanged(mapping_case, at, shard, gather)
                    : exchanged(mapping_case, at, gather, shard);
    case HOOP_COMM_ALLREDUCE:
        return back ? in_value(mapping_case, rank, at)
                    : in_sum(mapping_case, at);
    case HOOP_COMM_IDENTITY:
        return back ? in_sum(mapping_case, at)
                    : in_value(mapping_case, rank, at);
    case HOOP_COMM_MIX_GATHER:
        if (!back)
            return in_value(mapping_case, mix_rank(mapping_case, at), at);
        mix_shift(mapping_case, at);
        return in_value(mapping_case, rank, at);
    case HOOP_COMM_REDUCE_SCATTER:
        if (back)
            return gathered(mapping_case, at, gather);
        at[shard] += shift;
        return in_sum(mapping_case, at);
    }
    return -1;
}

static bool
output_is_right(const struct mapping_case *mapping_case,
                const struct hoop_tensor *output)
{
    const size_t n_bytes = hoop_dtype_size(output->dtype);
    bool is_right = true;
    size_t count;

    if (!hoop_shape_equal(&output->shape, &mapping_case->out) ||
        hoop_shape_count(&output->shape, &count) != HOOP_OK)
        return false;
    for (size_t i = 0; i < count && is_right; i++) {
        uint8_t expected[sizeof(int64_t)];
        size_t at[DIMS] = {0};
        size_t rest = i;

        for (uint32_t dim = mapping_case->out.n_dims; dim > 0; dim--) {
            at[dim - 1] = rest % mapping_case->out.dims[dim - 1];
            rest /= mapping_case->out.dims[dim - 1];
        }
        element_write(expected, output->dtype, expected_at(mapping_case, at));
        is_right = memcmp((const uint8_t *)output->data + i * n_bytes, expected,
                          n_bytes) == 0;
    }
    return is_right;
}

static int
mapping_case_run(struct mesh_process *mesh_process,
                 const struct mapping_case *mapping_case)
{
    const struct drawn *drawn = mapping_case->drawn;
    const size_t n_bytes = hoop_dtype_size(drawn->dtype);
    struct hoop_tensor input = {.data = NULL};
    struct hoop_tensor output = {.data = NULL};
    hoop_op_t *op = NULL;
    enum hoop_status status;
    size_t count;

    WORKER_CHECK(hoop_tensor_create(drawn->dtype, &mapping_case->in, &input) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_shape_count(&mapping_case->in, &count) == HOOP_OK);
    for (size_t i = 0; i < count; i++)
        element_write((uint8_t *)input.data + i * n_bytes, drawn->dtype,
                      value_of(mapping_case->seed, mesh_process->rank, i));
    if (drawn->starts) {
        status =
            mapping_case->is_backward
                ? hoop_comm_spec_backward_start(&input, &output, &drawn->spec,
                                                mesh_process->mesh, &op)
                : hoop_comm_spec_forward_start(&input, &output, &drawn->spec,
                                               mesh_process->mesh, &op);
        WORKER_CHECK(status == HOOP_OK);
        status = hoop_wait(op, HOOP_FOREVER);
    } else {
        status = mapping_case->is_backward
                     ? hoop_comm_spec_backward(&input, &output, &drawn->spec,
                                               mesh_process->mesh)
                     : hoop_comm_spec_forward(&input, &output, &drawn->spec,
                                              mesh_process->mesh);
    }
    WORKER_CHECK(status == HOOP_OK);
    WORKER_CHECK(output_is_right(mapping_case, &output));
    hoop_tensor_free(&input);
    hoop_tensor_free(&output);
    return 0;
}

static int
case_body(struct mesh_process *mesh_process, uint64_t seed)
{
    const struct drawn drawn = draw(seed, mesh_process);
    const struct group group = group_of(&drawn, mesh_process);
    const struct hoop_mesh_shape sizes = hoop_mesh_shape_of(mesh_process->mesh);
    struct mapping_case mapping_case = {.drawn = &drawn,
                                        .group = &group,
                                        .in = drawn.shape,
                                        .seed = drawn.seed};

    WORKER_CHECK(hoop_comm_spec_result(&drawn.spec, &sizes, &drawn.shape,
                                       &mapping_case.out) == HOOP_OK);
    const struct hoop_shape result = mapping_case.out;
    int failure = mapping_case_run(mesh_process, &mapping_case);
    mapping_case.in = result;
    mapping_case.out = drawn.shape;
    mapping_case.seed += 64 * 11;
    mapping_case.is_backward = true;
    failure = failure ? failure : mapping_case_run(mesh_process, &mapping_case);
    if (failure)
        fprintf(stderr, "seed %llu, pattern %d\n", (unsigned long long)seed,
                (int)drawn.spec.pattern);
    return failure;
}

static int
cases_body(struct mesh_process *mesh_process)
{
    int failure = 0;

    for (uint64_t seed = 1; seed <= CASES && failure == 0; seed++)
        failure = case_body(mesh_process, seed);
    return failure;
}

static void
specs_on_one_rank_follow_the_formulas(void **state)
{
    assert_int_equal(mesh_processes_run(1, 1, 0, cases_body), 0);
}

static void
specs_on_1x2_follow_the_formulas(void **state)
{
    assert_int_equal(mesh_processes_run(1, 2, 0, cases_body), 0);
}

static void
specs_on_2x2_follow_the_formulas(void **state)
{
    assert_int_equal(mesh_processes_run(2, 2, 0, cases_body), 0);
}

static void
specs_on_2x4_follow_the_formulas(void **state)
{
    assert_int_equal(mesh_processes_run(2, 4, 0, cases_body), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(specs_on_one_rank_follow_the_formulas),
        cmocka_unit_test(specs_on_1x2_follow_the_formulas),
        cmocka_unit_test(specs_on_2x2_follow_the_formulas),
        cmocka_unit_test(specs_on_2x4_follow_the_formulas),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
