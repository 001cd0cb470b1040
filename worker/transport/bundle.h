/*
 * transport/bundle.h - several connections that carry one stream of bytes
 *
 * What is sent goes, a chunk at a time, to whichever connection has room. The
 * first connection says in marks which of the others has the next bytes, and
 * how many; what is little follows its mark there. The receiver reads in the
 * order of the marks, so that bytes come out as they went in: what the others
 * have meanwhile waits in the kernel. docs/wire-format.md has the bytes.
 *
 * Thread: one at a time.
 */

#ifndef TRANSPORT_BUNDLE_H
#define TRANSPORT_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/limits.h"
#include "net/tls.h"

enum {
    BUNDLE_FDS = 1 + LIMIT_STREAMS,
    BUNDLE_MARK = 16,
    /* Read ahead on the first connection: as much as a frame's reader may
     * have read when the first mark comes, and a mark that is not whole. */
    BUNDLE_AHEAD = LIMIT_READ_AHEAD + BUNDLE_MARK,
    BUNDLE_MARKS = 64, /* written at once, at most */
    /* For a descriptor: it broke before anything was said of it. */
    BUNDLE_BROKEN = -2,
};

struct bundle {
    int fds[BUNDLE_FDS];         /* [0] is borrowed; -1: not here (yet);
                                  * or BUNDLE_BROKEN */
    struct tls *tls[BUNDLE_FDS]; /* over it; NULL: plain. [0] is borrowed */
    uint8_t watched[BUNDLE_FDS]; /* the owner's: what a poller looks for */

    bool is_sending;
    unsigned n_streams; /* that chunks go to: 1 to n_streams */
    unsigned stream_last;
    uint32_t blocked; /* bit i: fds[i] had no room for the last bytes */
    size_t n_inline;  /* of the last mark, still to come behind it */
    size_t marks_first;
    size_t marks_end;
    uint8_t marks[BUNDLE_MARKS * BUNDLE_MARK];

    bool is_receiving;
    uint32_t stream; /* that the last mark names ... */
    size_t n_left;   /* ... and what of its bytes has not been read */
    size_t ahead_first;
    size_t ahead_end;
    uint8_t ahead[BUNDLE_AHEAD];
};

/* NULL: no memory. */
struct bundle *
bundle_create(void);
/* Closes all but the first. NULL is fine. */
void
bundle_destroy(struct bundle *bundle);

/* Takes fd as the connection with this number, 1 to LIMIT_STREAMS. False: there
 * is or was one already, fd is the caller's. */
bool
bundle_add(struct bundle *bundle, unsigned stream, int fd);
/* The same, encrypted; takes tls, too. */
bool
bundle_add_tls(struct bundle *bundle, unsigned stream, int fd, struct tls *tls);
/* 1 to n_streams are here. */
bool
bundle_has(const struct bundle *bundle, unsigned n_streams);

/* As sendmsg(2): the bytes that are sent now, from the first on. The caller
 * gives those that were not the next time. No bytes: only marks that wait. */
ssize_t
bundle_send(struct bundle *bundle, const struct iovec *spans, size_t n_spans);
/* Bytes are on their way whose marks are not, or which a tls still has: send
 * again. */
bool
bundle_owes(const struct bundle *bundle);

/* What has been read of the first connection behind the last byte that was not
 * in marks; at most BUNDLE_AHEAD. */
void
bundle_receive_first(struct bundle *bundle,
                     const uint8_t *bytes,
                     size_t n_bytes);
/* As readv(2), but fewer bytes than asked for mean that no more are here.
 * EBADMSG: what came is no mark; EPROTO: as tls_receive(). */
ssize_t
bundle_receive(struct bundle *bundle,
               const struct iovec *spans,
               size_t n_spans);
/* Something can be read that no descriptor tells of. */
bool
bundle_is_ready(const struct bundle *bundle);
/* The connection whose bytes are read next. */
unsigned
bundle_awaited(const struct bundle *bundle);

/* Bit i: the i-th connection has broken, whether or not it is read now. Asks
 * the kernel. */
uint32_t
bundle_breaks(const struct bundle *bundle);
/* Closes the connection with this number: bytes of it will not come. */
void
bundle_drop(struct bundle *bundle, unsigned stream);

#endif
