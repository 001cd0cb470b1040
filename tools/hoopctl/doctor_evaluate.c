/* hoopctl/doctor_evaluate.c - turns each fact into a line with what to
 * change */

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "hoopctl/doctor.h"

enum {
    FILES_MIN = 1024,
    CLOCK_MOST_MS = 5000,
    LINE_MAX_BYTES = 4 * DOCTOR_TEXT,
};

struct check {
    doctor_fn *tell;
    void *owner;
};

__attribute__((format(printf, 4, 5))) static void
tell(const struct check *check,
     enum doctor_verdict verdict,
     const char *subject,
     const char *format,
     ...)
{
    char text[LINE_MAX_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    check->tell(check->owner, verdict, subject, text);
}

/* Return whether all of "::1, 127.0.0.1" are loopback, and there is one. */
static bool
are_loopback(const char *addresses)
{
    const char *at = addresses;

    while (*at) {
        const size_t n = strcspn(at, ",");

        if (strncmp(at, "127.", 4) != 0 && (n != 3 || memcmp(at, "::1", 3)))
            return false;
        at += n;
        at += strspn(at, ", ");
    }
    return *addresses != '\0';
}

static void
names_check(const struct check *check, const struct doctor_facts *facts)
{
    if (facts->own_error[0])
        tell(check, DOCTOR_NOTE, "own name",
             "%s has no address: %s; hoop does not need it, others may: add it "
             "to /etc/hosts",
             facts->own_name, facts->own_error);
    else
        tell(check, DOCTOR_OK, "own name", "%s is %s", facts->own_name,
             facts->own_addresses);

    if (!facts->coordinator[0])
        tell(check, DOCTOR_NOTE, "coordinator",
             "none is named, and none was asked; give it with --coordinator or "
             "HOOP_COORDINATOR");
    else if (facts->coordinator_error[0])
        tell(check, DOCTOR_WRONG, "coordinator",
             "%s has no address: %s; is the name right? Give it an address in "
             "DNS or /etc/hosts, or the address itself to --coordinator",
             facts->coordinator_unknown, facts->coordinator_error);
    else if (are_loopback(facts->coordinator_addresses))
        tell(check, DOCTOR_NOTE, "coordinator",
             "%s is %s: that is this host for each host; for workers on "
             "several, name one of its other addresses",
             facts->coordinator, facts->coordinator_addresses);
    else
        tell(check, DOCTOR_OK, "coordinator", "%s is %s", facts->coordinator,
             facts->coordinator_addresses);
}

static void
address_check(const struct check *check, const struct doctor_facts *facts)
{
    if (facts->advertised_error[0])
        tell(check, DOCTOR_WRONG, "address", "%s", facts->advertised_error);
    else if (!facts->advertised[0])
        return;
    else if (are_loopback(facts->advertised) && facts->is_advertised_set &&
             facts->coordinator_addresses[0] &&
             !are_loopback(facts->coordinator_addresses))
        tell(check, DOCTOR_WRONG, "address",
             "peers are told %s (%s), which only this host's can use, while "
             "the coordinator is at %s; set %s to what other hosts reach, or "
             "do not set it",
             facts->advertised, facts->advertised_by,
             facts->coordinator_addresses, facts->advertised_by);
    else if (are_loopback(facts->advertised))
        tell(check, DOCTOR_NOTE, "address",
             "peers are told %s (%s), which only this host's can use; for "
             "others set HOOP_ADVERTISE or HOOP_INTERFACE, or name the "
             "coordinator by an address that is not loopback",
             facts->advertised, facts->advertised_by);
    else
        tell(check, DOCTOR_OK, "address", "peers are told %s (%s)",
             facts->advertised, facts->advertised_by);
}

static void
settings_check(const struct check *check, const struct doctor_facts *facts)
{
    if (facts->settings_error[0])
        tell(check, DOCTOR_WRONG, "settings", "%s", facts->settings_error);
    else
        tell(check, DOCTOR_OK, "settings", "each value that is set is valid");
}

static void
ports_check(const struct check *check, const struct doctor_facts *facts)
{
    if (!facts->ports[0])
        return;
    if (facts->n_ports_free > 0)
        tell(check, DOCTOR_OK, "ports",
             "%u of the %u of HOOP_PORT=%s %s free, one for each worker",
             facts->n_ports_free, facts->n_ports, facts->ports,
             facts->n_ports_free == 1 ? "is" : "are");
    else
        tell(check, DOCTOR_WRONG, "ports",
             "none of the %u of HOOP_PORT=%s is free, and each worker needs "
             "one; ss -tlnp says who has them; set another range",
             facts->n_ports, facts->ports);
}

static void
clock_check(const struct check *check, const char *whose, int64_t ahead_ms)
{
    const double seconds = (double)(ahead_ms < 0 ? -ahead_ms : ahead_ms) / 1000;

    if (seconds * 1000 <= CLOCK_MOST_MS)
        tell(check, DOCTOR_OK, "clock", "%s differs by %.1f s", whose, seconds);
    else
        tell(check, DOCTOR_WRONG, "clock",
             "%s is %.1f s %s this host's: certificates may not be valid "
             "yet or any more, and times of logs do not compare; let both take "
             "the time from one place (chrony, systemd-timesyncd)",
             whose, seconds, ahead_ms > 0 ? "ahead of" : "behind");
}

static void
version_check(const struct check *check,
              const char *whose,
              const char *theirs,
              const char *ours)
{
    if (strcmp(theirs, ours) == 0)
        tell(check, DOCTOR_OK, "version", "%s is %s, as here", whose, theirs);
    else
        tell(check, DOCTOR_WRONG, "version",
             "%s is %s, and hoop here is %s; install the same on all hosts",
             whose, theirs, ours);
}

static void
answer_check(const struct check *check, const struct doctor_facts *facts)
{
    if (!facts->coordinator_addresses[0])
        return;
    if (facts->asked_error[0]) {
        /* The settings have already reported this error. */
        if (strcmp(facts->asked_error, facts->settings_error) == 0)
            return;
        tell(check, DOCTOR_WRONG, "answer", "%s", facts->asked_error);
        return;
    }
    tell(check, DOCTOR_OK, "answer", "%s serves", facts->coordinator);
    version_check(check, "hoopd", facts->version, facts->own_version);
    if (facts->has_clock)
        clock_check(check, "hoopd's", facts->clock_ahead_ms);
}

static void
limits_check(const struct check *check, const struct doctor_facts *facts)
{
    if (facts->n_files >= FILES_MIN)
        tell(check, DOCTOR_OK, "files", "%" PRIu64 " may be open (ulimit -n)",
             facts->n_files);
    else
        tell(check, DOCTOR_WRONG, "files",
             "%" PRIu64 " may be open, and a rank needs some for each other "
             "one; say ulimit -n %" PRIu64 " before the program%s",
             facts->n_files,
             facts->n_files_most < FILES_MIN ? (uint64_t)FILES_MIN
                                             : facts->n_files_most,
             facts->n_files_most < FILES_MIN
                 ? ", as root, or LimitNOFILE= or --ulimit nofile= where a "
                   "service or container is started"
                 : "");

    if (facts->memory_error[0])
        tell(check, DOCTOR_WRONG, "memory",
             "ranks of this host cannot share %" PRIu64 " MiB: %s; they use "
             "TCP then, which is slower",
             facts->memory_bytes >> 20, facts->memory_error);
    else
        tell(check, DOCTOR_OK, "memory",
             "ranks of this host can share it (%" PRIu64 " MiB were tried)",
             facts->memory_bytes >> 20);

    if (!facts->has_shm)
        tell(check, DOCTOR_NOTE, "/dev/shm",
             "is not there; hoop does not use it, data loaders of torch do");
    else if (facts->shm_bytes >> 20 < 64)
        tell(check, DOCTOR_NOTE, "/dev/shm",
             "%" PRIu64 " MiB are free; hoop does not use it, data loaders of "
             "torch do: a container gets more by --shm-size",
             facts->shm_bytes >> 20);
    else
        tell(check, DOCTOR_OK, "/dev/shm",
             "%" PRIu64 " MiB are free (hoop does not use it)",
             facts->shm_bytes >> 20);
}

void
doctor_evaluate(const struct doctor_facts *facts, doctor_fn *told, void *owner)
{
    const struct check check = {told, owner};

    names_check(&check, facts);
    address_check(&check, facts);
    settings_check(&check, facts);
    ports_check(&check, facts);
    answer_check(&check, facts);
    limits_check(&check, facts);
}

static void
bytes_check(const struct check *check,
            const char *subject,
            const char *way,
            uint64_t n_bytes,
            uint32_t mtu)
{
    if (n_bytes == DOCTOR_PROBE_BYTES)
        tell(check, DOCTOR_OK, subject, "%d KiB have arrived %s (MTU %u)",
             DOCTOR_PROBE_BYTES / 1024, way, mtu);
    else
        tell(check, DOCTOR_WRONG, subject,
             "of %d bytes %" PRIu64 " have arrived %s in %d s: small packets "
             "come through and large ones do not; something between the hosts "
             "takes less than the MTU of %u here and does not say so: set the "
             "MTU of both hosts' interfaces to what it takes (ip link set dev "
             "INTERFACE mtu 1400), or have it let ICMP pass",
             DOCTOR_PROBE_BYTES, n_bytes, way, DOCTOR_WAIT_MS / 1000, mtu);
}

void
doctor_evaluate_peer(const struct doctor_peer *peer,
                     doctor_fn *told,
                     void *owner)
{
    const struct check check = {told, owner};

    if (!peer) {
        tell(&check, DOCTOR_NOTE, "other hosts",
             "none was tried: hoopctl doctor --listen there and --peer here "
             "try one");
        return;
    }
    if (peer->listen_error[0]) {
        tell(&check, DOCTOR_WRONG, "from peer", "nobody can connect here: %s",
             peer->listen_error);
        return;
    }
    if (peer->connect_error[0]) {
        tell(&check, DOCTOR_WRONG, "to peer",
             "cannot connect to %s: %s; does hoopctl doctor --listen run "
             "there, on this port? Let firewalls on the way pass it: workers "
             "take ports of HOOP_PORT, or any",
             peer->peer, peer->connect_error);
        return;
    }
    tell(&check, DOCTOR_OK, "to peer", "%s is reached", peer->peer);
    bytes_check(&check, "packets to", "there", peer->n_sent, peer->mtu);
    if (peer->back_error[0]) {
        tell(&check, DOCTOR_WRONG, "from peer",
             "%s cannot connect to %s here: %s; let firewalls on the way pass "
             "it, or say with HOOP_PORT which ports they let pass",
             peer->peer, peer->back, peer->back_error);
    } else {
        tell(&check, DOCTOR_OK, "from peer", "%s has reached %s here",
             peer->peer, peer->back);
        bytes_check(&check, "packets from", "here", peer->n_received,
                    peer->mtu);
    }
    version_check(&check, "the peer's", peer->version, peer->own_version);
    clock_check(&check, "the peer's", peer->clock_ahead_ms);
}
