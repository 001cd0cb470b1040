/* tests/unit/worker/checkpoint/file_name_test.c - what files are called */

#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "checkpoint/file_reader.h"

static void
file_name_reads_what_it_wrote(void **state)
{
    static const struct file_name names[] = {
        {FILE_NAME_PART, 1, 0, 0},
        {FILE_NAME_PART, INT64_MAX, UINT64_MAX, UINT32_MAX},
        {FILE_NAME_INDEX, 12, 0xabc, 0},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char text[FILE_NAME_ROOM];
        struct file_name again;

        file_name_format(&names[i], text);
        assert_true(file_name_parse(text, &again));
        assert_int_equal(again.kind, names[i].kind);
        assert_int_equal(again.generation, names[i].generation);
        assert_int_equal(again.token, names[i].token);
        assert_int_equal(again.place, names[i].place);
    }
}

static void
file_name_is_as_documented(void **state)
{
    const struct file_name part = {FILE_NAME_PART, 12, 0x0123456789abcdef, 3};
    const struct file_name index = {FILE_NAME_INDEX, 12, 0x0123456789abcdef, 0};
    char text[FILE_NAME_ROOM];

    (void)state;
    file_name_format(&part, text);
    assert_string_equal(text, "hoop-12-0123456789abcdef-3.part");
    file_name_format(&index, text);
    assert_string_equal(text, "hoop-12-0123456789abcdef.index");
}

static void
file_name_of_others_is_left_alone(void **state)
{
    static const char *const texts[] = {
        "",
        "index.json",
        "hoop.lock",
        "hoop-",
        "hoop-1-2-3.part",
        "hoop-01-0123456789abcdef-3.part",
        "hoop-1-0123456789ABCDEF-3.part",
        "hoop-1-0123456789abcdef-3.parts",
        "hoop-1-0123456789abcdef-3.part~",
        "hoop-1-0123456789abcdef-+3.part",
        "hoop-1-0123456789abcdef.part",
        "hoop-1-0123456789abcdef-3.index",
        "hoop--1-0123456789abcdef-3.part",
        "hoop-1-0x23456789abcdef-3.part",
        "hoop-99999999999999999999-0123456789abcdef-3.part",
        "hoop-1-0123456789abcdef-4294967296.part",
        " hoop-1-0123456789abcdef-3.part",
    };
    struct file_name name;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_false(file_name_parse(texts[i], &name));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_name_reads_what_it_wrote),
        cmocka_unit_test(file_name_is_as_documented),
        cmocka_unit_test(file_name_of_others_is_left_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
