/*
 * examples/dtensor.c - cuts a distributed tensor, changes its layout, sums it
 *
 *   hooprun -n 4 dtensor
 *
 * docs/tensors.md explains it step by step.
 */

#include <stdio.h>
#include <stdlib.h>

#include "hoop/hoop.h"

static void
must(enum hoop_status status)
{
    if (status == HOOP_OK)
        return;
    fprintf(stderr, "dtensor: %s\n", hoop_error_text());
    exit(EXIT_FAILURE);
}

/* The elements are numbered from 1. Each rank creates only its part. */
static hoop_dtensor_t *
numbers_create(const struct hoop_tensor_spec *spec)
{
    const struct hoop_shape shape = {2, {1024, 1024}};
    hoop_dtensor_t *numbers = NULL;
    struct hoop_part part;

    must(hoop_dtensor_create(HOOP_FLOAT32, &shape, spec, &numbers));
    must(hoop_dtensor_part(numbers, &part));
    float *element = hoop_dtensor_local(numbers)->data;
    for (size_t i = 0; i < part.shape.dims[0]; i++) {
        for (size_t j = 0; j < part.shape.dims[1]; j++)
            *element++ = (float)((part.offset[0] + i) * shape.dims[1] +
                                 part.offset[1] + j + 1);
    }
    return numbers;
}

/* Rank 0 prints how the tensor gets from one layout to the other, and which
 * part rank 0 has afterwards. */
static void
layout_change(const struct hoop_tensor_spec *from,
              const struct hoop_tensor_spec *to,
              uint32_t rank)
{
    hoop_dtensor_t *numbers = numbers_create(from);
    hoop_dtensor_t *result = NULL;

    if (rank == 0)
        must(hoop_redistribute_explain(numbers, to, stdout));
    must(hoop_dtensor_redistribute(numbers, to, &result));
    const struct hoop_tensor *local = hoop_dtensor_local(result);
    if (rank == 0)
        printf("rank 0 has %zu x %zu, the first is %g\n\n",
               local->shape.dims[0], local->shape.dims[1],
               *(const float *)local->data);
    hoop_dtensor_free(result);
    hoop_dtensor_free(numbers);
}

int
main(void)
{
    /* The four ranks form a 2 x 2 mesh. Ranks along axis 1 are neighbours. */
    const struct hoop_mesh_axis axes[] = {{"data", 2}, {"tensor", 2}};
    hoop_session_t *session = NULL;
    hoop_mesh_t *mesh = NULL;

    must(hoop_join(NULL, &session));
    const uint32_t rank = hoop_comm_rank(hoop_world(session));
    must(hoop_mesh_create(
        session, &(struct hoop_mesh_options){.axes = axes, .n_axes = 2},
        &mesh));

    /* In [S0, S1], axis 0 cuts dimension 0, and axis 1 cuts dimension 1. In
     * [S01, R], both axes cut dimension 0, and dimension 1 is whole. */
    const struct hoop_tensor_spec tiles = {
        .mesh = mesh, .sharding.dims = {{1, {0}}, {1, {1}}}};
    const struct hoop_tensor_spec rows = {.mesh = mesh,
                                          .sharding.dims = {{2, {0, 1}}}};
    layout_change(&tiles, &rows, rank);

    /* In [S0, R] partial(1), the tensor is the sum of the values that the ranks
     * along axis 1 have. They are summed when the tensor becomes whole, or is
     * cut, along that axis. */
    const struct hoop_tensor_spec addends = {
        .mesh = mesh,
        .sharding = {.dims = {{1, {0}}}, .partial = {1, {1}}},
    };
    layout_change(&addends, &tiles, rank);

    hoop_mesh_free(mesh);
    hoop_leave(session);
    return 0;
}
