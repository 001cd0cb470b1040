/* tests/integration/checkpoint/hoop_checkpoint_test.c - runs hoop-checkpoint */

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "checkpoint/file.h"
#include "checkpoint/folder.h"
#include "integration/checkpoint/checkpoint_case.h"
#include "integration/program.h"

static const char *program_path;
static char path[CASE_PATH];

/* Makes a tensor of 3 x 2 zeros, cut over two ranks. */
static void
save(const char *name)
{
    struct folder folder = FOLDER_CLOSED;
    struct checkpoint_manifest *manifest = NULL;
    enum folder_commit_outcome outcome;

    assert_ok(folder_open(path, &folder));
    assert_ok(manifest_create(1, 2, &manifest));
    assert_ok(manifest_set_tensor_name(manifest, 0, name));
    manifest->tensors[0].shape = (struct hoop_shape){2, {3, 2}};
    manifest->tensors[0].mesh = (struct hoop_mesh_shape){1, {2}};
    manifest->tensors[0].sharding.dims[1] = (struct hoop_axes){1, {0}};
    manifest_set_generation(manifest, 3, 0xabc);
    for (uint32_t i = 0; i < 2; i++) {
        struct file_writer *file_writer = NULL;
        struct written_file written;

        assert_ok(
            file_writer_create(&folder, manifest->files[i].name, &file_writer));
        assert_ok(file_writer_append(file_writer, "\0\0", 3));
        assert_ok(file_writer_pad(file_writer, 64));
        assert_ok(file_writer_sync_and_close(file_writer, &written));
        manifest->files[i].n_bytes = written.n_bytes;
        manifest->files[i].digest = written.digest;
        file_writer_destroy(file_writer);
    }
    assert_ok(folder_commit(&folder, manifest, &outcome));
    manifest_destroy(manifest);
    folder_close(&folder);
}

/* Returns the exit code of the program, whose output must contain words. */
static int
run(const char *option, const char *where, const char *words)
{
    const char *const arguments[] = {program_path, option, where, NULL};
    struct program *program = program_start(arguments, NULL);
    const int code = program_wait(program);

    if (!strstr(program->out.text, words) && !strstr(program->err.text, words))
        fail_msg("\"%s%s\" has no \"%s\"", program->out.text, program->err.text,
                 words);
    program_destroy(program);
    return code;
}

static void
hoop_checkpoint_prints_what_was_saved(void **state)
{
    case_folder_make(path);
    save("a\033name");
    assert_int_equal(
        run("--files", path, "save 3: tensors 1, files 2, bytes 128\n"), 0);
    assert_int_equal(
        run("--files", path, "int8       3x2  [R, S0] on 2  a\\u001bname\n"),
        0);
    assert_int_equal(
        run("-f", path, "hoop-3-0000000000000abc-1.part  bytes 64  xxh3 "), 0);
    assert_int_equal(run("--verify", path, "all files are as"), 0);
    case_folder_remove(path);
}

static void
hoop_checkpoint_says_what_is_damaged(void **state)
{
    char name[CASE_PATH + 64];

    case_folder_make(path);
    assert_int_equal(run("--verify", path, "NOT_FOUND: there is no"), 1);
    save("t");
    snprintf(name, sizeof(name), "%s/hoop-3-0000000000000abc-1.part", path);
    FILE *file = fopen(name, "r+");
    assert_non_null(file);
    fputc('x', file);
    fclose(file);
    assert_int_equal(run("--files", path, "save 3"), 0);
    assert_int_equal(run("--verify", path, "abc-1.part has the digest"), 1);
    case_folder_remove(path);
}

static void
hoop_checkpoint_explains_a_wrong_command_line(void **state)
{
    assert_int_equal(run("--help", "x", "read all files and compare"), 0);
    assert_int_equal(run("--verify", NULL, "which folder?"), 64);
    assert_int_equal(run("a", "b", "one folder"), 64);
    assert_int_equal(run("--wrong", "b", "--wrong"), 64);
}

int
main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hoop_checkpoint_prints_what_was_saved),
        cmocka_unit_test(hoop_checkpoint_says_what_is_damaged),
        cmocka_unit_test(hoop_checkpoint_explains_a_wrong_command_line),
    };

    if (argc < 2)
        return 1;
    program_path = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
