/* tests/unit/worker/session/exit_status_test.c - session/launcher.c */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "session/launcher.h"
#include "temporary.h"

static struct roster *roster;
static char path[TEMPORARY_PATH] = "hoop-endings-XXXXXX";
static char how[LIMIT_NAME];

/* This is rank 0, the child rank 1, and rank 2 is elsewhere. */
static int
family_open(void **state)
{
    (void)state;
    assert_int_equal(roster_create(3, &roster), HOOP_OK);
    for (uint32_t rank = 0; rank < 3; rank++) {
        strcpy(roster->members[rank].host, rank < 2 ? "here" : "there");
        strcpy(roster->members[rank].host_id, rank < 2 ? "1/1" : "2/1");
        roster->members[rank].is_visible = rank < 2;
    }
    roster->members[0].pid = (uint32_t)getpid();
    const pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    roster->members[1].pid = (uint32_t)child;
    roster->members[2].pid = (uint32_t)child;
    strcpy(strrchr(path, '-'), "-XXXXXX");
    const int fd = temporary_file(path, sizeof(path));
    assert_true(fd >= 0);
    close(fd);
    return 0;
}

static int
family_close(void **state)
{
    (void)state;
    kill((pid_t)roster->members[1].pid, SIGKILL);
    waitpid((pid_t)roster->members[1].pid, NULL, 0);
    unlink(path);
    roster_destroy(roster);
    return 0;
}

static void
child_end(void)
{
    siginfo_t ended;

    kill((pid_t)roster->members[1].pid, SIGKILL);
    /* It stays a zombie. */
    assert_int_equal(
        waitid(P_PID, roster->members[1].pid, &ended, WEXITED | WNOWAIT), 0);
}

static void
write_line(const char *format, uint32_t pid)
{
    FILE *file = fopen(path, "a");

    assert_non_null(file);
    fprintf(file, format, pid);
    fclose(file);
}

static void
fate_of_who_runs_or_stands_is_no_end(void **state)
{
    int status;

    (void)state;
    assert_int_equal(exit_status_find(roster, 1, path, how),
                     ENGINE_PROCESS_ALIVE);
    kill((pid_t)roster->members[1].pid, SIGSTOP);
    waitpid((pid_t)roster->members[1].pid, &status, WUNTRACED);
    assert_int_equal(exit_status_find(roster, 1, path, how),
                     ENGINE_PROCESS_UNKNOWN);
}

static void
fate_of_who_is_elsewhere_is_unknown(void **state)
{
    (void)state;
    child_end();
    assert_int_equal(exit_status_find(roster, 2, path, how),
                     ENGINE_PROCESS_UNKNOWN);
    assert_int_equal(exit_status_find(roster, 0, path, how),
                     ENGINE_PROCESS_UNKNOWN);
    /* HOOP_NODE: several nodes on one host, as a launcher of all knows. */
    strcpy(roster->members[1].host_id, "here/1");
    assert_int_equal(exit_status_find(roster, 1, "", how),
                     ENGINE_PROCESS_UNKNOWN);
    assert_int_equal(exit_status_find(roster, 1, path, how),
                     ENGINE_PROCESS_DYING);
}

/* Its number may be another's, or no file under /proc tells of it. */
static void
fate_of_who_was_never_seen_is_unknown(void **state)
{
    (void)state;
    roster->members[1].is_visible = false;
    assert_int_equal(exit_status_find(roster, 1, path, how),
                     ENGINE_PROCESS_UNKNOWN);
    child_end();
    assert_int_equal(exit_status_find(roster, 1, path, how),
                     ENGINE_PROCESS_UNKNOWN);
    write_line("%u killed by signal 9 (Killed)\n", roster->members[1].pid);
    assert_int_equal(exit_status_find(roster, 1, path, how),
                     ENGINE_PROCESS_UNKNOWN);
}

static void
fate_of_the_dead_is_what_the_launcher_writes(void **state)
{
    const uint32_t pid = roster->members[1].pid;

    (void)state;
    child_end();
    assert_int_equal(exit_status_find(roster, 1, "", how), ENGINE_PROCESS_DEAD);
    assert_string_equal(how, "");
    assert_int_equal(exit_status_find(roster, 1, path, how),
                     ENGINE_PROCESS_DYING);
    write_line("1%u exited with code 4\n", pid);
    write_line("words\n%u", pid);
    assert_int_equal(exit_status_find(roster, 1, path, how),
                     ENGINE_PROCESS_DYING);
    write_line(" exited with\tno code\n%u killed by signal 9 (Killed)\n", pid);
    assert_int_equal(exit_status_find(roster, 1, path, how),
                     ENGINE_PROCESS_DEAD);
    assert_string_equal(how, "exited with");
}

static void
fate_without_the_file_is_awaited(void **state)
{
    (void)state;
    child_end();
    assert_int_equal(exit_status_find(roster, 1, "/nowhere/at/all", how),
                     ENGINE_PROCESS_DYING);
}

#define FAMILY_TEST(name)                                                      \
    cmocka_unit_test_setup_teardown(name, family_open, family_close)

static void
exit_status_find_absent_names_a_rank_of_the_world(void **state)
{
    static const struct {
        const char *text;
        const char *found; /* NULL: none */
    } files[] = {
        {"", NULL},
        {"12 exited with code 0\n", NULL},
        {"12 exited with code 0\nrank 2 ended (exit code 0)\n",
         "rank 2 ended (exit code 0)"},
        {"rank 3 ended (exit code 0)\n", NULL}, /* of no world of three */
        {"rank 3 ended (exit code 0)\nrank 1 ended (killed by signal 9)\n",
         "rank 1 ended (killed by signal 9)"},
        {"rank 2 ended (exit", NULL}, /* is being written */
        {"rank x ended (exit code 0)\n", NULL},
        {"rank 2\033[2Jended\n", "rank 2"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
        char text[LIMIT_NAME] = "";
        FILE *file = fopen(path, "we");

        assert_non_null(file);
        assert_true(fputs(files[i].text, file) >= 0);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(exit_status_find_ended_rank(path, 3, text),
                         files[i].found != NULL);
        if (files[i].found)
            assert_string_equal(text, files[i].found);
    }
    assert_false(exit_status_find_ended_rank("", 3, (char[LIMIT_NAME]){0}));
    assert_false(
        exit_status_find_ended_rank("/nowhere", 3, (char[LIMIT_NAME]){0}));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            exit_status_find_absent_names_a_rank_of_the_world, family_open,
            family_close),
        FAMILY_TEST(fate_of_who_runs_or_stands_is_no_end),
        FAMILY_TEST(fate_of_who_is_elsewhere_is_unknown),
        FAMILY_TEST(fate_of_who_was_never_seen_is_unknown),
        FAMILY_TEST(fate_of_the_dead_is_what_the_launcher_writes),
        FAMILY_TEST(fate_without_the_file_is_awaited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
