/* tests/unit/server/coordinator_test.c - the embedded coordinator */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hoop/coordinator.h"

#include "base/cleanup.h"
#include "base/limits.h"
#include "certificates.h"
#include "check.h"
#include "probe.h"
#include "temporary.h"

DEFINE_CLEANUP(hoop_coordinator_t *, hoop_coordinator_destroy)

static const struct hoop_coordinator_options local = {
    .listen = "127.0.0.1:0",
    .http = "127.0.0.1:0",
};

static void
bound_addresses_are_told(void **state)
{
    CLEANUP(hoop_coordinator_destroy) hoop_coordinator_t *coordinator = NULL;
    unsigned port = 0;

    assert_ok(hoop_coordinator_start(&local, &coordinator));
    assert_int_equal(
        sscanf(hoop_coordinator_address(coordinator), "127.0.0.1:%u", &port),
        1);
    assert_true(port > 0);
    assert_int_equal(sscanf(hoop_coordinator_http_address(coordinator),
                            "127.0.0.1:%u", &port),
                     1);
    assert_true(port > 0);
}

static void
default_address_is_any_port_of_loopback(void **state)
{
    CLEANUP(hoop_coordinator_destroy) hoop_coordinator_t *coordinator = NULL;
    const struct hoop_coordinator_options options = {0};
    unsigned port = 0;

    assert_ok(hoop_coordinator_start(&options, &coordinator));
    assert_int_equal(
        sscanf(hoop_coordinator_address(coordinator), "127.0.0.1:%u", &port),
        1);
    assert_true(port > 0);
    assert_null(hoop_coordinator_http_address(coordinator));
    assert_ok(
        coordinator_probe_run(hoop_coordinator_address(coordinator), NULL));
}

static void
coordinator_serves_until_it_is_stopped(void **state)
{
    CLEANUP(hoop_coordinator_destroy) hoop_coordinator_t *coordinator = NULL;

    assert_ok(hoop_coordinator_start(&local, &coordinator));
    assert_ok(
        coordinator_probe_run(hoop_coordinator_address(coordinator), NULL));
    hoop_coordinator_stop(coordinator);
    hoop_coordinator_stop(coordinator);
}

static void
two_live_in_one_process(void **state)
{
    CLEANUP(hoop_coordinator_destroy) hoop_coordinator_t *first = NULL;
    CLEANUP(hoop_coordinator_destroy) hoop_coordinator_t *second = NULL;
    struct hoop_coordinator_options options = {.listen = "127.0.0.1:0"};

    assert_ok(hoop_coordinator_start(&options, &first));
    assert_ok(hoop_coordinator_start(&options, &second));
    assert_string_not_equal(hoop_coordinator_address(first),
                            hoop_coordinator_address(second));
    assert_null(hoop_coordinator_http_address(first));
    hoop_coordinator_destroy(STEAL(first));
    assert_ok(coordinator_probe_run(hoop_coordinator_address(second), NULL));
}

static void
address_in_use_is_unavailable(void **state)
{
    CLEANUP(hoop_coordinator_destroy) hoop_coordinator_t *first = NULL;
    hoop_coordinator_t *second = NULL;

    assert_ok(hoop_coordinator_start(&local, &first));
    const struct hoop_coordinator_options same = {
        .listen = hoop_coordinator_address(first)};
    assert_int_equal(hoop_coordinator_start(&same, &second),
                     HOOP_E_UNAVAILABLE);
    assert_null(second);
    assert_non_null(strstr(hoop_coordinator_error_text(), same.listen));
}

static void
http_address_in_use_is_unavailable(void **state)
{
    CLEANUP(hoop_coordinator_destroy) hoop_coordinator_t *first = NULL;
    hoop_coordinator_t *second = NULL;

    assert_ok(hoop_coordinator_start(&local, &first));
    const struct hoop_coordinator_options same = {
        .listen = "127.0.0.1:0",
        .http = hoop_coordinator_http_address(first),
    };
    assert_int_equal(hoop_coordinator_start(&same, &second),
                     HOOP_E_UNAVAILABLE);
    assert_null(second);
}

static void
second_on_the_same_data_is_refused(void **state)
{
    CLEANUP(hoop_coordinator_destroy) hoop_coordinator_t *first = NULL;
    hoop_coordinator_t *second = NULL;
    char folder[TEMPORARY_PATH] = "hoop-data.XXXXXX";
    char path[TEMPORARY_FILE];

    assert_non_null(temporary_folder(folder, sizeof(folder)));
    const struct hoop_coordinator_options options = {.listen = "127.0.0.1:0",
                                                     .data_dir = folder};
    assert_ok(hoop_coordinator_start(&options, &first));
    assert_int_equal(hoop_coordinator_start(&options, &second), HOOP_E_EXISTS);
    assert_null(second);
    assert_non_null(strstr(hoop_coordinator_error_text(), folder));
    assert_ok(coordinator_probe_run(hoop_coordinator_address(first), NULL));

    hoop_coordinator_destroy(STEAL(first));
    assert_ok(hoop_coordinator_start(&options, &first));
    hoop_coordinator_destroy(STEAL(first));
    snprintf(path, sizeof(path), "%s/hoopd.mdb", folder);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof(path), "%s/hoopd.lock", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void
options_with_a_bad_address_are_invalid(void **state)
{
    hoop_coordinator_t *coordinator = NULL;

    assert_int_equal(hoop_coordinator_start(NULL, &coordinator),
                     HOOP_E_INVALID);
    assert_int_equal(
        hoop_coordinator_start(
            &(struct hoop_coordinator_options){.listen = "nonsense"},
            &coordinator),
        HOOP_E_INVALID);
    assert_null(coordinator);
    hoop_coordinator_destroy(NULL);
}

static void
under_tls_it_serves_who_knows_the_token(void **state)
{
    CLEANUP(hoop_coordinator_destroy) hoop_coordinator_t *coordinator = NULL;
    const struct hoop_coordinator_options options = {
        .listen = "127.0.0.1:0", .token = "secret", .tls = "on"};
    struct hoop_coordinator_options other = options;

    other.token = "other";
    assert_ok(hoop_coordinator_start(&options, &coordinator));
    const char *address = hoop_coordinator_address(coordinator);
    assert_ok(coordinator_probe_run(address, &options));
    assert_int_equal(coordinator_probe_run(address, &other),
                     HOOP_E_UNAUTHENTICATED);
    assert_int_equal(coordinator_probe_run(address, NULL),
                     HOOP_E_UNAUTHENTICATED);
}

static void
under_tls_it_serves_who_has_a_certificate(void **state)
{
    CLEANUP(hoop_coordinator_destroy) hoop_coordinator_t *coordinator = NULL;
    const struct hoop_coordinator_options options = {
        .listen = "127.0.0.1:0",
        .token = "secret",
        .tls = "on",
        .tls_cert = certificates_path("good", "pem"),
        .tls_key = certificates_path("good", "key"),
        .tls_ca = certificates_path("ca", "pem"),
    };
    struct hoop_coordinator_options other = options;

    assert_ok(hoop_coordinator_start(&options, &coordinator));
    const char *address = hoop_coordinator_address(coordinator);
    assert_ok(coordinator_probe_run(address, &options));
    other.tls_cert = certificates_path("stranger", "pem");
    other.tls_key = certificates_path("stranger", "key");
    assert_int_equal(coordinator_probe_run(address, &other),
                     HOOP_E_UNAUTHENTICATED);
}

static void
tls_of_nothing_is_refused(void **state)
{
    struct hoop_coordinator_options options = {.listen = "127.0.0.1:0",
                                               .tls = "on"};
    hoop_coordinator_t *coordinator = NULL;

    assert_int_equal(hoop_coordinator_start(&options, &coordinator),
                     HOOP_E_INVALID);
    assert_non_null(strstr(hoop_coordinator_error_text(), "token"));
    options.token = "secret";
    options.tls = "perhaps";
    assert_int_equal(hoop_coordinator_start(&options, &coordinator),
                     HOOP_E_INVALID);
    assert_non_null(strstr(hoop_coordinator_error_text(), "perhaps"));
    options.tls = "on";
    options.tls_cert = "/nowhere/certificate.pem";
    assert_int_equal(hoop_coordinator_start(&options, &coordinator),
                     HOOP_E_INVALID);
    assert_null(coordinator);
}

static void
callers_signals_are_as_before(void **state)
{
    CLEANUP(hoop_coordinator_destroy) hoop_coordinator_t *coordinator = NULL;
    sigset_t before;
    sigset_t after;

    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_ok(hoop_coordinator_start(&local, &coordinator));
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(sigismember(&before, SIGTERM),
                     sigismember(&after, SIGTERM));
    assert_int_equal(sigismember(&after, SIGTERM), 0);
}

/* Without a token it is for this host alone, and clients find it on both. */
static void
coordinator_on_localhost_serves_both_loopbacks(void **state)
{
    const struct hoop_coordinator_options options = {.listen = "localhost:0",
                                                     .http = "localhost:0"};
    CLEANUP(hoop_coordinator_destroy) hoop_coordinator_t *coordinator = NULL;
    char both[2 * LIMIT_ADDRESS];

    assert_ok(hoop_coordinator_start(&options, &coordinator));
    snprintf(both, sizeof(both), "%s", hoop_coordinator_address(coordinator));
    char *second = strchr(both, ',');
    assert_non_null(second);
    *second++ = '\0';
    assert_ptr_equal(strstr(both, "127.0.0.1:"), both);
    assert_ptr_equal(strstr(second, "[::1]:"), second);
    assert_ok(coordinator_probe_run(both, NULL));
    assert_ok(coordinator_probe_run(second, NULL));
    assert_non_null(
        strstr(hoop_coordinator_http_address(coordinator), ",[::1]:"));
}

static void
coordinator_without_a_token_is_not_for_other_hosts(void **state)
{
    struct hoop_coordinator_options options = {.listen = "0.0.0.0:0"};
    hoop_coordinator_t *coordinator = NULL;

    assert_int_equal(hoop_coordinator_start(&options, &coordinator),
                     HOOP_E_DENIED);
    assert_non_null(strstr(hoop_coordinator_error_text(), "0.0.0.0:0"));
    options.insecure_open = "on";
    assert_ok(hoop_coordinator_start(&options, &coordinator));
    hoop_coordinator_destroy(coordinator);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bound_addresses_are_told),
        cmocka_unit_test(default_address_is_any_port_of_loopback),
        cmocka_unit_test(coordinator_serves_until_it_is_stopped),
        cmocka_unit_test(two_live_in_one_process),
        cmocka_unit_test(address_in_use_is_unavailable),
        cmocka_unit_test(http_address_in_use_is_unavailable),
        cmocka_unit_test(second_on_the_same_data_is_refused),
        cmocka_unit_test(options_with_a_bad_address_are_invalid),
        cmocka_unit_test(under_tls_it_serves_who_knows_the_token),
        cmocka_unit_test(under_tls_it_serves_who_has_a_certificate),
        cmocka_unit_test(tls_of_nothing_is_refused),
        cmocka_unit_test(coordinator_on_localhost_serves_both_loopbacks),
        cmocka_unit_test(coordinator_without_a_token_is_not_for_other_hosts),
        cmocka_unit_test(callers_signals_are_as_before),
    };
    return cmocka_run_group_tests(tests, certificates_make,
                                  certificates_remove);
}
