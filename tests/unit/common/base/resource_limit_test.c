/* tests/unit/common/base/resource_limit_test.c - limits are named by value */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/process.h"
#include "check.h"

enum {
    N_FILES = 23,
    TOO_LARGE = 1 << 30,
    ROOM = 64 << 20,
};

static void
full_table_of_files_names_the_limit_and_its_value(void **state)
{
    const struct rlimit low = {N_FILES, N_FILES};
    char text[RESOURCE_LIMIT_TEXT];
    struct rlimit before;
    int fds[N_FILES];
    int n = 0;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    const struct rlimit lower = {low.rlim_cur, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &lower), 0);
    while (n < N_FILES && (fds[n] = open("/dev/null", O_RDONLY)) >= 0)
        n++;
    const int error = errno;
    resource_error_describe(RESOURCE_DESCRIPTOR, error, text);
    while (n > 0)
        close(fds[--n]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);

    assert_int_equal(error, EMFILE);
    assert_int_equal(resource_error_status(RESOURCE_DESCRIPTOR, error),
                     HOOP_E_EXHAUSTED);
    assert_string_equal(
        text, "its process may open 23 files (RLIMIT_NOFILE, ulimit -n)");
}

static void
mapping_beyond_the_address_space_names_the_limit(void **state)
{
    char expected[RESOURCE_LIMIT_TEXT];
    char text[RESOURCE_LIMIT_TEXT];
    struct rlimit before;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* Shadow memory takes more than any limit. */
#endif
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    const struct rlimit lower = {ROOM, before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &lower), 0);
    void *base =
        mmap(NULL, TOO_LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const int error = errno;
    resource_error_describe(RESOURCE_MAPPING, error, text);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);

    assert_ptr_equal(base, MAP_FAILED);
    assert_int_equal(resource_error_status(RESOURCE_MAPPING, error),
                     HOOP_E_EXHAUSTED);
    snprintf(expected, sizeof(expected),
             "its process may map %d bytes of memory (RLIMIT_AS, ulimit -v)",
             ROOM);
    assert_string_equal(text, expected);
}

static void
limits_of_the_host_are_named_with_their_values(void **state)
{
    char text[RESOURCE_LIMIT_TEXT];

    resource_error_describe(RESOURCE_CONNECT, EADDRNOTAVAIL, text);
    assert_non_null(strstr(text, ", net.ipv4.ip_local_port_range"));
    resource_error_describe(RESOURCE_DESCRIPTOR, ENFILE, text);
    assert_non_null(strstr(text, ", fs.file-max)"));
    resource_error_describe(RESOURCE_DESCRIPTOR, ENOBUFS, text);
    assert_non_null(strstr(text, "net.ipv4.tcp_mem"));
    resource_error_describe(RESOURCE_CONNECT, EACCES, text);
    assert_non_null(strstr(text, "firewall"));
    resource_error_describe(RESOURCE_WATCH, ENOSPC, text);
    assert_non_null(strstr(text, ", fs.epoll.max_user_watches"));
    resource_error_describe(RESOURCE_WATCH, ENOMEM, text);
    assert_non_null(strstr(text, "memory cgroup"));
    resource_error_describe(RESOURCE_THREAD, EAGAIN, text);
    assert_non_null(strstr(text, "pids.max"));
}

/* As by a process that has run out of descriptors. */
static void
limits_whose_values_cannot_be_read_are_named_without(void **state)
{
    struct rlimit before;
    char text[RESOURCE_LIMIT_TEXT];
    char ports[RESOURCE_LIMIT_TEXT];

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(
        setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, before.rlim_max}), 0);
    resource_error_describe(RESOURCE_DESCRIPTOR, ENFILE, text);
    resource_error_describe(RESOURCE_CONNECT, EADDRNOTAVAIL, ports);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_string_equal(text, "its host may open no more files (fs.file-max)");
    assert_non_null(strstr(ports, "address (net.ipv4.ip_local_port_range)"));
}

static void
failures_that_others_may_cause_are_no_limits(void **state)
{
    static const int errors[] = {ECONNREFUSED, ECONNRESET, ETIMEDOUT,
                                 EHOSTUNREACH, ENETUNREACH};
    char text[RESOURCE_LIMIT_TEXT];

    for (size_t i = 0; i < sizeof(errors) / sizeof(*errors); i++) {
        assert_int_equal(resource_error_status(RESOURCE_CONNECT, errors[i]),
                         HOOP_E_UNAVAILABLE);
        assert_string_equal(
            resource_error_describe(RESOURCE_CONNECT, errors[i], text),
            strerror(errors[i]));
    }
    /* An address that this host does not have, or not for this user. */
    assert_int_equal(resource_error_status(RESOURCE_DESCRIPTOR, EADDRNOTAVAIL),
                     HOOP_E_UNAVAILABLE);
    assert_int_equal(resource_error_status(RESOURCE_CONNECT, EADDRNOTAVAIL),
                     HOOP_E_EXHAUSTED);
    assert_int_equal(resource_error_status(RESOURCE_CONNECT, EPERM),
                     HOOP_E_DENIED);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_table_of_files_names_the_limit_and_its_value),
        cmocka_unit_test(mapping_beyond_the_address_space_names_the_limit),
        cmocka_unit_test(limits_of_the_host_are_named_with_their_values),
        cmocka_unit_test(limits_whose_values_cannot_be_read_are_named_without),
        cmocka_unit_test(failures_that_others_may_cause_are_no_limits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
