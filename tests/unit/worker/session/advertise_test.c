/* tests/unit/worker/session/advertise_test.c - where peers are told to go */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "check.h"
#include "default_config.h"
#include "net/socket.h"
#include "session/advertise.h"

enum {
    FIRST_PORT = 23000, /* of addresses that only this process uses */
};

static struct config
config_of(const char *advertise, const char *interface, const char *coordinator)
{
    struct config config;

    default_config_init(&config);
    snprintf(config.advertise, sizeof(config.advertise), "%s", advertise);
    snprintf(config.interface, sizeof(config.interface), "%s", interface);
    snprintf(config.coordinator, sizeof(config.coordinator), "%s", coordinator);
    return config;
}

static void
expect(const struct config *wanted, const char *text)
{
    struct advertised_address advertised;
    char found[LIMIT_ADDRESS];

    assert_ok(advertised_address_find(wanted, &advertised));
    assert_false(advertised.is_guess);
    address_format(&advertised.address, found);
    assert_string_equal(found, text);
}

/* As expect(), of what is advertised, the interface and the coordinator. */
static void
expect_of(const char *const wanted[3], const char *text)
{
    const struct config config = config_of(wanted[0], wanted[1], wanted[2]);

    expect(&config, text);
}

static struct config
told(const char *text)
{
    return config_of(text, "", "127.0.0.1:1");
}

static void
advertise_what_is_told_is_taken(void **state)
{
    expect_of((const char *const[]){"10.1.2.3", "lo", "127.0.0.1:1"},
              "10.1.2.3:0");
    struct config wanted = told("10.1.2.3:99");
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
    struct advertised_address address;
    struct config wanted = told("0.0.0.0:99");

    assert_int_equal(advertised_address_find(&wanted, &address),
                     HOOP_E_INVALID);
    assert_non_null(strstr(error_text(), "HOOP_ADVERTISE"));
    wanted = told("10.0.0.1:nothing");
    assert_int_equal(advertised_address_find(&wanted, &address),
                     HOOP_E_INVALID);
    assert_non_null(
        strstr(error_text(), "HOOP_ADVERTISE=10.0.0.1:nothing: address '"));
}

static void
advertise_interface_gives_its_address(void **state)
{
    const struct config none = config_of("", "no such", "127.0.0.1:1");
    struct advertised_address address;

    expect_of((const char *const[]){"", "lo", "10.0.0.1:1"}, "127.0.0.1:0");
    assert_int_equal(advertised_address_find(&none, &address),
                     HOOP_E_NOT_FOUND);
}

static void
advertise_loopback_is_for_a_coordinator_on_loopback(void **state)
{
    expect_of((const char *const[]){"", "", "127.0.0.1:4667"}, "127.0.0.1:0");
    /* Of two names, and two loopback addresses, either will do. */
    expect_of((const char *const[]){"", "", "127.0.0.1:4667,127.0.0.2:4667"},
              "127.0.0.1:0");
}

/* 192.0.2.0/24 is nobody's; no packet is sent. */
static void
advertise_to_a_remote_coordinator_is_never_loopback(void **state)
{
    const struct config wanted = config_of("", "", "192.0.2.1:4667");
    struct advertised_address advertised;

    /* A machine without any route says so instead. */
    if (advertised_address_find(&wanted, &advertised) == HOOP_OK)
        assert_false(address_is_loopback(&advertised.address));
    else
        assert_non_null(strstr(error_text(), "no route to 192.0.2.1:4667"));
}

/* Of loopback's network, one that no other process listens on. */
static struct address
own_address(void)
{
    const unsigned pid = (unsigned)getpid();
    struct address address;
    char text[LIMIT_ADDRESS];

    snprintf(text, sizeof(text), "127.%u.%u.%u:0", 100 + pid / 62500 % 100,
             1 + pid / 250 % 250, 1 + pid % 250);
    assert_ok(address_parse(text, &address));
    return address;
}

/* What a rank is given of the ports; -1: nothing. */
static int
rank_listen(uint16_t first, uint16_t last, uint16_t *out_port)
{
    struct address address = own_address();
    int fd = -1;

    const enum hoop_status status = peer_listener_open(
        (struct port_range){.first = first, .last = last}, &address, &fd);
    if (status != HOOP_OK) {
        assert_int_equal(status, HOOP_E_UNAVAILABLE);
        return -1;
    }
    *out_port = address_port(&address);
    return fd;
}

static void
advertise_listen_takes_the_first_free_port_of_a_range(void **state)
{
    uint16_t ports[3];
    int fds[3];

    for (unsigned i = 0; i < 3; i++) {
        fds[i] = rank_listen(FIRST_PORT, FIRST_PORT + 2, &ports[i]);
        assert_true(fds[i] >= 0);
        assert_int_equal(ports[i], FIRST_PORT + i);
    }
    /* The one that becomes free is the first again. */
    socket_close(fds[1]);
    fds[1] = rank_listen(FIRST_PORT, FIRST_PORT + 2, &ports[1]);
    assert_true(fds[1] >= 0);
    assert_int_equal(ports[1], FIRST_PORT + 1);
    for (unsigned i = 0; i < 3; i++)
        socket_close(fds[i]);
}

static void
advertise_listen_without_a_port_takes_any(void **state)
{
    uint16_t ports[2];
    const int fds[] = {rank_listen(0, 0, &ports[0]),
                       rank_listen(0, 0, &ports[1])};

    assert_true(ports[0] > 0 && ports[1] > 0);
    assert_int_not_equal(ports[0], ports[1]);
    socket_close(fds[0]);
    socket_close(fds[1]);
}

static void
advertise_listen_on_a_port_in_use_advises_a_range(void **state)
{
    uint16_t port;
    const int fd = rank_listen(FIRST_PORT, FIRST_PORT, &port);

    assert_true(fd >= 0);
    assert_int_equal(rank_listen(FIRST_PORT, FIRST_PORT, &port), -1);
    assert_string_equal(
        error_text(),
        "HOOP_PORT=23000 cannot be listened on: 23000 is held by this process; "
        "each rank of a host needs a port of its own: set a range, such as "
        "HOOP_PORT=23000-23063");
    socket_close(fd);
}

/* Another process listens on five ports of address; it ends with this one. */
static pid_t
occupant_start(const struct address *address)
{
    struct address wanted = *address;
    int fd = -1;
    int ready[2];
    char byte;

    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        bool is_well = prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
                       prctl(PR_SET_NAME, "occupant") == 0;

        for (unsigned i = 0; i < 5; i++) {
            address_set_port(&wanted, (uint16_t)(FIRST_PORT + i));
            is_well &= socket_listen(&wanted, 1, &fd) == HOOP_OK;
        }
        if (is_well && write(ready[1], "", 1) == 1)
            pause();
        _exit(1);
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    return pid;
}

static void
advertise_listen_names_who_has_all_ports_of_a_range(void **state)
{
    const struct address address = own_address();
    const pid_t pid = occupant_start(&address);
    char text[LIMIT_ERROR_TEXT];
    uint16_t port;

    assert_int_equal(rank_listen(FIRST_PORT, FIRST_PORT + 4, &port), -1);
    snprintf(
        text, sizeof(text),
        "no port of HOOP_PORT=23000-23004 can be listened on: 23000 is held "
        "by process %d (occupant), 23001 is held by process %d (occupant), "
        "23002 is held by process %d (occupant), and 2 more; each rank of "
        "a host needs a port of its own: set a wider range",
        pid, pid, pid);
    assert_string_equal(error_text(), text);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
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
        cmocka_unit_test(advertise_listen_takes_the_first_free_port_of_a_range),
        cmocka_unit_test(advertise_listen_without_a_port_takes_any),
        cmocka_unit_test(advertise_listen_on_a_port_in_use_advises_a_range),
        cmocka_unit_test(advertise_listen_names_who_has_all_ports_of_a_range),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
