/*
 * hooprun/link.h - sends frames between hooprun and its agent on another host
 *
 * They travel through the standard input and output of ssh. A frame is
 *
 *   kind   1 byte
 *   stream 1 byte, of FRAME_OUTPUT: 1 or 2, the standard output or error
 *   size   2 bytes, of the payload, least significant byte first
 *   rank   4 bytes, least significant byte first
 *   payload
 *
 * and never longer than PIPE_BUF, so that a pipe takes all of it or nothing.
 * Sending never waits: what does not fit is queued.
 */

#ifndef HOOPRUN_LINK_H
#define HOOPRUN_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    LINK_HEADER_BYTES = 8,
    LINK_FRAME_MAX = 4096, /* PIPE_BUF */
    LINK_PAYLOAD_MAX = LINK_FRAME_MAX - LINK_HEADER_BYTES,
    LINK_QUEUE_FULL = 256 * 1024, /* queued bytes above which an agent stops
                                     reading its workers */
    LINK_PING_S = 1,
    LINK_SILENCE_S = 30,        /* time after which the other end is given up */
    LINK_INPUT_MAX = 32 * 1024, /* input of rank 0 that may be sent without
                                   acknowledgement */
    LINK_VERSION = 1,
};

/* Sent before an agent's frames; the version of hoop and a newline follow.
 * Output of a login shell may come before it. */
#define LINK_PREAMBLE "hooprun agent 1 "

enum frame_kind {
    FRAME_PING = 1, /* both ways: sent when there is nothing else */
    /* To the agent. */
    FRAME_SETUP,  /* a part of the description of the run */
    FRAME_READY,  /* to the agent: that was the last part; from it: it is
                    ready. Payload: "address\0port\0coordinator\0" */
    FRAME_START,  /* start the workers: "address\0port\0coordinator\0" */
    FRAME_SIGNAL, /* send a signal to the rank: one byte, its number */
    FRAME_INPUT,  /* for rank 0; empty: its end */
    FRAME_NOTICE, /* the rank, of another host, has ended: 4 bytes of status */
    FRAME_LEAVE,  /* all have ended well; processes that they left continue */
    /* From the agent. */
    FRAME_REFUSED,    /* the run cannot begin: one byte, an exit code; the
                         text is on standard error */
    FRAME_STARTED,    /* the rank: 4 bytes of its process id */
    FRAME_OUTPUT,     /* output of the rank */
    FRAME_ENDED,      /* the rank: 4 bytes of wait status */
    FRAME_STOPPED,    /* the rank: one byte, the signal; 0: it continues */
    FRAME_INPUT_TAKEN /* 4 bytes: how many more bytes of FRAME_INPUT are
                         accepted */
};

/* Borrowed during the call. */
struct frame {
    enum frame_kind kind;
    uint8_t stream;
    uint16_t n_bytes;
    uint32_t rank;
    const char *bytes;
};

enum link_state {
    LINK_OPEN,
    LINK_ENDED,   /* nothing more will come */
    LINK_DAMAGED, /* what came was not a frame */
};

/* Zeroed except both descriptors: a new link. They do not block. */
struct link {
    int in_fd;
    int out_fd;
    size_t n_in;
    size_t n_queued; /* bytes */
    size_t n_allocated;
    size_t n_sent; /* bytes sent of the first queued frame */
    char *queue;
    char in[16 * LINK_FRAME_MAX];
};

typedef void
frame_fn(void *owner, const struct frame *frame);

/* Queue the frame and send what the other end takes now. Without memory the
 * process ends. */
void
link_send(struct link *link, const struct frame *frame);

/* Send a payload of any size, as frames of this kind. */
void
link_send_all(struct link *link,
              enum frame_kind kind,
              const char *bytes,
              size_t n_bytes);

/* Send a frame whose payload is a number of 4 bytes. */
void
link_send_number(struct link *link,
                 enum frame_kind kind,
                 uint32_t rank,
                 uint32_t number);

/* write(2) that raises no signal if the reader is gone. */
ssize_t
link_write(int fd, const void *bytes, size_t n_bytes);

/* Return the payload as a number; 0 if it is shorter. */
uint32_t
frame_number(const struct frame *frame);

/* Send what is queued, as far as the other end takes it now. */
void
link_flush(struct link *link);

/* Read once, and pass on complete frames. */
enum link_state
link_receive(struct link *link, frame_fn *on_frame, void *owner);

/* Pass on complete frames that are in the buffer. */
enum link_state
link_deliver(struct link *link, frame_fn *on_frame, void *owner);

/* Close what is open. */
void
link_close(struct link *link);

/* Send pings from a signal handler every LINK_PING_S, on the descriptors of at
 * most HOST_LIST_MAX links. Stop it before closing one. */
void
link_pings_start(void);
void
link_pings_set(const int *fds, int n_fds);
void
link_pings_stop(void);

#endif
