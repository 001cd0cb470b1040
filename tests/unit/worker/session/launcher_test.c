/* tests/unit/worker/session/launcher_test.c - rank and size by launchers */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "session/launcher.h"
#include "temporary.h"

/* "A=1 B=2" as an environment. */
static const char *
lookup(void *owner, const char *name)
{
    static char value[32];
    const char *at = owner;
    const size_t n_name = strlen(name);

    while (at && *at) {
        if (strncmp(at, name, n_name) == 0 && at[n_name] == '=') {
            const size_t n_value_bytes = strcspn(at + n_name + 1, " ");

            memcpy(value, at + n_name + 1, n_value_bytes);
            value[n_value_bytes] = '\0';
            return value;
        }
        at = strchr(at, ' ');
        at += at ? 1 : 0;
    }
    return NULL;
}

static void
expect(const char *environment, const char *name, uint32_t rank, uint32_t size)
{
    struct launcher found;

    assert_true(
        launcher_detect(lookup, (void *)(uintptr_t)environment, &found));
    assert_string_equal(found.name, name);
    assert_int_equal(found.rank, rank);
    assert_int_equal(found.size, size);
}

static void
expect_none(const char *environment)
{
    struct launcher found;

    assert_false(
        launcher_detect(lookup, (void *)(uintptr_t)environment, &found));
}

static void
launcher_each_is_known(void **state)
{
    expect("SLURM_PROCID=3 SLURM_NTASKS=4", "Slurm", 3, 4);
    expect("OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1", "Open MPI", 0, 1);
    expect("PMI_RANK=7 PMI_SIZE=64", "PMI", 7, 64);
    expect("RANK=1 WORLD_SIZE=2", "torchrun", 1, 2);
    expect("PMI_SIZE=65536 PMI_RANK=65535", "PMI", 65535, 65536);
    /* For the caller to refuse. */
    expect("RANK=4 WORLD_SIZE=4", "torchrun", 4, 4);
}

static void
launcher_innermost_wins(void **state)
{
    expect("SLURM_PROCID=0 SLURM_NTASKS=2 PMI_RANK=1 PMI_SIZE=4", "PMI", 1, 4);
    expect("PMI_RANK=1 PMI_SIZE=4 OMPI_COMM_WORLD_RANK=2 "
           "OMPI_COMM_WORLD_SIZE=3",
           "Open MPI", 2, 3);
    expect("SLURM_PROCID=0 SLURM_NTASKS=2 RANK=5 WORLD_SIZE=8", "torchrun", 5,
           8);
}

static void
launcher_half_or_wrong_is_passed_over(void **state)
{
    expect_none("");
    expect_none("RANK=1");
    expect_none("WORLD_SIZE=4");
    expect_none("RANK=-1 WORLD_SIZE=4");
    expect_none("RANK=+1 WORLD_SIZE=4");
    expect_none("RANK=1x WORLD_SIZE=4");
    expect_none("RANK= WORLD_SIZE=4");
    expect_none("RANK=0 WORLD_SIZE=65537");
    expect_none("RANK=0 WORLD_SIZE=99999999999999999999");
    expect("RANK=x WORLD_SIZE=4 PMI_RANK=1 PMI_SIZE=4", "PMI", 1, 4);
}

static void
launcher_tells_the_number_on_the_host(void **state)
{
    const struct {
        const char *environment;
        uint32_t local_rank;
    } rows[] = {
        {"LOCAL_RANK=3 SLURM_LOCALID=0", 3},
        {"OMPI_COMM_WORLD_LOCAL_RANK=8", 8},
        {"MPI_LOCALRANKID=1", 1},
        {"LOCAL_RANK=x SLURM_LOCALID=5", 5},
    };
    uint32_t found;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        void *environment = (void *)(uintptr_t)rows[i].environment;

        assert_true(launcher_local_rank(lookup, environment, &found));
        assert_int_equal(found, rows[i].local_rank);
    }
    assert_false(
        launcher_local_rank(lookup, (void *)(uintptr_t) "RANK=1", &found));
}

static struct roster *roster;
static char path[TEMPORARY_PATH] = "hoop-endings-XXXXXX";
static char how[LIMIT_NAME];

/* This is rank 0, the child rank 1, and rank 2 is elsewhere. */
static int
family_open(void **state)
{
    assert_ok(roster_create(3, &roster));
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

    assert_int_equal(launcher_rank_process_status(roster, 1, path, how),
                     ENGINE_PROCESS_ALIVE);
    kill((pid_t)roster->members[1].pid, SIGSTOP);
    waitpid((pid_t)roster->members[1].pid, &status, WUNTRACED);
    assert_int_equal(launcher_rank_process_status(roster, 1, path, how),
                     ENGINE_PROCESS_UNKNOWN);
}

static void
fate_of_who_is_elsewhere_is_unknown(void **state)
{
    child_end();
    assert_int_equal(launcher_rank_process_status(roster, 2, path, how),
                     ENGINE_PROCESS_UNKNOWN);
    assert_int_equal(launcher_rank_process_status(roster, 0, path, how),
                     ENGINE_PROCESS_UNKNOWN);
    /* HOOP_NODE: several nodes on one host, as a launcher of all knows. */
    strcpy(roster->members[1].host_id, "here/1");
    assert_int_equal(launcher_rank_process_status(roster, 1, "", how),
                     ENGINE_PROCESS_UNKNOWN);
    assert_int_equal(launcher_rank_process_status(roster, 1, path, how),
                     ENGINE_PROCESS_DYING);
}

/* Its number may be another's, or no file under /proc tells of it. */
static void
fate_of_who_was_never_seen_is_unknown(void **state)
{
    roster->members[1].is_visible = false;
    assert_int_equal(launcher_rank_process_status(roster, 1, path, how),
                     ENGINE_PROCESS_UNKNOWN);
    child_end();
    assert_int_equal(launcher_rank_process_status(roster, 1, path, how),
                     ENGINE_PROCESS_UNKNOWN);
    write_line("%u killed by signal 9 (Killed)\n", roster->members[1].pid);
    assert_int_equal(launcher_rank_process_status(roster, 1, path, how),
                     ENGINE_PROCESS_UNKNOWN);
}

static void
fate_of_the_dead_is_what_the_launcher_writes(void **state)
{
    const uint32_t pid = roster->members[1].pid;

    child_end();
    assert_int_equal(launcher_rank_process_status(roster, 1, "", how),
                     ENGINE_PROCESS_DEAD);
    assert_string_equal(how, "");
    assert_int_equal(launcher_rank_process_status(roster, 1, path, how),
                     ENGINE_PROCESS_DYING);
    write_line("1%u exited with code 4\n", pid);
    write_line("words\n%u", pid);
    assert_int_equal(launcher_rank_process_status(roster, 1, path, how),
                     ENGINE_PROCESS_DYING);
    write_line(" exited with\tno code\n%u killed by signal 9 (Killed)\n", pid);
    assert_int_equal(launcher_rank_process_status(roster, 1, path, how),
                     ENGINE_PROCESS_DEAD);
    assert_string_equal(how, "exited with");
}

static void
fate_without_the_file_is_awaited(void **state)
{
    child_end();
    assert_int_equal(
        launcher_rank_process_status(roster, 1, "/nowhere/at/all", how),
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
        cmocka_unit_test(launcher_each_is_known),
        cmocka_unit_test(launcher_innermost_wins),
        cmocka_unit_test(launcher_half_or_wrong_is_passed_over),
        cmocka_unit_test(launcher_tells_the_number_on_the_host),
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
