/*
 * tests/integration/tools/full_output_test.c - output that cannot be written
 *
 * The arguments are the paths of the programs. hooprun is the first.
 */

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "integration/program.h"

static char **programs;

/* Runs a shell command in which $0 is the program. */
static struct program *
shell_start(const char *command, const char *program)
{
    const char *const arguments[] = {"/bin/sh", "-c", command, program, NULL};

    return program_start(arguments, NULL);
}

static void
assert_fails(const char *command, const char *path)
{
    struct program *program = shell_start(command, path);
    const int code = program_wait(program);

    if (code != EXIT_FAILURE ||
        !strstr(program->err.text, "cannot write standard output"))
        fail_msg("%s: %s: code %d, err '%s'", path, command, code,
                 program->err.text);
    program_destroy(program);
}

static void
tools_without_room_for_their_output_fail(void **state)
{
    for (size_t i = 0; programs[i]; i++) {
        assert_fails("exec \"$0\" --help >/dev/full", programs[i]);
        assert_fails("exec \"$0\" --version >/dev/full", programs[i]);
    }
}

/* Runs a program with one short option, which must end it with code 0. */
static struct program *
short_option_run(const char *path, const char *option)
{
    const char *const arguments[] = {path, option, NULL};
    struct program *program = program_start(arguments, NULL);
    const int code = program_wait(program);

    if (code != 0 || program->err.text[0])
        fail_msg("%s %s: code %d, err '%s'", path, option, code,
                 program->err.text);
    return program;
}

static void
tools_know_short_options_for_help_and_version(void **state)
{
    for (size_t i = 0; programs[i]; i++) {
        const char *slash = strrchr(programs[i], '/');
        const char *name = slash ? slash + 1 : programs[i];
        struct program *program = short_option_run(programs[i], "-h");

        assert_non_null(strstr(program->out.text, "Usage: "));
        program_destroy(program);
        assert_fails("exec \"$0\" -h >/dev/full", programs[i]);
        /* In hoop-checkpoint, -v means verify. */
        if (strcmp(name, "hoop-checkpoint") == 0)
            continue;
        program = short_option_run(programs[i], "-v");
        assert_int_equal(strncmp(program->out.text, name, strlen(name)), 0);
        assert_non_null(strchr(program->out.text, '.'));
        program_destroy(program);
        assert_fails("exec \"$0\" -v >/dev/full", programs[i]);
    }
}

static void
tools_with_a_closed_output_fail(void **state)
{
    for (size_t i = 0; programs[i]; i++)
        assert_fails("exec \"$0\" --help >&-", programs[i]);
}

static void
hooprun_lines_that_cannot_be_written_are_a_failure(void **state)
{
    assert_fails("exec \"$0\" -n 2 echo line >/dev/full", programs[0]);
    assert_fails("exec \"$0\" -n 2 echo line >&-", programs[0]);
    assert_fails("exec \"$0\" --settings >/dev/full", programs[0]);
}

/* The error appears once, however many lines there are. */
static void
hooprun_tells_once_that_it_cannot_write(void **state)
{
    struct program *program =
        shell_start("exec \"$0\" -n 2 seq 100 >/dev/full", programs[0]);

    *state = program;
    assert_int_equal(program_wait(program), EXIT_FAILURE);
    assert_string_equal(program->err.text,
                        "hooprun: cannot write standard output: "
                        "No space left on device\n");
}

static void
hooprun_keeps_the_code_of_a_worker_whose_lines_are_lost(void **state)
{
    struct program *program = shell_start(
        "exec \"$0\" -n 2 sh -c 'echo line; exit 3' >/dev/full", programs[0]);

    *state = program;
    assert_int_equal(program_wait(program), 3);
}

static void
hooprun_without_standard_error_fails(void **state)
{
    struct program *program = shell_start(
        "exec \"$0\" -n 2 sh -c 'echo line >&2' 2>/dev/full", programs[0]);

    *state = program;
    assert_int_equal(program_wait(program), EXIT_FAILURE);
}

/* The file of each rank has its output line by line, and nothing else. */
static void
hooprun_writes_a_file_for_each_rank(void **state)
{
    static const char command[] =
        "d=$(mktemp -d) && echo old > $d/rank0.log && "
        "\"$0\" -n 2 --output $d sh -c 'echo out $RANK; echo err $RANK >&2; "
        "printf half' >$d/all 2>&1 && sort $d/rank0.log && "
        "sort $d/rank1.log && sort $d/all; rm -r $d";
    struct program *program = shell_start(command, programs[0]);

    *state = program;
    assert_int_equal(program_wait(program), 0);
    assert_string_equal(program->out.text, "err 0\nhalf\nout 0\n"
                                           "err 1\nhalf\nout 1\n"
                                           "[0] err 0\n[0] half\n[0] out 0\n"
                                           "[1] err 1\n[1] half\n[1] out 1\n");
}

static void
hooprun_makes_the_folder_of_its_files(void **state)
{
    struct program *program = shell_start(
        "d=$(mktemp -d) && \"$0\" -n 1 --output $d/new echo line && "
        "cat $d/new/rank0.log; rm -r $d",
        programs[0]);

    *state = program;
    assert_int_equal(program_wait(program), 0);
    assert_string_equal(program->out.text, "[0] line\nline\n");
}

/* hooprun fails before it starts any worker. */
static void
hooprun_without_its_files_does_not_begin(void **state)
{
    struct program *program = shell_start(
        "exec \"$0\" -n 2 --output /proc/none echo line", programs[0]);

    *state = program;
    assert_int_equal(program_wait(program), EXIT_FAILURE);
    assert_string_equal(program->out.text, "");
    assert_non_null(strstr(program->err.text, "/proc/none"));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(tools_without_room_for_their_output_fail),
    cmocka_unit_test(tools_know_short_options_for_help_and_version),
    cmocka_unit_test(tools_with_a_closed_output_fail),
    cmocka_unit_test(hooprun_lines_that_cannot_be_written_are_a_failure),
    cmocka_unit_test_teardown(hooprun_tells_once_that_it_cannot_write,
                              program_teardown),
    cmocka_unit_test_teardown(
        hooprun_keeps_the_code_of_a_worker_whose_lines_are_lost,
        program_teardown),
    cmocka_unit_test_teardown(hooprun_writes_a_file_for_each_rank,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_makes_the_folder_of_its_files,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_without_its_files_does_not_begin,
                              program_teardown),
    cmocka_unit_test_teardown(hooprun_without_standard_error_fails,
                              program_teardown),
};

int
main(int argc, char **argv)
{
    if (argc < 2)
        return EXIT_FAILURE;
    programs = argv + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
