/*
 * tests/integration/examples/reshard_test.c - runs reshard as a user would
 *
 * Arguments: hooprun, reshard, dtensor. The test uses real processes and files.
 */

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "integration/program.h"
#include "temporary.h"
#include "words.h"

static const char *hooprun;
static const char *reshard;
static const char *dtensor;

/* The programs get this as $TMPDIR. */
static char directory[TEMPORARY_PATH] = "hoop_reshard_test_XXXXXX";

/* Starts hooprun -n n_ranks reshard with the words of a line. */
static struct program *
run_start(const char *n_ranks, const char *line)
{
    char text[512];
    char *words[PROGRAM_ARGUMENTS_MAX] = {NULL};

    snprintf(text, sizeof(text), "%s", line);
    words_cut(text, words, PROGRAM_ARGUMENTS_MAX - 1);
    return program_start_ranks(hooprun, n_ranks, reshard,
                               (const char *const *)words);
}

static size_t
entries_in(const char *path)
{
    DIR *entries = opendir(path);
    size_t n = 0;

    assert_non_null(entries);
    for (const struct dirent *entry = readdir(entries); entry;
         entry = readdir(entries))
        n += entry->d_name[0] != '.';
    closedir(entries);
    return n;
}

/* The program must succeed, n_hashes hashes must be the same, and no file may
 * be left. */
static void
run_check(const char *n_ranks, const char *line, size_t n_hashes)
{
    struct program *program = run_start(n_ranks, line);
    const int code = program_wait(program);

    if (code != 0 || times_in(program->out.text, "  the same\n") != n_hashes ||
        times_in(program->out.text, "\nsave ") != 1 ||
        times_in(program->out.text, "\nload ") != n_hashes / 2 ||
        times_in(program->out.text, "\nredistribute ") != n_hashes / 2)
        fail_msg("-n %s %s: exit %d: %s%s", n_ranks, line, code,
                 program->err.text, program->out.text);
    assert_string_equal(program->err.text, "");
    program_destroy(program);
    assert_int_equal(entries_in(directory), 0);
}

static void
any_number_of_ranks_has_layouts_that_fit(void **state)
{
    run_check("8", "--size 1M", 4);
    run_check("3", "--size 300K --dtype complex128", 4);
    run_check("1", "--size 1M", 4);
}

/* Tensors have several numbers of dimensions, and the meshes share some, all or
 * none of their ranks. */
static void
any_layout_becomes_any_other(void **state)
{
    run_check("8",
              "--shape 12x10x7 --dtype uint8 --from 2x2@4:S1,R,S0+uneven "
              "--to 4:R,S0,R+uneven --to 2x2x2:S2,S10,R+uneven --to 2@6:R,S0,R "
              "--to 1@5:R,R,R",
              8);
}

/* One element is changed. The hash, the exit code and one line must show it. */
static void
a_hash_that_differs_is_told(void **state)
{
    struct program *program = run_start("3", "--size 64K --damage");

    assert_int_equal(program_wait(program), 1);
    assert_int_equal(times_in(program->out.text, " DIFFERS\n"), 2);
    assert_int_equal(times_in(program->out.text, "  the same\n"), 2);
    assert_int_equal(
        times_in(program->err.text, "reshard: 2 of 4 hashes differ"), 1);
    assert_int_equal(times_in(program->err.text, "reshard: "), 1);
    program_destroy(program);
    assert_int_equal(entries_in(directory), 0);
}

/* Only rank 0 says what is wrong, and only once. All ranks fail. */
static void
what_makes_no_sense_is_told_once(void **state)
{
    static const struct {
        const char *n_ranks;
        const char *line;
        const char *words;
    } cases[] = {
        {"4", "--from 2x4:S0,S1",
         "--from 2x4:S0,S1: the mesh wants ranks 0 to "
         "7, but the world has 4"},
        {"3", "--to 3:S0,R",
         "8192 elements along dim 0 cannot be cut into 3 "
         "equal parts, as S0 wants: choose other axes, or is_uneven (+uneven "
         "behind the layout)"},
        {"2", "--to 2:S0,S0", "axis 0, which is there already"},
        {"2", "--to 2:R,S0 --to 2:R,R,S0",
         "--to 2:R,R,S0: the tensor has 2 dimensions"},
        {"2", "--to two", "--to two: a layout begins with"},
        {"2", "--size 1K --folder /dev/null/x", "choose another with --folder"},
        {"2", "--size 1K --folder /proc", "/proc"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct program *program = run_start(cases[i].n_ranks, cases[i].line);

        if (program_wait(program) != 1 ||
            times_in(program->err.text, cases[i].words) != 1 ||
            times_in(program->err.text, "reshard: ") != 1)
            fail_msg("%s: %s", cases[i].line, program->err.text);
        program_destroy(program);
    }
    assert_int_equal(entries_in(directory), 0);
}

static void
command_line_is_told_of_once(void **state)
{
    struct program *program = run_start("3", "--help");

    assert_int_equal(program_wait(program), 0);
    assert_int_equal(times_in(program->out.text, "Usage: reshard"), 1);
    program_destroy(program);
    program = run_start("3", "--frm 2x4:S0,S1");
    assert_int_equal(program_wait(program), 64);
    assert_int_equal(times_in(program->err.text, "unrecognized option"), 1);
    program_destroy(program);
}

static void
directory_remove(const char *path)
{
    DIR *entries = opendir(path);
    char inside[512];

    assert_non_null(entries);
    for (const struct dirent *entry = readdir(entries); entry;
         entry = readdir(entries)) {
        snprintf(inside, sizeof(inside), "%s/%s", path, entry->d_name);
        unlink(inside);
    }
    closedir(entries);
    assert_int_equal(rmdir(path), 0);
}

/* A folder that was given stays, and takes the next checkpoint. */
static void
folder_that_is_named_stays(void **state)
{
    char folder[sizeof(directory) + 16];
    char line[256];

    snprintf(folder, sizeof(folder), "%s/kept", directory);
    snprintf(line, sizeof(line), "--size 8K --folder %s", folder);
    for (int i = 0; i < 2; i++) {
        struct program *program = run_start("2", line);

        assert_int_equal(program_wait(program), 0);
        assert_non_null(strstr(program->out.text, folder));
        assert_true(entries_in(folder) > 1);
        program_destroy(program);
    }
    directory_remove(folder);
}

static void
temporary_folder_stays_if_asked_for(void **state)
{
    struct program *program = run_start("2", "--size 8K --keep");
    char folder[256] = "";

    assert_int_equal(program_wait(program), 0);
    const char *line = strstr(program->out.text, "The checkpoint is in ");
    assert_non_null(line);
    assert_int_equal(sscanf(line, "The checkpoint is in %255s", folder), 1);
    assert_true(entries_in(folder) > 1);
    program_destroy(program);
    directory_remove(folder);
}

/* docs/tensors.md explains this program. */
static void
dtensor_cuts_and_sums(void **state)
{
    const char *const arguments[] = {hooprun, "--no-prefix", "-n",
                                     "4",     dtensor,       NULL};
    struct program *program = program_start(arguments, NULL);

    if (program_wait(program) != 0 ||
        !strstr(program->out.text, "rank 0 has 256 x 1024, the first is 1\n") ||
        !strstr(program->out.text, "rank 0 has 512 x 512, the first is 2\n"))
        fail_msg("%s%s", program->err.text, program->out.text);
    program_destroy(program);
}

static int
directory_create(void **state)
{
    /* However long ranks take to start, no other messages may appear. */
    if (setenv("HOOP_WAIT_NOTICE", "0", 1) != 0)
        return -1;
    return temporary_folder(directory, sizeof(directory))
               ? setenv("TMPDIR", directory, 1)
               : -1;
}

static int
directory_end(void **state)
{
    return rmdir(directory);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_number_of_ranks_has_layouts_that_fit),
        cmocka_unit_test(any_layout_becomes_any_other),
        cmocka_unit_test(a_hash_that_differs_is_told),
        cmocka_unit_test(what_makes_no_sense_is_told_once),
        cmocka_unit_test(command_line_is_told_of_once),
        cmocka_unit_test(folder_that_is_named_stays),
        cmocka_unit_test(temporary_folder_stays_if_asked_for),
        cmocka_unit_test(dtensor_cuts_and_sums),
    };

    if (argc < 4)
        return EXIT_FAILURE;
    hooprun = argv[1];
    reshard = argv[2];
    dtensor = argv[3];
    return cmocka_run_group_tests(tests, directory_create, directory_end);
}
