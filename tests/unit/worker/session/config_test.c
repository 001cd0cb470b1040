/* tests/unit/worker/session/config_test.c - options, environment, launcher */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/settings.h"
#include "check.h"
#include "session/config.h"
#include "setting_values.h"
#include "temporary.h"

/* Only what the test sets. */
static int
environment_clear(void **state)
{
    assert_int_equal(clearenv(), 0);
    return 0;
}

static struct config
resolved(const struct hoop_join_options *options)
{
    struct config config;

    assert_ok(config_resolve(options, &config));
    return config;
}

static void
config_without_anything_are_the_defaults(void **state)
{
    setenv("HOOP_COORDINATOR", "host:1", 1);
    const struct config config = resolved(NULL);

    assert_string_equal(config.coordinator, "host:1");
    assert_string_equal(config.job, "default");
    assert_string_equal(config.token, "");
    assert_int_equal(config.rank, RENDEZVOUS_RANK_ANY);
    assert_int_equal(config.world_size, 0);
    assert_int_equal(config.join_timeout_ms, 60000);
    assert_int_equal(config.op_timeout_ms, 600000);
    assert_int_equal(config.ports.last, 0);
    assert_int_equal(config.codec, CODEC_NONE);
    assert_int_equal(config.checking, ENGINE_CHECK_FRAMES);
    assert_int_equal(config.spinning, ENGINE_SPIN_AUTO);
    assert_int_equal(config.log.level, LOG_OFF);
}

static void
config_without_a_coordinator_are_refused(void **state)
{
    struct config config;

    assert_int_equal(config_resolve(NULL, &config), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "HOOP_COORDINATOR"));
}

static void
config_options_win_over_the_environment(void **state)
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

    setenv("HOOP_COORDINATOR", "environment:1", 1);
    setenv("HOOP_JOB", "environment", 1);
    setenv("HOOP_RANK", "2", 1);
    setenv("HOOP_WORLD_SIZE", "9", 1);
    setenv("HOOP_JOIN_TIMEOUT", "9", 1);
    setenv("HOOP_TOKEN", "environment", 1);
    const struct config config = resolved(&options);

    assert_string_equal(config.coordinator, "option:1");
    assert_string_equal(config.job, "option");
    assert_string_equal(config.token, "environment");
    assert_int_equal(config.rank, 0);
    assert_int_equal(config.world_size, 3);
    assert_int_equal(config.join_timeout_ms, 1500);
    assert_int_equal(config.op_timeout_ms, 250);
    assert_int_equal(config.ports.first, 77);
    assert_int_equal(config.ports.last, 77);
    assert_int_equal(config.codec, CODEC_ZSTD);
    assert_int_equal(config.checking, ENGINE_CHECK_BEFORE_DATA);
}

/* An item over a member, a member over a variable, a variable over a
 * default. */
static void
config_settings_win_over_members_and_the_environment(void **state)
{
    const char *const settings[] = {"job=item", "timeout=3", "port=5000-5063",
                                    "wire_dtype=fp16", NULL};
    const struct hoop_join_options options = {
        .coordinator = "member:1",
        .job = "member",
        .op_timeout_ms = 250,
        .join_timeout_ms = 1500,
        .port = 77,
        .wire_dtype = "bf16",
        .settings = settings,
    };

    setenv("HOOP_COORDINATOR", "environment:1", 1);
    setenv("HOOP_JOB", "environment", 1);
    setenv("HOOP_TIMEOUT", "9", 1);
    setenv("HOOP_JOIN_TIMEOUT", "9", 1);
    setenv("HOOP_PORT", "99", 1);
    setenv("HOOP_WIRE_DTYPE", "int8", 1);
    setenv("HOOP_FAILURE_TIMEOUT", "4", 1);
    const struct config config = resolved(&options);

    assert_string_equal(config.coordinator, "member:1");
    assert_string_equal(config.job, "item");
    assert_int_equal(config.op_timeout_ms, 3000);
    assert_int_equal(config.join_timeout_ms, 1500);
    assert_int_equal(config.ports.first, 5000);
    assert_int_equal(config.ports.last, 5063);
    assert_int_equal(config.loss, LOSS_FP16);
    assert_int_equal(config.failure_timeout_ms, 4000);
    assert_int_equal(config.late_warning_ms, 10000);
}

/* Whatever the environment can say, a program can say. */
static void
config_of_settings_are_those_of_the_environment(void **state)
{
    char items[COUNT_OF(setting_values)][64];
    const char *settings[COUNT_OF(setting_values) + 1] = {0};

    for (size_t i = 0; i < COUNT_OF(setting_values); i++) {
        const struct setting_value *value = &setting_values[i];
        const struct setting *setting = setting_row(value->id);
        /* Only rank 0 keeps the path of tuning data. */
        const char *text = value->id == SETTING_RANK ? "0" : value->text;

        snprintf(items[i], sizeof(items[i]), "%s=%s", setting->name, text);
        settings[i] = items[i];
    }

    const struct config of_list =
        resolved(&(struct hoop_join_options){.settings = settings});
    for (size_t i = 0; i < COUNT_OF(setting_values); i++)
        setenv(setting_row(setting_values[i].id)->environment,
               strchr(items[i], '=') + 1, 1);
    const struct config of_environment = resolved(NULL);
    assert_memory_equal(&of_list, &of_environment, sizeof(of_list));
}

static void
config_launcher_fills_what_was_not_said(void **state)
{
    setenv("HOOP_COORDINATOR", "host:1", 1);
    setenv("SLURM_PROCID", "2", 1);
    setenv("SLURM_NTASKS", "4", 1);
    struct config config = resolved(NULL);
    assert_int_equal(config.rank, 2);
    assert_int_equal(config.world_size, 4);

    setenv("HOOP_RANK", "1", 1);
    config = resolved(NULL);
    assert_int_equal(config.rank, 1);
    assert_int_equal(config.world_size, 4);
}

static void
config_launcher_that_contradicts_is_not_believed(void **state)
{
    setenv("HOOP_COORDINATOR", "host:1", 1);
    setenv("SLURM_PROCID", "0", 1);
    setenv("SLURM_NTASKS", "1", 1);
    setenv("HOOP_WORLD_SIZE", "4", 1);
    struct config config = resolved(NULL);
    assert_int_equal(config.rank, RENDEZVOUS_RANK_ANY);
    assert_int_equal(config.world_size, 4);

    unsetenv("HOOP_WORLD_SIZE");
    setenv("HOOP_RANK", "3", 1);
    config = resolved(NULL);
    assert_int_equal(config.rank, 3);
    assert_int_equal(config.world_size, 0);
}

static void
config_rank_beyond_the_size_is_refused(void **state)
{
    struct config config;

    setenv("HOOP_COORDINATOR", "host:1", 1);
    setenv("HOOP_RANK", "4", 1);
    setenv("HOOP_WORLD_SIZE", "4", 1);
    assert_int_equal(config_resolve(NULL, &config), HOOP_E_INVALID);
    assert_string_equal(error_text(),
                        "rank 4 is not below the world size, 4: correct "
                        "HOOP_RANK or HOOP_WORLD_SIZE, or what the program "
                        "says instead");
}

/* Counted from 1, say. */
static void
config_rank_of_a_launcher_beyond_its_size_is_refused(void **state)
{
    struct config config;

    setenv("HOOP_COORDINATOR", "host:1", 1);
    setenv("RANK", "2", 1);
    setenv("WORLD_SIZE", "2", 1);
    assert_int_equal(config_resolve(NULL, &config), HOOP_E_INVALID);
    assert_string_equal(error_text(),
                        "RANK=2 is not below WORLD_SIZE=2: ranks begin with 0; "
                        "correct that, or set HOOP_RANK");
    setenv("HOOP_RANK", "1", 1);
    config = resolved(NULL);
    assert_int_equal(config.rank, 1);
    assert_int_equal(config.world_size, 2);
    unsetenv("HOOP_RANK");
    setenv("HOOP_WORLD_SIZE", "4", 1);
    config = resolved(NULL);
    assert_int_equal(config.rank, RENDEZVOUS_RANK_ANY);
}

static void
config_say_when_a_call_spins(void **state)
{
    setenv("HOOP_COORDINATOR", "host:1", 1);
    setenv("HOOP_DEBUG_SPIN", "never", 1);
    assert_int_equal(resolved(NULL).spinning, ENGINE_SPIN_NEVER);
    setenv("HOOP_DEBUG_SPIN", "always", 1);
    assert_int_equal(resolved(NULL).spinning, ENGINE_SPIN_ALWAYS);
}

static void
config_wrong_value_names_its_variable(void **state)
{
    struct config config;

    setenv("HOOP_COORDINATOR", "host:1", 1);
    setenv("HOOP_CODEC", "gzip", 1);
    assert_int_equal(config_resolve(NULL, &config), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "HOOP_CODEC"));
    setenv("HOOP_CODEC", "auto", 1);
    setenv("HOOP_WIRE_DTYPE", "bf16", 1);
    assert_ok(config_resolve(NULL, &config));
    assert_int_equal(config.codec, CODEC_AUTO);
    assert_int_equal(config.loss, LOSS_BF16);
    config_deinit(&config);
}

static void
config_token_comes_from_its_file(void **state)
{
    char path[TEMPORARY_PATH] = "hoop_terms.XXXXXX";
    const int fd = temporary_file(path, sizeof(path));

    assert_int_equal(write(fd, "from the file\n", 14), 14);
    close(fd);
    setenv("HOOP_COORDINATOR", "host:1", 1);
    setenv("HOOP_TOKEN_FILE", path, 1);
    struct config config = resolved(NULL);
    assert_string_equal(config.token, "from the file");

    setenv("HOOP_TOKEN", "by itself", 1);
    config = resolved(NULL);
    assert_string_equal(config.token, "by itself");
    unlink(path);

    unsetenv("HOOP_TOKEN");
    assert_int_equal(config_resolve(NULL, &config), HOOP_E_NOT_FOUND);
}

/* Unless the log is off by word; by itself it is off, too. */
static void
config_name_the_late_unless_silenced(void **state)
{
    static const struct {
        const char *log;
        uint32_t late_warning_ms;
    } rows[] = {{"off", 0}, {"error", 0}, {"warning", 2500}, {"debug", 2500}};

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
config_give_notice_of_a_wait_unless_silenced(void **state)
{
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
config_of_many_ranks_have_the_first_of_a_host_give_notice_first(void **state)
{
    const uint32_t ranks[] = {7, 8};
    struct hoop_join_options options = {
        .coordinator = "host:1", .world_size = 64, .rank = &ranks[1]};

    assert_int_equal(wait_notice_of(&options), 1000);
    options.world_size = 65;
    /* It may be the only one on its host. */
    assert_int_equal(wait_notice_of(&options), 1000);
    setenv("LOCAL_RANK", "7", 1);
    assert_int_equal(wait_notice_of(&options), 1000);
    setenv("LOCAL_RANK", "8", 1);
    assert_int_equal(wait_notice_of(&options), 10000);
    options.world_size = 64;
    assert_int_equal(wait_notice_of(&options), 1000);
    options.world_size = 65;
    options.rank = &ranks[0];
    assert_int_equal(wait_notice_of(&options), 1000);
    unsetenv("LOCAL_RANK");
    options.rank = NULL;
    assert_int_equal(wait_notice_of(&options), 1000);
}

/* What a job grows by has a name of the library's own. */
static void
config_of_what_a_job_grows_by_name_the_job(void **state)
{
    assert_string_equal(config_job_name(&(struct config){.job = "train"}),
                        "train");
    assert_string_equal(config_job_name(&(struct config){
                            .job = "train+1.1.1", .place.root = "train"}),
                        "train");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(config_of_what_a_job_grows_by_name_the_job),
        cmocka_unit_test_setup(config_without_anything_are_the_defaults,
                               environment_clear),
        cmocka_unit_test_setup(config_without_a_coordinator_are_refused,
                               environment_clear),
        cmocka_unit_test_setup(config_options_win_over_the_environment,
                               environment_clear),
        cmocka_unit_test_setup(
            config_settings_win_over_members_and_the_environment,
            environment_clear),
        cmocka_unit_test_setup(config_of_settings_are_those_of_the_environment,
                               environment_clear),
        cmocka_unit_test_setup(config_launcher_fills_what_was_not_said,
                               environment_clear),
        cmocka_unit_test_setup(config_launcher_that_contradicts_is_not_believed,
                               environment_clear),
        cmocka_unit_test_setup(
            config_rank_of_a_launcher_beyond_its_size_is_refused,
            environment_clear),
        cmocka_unit_test_setup(config_rank_beyond_the_size_is_refused,
                               environment_clear),
        cmocka_unit_test_setup(config_say_when_a_call_spins, environment_clear),
        cmocka_unit_test_setup(config_give_notice_of_a_wait_unless_silenced,
                               environment_clear),
        cmocka_unit_test_setup(
            config_of_many_ranks_have_the_first_of_a_host_give_notice_first,
            environment_clear),
        cmocka_unit_test_setup(config_name_the_late_unless_silenced,
                               environment_clear),
        cmocka_unit_test_setup(config_wrong_value_names_its_variable,
                               environment_clear),
        cmocka_unit_test_setup(config_token_comes_from_its_file,
                               environment_clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
