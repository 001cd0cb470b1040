/*
 * tests/integration/checkpoint/checkpoint_errors_test.c - failures of
 * checkpoints
 *
 * Every failure on one rank is a failure on all three ranks, with the same
 * status and the same text, and leaves the existing checkpoint intact.
 */

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/checkpoint/checkpoint_case.h"
#include "integration/daemon.h"

enum {
    RANKS = 3,
    ODD = 1, /* the rank that differs */
    CONTENT = 5,
    TEXT = 512,
    NOBODY = 65534,
};

static const struct hoop_shape shape = {2, {6, 40}};
static const struct hoop_sharding columns = {.dims = {[1] = {1, {1}}},
                                             .is_uneven = true};

/* Returns 0 if all ranks have failed with this status and a text that contains
 * words. */
static int
check_failure(const struct mesh_process *mesh_process,
              enum hoop_status status,
              enum hoop_status expected,
              const char *words)
{
    char mine[TEXT] = "";
    char first[TEXT] = "";

    snprintf(mine, sizeof(mine), "%s", hoop_error_text());
    if (status != expected || !strstr(mine, words))
        fprintf(stderr, "rank %u: %s, \"%s\": %s, \"%s\" was expected\n",
                mesh_process->rank, hoop_status_name(status), mine,
                hoop_status_name(expected), words);
    WORKER_CHECK(status == expected && strstr(mine, words));
    WORKER_CHECK(hoop_broadcast(mine, first, TEXT, HOOP_UINT8, 0,
                                hoop_world(mesh_process->session)) == HOOP_OK);
    WORKER_CHECK(mesh_process->rank == 0 || strcmp(mine, first) == 0);
    return 0;
}

static hoop_dtensor_t *
tensor_of(const struct mesh_process *mesh_process, uint64_t content)
{
    const struct hoop_tensor_spec spec = {mesh_process->mesh, columns, NULL};

    return case_tensor(HOOP_FLOAT32, &shape, &spec, content);
}

/* Saves a single tensor, "t" unless the call is meant to fail. */
static enum hoop_status
save_as(const struct mesh_process *mesh_process,
        const char *path,
        const char *name)
{
    const struct hoop_named_dtensor tensor = {name, tensor_of(mesh_process, 9)};
    const enum hoop_status status = hoop_checkpoint_save(path, &tensor, 1);

    hoop_dtensor_free(tensor.dtensor);
    return status;
}

static int
good_body(struct mesh_process *mesh_process)
{
    const struct hoop_named_dtensor tensor = {"t",
                                              tensor_of(mesh_process, CONTENT)};

    WORKER_CHECK(hoop_checkpoint_save(case_folder, &tensor, 1) == HOOP_OK);
    hoop_dtensor_free(tensor.dtensor);
    return 0;
}

/* Checks that the folder has what good_body() has saved, and nothing else. */
static int
check_good(const struct mesh_process *mesh_process)
{
    const struct hoop_tensor_spec spec = {mesh_process->mesh, columns, NULL};
    hoop_dtensor_t *dtensor = NULL;

    WORKER_CHECK(hoop_checkpoint_load(case_folder, "t", &spec, &dtensor) ==
                 HOOP_OK);
    WORKER_CHECK(case_is(dtensor, CONTENT));
    WORKER_CHECK(case_count_files(case_folder, "") == RANKS + 2);
    hoop_dtensor_free(dtensor);
    return 0;
}

static int
one_fails_body(struct mesh_process *mesh_process)
{
    const bool is_odd = mesh_process->rank == ODD;
    const char *elsewhere = "/nowhere/hoop";

    if (check_failure(
            mesh_process,
            save_as(mesh_process, is_odd ? elsewhere : case_folder, "t"),
            HOOP_E_NOT_FOUND, "rank 1: cannot open the folder /nowhere/"))
        return 1;
    if (check_failure(mesh_process,
                      save_as(mesh_process, case_folder, is_odd ? "u" : "t"),
                      HOOP_E_MISMATCH, "rank 1 saves other tensors"))
        return 1;
    if (check_failure(mesh_process,
                      save_as(mesh_process, case_folder, is_odd ? NULL : "t"),
                      HOOP_E_INVALID, "rank 1: tensors[0] has no name"))
        return 1;
    if (check_failure(mesh_process, save_as(mesh_process, elsewhere, "t"),
                      HOOP_E_NOT_FOUND,
                      "rank 0: cannot open the folder /nowhere/"))
        return 1;
    return check_good(mesh_process);
}

/* The limit is 100 bytes, and the file has 320. */
static int
no_space_body(struct mesh_process *mesh_process)
{
    struct rlimit before;

    WORKER_CHECK(getrlimit(RLIMIT_FSIZE, &before) == 0);
    const struct rlimit less = {100, before.rlim_max};
    if (mesh_process->rank == ODD)
        WORKER_CHECK(setrlimit(RLIMIT_FSIZE, &less) == 0);
    const enum hoop_status status = save_as(mesh_process, case_folder, "t");
    char text[TEXT];
    snprintf(text, sizeof(text), "%s", hoop_error_text());
    WORKER_CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    WORKER_CHECK(strstr(text, "rank 1: cannot write /"));
    if (check_failure(mesh_process, status, HOOP_E_EXHAUSTED, "File too large"))
        return 1;
    return check_good(mesh_process);
}

static int
not_allowed_body(struct mesh_process *mesh_process)
{
    const uid_t before = geteuid();

    if (mesh_process->rank == ODD && before == 0)
        WORKER_CHECK(seteuid(NOBODY) == 0);
    const enum hoop_status status = save_as(mesh_process, case_folder, "t");
    const int failure = check_failure(mesh_process, status, HOOP_E_DENIED,
                                      before == 0 ? "rank 1: cannot create /"
                                                  : "Permission denied");
    if (mesh_process->rank == ODD && before == 0)
        WORKER_CHECK(seteuid(before) == 0);
    return failure != 0 ? failure : check_good(mesh_process);
}

static int
locked_body(struct mesh_process *mesh_process)
{
    if (check_failure(mesh_process, save_as(mesh_process, case_folder, "t"),
                      HOOP_E_PRECONDITION, "rank 0: another save into /"))
        return 1;
    return check_good(mesh_process);
}

static int
wrong_tensors_body(struct mesh_process *mesh_process)
{
    hoop_mesh_t *other =
        case_mesh(mesh_process->session, 1, RANKS, (uint32_t[]){1, 0, 2});
    struct hoop_tensor_spec spec = {mesh_process->mesh, columns, NULL};
    struct hoop_named_dtensor tensors[2] = {{"t", tensor_of(mesh_process, 1)},
                                            {"t", tensor_of(mesh_process, 2)}};

    if (check_failure(mesh_process,
                      hoop_checkpoint_save(case_folder, tensors, 2),
                      HOOP_E_INVALID, "both named \"t\""))
        return 1;
    hoop_dtensor_free(tensors[1].dtensor);
    spec.mesh = other;
    tensors[1] = (struct hoop_named_dtensor){
        "u", case_tensor(HOOP_FLOAT32, &shape, &spec, 1)};
    if (check_failure(mesh_process,
                      hoop_checkpoint_save(case_folder, tensors, 2),
                      HOOP_E_INVALID, "mesh of tensor \"u\" has other ranks"))
        return 1;
    hoop_dtensor_free(tensors[1].dtensor);
    spec = (struct hoop_tensor_spec){.mesh = mesh_process->mesh};
    spec.sharding.partial = (struct hoop_axes){1, {1}};
    tensors[1].dtensor = case_tensor(HOOP_FLOAT32, &shape, &spec, 1);
    if (check_failure(mesh_process,
                      hoop_checkpoint_save(case_folder, tensors, 2),
                      HOOP_E_INVALID, "\"u\" is a partial sum"))
        return 1;
    hoop_dtensor_free(tensors[0].dtensor);
    hoop_dtensor_free(tensors[1].dtensor);
    hoop_mesh_free(other);
    WORKER_CHECK(hoop_checkpoint_save(case_folder, NULL, 1) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_checkpoint_save(case_folder, tensors, 0) ==
                 HOOP_E_INVALID);
    return check_good(mesh_process);
}

static int
load_as(struct mesh_process *mesh_process,
        const char *name,
        const struct hoop_sharding *sharding,
        enum hoop_status expected,
        const char *words)
{
    const struct hoop_tensor_spec spec = {mesh_process->mesh, *sharding, NULL};
    hoop_dtensor_t *dtensor = NULL;
    const enum hoop_status status =
        hoop_checkpoint_load(case_folder, name, &spec, &dtensor);

    WORKER_CHECK(!dtensor);
    return check_failure(mesh_process, status, expected, words);
}

static int
wrong_loads_body(struct mesh_process *mesh_process)
{
    const struct hoop_sharding beyond = {.dims = {[2] = {1, {1}}}};
    const struct hoop_sharding twice = {.dims = {{1, {1}}, {1, {1}}}};
    const struct hoop_sharding uneven = {.dims = {[1] = {1, {1}}}};
    const struct hoop_sharding partial = {.partial = {1, {1}}};
    const struct hoop_tensor_spec spec = {mesh_process->mesh, columns, NULL};
    struct hoop_named_dtensor tensor = {"t", NULL};

    if (load_as(mesh_process, "u", &columns, HOOP_E_NOT_FOUND,
                "no tensor \"u\"") ||
        load_as(mesh_process, mesh_process->rank == ODD ? "u" : "t", &columns,
                HOOP_E_MISMATCH, "rank 1 loads other tensors") ||
        load_as(mesh_process, "t",
                mesh_process->rank == ODD ? &uneven : &columns, HOOP_E_MISMATCH,
                "rank 1 loads other tensors") ||
        load_as(mesh_process, "t", &beyond, HOOP_E_INVALID, "dim 2 is cut") ||
        load_as(mesh_process, "t", &twice, HOOP_E_INVALID,
                "which is there already") ||
        load_as(mesh_process, "t", &uneven, HOOP_E_INVALID,
                "40 elements along") ||
        load_as(mesh_process, "t", &partial, HOOP_E_INVALID, "partial sum"))
        return 1;
    WORKER_CHECK(hoop_checkpoint_load(case_folder, "t", NULL, NULL) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_dtensor_create(HOOP_INT32, &shape, &spec,
                                     &tensor.dtensor) == HOOP_OK);
    const enum hoop_status status =
        hoop_checkpoint_restore(case_folder, &tensor, 1);
    hoop_dtensor_free(tensor.dtensor);
    return check_failure(mesh_process, status, HOOP_E_INVALID,
                         "\"t\" is float32 [6, 40] in the checkpoint");
}

static int
damaged_file_body(struct mesh_process *mesh_process)
{
    return load_as(mesh_process, "t", &columns, HOOP_E_DATA_LOSS,
                   ".part has 321");
}

static int
missing_file_body(struct mesh_process *mesh_process)
{
    return load_as(mesh_process, "t", &columns, HOOP_E_DATA_LOSS,
                   ".part is missing");
}

static int
damaged_index_body(struct mesh_process *mesh_process)
{
    const char *words = "/index.json: line 1";

    if (load_as(mesh_process, "t", &columns, HOOP_E_DATA_LOSS, words))
        return 1;
    return check_failure(mesh_process, save_as(mesh_process, case_folder, "t"),
                         HOOP_E_DATA_LOSS, words);
}

static int
missing_index_body(struct mesh_process *mesh_process)
{
    return load_as(mesh_process, "t", &columns, HOOP_E_NOT_FOUND,
                   "there is no checkpoint in");
}

/* In a mesh of 3 x 1 each rank has the whole row. One rank has other values:
 * first in all elements, then in one byte of a tensor so large that each rank
 * writes a share. */
static int
differ_body(struct mesh_process *mesh_process)
{
    const struct hoop_shape large = {1, {RANKS * 64 * 1024}};
    const struct hoop_tensor_spec spec = {.mesh = mesh_process->mesh};
    const bool is_odd = mesh_process->rank == ODD;
    struct hoop_named_dtensor tensors[] = {
        {"same", case_tensor(HOOP_FLOAT32, &shape, &spec, 1)},
        {"row", case_tensor(HOOP_FLOAT32, &shape, &spec, is_odd ? 2 : 3)},
    };

    if (check_failure(mesh_process,
                      hoop_checkpoint_save(case_folder, tensors, 2),
                      HOOP_E_PRECONDITION,
                      "ranks 0 and 1 have the same part of tensor \"row\""))
        return 1;
    hoop_dtensor_free(tensors[1].dtensor);
    tensors[1].dtensor = case_tensor(HOOP_UINT8, &large, &spec, 4);
    if (is_odd)
        ((uint8_t *)hoop_dtensor_local(tensors[1].dtensor)->data)[0] ^= 1;
    if (check_failure(mesh_process,
                      hoop_checkpoint_save(case_folder, tensors, 2),
                      HOOP_E_PRECONDITION,
                      "ranks 0 and 1 have the same part of tensor \"row\""))
        return 1;
    if (is_odd)
        ((uint8_t *)hoop_dtensor_local(tensors[1].dtensor)->data)[0] ^= 1;
    WORKER_CHECK(case_count_files(case_folder, ".part") == RANKS);
    WORKER_CHECK(hoop_checkpoint_save(case_folder, tensors, 2) == HOOP_OK);
    hoop_dtensor_free(tensors[1].dtensor);
    hoop_dtensor_free(tensors[0].dtensor);
    return 0;
}

/* Three ranks are in the mesh, and one is not. */
static int
outside_body(struct mesh_process *mesh_process)
{
    const bool is_here =
        hoop_mesh_coordinate(mesh_process->mesh, 0) != HOOP_NO_RANK;
    const struct hoop_tensor_spec spec = {mesh_process->mesh, columns, NULL};
    struct hoop_named_dtensor tensor = {"t", NULL};

    WORKER_CHECK(hoop_dtensor_create(HOOP_FLOAT32, &shape, &spec,
                                     &tensor.dtensor) == HOOP_OK);
    WORKER_CHECK(hoop_checkpoint_save(case_folder, &tensor, 1) == HOOP_OK);
    WORKER_CHECK(hoop_checkpoint_restore(case_folder, &tensor, 1) == HOOP_OK);
    hoop_dtensor_free(tensor.dtensor);
    WORKER_CHECK(hoop_checkpoint_load(case_folder, "t", &spec,
                                      &tensor.dtensor) == HOOP_OK);
    WORKER_CHECK(hoop_shape_equal(hoop_dtensor_shape(tensor.dtensor), &shape));
    WORKER_CHECK(!hoop_dtensor_local(tensor.dtensor) == !is_here);
    hoop_dtensor_free(tensor.dtensor);
    return 0;
}

static void
run_good(void)
{
    assert_int_equal(mesh_processes_run(1, RANKS, 0, good_body), 0);
}

static void
failure_of_one_rank_is_that_of_all(void **state)
{
    run_good();
    assert_int_equal(mesh_processes_run(1, RANKS, 0, one_fails_body), 0);
    assert_int_equal(mesh_processes_run(1, RANKS, 0, no_space_body), 0);
    assert_int_equal(chmod(case_folder, 0555), 0);
    assert_int_equal(mesh_processes_run(1, RANKS, 0, not_allowed_body), 0);
    assert_int_equal(chmod(case_folder, 0755), 0);
}

static void
save_of_replicas_that_differ_is_refused(void **state)
{
    run_good();
    assert_int_equal(mesh_processes_run(RANKS, 1, 0, differ_body), 0);
}

static void
save_beside_another_is_refused(void **state)
{
    char path[CASE_PATH + 16];

    run_good();
    snprintf(path, sizeof(path), "%s/hoop.lock", case_folder);
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(mesh_processes_run(1, RANKS, 0, locked_body), 0);
    close(fd);
    run_good();
}

static void
wrong_requests_are_refused_alike(void **state)
{
    run_good();
    assert_int_equal(mesh_processes_run(1, RANKS, 0, wrong_tensors_body), 0);
    assert_int_equal(mesh_processes_run(1, RANKS, 0, wrong_loads_body), 0);
}

/* Finds the file of a place; out_path has n_path bytes. */
static void
find_part(uint32_t place, char *out_path, size_t n_path)
{
    struct hoop_checkpoint_contents *contents = NULL;

    assert_ok(hoop_checkpoint_list(case_folder, &contents));
    snprintf(out_path, n_path, "%s/%s", case_folder,
             contents->files[place].name);
    hoop_checkpoint_contents_free(contents);
}

static void
append(const char *path, const char *text)
{
    const int fd = open(path, O_WRONLY | O_APPEND | O_CREAT, 0666);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void
damaged_files_are_named(void **state)
{
    char path[256];

    run_good();
    find_part(2, path, sizeof(path));
    int fd = open(path, O_WRONLY);
    assert_int_equal(pwrite(fd, "x", 1, 100), 1);
    close(fd);
    assert_int_equal(hoop_checkpoint_verify(case_folder), HOOP_E_DATA_LOSS);
    assert_non_null(strstr(hoop_error_text(), path));
    assert_non_null(strstr(hoop_error_text(), "damaged"));
    append(path, "x");
    assert_int_equal(mesh_processes_run(1, RANKS, 0, damaged_file_body), 0);
    assert_int_equal(hoop_checkpoint_verify(case_folder), HOOP_E_DATA_LOSS);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mesh_processes_run(1, RANKS, 0, missing_file_body), 0);
    assert_int_equal(hoop_checkpoint_verify(case_folder), HOOP_E_DATA_LOSS);
}

static void
damaged_index_is_not_replaced(void **state)
{
    char path[CASE_PATH + 16];
    struct hoop_checkpoint_contents *contents = NULL;

    snprintf(path, sizeof(path), "%s/index.json", case_folder);
    unlink(path);
    assert_int_equal(mesh_processes_run(1, RANKS, 0, missing_index_body), 0);
    assert_int_equal(hoop_checkpoint_list(case_folder, &contents),
                     HOOP_E_NOT_FOUND);
    assert_int_equal(hoop_checkpoint_verify(case_folder), HOOP_E_NOT_FOUND);
    append(path, "nonsense");
    assert_int_equal(mesh_processes_run(1, RANKS, 0, damaged_index_body), 0);
    assert_int_equal(hoop_checkpoint_list(case_folder, &contents),
                     HOOP_E_DATA_LOSS);
    assert_int_equal(unlink(path), 0);
    run_good();
    assert_int_equal(case_count_files(case_folder, ".part"), RANKS);
}

static void
calls_outside_the_mesh_are_local(void **state)
{
    assert_int_equal(mesh_processes_run(1, RANKS, 1, outside_body), 0);
    assert_int_equal(hoop_checkpoint_verify("/nowhere/hoop"), HOOP_E_NOT_FOUND);
    assert_int_equal(hoop_checkpoint_verify(NULL), HOOP_E_INVALID);
    assert_int_equal(hoop_checkpoint_list(case_folder, NULL), HOOP_E_INVALID);
}

/*
 * The programs below exit upon a failure.
 *
 * They neither free objects nor leave: after the failure they call exit() at
 * once. Nevertheless all ranks learn the reason, and none is told that another
 * rank has gone. Each round is a job of its own, since the next session of the
 * same job would wait for the processes that have vanished.
 */

enum {
    HASTE_RANKS = 5,
    HASTE_ODD = 1, /* the rank that differs */
    ROUNDS = 3,
};

static struct {
    char job[32];
    const char *path;
    const char *name_of_odd;
    enum hoop_status expected;
    const char *words;
} scene;

static int
save_body(const struct worker *worker)
{
    const struct hoop_shape line = {1, {HASTE_RANKS}};
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;

    options.job = scene.job;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    const struct hoop_tensor_spec spec = {
        .mesh = case_mesh(session, 1, HASTE_RANKS, NULL)};
    WORKER_CHECK(spec.mesh);
    const struct hoop_named_dtensor tensor = {
        worker->index == HASTE_ODD ? scene.name_of_odd : "t",
        case_tensor(HOOP_UINT8, &line, &spec, 1)};
    const enum hoop_status status =
        hoop_checkpoint_save(scene.path, &tensor, 1);
    if (status == scene.expected && strstr(hoop_error_text(), scene.words))
        _exit(0);
    fprintf(stderr, "rank %u: %s: %s\n", worker->index,
            hoop_status_name(status), hoop_error_text());
    _exit(1);
}

static void
save_in_haste(const char *job)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        snprintf(scene.job, sizeof(scene.job), "%s-%u", job, i);
        assert_int_equal(
            workers_run(hoopd.address, HASTE_RANKS, save_body, NULL), 0);
    }
}

static void
failure_is_told_to_all_before_one_ends(void **state)
{
    scene.path = "/nowhere/hoop";
    scene.name_of_odd = "t";
    scene.expected = HOOP_E_NOT_FOUND;
    scene.words = "rank 0: cannot open the folder /nowhere";
    save_in_haste("failure");
}

static void
difference_is_told_to_all_before_one_ends(void **state)
{
    scene.path = case_folder;
    scene.name_of_odd = "u";
    scene.expected = HOOP_E_MISMATCH;
    scene.words = "rank 1 saves other tensors";
    save_in_haste("difference");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failure_of_one_rank_is_that_of_all),
        cmocka_unit_test(save_of_replicas_that_differ_is_refused),
        cmocka_unit_test(save_beside_another_is_refused),
        cmocka_unit_test(wrong_requests_are_refused_alike),
        cmocka_unit_test(damaged_files_are_named),
        cmocka_unit_test(damaged_index_is_not_replaced),
        cmocka_unit_test(calls_outside_the_mesh_are_local),
        cmocka_unit_test(failure_is_told_to_all_before_one_ends),
        cmocka_unit_test(difference_is_told_to_all_before_one_ends),
    };

    return cmocka_run_group_tests(tests, case_setup, case_teardown);
}
