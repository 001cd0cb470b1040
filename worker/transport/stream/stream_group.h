/*
 * transport/stream/stream_group.h - one stream of bytes over several
 * connections
 *
 * Bytes go in chunks to whichever connection has room. Marks on the first
 * connection say which of the others has the next bytes, and how many; a few
 * bytes follow their mark on the first connection itself. The receiver reads
 * in the order of the marks, so bytes come out as they went in. What the other
 * connections bring meanwhile waits in the kernel. docs/wire-format.md has the
 * bytes.
 *
 * Thread: one at a time.
 */

#ifndef TRANSPORT_TCP_STREAM_GROUP_H
#define TRANSPORT_TCP_STREAM_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/limits.h"
#include "net/tls.h"

enum {
    STREAM_GROUP_N_FDS = 1 + LIMIT_STREAMS,
    STREAM_GROUP_MARK_BYTES = 16,
    /* What is read ahead on the first connection: as much as the frame reader
     * may have read when the first mark comes, and part of a mark. */
    STREAM_GROUP_READ_AHEAD_BYTES = LIMIT_READ_AHEAD + STREAM_GROUP_MARK_BYTES,
    STREAM_GROUP_MARKS_MAX = 64, /* at most, in one call */
    /* A descriptor that broke before it was used. */
    STREAM_GROUP_BROKEN = -2,
};

struct stream_group {
    /* [0] is borrowed; -1: not here (yet); or STREAM_GROUP_BROKEN */
    int fds[STREAM_GROUP_N_FDS];
    /* Encrypts the descriptor; NULL: plain. [0] is borrowed. */
    struct tls *tls[STREAM_GROUP_N_FDS];
    /* What a poller looks for; kept by the owner. */
    uint8_t watched[STREAM_GROUP_N_FDS];

    bool is_sending;
    unsigned n_streams; /* chunks go to streams 1 to n_streams */
    unsigned last_striped_stream;
    uint32_t blocked; /* bit i: fds[i] had no room for the last bytes */
    /* Bytes of the last mark that must still follow it. */
    size_t n_inline_bytes_left;
    size_t marks_first;
    size_t marks_end;
    uint8_t marks[STREAM_GROUP_MARKS_MAX * STREAM_GROUP_MARK_BYTES];

    bool is_receiving;
    uint32_t stream; /* the connection that the last mark names */
    size_t n_left;   /* how many of that mark's bytes are not read yet */
    size_t read_ahead_first;
    size_t read_ahead_end;
    uint8_t ahead[STREAM_GROUP_READ_AHEAD_BYTES];
};

/* Returns NULL if there is no memory. */
struct stream_group *
stream_group_create(void);
/* Close all connections but the first. stream_group may be NULL. */
void
stream_group_destroy(struct stream_group *stream_group);

/* Take over fd as connection number stream, 1 to LIMIT_STREAMS. Returns false,
 * and leaves fd to the caller, if the number is invalid or was already used. */
bool
stream_group_add(struct stream_group *stream_group, unsigned stream, int fd);
/* The same for an encrypted connection; tls is taken over, too. */
bool
stream_group_add_tls(struct stream_group *stream_group,
                     unsigned stream,
                     int fd,
                     struct tls *tls);
/* Returns whether connections 1 to n_streams are here. */
bool
stream_group_is_complete(const struct stream_group *stream_group,
                         unsigned n_streams);

/* As sendmsg(2): returns how many bytes, from the first on, were sent. The
 * caller must pass the others again next time. Without bytes, only marks that
 * wait are sent. */
ssize_t
stream_group_send(struct stream_group *stream_group,
                  const struct iovec *spans,
                  size_t n_spans);
/* Returns whether marks of sent bytes, or bytes that a tls holds, are not sent
 * yet, so that stream_group_send() must be called again. */
bool
stream_group_has_unsent(const struct stream_group *stream_group);

/* Begin to receive. bytes, at most STREAM_GROUP_READ_AHEAD_BYTES, are what
 * has been read of the first connection behind the last frame that came
 * without marks. */
void
stream_group_start_receiving(struct stream_group *stream_group,
                             const uint8_t *bytes,
                             size_t n_bytes);
/* As readv(2), but fewer bytes than asked for mean that no more have come.
 * errno is EBADMSG if what came is no mark, and EPROTO as for tls_receive(). */
ssize_t
stream_group_receive(struct stream_group *stream_group,
                     const struct iovec *spans,
                     size_t n_spans);
/* Returns whether something can be read that no descriptor reports. */
bool
stream_group_is_readable(const struct stream_group *stream_group);
/* Returns the connection whose bytes are to be read next. */
unsigned
stream_group_next_read(const struct stream_group *stream_group);

/* Ask the kernel which connections have broken, whether or not they are being
 * read. Bit i stands for the i-th connection. */
uint32_t
stream_group_find_broken(const struct stream_group *stream_group);
/* Close connection number stream, of which no bytes were announced. */
void
stream_group_close_stream(struct stream_group *stream_group, unsigned stream);

/*
 * How many streams to a peer pay.
 *
 * There is one stream at first. Their number doubles as long as that makes
 * the best of several windows faster; otherwise it goes back to the number
 * that was enough. A pause lowers only the rate of its own window, so the
 * best window tells what the network can carry.
 *
 * Pure. Thread: one at a time.
 */

struct stream_autotune {
    unsigned n_streams; /* the number whose rate is being measured */
    unsigned n_windows; /* windows measured with it */
    bool is_settled;
    uint64_t began_ns; /* when the window began; 0: with the next bytes */
    uint64_t n_bytes;  /* bytes of the window so far */
    double best;       /* the best rate in bytes per second */
    double best_rate_half_streams; /* the best rate with half as many streams */
};

/* n_bytes more have moved. clock tells the time if it is needed. Returns how
 * many streams there should be now. */
unsigned
stream_autotune_record_bytes(struct stream_autotune *stream_autotune,
                             uint64_t n_bytes,
                             uint64_t (*clock)(void));

/* There are n_streams from now on: measure anew. */
void
stream_autotune_begin(struct stream_autotune *stream_autotune,
                      unsigned n_streams);

#endif
