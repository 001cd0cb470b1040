/*
 * transport/stream_group.h - several connections that carry one stream of bytes
 *
 * What is sent goes, a chunk at a time, to whichever connection has room. The
 * first connection says in marks which of the others has the next bytes, and
 * how many; what is little follows its mark there. The receiver reads in the
 * order of the marks, so that bytes come out as they went in: what the others
 * have meanwhile waits in the kernel. docs/wire-format.md has the bytes.
 *
 * Thread: one at a time.
 */

#ifndef TRANSPORT_STREAM_GROUP_H
#define TRANSPORT_STREAM_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/limits.h"
#include "net/tls.h"

enum {
    STREAM_GROUP_FDS = 1 + LIMIT_STREAMS,
    STREAM_GROUP_MARK = 16,
    /* Read ahead on the first connection: as much as a frame's reader may
     * have read when the first mark comes, and a mark that is not whole. */
    STREAM_GROUP_AHEAD = LIMIT_READ_AHEAD + STREAM_GROUP_MARK,
    STREAM_GROUP_MARKS = 64, /* written at once, at most */
    /* For a descriptor: it broke before anything was said of it. */
    STREAM_GROUP_BROKEN = -2,
};

struct stream_group {
    int fds[STREAM_GROUP_FDS]; /* [0] is borrowed; -1: not here (yet);
                                  * or STREAM_GROUP_BROKEN */
    struct tls
        *tls[STREAM_GROUP_FDS]; /* over it; NULL: plain. [0] is borrowed */
    uint8_t
        watched[STREAM_GROUP_FDS]; /* the owner's: what a poller looks for */

    bool is_sending;
    unsigned n_streams; /* that chunks go to: 1 to n_streams */
    unsigned stream_last;
    uint32_t blocked; /* bit i: fds[i] had no room for the last bytes */
    size_t n_inline;  /* of the last mark, still to come behind it */
    size_t marks_first;
    size_t marks_end;
    uint8_t marks[STREAM_GROUP_MARKS * STREAM_GROUP_MARK];

    bool is_receiving;
    uint32_t stream; /* that the last mark names ... */
    size_t n_left;   /* ... and what of its bytes has not been read */
    size_t ahead_first;
    size_t ahead_end;
    uint8_t ahead[STREAM_GROUP_AHEAD];
};

/* NULL: no memory. */
struct stream_group *
stream_group_create(void);
/* Closes all but the first. NULL is fine. */
void
stream_group_destroy(struct stream_group *stream_group);

/* Takes fd as the connection with this number, 1 to LIMIT_STREAMS. False: there
 * is or was one already, fd is the caller's. */
bool
stream_group_add(struct stream_group *stream_group, unsigned stream, int fd);
/* The same, encrypted; takes tls, too. */
bool
stream_group_add_tls(struct stream_group *stream_group,
                     unsigned stream,
                     int fd,
                     struct tls *tls);
/* 1 to n_streams are here. */
bool
stream_group_is_complete(const struct stream_group *stream_group,
                         unsigned n_streams);

/* As sendmsg(2): the bytes that are sent now, from the first on. The caller
 * gives those that were not the next time. No bytes: only marks that wait. */
ssize_t
stream_group_send(struct stream_group *stream_group,
                  const struct iovec *spans,
                  size_t n_spans);
/* Bytes are on their way whose marks are not, or which a tls still has: send
 * again. */
bool
stream_group_has_unsent(const struct stream_group *stream_group);

/* What has been read of the first connection behind the last byte that was not
 * in marks; at most STREAM_GROUP_AHEAD. */
void
stream_group_receive_first(struct stream_group *stream_group,
                           const uint8_t *bytes,
                           size_t n_bytes);
/* As readv(2), but fewer bytes than asked for mean that no more are here.
 * EBADMSG: what came is no mark; EPROTO: as tls_receive(). */
ssize_t
stream_group_receive(struct stream_group *stream_group,
                     const struct iovec *spans,
                     size_t n_spans);
/* Something can be read that no descriptor tells of. */
bool
stream_group_is_ready(const struct stream_group *stream_group);
/* The connection whose bytes are read next. */
unsigned
stream_group_next_read(const struct stream_group *stream_group);

/* Bit i: the i-th connection has broken, whether or not it is read now. Asks
 * the kernel. */
uint32_t
stream_group_broken(const struct stream_group *stream_group);
/* Closes the connection with this number: bytes of it will not come. */
void
stream_group_remove(struct stream_group *stream_group, unsigned stream);

#endif
