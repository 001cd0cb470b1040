/*
 * tests/integration/session/control_recording_test.c - what ranks called last,
 * through a real hoopd
 *
 * Rank 0 records its calls and rank 1 does not. Rank 0 asks the coordinator.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hoop/control.h"
#include "hoop/recorder.h"

#include "base/cleanup.h"
#include "check.h"
#include "integration/daemon.h"
#include "temporary.h"

enum {
    BARRIERS = 5,
};

static const struct {
    struct hoop_control_recording_source source;
    enum hoop_status status;
    const char *says;
} refused[] = {
    {{1, 1}, HOOP_E_NOT_FOUND, "it records nothing"},
    {{0, 1}, HOOP_E_NOT_FOUND, "it records nothing"},
    {{1, 0}, HOOP_E_NOT_FOUND, "'recorded.1.hoopr' cannot be opened"},
    {{2, 0}, HOOP_E_RANGE, "job \"recorded\" has no rank 2: it has 2"},
    {{0, UINT32_MAX}, HOOP_E_RANGE, "no rank 4294967295"},
};

static uint32_t
barriers_count(const hoop_recording_t *recording)
{
    size_t n_calls = 0;
    const struct hoop_recorded_call *calls =
        hoop_recording_calls(recording, &n_calls);
    uint32_t n = 0;

    for (size_t i = 0; i < n_calls; i++)
        n += strcmp(calls[i].kind, "barrier") == 0 && calls[i].number > 0 &&
             calls[i].state == HOOP_RECORDED_DONE;
    return n;
}

static int
recordings_check(hoop_control_t *control)
{
    const struct hoop_control_recording_source own = {0, 0};
    hoop_recording_t *recording = NULL;

    WORKER_CHECK(hoop_control_recording(control, &own, &recording) == HOOP_OK);
    WORKER_CHECK(hoop_recording_origin(recording)->rank == 0);
    WORKER_CHECK(hoop_recording_origin(recording)->size == 2);
    WORKER_CHECK(hoop_recording_origin(recording)->pid == (uint32_t)getpid());
    WORKER_CHECK(barriers_count(recording) == BARRIERS);
    hoop_recording_destroy(recording);
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        recording = NULL;
        WORKER_CHECK(hoop_control_recording(control, &refused[i].source,
                                            &recording) == refused[i].status);
        WORKER_CHECK(strstr(hoop_error_text(), refused[i].says));
        WORKER_CHECK(!recording);
    }
    WORKER_CHECK(hoop_control_recording(control, NULL, &recording) ==
                 HOOP_E_INVALID);
    WORKER_CHECK(hoop_control_recording(control, &own, NULL) == HOOP_E_INVALID);
    WORKER_CHECK(hoop_control_recording(NULL, &own, &recording) ==
                 HOOP_E_INVALID);
    return 0;
}

static int
rank_is_asked_for_what_it_has_recorded(const struct worker *worker)
{
    char folder[TEMPORARY_PATH] = "control-recording-XXXXXX";
    char file[TEMPORARY_FILE + TEMPORARY_PATH];
    char item[TEMPORARY_PATH + 32];
    const char *const settings[] = {"job=recorded",
                                    worker->index == 0 ? item : NULL, NULL};
    struct hoop_join_options options = worker_options(worker);
    hoop_control_t *control = NULL;
    hoop_session_t *session = NULL;

    WORKER_CHECK(temporary_folder(folder, sizeof(folder)));
    snprintf(item, sizeof(item), "recorder_dir=%s", folder);
    options.settings = settings;
    WORKER_CHECK(hoop_join(&options, &session) == HOOP_OK);
    for (int i = 0; i < BARRIERS; i++)
        WORKER_CHECK(hoop_barrier(hoop_world(session)) == HOOP_OK);
    WORKER_CHECK(hoop_session_control(session, &control) == HOOP_OK);
    if (worker->index == 0 && recordings_check(control) != 0)
        return 1;
    hoop_control_destroy(control);
    WORKER_CHECK(hoop_barrier(hoop_world(session)) == HOOP_OK);
    hoop_leave(session);
    snprintf(file, sizeof(file), "%s/recorded.0.hoopr", folder);
    WORKER_CHECK((unlink(file) == 0) == (worker->index == 0));
    WORKER_CHECK(rmdir(folder) == 0);
    return 0;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        WORKERS_TEST(rank_is_asked_for_what_it_has_recorded, 2),
    };

    return cmocka_run_group_tests(tests, daemon_setup, daemon_teardown);
}
