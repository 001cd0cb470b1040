/*
 * tests/integration/dtensor_from_test.c - parts become a tensor, by themselves
 *
 * On a mesh of 2 x 2 and one process outside of it: every element of X, which
 * is 0 to 15 as 4 x 4, is where the sharding says, and nothing has been sent.
 */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "daemon.h"
#include "plane.h"

enum {
    RANKS = 4,
    SIDE = 4,
};

static const struct hoop_shape square = {2, {SIDE, SIDE}};
static int64_t x[SIDE * SIDE];

static const struct hoop_tensor *
whole(void)
{
    static const struct hoop_tensor tensor = {
        x, HOOP_INT64, {2, {SIDE, SIDE}}, NULL};

    for (int64_t i = 0; i < SIDE * SIDE; i++)
        x[i] = i;
    return &tensor;
}

static uint64_t
bytes_sent(const struct plane *plane)
{
    struct hoop_stats stats;

    hoop_session_stats(plane->session, &stats);
    return stats.bytes_sent;
}

struct placement {
    struct hoop_sharding sharding;
    struct hoop_shape part;
    int64_t at[RANKS][SIDE * SIDE];
};

static const struct placement placements[] = {
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

/* Also as a label on that part. */
static int
placement_body(struct plane *plane, const struct placement *placement)
{
    const struct hoop_tensor_spec spec = {plane->mesh, placement->sharding,
                                          NULL};
    hoop_dtensor_t *dtensor = NULL;
    hoop_dtensor_t *label = NULL;
    struct hoop_part part;
    const struct hoop_tensor outside = {NULL, HOOP_INT64, placement->part,
                                        NULL};

    WORKER_CHECK(hoop_dtensor_from_global(whole(), &spec, &dtensor) == HOOP_OK);
    const struct hoop_tensor *local = hoop_dtensor_local(dtensor);
    WORKER_CHECK(hoop_dtensor_part(dtensor, &part) ==
                 (local ? HOOP_OK : HOOP_E_INVALID));
    if (plane->rank < RANKS) {
        WORKER_CHECK(hoop_shape_equal(&part.shape, &placement->part));
        WORKER_CHECK(hoop_shape_equal(&local->shape, &placement->part));
        WORKER_CHECK(local->dtype == HOOP_INT64 && local->data != x);
        WORKER_CHECK(memcmp(local->data, placement->at[plane->rank],
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
                                     &placement->sharding));
    if (local)
        WORKER_CHECK(hoop_dtensor_local(label)->data == local->data);
    else
        WORKER_CHECK(!hoop_dtensor_local(label));
    hoop_dtensor_free(label);
    hoop_dtensor_free(dtensor);
    return 0;
}

static int
placements_body(struct plane *plane)
{
    const uint64_t before = bytes_sent(plane);
    int failure = 0;

    for (size_t i = 0; i < COUNT_OF(placements) && failure == 0; i++)
        failure = placement_body(plane, &placements[i]);
    WORKER_CHECK(bytes_sent(plane) == before);
    return failure;
}

static void
tensor_from_global_and_local_has_the_worked_parts(void **state)
{
    (void)state;
    assert_int_equal(plane_run(2, 2, 1, placements_body), 0);
}

/* A part of (2, 3) on a row cut four times is a whole of (8, 3). */
static int
label_body(struct plane *plane)
{
    const struct hoop_compute compute = {HOOP_COMPUTE_TP1D, true};
    const struct hoop_tensor_spec spec = {
        plane->mesh, {.dims = {{2, {0, 1}}}}, &compute};
    float values[6] = {1, 2, 3, 4, 5, 6};
    const struct hoop_tensor local = {values, HOOP_FLOAT32, {2, {2, 3}}, NULL};
    hoop_dtensor_t *dtensor = NULL;

    WORKER_CHECK(hoop_dtensor_from_local(&local, NULL, &spec, &dtensor) ==
                 HOOP_OK);
    WORKER_CHECK(hoop_dtensor_local(dtensor)->data == values);
    WORKER_CHECK(hoop_dtensor_shape(dtensor)->dims[0] == 8);
    WORKER_CHECK(hoop_dtensor_shape(dtensor)->dims[1] == 3);
    WORKER_CHECK(hoop_dtensor_spec(dtensor)->mesh == plane->mesh);
    WORKER_CHECK(hoop_dtensor_spec(dtensor)->compute == &compute);
    hoop_dtensor_free(dtensor);
    WORKER_CHECK(values[5] == 6);
    return 0;
}

static void
label_multiplies_the_sizes_and_aliases_the_part(void **state)
{
    (void)state;
    assert_int_equal(plane_run(2, 2, 0, label_body), 0);
}

/* 5 rows over 4 ranks, 3 over 4: the last has none. */
static int
uneven_body(struct plane *plane)
{
    const struct hoop_tensor_spec spec = {
        plane->mesh, {.dims = {{2, {0, 1}}}, .is_uneven = true}, NULL};
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
        const size_t offset =
            rows[i] == 5 && plane->rank > 0 ? plane->rank + 1 : plane->rank;
        const size_t n_rows = rows[i] == 5 && plane->rank == 0 ? 2
                              : offset < rows[i]               ? 1
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

static void
tensor_that_is_uneven_may_have_empty_parts(void **state)
{
    (void)state;
    assert_int_equal(plane_run(2, 2, 0, uneven_body), 0);
}

/* Many rows without elements: nothing is looked at, however many. */
static int
rows_body(struct plane *plane)
{
    static int64_t nothing;
    const struct hoop_tensor_spec rows = {
        plane->mesh, {.dims = {{2, {0, 1}}}}, NULL};
    const struct hoop_tensor_spec whole_spec = {.mesh = plane->mesh};
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

static void
tensor_of_rows_without_elements_is_done_at_once(void **state)
{
    (void)state;
    assert_int_equal(plane_run(2, 2, 0, rows_body), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_from_global_and_local_has_the_worked_parts),
        cmocka_unit_test(label_multiplies_the_sizes_and_aliases_the_part),
        cmocka_unit_test(tensor_that_is_uneven_may_have_empty_parts),
        cmocka_unit_test(tensor_of_rows_without_elements_is_done_at_once),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
