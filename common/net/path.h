/*
 * net/path.h - how good the way to a peer is, and whether anybody is at its end
 *
 * Two things that tell a bad network from a dead process. The kernel counts for
 * each TCP connection what it has sent again and how long a round trip takes:
 * from that follows how long a peer that lives may be silent. And a second
 * connection to the peer's listener, which says nothing and ends at once, shows
 * whether small packets arrive there (the kernel accepts it) and whether the
 * process runs (it closes it, too).
 *
 * Thread: a path and a probe are their caller's.
 */

#ifndef NET_PATH_H
#define NET_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "net/address.h"

/* What the kernel knows of one TCP connection. */
struct path_sample {
    uint64_t n_sent; /* packets with data, since it was made */
    uint64_t n_resent;
    uint64_t n_needless;     /* of them: had arrived, as the peer says */
    uint64_t n_acknowledged; /* bytes */
    uint64_t n_received;
    uint64_t n_disordered;  /* of them: came out of order */
    uint64_t round_trip_ns; /* smoothed */
    uint64_t round_trip_ns_min;
    uint64_t variation_ns;  /* of round trips, as RFC 6298 has it */
    uint64_t resend_ns;     /* after which a packet is sent again at first */
    uint64_t resend_ns_max; /* ... and at last: each time takes twice as long */
    unsigned n_resends_now; /* of the oldest packet that is not acknowledged */
};

/* Zeroed: nothing is known yet. */
struct path {
    struct path_sample seen; /* what is accounted for */
    struct path_sample last;
    uint64_t last_ns;
    double loss; /* share of the packets; rises at once, falls slowly */
};

/* False: fd is no TCP connection, or the kernel does not say. */
bool
path_sample_take(int fd, struct path_sample *out_sample);

/* Longer a round trip hardly takes. Four times the variation is added, as for
 * retransmissions; but no more than ten times the shortest round trip and 2 ms:
 * beyond that the peer's kernel has acknowledged late, because it had nothing to
 * send (40 ms and more), which no answer of a process has to wait for. */
uint32_t
path_round_trip_ms_max(const struct path_sample *sample);

/* Account for what has happened since the last sample. Costs nothing while that
 * is less than PATH_PERIOD_NS ago. What was sent again counts when something has been
 * acknowledged since: before, the way may as well be cut, which is no loss. */
void
path_observe(struct path *path,
             const struct path_sample *sample,
             uint64_t now_ns);

static const uint64_t PATH_PERIOD_NS = 250000000;

/* Longer than this a peer that lives and is asked is silent once in a million
 * times; 0 where nothing has been lost. At most PATH_SILENCE_MAX_NS. */
uint64_t
path_silence_ns(const struct path *path);

static const uint64_t PATH_SILENCE_MAX_NS = 20000000000;

/* Packets have been lost, or what was sent last is being sent again. */
bool
path_loses(const struct path *path);

enum probe_state {
    PROBE_NONE,      /* not begun, or it cannot be */
    PROBE_UNREACHED, /* not even the kernel has answered */
    PROBE_REACHED,   /* the kernel has */
    PROBE_ANSWERED   /* the process has */
};

struct probe {
    int fd; /* -1: none */
    enum probe_state state;
};

/* Ends the one before. Does not block. */
void
probe_start(struct probe *probe, const struct address *listener);

/* How far it has come by now. */
enum probe_state
probe_poll(struct probe *probe);

/* Ends it; its state stays. */
void
probe_end(struct probe *probe);

#endif
