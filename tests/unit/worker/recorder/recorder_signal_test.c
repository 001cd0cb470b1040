/* tests/unit/worker/recorder/recorder_signal_test.c - a copy that a signal makes
 * is what had been recorded until then */

#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "recorder/recorder_signal.h"
#include "unit/worker/recorder/recorder_fixture.h"

enum {
    COPIES = 100,
};

/* Makes a copy by a signal, and reads it. */
static hoop_recording_t *
copy_take(const struct recorder_fixture *fixture)
{
    char path[TEMPORARY_FILE];
    hoop_recording_t *copy = NULL;
    size_t n_calls;

    assert_int_equal(raise(SIGUSR1), 0);
    snprintf(path, sizeof(path), "%s/job.3.copy.hoopr", fixture->folder);
    assert_ok(hoop_recording_read(path, &copy));
    const struct hoop_recorded_call *calls =
        hoop_recording_calls(copy, &n_calls);
    for (size_t i = 0; i < n_calls; i++)
        assert_is_call(&calls[i]);
    return copy;
}

static void
signal_copies_the_record_as_it_is(void **state)
{
    struct recorder_fixture fixture;
    size_t n_calls;

    (void)state;
    recorder_fixture_open(&fixture);
    call_make(fixture.recorder, 2);
    const struct recorder_call call = call_of_number(3);
    (void)recorder_called(fixture.recorder, &call);
    for (int i = 0; i < 2; i++) {
        hoop_recording_t *copy = copy_take(&fixture);
        const struct hoop_recorded_call *calls =
            hoop_recording_calls(copy, &n_calls);

        assert_int_equal(n_calls, 2 + i);
        assert_int_equal(calls[0].wire_number, 2);
        assert_int_equal(calls[1].state, HOOP_RECORDED_CALLED);
        hoop_recording_destroy(copy);
        call_make(fixture.recorder, 4);
    }
    recorder_fixture_close(&fixture);
}

static void
program_handles(int number)
{
    (void)number;
}

static void
signal_of_the_program_or_none_is_refused(void **state)
{
    struct recorder_fixture fixture;
    struct recorder *other = NULL;
    struct recorder_options options = {
        .signal = "SEGV", .job = "other", .host = "", .size = 1};

    (void)state;
    recorder_fixture_open(&fixture);
    options.folder = fixture.folder;
    assert_int_equal(recorder_create(&options, &other), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "HOOP_RECORDER_SIGNAL=SEGV"));
    signal(SIGUSR2, program_handles);
    options.signal = "SIGUSR2";
    assert_int_equal(recorder_create(&options, &other), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "handles"));
    signal(SIGUSR2, SIG_DFL);
    assert_ok(recorder_create(&options, &other));
    recorder_destroy(other);
    recorder_fixture_close(&fixture);
}

/* Another process writes into the memory while the handler copies it. */
static void
copy_is_whole_while_calls_are_recorded(void **state)
{
    struct recorder_fixture fixture;

    (void)state;
    recorder_fixture_open(&fixture);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (uint64_t number = 1;; number++)
            call_make(fixture.recorder, number);
    }
    for (int i = 0; i < COPIES; i++)
        hoop_recording_destroy(copy_take(&fixture));
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    recorder_fixture_close(&fixture);
}

/* In a child: nothing is copied until it has a recorder of its own. Returns
 * whether that was so. */
static bool
child_copies_its_own_alone(const struct recorder_fixture *fixture)
{
    const struct recorder_options options = {.folder = fixture->folder,
                                             .signal = "USR1",
                                             .job = "child",
                                             .host = "",
                                             .size = 1};
    char parents[TEMPORARY_FILE];
    char own[TEMPORARY_FILE];
    struct recorder *recorder = NULL;

    snprintf(parents, sizeof(parents), "%s/job.3.copy.hoopr", fixture->folder);
    snprintf(own, sizeof(own), "%s/child.0.copy.hoopr", fixture->folder);
    raise(SIGUSR1);
    if (access(parents, F_OK) == 0)
        return false;
    recorder_signal_forget();
    if (recorder_create(&options, &recorder) != HOOP_OK)
        return false;
    raise(SIGUSR1);
    const bool is_good = access(own, F_OK) == 0 && access(parents, F_OK) != 0;
    recorder_destroy(recorder);
    return is_good;
}

static void
forked_child_copies_nothing_of_its_parent(void **state)
{
    struct recorder_fixture fixture;
    int status = 0;

    (void)state;
    recorder_fixture_open(&fixture);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(child_copies_its_own_alone(&fixture) ? EXIT_SUCCESS
                                                   : EXIT_FAILURE);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), EXIT_SUCCESS);
    hoop_recording_destroy(copy_take(&fixture));
    recorder_fixture_close(&fixture);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signal_copies_the_record_as_it_is),
        cmocka_unit_test(forked_child_copies_nothing_of_its_parent),
        cmocka_unit_test(copy_is_whole_while_calls_are_recorded),
        cmocka_unit_test(signal_of_the_program_or_none_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
