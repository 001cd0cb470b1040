/* tests/integration/mesh/mesh_test.c - the communicators of a mesh of processes
 *
 * Eight processes form a mesh of 2 x 2 x 2, and six form one of 3 x 2 in
 * another order. The others are outside.
 */

#include <pthread.h>
#include <string.h>

#include "hoop/mesh.h"
#include "hoop/sharding.h"

#include "base/cleanup.h"
#include "check.h"
#include "integration/daemon.h"

static const struct hoop_mesh_axis cube[] = {{"data", 2},
                                             {"pipeline", 2},
                                             {"tensor", 2}};

/* Checks that the communicator along axes has these world ranks in this order,
 * works, and is the same one when asked for again. */
static int
line_is(hoop_mesh_t *mesh,
        const uint32_t *axes,
        uint32_t n_axes,
        const uint32_t *expected,
        uint32_t n_expected)
{
    hoop_comm_t *comm = NULL;
    hoop_comm_t *again = NULL;
    int64_t mine = 0;
    int64_t all[8] = {0};

    WORKER_CHECK(hoop_mesh_comm(mesh, axes, n_axes, &comm) == HOOP_OK);
    WORKER_CHECK(hoop_mesh_comm(mesh, axes, n_axes, &again) == HOOP_OK);
    WORKER_CHECK(comm == again);
    WORKER_CHECK(hoop_comm_size(comm) == n_expected);
    if (n_expected > 0)
        mine = hoop_comm_world_rank(comm, hoop_comm_rank(comm));
    WORKER_CHECK(hoop_allgather(&mine, all, 1, HOOP_INT64, comm) == HOOP_OK);
    for (uint32_t i = 0; i < n_expected; i++)
        WORKER_CHECK(all[i] == expected[i]);
    return 0;
}

static int
cube_lines(hoop_mesh_t *mesh, uint32_t rank)
{
    const uint32_t data = rank % 4;
    const uint32_t pipeline = rank - (rank / 2 % 2) * 2;
    const uint32_t tensor = rank - rank % 2;
    const uint32_t plane = rank - rank / 2 % 2 * 2 - rank % 2;

    WORKER_CHECK(line_is(mesh, (uint32_t[]){0}, 1, (uint32_t[]){data, data + 4},
                         2) == 0);
    WORKER_CHECK(line_is(mesh, (uint32_t[]){1}, 1,
                         (uint32_t[]){pipeline, pipeline + 2}, 2) == 0);
    WORKER_CHECK(line_is(mesh, (uint32_t[]){2}, 1,
                         (uint32_t[]){tensor, tensor + 1}, 2) == 0);
    WORKER_CHECK(line_is(mesh, (uint32_t[]){1, 2}, 2,
                         (uint32_t[]){plane, plane + 1, plane + 2, plane + 3},
                         4) == 0);
    /* The order of the axes decides the order of the ranks. */
    WORKER_CHECK(line_is(mesh, (uint32_t[]){2, 1}, 2,
                         (uint32_t[]){plane, plane + 2, plane + 1, plane + 3},
                         4) == 0);
    WORKER_CHECK(line_is(mesh, (uint32_t[]){0, 1, 2}, 3,
                         (uint32_t[]){0, 1, 2, 3, 4, 5, 6, 7}, 8) == 0);
    return line_is(mesh, NULL, 0, &rank, 1);
}

static int
mesh_of_three_axes_has_a_communicator_for_each_set(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    const struct hoop_mesh_options shape = {.axes = cube, .n_axes = 3};
    hoop_session_t *session = NULL;
    hoop_mesh_t *mesh = NULL;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    const uint32_t rank = hoop_comm_rank(hoop_world(session));
    WORKER_CHECK(hoop_mesh_create(session, &shape, &mesh) == HOOP_OK);
    WORKER_CHECK(hoop_mesh_n_axes(mesh) == 3);
    WORKER_CHECK(hoop_mesh_axis_size(mesh, 2) == 2);
    WORKER_CHECK(hoop_mesh_axis_size(mesh, 3) == 0);
    WORKER_CHECK(hoop_mesh_find_axis(mesh, "tensor") == 2);
    WORKER_CHECK(hoop_mesh_find_axis(mesh, "expert") == HOOP_NO_AXIS);
    WORKER_CHECK(hoop_mesh_coordinate(mesh, 0) == rank / 4);
    WORKER_CHECK(hoop_mesh_coordinate(mesh, 1) == rank / 2 % 2);
    WORKER_CHECK(hoop_mesh_coordinate(mesh, 2) == rank % 2);
    WORKER_CHECK(hoop_mesh_coordinate(mesh, 3) == HOOP_NO_RANK);
    WORKER_CHECK(hoop_mesh_rank(mesh, (uint32_t[]){1, 0, 1}) == 5);
    WORKER_CHECK(hoop_mesh_rank(mesh, (uint32_t[]){0, 0, 2}) == HOOP_NO_RANK);
    WORKER_CHECK(cube_lines(mesh, rank) == 0);
    hoop_mesh_free(mesh);
    hoop_leave(session);
    return 0;
}

/* The mesh is 3 x 2, with ranks 5 2 / 4 0 / 1 3. Rank 6 is outside. */
static int
mesh_keeps_the_order_that_it_is_given(const struct worker *worker)
{
    static const uint32_t ranks[] = {5, 2, 4, 0, 1, 3};
    static const struct hoop_mesh_axis axes[] = {
        {"rows", 3}, {"single", 1}, {"columns", 2}};
    const struct hoop_mesh_options shape = {axes, 3, ranks};
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_mesh_t *mesh = NULL;
    hoop_comm_t *one = NULL;
    hoop_comm_t *other = NULL;
    uint32_t place = 6;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(hoop_mesh_create(session, &shape, &mesh) == HOOP_OK);
    for (uint32_t i = 0; i < 6; i++)
        place = ranks[i] == worker->index ? i : place;
    if (place == 6) {
        WORKER_CHECK(hoop_mesh_coordinate(mesh, 0) == HOOP_NO_RANK);
        WORKER_CHECK(line_is(mesh, (uint32_t[]){0}, 1, NULL, 0) == 0);
    } else {
        const uint32_t row = place / 2 * 2;
        const uint32_t column = place % 2;

        WORKER_CHECK(line_is(mesh, (uint32_t[]){2}, 1, &ranks[row], 2) == 0);
        WORKER_CHECK(line_is(mesh, (uint32_t[]){0}, 1,
                             (uint32_t[]){ranks[column], ranks[column + 2],
                                          ranks[column + 4]},
                             3) == 0);
        WORKER_CHECK(line_is(mesh, (uint32_t[]){0, 2}, 2, ranks, 6) == 0);
        /* An axis of size 1 makes no difference. */
        WORKER_CHECK(hoop_mesh_comm(mesh, (uint32_t[]){0, 1}, 2, &one) ==
                     HOOP_OK);
        WORKER_CHECK(hoop_mesh_comm(mesh, (uint32_t[]){0}, 1, &other) ==
                     HOOP_OK);
        WORKER_CHECK(one == other);
    }
    hoop_mesh_free(mesh);
    hoop_leave(session);
    return 0;
}

struct asking {
    hoop_mesh_t *mesh;
    uint32_t axis;
    enum hoop_status status;
};

static void *
ask(void *argument)
{
    struct asking *asking = argument;
    hoop_comm_t *comm = NULL;

    asking->status = hoop_mesh_comm(asking->mesh, &asking->axis, 1, &comm);
    return NULL;
}

/* Every thread asks for all three axes at the same time. */
static int
mesh_forms_lines_for_several_threads(const struct worker *worker)
{
    const struct hoop_join_options options = worker_options(worker);
    const struct hoop_mesh_options shape = {.axes = cube, .n_axes = 3};
    struct asking askings[3];
    pthread_t threads[3];
    hoop_session_t *session = NULL;
    hoop_mesh_t *mesh = NULL;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(hoop_mesh_create(session, &shape, &mesh) == HOOP_OK);
    for (uint32_t i = 0; i < 3; i++) {
        askings[i] = (struct asking){mesh, (i + worker->index) % 3, HOOP_OK};
        WORKER_CHECK(pthread_create(&threads[i], NULL, ask, &askings[i]) == 0);
    }
    for (uint32_t i = 0; i < 3; i++) {
        WORKER_CHECK(pthread_join(threads[i], NULL) == 0);
        WORKER_CHECK(askings[i].status == HOOP_OK);
    }
    WORKER_CHECK(cube_lines(mesh, worker->index) == 0);
    hoop_mesh_free(mesh);
    hoop_leave(session);
    return 0;
}

static int
refused(hoop_session_t *session,
        const struct hoop_mesh_options *options,
        const char *why)
{
    hoop_mesh_t *mesh = NULL;

    WORKER_CHECK(hoop_mesh_create(session, options, &mesh) == HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), why));
    WORKER_CHECK(!mesh);
    return 0;
}

static int
wrong_meshes(hoop_session_t *session)
{
    const struct hoop_mesh_axis empty[] = {{"a", 2}, {"b", 0}};
    const struct hoop_mesh_axis twins[] = {{"a", 1}, {"a", 2}};
    const struct hoop_mesh_axis nameless[] = {{NULL, 2}};
    const struct hoop_mesh_axis large[] = {{"a", 3}};
    const struct hoop_mesh_axis fine[] = {{"a", 2}};
    const struct hoop_mesh_options wrong[] = {
        {NULL, 1, NULL},     {fine, 0, NULL},
        {empty, 2, NULL},    {twins, 2, NULL},
        {large, 1, NULL},    {fine, 1, (uint32_t[]){0, 2}},
        {nameless, 1, NULL}, {fine, 1, (uint32_t[]){1, 1}},
    };
    static const char *const texts[] = {
        "at least one axis",  "at least one axis",
        "axis 1 has size 0",  "both named \"a\"",
        "does not fit",       "2",
        "axis 0 has no name", "twice",
    };

    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        WORKER_CHECK(refused(session, &wrong[i], texts[i]) == 0);
    return refused(NULL, &wrong[0], "session is NULL");
}

static int
mesh_that_is_wrong_is_refused(const struct worker *worker)
{
    const struct hoop_mesh_axis fine[] = {{"a", 2}};
    const struct hoop_mesh_options shape = {fine, 1, NULL};
    const struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;
    hoop_mesh_t *mesh = NULL;
    hoop_comm_t *comm = NULL;

    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    WORKER_CHECK(wrong_meshes(session) == 0);
    WORKER_CHECK(hoop_mesh_create(session, &shape, NULL) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_mesh_create(session, &shape, &mesh) == HOOP_OK);
    WORKER_CHECK(hoop_mesh_comm(mesh, (uint32_t[]){1}, 1, &comm) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), "axis 1"));
    WORKER_CHECK(hoop_mesh_comm(mesh, (uint32_t[]){0, 0}, 2, &comm) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_mesh_comm(mesh, NULL, 1, &comm) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_mesh_comm(NULL, NULL, 0, &comm) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_mesh_comm(mesh, NULL, 0, NULL) == HOOP_E_INVALID);
    WORKER_CHECK(!comm && hoop_mesh_n_axes(NULL) == 0);
    WORKER_CHECK(hoop_mesh_rank(NULL, NULL) == HOOP_NO_RANK);
    hoop_mesh_free(mesh);
    hoop_mesh_free(NULL);
    hoop_leave(session);
    return 0;
}

/*
 * The rest of the file tests the part of a tensor that each process has.
 *
 * The mesh has 2 x 3 ranks in an unusual order, and one process is outside.
 */

enum {
    OUTSIDE = 6,
};

static const uint32_t ranks[] = {5, 2, 4, 0, 1, 3};

/* The second axis cuts rows, and the first one cuts columns. */
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
    assert_int_equal(workers_run(hoopd.address, OUTSIDE + 1, body, NULL), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WORKERS_TEST(mesh_of_three_axes_has_a_communicator_for_each_set, 8),
        WORKERS_TEST(mesh_keeps_the_order_that_it_is_given, 7),
        WORKERS_TEST(mesh_forms_lines_for_several_threads, 8),
        WORKERS_TEST(mesh_that_is_wrong_is_refused, 2),
        cmocka_unit_test(part_of_a_process_is_that_of_its_place),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
