/*
 * tests/integration/mesh/redistribute_plan_test.c - the plan of a
 * redistribution
 *
 * The mesh is 2 x 2, and one process is outside. Nothing is sent to find the
 * plan.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/daemon.h"

enum {
    RANKS = 4,
    COLUMNS = 100,
};

static const struct hoop_shape square = {2, {8, 8}};

static int
tensor_make(struct mesh_process *mesh_process,
            const struct hoop_sharding *sharding,
            hoop_dtensor_t **out_dtensor)
{
    const struct hoop_tensor_spec spec = {mesh_process->mesh, *sharding, NULL};

    WORKER_CHECK(hoop_dtensor_create(HOOP_INT64, &square, &spec, out_dtensor) ==
                 HOOP_OK);
    return 0;
}

struct example {
    struct hoop_sharding from;
    struct hoop_sharding to;
    uint32_t n_steps;
    enum hoop_step_kind last;
    uint64_t bytes_total;
};

/* The tensor has 512 bytes. */
static const struct example examples[] = {
    {{.dims = {{1, {0}}}}, {.dims = {{1, {0}}}}, 0, HOOP_STEP_SLICE, 0},
    {{.dims = {{0}}}, {.dims = {{2, {1, 0}}}}, 1, HOOP_STEP_SLICE, 0},
    {{.dims = {{1, {0}}}}, {.dims = {{0}}}, 1, HOOP_STEP_ALLGATHER, 4 * 256},
    {{.dims = {{0}}}, {.partial = {1, {0}}}, 1, HOOP_STEP_FILL, 0},
    {{.partial = {1, {1}}},
     {.dims = {{0}, {1, {1}}}},
     1,
     HOOP_STEP_REDUCE_SCATTER,
     4 * 256},
};

static int
example_body(struct mesh_process *mesh_process, const struct example *example)
{
    const struct hoop_tensor_spec spec = {mesh_process->mesh, example->to,
                                          NULL};
    struct hoop_redistribution plan;
    hoop_dtensor_t *dtensor = NULL;
    uint64_t bytes_sent = 0;
    uint64_t bytes_total = 0;

    if (tensor_make(mesh_process, &example->from, &dtensor) != 0)
        return 1;
    WORKER_CHECK(hoop_redistribute_plan(dtensor, &spec, &plan) == HOOP_OK);
    WORKER_CHECK(plan.n_steps == example->n_steps);
    WORKER_CHECK(plan.bytes_total == example->bytes_total);
    WORKER_CHECK(plan.bytes_sent ==
                 (mesh_process->rank < RANKS ? plan.bytes_total / RANKS : 0));
    for (uint32_t i = 0; i < plan.n_steps; i++) {
        bytes_sent += plan.steps[i].bytes_sent;
        bytes_total += plan.steps[i].bytes_total;
        WORKER_CHECK(plan.steps[i].mesh.n_axes == 2);
        WORKER_CHECK(plan.steps[i].time_us > 0);
    }
    WORKER_CHECK(plan.bytes_sent == bytes_sent);
    WORKER_CHECK(plan.bytes_total == bytes_total);
    if (plan.n_steps > 0) {
        const struct hoop_step *last = &plan.steps[plan.n_steps - 1];

        WORKER_CHECK(last->kind == example->last);
        WORKER_CHECK(hoop_sharding_equal(&last->after, &example->to));
    }
    hoop_dtensor_free(dtensor);
    return 0;
}

static int
plan_of_examples_is_the_expected_one(struct mesh_process *mesh_process)
{
    struct hoop_stats before;
    struct hoop_stats after;
    int failure = 0;

    hoop_session_stats(mesh_process->session, &before);
    for (size_t i = 0; i < COUNT_OF(examples) && failure == 0; i++)
        failure = example_body(mesh_process, &examples[i]);
    hoop_session_stats(mesh_process->session, &after);
    WORKER_CHECK(before.bytes_sent == after.bytes_sent);
    return failure;
}

/* Checks that lines are short, and that none ends with a space. */
static int
check_lines(const char *text)
{
    for (const char *line = text; *line;) {
        const char *end = strchr(line, '\n');

        WORKER_CHECK(end && end > line && end - line <= COLUMNS);
        WORKER_CHECK(end[-1] != ' ');
        line = end + 1;
    }
    return 0;
}

static int
explain(const hoop_dtensor_t *dtensor,
        const struct hoop_tensor_spec *spec,
        char **out_text)
{
    size_t n_bytes;
    FILE *out = open_memstream(out_text, &n_bytes);

    WORKER_CHECK(out);
    WORKER_CHECK(hoop_redistribute_explain(dtensor, spec, out) == HOOP_OK);
    fclose(out);
    return check_lines(*out_text);
}

static int
explain_prints_a_narrow_table(struct mesh_process *mesh_process)
{
    static const struct hoop_sharding from = {.dims = {{1, {0}}}};
    struct hoop_tensor_spec spec = {mesh_process->mesh, from, NULL};
    hoop_dtensor_t *dtensor = NULL;
    CLEANUP(free) char *text = NULL;
    CLEANUP(free) char *none = NULL;

    if (tensor_make(mesh_process, &from, &dtensor) != 0 ||
        explain(dtensor, &spec, &none) != 0)
        return 1;
    WORKER_CHECK(strcmp(none,
                        "int64 [8, 8], 512 B: [S0, R] on 2 x 2\n"
                        "  to [S0, R] on 2 x 2\n"
                        "  no step: every rank has what it needs\n") == 0);
    spec.sharding = (struct hoop_sharding){.dims = {{0}}};
    if (explain(dtensor, &spec, &text) != 0)
        return 1;
    WORKER_CHECK(strstr(text, "\n   1 allgather       0      0      [R, R] on "
                              "2 x 2"));
    WORKER_CHECK(strstr(text, mesh_process->rank < RANKS
                                  ? " 256 B     1.0 KiB "
                                  : " 0 B     1.0 KiB "));
    WORKER_CHECK(strstr(text, "\n  in all "));
    WORKER_CHECK(hoop_redistribute_explain(dtensor, &spec, NULL) ==
                 HOOP_E_INVALID);
    hoop_dtensor_free(dtensor);
    return 0;
}

/* The target has two ranks of four, so it is another mesh. */
static int
plan_to_another_mesh_is_an_exchange(struct mesh_process *mesh_process)
{
    static const struct hoop_mesh_axis axis = {"pair", 2};
    static const uint32_t ranks[] = {1, 4};
    static const struct hoop_sharding rows = {.dims = {{2, {0, 1}}}};
    const struct hoop_mesh_options options = {&axis, 1, ranks};
    struct hoop_tensor_spec spec = {.sharding = {.dims = {{0}, {1, {0}}}}};
    struct hoop_redistribution plan;
    hoop_dtensor_t *dtensor = NULL;
    CLEANUP(free) char *text = NULL;

    WORKER_CHECK(hoop_mesh_create(mesh_process->session, &options,
                                  &spec.mesh) == HOOP_OK);
    if (tensor_make(mesh_process, &rows, &dtensor) != 0)
        return 1;
    WORKER_CHECK(hoop_redistribute_plan(dtensor, &spec, &plan) == HOOP_OK);
    WORKER_CHECK(plan.n_steps == 1);
    WORKER_CHECK(plan.steps[0].kind == HOOP_STEP_EXCHANGE);
    WORKER_CHECK(plan.steps[0].mesh.n_axes == 1);
    /* Rank 1 already has 64 bytes of its half. */
    WORKER_CHECK(plan.bytes_total == 512 - 64);
    WORKER_CHECK(plan.bytes_sent == (mesh_process->rank == 4   ? 0U
                                     : mesh_process->rank == 1 ? 64U
                                                               : 128U));
    if (explain(dtensor, &spec, &text) != 0)
        return 1;
    WORKER_CHECK(strstr(text, "  to [R, S0] on 2\n"));
    hoop_dtensor_free(dtensor);
    hoop_mesh_free(spec.mesh);
    return 0;
}

static int
check_refused(const hoop_dtensor_t *dtensor,
              const struct hoop_tensor_spec *spec,
              const char *text)
{
    struct hoop_redistribution plan;

    WORKER_CHECK(hoop_redistribute_plan(dtensor, spec, &plan) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(strstr(hoop_error_text(), text));
    return 0;
}

static int
plan_of_wrong_specs_is_refused(struct mesh_process *mesh_process)
{
    static const struct hoop_sharding whole = {.is_uneven = false};
    const struct hoop_tensor_spec beyond = {
        mesh_process->mesh, {.dims = {{0}, {0}, {1, {0}}}}, NULL};
    const struct hoop_tensor_spec twice = {
        mesh_process->mesh, {.dims = {{1, {1}}, {1, {1}}}}, NULL};
    const struct hoop_tensor_spec no_axis = {
        mesh_process->mesh, {.dims = {{1, {2}}}}, NULL};
    const struct hoop_tensor_spec nowhere = {.sharding = whole};
    hoop_dtensor_t *dtensor = NULL;

    if (tensor_make(mesh_process, &whole, &dtensor) != 0 ||
        check_refused(dtensor, &beyond,
                      "dim 2 is cut, but the tensor has 2 dimensions") != 0 ||
        check_refused(dtensor, &twice, "dim 1 names axis 1, which is there") !=
            0 ||
        check_refused(dtensor, &no_axis,
                      "dim 0 names axis 2, but the mesh has 2 axes") != 0 ||
        check_refused(dtensor, &nowhere, "NULL") != 0 ||
        check_refused(dtensor, NULL, "NULL") != 0 ||
        check_refused(NULL, &beyond, "NULL") != 0)
        return 1;
    WORKER_CHECK(hoop_redistribute_plan(dtensor, &beyond, NULL) ==
                 HOOP_E_INVALID);
    hoop_dtensor_free(dtensor);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        MESH_TEST(plan_of_examples_is_the_expected_one, 2, 2, 1),
        MESH_TEST(explain_prints_a_narrow_table, 2, 2, 1),
        MESH_TEST(plan_to_another_mesh_is_an_exchange, 2, 2, 1),
        MESH_TEST(plan_of_wrong_specs_is_refused, 2, 2, 1),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
