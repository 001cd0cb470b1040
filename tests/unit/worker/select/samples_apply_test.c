/* tests/unit/worker/select/samples_apply_test.c - select/samples.c */

#include <stdio.h>
#include <string.h>

#include "check.h"
#include "select/samples.h"

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
table_in_hall(const struct lines *lines, uint32_t n_ranks, size_t n_slot)
{
    static const uint32_t names[8] = {0};
    struct plan_nodes *nodes = NULL;
    struct samples *samples = NULL;
    struct table table;

    tuning_table_init(&table);
    assert_int_equal(plan_nodes_create(names, n_ranks, &nodes), HOOP_OK);
    assert_int_equal(
        samples_parse("here", lines->text, lines->n_bytes, &samples), HOOP_OK);
    samples_apply(samples, nodes, &(struct plan_shm_region){.n_slot = n_slot},
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
    assert_string_equal(
        tuning_table_find_algorithm(table, collective, TABLE_EVEN, n_bytes)
            ->algorithm->name,
        name);
}

static void
winner_of_three_in_four_takes_the_sizes_around(void **state)
{
    struct lines lines = {.n_bytes = 0};

    (void)state;
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

    (void)state;
    lines_add(&lines, "allreduce 4096 ring=200 recursive_doubling=100", 3);
    const struct table table = table_after(&lines, 4);
    assert_choice(&table, COLLECTIVE_ALLREDUCE, 16384, "recursive_doubling");
    assert_choice(&table, COLLECTIVE_ALLREDUCE, 16385, "ring");
}

static void
flat_winner_counts_only_where_there_is_a_hall(void **state)
{
    struct lines lines = {.n_bytes = 0};

    (void)state;
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

    (void)state;
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

    (void)state;
    lines_add(&lines, "allreduce 8 ring=200 recursive_doubling=100", 3);
    const struct table table = table_after(&lines, 5);
    assert_choice(&table, COLLECTIVE_ALLREDUCE, 8, "ring");
}

/* Whoever takes the place is challenged in turn. */
static void
best_of_several_is_taken(void **state)
{
    struct lines lines = {.n_bytes = 0};

    (void)state;
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

    (void)state;
    lines_add(&lines, "alltoall 8 pairwise=9 bruck=1", 3);
    lines_add(&lines, "allgather 8 ring=9 bruck=1", 3);
    const struct table table = table_after(&lines, 4);
    assert_choice(&table, COLLECTIVE_ALLTOALL, 8, "bruck");
    assert_string_equal(tuning_table_find_algorithm(&table, COLLECTIVE_ALLTOALL,
                                                    TABLE_UNEVEN, 8)
                            ->algorithm->name,
                        "pairwise");
    assert_string_equal(tuning_table_find_algorithm(
                            &table, COLLECTIVE_ALLGATHER, TABLE_UNEVEN, 8)
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

    (void)state;
    for (unsigned i = 0; i < 40; i++) {
        snprintf(line, sizeof(line), "broadcast %llu chain=%u binomial=%u",
                 1ull << i, 1 + i % 2, 2 - i % 2);
        lines_add(&lines, line, 3);
    }
    const struct table table = table_after(&lines, 4);
    const struct tuning_table_row *row =
        &table.rows[COLLECTIVE_BROADCAST][TABLE_EVEN];
    assert_int_equal(row->n_points, TABLE_POINTS);
    assert_choice(&table, COLLECTIVE_BROADCAST, 1, "chain");
    assert_choice(&table, COLLECTIVE_BROADCAST, 2, "binomial");
    assert_choice(&table, COLLECTIVE_BROADCAST, 16, "chain");
    assert_int_equal(tuning_table_encode(&table, bytes), HOOP_OK);
    assert_int_equal(tuning_table_decode(bytes, &back), HOOP_OK);
}

/* Blocks of fewer bytes than ranks. */
static void
size_of_nothing_is_a_size(void **state)
{
    struct lines lines = {.n_bytes = 0};

    (void)state;
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
