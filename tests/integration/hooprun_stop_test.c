/*
 * tests/integration/hooprun_stop_test.c - a job that is stopped and continued
 *
 * Arguments: hooprun, and steady, which reduces until a file exists.
 */

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "integration/program.h"
#include "temporary.h"

static const char *hooprun;
static const char *steady;

enum {
    N_RANKS = 3,
    /* Longer than it takes until a rank is lost that answers nobody. */
    STOPPED_MS = 6000,
    DEADLINE_MS = 100000,
};

/* Rank 0 removes a mark between two of its calls. */
static void
call_await(const char *folder)
{
    const uint64_t deadline_ns = clock_deadline_ns(DEADLINE_MS);
    char path[64];

    event_happens(folder, "stop.mark");
    snprintf(path, sizeof(path), "%s/stop.mark", folder);
    while (access(path, F_OK) == 0) {
        assert_false(clock_is_past(deadline_ns));
        poll(NULL, 0, 5);
    }
}

static pid_t
pid_await(struct program *program, int rank)
{
    char text[32];

    snprintf(text, sizeof(text), "[%d] pid ", rank);
    program_await(program, text);
    return atoi(strstr(program->out.text, text) + strlen(text));
}

static void
hooprun_stopped_and_continued_job_goes_on(void **state)
{
    char folder[TEMPORARY_PATH] = "hooprun_stop.XXXXXX";
    char script[1024];
    const char *const arguments[] = {hooprun, "-n",   "3", "sh",
                                     "-c",    script, NULL};

    assert_non_null(temporary_folder(folder, sizeof(folder)));
    snprintf(script, sizeof(script), "echo pid $$ and; exec %s %s/stop", steady,
             folder);
    struct program *program = program_start_group(arguments);

    *state = program;
    for (int rank = 0; rank < N_RANKS; rank++)
        pid_await(program, rank);
    call_await(folder);

    kill(program->pid, SIGTSTP);
    process_await_stop(program->pid);
    for (int rank = 0; rank < N_RANKS; rank++)
        process_await_stop(pid_await(program, rank));
    poll(NULL, 0, STOPPED_MS);

    kill(program->pid, SIGCONT);
    call_await(folder);
    event_happens(folder, "stop");
    assert_int_equal(program_wait(program), 0);
    assert_string_equal(program->err.text, "");

    snprintf(script, sizeof(script), "rm -r %s", folder);
    assert_int_equal(system(script), 0);
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(hooprun_stopped_and_continued_job_goes_on,
                                  program_teardown),
    };

    if (argc < 3)
        return EXIT_FAILURE;
    hooprun = argv[1];
    steady = argv[2];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
