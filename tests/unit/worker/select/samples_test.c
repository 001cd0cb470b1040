/* tests/unit/worker/select/samples_test.c - select/samples.c */

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
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

    assert_ok(parse(text, &samples));
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

    assert_ok(parse("", &samples));
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
    static char much[LIMIT_SAMPLE_FILE_BYTES + 1];
    struct samples *samples = NULL;

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
    assert_ok(samples_parse("times", much, LIMIT_SAMPLE_FILE_BYTES, &samples));
    samples_destroy(samples);
}

static void
files_are_read_or_named(void **state)
{
    char path[TEMPORARY_PATH] = "hoop-races-XXXXXX";
    const int fd = temporary_file(path, sizeof(path));
    struct samples *samples = NULL;

    assert_true(fd >= 0);
    assert_int_equal(write(fd, "2 1 scan 8 chain=5\nnonsense\n", 19), 19);
    assert_ok(samples_read(path, &samples));
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
    for (size_t i = 0; i < COLLECTIVE_KINDS; i++) {
        size_t n_entries;

        registry_collective_entries((enum collective_kind)i, &n_entries);
        assert_in_range(n_entries, 0, SAMPLE_ENTRIES_MAX);
    }
}

static const char text[] = "2 1 allreduce 64 ring=1 recursive_doubling=9\n";

static char folder[TEMPORARY_PATH] = "hoop-race-store-XXXXXX";

static int
folder_make(void **state)
{
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    if (!temporary_folder(folder, sizeof(folder)))
        return -1;
    return setenv("XDG_CACHE_HOME", folder, 1);
}

static char *
path_of(const char *transport)
{
    char *path = NULL;

    assert_ok(sample_store_path(transport, &path));
    return path;
}

static void
path_tells_machine_and_transport(void **state)
{
    CLEANUP(free) char *one = path_of("tcp");
    CLEANUP(free) char *same = path_of("tcp");
    CLEANUP(free) char *other = path_of("shm");
    char *path = NULL;

    assert_string_equal(one, same);
    assert_string_not_equal(one, other);
    assert_ptr_equal(strstr(one, folder), one);
    assert_non_null(strstr(one, "/hoop/tuning-"));
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", folder, 1);
    path = path_of("tcp");
    assert_non_null(strstr(path, "/.cache/hoop/tuning-"));
    free(path);
    unsetenv("HOME");
    path = NULL;
    assert_int_equal(sample_store_path("tcp", &path), HOOP_E_NOT_FOUND);
    assert_non_null(strstr(error_text(), "XDG_CACHE_HOME"));
    assert_null(path);
    assert_int_equal(rmdir(folder), 0);
}

/* And nothing is left beside it. */
static void
what_is_written_is_read_and_replaced(void **state)
{
    CLEANUP(free) char *path = path_of("tcp");
    char parent[192];

    assert_null(sample_store_read(path));
    for (size_t n = 1; n <= 2; n++) {
        char all[2 * sizeof(text)] = "";

        for (size_t i = 0; i < n; i++)
            strcat(all, text);
        assert_ok(sample_store_write(path, all, strlen(all)));
        struct samples *samples = sample_store_read(path);
        assert_non_null(samples);
        assert_int_equal(samples->n, n);
        samples_destroy(samples);
    }
    assert_int_equal(unlink(path), 0);
    snprintf(parent, sizeof(parent), "%s/hoop", folder);
    assert_int_equal(rmdir(parent), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void
nonsense_is_none_and_no_folder_is_told(void **state)
{
    CLEANUP(free) char *path = path_of("tcp");
    CLEANUP(free) char *below = NULL;
    char parent[192];

    assert_ok(sample_store_write(path, "2 1 gossip 8 x=1\n", 17));
    assert_null(sample_store_read(path));
    assert_true(asprintf(&below, "%s/file", path) > 0);
    assert_int_equal(sample_store_write(below, text, strlen(text)),
                     HOOP_E_UNAVAILABLE);
    assert_non_null(strstr(error_text(), "Not a directory"));
    assert_int_equal(unlink(path), 0);
    snprintf(parent, sizeof(parent), "%s/hoop", folder);
    assert_int_equal(rmdir(parent), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* n lines of one collective and size on four ranks of a node. */
struct lines {
    char text[1 << 16];
    size_t n_bytes;
};

static void
lines_add(struct lines *lines, const char *line, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        lines->n_bytes += (size_t)snprintf(lines->text + lines->n_bytes,
                                           sizeof(lines->text) - lines->n_bytes,
                                           "4 1 %s\n", line);
    assert_true(lines->n_bytes < sizeof(lines->text));
}

/* A table of the first of each, changed. */
static struct table
table_in_hall(const struct lines *lines, uint32_t n_ranks, size_t slot_capacity)
{
    static const uint32_t names[8] = {0};
    struct plan_nodes *nodes = NULL;
    struct samples *samples = NULL;
    struct table table;

    tuning_table_init(&table);
    assert_ok(plan_nodes_create(names, n_ranks, &nodes));
    assert_ok(samples_parse("here", lines->text, lines->n_bytes, &samples));
    samples_apply(samples, nodes,
                  &(struct plan_shm_region){.slot_capacity = slot_capacity},
                  &table);
    plan_nodes_destroy(nodes);
    samples_destroy(samples);
    return table;
}

static struct table
table_after(const struct lines *lines, uint32_t n_ranks)
{
    return table_in_hall(lines, n_ranks, 0);
}

static void
assert_choice(const struct table *table,
              enum collective_kind collective,
              uint64_t n_bytes,
              const char *name)
{
    assert_string_equal(tuning_table_find_algorithm(
                            table, collective, TABLE_FORM_EVEN_BLOCKS, n_bytes)
                            ->algorithm->name,
                        name);
}

static void
winner_of_three_in_four_takes_the_sizes_around(void **state)
{
    struct lines lines = {.n_bytes = 0};

    lines_add(&lines, "allreduce 4096 ring=200 recursive_doubling=100", 3);
    lines_add(&lines, "allreduce 4096 ring=100 recursive_doubling=200", 1);
    lines_add(&lines, "allreduce 65536 ring=100 recursive_doubling=200", 4);
    const struct table table = table_after(&lines, 4);
    assert_choice(&table, COLLECTIVE_ALLREDUCE, 1024, "ring");
    assert_choice(&table, COLLECTIVE_ALLREDUCE, 1025, "recursive_doubling");
    /* Up to half way to the next, by quotient. */
    assert_choice(&table, COLLECTIVE_ALLREDUCE, 16383, "recursive_doubling");
    assert_choice(&table, COLLECTIVE_ALLREDUCE, 16385, "ring");
    assert_choice(&table, COLLECTIVE_ALLREDUCE, UINT64_MAX, "ring");
    assert_choice(&table, COLLECTIVE_BROADCAST, 4096, "chain");
}

static void
winner_reaches_at_most_four_times_as_far(void **state)
{
    struct lines lines = {.n_bytes = 0};

    lines_add(&lines, "allreduce 4096 ring=200 recursive_doubling=100", 3);
    const struct table table = table_after(&lines, 4);
    assert_choice(&table, COLLECTIVE_ALLREDUCE, 16384, "recursive_doubling");
    assert_choice(&table, COLLECTIVE_ALLREDUCE, 16385, "ring");
}

static void
flat_winner_counts_only_where_there_is_a_hall(void **state)
{
    struct lines lines = {.n_bytes = 0};

    lines_add(&lines, "allreduce 4096 ring=200 flat=100", 3);
    const struct table apart = table_after(&lines, 4);
    const struct table together = table_in_hall(&lines, 4, 1 << 16);
    assert_choice(&apart, COLLECTIVE_ALLREDUCE, 4096, "ring");
    assert_choice(&together, COLLECTIVE_ALLREDUCE, 4096, "flat");
}

static void
too_few_samples_or_wins_change_nothing(void **state)
{
    struct lines lines = {.n_bytes = 0};

    lines_add(&lines, "allreduce 8 ring=200 recursive_doubling=100", 2);
    lines_add(&lines, "allreduce 8 recursive_doubling=100", 2);
    lines_add(&lines, "allreduce 8 ring=100", 2);
    lines_add(&lines, "broadcast 8 chain=200 binomial=100", 5);
    lines_add(&lines, "broadcast 8 chain=100 binomial=200", 2);
    const struct table table = table_after(&lines, 4);
    assert_choice(&table, COLLECTIVE_ALLREDUCE, 8, "ring");
    assert_choice(&table, COLLECTIVE_BROADCAST, 8, "chain");
}

static void
samples_of_another_form_do_not_count(void **state)
{
    struct lines lines = {.n_bytes = 0};

    lines_add(&lines, "allreduce 8 ring=200 recursive_doubling=100", 3);
    const struct table table = table_after(&lines, 5);
    assert_choice(&table, COLLECTIVE_ALLREDUCE, 8, "ring");
}

/* Whoever takes the place is challenged in turn. */
static void
best_of_several_is_taken(void **state)
{
    struct lines lines = {.n_bytes = 0};

    lines_add(&lines,
              "allreduce 8 ring=300 recursive_doubling=200 rabenseifner=100",
              3);
    lines_add(&lines, "reduce_scatter 8 halving=9 pairwise=2 ring=3", 3);
    const struct table table = table_after(&lines, 4);
    assert_choice(&table, COLLECTIVE_ALLREDUCE, 8, "rabenseifner");
    assert_choice(&table, COLLECTIVE_REDUCE_SCATTER, 8, "pairwise");
}

static void
uneven_blocks_keep_what_can_do_them(void **state)
{
    struct lines lines = {.n_bytes = 0};

    lines_add(&lines, "alltoall 8 pairwise=9 bruck=1", 3);
    lines_add(&lines, "allgather 8 ring=9 bruck=1", 3);
    const struct table table = table_after(&lines, 4);
    assert_choice(&table, COLLECTIVE_ALLTOALL, 8, "bruck");
    assert_string_equal(tuning_table_find_algorithm(&table, COLLECTIVE_ALLTOALL,
                                                    TABLE_FORM_UNEVEN_BLOCKS, 8)
                            ->algorithm->name,
                        "pairwise");
    assert_string_equal(tuning_table_find_algorithm(&table,
                                                    COLLECTIVE_ALLGATHER,
                                                    TABLE_FORM_UNEVEN_BLOCKS, 8)
                            ->algorithm->name,
                        "bruck");
}

/* More changes than a row has room for: it still ascends to the largest size,
 * and can travel. */
static void
full_row_ends_well(void **state)
{
    struct lines lines = {.n_bytes = 0};
    uint8_t bytes[LIMIT_TUNE_TABLE];
    struct table back;
    char line[96];

    for (unsigned i = 0; i < 40; i++) {
        snprintf(line, sizeof(line), "broadcast %llu chain=%u binomial=%u",
                 1ull << i, 1 + i % 2, 2 - i % 2);
        lines_add(&lines, line, 3);
    }
    const struct table table = table_after(&lines, 4);
    const struct tuning_table_row *row =
        &table.rows[COLLECTIVE_BROADCAST][TABLE_FORM_EVEN_BLOCKS];
    assert_int_equal(row->n_points, TABLE_SWITCH_POINTS_MAX);
    assert_choice(&table, COLLECTIVE_BROADCAST, 1, "chain");
    assert_choice(&table, COLLECTIVE_BROADCAST, 2, "binomial");
    assert_choice(&table, COLLECTIVE_BROADCAST, 16, "chain");
    assert_ok(tuning_table_encode(&table, bytes));
    assert_ok(tuning_table_decode(bytes, &back));
}

/* Blocks of fewer bytes than ranks. */
static void
size_of_nothing_is_a_size(void **state)
{
    struct lines lines = {.n_bytes = 0};

    lines_add(&lines, "allgather 0 ring=9 bruck=1", 3);
    lines_add(&lines, "allgather 1 ring=9 bruck=1", 3);
    const struct table table = table_after(&lines, 4);
    assert_choice(&table, COLLECTIVE_ALLGATHER, 0, "bruck");
    assert_choice(&table, COLLECTIVE_ALLGATHER, 4, "bruck");
    assert_choice(&table, COLLECTIVE_ALLGATHER, 5, "ring");
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
        cmocka_unit_test_setup(path_tells_machine_and_transport, folder_make),
        cmocka_unit_test_setup(what_is_written_is_read_and_replaced,
                               folder_make),
        cmocka_unit_test_setup(nonsense_is_none_and_no_folder_is_told,
                               folder_make),
        cmocka_unit_test(winner_of_three_in_four_takes_the_sizes_around),
        cmocka_unit_test(winner_reaches_at_most_four_times_as_far),
        cmocka_unit_test(flat_winner_counts_only_where_there_is_a_hall),
        cmocka_unit_test(too_few_samples_or_wins_change_nothing),
        cmocka_unit_test(samples_of_another_form_do_not_count),
        cmocka_unit_test(best_of_several_is_taken),
        cmocka_unit_test(uneven_blocks_keep_what_can_do_them),
        cmocka_unit_test(full_row_ends_well),
        cmocka_unit_test(size_of_nothing_is_a_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
