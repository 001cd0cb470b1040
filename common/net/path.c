/*
 * net/path.c - quality of the network path to a peer, and whether the peer
 * responds
 *
 * TCP retransmits a packet after somewhat more than a round trip, then after
 * twice that, and so on: if several in a row are lost, the stream stalls for
 * seconds although both ends are well. The probable number of losses in a row
 * follows from the loss rate, and the stall from the round trip.
 *
 * The last part counts the ranks of this host.
 */

#include "net/path.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "net/socket.h"
#include "net/wakeup.h"

enum {
    /* TCP_RTO_MAX_MS, which headers before Linux 6.15 lack. */
    RESEND_MAX_OPTION = 44,
    RESEND_MAX_MS = 120000,
    RESEND_MIN_US = 200000, /* the kernel's minimum */
    VARIATIONS = 4,         /* as in RFC 6298 */
    SHORTEST_TIMES = 10,
    /* Fewer packets do not give a meaningful rate. */
    PACKETS_MIN = 8,
};

static const uint64_t LATE_NS = 2 * CLOCK_NS_PER_MS;

/* A higher rate is as good as a cut path. Packets out of order are more than
 * those lost. */
static const double LOSS_MAX = 0.3;
static const double UNLIKELY = 1e-6;
/* How much of an old loss rate remains after each period. */
static const double LOSS_FADES = 0.95;

static uint64_t
resend_ns_max(int fd)
{
    int n_ms = 0;
    socklen_t n_bytes = sizeof(n_ms);

    if (getsockopt(fd, IPPROTO_TCP, RESEND_MAX_OPTION, &n_ms, &n_bytes) != 0 ||
        n_ms <= 0)
        n_ms = RESEND_MAX_MS;
    return (uint64_t)n_ms * CLOCK_NS_PER_MS;
}

bool
path_sample_read(int fd, struct path_sample *out_sample)
{
    struct tcp_info info;
    socklen_t n_bytes = sizeof(info);

    memset(&info, 0, sizeof(info));
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n_bytes) != 0 ||
        n_bytes < offsetof(struct tcp_info, tcpi_dsack_dups) +
                      sizeof(info.tcpi_dsack_dups))
        return false;
    const uint64_t spread_us = VARIATIONS * (uint64_t)info.tcpi_rttvar;
    const uint64_t resend_us =
        info.tcpi_rtt + (spread_us > RESEND_MIN_US ? spread_us : RESEND_MIN_US);

    *out_sample = (struct path_sample){
        .n_sent = info.tcpi_data_segs_out,
        .n_resent = info.tcpi_total_retrans,
        .n_needless = info.tcpi_dsack_dups,
        .n_acknowledged = info.tcpi_bytes_acked,
        .n_received = info.tcpi_data_segs_in,
        .n_disordered = info.tcpi_rcv_ooopack,
        .round_trip_ns = (uint64_t)info.tcpi_rtt * 1000,
        .round_trip_ns_min = (uint64_t)info.tcpi_min_rtt * 1000,
        .variation_ns = (uint64_t)info.tcpi_rttvar * 1000,
        .resend_ns = resend_us * 1000,
        .resend_ns_max = resend_ns_max(fd),
        .n_resends_now = info.tcpi_retransmits,
        .delivery_rate = info.tcpi_delivery_rate,
    };
    return true;
}

uint32_t
path_round_trip_ms_max(const struct path_sample *sample)
{
    const uint64_t varied_ns =
        sample->round_trip_ns + VARIATIONS * sample->variation_ns;
    const uint64_t most_ns =
        SHORTEST_TIMES * sample->round_trip_ns_min + LATE_NS;

    return (uint32_t)((varied_ns < most_ns ? varied_ns : most_ns) /
                      CLOCK_NS_PER_MS);
}

/* Return the loss rate; 0 if there were too few packets. */
static double
loss_rate_of(uint64_t n_lost, uint64_t n_all)
{
    const double share =
        n_all < PACKETS_MIN ? 0.0 : (double)n_lost / (double)n_all;

    return share < LOSS_MAX ? share : LOSS_MAX;
}

/* Return the last sample whose packets are known to have been acknowledged
 * since. The first time this is sample itself, without the retransmissions in
 * progress: a tail loss probe and the rest. */
static struct path_sample
last_acknowledged_sample(const struct path *path,
                         const struct path_sample *sample)
{
    struct path_sample first = *sample;
    const uint64_t n_open = (uint64_t)sample->n_resends_now + 1;

    if (path->last_ns > 0)
        return sample->n_acknowledged > path->last.n_acknowledged ? path->last
                                                                  : path->seen;
    first.n_resent -= n_open < first.n_resent ? n_open : first.n_resent;
    return first;
}

void
path_add_sample(struct path *path,
                const struct path_sample *sample,
                uint64_t now_ns)
{
    struct path_sample *seen = &path->seen;

    if (path->last_ns > 0 && now_ns - path->last_ns < PATH_PERIOD_NS)
        return;
    const struct path_sample sent = last_acknowledged_sample(path, sample);
    const uint64_t n_sent = sent.n_sent - seen->n_sent;
    const uint64_t n_received = sample->n_received - seen->n_received;
    const uint64_t n_resent = sent.n_resent - seen->n_resent;
    const uint64_t n_told = sample->n_needless - seen->n_needless;
    const uint64_t n_needless = n_told < n_resent ? n_told : n_resent;
    const double there = loss_rate_of(n_resent - n_needless, n_sent);
    const double back =
        loss_rate_of(sample->n_disordered - seen->n_disordered, n_received);
    const double loss = there > back ? there : back;

    if (loss > path->loss)
        path->loss = loss;
    else if (n_sent >= PACKETS_MIN || n_received >= PACKETS_MIN)
        path->loss *= LOSS_FADES;
    /* Too few packets are counted together with the next ones. */
    if (n_sent >= PACKETS_MIN || path->last_ns == 0) {
        seen->n_sent = sent.n_sent;
        seen->n_resent = sent.n_resent;
        seen->n_needless += n_needless; /* further reports concern what
                                           counts next */
    }
    if (n_received >= PACKETS_MIN || path->last_ns == 0) {
        seen->n_received = sample->n_received;
        seen->n_disordered = sample->n_disordered;
    }
    if (path->last_ns > 0 && sample->n_received != path->last.n_received)
        path->heard_ns = path->last_ns;
    path->last = *sample;
    path->last_ns = now_ns;
}

uint64_t
path_max_silence_ns(const struct path *path)
{
    /* Both the question and its answer may be lost. */
    const double fails = 1.0 - (1.0 - path->loss) * (1.0 - path->loss);
    uint64_t silence_ns = 2 * path->last.round_trip_ns;
    uint64_t resend_ns = path->last.resend_ns;

    if (path->loss < UNLIKELY || resend_ns == 0)
        return 0;
    for (double chance = fails; chance > UNLIKELY; chance *= fails) {
        silence_ns += resend_ns;
        resend_ns *= 2;
        if (resend_ns > path->last.resend_ns_max)
            resend_ns = path->last.resend_ns_max;
        if (silence_ns >= PATH_SILENCE_MAX_NS)
            return PATH_SILENCE_MAX_NS;
    }
    return silence_ns;
}

bool
path_has_loss(const struct path *path)
{
    return path_max_silence_ns(path) > 0 || path->last.n_resends_now > 0;
}

void
path_probe_start(struct probe *probe, const struct address *listener)
{
    path_probe_end(probe);
    probe->state = PROBE_NONE;
    if (listener->n_bytes > 0 &&
        socket_connect(listener, &probe->fd) == HOOP_OK)
        probe->state = PROBE_UNREACHED;
    else
        probe->fd = -1;
}

/* The connection is made: close our direction, which a running process
 * notices. */
static void
path_probe_on_connected(struct probe *probe)
{
    if (socket_connect_result(probe->fd) != HOOP_OK) {
        path_probe_end(probe);
        return;
    }
    probe->state = PROBE_REACHED;
    shutdown(probe->fd, SHUT_WR);
}

enum probe_state
path_probe_poll(struct probe *probe)
{
    struct pollfd polled = {.fd = probe->fd, .events = POLLOUT};
    char byte;

    if (probe->state == PROBE_UNREACHED && poll(&polled, 1, 0) > 0)
        path_probe_on_connected(probe);
    if (probe->state == PROBE_REACHED) {
        const ssize_t n = recv(probe->fd, &byte, 1, MSG_DONTWAIT);

        /* The peer has closed its side, or has sent something. */
        if (n >= 0)
            probe->state = PROBE_ANSWERED;
        if (n >= 0 || (errno != EAGAIN && errno != EINTR))
            path_probe_end(probe);
    }
    return probe->state;
}

void
path_probe_end(struct probe *probe)
{
    if (probe->fd >= 0 && probe->state != PROBE_NONE)
        socket_close(probe->fd);
    probe->fd = -1;
}

/* Count the ranks of all jobs on this host. */

/* The beginning of the abstract name as /proc/net/unix shows it. */
static const char shown[] = "@hoop.rank.";

int
host_ranks_register(void)
{
    static atomic_uint n_entered;
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    const int n_text =
        snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "%s%d.%u",
                 shown + 1, (int)getpid(), atomic_fetch_add(&n_entered, 1));
    const socklen_t n_bytes =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
                    (size_t)n_text);
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -1;
    descriptor_track(fd);
    /* It receives no datagrams. */
    (void)shutdown(fd, SHUT_RD);
    if (bind(fd, (const struct sockaddr *)&name, n_bytes) == 0)
        return fd;
    descriptor_close(fd);
    return -1;
}

uint32_t
host_ranks_count(void)
{
    char line[512];
    uint32_t n_ranks = 0;
    FILE *file = fopen("/proc/net/unix", "re");

    if (!file)
        return 0;
    while (fgets(line, sizeof(line), file))
        n_ranks += strstr(line, shown) != NULL;
    fclose(file);
    return n_ranks;
}
