/* tests/unit/server/options_test.c - server/options.c */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "options.h"

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
file_make(char path[32], const char *text)
{
    strcpy(path, "/tmp/options_test.XXXXXX");
    const int fd = mkstemp(path);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void
defaults_serve(void **state)
{
    CLEANUP(options_deinit) struct options options = {0};

    (void)state;
    assert_int_equal(read_options((const char *const[]){NULL}, &options),
                     HOOP_OK);
    assert_int_equal(options.task, OPTIONS_SERVE);
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
    char path[32];

    (void)state;
    file_make(path, "lease = 1\nsettle = 2\nworld_size = 3\n");
    setenv("HOOP_LEASE", "4", 1);
    setenv("HOOP_SETTLE", "5", 1);
    assert_int_equal(
        read_options((const char *const[]){"--lease=6", "--config", path, NULL},
                     &options),
        HOOP_OK);
    assert_int_equal(options.coordinator.lease_ms, 6000);
    assert_int_equal(options.coordinator.settle_ms, 5000);
    assert_int_equal(options.coordinator.world_size, 3);
    unsetenv("HOOP_LEASE");
    unsetenv("HOOP_SETTLE");
    unlink(path);
}

static void
data_are_for_the_disk_and_a_standby_needs_them(void **state)
{
    CLEANUP(options_deinit) struct options options = {0};
    CLEANUP(options_deinit) struct options process = {0};
    CLEANUP(options_deinit) struct options standby = {0};
    CLEANUP(options_deinit) struct options memory = {0};

    (void)state;
    assert_int_equal(
        read_options((const char *const[]){"--data-dir=/d", NULL}, &options),
        HOOP_OK);
    assert_string_equal(options.coordinator.data_dir, "/d");
    assert_int_equal(options.coordinator.durability, HOOP_DURABLE_DISK);
    assert_false(options.is_standby);
    assert_int_equal(
        read_options((const char *const[]){"--data-dir=/d", "--standby=on",
                                           "--durability=process", NULL},
                     &process),
        HOOP_OK);
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
    char path[32];

    (void)state;
    file_make(path, "secret\n");
    assert_int_equal(
        read_options((const char *const[]){"--token-file", path, NULL},
                     &options),
        HOOP_OK);
    assert_string_equal(options.coordinator.token, "secret");
    unlink(path);
}

static void
missing_files_are_not_found(void **state)
{
    CLEANUP(options_deinit) struct options first = {0};
    CLEANUP(options_deinit) struct options second = {0};

    (void)state;
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

    (void)state;
    assert_int_equal(
        read_options((const char *const[]){"--http=none", NULL}, &options),
        HOOP_OK);
    assert_null(options.coordinator.http);
}

static void
check_asks_ourselves_unless_told(void **state)
{
    CLEANUP(options_deinit) struct options any = {0};
    CLEANUP(options_deinit) struct options own = {0};
    CLEANUP(options_deinit) struct options other = {0};

    (void)state;
    assert_int_equal(
        read_options((const char *const[]){"--listen=*:7000", "--check", NULL},
                     &any),
        HOOP_OK);
    assert_int_equal(any.task, OPTIONS_CHECK);
    assert_non_null(strstr(any.check, ":7000"));
    assert_null(strstr(any.check, "*"));
    assert_int_equal(
        read_options(
            (const char *const[]){"--listen=10.0.0.1:7000", "--check", NULL},
            &own),
        HOOP_OK);
    assert_string_equal(own.check, "10.0.0.1:7000");
    assert_int_equal(
        read_options((const char *const[]){"--check", "node:7001", NULL},
                     &other),
        HOOP_OK);
    assert_string_equal(other.check, "node:7001");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_serve),
        cmocka_unit_test(command_line_wins_over_environment_over_file),
        cmocka_unit_test(data_are_for_the_disk_and_a_standby_needs_them),
        cmocka_unit_test(token_comes_from_its_file),
        cmocka_unit_test(missing_files_are_not_found),
        cmocka_unit_test(http_none_is_none),
        cmocka_unit_test(check_asks_ourselves_unless_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
