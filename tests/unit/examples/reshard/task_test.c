/* tests/unit/examples/reshard/task_test.c - reshard/task.c and the files
 * beside it */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "alone.h"
#include "check.h"
#include "reshard/folder.h"
#include "reshard/options.h"
#include "reshard/problem.h"
#include "reshard/table.h"
#include "reshard/task.h"
#include "temporary.h"
#include "words.h"

enum {
    WORDS_MAX = 32,
    LINE_MAX_BYTES = 512,
};

static struct options
line_parse(const char *line)
{
    static char text[LINE_MAX_BYTES];
    char *words[WORDS_MAX] = {(char *)"reshard"};
    struct options options;

    assert_true(strlen(line) < sizeof(text));
    strcpy(text, line);
    const size_t n_words = words_cut(text, words + 1, WORDS_MAX - 1);
    options_parse((int)n_words + 1, words, &options);
    return options;
}

static struct task
task_of(const char *line, uint32_t n_ranks)
{
    const struct options options = line_parse(line);
    struct problem problem;
    struct task task = {0};

    if (!task_make(&options, n_ranks, &task, &problem))
        fail_msg("%s: %s", line, problem.text);
    return task;
}

static void
shape_check(const char *line, struct hoop_shape shape)
{
    const struct task task = task_of(line, 8);

    if (!hoop_shape_equal(&task.shape, &shape))
        fail_msg("%s: %zu x %zu", line, task.shape.dims[0], task.shape.dims[1]);
}

static void
options_without_any_reshard_256_mib_on_all_ranks(void **state)
{
    static const struct {
        uint32_t n_ranks;
        const char *words[3];
    } cases[] = {
        {8, {"2x4 [S0, S1]", "4x2 [S01, R]", "3 [S0, R] uneven"}},
        {1, {"1x1 [S0, S1]", "1x1 [S01, R]", "1 [S0, R]"}},
        {2, {"1x2 [S0, S1]", "2x1 [S01, R]", "1 [S0, R]"}},
        {3, {"1x3 [S0, S1] uneven", "3x1 [S01, R] uneven", "2 [S0, R]"}},
        {12,
         {"3x4 [S0, S1] uneven", "4x3 [S01, R] uneven", "3 [S0, R] uneven"}},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct task task = task_of("", cases[i].n_ranks);

        assert_int_equal(task_n_bytes(&task), 256 << 20);
        assert_int_equal(task.dtype, HOOP_FLOAT32);
        assert_int_equal(task.n_to, 2);
        assert_string_equal(layout_describe(&task.from).text,
                            cases[i].words[0]);
        assert_string_equal(layout_describe(&task.to[0]).text,
                            cases[i].words[1]);
        assert_string_equal(layout_describe(&task.to[1]).text,
                            cases[i].words[2]);
    }
}

static void
size_becomes_whole_rows(void **state)
{
    shape_check("--size 256M", (struct hoop_shape){2, {8192, 8192}});
    shape_check("--size 1000 --dtype uint8", (struct hoop_shape){2, {62, 16}});
    shape_check("--size 512M --dtype complex64",
                (struct hoop_shape){2, {8192, 8192}});
    shape_check("--size 256M --from 8:S0,R,R",
                (struct hoop_shape){3, {512, 512, 256}});
    shape_check("--size 100K --from 8:S0 --to 4x2:S10",
                (struct hoop_shape){1, {25600}});
    shape_check("--size 4 --from 1:R,R --to 1:R,R",
                (struct hoop_shape){2, {1, 1}});
    shape_check("--shape 8x16x4 --dtype bool",
                (struct hoop_shape){3, {8, 16, 4}});
}

/* What is not said has as many dimensions as what is. */
static void
layouts_not_said_follow_those_that_are(void **state)
{
    struct task task = task_of("--to 4x2:S0,R,S1 --to 8:R,S0,R", 8);

    assert_string_equal(layout_describe(&task.from).text, "2x4 [S0, S1, R]");
    assert_int_equal(task.n_to, 2);
    task = task_of("--from 2x2@4:S0", 8);
    assert_string_equal(layout_describe(&task.to[0]).text, "4x2 [S01]");
    assert_string_equal(layout_describe(&task.to[1]).text, "3 [S0] uneven");
    task = task_of("--shape 100", 8);
    assert_string_equal(layout_describe(&task.from).text, "2x4 [S01] uneven");
}

static void
options_that_make_no_sense_say_why(void **state)
{
    static const struct {
        const char *line;
        const char *words;
    } cases[] = {
        {"--from 3x3:R,R", "--from 3x3:R,R: the mesh wants ranks 0 to 8, but "
                           "the world has 8"},
        {"--to 4x4:R,R", "--to 4x4:R,R: the mesh wants"},
        {"--to 8:S0,R --to 8:S1,R", "--to 8:S1,R: dim 0 names axis 1, but"},
        {"--from 2x4", "--from 2x4: a layout begins"},
        {"--to 8:R,X", "--to 8:R,X: \"X\" is no placement"},
        {"--to 3:S0,R", "--to 3:S0,R: 8192 elements along dim 0 cannot be cut "
                        "into 3 equal"},
        {"--shape 8x8 --to 8:S0", "--to 8:S0: the tensor has 2 dimensions"},
        {"--from 8:S0,R,R --to 8:S0,R",
         "--to 8:S0,R: the tensor has 3 dimensions"},
        {"--size 0", "--size 0: bytes are expected"},
        {"--size 3", "--size 3: bytes are expected"},
        {"--size lots", "--size lots: bytes are expected"},
        {"--size 2048G", "--size 2048G: bytes are expected"},
        {"--shape 8x", "--shape 8x: sizes from 1 on"},
        {"--shape 8x8 --size 256", "not both"},
        {"--shape 1048576x1048576", "more than 2^40 bytes"},
        {"--shape 1048576x1048576x1048576x1048576 --from 8:R,R,R,R", "2^63"},
        {"--dtype float", "--dtype float: there is none of that name"},
        {"--dtype unknown", "--dtype unknown: there is none of that name"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct options options = line_parse(cases[i].line);
        struct problem problem = {""};
        struct task task;

        if (task_make(&options, 8, &task, &problem) ||
            !strstr(problem.text, cases[i].words))
            fail_msg("%s: %s", cases[i].line, problem.text);
    }
}

static void
options_say_where_and_whether_to_keep(void **state)
{
    const struct options options = line_parse("--folder /x --keep --damage");
    const struct options none = line_parse("");

    assert_string_equal(options.folder, "/x");
    assert_true(options.is_kept && options.is_damaged);
    assert_null(none.folder);
    assert_false(none.is_kept || none.is_damaged);
}

/* These cases test reshard/problem.c. */

static void
problem_that_is_too_long_is_cut(void **state)
{
    struct problem problem;

    assert_false(problem_say(&problem, "%s %d", "ranks:", 3));
    assert_string_equal(problem.text, "ranks: 3");
    assert_false(problem_say(&problem, "%0600d", 7));
    assert_int_equal(strlen(problem.text), sizeof(problem.text) - 1);
}

/* These cases test reshard/table.c. */

static void
table_rows_stand_below_their_columns(void **state)
{
    static const struct table_row rows[] = {
        {"save", "2x4 [S0, S1]", (uint64_t)1 << 28, 500000000, "ab"},
        {"redistribute", "3 [S0, R] uneven", 0, 1000, "the same"},
    };
    char *text = NULL;
    size_t n_bytes = 0;
    FILE *file = open_memstream(&text, &n_bytes);

    assert_non_null(file);
    table_begin(file);
    table_add(&rows[0], file);
    table_add(&rows[1], file);
    fclose(file);
    assert_string_equal(
        text,
        "part          layout                         bytes    seconds     "
        "GB/s  hash\n"
        "save          2x4 [S0, S1]                 256 MiB     0.5000    "
        "0.537  ab\n"
        "redistribute  3 [S0, R] uneven                 0 B     0.0000    "
        "    -  the same\n");
    free(text);
}

/* These cases test reshard/folder.c. */

static int
folder_exists(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static void
folder_without_a_name_is_new_and_removed_with_all_in_it(void **state)
{
    char inside[FOLDER_PATH_BYTES + 8];
    struct folder folder = {0};
    struct folder other = {0};

    assert_ok(folder_open(NULL, alone_comm(state), &folder));
    assert_ok(folder_open(NULL, alone_comm(state), &other));
    assert_true(folder_exists(folder.path));
    assert_string_not_equal(folder.path, other.path);
    snprintf(inside, sizeof(inside), "%s/index", folder.path);
    const int file = open(inside, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    close(file);
    folder_remove(&folder);
    folder_remove(&other);
    assert_false(folder_exists(folder.path));
    assert_false(folder_exists(other.path));
}

static void
folder_with_a_name_is_made_once_and_stays(void **state)
{
    char path[TEMPORARY_PATH] = "hoop_folder_test_XXXXXX";
    struct folder folder = {0};

    assert_non_null(temporary_folder(path, sizeof(path)));
    assert_int_equal(rmdir(path), 0);
    for (int i = 0; i < 2; i++) {
        assert_ok(folder_open(path, alone_comm(state), &folder));
        assert_string_equal(folder.path, path);
        folder_remove(&folder);
        assert_true(folder_exists(path));
    }
    assert_int_equal(rmdir(path), 0);
}

static void
folder_that_cannot_be_is_refused(void **state)
{
    static char path[2 * FOLDER_PATH_BYTES];
    struct folder folder = {0};

    memset(path, 'a', sizeof(path) - 1);
    assert_int_equal(folder_open(path, alone_comm(state), &folder),
                     HOOP_E_UNAVAILABLE);
    assert_int_equal(folder_open("/dev/null/x", alone_comm(state), &folder),
                     HOOP_E_UNAVAILABLE);
    assert_string_equal(folder.path, "");
    folder_remove(&folder);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_without_any_reshard_256_mib_on_all_ranks),
        cmocka_unit_test(size_becomes_whole_rows),
        cmocka_unit_test(layouts_not_said_follow_those_that_are),
        cmocka_unit_test(options_that_make_no_sense_say_why),
        cmocka_unit_test(options_say_where_and_whether_to_keep),
        cmocka_unit_test(problem_that_is_too_long_is_cut),
        cmocka_unit_test(table_rows_stand_below_their_columns),
        cmocka_unit_test(
            folder_without_a_name_is_new_and_removed_with_all_in_it),
        cmocka_unit_test(folder_with_a_name_is_made_once_and_stays),
        cmocka_unit_test(folder_that_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, alone_setup, alone_teardown);
}
