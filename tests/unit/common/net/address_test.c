/* tests/unit/common/net/address_test.c - net/address.c */

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "check.h"
#include "net/address.h"

static void
assert_formats_as(const char *text, const char *expected)
{
    struct address address;
    char formatted[LIMIT_ADDRESS];

    assert_ok(address_parse(text, &address));
    address_format(&address, formatted);
    assert_string_equal(formatted, expected);
}

static void
address_text_is_parsed_and_formatted(void **state)
{
    assert_formats_as("10.0.0.1:7000", "10.0.0.1:7000");
    assert_formats_as("[::1]:7000", "[::1]:7000");
    assert_formats_as("[fe80:0:0::0:1]:65535", "[fe80::1]:65535");
    assert_formats_as("*:7000", "[::]:7000");
    assert_formats_as(":0", "[::]:0");
    assert_formats_as("0.0.0.0:1", "0.0.0.0:1");
}

static void
address_bad_text_is_refused_by_name(void **state)
{
    static const char *const bad[] = {
        "",
        "10.0.0.1",
        "10.0.0.1:",
        "10.0.0.1:x",
        "10.0.0.1:-1",
        "10.0.0.1:+1",
        "10.0.0.1: 1",
        "10.0.0.1:1x",
        "10.0.0.1:65536",
        "10.0.0.1:99999999999999999999",
        "::1:7000",
        "[::1]",
        "[::1]7000",
        "[::1:7000",
        "[]:7000",
        "127.0.0.1:1,127.0.0.1:2",
    };
    struct address address;

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        assert_int_equal(address_parse(bad[i], &address), HOOP_E_INVALID);
        assert_int_equal(address_resolve(bad[i], &address), HOOP_E_INVALID);
        assert_non_null(strstr(error_text(), bad[i]));
    }
}

static void
address_text_too_long_is_refused(void **state)
{
    char text[2 * LIMIT_ADDRESS];
    struct address address;

    memset(text, 'a', sizeof(text));
    memcpy(text + sizeof(text) - 4, ":70", 4);
    assert_int_equal(address_resolve(text, &address), HOOP_E_INVALID);
}

static void
address_parse_never_looks_up_a_name(void **state)
{
    struct address address;

    assert_int_equal(address_parse("localhost:7000", &address), HOOP_E_INVALID);
}

static void
address_resolve_finds_localhost(void **state)
{
    struct address address;

    assert_ok(address_resolve("localhost:7000", &address));
    assert_true(address_is_loopback(&address));
    assert_int_equal(address_port(&address), 7000);
}

static void
address_resolve_all_gives_no_more_than_asked(void **state)
{
    struct address addresses[2];
    size_t n = 0;

    assert_ok(address_resolve_all("localhost:7", addresses, 1, &n));
    assert_int_equal(n, 1);
    assert_ok(address_resolve_all("[::1]:7", addresses, 2, &n));
    assert_int_equal(n, 1);
    assert_ok(address_resolve_all("*:7", addresses, 2, &n));
    assert_int_equal(n, 1);
}

static void
address_list_gives_those_of_all_its_names(void **state)
{
    struct address addresses[4];
    char text[LIMIT_ADDRESS];
    size_t n = 0;

    assert_ok(address_resolve_all("127.0.0.1:7,[::1]:8", addresses, 4, &n));
    assert_int_equal(n, 2);
    address_format(&addresses[0], text);
    assert_string_equal(text, "127.0.0.1:7");
    address_format(&addresses[1], text);
    assert_string_equal(text, "[::1]:8");
    assert_ok(address_resolve_all("127.0.0.1:7,[::1]:8", addresses, 1, &n));
    assert_int_equal(n, 1);
    assert_ok(
        address_resolve_all("nowhere.invalid:7,127.0.0.1:8", addresses, 4, &n));
    assert_int_equal(n, 1);
    assert_int_equal(address_resolve_all("127.0.0.1:7,", addresses, 4, &n),
                     HOOP_E_INVALID);
}

static void
address_unknown_name_is_unavailable(void **state)
{
    struct address address;

    const enum hoop_status status =
        address_resolve("no-such-host.invalid:7000", &address);

    /* Where a name server answers. */
    assert_true(status == HOOP_E_UNAVAILABLE || status == HOOP_E_TIMEOUT);
    assert_non_null(strstr(error_text(), "no-such-host.invalid"));
}

static void
address_questions_are_answered(void **state)
{
    struct address a;
    struct address b;

    assert_ok(address_parse("127.1.2.3:1", &a));
    assert_true(address_is_loopback(&a));
    assert_false(address_is_any(&a));
    assert_ok(address_parse("127.1.2.3:2", &b));
    assert_true(address_same_host(&a, &b));

    assert_ok(address_parse("[::1]:2", &b));
    assert_true(address_is_loopback(&b));
    assert_false(address_same_host(&a, &b));
    assert_ok(address_parse("[::1]:3", &a));
    assert_true(address_same_host(&a, &b));

    assert_ok(address_parse("*:2", &b));
    assert_true(address_is_any(&b));
    assert_ok(address_parse("0.0.0.0:2", &b));
    assert_true(address_is_any(&b));
    assert_false(address_is_loopback(&b));

    address_set_port(&b, 17);
    assert_int_equal(address_port(&b), 17);
}

static void
address_unmap_turns_mapped_into_ipv4(void **state)
{
    struct address mapped;
    struct address plain;

    assert_ok(address_parse("[::ffff:10.0.0.1]:9", &mapped));
    assert_ok(address_parse("10.0.0.1:9", &plain));
    address_unmap_ipv4(&mapped);
    assert_memory_equal(&mapped, &plain, sizeof(plain));

    address_unmap_ipv4(&plain);
    assert_memory_equal(&mapped, &plain, sizeof(plain));
}

static bool
are_one_network(const char *left, const char *right)
{
    struct address addresses[2];

    assert_ok(address_parse(left, &addresses[0]));
    assert_ok(address_parse(right, &addresses[1]));
    const struct address_network one = address_network(&addresses[0]);
    const struct address_network other = address_network(&addresses[1]);
    return memcmp(&one, &other, sizeof(one)) == 0;
}

static void
address_network_is_an_ipv4_address_or_64_bits_of_ipv6(void **state)
{
    assert_true(are_one_network("10.0.0.1:7", "10.0.0.1:8"));
    assert_false(are_one_network("10.0.0.1:7", "10.0.0.2:7"));
    assert_true(are_one_network("[::ffff:10.0.0.1]:7", "10.0.0.1:7"));
    assert_false(are_one_network("[::ffff:10.0.0.1]:7", "10.0.0.2:7"));

    assert_true(are_one_network("[2001:db8:1:2::1]:7",
                                "[2001:db8:1:2:ffff:ffff:ffff:ffff]:9"));
    assert_false(are_one_network("[2001:db8:1:2::1]:7", "[2001:db8:1:3::1]:7"));
    assert_false(are_one_network("[2001:db8:1:2::1]:7", "[2001:db9:1:2::1]:7"));
    assert_false(are_one_network("[::1]:7", "127.0.0.1:7"));
}

static void
address_of_interface_finds_loopback_only_by_name(void **state)
{
    struct address address;

    assert_ok(address_of_interface("lo", &address));
    assert_true(address_is_loopback(&address));
    assert_int_equal(address_port(&address), 0);

    assert_int_equal(address_of_interface("no-such", &address),
                     HOOP_E_NOT_FOUND);
    assert_non_null(strstr(error_text(), "no-such"));
}

static void
assert_listens_on(const char *text, const char *expected)
{
    struct address_list list;
    char formatted[LIMIT_ADDRESS];

    assert_ok(address_resolve_listen(text, &list));
    address_list_format(&list, formatted);
    assert_string_equal(formatted, expected);
}

/* Whatever the resolver says of localhost, and with it of many addresses. */
static void
address_localhost_to_listen_on_is_both_loopbacks(void **state)
{
    assert_listens_on("localhost:7000", "127.0.0.1:7000,[::1]:7000");
    assert_listens_on("LocalHost:0", "127.0.0.1:0,[::1]:0");
    assert_listens_on("10.0.0.1:7000", "10.0.0.1:7000");
    assert_listens_on(":7000", "[::]:7000");
    assert_listens_on("10.0.0.1:1,localhost:2,[::2]:3",
                      "10.0.0.1:1,127.0.0.1:2,[::1]:2,[::2]:3");
}

static void
address_bad_list_to_listen_on_is_refused(void **state)
{
    static const char *const bad[] = {
        "", ",", "127.0.0.1:1,", ",127.0.0.1:1", "localhost", "localhost:x",
        "127.0.0.1:1,,127.0.0.1:2",
        /* More than fit, by one address or by the second of a localhost. */
        "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3,127.0.0.1:4,127.0.0.1:5,"
        "127.0.0.1:6,127.0.0.1:7,127.0.0.1:8,127.0.0.1:9",
        "127.0.0.1:1,127.0.0.1:2,127.0.0.1:3,127.0.0.1:4,127.0.0.1:5,"
        "127.0.0.1:6,127.0.0.1:7,localhost:8"};
    struct address_list list;

    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(address_resolve_listen(bad[i], &list), HOOP_E_INVALID);
}

static void
address_list_is_loopback_if_all_of_it_is(void **state)
{
    static const struct {
        const char *text;
        bool is_loopback;
    } cases[] = {
        {"127.0.0.1:1", true},
        {"127.255.255.254:1", true},
        {"[::1]:1", true},
        {"localhost:1", true},
        {"[::ffff:127.0.0.1]:1", true},
        {"localhost:1,127.0.0.2:1", true},
        {"128.0.0.1:1", false},
        {"126.255.255.255:1", false},
        {"[::2]:1", false},
        {"[::ffff:10.0.0.1]:1", false},
        {"[1::1]:1", false},
        {"0.0.0.0:1", false},
        {":1", false},
        {"*:1", false},
        {"localhost:1,10.0.0.1:1", false},
        {"10.0.0.1:1,localhost:1", false},
    };
    struct address_list list;

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_ok(address_resolve_listen(cases[i].text, &list));
        assert_int_equal(address_list_is_loopback(&list), cases[i].is_loopback);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_text_is_parsed_and_formatted),
        cmocka_unit_test(address_bad_text_is_refused_by_name),
        cmocka_unit_test(address_localhost_to_listen_on_is_both_loopbacks),
        cmocka_unit_test(address_bad_list_to_listen_on_is_refused),
        cmocka_unit_test(address_list_is_loopback_if_all_of_it_is),
        cmocka_unit_test(address_text_too_long_is_refused),
        cmocka_unit_test(address_parse_never_looks_up_a_name),
        cmocka_unit_test(address_resolve_finds_localhost),
        cmocka_unit_test(address_resolve_all_gives_no_more_than_asked),
        cmocka_unit_test(address_list_gives_those_of_all_its_names),
        cmocka_unit_test(address_unknown_name_is_unavailable),
        cmocka_unit_test(address_questions_are_answered),
        cmocka_unit_test(address_unmap_turns_mapped_into_ipv4),
        cmocka_unit_test(address_network_is_an_ipv4_address_or_64_bits_of_ipv6),
        cmocka_unit_test(address_of_interface_finds_loopback_only_by_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
