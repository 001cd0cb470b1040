/*
 * transport/peer.h - one peer's connection: queues, windows, parser
 *
 * Private to transport/: the state that its files share.
 */

#ifndef TRANSPORT_PEER_H
#define TRANSPORT_PEER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>
#include <sys/uio.h>

/* A hash that cannot grow says so instead of ending the user's process. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/limits.h"
#include "codec/codec_autotune.h"
#include "net/path.h"
#include "net/poller.h"
#include "net/tls.h"
#include "transport/flow.h"
#include "transport/segment.h"
#include "transport/stream_autotune.h"
#include "transport/stream_group.h"
#include "transport/transport.h"
#include "transport/unexpected_index.h"
#include "wire/frame_header_cache.h"

/*
 * NEW <-> CONNECTING -> READY -> LEFT
 *   \________\____________\______\__> LOST (final)
 *
 * NEW again: one of the two has no descriptor for a connection now.
 * LEFT: one side has said goodbye; nothing new is sent, the end of the stream
 * is awaited and is no failure. A peer that returns is a new peer with a new
 * incarnation.
 */
enum peer_state {
    PEER_NEW,
    PEER_CONNECTING,
    PEER_READY,
    PEER_LEFT,
    PEER_LOST,
};

enum {
    PEER_FRAMES_MAX = 8,          /* cut and not wholly written */
    PEER_CALL_MAX = 4,            /* payload frames in one sendmsg */
    PEER_PROGRESS_BYTES = 2 << 20 /* then the others have their turn */
};

/* A frame without payload, or with a text. */
struct control {
    TAILQ_ENTRY(control) link;
    struct frame frame;
    struct frame_tensor tensor; /* FRAME_TENSOR */
    size_t n_text;
    char text[];
};

TAILQ_HEAD(control_list, control);

/* A grant for a step of a collective that has not begun here yet. */
struct early_grant {
    TAILQ_ENTRY(early_grant) link;
    struct flow_key key;
    uint64_t granted;
};

TAILQ_HEAD(early_grant_list, early_grant);

/* One frame on its way into the socket. */
struct send_frame {
    uint8_t header[LIMIT_FRAME_HEADER];
    const uint8_t *payload;
    size_t n_stored;
    size_t n_padded; /* n_stored rounded up to LIMIT_FRAME_PAD */
    size_t n_raw;
    struct send_request *flow; /* NULL: control, or the operation is gone */
    uint8_t *owned;            /* a copy of the payload */
    size_t owned_capacity;
};

/* Part of a message that came before its receiver. */
struct fragment {
    TAILQ_ENTRY(fragment) link;
    size_t n_room;
    struct frame frame;
    uint8_t bytes[];
};

TAILQ_HEAD(fragment_list, fragment);

struct unexpected {
    TAILQ_ENTRY(unexpected) link;
    TAILQ_ENTRY(unexpected) index_link; /* FLOW_COLLECTIVE */
    UT_hash_handle hh;
    struct fragment_list parts;
    struct flow_key key;
    struct frame first; /* the first frame's header: label and total */
    uint64_t sequence;  /* order of arrival over all peers */
    bool has_rts;
    bool is_claimed;    /* a receive request takes it */
    bool is_dropped;    /* nobody will want it: further frames are binned */
    unsigned n_tensors; /* 1: the message is one */
    struct frame_tensor tensors[];
};

enum peer_target {
    TARGET_PLACE,   /* flow->place */
    TARGET_PIECE,   /* peer->piece, handed on as whole elements */
    TARGET_ENCODED, /* peer->encoded, checked and decoded when complete */
    TARGET_FRAGMENT,
    TARGET_SINK,
};

struct peer {
    struct transport *transport;
    TAILQ_ENTRY(peer) known_link;
    TAILQ_ENTRY(peer) dirty_link;
    TAILQ_ENTRY(peer) expected_link;
    TAILQ_ENTRY(peer) shm_link;
    uint32_t rank;
    enum peer_state state;
    int fd;
    struct segment *segment; /* shared with it, or NULL: fd carries all */
    struct tls *tls;         /* over fd; NULL: plain */
    bool is_reading;         /* ... in it: it must not go away now */
    bool has_hung_up;        /* fd's stream has ended, whatever segment holds */
    const char
        *deferred_failure; /* why it is lost when it is written to next */
    bool is_at_fault;      /* ... which is its doing: all are told */
    bool is_dirty;         /* has something to write */
    bool is_blocked;       /* the socket is full: epoll tells when it is not */
    bool is_watched;       /* epoll tells when it is writable */
    struct peer_list *expected_list; /* who waits looks there; NULL: nobody */
    uint32_t n_posted;       /* receives from it that nothing has come for */
    bool is_goodbye_pending; /* counted in transport.n_goodbyes */
    bool has_parted;         /* we said goodbye: nothing may follow */
    bool has_left;           /* it said goodbye */
    bool has_ended;          /* its stream has ended */
    uint64_t n_reads;        /* times that something came */
    bool is_unplugged;       /* by a fault: nothing goes or comes */
    uint64_t read_ns;        /* when something came through segment; 0: never */
    uint64_t silent_ms;      /* before it was lost */
    struct path path;        /* of fd */
    /* Several connections: striping.c */
    struct stream_group *stream_group; /* NULL: only fd */
    unsigned n_streams_wanted;         /* 0: fd alone */
    unsigned n_streams_announced;
    bool
        is_striping_begun; /* SPREAD is cut: nothing more until it is written */
    struct stream_autotune stream_autotune;

    /* Sending. */
    struct send_request_list send_requests;
    struct send_request_list
        rendezvous_pending; /* announced, not granted yet */
    struct send_request_list
        unconfirmed; /* tensors cut to their end, likewise */
    struct control_list controls;
    size_t n_control_bytes; /* of them, as peer_control_cost() counts */
    struct early_grant_list early_grants;
    size_t n_early_grants;
    struct send_frame frames[PEER_FRAMES_MAX];
    unsigned frame_first;
    unsigned n_frames;
    size_t frame_offset;   /* bytes of the first frame that are written */
    uint64_t n_packetized; /* frames of the stream so far */
    struct frame_header_cache header_cache_out;
    uint64_t credit; /* eager window left */
    size_t n_rendezvous_pending;
    bool is_same_host;  /* on this host: nothing is faster than the link */
    uint64_t n_written; /* bytes that the socket took */
    struct codec_autotune codec_autotune; /* CODEC_AUTO: does coding pay? */

    /* Receiving. */
    struct recv_request_list recv_requests;     /* open and matched */
    struct unexpected_list unexpected_messages; /* in order of arrival */
    size_t n_unexpected_messages;
    uint64_t n_unexpected_bytes; /* of its eager window: by what came early */
    uint64_t unreturned_credit;  /* consumed, not given back yet */
    size_t inbound_first;
    size_t inbound_end;
    bool in_payload;
    uint64_t n_begun; /* frames of the stream so far, frame included */
    struct frame_header_cache header_cache_in;
    struct frame frame;
    struct frame_tensor tensor; /* FRAME_TENSOR: while frame begins */
    bool has_refused; /* the message that frame opens: it fits no receive */
    enum peer_target target;
    struct recv_request
        *flow; /* of the frame being read; NULL: cancelled or none */
    struct fragment *fragment;     /* TARGET_FRAGMENT: being filled ... */
    struct unexpected *unexpected; /* ... for this message */
    size_t n_stored;               /* payload bytes read */
    size_t pad_left;
    size_t piece_used; /* bytes of piece handed on */
    uint8_t *piece;
    uint8_t *encoded;
    /* Elements of a payload are aligned in it. */
    _Alignas(16) uint8_t inbound[LIMIT_READ_AHEAD];
};

TAILQ_HEAD(peer_list, peer);

/* Written by the driver, read by anybody. */
struct counters {
    _Atomic uint64_t bytes_sent;
    _Atomic uint64_t bytes_received;
    _Atomic uint64_t wire_sent;
    _Atomic uint64_t connections;
};

/* There is one writer: no locked instruction is needed. */
static inline void
counter_add(_Atomic uint64_t *counter, uint64_t n)
{
    const uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);

    atomic_store_explicit(counter, now + n, memory_order_relaxed);
}

struct transport {
    const struct roster *roster;
    const struct transport_events *events;
    void *owner;
    enum codec_id codec_id;
    struct codec *codec;
    struct poller *poller;
    uint64_t window;
    bool is_summing;       /* frames have checksums, both ways */
    unsigned n_streams;    /* to a peer; 0: as many as are worth it */
    struct faults *faults; /* NULL: none */
    uint64_t unexpected_next;
    bool is_leaving;
    size_t n_early_grants; /* of all peers */
    uint32_t n_goodbyes;   /* peers whose end of stream is awaited */
    struct peer_list dirty;
    struct peer_list expected;
    struct peer_list expected_later; /* for a message, long in coming maybe */
    struct peer_list shm_peers;      /* peers with a segment */
    bool is_sleep_armed;             /* shm_peers are asked to ring */
    bool in_progress_call;           /* a turn, or what else reads or writes */
    struct recv_request_list posted; /* messages wanted, not matched yet */
    uint32_t n_posted_to_any;        /* ... whoever sends them */
    struct recv_request_list
        drains; /* receive requests with early arrivals to take */
    struct unexpected_index unexpected_index;
    /* unexpected_queue.c's: all unexpected_messages of all peers by key, and memory for more */
    struct unexpected *unexpected_table;
    struct unexpected *unexpected_anchor;
    struct unexpected_list free_unexpected;
    struct fragment_list free_fragments;
    unsigned n_free_unexpected;
    unsigned n_free_fragments;
    struct counters counters;
    uint8_t *sink;
    /* [rank], zeroed unless known: whoever only looks at one finds it new. */
    struct peer *peers;
    struct peer_list known;
};

/* peer.c */

/* That of rank, new where it has not been asked for. */
struct peer *
peer_at(struct transport *transport, uint32_t rank);
/* Every change of state. */
void
peer_move(struct peer *peer, enum peer_state next);
/* The connection, but not what came over it. */
void
peer_disconnect(struct peer *peer);
/* Queue for the next write. */
void
peer_touch(struct peer *peer);
/* Close the connection and tell the engine. Repeatable. */
void
peer_lose(struct peer *peer, const char *why);
/* peer_lose() with the next turn, for callers in the middle of ending or
 * telling something: nothing more is written. why is kept. */
void
peer_fail_later(struct peer *peer, const char *why);
/* The same, for what the peer did or did not do. */
void
peer_fail_later_for(struct peer *peer, const char *why);
/* Bytes that have left by its sockets, and those that still wait there. */
uint64_t
peer_sent_bytes(const struct peer *peer, uint64_t *out_n_queued);
/* The peer's stream ended where it may. */
void
peer_end(struct peer *peer);
/* Its stream has ended, in order (0), or by an error of errno's. */
void
peer_stream_ended(struct peer *peer, int error);
/* Its goodbye came: nothing new to it or from it. */
void
peer_leave(struct peer *peer);
void
peer_update_expected(struct peer *peer);

/* tcp_packetize.c */

/* Cut one more frame, behind the others; false: none to cut, or no room. */
bool
peer_packetize(struct peer *peer);
/* flow's frames may be cut: behind the others', unless it forwards. */
void
peer_queue(struct peer *peer, struct send_request *flow);
/* flow has been cut to its end, or is cancelled. */
void
peer_unqueue(struct peer *peer, struct send_request *flow);
/* flow waits no longer for its receiver's grant, if it did. */
void
peer_end_unconfirmed(struct peer *peer, struct send_request *flow);
/* Room of out's own for a payload of n_bytes; NULL: no memory. */
uint8_t *
send_frame_room(struct send_frame *out, size_t n_bytes);

/* payload_encode.c */

/* Make the out->n_raw bytes of flow that are to be framed next a payload:
 * encoded in the frame's own room, or where they lie. False: the peer is doomed,
 * for lack of memory. */
bool
peer_encode(struct peer *peer,
            struct send_frame *out,
            struct frame *frame,
            struct send_request *flow);

/* header.c */

/* frame's header to out, whose payload is there. tensor: NULL if it is none. */
void
peer_header_write(struct peer *peer,
                  struct send_frame *out,
                  struct frame *frame,
                  const struct frame_tensor *tensor);
/* peer->frame from peer->inbound, once for each. Handle: HOOP_E_DATA_LOSS (also
 * of frames before it), HOOP_E_UNIMPLEMENTED (other version). */
enum hoop_status
peer_header_read(struct peer *peer);
/* Of peer->frame, which has come whole, where anybody will look at it. Handle:
 * HOOP_E_DATA_LOSS. */
enum hoop_status
peer_check_payload(const struct peer *peer);

/* HOOP_E_DATA_LOSS: says what is wrong, and between which addresses. */
enum hoop_status
peer_raise_corruption(const struct peer *peer, const char *what);

/* tcp_send.c */

/* The i-th frame that is cut and not wholly written. */
struct send_frame *
peer_frame(struct peer *peer, unsigned i);
/* The header of flow's next frame, without its payload's part. */
struct frame
send_request_frame(const struct send_request *flow);

/* Write until the socket is full, nothing is left or the turn is over.
 * Returns whether bytes moved. */
bool
peer_write(struct peer *peer);
void
peer_control(struct peer *peer, const struct frame *frame, const char *text);
/* The same, for the announcement of a tensor, which is copied; or NULL. */
void
peer_send_rts(struct peer *peer,
              const struct frame *frame,
              const struct frame_tensor *tensor);
/* flow has been granted more. */
void
peer_send_granted(struct peer *peer,
                  struct send_request *flow,
                  uint64_t granted);
void
peer_await_writable(struct peer *peer);
/* Ask nothing more of flow's buffer. */
void
peer_send_cancel(struct peer *peer, struct send_request *flow);
void
peer_send_clear(struct peer *peer);
/* Those that are not cut yet. */
void
peer_forget_controls(struct peer *peer);

/* fault_inject.c: faults on demand */

/* A rule strikes at flow's next frame: what is cut already must go before. */
bool
peer_is_fault_due(struct peer *peer, const struct send_request *flow);
/* out, which has just been cut from flow and is the last of those that wait for
 * the socket: it may change, and it may be gone then. */
void
peer_inject_fault(struct peer *peer,
                  struct send_frame *out,
                  struct send_request *flow);

/* loopback.c */

/* Move what this rank sends to itself. */
bool
loopback_progress(struct transport *transport);
/* What was announced of flow, which is not queued any more, is forgotten. */
void
loopback_cancel(struct transport *transport, const struct send_request *flow);
bool
peer_is_self(const struct peer *peer);

/* striping.c: the same stream over several connections */

/* The first connection is there. */
void
striping_connected(struct peer *peer);
/* n_bytes more were read or written: are more streams worth it? */
void
striping_measure(struct peer *peer, size_t n_bytes);
/* frame, a SPREAD of ours, is cut ... */
void
striping_packetized(struct peer *peer, const struct frame *frame);
/* ... and nothing may be cut before it has been written. */
bool
striping_blocks_send(struct peer *peer);
/* peer->frame is the peer's SPREAD. */
void
striping_receive(struct peer *peer);
/* Which directions are spread by now. */
bool
striping_is_receiving(const struct peer *peer);
bool
striping_is_sending(const struct peer *peer);
/* As readv(2), from wherever the stream is: a payload's rest, which may be
 * empty, and what is read ahead. */
ssize_t
striping_read(struct peer *peer, const struct iovec spans[2]);
/* There is something to read that no descriptor tells of. */
bool
striping_is_ready(const struct peer *peer);
/* There is something to write beside frames. */
bool
striping_has_unsent(const struct peer *peer);
/* Have the poller look for no more than can be used now. False: it refuses. */
bool
striping_watch(struct peer *peer);
/* A connection has something, but nothing could be read. */
void
striping_check_broken(struct peer *peer);
void
striping_close(struct peer *peer);

/* tcp_control.c */

/* Bytes of an eager frame have found their place. */
void
peer_consumed(struct peer *peer, const struct frame *frame);
/* Let the sender send what flow permits, if it waits for that. */
void
peer_grant(struct peer *peer, struct recv_request *flow);
/* The receiver must not wait for the rest of flow, a message. */
void
peer_withdraw(struct peer *peer, const struct send_request *flow);
/* peer->frame is no flow's: do what it says, choose its payload's target. */
void
peer_receive_control(struct peer *peer);
/* frame, of flow's message, agrees on its length. What does not is reported;
 * a point-to-point message has the one it comes with. */
bool
peer_check_size(struct peer *peer,
                const struct frame *frame,
                const struct recv_request *flow);
/* May peer->frame, which no flow wants, be kept? Reports what must not be. */
bool
peer_may_keep(struct peer *peer);

/* tcp_receive.c */

/* Read until the socket is empty or the turn is over. */
bool
peer_read(struct peer *peer);
/* The header in peer->inbound. False: the peer is lost. */
bool
peer_begin_frame(struct peer *peer);
void
peer_end_frame(struct peer *peer);
/* What peer->frame, which has just begun, says of a tensor; NULL: nothing. */
const struct frame_tensor *
peer_tensor(const struct peer *peer);
/* Room for peer->frame's payload; NULL: the peer is lost for lack of it. */
struct fragment *
peer_fragment_alloc(struct peer *peer);
void
peer_receive_clear(struct peer *peer);

/* shm_stream.c: the same stream through a segment */

/* As sendmsg(2); errno is EAGAIN when it is full. */
ssize_t
peer_shm_send(struct peer *peer, const struct iovec *spans, size_t n_spans);
/* The stream to the peer has ended; what is written will be read. */
void
peer_shm_send_end(struct peer *peer);
/* The peer knows what was read. */
void
peer_shm_release(struct peer *peer);
bool
peer_shm_read(struct peer *peer);
/* Something came over fd: it rings, or has hung up. */
void
peer_shm_drain_wakeups(struct peer *peer);
/* Read and write what can be. */
bool
shm_peers_progress(struct transport *transport);
/* Only write. */
bool
shm_peers_write(struct transport *transport);
/* Ask all to ring; false: there is something to read or room to write. */
bool
shm_peers_arm(struct transport *transport);
void
shm_peers_disarm(struct transport *transport);

#endif
