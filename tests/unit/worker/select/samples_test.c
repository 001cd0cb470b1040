/* tests/unit/worker/select/samples_test.c - select/samples.c */

#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "select/samples.h"
#include "temporary.h"

static enum hoop_status
parse(const char *text, struct samples **out_samples)
{
    return samples_parse("times", text, strlen(text), out_samples);
}

static void
lines_become_samples_in_order(void **state)
{
    static const char text[] =
        "# ranks nodes collective bytes algorithm=ns ...\n"
        "\n"
        "4 2 broadcast 4096 chain=7\n"
        "  2 1  allreduce\t64 ring=885000   recursive_doubling=1\r\n"
        "2 1 allreduce 8 ring=3";
    struct samples *samples = NULL;

    (void)state;
    assert_int_equal(parse(text, &samples), HOOP_OK);
    assert_int_equal(samples->n, 3);
    assert_int_equal(samples->all[0].n_bytes, 8);
    assert_int_equal(samples->all[1].n_ranks, 2);
    assert_int_equal(samples->all[1].n_nodes, 1);
    assert_int_equal(samples->all[1].collective, COLLECTIVE_ALLREDUCE);
    assert_int_equal(samples->all[1].n_bytes, 64);
    assert_int_equal(samples->all[1].ns[0], 885000);
    assert_int_equal(samples->all[1].ns[1], 1);
    assert_int_equal(samples->all[1].ns[2], 0);
    assert_int_equal(samples->all[2].n_nodes, 2);
    assert_string_equal(samples->text, text);
    samples_destroy(samples);
    samples_destroy(NULL);
}

static void
nothing_is_no_sample(void **state)
{
    struct samples *samples = NULL;

    (void)state;
    assert_int_equal(parse("", &samples), HOOP_OK);
    assert_int_equal(samples->n, 0);
    samples_destroy(samples);
}

static void
bad_lines_are_refused_with_their_place(void **state)
{
    static const struct {
        const char *text;
        const char *why;
    } cases[] = {
        {"allreduce 8 ring=1", "times:1: a line begins with a number"},
        {"\n0 1 allreduce 8", "times:2: a line begins with a number"},
        {"65537 1 allreduce 8", "a line begins with a number"},
        {"2 3 allreduce 8", "not '2 3'"},
        {"2 1", "no collective ''"},
        {"2 1 gossip 8", "no collective 'gossip'"},
        {"2 1 allreduce", "'' is no number of bytes"},
        {"2 1 allreduce 8K ring=1", "'8K' is no number of bytes"},
        {"2 1 allreduce 18446744073709551617", "no number of bytes"},
        {"2 1 allreduce 8 ring", "'ring' is not of the form"},
        {"2 1 allreduce 8 ring=", "is not of the form algorithm=ns"},
        {"2 1 allreduce 8 ring=0", "is not of the form algorithm=ns"},
        {"2 1 allreduce 8 ring=1.5", "is not of the form algorithm=ns"},
        {"2 1 allreduce 8 ring=-1", "is not of the form algorithm=ns"},
        {"2 1 allreduce 8 ring=9999999999999", "is not of the form"},
        {"2 1 allreduce 8 rung=1", "no algorithm 'rung' for allreduce"},
        {"2 1 allreduce 8 ring=1 ring=2", "ring is said twice"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct samples *samples = NULL;

        assert_int_equal(parse(cases[i].text, &samples), HOOP_E_INVALID);
        assert_non_null(strstr(error_text(), cases[i].why));
        assert_null(samples);
    }
}

static void
what_is_no_text_is_refused(void **state)
{
    static char much[LIMIT_RACES + 1];
    struct samples *samples = NULL;

    (void)state;
    assert_int_equal(samples_parse("times", "2\0 1", 4, &samples),
                     HOOP_E_INVALID);
    memset(much, ' ', sizeof(much));
    assert_int_equal(samples_parse("times", much, 1024, &samples),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "times:1: longer than 1023 bytes"));
    memset(much, '\n', sizeof(much));
    assert_int_equal(samples_parse("times", much, sizeof(much), &samples),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "times: more than 1048576 bytes"));
    assert_int_equal(samples_parse("times", much, LIMIT_RACES, &samples),
                     HOOP_OK);
    samples_destroy(samples);
}

static void
files_are_read_or_named(void **state)
{
    char path[TEMPORARY_PATH] = "hoop-races-XXXXXX";
    const int fd = temporary_file(path, sizeof(path));
    struct samples *samples = NULL;

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "2 1 scan 8 chain=5\nnonsense\n", 19), 19);
    assert_int_equal(samples_read(path, &samples), HOOP_OK);
    assert_int_equal(samples->n, 1);
    samples_destroy(STEAL(samples));
    assert_int_equal(write(fd, "nonsense", 8), 8);
    assert_int_equal(samples_read(path, &samples), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), path));
    assert_non_null(strstr(error_text(), ":2: "));
    close(fd);
    unlink(path);
    assert_int_equal(samples_read(path, &samples), HOOP_E_NOT_FOUND);
    assert_int_equal(samples_read("/", &samples), HOOP_E_NOT_FOUND);
    assert_null(samples);
}

/* Or a line could not say them all. */
static void
every_algorithm_has_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < COLLECTIVE_KINDS; i++) {
        size_t n_entries;

        registry_collective_entries((enum collective_kind)i, &n_entries);
        assert_in_range(n_entries, 0, SAMPLE_ENTRIES_MAX);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_become_samples_in_order),
        cmocka_unit_test(nothing_is_no_sample),
        cmocka_unit_test(bad_lines_are_refused_with_their_place),
        cmocka_unit_test(what_is_no_text_is_refused),
        cmocka_unit_test(files_are_read_or_named),
        cmocka_unit_test(every_algorithm_has_its_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
