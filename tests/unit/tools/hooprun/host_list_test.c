/* tests/unit/tools/hooprun/host_list_test.c - hooprun/host_list.c */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "hooprun/host_list.h"
#include "temporary.h"

/* "a:4 b:1" */
static void
list_text(const struct host_list *list, char text[static 256])
{
    size_t n = 0;

    text[0] = '\0';
    for (uint32_t i = 0; i < list->n_hosts; i++)
        n += (size_t)snprintf(text + n, 256 - n, "%s%s:%u", i > 0 ? " " : "",
                              list->hosts[i].name, list->hosts[i].n_slots);
}

static void
list_is(const char *text, const char *expected)
{
    struct host_list list = {0};
    char error[HOST_ERROR_BYTES] = "";
    char found[256];

    assert_true(host_list_add(&list, text, error));
    list_text(&list, found);
    assert_string_equal(found, expected);
    host_list_deinit(&list);
}

static void
host_list_has_slots_and_without_them_one(void **state)
{
    (void)state;
    list_is("a:4,b:2", "a:4 b:2");
    list_is("a,b", "a:1 b:1");
    list_is("a,b,a:2", "a:3 b:1");
    list_is("me@a:2,10.0.0.1", "me@a:2 10.0.0.1:1");
}

static void
host_list_takes_ipv6_in_brackets_and_without(void **state)
{
    (void)state;
    list_is("[fd00::1]:4,[fd00::2]", "fd00::1:4 fd00::2:1");
    list_is("me@[fd00::1]:4", "me@fd00::1:4");
    list_is("fd00::1", "fd00::1:1");
}

static void
host_list_refuses_what_is_no_host(void **state)
{
    static const char *const wrong[] = {
        "",     "a,",     "a:",    "a:0",  "a:x",
        "a:-1", "a:4x",   "a b:1", "[a]4", "-oProxy=x",
        "a;b",  "a:5000", "$(a)",  "a\nb", "[fd00::1]:",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct host_list list = {0};
        char error[HOST_ERROR_BYTES] = "";

        assert_false(host_list_add(&list, wrong[i], error));
        assert_non_null(strstr(error, ": "));
        host_list_deinit(&list);
    }
}

static void
host_list_is_filled_from_the_first_on(void **state)
{
    struct host_list list = {0};
    char error[HOST_ERROR_BYTES];
    char found[256];

    (void)state;
    assert_true(host_list_add(&list, "a:4,b:4,c:4", error));
    assert_int_equal(host_list_fill(&list, 0), 12);
    assert_int_equal(host_list_fill(&list, 6), 6);
    list_text(&list, found);
    assert_string_equal(found, "a:4 b:2");
    assert_int_equal(host_list_fill(&list, 7), 6);
    host_list_deinit(&list);
}

static void
host_file_of_open_mpi_and_of_mpich_is_read(void **state)
{
    static const char text[] = "# all of them\n\n  a slots=4 max_slots=8\n"
                               "b:2 # two\nc\n";
    char path[TEMPORARY_PATH] = "host_list.XXXXXX";
    struct host_list list = {0};
    char error[HOST_ERROR_BYTES];
    char found[256];
    const int fd = temporary_file(path, sizeof(path));

    (void)state;
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_true(host_list_read(&list, path, error));
    list_text(&list, found);
    assert_string_equal(found, "a:4 b:2 c:1");
    assert_int_equal(write(fd, "d cores=4\n", 10), 10);
    assert_false(host_list_read(&list, path, error));
    assert_string_equal(error, "'cores=4': a line is HOST, HOST:SLOTS or HOST "
                               "slots=SLOTS");
    close(fd);
    unlink(path);
    assert_false(host_list_read(&list, path, error));
    host_list_deinit(&list);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_list_has_slots_and_without_them_one),
        cmocka_unit_test(host_list_takes_ipv6_in_brackets_and_without),
        cmocka_unit_test(host_list_refuses_what_is_no_host),
        cmocka_unit_test(host_list_is_filled_from_the_first_on),
        cmocka_unit_test(host_file_of_open_mpi_and_of_mpich_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
