/*
 * tests/integration/sharding_places_test.c - each process's part of a tensor
 *
 * On a mesh of 2 x 3 ranks in an order of their own, with one outside.
 */

#include <string.h>

#include "hoop/sharding.h"

#include "base/cleanup.h"
#include "check.h"
#include "daemon.h"
#include "workers.h"

enum {
    OUTSIDE = 6,
};

static const uint32_t ranks[] = {5, 2, 4, 0, 1, 3};

/* Rows along the second axis, columns along the first. */
static int
parts_are_right(const hoop_mesh_t *mesh, uint32_t index)
{
    const struct hoop_sharding cut = {.dims = {{1, {1}}, {1, {0}}}};
    const struct hoop_shape shape = {2, {6, 8}};
    const struct hoop_shape odd = {2, {7, 8}};
    struct hoop_part part;
    uint32_t place = 0;

    if (index == OUTSIDE) {
        WORKER_CHECK(hoop_sharding_part_here(&cut, mesh, &shape, &part) ==
                     HOOP_E_INVALID);
        WORKER_CHECK(strstr(hoop_error_text(), "not in the mesh"));
        return 0;
    }
    while (ranks[place] != index)
        place++;
    WORKER_CHECK(hoop_sharding_part_here(&cut, mesh, &shape, &part) == HOOP_OK);
    WORKER_CHECK(part.offset[0] == place % 3 * 2);
    WORKER_CHECK(part.offset[1] == place / 3 * 4);
    WORKER_CHECK(part.shape.dims[0] == 2 && part.shape.dims[1] == 4);
    WORKER_CHECK(hoop_sharding_part_here(&cut, mesh, &odd, &part) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), "7 elements along dim 0"));
    return 0;
}

static int
body(const struct worker *worker)
{
    static const struct hoop_mesh_axis axes[] = {{"rows", 2}, {"columns", 3}};
    const struct hoop_mesh_options options = {axes, 2, ranks};
    const struct hoop_join_options joining = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_mesh_t *mesh = NULL;

    WORKER_CHECK(hoop_join(&joining, &session) == HOOP_OK);
    WORKER_CHECK(hoop_mesh_create(session, &options, &mesh) == HOOP_OK);
    const struct hoop_mesh_shape sizes = hoop_mesh_shape_of(mesh);
    WORKER_CHECK(sizes.n_axes == 2 && sizes.sizes[0] == 2 &&
                 sizes.sizes[1] == 3);
    WORKER_CHECK(parts_are_right(mesh, worker->index) == 0);
    hoop_mesh_free(mesh);
    hoop_leave(session);
    return 0;
}

static void
part_of_a_process_is_that_of_its_place(void **state)
{
    (void)state;
    assert_int_equal(workers_run(hoopd.address, OUTSIDE + 1, body, NULL), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(part_of_a_process_is_that_of_its_place),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
