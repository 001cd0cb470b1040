/* tests/unit/tools/hooprun/reach_test.c - hooprun/reach.c */

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"
#include "hooprun/reach.h"

/* A listener on loopback, and its port. */
static int
listener_open(int *out_port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    socklen_t n_bytes = sizeof(address);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, n_bytes), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &n_bytes), 0);
    *out_port = ntohs(address.sin_port);
    return fd;
}

static void
address_that_answers_is_taken_and_its_own_side_told(void **state)
{
    char list[REACH_LIST_BYTES];
    char text[REACH_TEXT_BYTES];
    struct reached reached;
    int port;
    const int fd = listener_open(&port);

    (void)state;
    snprintf(list, sizeof(list), "127.0.0.1:1,127.0.0.1:%d,[::1]:1", port);
    assert_true(reach_first(list, "", 10000, &reached, text));
    snprintf(text, sizeof(text), "127.0.0.1:%d", port);
    assert_string_equal(reached.coordinator, text);
    assert_string_equal(reached.own, "127.0.0.1");
    close(fd);
}

static void
addresses_that_do_not_answer_are_named(void **state)
{
    char text[REACH_TEXT_BYTES];
    struct reached reached;

    (void)state;
    assert_false(
        reach_first("127.0.0.1:1,127.0.0.2:1", "", 10000, &reached, text));
    assert_string_equal(text, "127.0.0.1:1: Connection refused; "
                              "127.0.0.2:1: Connection refused");
}

/* A name has several addresses, and the listener one of them. */
static void
name_is_tried_at_all_its_addresses(void **state)
{
    char list[REACH_LIST_BYTES];
    char text[REACH_TEXT_BYTES];
    struct reached reached;
    int port;
    const int fd = listener_open(&port);

    (void)state;
    snprintf(list, sizeof(list), "localhost:%d", port);
    assert_true(reach_first(list, "", 10000, &reached, text));
    assert_string_equal(reached.own, "127.0.0.1");
    snprintf(list, sizeof(list), ":%d", port);
    assert_true(reach_first(list, "", 10000, &reached, text));
    close(fd);
    assert_false(reach_first("localhost:1", "", 10000, &reached, text));
    assert_null(strstr(text, "Connection refused; localhost:1: Connection"));
    assert_false(reach_first("nobody.invalid", "", 10000, &reached, text));
    assert_string_equal(text, "nobody.invalid: it has no port");
    assert_false(reach_first("999.1.1.1:1", "", 10000, &reached, text));
    assert_memory_equal(text, "999.1.1.1:1: ", 13);
    assert_string_not_equal(text, "999.1.1.1:1: no answer");
}

static void
loopback_is_known_by_its_name_and_numbers(void **state)
{
    char host[REACH_HOST_BYTES];

    (void)state;
    assert_true(reach_is_loopback("localhost:4667", host));
    assert_string_equal(host, "localhost");
    assert_true(reach_is_loopback("10.0.0.1:1,127.9.9.9:4667", host));
    assert_string_equal(host, "127.9.9.9");
    assert_true(reach_is_loopback("[::1]:4667", host));
    assert_true(reach_is_loopback(":4667", host));
    assert_string_equal(host, "");
    assert_false(reach_is_loopback("10.0.0.1:1,[fd00::1]:1,node0:1", host));
    assert_false(reach_is_loopback("localhosts:4667", host));
}

static void
expanded_addresses_have_the_port_and_no_loopback_but_alone(void **state)
{
    char list[REACH_LIST_BYTES];

    (void)state;
    reach_expand("0.0.0.0:4000", list);
    assert_non_null(strstr(list, ":4000"));
    if (strcmp(list, "127.0.0.1:4000") != 0)
        assert_null(strstr(list, "127."));
    assert_null(strchr(list, '['));
}

static void
free_port_can_be_listened_on(void **state)
{
    const uint16_t port = reach_free_port("127.0.0.1");

    (void)state;
    assert_true(port > 0);
    assert_int_equal(reach_free_port("192.0.2.1"), 0);
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(address_that_answers_is_taken_and_its_own_side_told),
        cmocka_unit_test(addresses_that_do_not_answer_are_named),
        cmocka_unit_test(name_is_tried_at_all_its_addresses),
        cmocka_unit_test(loopback_is_known_by_its_name_and_numbers),
        cmocka_unit_test(
            expanded_addresses_have_the_port_and_no_loopback_but_alone),
        cmocka_unit_test(free_port_can_be_listened_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
