/* tests/unit/worker/session/terms_test.c - options, environment, launcher */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "session/terms.h"

/* Only what the test sets. */
static int
environment_clear(void **state)
{
    (void)state;
    assert_int_equal(clearenv(), 0);
    return 0;
}

static struct terms
resolved(const struct hoop_join_options *options)
{
    struct terms terms;

    assert_int_equal(terms_resolve(options, &terms), HOOP_OK);
    return terms;
}

static void
terms_without_anything_are_the_defaults(void **state)
{
    (void)state;
    setenv("HOOP_COORDINATOR", "host:1", 1);
    const struct terms terms = resolved(NULL);

    assert_string_equal(terms.coordinator, "host:1");
    assert_string_equal(terms.job, "default");
    assert_string_equal(terms.token, "");
    assert_int_equal(terms.rank, RENDEZVOUS_RANK_ANY);
    assert_int_equal(terms.world_size, 0);
    assert_int_equal(terms.join_timeout_ms, 60000);
    assert_int_equal(terms.op_timeout_ms, 600000);
    assert_int_equal(terms.ports.last, 0);
    assert_int_equal(terms.codec, CODEC_NONE);
    assert_int_equal(terms.checking, ENGINE_CHECK_FRAMES);
    assert_int_equal(terms.spinning, ENGINE_SPIN_AUTO);
    assert_int_equal(terms.log_level, LOG_OFF);
}

static void
terms_without_a_coordinator_are_refused(void **state)
{
    struct terms terms;

    (void)state;
    assert_int_equal(terms_resolve(NULL, &terms), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "HOOP_COORDINATOR"));
}

static void
terms_options_win_over_the_environment(void **state)
{
    const uint32_t rank = 0;
    const struct hoop_join_options options = {
        .coordinator = "option:1",
        .job = "option",
        .rank = &rank,
        .world_size = 3,
        .join_timeout_ms = 1500,
        .op_timeout_ms = 250,
        .port = 77,
        .codec = "zstd",
        .check = "full",
    };

    (void)state;
    setenv("HOOP_COORDINATOR", "environment:1", 1);
    setenv("HOOP_JOB", "environment", 1);
    setenv("HOOP_RANK", "2", 1);
    setenv("HOOP_WORLD_SIZE", "9", 1);
    setenv("HOOP_JOIN_TIMEOUT", "9", 1);
    setenv("HOOP_TOKEN", "environment", 1);
    const struct terms terms = resolved(&options);

    assert_string_equal(terms.coordinator, "option:1");
    assert_string_equal(terms.job, "option");
    assert_string_equal(terms.token, "environment");
    assert_int_equal(terms.rank, 0);
    assert_int_equal(terms.world_size, 3);
    assert_int_equal(terms.join_timeout_ms, 1500);
    assert_int_equal(terms.op_timeout_ms, 250);
    assert_int_equal(terms.ports.first, 77);
    assert_int_equal(terms.ports.last, 77);
    assert_int_equal(terms.codec, CODEC_ZSTD);
    assert_int_equal(terms.checking, ENGINE_CHECK_FIRST);
}

static void
terms_launcher_fills_what_was_not_said(void **state)
{
    (void)state;
    setenv("HOOP_COORDINATOR", "host:1", 1);
    setenv("SLURM_PROCID", "2", 1);
    setenv("SLURM_NTASKS", "4", 1);
    struct terms terms = resolved(NULL);
    assert_int_equal(terms.rank, 2);
    assert_int_equal(terms.world_size, 4);

    setenv("HOOP_RANK", "1", 1);
    terms = resolved(NULL);
    assert_int_equal(terms.rank, 1);
    assert_int_equal(terms.world_size, 4);
}

static void
terms_launcher_that_contradicts_is_not_believed(void **state)
{
    (void)state;
    setenv("HOOP_COORDINATOR", "host:1", 1);
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_NTASKS", "1", 1);
    setenv("HOOP_WORLD_SIZE", "4", 1);
    struct terms terms = resolved(NULL);
    assert_int_equal(terms.rank, RENDEZVOUS_RANK_ANY);
    assert_int_equal(terms.world_size, 4);

    unsetenv("HOOP_WORLD_SIZE");
    setenv("HOOP_RANK", "3", 1);
    terms = resolved(NULL);
    assert_int_equal(terms.rank, 3);
    assert_int_equal(terms.world_size, 0);
}

static void
terms_rank_beyond_the_size_is_refused(void **state)
{
    struct terms terms;

    (void)state;
    setenv("HOOP_COORDINATOR", "host:1", 1);
    setenv("HOOP_RANK", "4", 1);
    setenv("HOOP_WORLD_SIZE", "4", 1);
    assert_int_equal(terms_resolve(NULL, &terms), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "rank 4"));
}

static void
terms_say_when_a_call_spins(void **state)
{
    (void)state;
    setenv("HOOP_COORDINATOR", "host:1", 1);
    setenv("HOOP_SPIN", "never", 1);
    assert_int_equal(resolved(NULL).spinning, ENGINE_SPIN_NEVER);
    setenv("HOOP_SPIN", "always", 1);
    assert_int_equal(resolved(NULL).spinning, ENGINE_SPIN_ALWAYS);
}

static void
terms_wrong_value_names_its_variable(void **state)
{
    struct terms terms;

    (void)state;
    setenv("HOOP_COORDINATOR", "host:1", 1);
    setenv("HOOP_CODEC", "gzip", 1);
    assert_int_equal(terms_resolve(NULL, &terms), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "HOOP_CODEC"));
    setenv("HOOP_CODEC", "bf16+auto", 1);
    assert_int_equal(terms_resolve(NULL, &terms), HOOP_OK);
    assert_int_equal(terms.codec, CODEC_AUTO);
    assert_int_equal(terms.loss, LOSS_BF16);
    terms_deinit(&terms);
}

static void
terms_token_comes_from_its_file(void **state)
{
    char path[] = "/tmp/hoop_terms.XXXXXX";
    const int fd = mkstemp(path);

    (void)state;
    assert_int_equal(write(fd, "from the file\n", 14), 14);
    close(fd);
    setenv("HOOP_COORDINATOR", "host:1", 1);
    setenv("HOOP_TOKEN_FILE", path, 1);
    struct terms terms = resolved(NULL);
    assert_string_equal(terms.token, "from the file");

    setenv("HOOP_TOKEN", "by itself", 1);
    terms = resolved(NULL);
    assert_string_equal(terms.token, "by itself");
    unlink(path);

    unsetenv("HOOP_TOKEN");
    assert_int_equal(terms_resolve(NULL, &terms), HOOP_E_NOT_FOUND);
}

static void
terms_deinit_wipes_the_token(void **state)
{
    const struct hoop_join_options options = {
        .coordinator = "host:1",
        .token = "secret",
    };
    struct terms terms = resolved(&options);

    (void)state;
    assert_string_equal(terms.token, "secret");
    terms_deinit(&terms);
    for (size_t i = 0; i < sizeof(terms.token); i++)
        assert_int_equal(terms.token[i], 0);
}

/* Unless the log is off by word; by itself it is off, too. */
static void
terms_name_the_late_unless_silenced(void **state)
{
    static const struct {
        const char *log;
        uint32_t late_warning_ms;
    } rows[] = {{"off", 0}, {"error", 0}, {"warning", 2500}, {"debug", 2500}};

    (void)state;
    setenv("HOOP_COORDINATOR", "host:1", 1);
    assert_int_equal(resolved(NULL).late_warning_ms, 10000);
    setenv("HOOP_LATE_WARNING", "2.5", 1);
    assert_int_equal(resolved(NULL).late_warning_ms, 2500);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        setenv("HOOP_LOG", rows[i].log, 1);
        assert_int_equal(resolved(NULL).late_warning_ms,
                         rows[i].late_warning_ms);
    }
    setenv("HOOP_LOG", "debug", 1);
    setenv("HOOP_LATE_WARNING", "0", 1);
    assert_int_equal(resolved(NULL).late_warning_ms, 0);
}

static uint32_t
wait_notice_of(const struct hoop_join_options *options)
{
    return resolved(options).wait_notice_ms;
}

static void
terms_give_notice_of_a_wait_unless_silenced(void **state)
{
    (void)state;
    setenv("HOOP_COORDINATOR", "host:1", 1);
    assert_int_equal(wait_notice_of(NULL), 1000);
    setenv("HOOP_WAIT_NOTICE", "2.5", 1);
    setenv("HOOP_LOG", "warning", 1);
    assert_int_equal(wait_notice_of(NULL), 2500);
    setenv("HOOP_LOG", "off", 1);
    assert_int_equal(wait_notice_of(NULL), 0);
    unsetenv("HOOP_LOG");
    setenv("HOOP_WAIT_NOTICE", "0", 1);
    assert_int_equal(wait_notice_of(NULL), 0);
}

/* 1,024 lines a second help nobody. */
static void
terms_of_many_ranks_have_the_first_give_notice_first(void **state)
{
    const uint32_t ranks[] = {7, 8};
    struct hoop_join_options options = {
        .coordinator = "host:1", .world_size = 64, .rank = &ranks[1]};

    (void)state;
    assert_int_equal(wait_notice_of(&options), 1000);
    options.world_size = 65;
    assert_int_equal(wait_notice_of(&options), 10000);
    options.rank = &ranks[0];
    assert_int_equal(wait_notice_of(&options), 1000);
    options.rank = NULL;
    assert_int_equal(wait_notice_of(&options), 1000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(terms_without_anything_are_the_defaults,
                               environment_clear),
        cmocka_unit_test_setup(terms_without_a_coordinator_are_refused,
                               environment_clear),
        cmocka_unit_test_setup(terms_options_win_over_the_environment,
                               environment_clear),
        cmocka_unit_test_setup(terms_launcher_fills_what_was_not_said,
                               environment_clear),
        cmocka_unit_test_setup(terms_launcher_that_contradicts_is_not_believed,
                               environment_clear),
        cmocka_unit_test_setup(terms_rank_beyond_the_size_is_refused,
                               environment_clear),
        cmocka_unit_test_setup(terms_say_when_a_call_spins, environment_clear),
        cmocka_unit_test_setup(terms_give_notice_of_a_wait_unless_silenced,
                               environment_clear),
        cmocka_unit_test_setup(
            terms_of_many_ranks_have_the_first_give_notice_first,
            environment_clear),
        cmocka_unit_test_setup(terms_name_the_late_unless_silenced,
                               environment_clear),
        cmocka_unit_test_setup(terms_wrong_value_names_its_variable,
                               environment_clear),
        cmocka_unit_test_setup(terms_token_comes_from_its_file,
                               environment_clear),
        cmocka_unit_test_setup(terms_deinit_wipes_the_token, environment_clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
