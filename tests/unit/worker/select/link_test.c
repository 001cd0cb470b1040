/* tests/unit/worker/select/link_test.c - select/link.c */

#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "check.h"
#include "select/link.h"

static void
assert_near(double value, double expected)
{
    assert_true(value > expected * 0.999999 && value < expected * 1.000001);
}

static struct simulation_machine
parsed(const char *text)
{
    struct simulation_machine machine = {.n_processors = 1};

    assert_ok(link_parse_settings("here", text, &machine));
    return machine;
}

static void
usual_machine_has_all_it_needs(void **state)
{
    const struct simulation_machine machine = link_typical_machine();

    assert_true(machine.n_processors >= 1);
    assert_true(machine.send_ns > 0);
    assert_true(machine.receive_ns > 0);
    assert_true(machine.latency_inside_ns > 0);
    assert_true(machine.latency_between_ns > machine.latency_inside_ns);
    assert_true(machine.link_between_ns > machine.link_inside_ns);
    assert_true(machine.send_byte_ns > 0);
    assert_true(machine.receive_byte_ns > 0);
    assert_true(machine.copy_byte_ns > 0);
    assert_true(machine.reduce_byte_ns > 0);
}

static void
nothing_said_changes_nothing(void **state)
{
    const struct simulation_machine usual = link_typical_machine();
    struct simulation_machine machine = usual;

    assert_ok(link_parse_settings("here", "", &machine));
    assert_true(machine.latency_inside_ns == usual.latency_inside_ns);
    assert_true(machine.n_processors == usual.n_processors);
}

static void
times_and_rates_have_units(void **state)
{
    assert_near(parsed("latency=20us").latency_inside_ns, 20e3);
    assert_near(parsed("latency=1.5ms").latency_between_ns, 1.5e6);
    assert_near(parsed("overhead=800ns").send_ns, 800);
    assert_near(parsed("latency=1s").latency_inside_ns, 1e9);
    assert_near(parsed("bandwidth=1.2GB/s").link_inside_ns, 1 / 1.2);
    assert_near(parsed("bandwidth=10Gbit/s").link_between_ns, 0.8);
    assert_near(parsed("bandwidth=100Mbit/s").link_between_ns, 80);
    assert_near(parsed("bandwidth=125MB/s").link_between_ns, 8);
    assert_near(parsed("bandwidth=1000kB/s").link_between_ns, 1000);
    assert_near(parsed("bandwidth=1000000000B/s").link_between_ns, 1);
}

static void
each_name_says_its_part(void **state)
{
    const struct simulation_machine machine =
        parsed("latency_inside=5us,latency_between=50us,overhead=2us,"
               "bandwidth_inside=5GB/s,bandwidth_between=2GB/s,socket=4GB/s,"
               "copy=20GB/s,reduce=10GB/s,wait=3us,processors=64");

    assert_near(machine.latency_inside_ns, 5e3);
    assert_near(machine.latency_between_ns, 50e3);
    assert_near(machine.send_ns, 2e3);
    assert_near(machine.receive_ns, 2e3);
    assert_near(machine.link_inside_ns, 0.2);
    assert_near(machine.link_between_ns, 0.5);
    assert_near(machine.send_byte_ns, 0.25);
    assert_near(machine.receive_byte_ns, 0.25);
    assert_near(machine.copy_byte_ns, 0.05);
    assert_near(machine.reduce_byte_ns, 0.1);
    assert_near(machine.wait_ns, 3e3);
    assert_int_equal(machine.n_processors, 64);
}

static void
bad_lists_are_refused_and_change_nothing(void **state)
{
    static const struct {
        const char *text;
        const char *said;
    } rows[] = {
        {"latency", "here: 'latency' is not of the form name=value"},
        {"latency=1us,", "here: '' is not of the form"},
        {"speed=1us", "'speed' is nothing that a link has; there are: latency"},
        {"=1us", "'' is nothing that a link has"},
        {"latency=", "here: latency=: expected is a time"},
        {"latency=us", "expected is a time"},
        {"latency=.us", "expected is a time"},
        {"latency=1", "expected is a time"},
        {"latency=1 us", "expected is a time"},
        {"latency=-1us", "expected is a time"},
        {"latency=1e3us", "expected is a time"},
        {"latency=1.2.3us", "expected is a time"},
        {"latency=2s", "expected is a time up to a second"},
        {"latency=1GB/s", "expected is a time"},
        {"latency=nan", "expected is a time"},
        {"bandwidth=1us", "expected is a rate"},
        {"bandwidth=0GB/s", "expected is a rate"},
        {"bandwidth=1gb/s", "expected is a rate"},
        {"bandwidth=99999999GB/s", "expected is a rate"},
        {"processors=0", "expected is a whole number from 1"},
        {"processors=65537", "expected is a whole number from 1 to 65536"},
        {"processors=1.5", "expected is a whole number"},
        {"processors=two", "expected is a whole number"},
        {"copy=1GB/s,copy=2GB/s", "here: copy is said twice"},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct simulation_machine machine = {.latency_inside_ns = 7};

        assert_int_equal(link_parse_settings("here", rows[i].text, &machine),
                         HOOP_E_INVALID);
        assert_non_null(strstr(error_text(), rows[i].said));
        assert_true(machine.latency_inside_ns == 7);
    }
}

static void
endless_list_is_refused(void **state)
{
    struct simulation_machine machine;
    char text[2 * LIMIT_SETTING];

    memset(text, '1', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_int_equal(link_parse_settings("here", text, &machine),
                     HOOP_E_INVALID);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_machine_has_all_it_needs),
        cmocka_unit_test(nothing_said_changes_nothing),
        cmocka_unit_test(times_and_rates_have_units),
        cmocka_unit_test(each_name_says_its_part),
        cmocka_unit_test(bad_lists_are_refused_and_change_nothing),
        cmocka_unit_test(endless_list_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
