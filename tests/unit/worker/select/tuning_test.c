/* tests/unit/worker/select/tuning_test.c - select/tuning.c */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "default_config.h"
#include "engine_pair_fixture.h"
#include "select/samples.h"
#include "select/tuning.h"
#include "temporary.h"

static struct tuner *
tuner_of(const struct side *side, const char *algorithms)
{
    struct tuner *tuner = NULL;
    struct config config;

    default_config_init(&config);
    snprintf(config.algorithms, sizeof(config.algorithms), "%s", algorithms);
    snprintf(config.link, sizeof(config.link), "latency=20us");
    return tuner_create(side->roster, &config, &tuner) == HOOP_OK ? tuner
                                                                  : NULL;
}

static const char *
name_found(const struct tuning *tuning, enum call_name name, size_t n_bytes)
{
    return tuning_find_algorithm(tuning, name, n_bytes)->name;
}

static int
settings_of_rank_0_count_for_all(struct side *side)
{
    struct tuner *tuner = tuner_of(
        side, side->rank == 0 ? "broadcast:chain" : "broadcast:binomial");
    struct comm_context *context = side->comms[0].context;
    struct tuning *tuning = NULL;

    SIDE_CHECK(tuner);
    SIDE_CHECK(tuning_agree(tuner, context, patience(), &tuning) == HOOP_OK);
    SIDE_CHECK(strcmp(name_found(tuning, CALL_BROADCAST, 8), "chain") == 0);
    SIDE_CHECK(strcmp(name_found(tuning, CALL_BROADCAST, 1 << 30), "chain") ==
               0);
    SIDE_CHECK(tuning_nodes(tuning)->n_ranks == 2);
    SIDE_CHECK(context_timeout(context) == 30000);
    tuning_destroy(tuning);
    tuner_destroy(tuner);
    return 0;
}

/* Rank 0 alone has read some; what they tell counts on all, and on a context
 * whose rank 0 is another one. */
static int
samples_that_rank_0_read_count_for_all(struct side *side)
{
    static const char text[] = "2 1 allreduce 64 ring=1 recursive_doubling=9\n"
                               "2 1 allreduce 64 ring=2 recursive_doubling=9\n"
                               "2 1 allreduce 64 ring=3 recursive_doubling=9\n";
    struct tuner *tuner = tuner_of(side, "");
    struct tuning *tunings[2] = {NULL, NULL};
    struct samples *samples = NULL;
    size_t n_bytes;

    SIDE_CHECK(tuner);
    SIDE_CHECK(samples_parse("here", text, sizeof(text) - 1, &samples) ==
               HOOP_OK);
    if (side->rank == 0)
        tuner_replace_samples(tuner, STEAL(samples));
    samples_destroy(samples);
    for (size_t i = 0; i < 2; i++) {
        SIDE_CHECK(tuning_agree(tuner, side->comms[i].context, patience(),
                                &tunings[i]) == HOOP_OK);
        SIDE_CHECK(strcmp(name_found(tunings[i], CALL_ALLREDUCE, 64), "ring") ==
                   0);
        SIDE_CHECK(
            strcmp(name_found(tunings[i], CALL_ALLREDUCE, 256), "ring") == 0);
        SIDE_CHECK(
            strcmp(name_found(tunings[i], CALL_ALLREDUCE, 260), "ring") != 0);
    }
    SIDE_CHECK(strcmp(tuner_samples_text(tuner, &n_bytes), text) == 0);
    tuning_destroy(tunings[0]);
    tuning_destroy(tunings[1]);
    tuner_destroy(tuner);
    return 0;
}

/* Told to rank 0 alone: three worlds form, and keep a sample each. The third
 * one has what counts; it is not known who wins. */
static int
side_automatic(struct side *side)
{
    size_t n_before = 0;
    struct config config;

    default_config_init(&config);
    snprintf(config.link, sizeof(config.link), "latency=20us");
    snprintf(config.tuning, sizeof(config.tuning), "auto");
    config.shm_negotiation = SHM_MODE_NEVER;
    for (size_t i = 0; i < 3; i++) {
        struct tuner *tuner = NULL;
        struct tuning *tuning = NULL;
        size_t n_bytes;

        SIDE_CHECK(tuner_create(side->roster, &config, &tuner) == HOOP_OK);
        SIDE_CHECK(tuning_agree(tuner, side->comms[i].context, patience(),
                                &tuning) == HOOP_OK);
        SIDE_CHECK(strncmp(tuner_samples_text(tuner, &n_bytes), "2 ", 2) == 0);
        SIDE_CHECK(n_bytes > n_before);
        n_before = n_bytes;
        tuning_destroy(tuning);
        tuner_destroy(tuner);
    }
    return 0;
}

static void
first_worlds_benchmark_and_keep_it(void **state)
{
    char folder[TEMPORARY_PATH] = "hoop-tuning-XXXXXX";
    char parent[TEMPORARY_FILE];
    char *path = NULL;

    assert_non_null(temporary_folder(folder, sizeof(folder)));
    setenv("XDG_CACHE_HOME", folder, 1);
    engine_pair_run(&engine_pair, side_automatic);
    assert_ok(sample_store_path("tcp", &path));
    assert_int_equal(unlink(path), 0);
    free(path);
    snprintf(parent, sizeof(parent), "%s/hoop", folder);
    assert_int_equal(rmdir(parent), 0);
    assert_int_equal(rmdir(folder), 0);
}

static int
one_rank_alone_does_not_communicate(struct side *side)
{
    struct tuner *tuner = tuner_of(side, "allreduce:ring");
    struct tuning *tuning = NULL;
    struct engine_stats stats;

    SIDE_CHECK(tuner);
    SIDE_CHECK(tuning_agree(tuner, side->alone.context, patience(), &tuning) ==
               HOOP_OK);
    SIDE_CHECK(strcmp(name_found(tuning, CALL_ALLREDUCE, 8), "ring") == 0);
    SIDE_CHECK(tuning_nodes(tuning)->n_nodes == 1);
    engine_stats(side->engine, &stats);
    SIDE_CHECK(stats.operations == 0);
    SIDE_CHECK(stats.transport.wire_sent == 0);
    tuning_destroy(tuning);
    tuner_destroy(tuner);
    return 0;
}

/* As if the world had agreed. */
static void
tuner_settle(struct tuner *tuner)
{
    struct table table;

    tuning_table_init(&table);
    tuner_adopt_agreed_table(tuner, &table);
}

/* Rank 0 does not come, neither to measure nor to agree. */
static int
missing_rank_0_is_a_timeout(struct side *side)
{
    struct tuner *tuner = tuner_of(side, "");
    struct tuning *tuning = NULL;

    SIDE_CHECK(tuner);
    if (side->rank == 1) {
        SIDE_CHECK(tuning_agree(tuner, side->comms[3].context,
                                clock_deadline_ns(50),
                                &tuning) == HOOP_E_TIMEOUT);
        SIDE_CHECK(strstr(error_text(), "measuring what messages cost"));
        tuner_settle(tuner);
        SIDE_CHECK(tuning_agree(tuner, side->comms[1].context,
                                clock_deadline_ns(50),
                                &tuning) == HOOP_E_TIMEOUT);
        SIDE_CHECK(strstr(error_text(), "agreement on a communicator"));
        SIDE_CHECK(!tuning);
    }
    tuner_destroy(tuner);
    return 0;
}

/* Rank 0 says something that is not a table. */
static int
nonsense_from_rank_0_is_refused(struct side *side)
{
    struct comm_context *context = side->comms[2].context;
    uint8_t bytes[LIMIT_TUNE_TABLE] = {0xff};
    const struct engine_collective request = {
        .call = {.name = CALL_AGREE,
                 .dtype = HOOP_UINT8,
                 .count = sizeof(bytes)},
        .algorithm = tuning_find_algorithm(NULL, CALL_BROADCAST, 0),
        .shape = {.rank = 0,
                  .size = 2,
                  .is_in_place = true,
                  .count = sizeof(bytes),
                  .granule = 1},
        .input = bytes,
        .output = bytes,
    };
    struct tuning *tuning = NULL;
    struct op *op = NULL;

    if (side->rank == 0) {
        SIDE_CHECK(engine_start_collective(context, &request, &op) == HOOP_OK);
        SIDE_CHECK(engine_wait(op, patience()) == HOOP_OK);
        return 0;
    }
    struct tuner *tuner = tuner_of(side, "");
    SIDE_CHECK(tuner);
    tuner_settle(tuner);
    SIDE_CHECK(tuning_agree(tuner, context, patience(), &tuning) ==
               HOOP_E_DATA_LOSS);
    SIDE_CHECK(!tuning);
    tuner_destroy(tuner);
    return 0;
}

static int
overrides_anew_all_follow_rank_0(struct side *side)
{
    struct tuner *tuner = tuner_of(side, "allreduce:ring");
    struct tuning *tuning = NULL;
    const char *list = side->rank == 0 ? "broadcast:chain" : "scan:chain";

    SIDE_CHECK(tuner);
    SIDE_CHECK(tuning_agree(tuner, side->comms[3].context, patience(),
                            &tuning) == HOOP_OK);
    SIDE_CHECK(strcmp(name_found(tuning, CALL_ALLREDUCE, 8), "ring") == 0);
    SIDE_CHECK(tuning_override_algorithms(
                   tuning, "allreduce:recursive_doubling") == HOOP_OK);
    SIDE_CHECK(strcmp(name_found(tuning, CALL_ALLREDUCE, 1 << 30),
                      "recursive_doubling") == 0);
    /* A list replaces the one before it, and it is rank 0's. */
    SIDE_CHECK(tuning_override_algorithms(tuning, list) == HOOP_OK);
    SIDE_CHECK(strcmp(name_found(tuning, CALL_ALLREDUCE, 1 << 30),
                      "recursive_doubling") != 0);
    /* One that rank 0 refuses, all refuse, and nothing changes. */
    SIDE_CHECK(tuning_override_algorithms(tuning, "broadcast:none") ==
               HOOP_E_INVALID);
    SIDE_CHECK(strstr(error_text(),
                      side->rank == 0 ? "there are: chain" : "rank 0 refused"));
    SIDE_CHECK(strcmp(name_found(tuning, CALL_BROADCAST, 8), "chain") == 0);
    tuning_destroy(tuning);
    tuner_destroy(tuner);
    return 0;
}

static int
choice_is_explained_by_what_was_agreed_on(struct side *side)
{
    struct tuner *tuner = tuner_of(side, "broadcast:chain");
    struct tuning *tuning = NULL;
    struct tuning_choice choice;

    SIDE_CHECK(tuner);
    SIDE_CHECK(tuning_agree(tuner, side->comms[0].context, patience(),
                            &tuning) == HOOP_OK);
    SIDE_CHECK(tuning_explain_choice(tuning, CALL_ALLREDUCE, 64, &choice) ==
               HOOP_OK);
    SIDE_CHECK(choice.algorithm ==
               tuning_find_algorithm(tuning, CALL_ALLREDUCE, 64));
    SIDE_CHECK(choice.estimate_ns >= 20e3); /* the latency that was said */
    SIDE_CHECK(choice.runner_up && choice.runner_up != choice.algorithm);
    SIDE_CHECK(choice.runner_up_ns >= choice.estimate_ns);
    SIDE_CHECK(!choice.is_forced);
    SIDE_CHECK(tuning_explain_choice(tuning, CALL_BROADCAST, 64, &choice) ==
               HOOP_OK);
    SIDE_CHECK(choice.is_forced);
    SIDE_CHECK(tuning_explain_choice(tuning, CALL_ALLTOALLV, 64, &choice) ==
               HOOP_OK);
    SIDE_CHECK(!choice.runner_up);
    SIDE_CHECK(tuning_explain_choice(tuning, CALL_BARRIER, 0, &choice) ==
               HOOP_OK);
    SIDE_CHECK(choice.runner_up && choice.estimate_ns > 0);
    tuning_destroy(tuning);
    tuner_destroy(tuner);
    return 0;
}

static void
without_a_tuning_the_first_of_each_is_found(void **state)
{
    size_t n_entries;

    assert_ptr_equal(
        tuning_find_algorithm(NULL, CALL_ALLGATHERV, 1 << 20),
        registry_collective_entries(COLLECTIVE_ALLGATHER, &n_entries)
            ->algorithm);
    assert_null(tuning_nodes(NULL));
    tuning_destroy(NULL);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        SIDES_TEST(settings_of_rank_0_count_for_all),
        SIDES_TEST(samples_that_rank_0_read_count_for_all),
        ENGINE_PAIR_TEST(first_worlds_benchmark_and_keep_it),
        SIDES_TEST(one_rank_alone_does_not_communicate),
        SIDES_TEST(missing_rank_0_is_a_timeout),
        SIDES_TEST(nonsense_from_rank_0_is_refused),
        SIDES_TEST(overrides_anew_all_follow_rank_0),
        SIDES_TEST(choice_is_explained_by_what_was_agreed_on),
        cmocka_unit_test(without_a_tuning_the_first_of_each_is_found),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
