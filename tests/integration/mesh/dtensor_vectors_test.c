/*
 * tests/integration/mesh/dtensor_vectors_test.c - worked placements of tensors
 *
 * X is a 4 x 4 matrix of 0 to 15 over rows of four tensor-parallel ranks. Each
 * placement is made from each other one, and goes back.
 */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    T = 4,
    SIDE = 4,
    N = SIDE * SIDE,
};

struct placement {
    int32_t dims[2];
    uint32_t parts[2];
    uint32_t n_dims; /* 0: every rank has the whole */
    struct hoop_shape part;
    int64_t at[T][N];
};

static const struct placement placements[] = {
    {{0}, {0}, 0, {2, {4, 4}}, {{0}}}, /* values_of() fills it in */
    {{0},
     {4},
     1,
     {2, {1, 4}},
     {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}},
    {{-1},
     {4},
     1,
     {2, {4, 1}},
     {{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}}},
    {{0, 1},
     {2, 2},
     2,
     {2, {2, 2}},
     {{0, 1, 4, 5}, {2, 3, 6, 7}, {8, 9, 12, 13}, {10, 11, 14, 15}}},
    {{1, 0},
     {2, 2},
     2,
     {2, {2, 2}},
     {{0, 1, 4, 5}, {8, 9, 12, 13}, {2, 3, 6, 7}, {10, 11, 14, 15}}},
};

static enum hoop_status
spec_of(hoop_pg_t *group,
        const struct placement *placement,
        struct hoop_tensor_spec *out_spec)
{
    const struct hoop_partitions partitions = {
        placement->dims, placement->n_dims, placement->parts,
        placement->n_dims};
    struct hoop_group_sharding dist;
    enum hoop_status status;

    if (placement->n_dims == 0)
        status = hoop_sharding_replica(hoop_pg_tp_size(group), &dist);
    else
        status =
            hoop_sharding_shard(&partitions, 2, hoop_pg_tp_size(group), &dist);
    return status == HOOP_OK ? hoop_pg_tensor_spec(group, &dist, out_spec)
                             : status;
}

/* Returns what a rank has, with base added, since rows of data parallelism may
 * have different values. */
static size_t
values_of(const struct placement *placement,
          uint32_t tp_rank,
          int64_t base,
          int64_t out_values[N])
{
    const size_t count = placement->part.dims[0] * placement->part.dims[1];

    for (size_t i = 0; i < count; i++)
        out_values[i] =
            base +
            (placement->n_dims == 0 ? (int64_t)i : placement->at[tp_rank][i]);
    return count;
}

static int
tensor_is(const hoop_dtensor_t *dtensor,
          const struct placement *placement,
          uint32_t tp_rank,
          int64_t base)
{
    const struct hoop_tensor *local = hoop_dtensor_local(dtensor);
    int64_t values[N];
    const size_t count = values_of(placement, tp_rank, base, values);

    WORKER_CHECK(hoop_shape_equal(&local->shape, &placement->part));
    WORKER_CHECK(memcmp(local->data, values, count * sizeof(*values)) == 0);
    return 0;
}

/* A change of layout. It is tested with its gradient, the start forms, in
 * place, and by gathering the whole. */
struct change {
    const struct placement *from;
    const struct placement *to;
    struct hoop_tensor_spec from_spec;
    struct hoop_tensor_spec to_spec;
    uint32_t tp_rank;
    int64_t base;
};

static int
change_to_new(const struct change *change, const hoop_dtensor_t *input)
{
    hoop_dtensor_t *output = NULL;
    hoop_dtensor_t *started = NULL;
    hoop_dtensor_t *grad = NULL;
    hoop_op_t *op = NULL;

    WORKER_CHECK(hoop_dtensor_redistribute(input, &change->to_spec, &output) ==
                 HOOP_OK);
    WORKER_CHECK(tensor_is(output, change->to, change->tp_rank, change->base) ==
                 0);
    WORKER_CHECK(hoop_dtensor_local(output)->data !=
                 hoop_dtensor_local(input)->data);
    WORKER_CHECK(hoop_dtensor_redistribute_backward_start(
                     output, &change->from_spec, &grad, &op) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    WORKER_CHECK(tensor_is(grad, change->from, change->tp_rank, change->base) ==
                 0);
    WORKER_CHECK(hoop_dtensor_redistribute_start(input, &change->to_spec,
                                                 &started, &op) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    WORKER_CHECK(
        tensor_is(started, change->to, change->tp_rank, change->base) == 0);
    WORKER_CHECK(
        tensor_is(input, change->from, change->tp_rank, change->base) == 0);
    hoop_dtensor_free(grad);
    hoop_dtensor_free(started);
    hoop_dtensor_free(output);
    return 0;
}

/* Changes the layout and back. Values that were borrowed do not change. */
static int
change_in_place(const struct change *change, hoop_dtensor_t *dtensor)
{
    int64_t *values = hoop_dtensor_local(dtensor)->data;
    const int64_t first = values[0];
    hoop_op_t *op = NULL;

    WORKER_CHECK(hoop_dtensor_set_spec(dtensor, &change->to_spec) == HOOP_OK);
    WORKER_CHECK(
        tensor_is(dtensor, change->to, change->tp_rank, change->base) == 0);
    WORKER_CHECK(hoop_sharding_equal(&hoop_dtensor_spec(dtensor)->sharding,
                                     &change->to_spec.sharding));
    WORKER_CHECK(hoop_dtensor_spec(dtensor)->mesh == change->to_spec.mesh);
    WORKER_CHECK(hoop_dtensor_set_spec_start(dtensor, &change->from_spec,
                                             &op) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    WORKER_CHECK(
        tensor_is(dtensor, change->from, change->tp_rank, change->base) == 0);
    WORKER_CHECK(values[0] == first);
    return 0;
}

static int
gather_is_whole(const struct change *change, const hoop_dtensor_t *dtensor)
{
    int64_t room[N];
    struct hoop_tensor made = {.data = NULL};
    struct hoop_tensor own = {room, HOOP_INT64, {2, {SIDE, SIDE}}, NULL};
    hoop_op_t *op = NULL;

    WORKER_CHECK(hoop_dtensor_gather(dtensor, &made) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_gather_start(dtensor, &own, &op) == HOOP_OK);
    WORKER_CHECK(hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    for (int64_t i = 0; i < N; i++) {
        WORKER_CHECK(((const int64_t *)made.data)[i] == change->base + i);
        WORKER_CHECK(room[i] == change->base + i);
    }
    hoop_tensor_free(&made);
    return 0;
}

static int
change_body(const struct change *change)
{
    int64_t values[N];
    hoop_dtensor_t *dtensor = NULL;

    values_of(change->from, change->tp_rank, change->base, values);
    const struct hoop_tensor local = {values, HOOP_INT64, change->from->part,
                                      NULL};
    WORKER_CHECK(hoop_dtensor_from_local(&local, NULL, &change->from_spec,
                                         &dtensor) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_shape(dtensor)->dims[0] == SIDE);
    WORKER_CHECK(hoop_dtensor_shape(dtensor)->dims[1] == SIDE);
    WORKER_CHECK(change_to_new(change, dtensor) == 0);
    WORKER_CHECK(gather_is_whole(change, dtensor) == 0);
    WORKER_CHECK(change_in_place(change, dtensor) == 0);
    hoop_dtensor_free(dtensor);
    return 0;
}

/* Each row of data parallelism has its own values, and keeps them. */
static int
placements_body(struct mesh_process *mesh_process)
{
    hoop_pg_t *group = NULL;
    struct change change = {.from = NULL};

    WORKER_CHECK(hoop_pg_create(mesh_process->session,
                                &(struct hoop_pg_options){.tp_degree = T},
                                &group) == HOOP_OK);
    change.tp_rank = hoop_pg_tp_rank(group);
    change.base = 100 * (int64_t)hoop_pg_dp_rank(group);
    for (size_t i = 0; i < COUNT_OF(placements) * COUNT_OF(placements); i++) {
        change.from = &placements[i / COUNT_OF(placements)];
        change.to = &placements[i % COUNT_OF(placements)];
        WORKER_CHECK(spec_of(group, change.from, &change.from_spec) == HOOP_OK);
        WORKER_CHECK(spec_of(group, change.to, &change.to_spec) == HOOP_OK);
        WORKER_CHECK(change_body(&change) == 0);
    }
    hoop_pg_free(group);
    return 0;
}

static void
placements_of_four_become_each_other(void **state)
{
    assert_int_equal(mesh_processes_run(2, 2, 0, placements_body), 0);
    assert_int_equal(mesh_processes_run(2, 4, 0, placements_body), 0);
}

/* Each rank has its own gradient of the whole, and gets its part of it; nothing
 * is summed. */
static int
gradient_of_a_gather_is_ones_own_part_without_a_sum(
    struct mesh_process *mesh_process)
{
    const struct placement rows = {
        .dims = {0}, .parts = {2}, .n_dims = 1, .part = {2, {1, 4}}};
    const struct placement whole = {.n_dims = 0};
    const int64_t base = 100 * (int64_t)mesh_process->rank;
    int64_t values[8];
    const struct hoop_tensor local = {values, HOOP_INT64, {2, {2, 4}}, NULL};
    struct hoop_tensor_spec input_spec;
    struct hoop_tensor_spec output_spec;
    hoop_dtensor_t *grad = NULL;
    hoop_dtensor_t *back = NULL;
    hoop_pg_t *group = NULL;

    for (int64_t i = 0; i < 8; i++)
        values[i] = base + i + 1;
    WORKER_CHECK(hoop_pg_create(mesh_process->session,
                                &(struct hoop_pg_options){.tp_degree = 2},
                                &group) == HOOP_OK);
    WORKER_CHECK(spec_of(group, &rows, &input_spec) == HOOP_OK);
    WORKER_CHECK(spec_of(group, &whole, &output_spec) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_from_local(&local, NULL, &output_spec, &grad) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_dtensor_redistribute_backward(grad, &input_spec, &back) ==
                 HOOP_OK);
    for (int64_t i = 0; i < 4; i++)
        WORKER_CHECK(((const int64_t *)hoop_dtensor_local(back)->data)[i] ==
                     base + i + 1 + (mesh_process->rank == 1 ? 4 : 0));
    hoop_dtensor_free(back);
    hoop_dtensor_free(grad);
    hoop_pg_free(group);
    return 0;
}

/* With T = 2 and D = 2 the rows are cut. The tensor goes to columns over T =
 * 4. */
static int
tensor_of_one_group_goes_to_another(struct mesh_process *mesh_process)
{
    const struct placement rows = {
        .dims = {0}, .parts = {2}, .n_dims = 1, .part = {2, {1, 4}}};
    const struct placement columns = {
        .dims = {-1}, .parts = {4}, .n_dims = 1, .part = {2, {2, 1}}};
    const int64_t row = mesh_process->rank % 2;
    int64_t values[] = {4 * row, 4 * row + 1, 4 * row + 2, 4 * row + 3};
    const struct hoop_tensor local = {values, HOOP_INT64, {2, {1, 4}}, NULL};
    struct hoop_tensor_spec from;
    struct hoop_tensor_spec to;
    hoop_dtensor_t *dtensor = NULL;
    hoop_dtensor_t *other = NULL;
    hoop_pg_t *pg1 = NULL;
    hoop_pg_t *pg2 = NULL;

    WORKER_CHECK(hoop_pg_create(mesh_process->session,
                                &(struct hoop_pg_options){.tp_degree = 2},
                                &pg1) == HOOP_OK);
    WORKER_CHECK(hoop_pg_create(mesh_process->session,
                                &(struct hoop_pg_options){.tp_degree = 4},
                                &pg2) == HOOP_OK);
    WORKER_CHECK(spec_of(pg1, &rows, &from) == HOOP_OK);
    WORKER_CHECK(spec_of(pg2, &columns, &to) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_from_local(&local, NULL, &from, &dtensor) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_dtensor_shape(dtensor)->dims[0] == 2);
    WORKER_CHECK(hoop_dtensor_redistribute(dtensor, &to, &other) == HOOP_OK);
    const struct hoop_tensor *part = hoop_dtensor_local(other);
    WORKER_CHECK(hoop_shape_equal(&part->shape, &columns.part));
    WORKER_CHECK(((const int64_t *)part->data)[0] ==
                 (int64_t)mesh_process->rank);
    WORKER_CHECK(((const int64_t *)part->data)[1] ==
                 (int64_t)mesh_process->rank + 4);
    WORKER_CHECK(hoop_dtensor_set_spec(dtensor, &to) == HOOP_OK);
    WORKER_CHECK(memcmp(hoop_dtensor_local(dtensor)->data, part->data,
                        2 * sizeof(int64_t)) == 0);
    hoop_dtensor_free(other);
    hoop_dtensor_free(dtensor);
    hoop_pg_free(pg2);
    hoop_pg_free(pg1);
    return 0;
}

/* A change that needs no data of other ranks does not wait for them: only one
 * rank calls it. */
static int
slice_waits_for_nobody(struct mesh_process *mesh_process)
{
    hoop_dtensor_t *dtensor = NULL;
    hoop_dtensor_t *part = NULL;
    hoop_op_t *op = NULL;
    const struct hoop_tensor_spec whole = {.mesh = mesh_process->mesh};
    const struct hoop_tensor_spec cut = {
        .mesh = mesh_process->mesh, .sharding = {.dims = {{1, {1}}, {1, {0}}}}};
    const struct hoop_shape shape = {2, {SIDE, SIDE}};
    struct hoop_stats before;
    struct hoop_stats after;

    if (mesh_process->rank > 0)
        return 0;
    hoop_session_stats(mesh_process->session, &before);
    WORKER_CHECK(hoop_dtensor_create(HOOP_INT64, &shape, &whole, &dtensor) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_dtensor_redistribute(dtensor, &cut, &part) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_local(part)->shape.dims[0] == SIDE / 2);
    WORKER_CHECK(hoop_dtensor_set_spec_start(dtensor, &cut, &op) == HOOP_OK);
    WORKER_CHECK(hoop_test(op) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_local(dtensor)->shape.dims[1] == SIDE / 2);
    hoop_session_stats(mesh_process->session, &after);
    WORKER_CHECK(after.bytes_sent == before.bytes_sent);
    hoop_dtensor_free(part);
    hoop_dtensor_free(dtensor);
    return 0;
}

/*
 * The rest of the file makes tensors from parts.
 *
 * The mesh is 2 x 2, and one process is outside. Every element of X, which is a
 * 4 x 4 matrix of 0 to 15, must be where the sharding says, and nothing may be
 * sent.
 */

enum {
    RANKS = 4,
    FROM_SIDE = 4,
};

static const struct hoop_shape square = {2, {FROM_SIDE, FROM_SIDE}};
static int64_t x[FROM_SIDE * FROM_SIDE];

static const struct hoop_tensor *
whole(void)
{
    static const struct hoop_tensor tensor = {
        x, HOOP_INT64, {2, {FROM_SIDE, FROM_SIDE}}, NULL};

    for (int64_t i = 0; i < FROM_SIDE * FROM_SIDE; i++)
        x[i] = i;
    return &tensor;
}

static uint64_t
bytes_sent(const struct mesh_process *mesh_process)
{
    struct hoop_stats stats;

    hoop_session_stats(mesh_process->session, &stats);
    return stats.bytes_sent;
}

struct from_placement {
    struct hoop_sharding sharding;
    struct hoop_shape part;
    int64_t at[RANKS][FROM_SIDE * FROM_SIDE];
};

static const struct from_placement from_placements[] = {
    {{.dims = {{2, {0, 1}}}},
     {2, {1, 4}},
     {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}},
    {{.dims = {{0}, {2, {0, 1}}}},
     {2, {4, 1}},
     {{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}}},
    {{.dims = {{1, {0}}, {1, {1}}}},
     {2, {2, 2}},
     {{0, 1, 4, 5}, {2, 3, 6, 7}, {8, 9, 12, 13}, {10, 11, 14, 15}}},
    {{.dims = {{1, {1}}, {1, {0}}}},
     {2, {2, 2}},
     {{0, 1, 4, 5}, {8, 9, 12, 13}, {2, 3, 6, 7}, {10, 11, 14, 15}}},
    {{.dims = {{1, {1}}}, .partial = {1, {0}}, .partial_op = HOOP_SUM},
     {2, {2, 4}},
     {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}, {0}, {0}}},
    {{.dims = {{1, {1}}}, .partial = {1, {0}}, .partial_op = HOOP_MAX},
     {2, {2, 4}},
     {{0, 1, 2, 3, 4, 5, 6, 7},
      {8, 9, 10, 11, 12, 13, 14, 15},
      {0, 1, 2, 3, 4, 5, 6, 7},
      {8, 9, 10, 11, 12, 13, 14, 15}}},
};

/* Checks a placement, and the same placement as a label on the part. */
static int
placement_body(struct mesh_process *mesh_process,
               const struct from_placement *from_placement)
{
    const struct hoop_tensor_spec spec = {mesh_process->mesh,
                                          from_placement->sharding, NULL};
    hoop_dtensor_t *dtensor = NULL;
    hoop_dtensor_t *label = NULL;
    struct hoop_part part;
    const struct hoop_tensor outside = {NULL, HOOP_INT64, from_placement->part,
                                        NULL};

    WORKER_CHECK(hoop_dtensor_from_global(whole(), &spec, &dtensor) == HOOP_OK);
    const struct hoop_tensor *local = hoop_dtensor_local(dtensor);
    WORKER_CHECK(hoop_dtensor_part(dtensor, &part) ==
                 (local ? HOOP_OK : HOOP_E_INVALID));
    if (mesh_process->rank < RANKS) {
        WORKER_CHECK(hoop_shape_equal(&part.shape, &from_placement->part));
        WORKER_CHECK(hoop_shape_equal(&local->shape, &from_placement->part));
        WORKER_CHECK(local->dtype == HOOP_INT64 && local->data != x);
        WORKER_CHECK(memcmp(local->data, from_placement->at[mesh_process->rank],
                            local->shape.dims[0] * local->shape.dims[1] *
                                sizeof(int64_t)) == 0);
    } else {
        WORKER_CHECK(!local);
    }
    WORKER_CHECK(hoop_dtensor_from_local(local ? local : &outside, NULL, &spec,
                                         &label) == HOOP_OK);
    WORKER_CHECK(hoop_shape_equal(hoop_dtensor_shape(label), &square));
    WORKER_CHECK(hoop_dtensor_dtype(label) == HOOP_INT64);
    WORKER_CHECK(hoop_sharding_equal(&hoop_dtensor_spec(label)->sharding,
                                     &from_placement->sharding));
    if (local)
        WORKER_CHECK(hoop_dtensor_local(label)->data == local->data);
    else
        WORKER_CHECK(!hoop_dtensor_local(label));
    hoop_dtensor_free(label);
    hoop_dtensor_free(dtensor);
    return 0;
}

static int
tensor_from_global_and_local_has_the_worked_parts(
    struct mesh_process *mesh_process)
{
    const uint64_t before = bytes_sent(mesh_process);
    int failure = 0;

    for (size_t i = 0; i < COUNT_OF(from_placements) && failure == 0; i++)
        failure = placement_body(mesh_process, &from_placements[i]);
    WORKER_CHECK(bytes_sent(mesh_process) == before);
    return failure;
}

/* A part of 2 x 3 on a row that cuts four times is a whole of 8 x 3. */
static int
label_multiplies_the_sizes_and_aliases_the_part(
    struct mesh_process *mesh_process)
{
    const struct hoop_compute compute = {HOOP_COMPUTE_TP1D, true};
    const struct hoop_tensor_spec spec = {
        mesh_process->mesh, {.dims = {{2, {0, 1}}}}, &compute};
    float values[6] = {1, 2, 3, 4, 5, 6};
    const struct hoop_tensor local = {values, HOOP_FLOAT32, {2, {2, 3}}, NULL};
    hoop_dtensor_t *dtensor = NULL;

    WORKER_CHECK(hoop_dtensor_from_local(&local, NULL, &spec, &dtensor) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_dtensor_local(dtensor)->data == values);
    WORKER_CHECK(hoop_dtensor_shape(dtensor)->dims[0] == 8);
    WORKER_CHECK(hoop_dtensor_shape(dtensor)->dims[1] == 3);
    WORKER_CHECK(hoop_dtensor_spec(dtensor)->mesh == mesh_process->mesh);
    WORKER_CHECK(hoop_dtensor_spec(dtensor)->compute == &compute);
    hoop_dtensor_free(dtensor);
    WORKER_CHECK(values[5] == 6);
    return 0;
}

/* There are 5 rows, then 3, over 4 ranks: the last rank has none. */
static int
tensor_that_is_uneven_may_have_empty_parts(struct mesh_process *mesh_process)
{
    const struct hoop_tensor_spec spec = {
        mesh_process->mesh, {.dims = {{2, {0, 1}}}, .is_uneven = true}, NULL};
    const size_t rows[] = {5, 3};

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct hoop_tensor global = {
            x, HOOP_INT64, {2, {rows[i], 2}}, NULL};
        hoop_dtensor_t *dtensor = NULL;
        hoop_dtensor_t *zeros = NULL;

        whole();
        WORKER_CHECK(hoop_dtensor_from_global(&global, &spec, &dtensor) ==
                     HOOP_OK);
        const struct hoop_tensor *local = hoop_dtensor_local(dtensor);
        const size_t offset = rows[i] == 5 && mesh_process->rank > 0
                                  ? mesh_process->rank + 1
                                  : mesh_process->rank;
        const size_t n_rows = rows[i] == 5 && mesh_process->rank == 0 ? 2
                              : offset < rows[i]                      ? 1
                                                                      : 0;
        WORKER_CHECK(local->shape.dims[0] == n_rows);
        WORKER_CHECK(n_rows == 0 ||
                     *(int64_t *)local->data == (int64_t)offset * 2);
        WORKER_CHECK(n_rows > 0 || !local->data);
        WORKER_CHECK(hoop_dtensor_create(HOOP_INT64, &global.shape, &spec,
                                         &zeros) == HOOP_OK);
        WORKER_CHECK(n_rows == 0 ||
                     *(int64_t *)hoop_dtensor_local(zeros)->data == 0);
        hoop_dtensor_free(zeros);
        hoop_dtensor_free(dtensor);
    }
    return 0;
}

/* The tensor has many rows without elements, and no time may be spent on
 * them. */
static int
tensor_of_rows_without_elements_is_done_at_once(
    struct mesh_process *mesh_process)
{
    static int64_t nothing;
    const struct hoop_tensor_spec rows = {
        mesh_process->mesh, {.dims = {{2, {0, 1}}}}, NULL};
    const struct hoop_tensor_spec whole_spec = {.mesh = mesh_process->mesh};
    const struct hoop_tensor empty = {
        &nothing, HOOP_INT64, {2, {(size_t)1 << 40, 0}}, NULL};
    hoop_dtensor_t *dtensor = NULL;
    hoop_dtensor_t *cut = NULL;
    uint64_t digest = 1;

    WORKER_CHECK(hoop_dtensor_from_local(&empty, NULL, &whole_spec, &dtensor) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_dtensor_digest(dtensor, &digest) == HOOP_OK);
    WORKER_CHECK(digest == 0);
    WORKER_CHECK(hoop_dtensor_redistribute(dtensor, &rows, &cut) == HOOP_OK);
    WORKER_CHECK(hoop_dtensor_local(cut)->shape.dims[0] == (size_t)1 << 38);
    hoop_dtensor_free(cut);
    hoop_dtensor_free(dtensor);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(placements_of_four_become_each_other),
        MESH_TEST(gradient_of_a_gather_is_ones_own_part_without_a_sum, 1, 2, 0),
        MESH_TEST(tensor_of_one_group_goes_to_another, 2, 2, 0),
        MESH_TEST(slice_waits_for_nobody, 2, 2, 0),
        MESH_TEST(tensor_from_global_and_local_has_the_worked_parts, 2, 2, 1),
        MESH_TEST(label_multiplies_the_sizes_and_aliases_the_part, 2, 2, 0),
        MESH_TEST(tensor_that_is_uneven_may_have_empty_parts, 2, 2, 0),
        MESH_TEST(tensor_of_rows_without_elements_is_done_at_once, 2, 2, 0),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
