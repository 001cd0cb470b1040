/* tests/unit/worker/transport/connect/dial_error_test.c - transport/connect/dial_error.c */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "transport/connect/dial_error.h"

DEFINE_CLEANUP(struct roster *, roster_destroy)

/* Rank 1 advertises address. This rank is on host_id "a". */
static struct roster *
roster_make(const char *address, const char *host_id)
{
    struct roster *roster = NULL;

    assert_ok(roster_create(2, &roster));
    struct member *peer = &roster->members[1];
    assert_ok(address_parse("10.0.0.1:7000", &roster->members[0].address));
    snprintf(roster->members[0].host_id, LIMIT_NAME, "a");
    assert_ok(address_parse(address, &peer->address));
    peer->rank = 1;
    snprintf(peer->host_id, LIMIT_NAME, "%s", host_id);
    return roster;
}

/* error 0: nothing answered. */
static void
expect(const char *address, const char *host_id, int error, const char *text)
{
    CLEANUP(roster_destroy)
    struct roster *roster = roster_make(address, host_id);
    const enum hoop_status status = error ? HOOP_E_UNAVAILABLE : HOOP_E_TIMEOUT;
    char why[LIMIT_NAME];

    snprintf(why, sizeof(why), "cannot connect to %s: %s", address,
             error ? strerror(error) : "no handshake within 5 s");
    const struct dial_failure failure = {
        .rank = 1, .status = status, .why = why};
    assert_int_equal(dial_error_raise(roster, &failure), status);
    assert_string_equal(error_text(), text);
    /* The coordinator keeps all of it. */
    assert_true(strlen(error_text()) < 200);
}

static void
every_cause_has_its_advice(void **state)
{
    expect("127.0.0.1:50001", "b", ECONNREFUSED,
           "rank 1 advertises 127.0.0.1:50001, which only its own host "
           "reaches: correct HOOP_ADVERTISE there or, where it is not set, "
           "HOOP_COORDINATOR, which is localhost there");
    expect("[::1]:50001", "b", 0,
           "rank 1 advertises [::1]:50001, which only its own host reaches: "
           "correct HOOP_ADVERTISE there or, where it is not set, "
           "HOOP_COORDINATOR, which is localhost there");
    expect("127.0.0.1:50001", "a", ECONNREFUSED,
           "no connection to 127.0.0.1:50001, advertised by rank 1: Connection "
           "refused; it has ended, or listens no more");
    expect("10.99.0.11:50001", "b", ECONNREFUSED,
           "no connection to 10.99.0.11:50001, advertised by rank 1: "
           "Connection refused; if it lives, set HOOP_PORT to a range that the "
           "firewall lets pass, or HOOP_ADVERTISE");
    expect(
        "[2001:db8::2]:50001", "b", ENETUNREACH,
        "no connection to [2001:db8::2]:50001, advertised by rank 1: "
        "Network is unreachable; set HOOP_ADVERTISE or HOOP_INTERFACE there");
    expect("10.99.0.11:50001", "b", EHOSTUNREACH,
           "no connection to 10.99.0.11:50001, advertised by rank 1: No route "
           "to host; set HOOP_ADVERTISE or HOOP_INTERFACE there");
    expect("10.99.0.11:50001", "b", 0,
           "no connection to 10.99.0.11:50001, advertised by rank 1: nothing "
           "answers; a firewall? set HOOP_PORT to a range that it lets pass, "
           "or HOOP_ADVERTISE there");
    /* Of what is unknown, no advice. */
    expect("10.0.0.2:5000", "b", EPIPE,
           "no connection to 10.0.0.2:5000, advertised by rank 1: Broken "
           "pipe");
}

/* Its address is right then. */
static void
failure_after_the_connection_needs_no_advice(void **state)
{
    CLEANUP(roster_destroy)
    struct roster *roster = roster_make("127.0.0.1:5000", "b");
    const struct dial_failure failure = {
        .rank = 1,
        .status = HOOP_E_TIMEOUT,
        .why = "no handshake within 5 s (0 of 128 bytes)",
        .was_connected = true,
    };

    assert_int_equal(dial_error_raise(roster, &failure), HOOP_E_TIMEOUT);
    assert_string_equal(
        error_text(), "no connection to 127.0.0.1:5000, advertised by rank 1: "
                      "no handshake within 5 s (0 of 128 bytes)");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_cause_has_its_advice),
        cmocka_unit_test(failure_after_the_connection_needs_no_advice),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
