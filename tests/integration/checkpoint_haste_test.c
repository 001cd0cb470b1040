/*
 * tests/integration/checkpoint_haste_test.c - programs that end upon a failure
 *
 * They neither free nor leave: exit is the next thing they do. All ranks are
 * told why nevertheless, none that another has gone. Jobs of their own, since
 * the next session of a job would wait for those who have vanished.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "checkpoint_case.h"
#include "daemon.h"
#include "workers.h"

enum {
    RANKS = 5,
    ODD = 1, /* the rank that differs */
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
    const struct hoop_shape shape = {1, {RANKS}};
    struct hoop_join_options options = worker_options(worker);
    hoop_session_t *session = NULL;

    options.job = scene.job;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    const struct hoop_tensor_spec spec = {
        .mesh = case_mesh(session, 1, RANKS, NULL)};
    WORKER_CHECK(spec.mesh);
    const struct hoop_named_dtensor tensor = {
        worker->index == ODD ? scene.name_of_odd : "t",
        case_tensor(HOOP_UINT8, &shape, &spec, 1)};
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
        assert_int_equal(workers_run(hoopd.address, RANKS, save_body, NULL), 0);
    }
}

static void
failure_is_told_to_all_before_one_ends(void **state)
{
    (void)state;
    scene.path = "/nowhere/hoop";
    scene.name_of_odd = "t";
    scene.expected = HOOP_E_NOT_FOUND;
    scene.words = "rank 0: cannot open the folder /nowhere";
    save_in_haste("failure");
}

static void
difference_is_told_to_all_before_one_ends(void **state)
{
    (void)state;
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
        cmocka_unit_test(failure_is_told_to_all_before_one_ends),
        cmocka_unit_test(difference_is_told_to_all_before_one_ends),
    };

    return cmocka_run_group_tests(tests, case_setup, case_teardown);
}
