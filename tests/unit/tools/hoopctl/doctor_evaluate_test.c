/* tests/unit/tools/hoopctl/doctor_evaluate_test.c - hoopctl/doctor_evaluate.c */

#include <string.h>

#include "check.h"
#include "hoopctl/doctor.h"

/* All that was told, a line for each. */
struct told {
    size_t n_bytes;
    char text[8192];
};

static void
line_keep(void *owner,
          enum doctor_verdict verdict,
          const char *subject,
          const char *text)
{
    static const char *const words[] = {"ok", "note", "wrong"};
    struct told *told = owner;

    told->n_bytes += (size_t)snprintf(
        told->text + told->n_bytes, sizeof(told->text) - told->n_bytes,
        "%s %s: %s\n", words[verdict], subject, text);
}

static struct doctor_facts
facts_of_a_good_host(void)
{
    return (struct doctor_facts){
        .own_name = "node1",
        .own_addresses = "10.0.0.2",
        .coordinator = "node0:4667",
        .coordinator_addresses = "10.0.0.1, fd00::1",
        .advertised = "10.0.0.2",
        .advertised_by = "on the way to the coordinator",
        .version = "1.0",
        .own_version = "1.0",
        .has_clock = true,
        .clock_ahead_ms = -300,
        .n_files = 1024,
        .n_files_most = 1024,
        .memory_bytes = 16 << 20,
        .shm_bytes = 64 << 20,
        .has_shm = true,
    };
}

static void
facts_say(const struct doctor_facts *facts, const char *expected)
{
    struct told told = {0};

    doctor_evaluate(facts, line_keep, &told);
    if (!strstr(told.text, expected))
        assert_string_equal(told.text, expected);
}

static void
doctor_of_a_good_host_finds_nothing_wrong(void **state)
{
    const struct doctor_facts facts = facts_of_a_good_host();
    struct told told = {0};

    doctor_evaluate(&facts, line_keep, &told);
    assert_string_equal(
        told.text,
        "ok own name: node1 is 10.0.0.2\n"
        "ok coordinator: node0:4667 is 10.0.0.1, fd00::1\n"
        "ok address: peers are told 10.0.0.2 (on the way to the coordinator)\n"
        "ok settings: each value that is set is valid\n"
        "ok answer: node0:4667 serves\n"
        "ok version: hoopd is 1.0, as here\n"
        "ok clock: hoopd's differs by 0.3 s\n"
        "ok files: 1024 may be open (ulimit -n)\n"
        "ok memory: ranks of this host can share it (16 MiB were tried)\n"
        "ok /dev/shm: 64 MiB are free (hoop does not use it)\n");
}

static void
doctor_says_what_to_change_for_names(void **state)
{
    struct doctor_facts facts = facts_of_a_good_host();

    strcpy(facts.own_error, "Name or service not known");
    facts_say(&facts,
              "note own name: node1 has no address: Name or service not known; "
              "hoop does not need it, others may: add it to /etc/hosts\n");
    strcpy(facts.coordinator_addresses, "127.0.1.1");
    facts_say(&facts,
              "note coordinator: node0:4667 is 127.0.1.1: that is this host "
              "for each host; for workers on several, name one of its other "
              "addresses\n");
    strcpy(facts.coordinator_addresses, "::1, 127.0.0.1");
    facts_say(&facts, "note coordinator: node0:4667 is ::1, 127.0.0.1: that is "
                      "this host for each host; ");
    strcpy(facts.coordinator_addresses, "::1, 10.0.0.1");
    facts_say(&facts, "ok coordinator: node0:4667 is ::1, 10.0.0.1\n");
    strcpy(facts.coordinator_addresses, "::12, ::1");
    facts_say(&facts, "ok coordinator: node0:4667 is ::12, ::1\n");
    strcpy(facts.advertised, "127.0.0.1");
    facts_say(&facts,
              "note address: peers are told 127.0.0.1 (on the way to the "
              "coordinator), which only this host's can use; for others set "
              "HOOP_ADVERTISE or HOOP_INTERFACE, or name the coordinator by an "
              "address that is not loopback\n");
    strcpy(facts.advertised_by, "HOOP_ADVERTISE");
    facts.is_advertised_set = true;
    facts_say(&facts,
              "wrong address: peers are told 127.0.0.1 (HOOP_ADVERTISE), which "
              "only this host's can use, while the coordinator is at ::12, "
              "::1; set HOOP_ADVERTISE to what other hosts reach, or do not "
              "set it\n");
    strcpy(facts.coordinator_addresses, "127.0.0.1");
    facts_say(&facts, "note address: peers are told 127.0.0.1 ");
    strcpy(facts.coordinator, "node0:4667,node9:4667");
    strcpy(facts.coordinator_unknown, "node9:4667");
    strcpy(facts.coordinator_error, "Name or service not known");
    facts_say(&facts,
              "wrong coordinator: node9:4667 has no address: Name or service "
              "not known; is the name right? Give it an address in DNS or "
              "/etc/hosts, or the address itself to --coordinator\n");
    facts.coordinator[0] = '\0';
    facts_say(&facts,
              "note coordinator: none is named, and none was asked; give it "
              "with --coordinator or HOOP_COORDINATOR\n");
}

static void
doctor_says_what_to_change_for_the_coordinator(void **state)
{
    struct doctor_facts facts = facts_of_a_good_host();

    facts.clock_ahead_ms = 100000;
    facts_say(&facts,
              "wrong clock: hoopd's is 100.0 s ahead of this host's: "
              "certificates may not be valid yet or any more, and times of "
              "logs do not compare; let both take the time from one place "
              "(chrony, systemd-timesyncd)\n");
    facts.clock_ahead_ms = -5001;
    facts_say(&facts, "wrong clock: hoopd's is 5.0 s behind this host's: ");
    strcpy(facts.version, "0.9");
    facts_say(&facts, "wrong version: hoopd is 0.9, and hoop here is 1.0; "
                      "install the same on all hosts\n");
    strcpy(facts.asked_error, "nobody answers");
    facts_say(&facts, "wrong answer: nobody answers\n");
}

static void
doctor_says_what_to_change_for_limits(void **state)
{
    struct doctor_facts facts = facts_of_a_good_host();

    facts.n_files = 256;
    facts.n_files_most = 4096;
    facts_say(&facts, "wrong files: 256 may be open, and a rank needs some for "
                      "each other one; say ulimit -n 4096 before the "
                      "program\n");
    facts.n_files_most = 256;
    facts_say(&facts, "say ulimit -n 1024 before the program, as root, or "
                      "LimitNOFILE= or --ulimit nofile= where a service or "
                      "container is started\n");
    strcpy(facts.memory_error, "no; do that");
    facts_say(&facts, "wrong memory: ranks of this host cannot share 16 MiB: "
                      "no; do that; they use TCP then, which is slower\n");
    facts.shm_bytes = 63 << 20;
    facts_say(&facts, "note /dev/shm: 63 MiB are free; hoop does not use it, "
                      "data loaders of torch do: a container gets more by "
                      "--shm-size\n");
    facts.has_shm = false;
    facts_say(&facts, "note /dev/shm: is not there; hoop does not use it, data "
                      "loaders of torch do\n");
}

static void
doctor_names_what_is_between_two_hosts(void **state)
{
    struct doctor_peer peer = {
        .peer = "10.0.0.3:5000",
        .n_sent = DOCTOR_PROBE_BYTES,
        .back = "10.0.0.2:5001",
        .n_received = 1000,
        .mtu = 1500,
        .version = "1.0",
        .own_version = "1.0",
    };
    struct told told = {0};

    doctor_evaluate_peer(&peer, line_keep, &told);
    assert_string_equal(
        told.text,
        "ok to peer: 10.0.0.3:5000 is reached\n"
        "ok packets to: 256 KiB have arrived there (MTU 1500)\n"
        "ok from peer: 10.0.0.3:5000 has reached 10.0.0.2:5001 here\n"
        "wrong packets from: of 262144 bytes 1000 have arrived here in 3 s: "
        "small packets come through and large ones do not; something between "
        "the hosts takes less than the MTU of 1500 here and does not say so: "
        "set the MTU of both hosts' interfaces to what it takes (ip link set "
        "dev INTERFACE mtu 1400), or have it let ICMP pass\n"
        "ok version: the peer's is 1.0, as here\n"
        "ok clock: the peer's differs by 0.0 s\n");

    strcpy(peer.back_error, "no answer");
    told = (struct told){0};
    doctor_evaluate_peer(&peer, line_keep, &told);
    assert_non_null(strstr(
        told.text,
        "wrong from peer: 10.0.0.3:5000 cannot connect to 10.0.0.2:5001 here: "
        "no answer; let firewalls on the way pass it, or say with HOOP_PORT "
        "which ports they let pass\n"));

    strcpy(peer.connect_error, "Connection refused");
    told = (struct told){0};
    doctor_evaluate_peer(&peer, line_keep, &told);
    assert_string_equal(
        told.text,
        "wrong to peer: cannot connect to 10.0.0.3:5000: Connection refused; "
        "does hoopctl doctor --listen run there, on this port? Let firewalls "
        "on the way pass it: workers take ports of HOOP_PORT, or any\n");

    strcpy(peer.listen_error, "HOOP_PORT=x: no");
    told = (struct told){0};
    doctor_evaluate_peer(&peer, line_keep, &told);
    assert_string_equal(
        told.text,
        "wrong from peer: nobody can connect here: HOOP_PORT=x: no\n");
}

static void
free_ports_are_counted(void **state)
{
    struct doctor_facts facts = facts_of_a_good_host();

    snprintf(facts.ports, sizeof(facts.ports), "5000-5063");
    facts.n_ports = 64;
    facts.n_ports_free = 62;
    facts_say(&facts, "ok ports: 62 of the 64 of HOOP_PORT=5000-5063 are free, "
                      "one for each worker\n");
    facts.n_ports_free = 0;
    facts_say(&facts,
              "wrong ports: none of the 64 of HOOP_PORT=5000-5063 is free, and "
              "each worker needs one; ss -tlnp says who has them; set another "
              "range\n");
}

static void
no_peer_is_a_note(void **state)
{
    struct told told = {0};

    doctor_evaluate_peer(NULL, line_keep, &told);
    assert_string_equal(told.text,
                        "note other hosts: none was tried: hoopctl doctor "
                        "--listen there and --peer here try one\n");
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(doctor_of_a_good_host_finds_nothing_wrong),
        cmocka_unit_test(doctor_says_what_to_change_for_names),
        cmocka_unit_test(doctor_says_what_to_change_for_the_coordinator),
        cmocka_unit_test(doctor_says_what_to_change_for_limits),
        cmocka_unit_test(doctor_names_what_is_between_two_hosts),
        cmocka_unit_test(free_ports_are_counted),
        cmocka_unit_test(no_peer_is_a_note),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
