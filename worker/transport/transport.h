/*
 * transport/transport.h - the contract between the engine and the peers
 *
 * The engine opens flows (transport/flow.h) and says how far each may go; the
 * transport cuts frames, keeps the windows and grants, matches what arrives
 * and reports progress through struct transport_events. Every unmatched byte
 * was granted beforehand, so a socket is always read.
 *
 * Thread: whoever holds the engine's drive lock, for all of it. Callbacks come
 * from transport_progress() alone, never from the call that opened a flow; they
 * may open, change and cancel flows.
 */

#ifndef TRANSPORT_TRANSPORT_H
#define TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "codec/codec.h"
#include "net/wakeup.h"
#include "transport/flow.h"
#include "transport/roster.h"

struct faults;
struct transport;
struct segment;
struct tls;
struct encoded;

/* What to do with a frame of a collective that no open receive request expects. */
enum transport_unexpected_action {
    TRANSPORT_KEEP,     /* its operation or round has not begun here */
    TRANSPORT_DROP,     /* of an operation that failed, or of another epoch */
    TRANSPORT_MISMATCH, /* it should not exist */
};

struct transport_events {
    /* n_bytes more of flow are the kernel's: that much may be overwritten. 0: its
     * receiver has granted what is gone already. */
    void (*on_bytes_sent)(void *owner,
                          struct send_request *flow,
                          uint64_t n_bytes);
    /* n_bytes more arrived: at flow->place, or else as piece, which is whole
     * elements and valid for the call. */
    void (*on_arrived)(void *owner,
                       struct recv_request *flow,
                       const uint8_t *piece,
                       size_t n_bytes);
    /* What came for the flow of flow_owner, to its place, or leaves from it: so
     * it is encoded, for all who will send the same (encoded_payload_add()). Told before
     * on_arrived; encoded is valid for the call. NULL: not told. */
    void (*on_encoded)(void *owner,
                       void *flow_owner,
                       const struct encoded *encoded);
    /* A FLOW_MESSAGE receive request has met its message: key, total are known. For any
     * shape, place and element_size must be set, or the flow be cancelled.
     * tensor is valid for the call; NULL: it is none. */
    void (*on_matched)(void *owner,
                       struct recv_request *flow,
                       const struct frame *frame,
                       const struct frame_tensor *tensor);
    /* Its sender has given it up: the flow is to be cancelled. */
    void (*on_retracted)(void *owner, struct recv_request *flow);
    enum transport_unexpected_action (
        *on_unexpected)(void *owner, uint32_t peer, const struct frame *frame);
    /* The peer called something else. flow may be NULL. */
    void (*on_mismatch)(void *owner,
                        uint32_t peer,
                        const struct frame *frame,
                        struct recv_request *flow);
    /* What came does not fit flow, a FLOW_MESSAGE; tensor as above. */
    void (*on_receive_mismatch)(void *owner,
                                struct recv_request *flow,
                                const struct frame *frame,
                                const struct frame_tensor *tensor);
    /* A tensor behind the first of a list, which no receive of that list is left
     * to take: it is dropped. tensor as above. */
    void (*on_extra_tensor)(void *owner,
                            uint32_t peer,
                            const struct frame *frame,
                            const struct frame_tensor *tensor);
    /* flow waits for a tensor behind the first of a list, but its sender has gone
     * on to the next list with tensor: flow is to be cancelled. */
    void (*on_list_ended)(void *owner,
                          struct recv_request *flow,
                          const struct frame *frame,
                          const struct frame_tensor *tensor);
    /* The peer called the same, but its message of a collective, or what it
     * expects of ours (a GRANT), has another length; total is the one here. */
    void (*on_size_mismatch)(void *owner,
                             uint32_t peer,
                             const struct frame *frame,
                             uint64_t total);
    /* A peer tells that an operation or a rank failed. */
    void (*on_failure_notice)(void *owner,
                              uint32_t peer,
                              const struct frame *frame,
                              const char *text);
    /* The peer asks, or says, that an operation has been called. */
    void (*on_heartbeat)(void *owner, uint32_t peer, const struct frame *frame);
    /* Goodbye is about to be said to peer: the last time to tell it anything. */
    void (*on_leaving)(void *owner, uint32_t peer);
    /* The connection is gone. why is a phrase: "connection reset". */
    void (*on_lost)(void *owner, uint32_t peer, const char *why);
    /* What came of peer is not what it sent, which it should be told: what is
     * told it now still goes out. on_lost() follows. May be NULL. */
    void (*on_corrupted)(void *owner, uint32_t peer, const char *why);
    /* The peer took its leave in good order. */
    void (*on_left)(void *owner, uint32_t peer);
    /* ... and its connection is closed: nothing more is written to it. */
    void (*on_closed)(void *owner, uint32_t peer);
    /* A connection is needed: transport_connected() or _unreachable() later. */
    void (*on_needed)(void *owner, uint32_t peer);
    /* One more: transport_stream() may come later. NULL: none is to be had. */
    void (*on_stream_needed)(void *owner, uint32_t peer, unsigned stream);
};

struct transport_options {
    const struct roster *roster; /* borrowed for life */
    const struct transport_events *events;
    void *owner;
    enum codec_id codec;   /* for payloads that are worth it */
    bool is_summing;       /* frames have checksums, and must have */
    unsigned n_streams;    /* to each peer; 0: as many as are worth it */
    struct faults *faults; /* borrowed for life; NULL: none */
};

enum hoop_status
transport_create(const struct transport_options *options,
                 struct transport **out_transport);
void
transport_destroy(struct transport *transport);

/* Takes fd, a proven connection to peer. A second one is closed. */
void
transport_connected(struct transport *transport, uint32_t peer, int fd);
/* ... and segment, memory shared with the peer: everything goes through that,
 * while the connection only wakes, and tells of the end. NULL: there is none.
 * Both are taken. */
void
transport_shared(struct transport *transport,
                 uint32_t peer,
                 int fd,
                 struct segment *segment);
/* Takes fd, a proven connection beside the first, which may come later: the
 * stream-th, 1 to LIMIT_STREAMS. What is not needed is closed. */
void
transport_stream(struct transport *transport,
                 uint32_t peer,
                 unsigned stream,
                 int fd);
/* The same of one that is encrypted, by tls, which is taken, too: the first
 * connection (0), or the stream-th beside it. */
void
transport_encrypted(struct transport *transport,
                    uint32_t peer,
                    unsigned stream,
                    int fd,
                    struct tls *tls);
/* There will be no connection: as if it were lost. */
void
transport_unreachable(struct transport *transport,
                      uint32_t peer,
                      const char *why);
/* There is no connection now, but there may be one later: what wants one is
 * cancelled by the caller, and the next who does asks anew. False: there is one,
 * or there will be none. */
bool
transport_fall_back(struct transport *transport, uint32_t peer);
/* Ask for the connection now, before a flow does. */
void
transport_need(struct transport *transport, uint32_t peer);
/* The peer has left, or is lost, and its connection is closed. */
bool
transport_is_gone(const struct transport *transport, uint32_t peer);
bool
transport_is_connected(const struct transport *transport, uint32_t peer);
/* For how long nothing has come from peer, or had come when its connection
 * ended. With several streams, on the first of them. */
uint64_t
transport_silence_ms(const struct transport *transport, uint32_t peer);
static const uint64_t TRANSPORT_SILENCE_UNKNOWN = UINT64_MAX;
/* How long a peer that lives may be silent, as far as the losses and the round
 * trip of its connection tell (net/path.h); 0: they tell nothing. For who waits to
 * ask now and then. */
uint64_t
transport_path_silence_ns(struct transport *transport,
                          uint32_t peer,
                          uint64_t now_ns);
/* Whether its connection loses packets, or sends some again now. */
bool
transport_path_loses(struct transport *transport,
                     uint32_t peer,
                     uint64_t now_ns);
/* As the kernel measures it, with what it varies by; 0 where it does not, and
 * where there is no connection. */
uint32_t
transport_round_trip_ms(const struct transport *transport, uint32_t peer);
/* Another number whenever anything has come from peer, or it has taken more of
 * much that is on its way to it. */
uint64_t
transport_activity(const struct transport *transport, uint32_t peer);
/* Another number whenever anything has come from peer: unlike the above, its
 * kernel alone, which takes bytes for a process that is stopped, does not change
 * it. */
uint64_t
transport_received(const struct transport *transport, uint32_t peer);

/* Open flow; key, label, bytes, total, ready and owner are set, the rest 0. */
void
transport_send(struct transport *transport, struct send_request *flow);
/* flow->ready has grown. */
void
transport_send_more(struct transport *transport, struct send_request *flow);
/* encoded is what flow, which is open, will send: kept, if its peer takes it
 * so. */
void
transport_cache_encoded(const struct transport *transport,
                        struct send_request *flow,
                        const struct encoded *encoded);
/* The buffer is not read any more when this returns; half a frame that the
 * kernel has not taken is copied. The receiver of a message that it knows of,
 * but has not got whole, is told. Also for flows that are done or not open. */
void
transport_send_cancel(struct transport *transport, struct send_request *flow);

/* Open flow; for FLOW_MESSAGE key.peer may be FLOW_ANY_PEER. */
void
transport_receive(struct transport *transport, struct recv_request *flow);
/* flow->allowed has grown. */
void
transport_receive_more(struct transport *transport, struct recv_request *flow);
/* The buffer is not written any more when this returns; what still comes is
 * dropped. Also for flows that are done or not open. */
void
transport_receive_cancel(struct transport *transport,
                         struct recv_request *flow);

/*
 * A message without opening its flow (inline.c), which is set as for the above.
 * Callbacks come as from a turn, but of the flow only on_bytes_sent(); its owner may
 * be NULL.
 */

/* All of it, where nothing is before it. What the kernel, or the ring, has not
 * taken is copied: then there is a rest, for which turns must be taken. False:
 * nothing of it was sent, or the peer is lost. */
bool
transport_send_inline(struct transport *transport,
                      struct send_request *flow,
                      bool *out_has_unsent);

/* Somewhere there still is one, or other frames that were not taken. */
bool
transport_has_unsent(const struct transport *transport);

/* Until anything else is asked of the transport, transport_receive_inline() may
 * look for what peer sends. */
bool
transport_can_receive_inline(const struct transport *transport, uint32_t peer);

enum transport_inline {
    TRANSPORT_INLINE_DONE, /* all of it is in its place: key.op, total are known */
    TRANSPORT_INLINE_NONE,  /* nothing has come yet */
    TRANSPORT_INLINE_OTHER, /* which only a turn takes */
};

enum transport_inline
transport_receive_inline(struct transport *transport,
                         struct recv_request *flow);

/* Whether all of flow's bytes are here, taken or not. */
bool
transport_has_all(const struct recv_request *flow);

/* Forget what has arrived for operation op of comm and was never received. */
void
transport_forget(struct transport *transport, uint64_t comm, uint64_t op);

/* Forget all that has arrived, and was not received, for communicators that
 * the owner does not want. */
void
transport_sweep(struct transport *transport,
                bool (*wants)(void *owner, uint64_t comm));

/* Only the grants that came early for it; costs nothing when there are none. */
void
transport_drop_early_grants(struct transport *transport,
                            uint64_t comm,
                            uint64_t op);

/* Frames of a collective that came before they were wanted. */
struct transport_unexpected {
    uint64_t comm;
    uint64_t op;
    uint32_t step_first; /* of these steps ... */
    uint32_t step_last;
    uint64_t except; /* but not those with this signature; 0: all */
};

/* False: there are none of an operation of this number, of whatever. */
bool
transport_has_unexpected(const struct transport *transport, uint64_t op);

/* The first frame of such a message; false: there is none. */
bool
transport_find_unexpected(const struct transport *transport,
                          const struct transport_unexpected *wanted,
                          uint32_t *out_peer,
                          struct frame *out_first);

/* Tell one peer, or all connected ones but `except`, of a failure. */
void
transport_tell(struct transport *transport,
               uint32_t peer,
               const struct frame *frame,
               const char *text);
void
transport_tell_all(struct transport *transport,
                   uint32_t except,
                   const struct frame *frame,
                   const char *text);

/* Lose a peer that is connected with the next turn, and tell all why: it has broken
 * the protocol. why is kept. */
void
transport_fail_later(struct transport *transport,
                     uint32_t peer,
                     const char *why);

/* Tell one peer, also when it has to be connected first. */
void
transport_tell_soon(struct transport *transport,
                    uint32_t peer,
                    const struct frame *frame,
                    const char *text);

/* Say goodbye to every peer, after what is queued. */
void
transport_leave(struct transport *transport);
/* Every goodbye has been sent and answered. */
bool
transport_has_left(const struct transport *transport);

/*
 * Move what can move: drain early arrivals, write, read. timeout_ms waits
 * first when nothing can move (-1: for ever). Returns whether anything moved.
 */
bool
transport_progress(struct transport *transport, int timeout_ms);
/* Only read the sockets that open receive requests wait for, without epoll. */
bool
transport_spin(struct transport *transport);
/* Whether a callback is what asks: no turn may be taken then. */
bool
transport_is_in_progress(const struct transport *transport);

/* Write what is queued, as a turn does. False: there is more. */
bool
transport_flush(struct transport *transport);

/* Nobody takes turns from now on: who writes to memory shared with this rank
 * makes transport_fd() readable. False: something has come before. */
bool
transport_arm(struct transport *transport);

/* Makes a waiting transport_progress() return. Thread: any. */
void
transport_wake(struct transport *transport);
/* ... also from other processes. Handle: HOOP_E_UNAVAILABLE. */
enum hoop_status
transport_wakeup_handle(const struct transport *transport,
                        struct wakeup_handle *out_place);
/* Readable when a turn would find work: for the control loop. */
int
transport_fd(const struct transport *transport);

struct transport_stats {
    uint64_t bytes_sent;
    uint64_t bytes_received;
    uint64_t wire_sent;
    uint64_t connections;
};

/* Bytes of payload that went another way. */
void
transport_count(struct transport *transport,
                uint64_t n_sent,
                uint64_t n_received);
/* Thread: any. */
void
transport_stats(const struct transport *transport,
                struct transport_stats *out_stats);

#endif
