/*
 * transport/peer.h - one peer's connection: queues, windows, parser
 *
 * This header is private to transport/: it is the state that the files of the
 * folder share. Thread: the progress owner.
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

/* uthash then reports lack of memory instead of ending the user's process. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "base/limits.h"
#include "codec/codec_autotune.h"
#include "net/path.h"
#include "net/poller.h"
#include "net/tls.h"
#include "transport/flow.h"
#include "transport/half_connection.h"
#include "transport/shm/segment.h"
#include "transport/stream/stream_group.h"
#include "transport/transport.h"
#include "transport/unexpected_queue.h"
#include "wire/frame_header_cache.h"

enum {
    PEER_FRAMES_MAX = 8, /* frames that are cut and not wholly written */
    PEER_SENDMSG_FRAMES_MAX = 4, /* cut before one sendmsg() */
    /* Bytes to move before other peers get their turn. */
    PEER_PROGRESS_BYTES = 2 << 20
};

/* A frame without payload, or with a text as its payload. */
struct control {
    TAILQ_ENTRY(control) link;
    struct frame frame;
    struct frame_tensor tensor; /* if frame has FRAME_TENSOR */
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

/* One frame that is being written to the socket. */
struct outbound_frame {
    uint8_t header[LIMIT_FRAME_HEADER];
    const uint8_t *payload;
    size_t n_stored;
    size_t n_padded_payload; /* n_stored rounded up to LIMIT_FRAME_PAD */
    size_t n_raw;
    /* NULL: a control frame, or the flow needs no report */
    struct send_request *flow;
    uint8_t *owned; /* room for a copy of the payload */
    size_t payload_copy_capacity;
};

/* A payload of a message that came before its receive request. */
struct fragment {
    TAILQ_ENTRY(fragment) link;
    size_t n_room;
    struct frame frame;
    uint8_t bytes[];
};

TAILQ_HEAD(fragment_list, fragment);

struct unexpected {
    TAILQ_ENTRY(unexpected) link;
    TAILQ_ENTRY(unexpected) index_link; /* if it belongs to a collective */
    UT_hash_handle hh;
    struct fragment_list parts;
    struct flow_key key;
    struct frame first; /* header of its first frame: label and total */
    uint64_t sequence;  /* order of arrival over all peers */
    bool is_announced;
    bool is_claimed;    /* a receive request is bound to it */
    bool is_dropped;    /* nobody wants it: its further frames are dropped */
    unsigned n_tensors; /* 1 if the message is a tensor, otherwise 0 */
    struct frame_tensor tensors[];
};

enum peer_target {
    READ_INTO_USER_BUFFER,    /* flow->place */
    READ_INTO_PIECE_BUFFER,   /* receive.piece, reported as whole elements */
    READ_INTO_ENCODED_BUFFER, /* receive.encoded, then checked and decoded */
    READ_INTO_UNEXPECTED_FRAGMENT,
    READ_INTO_DISCARD_BUFFER,
};

struct peer;
TAILQ_HEAD(peer_list, peer);

/* The stream to the peer: what is queued for it, cut and written. */
struct send_half {
    enum send_state state;
    bool is_dirty;         /* in transport.dirty: it has something to write */
    bool is_blocked;       /* the socket or ring is full */
    bool is_write_watched; /* the poller reports when a socket is writable */
    struct send_request_list requests;
    /* Announced by an ANNOUNCE frame, not granted yet. */
    struct send_request_list rendezvous_pending;
    size_t n_rendezvous_pending;
    /* Confirmed tensors that are cut to the end, not granted yet. */
    struct send_request_list unconfirmed;
    struct control_list controls;
    size_t n_control_bytes; /* of controls, as control_cost() counts them */
    struct early_grant_list early_grants;
    size_t n_early_grants;
    struct outbound_frame frames[PEER_FRAMES_MAX];
    unsigned first_frame;
    unsigned n_frames;
    size_t frame_offset;   /* bytes of frames[first_frame] that are written */
    uint64_t n_packetized; /* frames cut for this peer so far */
    struct frame_header_cache header_cache;
    uint64_t credit;            /* what is left of the eager window */
    uint64_t n_written;         /* bytes that its sockets or its ring took */
    uint64_t n_control_written; /* of frames without data, as they are cut */
    uint64_t n_data_pieces;     /* transport_activity_count() */
    /* CODEC_AUTO: decides whether encoding pays. */
    struct codec_autotune codec_autotune;
};

/* The stream from the peer: the frame that is being read, what came before it
 * was wanted, and the requests that wait for more. */
struct receive_half {
    enum receive_state state;
    struct recv_request_list requests; /* open and matched */
    uint32_t n_posted; /* posted receives from it that nothing has come for */
    struct unexpected_list unexpected_messages; /* in order of arrival */
    size_t n_unexpected_messages;
    uint64_t n_unexpected_bytes; /* what they hold of the peer's eager window */
    /* Window credit that is not returned to the peer yet. */
    uint64_t unreturned_credit;
    uint64_t n_reads;          /* how often something has come */
    uint64_t last_shm_read_ns; /* when bytes came through segment; 0: never */
    bool is_ring_in_use;       /* it is being read, so must not be unmapped */

    bool is_reading_payload;
    uint64_t n_frames_begun; /* including the current one */
    struct frame_header_cache header_cache;
    struct frame frame;
    /* Valid if frame has FRAME_TENSOR, while frame begins. */
    struct frame_tensor tensor;
    bool has_refused_message; /* what frame begins fits no receive request */
    enum peer_target target;
    /* The request that frame belongs to; NULL: cancelled, or none. */
    struct recv_request *flow;
    /* READ_INTO_UNEXPECTED_FRAGMENT: what is being filled */
    struct fragment *fragment;
    /* The message that fragment belongs to; NULL: a failure notice. */
    struct unexpected *unexpected;
    size_t n_stored;         /* payload bytes of frame that are read */
    size_t n_piece_reported; /* bytes of piece that are reported */
    uint8_t *piece;
    uint8_t *encoded;

    size_t ahead_first;
    size_t ahead_end;
    /* What is read ahead. Aligned so that the elements of a payload are,
     * too. */
    _Alignas(16) uint8_t ahead[LIMIT_READ_AHEAD];
};

/* Returns how much payload of the current frame is to be read. */
static inline size_t
receive_payload_left(const struct receive_half *receive)
{
    return receive->is_reading_payload
               ? receive->frame.stored - receive->n_stored
               : 0;
}

/* Returns how many bytes of padding follow the payload of the current
 * frame. */
static inline size_t
receive_padding(const struct receive_half *receive)
{
    return frame_padded(receive->frame.stored) - receive->frame.stored;
}

/* Several connections to the peer (stream/striping.c). */
struct striping {
    struct stream_group *group; /* NULL: there is only the first connection */
    unsigned n_wanted;          /* 0: only the first is wanted */
    unsigned n_announced;
    struct stream_autotune autotune;
};

/* Why the next write will lose a peer. */
struct deferred_failure {
    const char *why; /* NULL: nothing */
    /* TRANSPORT_LOST, or what precedes it: TRANSPORT_CORRUPTED if the peer
     * caused it, TRANSPORT_NO_MEMORY if this rank did. */
    enum transport_peer_event cause;
};

struct peer {
    struct transport *transport;
    uint32_t rank;
    TAILQ_ENTRY(peer) known_link;
    TAILQ_ENTRY(peer) dirty_link;
    TAILQ_ENTRY(peer) expected_link;
    TAILQ_ENTRY(peer) shm_link;
    /* The list in which transport_spin_once() finds it, or NULL. */
    struct peer_list *expected_list;

    int fd;
    struct tls *tls; /* encrypts fd; NULL: fd is plain */
    /* Memory shared with the peer; NULL: fd carries frames. */
    struct segment *segment;
    bool is_same_host; /* no codec would pay */
    struct path path;  /* losses and round trip of fd */
    bool is_unplugged; /* an injected fault stops all traffic */
    struct deferred_failure failure;
    uint64_t silent_ms_when_lost; /* how long nothing had come by then */

    struct striping striping;
    struct send_half send;
    struct receive_half receive;
};

/* Written by the progress owner, or under the engine's lock while nobody owns
 * progress; read by any thread. */
struct counters {
    _Atomic uint64_t bytes_sent;
    _Atomic uint64_t bytes_received;
    _Atomic uint64_t wire_sent;
    _Atomic uint64_t connections;
    _Atomic uint64_t slept_ns; /* asleep until a socket was ready */
};

/* Since there is one writer, no locked instruction is needed. */
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
    const struct config *config;
    struct codec *codec;
    struct poller *poller;
    uint64_t window;
    struct faults *faults; /* NULL: none */
    uint64_t unexpected_next;
    bool is_leaving;
    size_t n_early_grants; /* of all peers together */
    uint32_t n_connected;  /* peers with an open descriptor */
    struct peer_list dirty;
    uint32_t n_blocked; /* peers whose socket or ring is full */
    struct peer_list expected;
    /* Peers that owe only a message or a grant, maybe for long. */
    struct peer_list expected_later_peers;
    struct peer_list shm_peers; /* peers with a segment */
    /* Those of shm_peers have been asked to wake this rank. */
    bool is_sleep_wakeup_armed;
    bool in_progress_call; /* some call is reading, writing or reporting */
    /* From whose socket the inline path has read frames that it left to the
     * next progress call; NULL: from none. */
    struct peer *frames_ahead;
    /* Message receives that are not matched yet. */
    struct recv_request_list posted;
    uint32_t n_posted_any_source; /* those of posted that accept any sender */
    /* Receive requests that can take unexpected frames. */
    struct recv_request_list drains;
    struct unexpected_index unexpected_index;
    /* Owned by unexpected_queue.c: the unexpected messages of all peers by
     * key, and free memory for more. */
    struct unexpected *unexpected_by_key;
    struct unexpected *unexpected_table_anchor;
    struct unexpected_list free_unexpected;
    struct fragment_list free_fragments;
    unsigned n_free_unexpected;
    unsigned n_free_fragments;
    struct counters counters;
    char watch_error[LIMIT_ERROR_TEXT / 4]; /* peer_lose_unwatched(); or "" */
    uint8_t *sink;
    /* One per rank. A peer is all zero, and so looks new, until
     * peer_get_or_init() makes it known. */
    struct peer *peers;
    struct peer_list known;
};

static inline void
peer_report_event(const struct peer *peer,
                  enum transport_peer_event event,
                  const char *why)
{
    const struct transport *transport = peer->transport;

    transport->events->on_peer_event(transport->owner, peer->rank, event, why);
}

/* The kernel, or whoever else reads flow, has taken n_bytes more of it. */
static inline void
peer_report_sent(const struct peer *peer,
                 struct send_request *flow,
                 uint64_t n_bytes)
{
    const struct transport *transport = peer->transport;

    flow->handed += n_bytes;
    transport->events->on_bytes_sent(transport->owner, flow, n_bytes);
}

/* n_bytes more of flow have arrived, at piece or, if piece is NULL, at
 * flow->place. */
static inline void
peer_report_arrived(const struct peer *peer,
                    struct recv_request *flow,
                    const uint8_t *piece,
                    size_t n_bytes)
{
    const struct transport *transport = peer->transport;

    flow->arrived += n_bytes;
    transport->events->on_arrived(transport->owner, flow, piece, n_bytes);
}

/*
 * What each file has for the others. A file calls only those above it, except
 * that stream/striping.c, which finds that a peer is lost, has stream/send.c
 * write what the loss leaves to be said.
 */

/* peer.c */

/* Make the peer of rank, which is all zero, known. */
struct peer *
peer_init(struct transport *transport, uint32_t rank);
/* Returns the peer of rank, initialised if this is the first time. Most ranks
 * of a large job never exchange a message: for those, no page of memory is
 * touched. */
static inline struct peer *
peer_get_or_init(struct transport *transport, uint32_t rank)
{
    struct peer *peer = &transport->peers[rank];

    return peer->transport ? peer : peer_init(transport, rank);
}
/* Change the state of one half of the connection. Every change goes through
 * here. */
void
peer_set_send_state(struct peer *peer, enum send_state next);
void
peer_set_receive_state(struct peer *peer, enum receive_state next);
/* Returns whether peer is connected and has not said goodbye. */
static inline bool
peer_is_connected(const struct peer *peer)
{
    return peer->receive.state == RECEIVE_OPEN;
}
/* Returns whether a connection to peer may still be made. */
static inline bool
peer_is_unconnected(const struct peer *peer)
{
    return peer->send.state <= SEND_CONNECTING;
}
static inline bool
peer_is_self(const struct peer *peer)
{
    return peer->rank == peer->transport->roster->rank;
}
/* Queue peer to be written to by the next progress call. */
void
peer_mark_dirty(struct peer *peer);
/* The socket or ring of peer is full. */
void
peer_block(struct peer *peer);
/* It may have room again. */
void
peer_unblock(struct peer *peer);
void
peer_update_expected(struct peer *peer);
/* Report cause, unless it is TRANSPORT_LOST, and call peer_lose() at the
 * next write; does nothing if there is no connection, or a failure already.
 * For a caller in the middle of ending or reporting something. Nothing more
 * is written to peer. why must stay valid. */
void
peer_defer_failure(struct peer *peer,
                   enum transport_peer_event cause,
                   const char *why);
/* Returns how many bytes the network has taken from its sockets, and writes
 * how many still wait in them. */
uint64_t
peer_sent_bytes(const struct peer *peer, uint64_t *out_n_queued);

/* stream/header.c */

/* Write the header of frame into out, whose payload is already set. tensor is
 * NULL if frame is not of a tensor. */
void
peer_header_write(struct peer *peer,
                  struct outbound_frame *out,
                  struct frame *frame,
                  const struct frame_tensor *tensor);
/* Decode peer->receive.frame from peer->receive.ahead. Call once per frame,
 * since it counts frames. Handle: HOOP_E_DATA_LOSS (also if earlier frames
 * are missing), HOOP_E_UNIMPLEMENTED (another version of the wire). */
enum hoop_status
peer_header_read(struct peer *peer);
/* Returns what peer->receive.frame, which has just begun, says of a tensor,
 * or NULL. */
static inline const struct frame_tensor *
peer_frame_tensor(const struct peer *peer)
{
    return frame_is_tensor(&peer->receive.frame) ? &peer->receive.tensor : NULL;
}
/* Check the checksum of the payload of peer->receive.frame, which has one and
 * has come completely, if the payload was stored to be used. Handle:
 * HOOP_E_DATA_LOSS. */
enum hoop_status
peer_check_payload_checksum(const struct peer *peer);
/* Raise HOOP_E_DATA_LOSS with a text that says what is wrong, and between
 * which addresses. */
enum hoop_status
peer_raise_corruption(const struct peer *peer, const char *what);

/* stream/payload.c; more in transport/stream/payload.h */

/* What outbound_frame_ensure_room() does if out owns too little. */
uint8_t *
outbound_frame_make_room(struct outbound_frame *out, size_t n_bytes);
/* Returns room of n_bytes that out owns, for a payload; NULL if there is no
 * memory. */
static inline uint8_t *
outbound_frame_ensure_room(struct outbound_frame *out, size_t n_bytes)
{
    return out->payload_copy_capacity < n_bytes
               ? outbound_frame_make_room(out, n_bytes)
               : out->owned;
}
/* Let out own a copy of its payload. Returns false if there is no memory. */
bool
outbound_frame_own_payload(struct outbound_frame *out);
/* Store the next out->n_raw bytes of flow as the payload of out: encoded in
 * room that out owns, or where they lie. Returns false if there was no memory,
 * which loses peer at its next write. */
bool
peer_encode_payload(struct peer *peer,
                    struct outbound_frame *out,
                    struct frame *frame,
                    struct send_request *flow);

/* shm/stream.c */

/* As sendmsg(2), into the ring; errno is EAGAIN if the ring is full. */
ssize_t
peer_shm_send(struct peer *peer, const struct iovec *spans, size_t n_spans);
/* End our stream to the peer, which will still read what is written. */
void
peer_shm_shutdown(struct peer *peer);
/* Let the peer write over what has been read. */
void
peer_shm_release_read_bytes(struct peer *peer);
/* Ask all peers with a segment to wake this rank. Returns false if there is
 * already something to read, or room to write. */
bool
shm_peers_prepare_sleep(struct transport *transport);
void
shm_peers_stop_sleeping(struct transport *transport);

/* send_queue.c */

/* Queue a control frame, with text as its payload unless text is NULL. Returns
 * NULL, and queues nothing, if frame repeats a sign of life, no frame may
 * follow, or there is no memory. */
struct control *
peer_queue_control(struct peer *peer,
                   const struct frame *frame,
                   const char *text);
/* Free control, a frame that is queued. */
void
peer_remove_control(struct peer *peer, struct control *control);
/* Free the control frames that are not cut yet. */
void
peer_clear_controls(struct peer *peer);
/* Let frames of flow be cut after those of other flows, or before those whose
 * data has long been ready if flow forwards data. */
void
peer_queue_send(struct peer *peer, struct send_request *flow);
/* Let no more frames of flow be cut, because it is cut to its end or
 * cancelled. */
void
peer_unqueue_send(struct peer *peer, struct send_request *flow);
/* The window does not permit flow, which is queued, so ask for a grant. */
void
peer_announce_send(struct peer *peer, struct send_request *flow);
/* flow is not queued any more. Wait for its grant. */
void
peer_await_confirmation(struct peer *peer, struct send_request *flow);
/* Stop waiting for the grant of flow, if it is unconfirmed. */
void
peer_end_unconfirmed(struct peer *peer, struct send_request *flow);
/* The peer has granted flow up to this many bytes. */
void
peer_apply_grant(struct peer *peer,
                 struct send_request *flow,
                 uint64_t granted);
/* Returns the i-th frame that is cut and not wholly written. */
static inline struct outbound_frame *
peer_queued_frame(struct peer *peer, unsigned i)
{
    return &peer->send.frames[(peer->send.first_frame + i) % PEER_FRAMES_MAX];
}
/* n_raw bytes of flow have become a frame that stores them in n_stored bytes:
 * count them. */
static inline void
peer_count_framed(const struct peer *peer,
                  struct send_request *flow,
                  size_t n_raw,
                  size_t n_stored)
{
    struct counters *counters = &peer->transport->counters;

    flow->framed += n_raw;
    counter_add(&counters->bytes_sent, n_raw);
    counter_add(&counters->wire_sent, n_stored);
}
/* A frame that stores n_stored bytes goes unasked: take it from the window. */
static inline void
peer_charge_eager_frame(struct peer *peer, size_t n_stored)
{
    peer->send.credit -= eager_window_frame_cost(n_stored);
}
/* Stop reading the buffer of flow. */
void
peer_cancel_send(struct peer *peer, struct send_request *flow);
void
peer_send_clear(struct peer *peer);

/* flow_control.c */

/* The payload of frame has been used. If frame was eager, return its window
 * credit to peer, collected into few CREDIT frames. */
void
peer_return_credit(struct peer *peer, const struct frame *frame);
/* Grant the peer what flow permits, if the peer waits for a grant. */
void
peer_send_grant(struct peer *peer, struct recv_request *flow);
/* Tell the receiver of flow, a message, that the rest of it will not come. */
void
peer_send_withdrawal(struct peer *peer, const struct send_request *flow);

/* unexpected_queue.c, see transport/unexpected_queue.h */

/* disconnect.c */

void
peer_receive_clear(struct peer *peer);
/* Close the connection, but keep what came over it. */
void
peer_disconnect(struct peer *peer);
/* Close the connection and report the loss. Does nothing if peer
 * is already lost. */
void
peer_lose(struct peer *peer, const char *why);
/* The peer has said goodbye: close the connection, and report that. */
void
peer_close_departed(struct peer *peer);
/* The peer reads no more. What it sent is still to be read, unless its stream
 * has ended. */
void
peer_on_send_broken(struct peer *peer);

/* match.c, see transport/match.h */

/* stream/striping.c */

/* The first connection to peer has been made. */
void
striping_on_connected(struct peer *peer);
/* n_bytes more were read or written. Decides whether to use more streams; once
 * that is settled, nothing is measured. */
void
striping_autotune_measure(struct peer *peer, size_t n_bytes);
static inline void
striping_autotune_record(struct peer *peer, size_t n_bytes)
{
    if (!peer->striping.autotune.is_settled)
        striping_autotune_measure(peer, n_bytes);
}
/* The sockets or the ring of peer have taken n_bytes: count them. */
static inline void
peer_count_written(struct peer *peer, size_t n_bytes)
{
    peer->send.n_written += n_bytes;
    striping_autotune_record(peer, n_bytes);
}
/* frame, a STRIPED frame of ours, has been cut. */
void
striping_on_packetized(struct peer *peer, const struct frame *frame);
/* Returns whether no frame may be cut, because a STRIPED frame is not written
 * yet. */
bool
striping_must_hold_sends(struct peer *peer);
/* Handle peer->receive.frame, a STRIPED frame of the peer. */
void
striping_on_announcement(struct peer *peer);
/* Return whether frames of this direction go over several connections by
 * now. */
static inline bool
striping_is_receiving(const struct peer *peer)
{
    return peer->striping.group && peer->striping.group->is_receiving;
}
static inline bool
striping_is_sending(const struct peer *peer)
{
    return peer->striping.group && peer->striping.group->is_sending;
}
/* As readv(2), from whichever connections carry the stream. The first span,
 * which may be empty, is for the rest of a payload; the second is for what is
 * read ahead. */
ssize_t
striping_read(struct peer *peer, const struct iovec spans[2]);
/* Returns whether there is something to read that no descriptor reports. */
static inline bool
striping_is_readable(const struct peer *peer)
{
    if (striping_is_receiving(peer))
        return stream_group_is_readable(peer->striping.group);
    return peer->tls && tls_has_buffered(peer->tls);
}
/* Returns whether there is something to write besides frames. */
static inline bool
striping_has_unsent(const struct peer *peer)
{
    if (striping_is_sending(peer))
        return stream_group_has_unsent(peer->striping.group);
    return peer->tls && tls_has_unsent(peer->tls);
}
/* Let the poller watch every connection for just what is useful now. Returns
 * false if the poller fails. */
bool
striping_update_watch(struct peer *peer);
/* A connection was reported readable, but nothing could be read. Loses peer,
 * or ends it, if one of its connections is broken and needed. */
void
striping_check_broken(struct peer *peer);
/* As transport_attach_stream(). tls encrypts fd; NULL: fd is plain. */
void
striping_attach_stream(struct peer *peer,
                       unsigned stream,
                       int fd,
                       struct tls *tls);

/* fault_inject.c */

/* Returns whether a fault rule applies to the next frame of flow, which must
 * then wait until the frames before it are written. */
bool
peer_is_fault_due(struct peer *peer, const struct send_request *flow);
/* Apply a fault to out, which has just been cut from flow and is the only
 * frame not written. The fault may change out or remove it. */
void
peer_inject_fault(struct peer *peer,
                  struct outbound_frame *out,
                  struct send_request *flow);

/* stream/packetize.c */

/* Cut one more frame, to be written behind the others. Returns false if there
 * is none to cut or no room for it. */
bool
peer_packetize(struct peer *peer);

/* stream/send.c */

/* Cut and write frames until the socket or ring is full, nothing is left, or
 * PEER_PROGRESS_BYTES are written. Returns whether anything moved. */
bool
peer_write(struct peer *peer);
/* Lose peer because its bytes cannot be used, for the reason in this
 * thread's last error, or because "it sent" what. TRANSPORT_CORRUPTED is
 * reported first, so that the peer can be told why, and does not only see
 * its connection end. */
void
peer_lose_corrupted(struct peer *peer);
void
peer_lose_protocol_error(struct peer *peer, const char *what);
/* Lose peer because this rank has "no memory for ...", as why says.
 * TRANSPORT_NO_MEMORY is reported first. */
void
peer_lose_no_memory(struct peer *peer, const char *why);
/* The same because the poller cannot watch peer, as this thread's last error
 * says. The next write loses peer, if it is connected. */
void
peer_lose_unwatched(struct peer *peer);

/* stream/receive.c */

/* Take the header in peer->receive.ahead and decide where its payload goes.
 * Returns false if this lost or closed the peer. */
bool
peer_begin_frame(struct peer *peer);
void
peer_end_frame(struct peer *peer);
/* The stream of peer has ended, in order if error is 0, otherwise by that
 * errno. After the peer's goodbye this ends the connection once all is
 * written; before it the peer is lost. */
void
peer_on_stream_end(struct peer *peer, int error);
/* Read until the socket or ring is empty, or PEER_PROGRESS_BYTES are read.
 * Returns whether anything moved. */
bool
peer_read(struct peer *peer);
/* The same, after the frames that the inline path has read and left. */
void
peer_read_after_inline(struct peer *peer);

/* shm/progress.c */

bool
peer_shm_read(struct peer *peer);
/* Drain fd, which is readable: the peer wakes this rank, or has hung up. */
void
peer_shm_drain_wakeups(struct peer *peer);
/* Read from and write to every peer with a segment, as far as possible. */
bool
shm_peers_progress(struct transport *transport);
/* The same, but only write. */
bool
shm_peers_write(struct transport *transport);

/* loopback.c */

/* Move messages that this rank sends to itself. Returns whether any moved. */
bool
loopback_progress(struct transport *transport);
/* flow is not queued any more: forget its announcement. */
void
loopback_cancel(struct transport *transport, const struct send_request *flow);

#endif
