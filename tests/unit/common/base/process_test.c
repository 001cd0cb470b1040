/* tests/unit/common/base/process_test.c - base/process.c */

#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process.h"
#include "check.h"
#include "proc_state.h"

static void
process_that_is_stopped_is_seen(void **state)
{
    const pid_t child = fork();
    int how;

    if (child == 0) {
        pause();
        _exit(0);
    }
    assert_false(process_is_stopped((uint32_t)child));
    kill(child, SIGSTOP);
    assert_int_equal(waitpid(child, &how, WUNTRACED), child);
    assert_true(process_is_stopped((uint32_t)child));
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_false(process_is_stopped((uint32_t)child));
    assert_int_equal(process_get_state((uint32_t)child), PROCESS_ENDED);
}

/* Also before anybody has asked how. */
static void
process_that_has_ended_is_seen(void **state)
{
    const pid_t child = fork();
    siginfo_t ended;

    if (child == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    assert_int_equal(process_get_state((uint32_t)child), PROCESS_ENDED);
    assert_true(process_has_ended((uint32_t)child));
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_true(process_has_ended((uint32_t)child));
    assert_int_equal(process_get_state((uint32_t)getpid()), PROCESS_RUNS);
    assert_false(process_has_ended((uint32_t)getpid()));
    assert_false(process_has_ended(0));
    assert_false(process_has_ended(UINT32_MAX));
}

/* Somebody else's, under hidepid: process_get_state() cannot tell. */
static void
process_that_proc_hides_has_not_ended(void **state)
{
    const pid_t child = fork();
    int how;

    if (child == 0) {
        uint32_t shown = (uint32_t)getppid();

        if (unshare(CLONE_NEWNS) != 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
            mount("proc", "/proc", "proc", 0, "hidepid=2") != 0 ||
            setgroups(0, NULL) != 0 || setresgid(65534, 65534, 65534) != 0 ||
            setresuid(65534, 65534, 65534) != 0)
            _exit(2);
        _exit(process_get_state(shown) != PROCESS_ENDED ||
              process_has_ended(shown));
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    if (WEXITSTATUS(how) == 2)
        skip();
    assert_int_equal(WEXITSTATUS(how), 0);
}

static void *
thread_pause(void *owner)
{
    for (;;)
        pause();
    return owner;
}

/* Whose first thread ends at once, another not before it is killed. */
static pid_t
headless_start(void)
{
    const pid_t child = fork();
    pthread_t thread;

    if (child > 0)
        return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (pthread_create(&thread, NULL, thread_pause, NULL) != 0)
        _exit(1);
    pthread_exit(NULL);
}

static void
process_whose_first_thread_has_ended_runs(void **state)
{
    const pid_t child = headless_start();
    siginfo_t ended;
    int how;

    assert_true(proc_state_await(child, 'Z'));
    assert_int_equal(process_get_state((uint32_t)child), PROCESS_RUNS);
    assert_false(process_has_ended((uint32_t)child));
    kill(child, SIGSTOP);
    assert_int_equal(waitpid(child, &how, WUNTRACED), child);
    assert_true(WIFSTOPPED(how));
    assert_int_equal(process_get_state((uint32_t)child), PROCESS_STOPPED);
    kill(child, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT), 0);
    assert_int_equal(process_get_state((uint32_t)child), PROCESS_ENDED);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

/* Returns the number of which, as a grandchild sees it whose namespaces are its
 * own according to flags. */
static uint64_t
number_of_child(int flags, uint64_t (*which)(void))
{
    uint64_t space = 0;
    int ends[2];
    int how;

    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    if (child == 0) {
        /* As long as /proc is the outer one, numbers in it mean nothing. */
        const bool is_apart = flags == 0 || unshare(flags) == 0;
        const pid_t grandchild = is_apart ? fork() : -1;

        if (grandchild == 0) {
            space = which();
            _exit(write(ends[1], &space, sizeof(space)) != sizeof(space));
        }
        _exit(grandchild < 0 || waitpid(grandchild, &how, 0) < 0 || how != 0);
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    if (how == 0)
        assert_int_equal(read(ends[0], &space, sizeof(space)), sizeof(space));
    close(ends[0]);
    close(ends[1]);
    if (how != 0)
        skip();
    return space;
}

static void
space_is_shared_by_those_who_number_alike(void **state)
{
    assert_int_not_equal(pid_namespace_id(), 0);
    assert_int_equal(pid_namespace_id(), number_of_child(0, pid_namespace_id));
}

static void
space_is_unknown_where_proc_shows_another(void **state)
{
    assert_int_equal(number_of_child(CLONE_NEWPID, pid_namespace_id), 0);
}

/* A time namespace has a CLOCK_MONOTONIC of its own. */
static void
monotonic_clock_is_told_by_its_namespace(void **state)
{
    assert_int_not_equal(monotonic_clock_id(), 0);
    assert_int_equal(monotonic_clock_id(),
                     number_of_child(0, monotonic_clock_id));
    assert_int_not_equal(monotonic_clock_id(),
                         number_of_child(CLONE_NEWTIME, monotonic_clock_id));
}

static void
this_process_and_none_are_not_stopped(void **state)
{
    assert_false(process_is_stopped((uint32_t)getpid()));
    assert_false(process_is_stopped(0));
    assert_false(process_is_stopped(UINT32_MAX));
}

/* Two that both want one processor. */
static void
process_that_waits_for_a_processor_is_delayed(void **state)
{
    const int processor = sched_getcpu();
    cpu_set_t set;
    pid_t children[2];
    struct process_cpu_time share = {0};

    /* A kernel that does not count. */
    if (access("/proc/self/schedstat", R_OK) != 0)
        skip();
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            sched_setaffinity(0, sizeof(set), &set);
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            for (;;)
                ;
        }
    }
    for (int i = 0; i < 1000 && share.waited_ns < 10000000; i++) {
        usleep(10000);
        share = process_get_cpu_time((uint32_t)children[0]);
    }
    assert_true(share.waited_ns >= 10000000);
    assert_true(share.ran_ns > 0);
    assert_true(share.is_waiting);
    for (int i = 0; i < 2; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    assert_int_equal(process_get_cpu_time((uint32_t)children[0]).ran_ns, 0);
}

/* In a mount namespace of its own: under hidepid nobody knows. */
static int
hidepid_child(void)
{
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("proc", "/proc", "proc", 0, "hidepid=2") != 0)
        return 77;
    if (process_all_are_visible())
        return 1;
    if (mount("proc", "/proc", "proc", MS_REMOUNT, "hidepid=0") != 0)
        return 77;
    return process_all_are_visible() ? 0 : 2;
}

static void
proc_that_hides_processes_is_known(void **state)
{
    int how = 0;

    const pid_t child = fork();
    if (child == 0)
        _exit(hidepid_child());
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFEXITED(how));
    if (WEXITSTATUS(how) == 77)
        skip();
    assert_int_equal(WEXITSTATUS(how), 0);
}

/* Look at child until it is in that state, for at most 20 s. */
static struct process_glance
glance_await(pid_t child, char wanted)
{
    struct process_glance glance = {0};

    for (int i = 0; i < 2000; i++) {
        process_look((uint32_t)child, &glance);
        if (glance.state == wanted)
            break;
        usleep(10000);
    }
    assert_int_equal(glance.state, wanted);
    return glance;
}

static void
glance_shows_what_a_process_does(void **state)
{
    int input[2];
    siginfo_t how;
    char byte = 0;

    assert_int_equal(pipe(input), 0);
    const pid_t child = fork();
    if (child == 0) {
        volatile unsigned n = 0;

        if (read(input[0], &byte, 1) == 1)
            for (;;)
                n++;
        _exit(0);
    }
    assert_string_equal(glance_await(child, 'S').where, "read");
    kill(child, SIGSTOP);
    assert_int_equal(waitid(P_PID, (id_t)child, &how, WSTOPPED), 0);
    assert_string_equal(glance_await(child, 'T').where, "");
    kill(child, SIGCONT);
    assert_string_equal(glance_await(child, 'S').where, "read");
    assert_int_equal(write(input[1], &byte, 1), 1);
    assert_string_equal(glance_await(child, 'R').where, "");
    kill(child, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)child, &how, WEXITED | WNOWAIT), 0);
    glance_await(child, 'Z');
    assert_int_equal(waitpid(child, NULL, 0), child);
    glance_await(child, 'X');
    close(input[0]);
    close(input[1]);
}

static void *
thread_run(void *argument)
{
    const atomic_bool *is_over = argument;

    while (!atomic_load(is_over)) {
    }
    return NULL;
}

/* The first thread sleeps while another one computes, and the one that looks
 * does not count. */
static void
glance_at_a_process_with_a_thread_that_runs_shows_that(void **state)
{
    atomic_bool is_over = false;
    pthread_t thread;
    const pid_t child = fork();

    if (child == 0) {
        pthread_create(&thread, NULL, thread_run, &is_over);
        for (;;)
            pause();
    }
    glance_await(child, 'R');
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

static void
glance_at_a_process_whose_first_thread_has_ended_shows_the_others(void **state)
{
    atomic_bool is_over = false;
    pthread_t thread;
    const pid_t child = fork();

    if (child == 0) {
        pthread_create(&thread, NULL, thread_run, &is_over);
        syscall(SYS_exit, 0);
    }
    glance_await(child, 'R');
    kill(child, SIGKILL);
    assert_int_equal(waitpid(child, NULL, 0), child);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(process_that_is_stopped_is_seen),
        cmocka_unit_test(process_that_has_ended_is_seen),
        cmocka_unit_test(process_that_proc_hides_has_not_ended),
        cmocka_unit_test(space_is_shared_by_those_who_number_alike),
        cmocka_unit_test(space_is_unknown_where_proc_shows_another),
        cmocka_unit_test(monotonic_clock_is_told_by_its_namespace),
        cmocka_unit_test(process_whose_first_thread_has_ended_runs),
        cmocka_unit_test(proc_that_hides_processes_is_known),
        cmocka_unit_test(process_that_waits_for_a_processor_is_delayed),
        cmocka_unit_test(glance_shows_what_a_process_does),
        cmocka_unit_test(
            glance_at_a_process_with_a_thread_that_runs_shows_that),
        cmocka_unit_test(
            glance_at_a_process_whose_first_thread_has_ended_shows_the_others),
        cmocka_unit_test(this_process_and_none_are_not_stopped),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
