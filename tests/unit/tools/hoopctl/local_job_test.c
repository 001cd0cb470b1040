/* tests/unit/tools/hoopctl/local_job_test.c - hoopctl/local_job.c
 *
 * Programs with the environment of workers run here while other jobs may: the
 * jobs of this test have names of their own.
 */

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "check.h"
#include "child.h"
#include "hoopctl/local_job.h"

enum {
    WORKERS_MAX = 4,
    VARIABLES_MAX = 12,
};

static const char *const names[] = {
    "HOOP_COORDINATOR", "HOOP_JOB",      "HOOP_TOKEN",   "HOOP_TOKEN_FILE",
    "HOOP_TLS",         "HOOP_TLS_CERT", "HOOP_TLS_KEY", "HOOP_TLS_CA",
};

struct workers {
    size_t n_workers;
    pid_t pids[WORKERS_MAX];
};

static struct workers workers;
static char job[64];
static char job_is[80]; /* "HOOP_JOB=..." */

static int
set_up(void **state)
{
    workers = (struct workers){0};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        unsetenv(names[i]);
    snprintf(job, sizeof(job), "local-job-test-%d", (int)getpid());
    snprintf(job_is, sizeof(job_is), "HOOP_JOB=%s", job);
    return 0;
}

static int
tear_down(void **state)
{
    for (size_t i = 0; i < workers.n_workers; i++) {
        kill(workers.pids[i], SIGKILL);
        waitpid(workers.pids[i], NULL, 0);
    }
    return 0;
}

/* Start a program that sleeps, with this environment; NULL ends the list. When
 * this returns, the kernel shows the environment. */
static void
worker_start(const char *first, ...)
{
    const char *variables[VARIABLES_MAX] = {first};
    size_t n = 1;
    va_list more;
    int started[2];
    char byte;

    va_start(more, first);
    while ((variables[n] = va_arg(more, const char *)))
        assert_true(++n < VARIABLES_MAX);
    va_end(more);
    assert_int_equal(pipe2(started, O_CLOEXEC), 0);
    const pid_t pid = child_fork();

    if (pid == 0) {
        execle("/bin/sleep", "sleep", "600", (char *)NULL,
               (char *const *)variables);
        _exit(1);
    }
    assert_true(pid > 0);
    workers.pids[workers.n_workers++] = pid;
    close(started[1]);
    /* It ends by the exec. */
    while (read(started[0], &byte, 1) < 0 && errno == EINTR) {
    }
    close(started[0]);
}

static enum hoop_status
adopt(const char *coordinator)
{
    return local_job_adopt(
        &(struct hoop_control_options){.job = job, .coordinator = coordinator});
}

static void
job_of_hooprun_is_reached_as_its_workers_reach_it(void **state)
{
    worker_start("HOOP_ENDINGS=/x", "HOOP_COORDINATOR=127.0.0.1:7", job_is,
                 "HOOP_TOKEN=secret", "HOOP_TLS=on", "HOOP_TLS_CA=", NULL);
    /* Its second worker, and a child of one, have the same. */
    worker_start("HOOP_ENDINGS=/x", "HOOP_COORDINATOR=127.0.0.1:7", job_is,
                 "HOOP_TOKEN=secret", "HOOP_TLS=on", NULL);
    assert_int_equal(adopt(NULL), HOOP_OK);
    assert_string_equal(getenv("HOOP_COORDINATOR"), "127.0.0.1:7");
    assert_string_equal(getenv("HOOP_JOB"), job);
    assert_string_equal(getenv("HOOP_TOKEN"), "secret");
    assert_string_equal(getenv("HOOP_TLS"), "on");
    assert_null(getenv("HOOP_TLS_CA"));
    assert_null(getenv("HOOP_TOKEN_FILE"));
}

/* Another launcher's workers, and those of a hoopd, say all but that hooprun
 * has started them. */
static void
worker_of_no_hooprun_is_left_alone(void **state)
{
    worker_start("HOOP_COORDINATOR=127.0.0.1:7", job_is, "HOOP_TOKEN=secret",
                 NULL);
    worker_start("HOOP_ENDINGS=/x", "HOOP_COORDINATOR=127.0.0.1:7",
                 "XHOOP_JOB=x", NULL);
    assert_int_equal(adopt(NULL), HOOP_E_NOT_FOUND);
    assert_int_equal(adopt("127.0.0.1:9"), HOOP_OK);
    assert_null(getenv("HOOP_COORDINATOR"));
    assert_null(getenv("HOOP_TOKEN"));
}

static void
user_chooses_among_several_jobs(void **state)
{
    worker_start("HOOP_ENDINGS=/x", "HOOP_COORDINATOR=127.0.0.1:7", job_is,
                 "HOOP_TOKEN=seven", NULL);
    worker_start("HOOP_ENDINGS=/x", "HOOP_COORDINATOR=127.0.0.1:8", job_is,
                 "HOOP_TOKEN=eight", NULL);
    assert_int_equal(adopt(NULL), HOOP_E_INVALID);
    assert_null(getenv("HOOP_COORDINATOR"));
    assert_null(getenv("HOOP_TOKEN"));
    assert_int_equal(adopt("127.0.0.1:8"), HOOP_OK);
    assert_string_equal(getenv("HOOP_TOKEN"), "eight");
}

static void
name_of_the_job_may_come_from_the_environment(void **state)
{
    worker_start("HOOP_ENDINGS=/x", "HOOP_COORDINATOR=127.0.0.1:7", job_is,
                 NULL);
    setenv("HOOP_JOB", job, 1);
    assert_int_equal(local_job_adopt(&(struct hoop_control_options){0}),
                     HOOP_OK);
    assert_string_equal(getenv("HOOP_COORDINATOR"), "127.0.0.1:7");
}

/* Who says how to reach a coordinator means that one. */
static void
what_the_user_says_is_not_replaced(void **state)
{
    static const char *const says[] = {"HOOP_COORDINATOR", "HOOP_TOKEN",
                                       "HOOP_TOKEN_FILE"};

    worker_start("HOOP_ENDINGS=/x", "HOOP_COORDINATOR=127.0.0.1:7", job_is,
                 "HOOP_TLS=on", NULL);
    for (size_t i = 0; i < COUNT_OF(says); i++) {
        setenv(says[i], "mine", 1);
        assert_int_equal(adopt(NULL), HOOP_OK);
        assert_string_equal(getenv(says[i]), "mine");
        assert_null(getenv("HOOP_TLS"));
        unsetenv(says[i]);
    }
    assert_int_equal(local_job_adopt(&(struct hoop_control_options){
                         .job = job, .token_file = "file"}),
                     HOOP_OK);
    assert_null(getenv("HOOP_COORDINATOR"));
}

#define LOCAL_JOB_TEST(name)                                                   \
    cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        LOCAL_JOB_TEST(job_of_hooprun_is_reached_as_its_workers_reach_it),
        LOCAL_JOB_TEST(worker_of_no_hooprun_is_left_alone),
        LOCAL_JOB_TEST(user_chooses_among_several_jobs),
        LOCAL_JOB_TEST(name_of_the_job_may_come_from_the_environment),
        LOCAL_JOB_TEST(what_the_user_says_is_not_replaced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
