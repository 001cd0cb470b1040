/*
 * net/path.h - quality of the network path to a peer, and whether the peer
 * responds
 *
 * Two means to tell a bad network from a dead process. For each TCP connection
 * the kernel counts retransmissions and measures round trips; from these
 * follows how long a living peer may be silent. And a second connection to the
 * peer's listener, which sends nothing and ends at once, shows whether small
 * packets arrive there (the kernel accepts it) and whether the process runs (it
 * closes it too).
 *
 * Thread: a path and a probe belong to their caller.
 */

#ifndef NET_PATH_H
#define NET_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "net/address.h"

/* What the kernel reports about one TCP connection. */
struct path_sample {
    uint64_t n_sent; /* data packets since the connection was made */
    uint64_t n_resent;
    uint64_t n_needless;     /* retransmissions that the peer reported as
                                unnecessary */
    uint64_t n_acknowledged; /* bytes */
    uint64_t n_received;
    uint64_t n_disordered;  /* received out of order */
    uint64_t round_trip_ns; /* smoothed */
    uint64_t round_trip_ns_min;
    uint64_t variation_ns;  /* of round trips, as defined in RFC 6298 */
    uint64_t resend_ns;     /* initial retransmission timeout */
    uint64_t resend_ns_max; /* largest retransmission timeout; it doubles
                               each time */
    unsigned n_resends_now; /* of the oldest unacknowledged packet */
    uint64_t delivery_rate; /* bytes per second that arrive, lately */
};

/* Zeroed: nothing is known yet. */
struct path {
    struct path_sample seen; /* the part that is accounted for */
    struct path_sample last;
    uint64_t last_ns;
    uint64_t heard_ns; /* the sample before the last packets that came, also
                          those that were sent again: the earliest that they
                          can have come; 0: none came */
    double loss; /* fraction of lost packets; rises at once, falls slowly */
};

/* Returns false if fd is not a TCP connection or the kernel does not report. */
bool
path_sample_read(int fd, struct path_sample *out_sample);

/* Return an upper bound for a round trip: the smoothed time plus four
 * variations, as for retransmissions, but at most ten times the shortest round
 * trip and 2 ms. Larger values come from delayed acknowledgements of an idle
 * peer (40 ms and more), for which a process's answer does not wait. */
uint32_t
path_round_trip_ms_max(const struct path_sample *sample);

/* Account for the changes since the last sample. Returns at once if that was
 * less than PATH_PERIOD_NS ago. Retransmissions count only once something
 * was acknowledged after them: until then the path may be cut, which is not
 * loss. */
void
path_add_sample(struct path *path,
                const struct path_sample *sample,
                uint64_t now_ns);

static const uint64_t PATH_PERIOD_NS = 250000000;

/* Return how long a living peer that is asked may be silent, exceeded once in a
 * million times; 0 if nothing was lost. At most PATH_SILENCE_MAX_NS. */
uint64_t
path_max_silence_ns(const struct path *path);

static const uint64_t PATH_SILENCE_MAX_NS = 20000000000;

/* Return whether packets were lost, or the last ones are being
 * retransmitted. */
bool
path_has_loss(const struct path *path);

enum probe_state {
    PROBE_NONE,      /* not started, or it cannot be */
    PROBE_UNREACHED, /* no answer even from the kernel */
    PROBE_REACHED,   /* the kernel has answered */
    PROBE_ANSWERED   /* the process has answered */
};

struct probe {
    int fd; /* -1: none */
    enum probe_state state;
};

/* Start a probe; ends a former one. Does not block. */
void
path_probe_start(struct probe *probe, const struct address *listener);

/* Return how far the probe has come. */
enum probe_state
path_probe_poll(struct probe *probe);

/* End the probe; its state stays. */
void
path_probe_end(struct probe *probe);

/*
 * Count the ranks of all jobs on this host. Each rank holds a socket in the
 * abstract namespace whose name marks it as a rank, and the kernel lists these
 * sockets. The kernel removes them when
 * the process ends, however it ends. Ranks in other network namespaces are
 * not seen.
 */

/* Count the caller as a rank until it calls socket_close() on the result. -1:
 * it is not counted. */
int
host_ranks_register(void);

/* Return the number of visible ranks. 0: not known. */
uint32_t
host_ranks_count(void);

#endif
