/*
 * transport/transport.h - the contract between the engine and the peers
 *
 * The engine opens flows, which are send and receive requests
 * (transport/flow.h), and says how far each may go. The transport cuts frames,
 * keeps windows and grants, matches what arrives, and reports progress through
 * struct transport_events. Every byte that arrives unmatched was granted
 * beforehand, so every socket is always read.
 *
 * Thread: the progress owner, for every function without a Thread line. Bytes
 * are reported by transport_progress(), transport_spin_once() and
 * transport_flush(), never by the call that opened a flow; but
 * transport_receive() may itself match a message that is already here.
 * Callbacks may open, change and cancel flows.
 */

#ifndef TRANSPORT_TRANSPORT_H
#define TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/config.h"
#include "codec/codec.h"
#include "net/wakeup.h"
#include "transport/flow.h"
#include "transport/roster.h"

struct faults;
struct transport;
struct segment;
struct tls;
struct encoded;

/* The engine's decision about a frame of a collective that no open receive
 * request expects. */
enum transport_unexpected_action {
    TRANSPORT_KEEP,     /* its operation or round has not begun here */
    TRANSPORT_DROP,     /* its operation failed, or it is of another epoch */
    TRANSPORT_MISMATCH, /* it should not exist: ranks call different things */
};

/* What differs between ranks, or between a message and its receive. */
enum transport_mismatch_kind {
    /* The peer called something else. flow is the receive request that
     * expected the frame; it may be NULL. */
    TRANSPORT_CALL_DIFFERS,
    /* The peer called the same operation, but its message to us (or, in a
     * GRANT, the message it expects of us) has another length than total. */
    TRANSPORT_SIZE_DIFFERS,
    /* The message that begins with frame does not fit flow, a FLOW_MESSAGE
     * receive request. */
    TRANSPORT_MESSAGE_DOES_NOT_FIT,
    /* The peer sent a tensor of a list, not its first, for which the
     * receiver's list has no receive left. The transport drops it. */
    TRANSPORT_SURPLUS_LIST_TENSOR,
    /* flow waits for a tensor of a list, not its first, but the sender has
     * gone on to the next list, which begins with tensor: the engine must
     * cancel flow. */
    TRANSPORT_LIST_ENDED_EARLY,
};

struct transport_mismatch {
    enum transport_mismatch_kind kind;
    uint32_t peer;
    const struct frame *frame;
    const struct frame_tensor *tensor; /* NULL: the message is not a tensor */
    struct recv_request *flow;
    uint64_t total;
};

enum transport_peer_event {
    /* The transport is about to say goodbye. This is the last chance to tell
     * the peer anything. */
    TRANSPORT_GOODBYE_DUE,
    TRANSPORT_GOODBYE_RECEIVED,
    /* The connection to a peer that has left is closed; nothing more is
     * written to it. */
    TRANSPORT_CLOSED,
    /* The bytes that came from the peer are not what it sent, or break the
     * protocol. What the callback queues for the peer, to tell it so, is still
     * sent, unless the failure was noticed while something was being sent.
     * TRANSPORT_LOST follows. */
    TRANSPORT_CORRUPTED,
    /* This rank has "no memory for ..." the connection, or no watch of it, as
     * why says. As with TRANSPORT_CORRUPTED, what the callback queues may still
     * be sent. TRANSPORT_LOST follows. */
    TRANSPORT_NO_MEMORY,
    TRANSPORT_LOST, /* the connection is gone */
};

/*
 * What the transport reports to the engine, and asks it.
 *
 * Thread: the progress owner, within a call of the transport: a progress call
 * (transport_progress(), transport_spin_once(), transport_flush() or one of the
 * inline path), or another where the callback says so. A callback may call the
 * transport, but not make progress. Pointers are valid during the call.
 */
struct transport_events {
    /* The kernel has taken n_bytes more of flow, which the engine may now
     * overwrite. n_bytes is 0 when the receiver has granted a flow that is
     * already sent. */
    void (*on_bytes_sent)(void *owner,
                          struct send_request *flow,
                          uint64_t n_bytes);
    /* n_bytes more of flow have arrived. They are at flow->place if it is set;
     * otherwise they are at piece, which holds whole elements. */
    void (*on_arrived)(void *owner,
                       struct recv_request *flow,
                       const uint8_t *piece,
                       size_t n_bytes);
    /* A payload of the flow that flow_owner owns exists in encoded form,
     * received or just encoded to be sent. The engine may pass it to
     * transport_cache_encoded() for any request that will send the same
     * bytes. The call precedes on_arrived(). The callback may be NULL. */
    void (*on_encoded)(void *owner,
                       void *flow_owner,
                       const struct encoded *encoded);
    /* flow, a FLOW_MESSAGE receive request, has met its message: flow->key and
     * flow->total are known. If flow accepts any shape, the callback must set
     * flow->place and flow->element_size, or cancel flow. tensor is NULL if the
     * message is not a tensor. Also within transport_receive(). */
    void (*on_matched)(void *owner,
                       struct recv_request *flow,
                       const struct frame *frame,
                       const struct frame_tensor *tensor);
    /* The sender has retracted the message: the engine must cancel flow. */
    void (*on_send_withdrawn)(void *owner, struct recv_request *flow);
    enum transport_unexpected_action (
        *on_unexpected)(void *owner, uint32_t peer, const struct frame *frame);
    /* Also within transport_receive(). */
    void (*on_mismatch)(void *owner, const struct transport_mismatch *mismatch);
    /* A FAILURE_NOTICE frame, which says that an operation or a rank has
     * failed, and in text why; or a HEARTBEAT frame, which asks whether an
     * operation has been called, or says that it has. */
    void (*on_control)(void *owner,
                       uint32_t peer,
                       const struct frame *frame,
                       const char *text);
    /* why is a phrase such as "connection reset"; NULL unless the peer is
     * corrupted or lost. Also within calls that add a connection, say that
     * there is none, or shut down. */
    void (*on_peer_event)(void *owner,
                          uint32_t peer,
                          enum transport_peer_event event,
                          const char *why);
    /* A connection to peer is needed: the first if stream is 0, otherwise the
     * one with this number beside it. The owner answers for the first by
     * transport_add_connection() (or one of its siblings) or
     * transport_mark_unreachable(), and may add the others by
     * transport_attach_stream(). Also within calls that need the
     * connection. */
    void (*on_connection_needed)(void *owner, uint32_t peer, unsigned stream);
};

struct transport_options {
    const struct roster *roster; /* borrowed for life */
    const struct transport_events *events;
    void *owner;
    const struct config *config; /* borrowed for life */
    struct faults *faults;       /* borrowed for life; NULL: none */
};

enum hoop_status
transport_create(const struct transport_options *options,
                 struct transport **out_transport);
void
transport_destroy(struct transport *transport);

/* Take over fd, an authenticated connection to peer. If there already is one,
 * fd is closed. */
void
transport_add_connection(struct transport *transport, uint32_t peer, int fd);
/* Take over fd, an authenticated connection to peer, and segment, memory
 * shared with peer. All frames go through segment; fd only carries wake-ups
 * and tells of the peer's end. A NULL segment means that there is none. */
void
transport_add_shm_connection(struct transport *transport,
                             uint32_t peer,
                             int fd,
                             struct segment *segment);
/* Take over fd, an authenticated connection beside the first one to peer.
 * stream is its number, 1 to LIMIT_STREAMS. It may come before the first
 * connection. A connection that is not needed is closed. */
void
transport_attach_stream(struct transport *transport,
                        uint32_t peer,
                        unsigned stream,
                        int fd);
/* Take over fd and tls, which encrypts it: the first connection to peer if
 * stream is 0, otherwise the one with that number beside it. */
void
transport_add_tls_connection(struct transport *transport,
                             uint32_t peer,
                             unsigned stream,
                             int fd,
                             struct tls *tls);
/* No connection to peer can be made: treat peer as lost. */
void
transport_mark_unreachable(struct transport *transport,
                           uint32_t peer,
                           const char *why);
/* Say that no connection to peer can be made now, though one may be made
 * later. The caller must cancel the flows that wait for it; the next flow asks
 * again. Returns false if peer is already connected, has left or is lost. */
bool
transport_give_up_connecting(struct transport *transport, uint32_t peer);
/* Ask for the connection to peer before a flow needs it. */
void
transport_request_connect(struct transport *transport, uint32_t peer);
/* Returns whether peer has left or is lost, and its connection is closed. */
bool
transport_is_disconnected(const struct transport *transport, uint32_t peer);
bool
transport_is_connected(const struct transport *transport, uint32_t peer);
/* Returns whether the frames to and from peer go through memory that both
 * share, and not through a socket. */
bool
transport_has_ring(const struct transport *transport, uint32_t peer);
/* How long nothing has come from peer; for a lost peer, how long nothing had
 * come when it was lost. With several streams, only the first is asked.
 * TRANSPORT_SILENCE_UNKNOWN if nobody knows. */
uint64_t
transport_silence_ms(const struct transport *transport, uint32_t peer);
static const uint64_t TRANSPORT_SILENCE_UNKNOWN = UINT64_MAX;
/* How long a live peer may be silent, judged by the losses and the round trip
 * of its connection (net/path.h); 0 if they tell nothing. The caller, which
 * waits for peer, must ask every now and then, since asking takes the
 * samples. */
uint64_t
transport_path_silence_ns(struct transport *transport,
                          uint32_t peer,
                          uint64_t now_ns);
/* Returns whether the connection to peer loses packets, or retransmits some
 * now. */
bool
transport_is_path_lossy(struct transport *transport,
                        uint32_t peer,
                        uint64_t now_ns);
/* If nothing that this rank sends arrives at peer, how long ago the last packet
 * of peer came, be it one that was sent again because no acknowledgement
 * arrived either; else TRANSPORT_SILENCE_UNKNOWN. Asking takes samples, as
 * above: the first time, nothing is known, and later a packet may have come up to
 * the time between two questions later than it is told. */
uint64_t
transport_unanswered_ms(struct transport *transport,
                        uint32_t peer,
                        uint64_t now_ns);
/* The round trip that the kernel measures, with its variation; 0 if there is
 * no connection or the kernel does not measure it. */
uint32_t
transport_round_trip_ms(const struct transport *transport, uint32_t peer);
/* A number that grows whenever anything has come from peer, and whenever peer
 * has taken more of a large amount of data that is under way to it. */
uint64_t
transport_activity_count(struct transport *transport, uint32_t peer);
/* A number that changes whenever anything has come from peer. Unlike
 * transport_activity_count() it does not change when only the kernel of peer
 * takes bytes, as it does for a stopped process. */
uint64_t
transport_read_count(const struct transport *transport, uint32_t peer);

/* Returns how long the bytes that are under way to peer will take at the pace at
 * which the last ones arrived; 0 if they are few, through shared memory, and
 * while there is no connection. With several streams, the pace of the first is
 * taken. */
uint64_t
transport_backlog_ms(const struct transport *transport, uint32_t peer);

/* Open flow. The caller has set key, label, bytes, total, ready, owner and, of a
 * collective, round and loss; all else is 0. */
void
transport_send(struct transport *transport, struct send_request *flow);
/* Call after flow->ready has grown. */
void
transport_send_data_ready(struct transport *transport,
                          struct send_request *flow);
/* Keep a copy of encoded, a payload that flow, which is open, will have to
 * send, if the peer of flow takes that encoding. */
void
transport_cache_encoded(const struct transport *transport,
                        struct send_request *flow,
                        const struct encoded *encoded);
/* Cancel flow, which may also be done or not open. The buffer is not read once
 * this returns: half a frame that the kernel has not taken is copied. If flow
 * is a message that its receiver knows of and has not wholly got, the receiver
 * is told. */
void
transport_send_cancel(struct transport *transport, struct send_request *flow);

/* Open flow. For a FLOW_MESSAGE, key.peer may be FLOW_ANY_PEER. */
void
transport_receive(struct transport *transport, struct recv_request *flow);
/* Call after flow->allowed has grown. */
void
transport_receive_buffer_grew(struct transport *transport,
                              struct recv_request *flow);
/* Cancel flow, which may also be done or not open. The buffer is not written
 * once this returns; what still comes is dropped. */
void
transport_receive_cancel(struct transport *transport,
                         struct recv_request *flow);

/*
 * The inline path (transport/inline.c) completes a message, or a block of a
 * collective, now, or does nothing and leaves it to an ordinary send or
 * receive. It sends and receives without opening flow, which the caller sets up
 * as for transport_send() or transport_receive(), with a place. Callbacks come
 * as from transport_progress(), but for flow, whose owner may be NULL, at most
 * on_bytes_sent(), and not even that if its bytes went past the queue. Until
 * the operation of a block runs, there must be no progress call, which would
 * take its frames for surplus.
 */

enum {
    /* The largest block of a collective. Less than any codec is tried on. */
    TRANSPORT_INLINE_BYTES_MAX = 960,
};

/* Send all of flow, if nothing is queued before it. What the kernel or the
 * ring has not taken is copied; transport_needs_progress() tells of it. Returns
 * false if nothing of flow was sent, or the peer is lost. */
bool
transport_send_inline(struct transport *transport, struct send_request *flow);

/* Returns whether transport_receive_inline() may be called for a message of
 * peer. The answer holds until the next other call of the transport. */
bool
transport_can_receive_inline(const struct transport *transport, uint32_t peer);

/* Returns whether it may take a block of peer, unless that came early. A caller
 * that asks first need not send what an operation would have to go on with. It
 * is false over TLS or several streams, and with checksums. */
bool
transport_can_receive_block(const struct transport *transport, uint32_t peer);

enum transport_inline_result {
    /* All of it is at flow->place: key.op and total are known. */
    TRANSPORT_INLINE_DONE,
    TRANSPORT_INLINE_NOT_ARRIVED, /* the message has not come yet */
    /* Something else came, which only transport_progress() can take. */
    TRANSPORT_INLINE_NEEDS_PROGRESS,
};

enum transport_inline_result
transport_receive_inline(struct transport *transport,
                         struct recv_request *flow);

/* Returns whether something is left of what came early for the operation of
 * key, all of whose blocks are sent and received: another rank has called
 * something else. */
bool
transport_has_unused_blocks(const struct transport *transport,
                            const struct flow_key *key);

/* Returns whether all bytes of flow have arrived, whether or not it has taken
 * them from the unexpected-message queue. */
bool
transport_has_all_bytes(const struct recv_request *flow);

/* Find the oldest message of peer on comm that no receive has asked for and
 * whose tag is at most tag_max, and write its tag. Returns false if there is
 * none. */
bool
transport_find_unreceived_tag(const struct transport *transport,
                              uint32_t peer,
                              uint64_t comm,
                              uint64_t tag_max,
                              uint64_t *out_tag);

/* Drop what has arrived for operation op of comm and was never received. */
void
transport_drop_op_unexpected(struct transport *transport,
                             uint64_t comm,
                             uint64_t op);

/* Drop what has arrived and was not received for every communicator that
 * wants() rejects. */
void
transport_drop_unwanted_comms(struct transport *transport,
                              bool (*wants)(void *owner, uint64_t comm));

/* Drop only the early grants for operation op of comm. This costs nothing if
 * there are no early grants at all. */
void
transport_drop_early_grants(struct transport *transport,
                            uint64_t comm,
                            uint64_t op);

/* Selects unexpected messages of a collective. */
struct transport_unexpected_filter {
    uint64_t comm;
    uint64_t op;
    uint32_t step_first; /* first of the steps to look at */
    uint32_t step_last;
    /* Leave out those with this signature. */
    uint64_t except;
};

/* Returns false if the unexpected-message queue has no collective with
 * operation number op on any communicator. True may also mean another
 * number. */
bool
transport_has_unexpected(const struct transport *transport, uint64_t op);

/* Find an unexpected message that wanted selects, and write its peer and the
 * header of its first frame. Returns false if there is none. */
bool
transport_find_unexpected(const struct transport *transport,
                          const struct transport_unexpected_filter *wanted,
                          uint32_t *out_peer,
                          struct frame *out_first);

/* Send frame, with text as its payload unless text is NULL, to one peer, if it
 * is connected, or to all connected peers but except. */
void
transport_send_control(struct transport *transport,
                       uint32_t peer,
                       const struct frame *frame,
                       const char *text);
void
transport_broadcast_control(struct transport *transport,
                            uint32_t except,
                            const struct frame *frame,
                            const char *text);

/* Lose peer, if it is connected, at its next write, because it has broken the
 * protocol. on_peer_event() is told why, which must stay
 * valid. */
void
transport_defer_failure(struct transport *transport,
                        uint32_t peer,
                        const char *why);

/* Send frame and text to peer, connecting to it first if necessary. */
void
transport_send_control_connect(struct transport *transport,
                               uint32_t peer,
                               const struct frame *frame,
                               const char *text);

/* Say goodbye to every connected peer, after the control frames and the
 * messages that are partly sent. Other messages that are queued are not sent
 * any more. */
void
transport_start_shutdown(struct transport *transport);
/* Returns whether every goodbye has been sent and answered. */
bool
transport_is_shut_down(const struct transport *transport);

/*
 * Drain unexpected messages that are wanted by now, write, and read. If
 * nothing can move, wait up to timeout_ms for something first (-1: for ever).
 * Returns whether anything moved.
 */
bool
transport_progress(struct transport *transport, int timeout_ms);
/* Like transport_progress() without a wait, but read only the peers that open
 * receive requests wait for, without asking epoll. */
bool
transport_spin_once(struct transport *transport);
/* Returns whether a transport call is under way, so that its caller is a
 * callback, which must not call transport_progress(). */
bool
transport_is_in_progress(const struct transport *transport);

/* Write what is queued, as far as the sockets and rings take it. Returns
 * transport_needs_progress(). */
bool
transport_flush(struct transport *transport);

/* Returns whether something is left that only progress calls can move: bytes
 * that a socket or ring has not taken, or frames that the inline path has read
 * and left. */
bool
transport_needs_progress(const struct transport *transport);

/* Prepare for nobody calling transport_progress(): from now on a peer that
 * writes to memory shared with this rank makes transport_fd() readable.
 * Returns false if something has already come. */
bool
transport_prepare_sleep(struct transport *transport);

/* Make a waiting transport_progress() return. Thread: any. */
void
transport_wake(struct transport *transport);
/* Write the handle by which other processes can do the same. Handle:
 * HOOP_E_UNAVAILABLE. */
enum hoop_status
transport_wakeup_handle(const struct transport *transport,
                        struct wakeup_handle *out_place);
/* A descriptor for the control loop, readable when transport_progress() would
 * find work. */
int
transport_fd(const struct transport *transport);

struct transport_stats {
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t wire_sent;
    uint64_t connections;
};

/* Time that transport_progress() has slept so far. Thread: any. */
uint64_t
transport_slept_ns(const struct transport *transport);

/* Count payload bytes that did not pass through the transport, such as those
 * of shared-memory collectives. */
void
transport_count_bytes(struct transport *transport,
                      uint64_t n_sent,
                      uint64_t n_received);
/* Thread: any. */
void
transport_stats(const struct transport *transport,
                struct transport_stats *out_stats);

#endif
