/* tests/unit/common/base/token_file_test.c - base/private_file.c */

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "base/private_file.h"
#include "check.h"
#include "temporary.h"

static char path[TEMPORARY_PATH] = "hoop-token-XXXXXX";

static int
file_create(void **state)
{
    const int fd = temporary_file(path, sizeof(path));

    return fd < 0 ? -1 : close(fd);
}

static int
file_remove(void **state)
{
    return unlink(path);
}

static enum hoop_status
read_back(const char *bytes, size_t n_bytes, char *out_token)
{
    FILE *stream = fopen(path, "we");

    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, n_bytes, stream), n_bytes);
    assert_int_equal(fclose(stream), 0);
    return token_file_read(path, LIMIT_TOKEN, out_token);
}

static void
token_file_newline_and_blanks_do_not_count(void **state)
{
    char token[LIMIT_TOKEN];

    assert_ok(read_back("secret", 6, token));
    assert_string_equal(token, "secret");
    assert_ok(read_back(" two words\r\n\n", 13, token));
    assert_string_equal(token, "two words");
}

/* A freed buffer is given to who asks for as much next, by most allocators. */
static void
token_file_leaves_no_copy_in_freed_memory(void **state)
{
    enum {
        STDIO_BYTES = 4096,
    };
    static const char text[] =
        "                                                            "
        "spring-tide\n";
    char token[LIMIT_TOKEN];
    const int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);
    assert_ok(token_file_read(path, sizeof(token), token));
    assert_string_equal(token, "spring-tide");
    char *freed = malloc(STDIO_BYTES);
    __asm__ volatile("" : "+r"(freed) : : "memory"); /* as if written */
    assert_null(memmem(freed, STDIO_BYTES, "ring-tide", 9));
    free(freed);
}

static void
token_file_empty_is_refused(void **state)
{
    char token[LIMIT_TOKEN];

    assert_int_equal(read_back("", 0, token), HOOP_E_INVALID);
    assert_int_equal(read_back(" \n\n", 3, token), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "is empty"));
}

static void
token_file_several_lines_or_binary_are_refused(void **state)
{
    char token[LIMIT_TOKEN];

    assert_int_equal(read_back("one\ntwo", 7, token), HOOP_E_INVALID);
    assert_int_equal(read_back("one\0two", 7, token), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "not one line"));
    assert_null(strstr(error_text(), "two"));
}

static void
token_file_long_is_refused(void **state)
{
    char text[8 * LIMIT_TOKEN];
    char token[LIMIT_TOKEN];

    memset(text, 'x', sizeof(text));
    assert_ok(read_back(text, LIMIT_TOKEN - 1, token));
    assert_int_equal(strlen(token), LIMIT_TOKEN - 1);
    assert_int_equal(read_back(text, LIMIT_TOKEN, token), HOOP_E_INVALID);
    assert_int_equal(read_back(text, sizeof(text), token), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "more than 255 bytes"));

    /* Blanks behind the room that is read could hide more. */
    memset(text + 3, ' ', sizeof(text) - 3);
    assert_int_equal(read_back(text, sizeof(text), token), HOOP_E_INVALID);
}

static void
token_file_missing_is_named(void **state)
{
    char token[LIMIT_TOKEN];

    assert_int_equal(token_file_read("/nowhere/token", LIMIT_TOKEN, token),
                     HOOP_E_NOT_FOUND);
    assert_non_null(strstr(error_text(), "/nowhere/token"));
    assert_int_equal(token_file_read("/", LIMIT_TOKEN, token),
                     HOOP_E_NOT_FOUND);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_file_newline_and_blanks_do_not_count),
        cmocka_unit_test(token_file_leaves_no_copy_in_freed_memory),
        cmocka_unit_test(token_file_empty_is_refused),
        cmocka_unit_test(token_file_several_lines_or_binary_are_refused),
        cmocka_unit_test(token_file_long_is_refused),
        cmocka_unit_test(token_file_missing_is_named),
    };

    return cmocka_run_group_tests(tests, file_create, file_remove);
}
