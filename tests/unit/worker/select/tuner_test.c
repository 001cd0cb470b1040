/* tests/unit/worker/select/tuner_test.c - select/tuner.c */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "default_config.h"
#include "select/link.h"
#include "select/samples.h"
#include "select/tuner.h"
#include "temporary.h"

static struct roster *roster; /* of rank 0 */

static int
set_up(void **state)
{
    assert_ok(roster_create(3, &roster));
    return 0;
}

static int
tear_down(void **state)
{
    roster_destroy(roster);
    return 0;
}

static struct config
config_of(const char *algorithms, const char *link, const char *tuning)
{
    struct config config;

    default_config_init(&config);
    snprintf(config.algorithms, sizeof(config.algorithms), "%s", algorithms);
    snprintf(config.link, sizeof(config.link), "%s", link);
    snprintf(config.tuning, sizeof(config.tuning), "%s", tuning);
    return config;
}

static struct tuner *
tuner_of(const char *algorithms, const char *link)
{
    const struct config config = config_of(algorithms, link, "");
    struct tuner *tuner = NULL;

    assert_ok(tuner_create(roster, &config, &tuner));
    return tuner;
}

static struct plan_nodes *
nodes_of(const uint32_t *names, uint32_t n_ranks)
{
    struct plan_nodes *nodes = NULL;

    assert_ok(plan_nodes_create(names, n_ranks, &nodes));
    return nodes;
}

static enum hoop_status
check(const char *algorithms, const char *link, const char *tuning)
{
    const struct config config = config_of(algorithms, link, tuning);

    return tuner_config_check(&config);
}

static void
bad_texts_are_refused_by_the_name_of_the_setting(void **state)
{
    struct tuner *tuner = NULL;

    assert_ok(check("", "", ""));
    assert_ok(check("allreduce:ring", "latency=1us", ""));
    assert_int_equal(check("allreduce", "", ""), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "HOOP_ALGORITHM: 'allreduce'"));
    assert_int_equal(check("", "latency", ""), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "HOOP_DEBUG_LINK: 'latency'"));
    assert_int_equal(check("", "", "/nowhere/times"), HOOP_E_NOT_FOUND);
    assert_non_null(strstr(error_text(), "HOOP_TUNING: cannot open"));

    const struct config config = config_of("x", "", "");
    assert_int_equal(tuner_create(roster, &config, &tuner), HOOP_E_INVALID);
    assert_null(tuner);
}

static void
what_is_said_of_the_link_is_not_measured(void **state)
{
    struct tuner *said = tuner_of("", "latency=1ms");
    struct tuner *silent = tuner_of("", "");
    const struct simulation_machine machine = link_typical_machine();

    assert_false(tuner_needs_machine_costs(said));
    assert_true(tuner_needs_machine_costs(silent));
    tuner_set_machine_costs(silent, &machine);
    assert_false(tuner_needs_machine_costs(silent));
    tuner_destroy(said);
    tuner_destroy(silent);
    tuner_destroy(NULL);
}

static void
table_holds_what_was_said(void **state)
{
    struct plan_nodes *nodes = nodes_of((uint32_t[]){0, 0, 0}, 3);
    struct tuner *tuner = tuner_of("allreduce:ring", "latency=1ms");
    struct table table;

    assert_ok(tuner_build_table(tuner, nodes, NULL, NULL, &table));
    assert_string_equal(
        table.overrides.entries[COLLECTIVE_ALLREDUCE]->algorithm->name, "ring");
    assert_true(table.machine.latency_inside_ns == 1e6);
    assert_string_equal(tuning_table_find_algorithm(&table,
                                                    COLLECTIVE_ALLREDUCE,
                                                    TABLE_FORM_EVEN_BLOCKS, 8)
                            ->algorithm->name,
                        "ring");
    plan_nodes_destroy(nodes);
    tuner_destroy(tuner);
}

/* Refused, or after the agreement left out. */
static void
flat_algorithm_is_forced_only_where_there_is_a_hall(void **state)
{
    struct plan_nodes *nodes = nodes_of((uint32_t[]){0, 0, 0}, 3);
    struct tuner *tuner = tuner_of("allreduce:flat", "latency=1ms");
    const struct plan_shm_region shm_region = {.slot_capacity = 1 << 16};
    struct table table;

    assert_int_equal(tuner_build_table(tuner, nodes, NULL, NULL, &table),
                     HOOP_E_PRECONDITION);
    assert_ok(tuner_build_table(tuner, nodes, &shm_region, NULL, &table));
    assert_string_equal(tuning_table_find_algorithm(&table,
                                                    COLLECTIVE_ALLREDUCE,
                                                    TABLE_FORM_EVEN_BLOCKS, 8)
                            ->algorithm->name,
                        "flat");
    tuner_adopt_agreed_table(tuner, &table);
    assert_ok(tuner_build_table(tuner, nodes, NULL, NULL, &table));
    assert_false(tuning_table_find_algorithm(&table, COLLECTIVE_ALLREDUCE,
                                             TABLE_FORM_EVEN_BLOCKS, 8)
                     ->algorithm->is_shm);
    plan_nodes_destroy(nodes);
    tuner_destroy(tuner);
}

static void
first_agreement_replaces_what_was_said(void **state)
{
    struct plan_nodes *nodes = nodes_of((uint32_t[]){0, 0}, 2);
    struct tuner *mine = tuner_of("allreduce:ring", "latency=1ms");
    struct tuner *theirs = tuner_of("broadcast:chain", "latency=2ms");
    struct tuner *others = tuner_of("", "latency=3ms");
    struct table table;

    assert_ok(tuner_build_table(theirs, nodes, NULL, NULL, &table));
    tuner_adopt_agreed_table(mine, &table);
    assert_ok(tuner_build_table(others, nodes, NULL, NULL, &table));
    tuner_adopt_agreed_table(mine, &table);
    assert_ok(tuner_build_table(mine, nodes, NULL, NULL, &table));
    assert_true(table.machine.latency_inside_ns == 2e6);
    assert_null(table.overrides.entries[COLLECTIVE_ALLREDUCE]);
    assert_non_null(table.overrides.entries[COLLECTIVE_BROADCAST]);
    plan_nodes_destroy(nodes);
    tuner_destroy(mine);
    tuner_destroy(theirs);
    tuner_destroy(others);
}

/* More forms than are kept: the oldest make room, and are built again. */
static void
tables_of_many_forms_are_kept_within_bounds(void **state)
{
    static const uint32_t names[2 * LIMIT_TUNE_TABLES] = {0};
    struct tuner *tuner = tuner_of("", "latency=1ms");
    struct table table;

    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t n = 1; n <= LIMIT_TUNE_TABLES + 2; n++) {
            struct plan_nodes *nodes = nodes_of(names, n);

            assert_ok(tuner_build_table(tuner, nodes, NULL, NULL, &table));
            assert_non_null(tuning_table_find_algorithm(
                &table, COLLECTIVE_ALLREDUCE, TABLE_FORM_EVEN_BLOCKS, 8));
            plan_nodes_destroy(nodes);
        }
    }
    tuner_destroy(tuner);
}

/* What rank 0 of a tuner with these settings tells the others. */
static struct table
table_of(enum shm_mode shm_negotiation, const char *link, const char *tuning)
{
    struct plan_nodes *nodes = nodes_of((uint32_t[]){0, 0, 0}, 3);
    struct config config = config_of("", link, tuning);
    struct tuner *tuner = NULL;
    struct table table;

    config.shm_negotiation = shm_negotiation;
    assert_ok(tuner_create(roster, &config, &tuner));
    assert_ok(tuner_build_table(tuner, nodes, NULL, NULL, &table));
    plan_nodes_destroy(nodes);
    tuner_destroy(tuner);
    return table;
}

static void
defaults_count_unless_links_or_the_model_are_asked_for(void **state)
{
    assert_int_equal(table_of(SHM_MODE_NEVER, "", "").defaults, DEFAULTS_TCP);
    assert_int_equal(table_of(SHM_MODE_ALWAYS, "", "").defaults, DEFAULTS_SHM);
    assert_int_equal(table_of(SHM_MODE_AUTO, "", "").defaults, DEFAULTS_SHM);
    assert_int_equal(table_of(SHM_MODE_NEVER, "latency=1us", "").defaults,
                     DEFAULTS_NONE);
    assert_int_equal(table_of(SHM_MODE_NEVER, "", "model").defaults,
                     DEFAULTS_NONE);
    assert_ok(check("", "", "model"));
}

/* Any rank may be rank 0 of a group. */
static void
defaults_of_rank_0_count_on_all_ranks(void **state)
{
    struct plan_nodes *nodes = nodes_of((uint32_t[]){0, 0, 0}, 3);
    const struct table agreed = table_of(SHM_MODE_NEVER, "", "model");
    struct config config = config_of("", "", "");
    struct tuner *tuner = NULL;
    struct table table;

    config.shm_negotiation = SHM_MODE_NEVER;
    assert_ok(tuner_create(roster, &config, &tuner));
    tuner_adopt_agreed_table(tuner, &agreed);
    assert_ok(tuner_build_table(tuner, nodes, NULL, NULL, &table));
    assert_int_equal(table.defaults, DEFAULTS_NONE);
    plan_nodes_destroy(nodes);
    tuner_destroy(tuner);
}

/* Three samples of two ranks, whose loser by far is what the model takes. */
static struct samples *
samples_of_two(void)
{
    static const char text[] = "2 2 broadcast 8 chain=1 binomial=9000\n"
                               "2 2 broadcast 8 chain=2 binomial=9000\n"
                               "2 2 broadcast 8 chain=3 binomial=9000\n";
    struct samples *samples = NULL;

    assert_ok(samples_parse("here", text, sizeof(text) - 1, &samples));
    return samples;
}

static const char *
broadcast_of(struct tuner *tuner, const struct plan_nodes *nodes)
{
    static struct table table;

    assert_ok(tuner_build_table(tuner, nodes, NULL, NULL, &table));
    return tuning_table_find_algorithm(&table, COLLECTIVE_BROADCAST,
                                       TABLE_FORM_EVEN_BLOCKS, 8)
        ->algorithm->name;
}

static void
samples_change_tables_until_rank_0_agrees_on_none(void **state)
{
    struct plan_nodes *nodes = nodes_of((const uint32_t[]){0, 1}, 2);
    struct tuner *tuner = tuner_of("", "latency=1ms");
    struct table agreed;
    size_t n_bytes = 1;

    tuning_table_init(&agreed);
    agreed.machine = link_typical_machine();
    assert_string_equal(tuner_samples_text(tuner, &n_bytes), "");
    assert_int_equal(n_bytes, 0);
    assert_ok(tuner_build_table(tuner, nodes, NULL, NULL, &agreed));
    const char *model = broadcast_of(tuner, nodes);
    tuner_replace_samples(tuner, samples_of_two());
    assert_non_null(strstr(tuner_samples_text(tuner, &n_bytes), "chain=3"));
    assert_string_equal(broadcast_of(tuner, nodes), "chain");
    agreed.n_sample_bytes = 0;
    tuner_adopt_agreed_table(tuner, &agreed);
    assert_string_equal(broadcast_of(tuner, nodes), model);
    plan_nodes_destroy(nodes);
    tuner_destroy(tuner);
}

/* Who has no folder to keep samples in does without. */
static void
automatic_samples_are_wanted_until_there_are_enough(void **state)
{
    static const char text[] = "2 1 allreduce 64 ring=1 recursive_doubling=9\n";
    char folder[TEMPORARY_PATH] = "hoop-tuner-XXXXXX";
    const uint32_t names[2] = {0, 0};
    struct plan_nodes *nodes = nodes_of(names, 2);
    struct plan_nodes *lonely = nodes_of(names, 1);
    struct config config = config_of("", "", "auto");
    struct tuner *tuner = NULL;
    char *path = NULL;

    config.shm_negotiation = SHM_MODE_NEVER;
    assert_ok(tuner_config_check(&config));
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    assert_ok(tuner_create(roster, &config, &tuner));
    assert_false(tuner_wants_samples(tuner, nodes));
    tuner_destroy(tuner);
    assert_non_null(temporary_folder(folder, sizeof(folder)));
    setenv("XDG_CACHE_HOME", folder, 1);
    for (size_t i = 0; i < LIMIT_BENCHMARK_JOBS; i++) {
        assert_ok(tuner_create(roster, &config, &tuner));
        assert_false(tuner_wants_samples(tuner, lonely));
        assert_true(tuner_wants_samples(tuner, nodes));
        tuner_add_samples(tuner, text);
        tuner_destroy(tuner);
    }
    assert_ok(tuner_create(roster, &config, &tuner));
    assert_false(tuner_wants_samples(tuner, nodes));
    tuner_destroy(tuner);
    assert_ok(sample_store_path("tcp", &path));
    assert_int_equal(unlink(path), 0);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(folder), 0);
    free(path);
    plan_nodes_destroy(nodes);
    plan_nodes_destroy(lonely);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(samples_change_tables_until_rank_0_agrees_on_none),
        cmocka_unit_test(bad_texts_are_refused_by_the_name_of_the_setting),
        cmocka_unit_test(what_is_said_of_the_link_is_not_measured),
        cmocka_unit_test(table_holds_what_was_said),
        cmocka_unit_test(flat_algorithm_is_forced_only_where_there_is_a_hall),
        cmocka_unit_test(first_agreement_replaces_what_was_said),
        cmocka_unit_test(tables_of_many_forms_are_kept_within_bounds),
        cmocka_unit_test(
            defaults_count_unless_links_or_the_model_are_asked_for),
        cmocka_unit_test(defaults_of_rank_0_count_on_all_ranks),
        cmocka_unit_test(automatic_samples_are_wanted_until_there_are_enough),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
