/* tests/unit/worker/session/advertise_test.c - where peers are told to go */

#include <string.h>

#include "base/error.h"
#include "check.h"
#include "session/advertise.h"

static void
expect(const struct advertise *wanted, const char *text)
{
    struct address address;
    char found[LIMIT_ADDRESS];

    assert_int_equal(advertise_find(wanted, &address), HOOP_OK);
    address_format(&address, found);
    assert_string_equal(found, text);
}

static struct advertise
told(const char *text)
{
    return (struct advertise){text, "", "127.0.0.1:1"};
}

static void
advertise_what_is_told_is_taken(void **state)
{
    (void)state;
    expect(&(struct advertise){"10.1.2.3", "lo", "127.0.0.1:1"}, "10.1.2.3:0");
    struct advertise wanted = told("10.1.2.3:99");
    expect(&wanted, "10.1.2.3:99");
    wanted = told("2001:db8::7");
    expect(&wanted, "[2001:db8::7]:0");
    wanted = told("[2001:db8::7]");
    expect(&wanted, "[2001:db8::7]:0");
    wanted = told("[2001:db8::7]:99");
    expect(&wanted, "[2001:db8::7]:99");
}

static void
advertise_nowhere_is_refused(void **state)
{
    struct address address;
    struct advertise wanted = told("0.0.0.0:99");

    (void)state;
    assert_int_equal(advertise_find(&wanted, &address), HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "HOOP_ADVERTISE"));
    wanted = told("10.0.0.1:nothing");
    assert_int_equal(advertise_find(&wanted, &address), HOOP_E_INVALID);
}

static void
advertise_interface_gives_its_address(void **state)
{
    const struct advertise none = {"", "no such", "127.0.0.1:1"};
    struct address address;

    (void)state;
    expect(&(struct advertise){"", "lo", "10.0.0.1:1"}, "127.0.0.1:0");
    assert_int_equal(advertise_find(&none, &address), HOOP_E_NOT_FOUND);
}

static void
advertise_loopback_is_for_a_coordinator_on_loopback(void **state)
{
    (void)state;
    expect(&(struct advertise){"", "", "127.0.0.1:4667"}, "127.0.0.1:0");
}

/* 192.0.2.0/24 is nobody's; no packet is sent. */
static void
advertise_to_a_remote_coordinator_is_never_loopback(void **state)
{
    const struct advertise wanted = {"", "", "192.0.2.1:4667"};
    struct address address;

    (void)state;
    /* A machine without any route says so instead. */
    if (advertise_find(&wanted, &address) == HOOP_OK)
        assert_false(address_is_loopback(&address));
    else
        assert_non_null(strstr(error_text(), "no route to 192.0.2.1:4667"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(advertise_what_is_told_is_taken),
        cmocka_unit_test(advertise_nowhere_is_refused),
        cmocka_unit_test(advertise_interface_gives_its_address),
        cmocka_unit_test(advertise_loopback_is_for_a_coordinator_on_loopback),
        cmocka_unit_test(advertise_to_a_remote_coordinator_is_never_loopback),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
