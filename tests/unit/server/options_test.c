/* tests/unit/server/options_test.c - server/options.c */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "check.h"
#include "options.h"
#include "temporary.h"

/* Arguments behind the program's name, up to NULL. */
static enum hoop_status
read_options(const char *const *arguments, struct options *options)
{
    const char *argv[8] = {"hoopd"};
    int argc = 1;

    for (; arguments[argc - 1]; argc++)
        argv[argc] = arguments[argc - 1];
    return options_init(argc, (char **)argv, options);
}

static void
file_make(char path[TEMPORARY_PATH], const char *text)
{
    strcpy(path, "options_test.XXXXXX");
    const int fd = temporary_file(path, TEMPORARY_PATH);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void
defaults_serve(void **state)
{
    CLEANUP(options_deinit) struct options options = {0};

    assert_ok(read_options((const char *const[]){NULL}, &options));
    assert_int_equal(options.task, OPTIONS_TASK_SERVE);
    assert_int_equal(options.log_level, LOG_INFO);
    assert_int_equal(options.log_format, LOG_TEXT);
    assert_int_equal(options.coordinator.lease_ms, 10000);
    assert_non_null(options.coordinator.listen);
    assert_null(options.coordinator.token);
}

static void
command_line_wins_over_environment_over_file(void **state)
{
    CLEANUP(options_deinit) struct options options = {0};
    char path[TEMPORARY_PATH];

    file_make(path, "lease = 1\nsettle = 2\nworld_size = 3\n");
    setenv("HOOP_LEASE", "4", 1);
    setenv("HOOP_SETTLE", "5", 1);
    assert_ok(read_options(
        (const char *const[]){"--lease=6", "--config", path, NULL}, &options));
    assert_int_equal(options.coordinator.lease_ms, 6000);
    assert_int_equal(options.coordinator.settle_ms, 5000);
    assert_int_equal(options.coordinator.world_size, 3);
    unsetenv("HOOP_LEASE");
    unsetenv("HOOP_SETTLE");
    unlink(path);
}

static void
repair_needs_the_folder(void **state)
{
    CLEANUP(options_deinit) struct options options = {0};
    CLEANUP(options_deinit) struct options nowhere = {0};

    assert_ok(read_options(
        (const char *const[]){"--data-repair", "--data-dir=/d", NULL},
        &options));
    assert_int_equal(options.task, OPTIONS_TASK_REPAIR);
    assert_string_equal(options.coordinator.data_dir, "/d");
    assert_int_equal(
        read_options((const char *const[]){"--data-repair", NULL}, &nowhere),
        HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "--data-dir"));
}

static void
data_are_for_the_disk_and_a_standby_needs_them(void **state)
{
    CLEANUP(options_deinit) struct options options = {0};
    CLEANUP(options_deinit) struct options process = {0};
    CLEANUP(options_deinit) struct options standby = {0};
    CLEANUP(options_deinit) struct options memory = {0};

    assert_ok(
        read_options((const char *const[]){"--data-dir=/d", NULL}, &options));
    assert_string_equal(options.coordinator.data_dir, "/d");
    assert_int_equal(options.coordinator.durability, HOOP_DURABLE_DISK);
    assert_false(options.is_standby);
    assert_ok(
        read_options((const char *const[]){"--data-dir=/d", "--standby=on",
                                           "--durability=process", NULL},
                     &process));
    assert_int_equal(process.coordinator.durability, HOOP_DURABLE_PROCESS);
    assert_true(process.is_standby);
    assert_int_equal(
        read_options((const char *const[]){"--standby=on", NULL}, &standby),
        HOOP_E_INVALID);
    assert_int_equal(
        read_options((const char *const[]){"--data-dir=/d", "--standby=on",
                                           "--durability=memory", NULL},
                     &memory),
        HOOP_E_INVALID);
}

static void
token_comes_from_its_file(void **state)
{
    CLEANUP(options_deinit) struct options options = {0};
    char path[TEMPORARY_PATH];

    file_make(path, "secret\n");
    assert_ok(read_options((const char *const[]){"--token-file", path, NULL},
                           &options));
    assert_string_equal(options.coordinator.token, "secret");
    unlink(path);
}

static void
token_of_the_environment_is_taken_unless_the_command_line_names_a_file(
    void **state)
{
    CLEANUP(options_deinit) struct options plain = {0};
    CLEANUP(options_deinit) struct options both = {0};
    CLEANUP(options_deinit) struct options named = {0};
    char path[TEMPORARY_PATH];

    file_make(path, "of the file\n");
    setenv("HOOP_TOKEN", "of the environment", 1);
    assert_ok(read_options((const char *const[]){NULL}, &plain));
    assert_string_equal(plain.coordinator.token, "of the environment");
    assert_ok(read_options((const char *const[]){"--token-file", path, NULL},
                           &named));
    assert_string_equal(named.coordinator.token, "of the file");
    setenv("HOOP_TOKEN_FILE", path, 1);
    assert_ok(read_options((const char *const[]){NULL}, &both));
    assert_string_equal(both.coordinator.token, "of the environment");
    unsetenv("HOOP_TOKEN");
    unsetenv("HOOP_TOKEN_FILE");
    unlink(path);
}

/* Where it listens that is not told; variable NULL: none. */
static void
assert_listens(const char *variable, const char *option, const char *host)
{
    CLEANUP(options_deinit) struct options options = {0};
    char listen[LIMIT_ADDRESS];
    char http[LIMIT_ADDRESS];

    if (variable)
        setenv(variable, "1", 1);
    assert_ok(read_options((const char *const[]){option, NULL}, &options));
    snprintf(listen, sizeof(listen), "%s:4667", host);
    snprintf(http, sizeof(http), "%s:4668", host);
    assert_string_equal(options.coordinator.listen, listen);
    assert_string_equal(options.coordinator.http, http);
    if (variable)
        unsetenv(variable);
}

static void
listens_on_loopback_unless_strangers_are_kept_out_or_let_in(void **state)
{
    assert_listens(NULL, NULL, "localhost");
    assert_listens(NULL, "--tls=off", "localhost");
    assert_listens(NULL, "--insecure-open=off", "localhost");
    assert_listens(NULL, "--insecure-open=0", "localhost");
    assert_listens("HOOP_TLS_CA", NULL, "localhost");
    assert_listens("HOOP_TOKEN", NULL, "0.0.0.0");
    assert_listens("HOOP_TLS_CA", "--tls=on", "0.0.0.0");
    assert_listens("HOOP_INSECURE_OPEN", NULL, "0.0.0.0");
    assert_listens(NULL, "--insecure-open", "0.0.0.0");
    assert_listens(NULL, "--insecure-open=1", "0.0.0.0");
    assert_listens(NULL, "--insecure-open=on", "0.0.0.0");
}

static void
missing_files_are_not_found(void **state)
{
    CLEANUP(options_deinit) struct options first = {0};
    CLEANUP(options_deinit) struct options second = {0};

    assert_int_equal(
        read_options((const char *const[]){"--token-file=/nowhere", NULL},
                     &first),
        HOOP_E_NOT_FOUND);
    assert_int_equal(
        read_options((const char *const[]){"--config=/nowhere", NULL}, &second),
        HOOP_E_NOT_FOUND);
}

static void
http_none_is_none(void **state)
{
    CLEANUP(options_deinit) struct options options = {0};

    assert_ok(
        read_options((const char *const[]){"--http=none", NULL}, &options));
    assert_null(options.coordinator.http);
}

static void
check_asks_ourselves_unless_told(void **state)
{
    CLEANUP(options_deinit) struct options any = {0};
    CLEANUP(options_deinit) struct options own = {0};
    CLEANUP(options_deinit) struct options other = {0};

    assert_ok(read_options(
        (const char *const[]){"--listen=*:7000", "--check", NULL}, &any));
    assert_int_equal(any.task, OPTIONS_TASK_CHECK);
    assert_non_null(strstr(any.check, ":7000"));
    assert_null(strstr(any.check, "*"));
    assert_ok(read_options(
        (const char *const[]){"--listen=10.0.0.1:7000", "--check", NULL},
        &own));
    assert_string_equal(own.check, "10.0.0.1:7000");
    assert_ok(read_options((const char *const[]){"--check", "node:7001", NULL},
                           &other));
    assert_string_equal(other.check, "node:7001");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_serve),
        cmocka_unit_test(command_line_wins_over_environment_over_file),
        cmocka_unit_test(repair_needs_the_folder),
        cmocka_unit_test(data_are_for_the_disk_and_a_standby_needs_them),
        cmocka_unit_test(token_comes_from_its_file),
        cmocka_unit_test(
            token_of_the_environment_is_taken_unless_the_command_line_names_a_file),
        cmocka_unit_test(
            listens_on_loopback_unless_strangers_are_kept_out_or_let_in),
        cmocka_unit_test(missing_files_are_not_found),
        cmocka_unit_test(http_none_is_none),
        cmocka_unit_test(check_asks_ourselves_unless_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
