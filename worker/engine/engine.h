/*
 * engine/engine.h - executes plans and messages over the transport
 *
 * One thread at a time drives: it holds the progress right, moves the data and
 * completes operations. A waiting caller takes it when it is free; leaving it
 * names a successor, a waiter or else the background (engine/background.h).
 * Everybody else hands in operations through the submit queue.
 */

#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/op.h"
#include "hoop/p2p.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

#include "base/evidence.h"
#include "base/limits.h"
#include "codec/codec.h"
#include "engine/call.h"
#include "engine/chain.h"
#include "net/wakeup.h"
#include "plan/plan.h"
#include "transport/cma.h"
#include "transport/connector.h"
#include "transport/roster.h"
#include "transport/transport.h"

struct engine;
struct comm_context;
struct shm_region;
struct op;

/* When ranks find out that they call different things. All have the same. */
enum engine_checking {
    ENGINE_CHECK_FRAMES, /* when a frame of one call meets the other */
    ENGINE_CHECK_FIRST,  /* before a collective touches a buffer */
};

/* Whether who waits looks again and again before it sleeps. */
enum engine_spinning {
    ENGINE_SPIN_AUTO, /* while every rank has a processor: engine_count_local_ranks() */
    ENGINE_SPIN_NEVER, /* sleeps at once */
    ENGINE_SPIN_ALWAYS,
};

/* What this host shows of a rank's process. */
enum engine_process_status {
    ENGINE_PROCESS_UNKNOWN, /* it is on another host, or stopped */
    ENGINE_PROCESS_ALIVE,   /* whatever its connections say */
    ENGINE_PROCESS_DYING,   /* it has ended, and who started it will say how */
    ENGINE_PROCESS_DEAD,    /* ... has said so, or nobody will */
};

/* Why a rank is not heard any more. */
struct engine_suspicion {
    enum evidence evidence; /* EVIDENCE_BROKEN or EVIDENCE_SILENT */
    uint32_t slack_ms;      /* what the network adds to the time for answers */
    const char *why; /* "connection reset, 0.310 s after its last byte" */
};

/* What this rank is in. */
struct engine_activity {
    char
        call[CALL_TEXT_MAX]; /* what has waited for longest; "": nothing does */
    char communicator[LIMIT_NAME]; /* its name, or "" */
    char waits_for[LIMIT_REASON];
    uint64_t number; /* of the call, as in its text; 0: it has none */
    uint64_t age_ms;
    uint32_t n_calls; /* that wait, with that one */
};

struct engine_options {
    const struct roster *roster; /* borrowed for life */
    const char *faults; /* rules, borrowed for the call; NULL or "": those of
                           the environment */
    enum codec_id codec;
    enum engine_checking checking;
    enum engine_spinning spinning;
    uint32_t settings;  /* enum call_setting, of this rank */
    bool is_summing;    /* frames have checksums, and must have */
    unsigned n_streams; /* to each peer; 0: as many as are worth it */
    /* A rank that is waited for and gives no sign of life for so long is lost;
     * 0: however long. */
    uint32_t failure_timeout_ms;
    /* The user has said it: it is not made longer where the network is bad. */
    bool is_failure_timeout_fixed;
    uint32_t timeout_ms; /* the session's, of an operation: its name in texts */
    /* Who is waited for so long is named on standard error; 0: nobody is. */
    uint32_t late_warning_ms;
    uint32_t wait_notice_ms; /* base/wait_notice.h; 0: none */
    /* Called by the progress owner when a connection has ended, or is silent; how,
     * "killed by signal 9 (Killed)" or "", of the dead. NULL: nothing is known. */
    enum engine_process_status (*process_status_of)(void *owner,
                                                    uint32_t rank,
                                                    char out_how[LIMIT_NAME]);
    /* A connection is wanted: engine_connected() or engine_unreachable() must
     * follow. Called by the progress owner. */
    void (*on_needed)(void *owner, uint32_t rank);
    /* One more to it: engine_stream() may be called later. NULL: none is. */
    void (*on_stream_needed)(void *owner, uint32_t rank, unsigned stream);
    /* A rank was found dead here, by evidence from which whoever found it may
     * conclude. Called by the progress owner, once per rank. */
    void (*on_lost)(void *owner,
                    uint32_t rank,
                    enum evidence evidence,
                    const char *why);
    /* A rank is not heard here any more, and this one may not conclude from that
     * alone that it is lost: engine_declare_dead() of one, or engine_undecided(),
     * should follow. Called by the progress owner. NULL: nobody else decides. */
    void (*on_suspected)(void *owner,
                         uint32_t rank,
                         const struct engine_suspicion *suspicion);
    /* Answers engine_ask(): views[rank] is an enum evidence_view, valid for the
     * call. Called by the progress owner. May be NULL. */
    void (*on_views)(void *owner, uint64_t question, const uint8_t *views);
    /* Answers engine_query_activity(). Called by the progress owner. May be NULL. */
    void (*on_activity)(void *owner,
                        uint64_t query,
                        const struct engine_activity *activity);
    /* Something is under way, or to be written, and nobody makes progress. Any thread. */
    void (*on_progress_needed)(void *owner);
    void *owner;
};

enum hoop_status
engine_create(const struct engine_options *options, struct engine **out_engine);
/* When no other thread uses it any more. NULL is fine. */
void
engine_destroy(struct engine *engine);

/* Count the ranks on this host again, of this job and of others. Now and then:
 * others come and go. Thread: any, one at a time. */
void
engine_count_local_ranks(struct engine *engine);

/* How much rarer than usual to look at what seldom changes: 1, and more where so
 * many ranks of this job share a processor that their looks would fill it. */
uint64_t
engine_poll_divisor(const struct engine *engine);

/* Thread: any, for all below. */

/* Whether it can be used. Handle: HOOP_E_CLOSED (a forked child). */
enum hoop_status
engine_check(const struct engine *engine);

/* fd is taken. */
void
engine_connected(struct engine *engine, uint32_t rank, int fd);
/* ... and memory shared with it, which is taken, too; NULL: none. */
void
engine_shared(struct engine *engine,
              uint32_t rank,
              int fd,
              struct segment *segment);
/* fd, which is taken, is one more connection: the stream-th. */
void
engine_stream(struct engine *engine, uint32_t rank, unsigned stream, int fd);
/* Either of the two, encrypted by tls, which is taken; 0: the first. */
void
engine_encrypted(struct engine *engine,
                 uint32_t rank,
                 unsigned stream,
                 int fd,
                 struct tls *tls);
void
engine_unreachable(struct engine *engine, uint32_t rank, const char *why);
/* One of the two, `of`, has no descriptor or the like for a connection between
 * this rank and rank: what needs it fails with status, and nobody is lost. why:
 * "its process may open 17 files (...)". */
void
engine_shortage(struct engine *engine,
                const struct connector_shortage *shortage);
/* This rank cannot go on, and says why to all that it is connected to. */
void
engine_resign(struct engine *engine, const char *why);
/* This rank gives up: it has failed, why is told to all that it is connected to, and
 * what it waits for itself ends. Returns whether that is news: it was not lost, and
 * is not leaving. */
bool
engine_give_up(struct engine *engine, const char *why);
/* Somebody else found out that rank is dead. */
void
engine_declare_dead(struct engine *engine, uint32_t rank, const char *why);
/* ... or has been told by it that it has given up. */
void
engine_given_up(struct engine *engine, uint32_t rank, const char *why);
/* Nobody else decides about rank, which is suspected: go by the rule for ranks
 * alone. */
void
engine_undecided(struct engine *engine, uint32_t rank);
/* Whom does this rank hear? options.on_views() answers, in EVIDENCE_ANSWER_MS and
 * what the slowest connection needs. A question replaces the one before. */
void
engine_ask(struct engine *engine, uint64_t question);
/* What is this rank in? options.on_activity() answers at once, or when the progress owner
 * looks. A query replaces the one before. */
void
engine_query_activity(struct engine *engine, uint64_t query);
/* Whether one is to be answered soon: then it takes turns more often. */
bool
engine_is_asked(const struct engine *engine);
/* What this rank is told of its own loss, of which why was said: "this rank was
 * declared lost by ranks 0 and 2 (connection reset, at ...)". */
void
engine_describe_expulsion(const char *why, char text[LIMIT_ERROR_TEXT]);
/* Handle: HOOP_E_ABORTED (this rank has been declared lost), HOOP_E_RANK_FAILED (it
 * has given up). */
enum hoop_status
engine_check_member(struct engine *engine);
/* Connect to rank now, and wait until it is done, or was: whoever has left in
 * good order had been connected. Fails, too, when any other member is lost.
 * Handle: HOOP_E_TIMEOUT, HOOP_E_PEER_LOST, and what a shortage says. */
enum hoop_status
engine_connect(struct engine *engine, uint32_t rank, uint64_t deadline_ns);

/* A communicator as the engine knows it. ranks[i] is the world rank of rank i,
 * copied. Its id must be the same on all members. */
struct context_options {
    uint64_t id;
    uint32_t rank;
    uint32_t size;
    const uint32_t *ranks;
    uint32_t timeout_ms; /* of an operation */
};

/* One is being formed: what comes for it is kept. Ended by context_open(), or
 * by context_cancel_expect(). An engine begins with one expected. */
void
context_expect(struct engine *engine);
void
context_cancel_expect(struct engine *engine);

/* Handle: HOOP_E_DATA_LOSS (another one that is open has its id), HOOP_E_EXHAUSTED. */
enum hoop_status
context_open(struct engine *engine,
             const struct context_options *options,
             struct comm_context **out_context);
/*
 * Ends what still runs on it with HOOP_E_CLOSED, for its waiters to find, and
 * forgets what came for it and was not received. What was sent is sent. Does
 * not wait for peers; in a forked child it does nothing.
 */
void
context_close(struct comm_context *context);
/* What errors and warnings call it: copied, cut at LIMIT_NAME - 1 bytes. */
void
context_set_name(struct comm_context *context, const char *name);
void
context_copy_name(struct comm_context *context, char out_name[LIMIT_NAME]);
/* All members have agreed on what they had to: from now on errors number calls
 * from 1. The wire's numbers go on. */
void
context_set_formed(struct comm_context *context);
/* Whether somebody waits for a context's members without an operation: then
 * they are asked for signs of life. */
enum context_watch {
    CONTEXT_NOT_WATCHED,
    CONTEXT_WATCHED,
    CONTEXT_REVOKE_ON_LOSS, /* ... and it is revoked when one is lost */
};

/*
 * This rank will not go on with it as it is, if that has failed: then it is
 * revoked. Returns the number, as errors name it, of the first call that has not
 * ended well here: the next one's where all have.
 */
uint64_t
context_revoke_if_failed(struct comm_context *context);

/*
 * What runs on it ends here and on all members that can be reached, and so does
 * what is called later: with HOOP_E_PEER_LOST where a member is known to be
 * lost, else with HOOP_E_ABORTED.
 */
void
context_revoke(struct comm_context *context, const char *why);
void
context_watch(struct comm_context *context, enum context_watch watch);
/* This rank cannot make the collective that all members call next: it fails for
 * all of them with status, which is HOOP_E_EXHAUSTED, and why. No other thread
 * calls one meanwhile. */
void
context_decline(struct comm_context *context,
                enum hoop_status status,
                const char *why);
/* Which members are lost or have left, as far as is known here: [rank]. */
void
context_failed(struct comm_context *context, bool *out_has_failed);
/* Which are lost. */
void
context_lost(struct comm_context *context, bool *out_is_lost);
uint64_t
context_id(const struct comm_context *context);
uint32_t
context_rank(const struct comm_context *context);
uint32_t
context_size(const struct comm_context *context);
/* The rank of the job that is rank of the context. */
uint32_t
context_world_rank(const struct comm_context *context, uint32_t rank);
void
context_set_timeout(struct comm_context *context, uint32_t timeout_ms);
uint32_t
context_timeout(const struct comm_context *context);
/* Until this is called with NULL, collectives of context are steps of a call of the
 * library's own, of that name, a constant: who waits in them for others tells of
 * that call, after wait_notice_ms. Thread: that of those collectives. */
void
context_set_purpose(struct comm_context *context, const char *purpose);
/* Of this rank, to be compared: enum call_setting. */
uint32_t
context_settings(const struct comm_context *context);

/* Whether the caller waits at once: then it is the one who begins to make progress. */
enum engine_mode {
    ENGINE_START,
    ENGINE_START_AND_WAIT,
};

/*
 * Memory that all of the context's members share: from now on algorithms that
 * are flat may be used, with slots of context_slot_bytes() (0: there is none).
 * shared region is taken. Before, engine_reach_bell() of all others. By all members, or
 * none, and before the first flat operation.
 */
void
context_set_shm_region(struct comm_context *context,
                       struct shm_region *shm_region);
size_t
context_slot_bytes(const struct comm_context *context);
/* What they share; has_cma: algorithms that are direct may be used, too. */
struct plan_shm_region
context_shm_region(const struct comm_context *context);

/* Where others may read this process's memory, as long as the engine is there.
 * Handle: HOOP_E_UNAVAILABLE. */
enum hoop_status
engine_export_memory(struct engine *engine, struct cma_address *out_place);

/* What wakes this engine, for the others of its host.
 * Handle: HOOP_E_UNAVAILABLE. */
enum hoop_status
engine_bell(const struct engine *engine, struct wakeup_handle *out_place);
/* ... and rank's, which is kept. Handle: HOOP_E_UNAVAILABLE. */
enum hoop_status
engine_reach_bell(struct engine *engine,
                  uint32_t rank,
                  const struct wakeup_handle *place);

/* A collective: what was called, and the plan that does it. */
struct engine_collective {
    struct call call;
    const struct algorithm *algorithm;
    /* Its counts are borrowed for the call, where blocks begin as the buffers
     * are. */
    struct plan_shape shape;
    /* The plan's rank i is rank members[i] of the context, as all who run this
     * plan together say. NULL: each is its own. Borrowed as the buffers are.
     * What others of the context run must be of the same call. */
    const uint32_t *members;
    /* What float32s lose on their way; all ranks then have the same. */
    enum codec_loss loss;
    const void *place; /* LOSS_INT8: stands for the tensor; NULL: input does */
    const void *input; /* in place: the output */
    void *output;
    enum engine_mode mode;
    struct chain chain; /* what follows: engine/chain.h */
};

/* Where an object is handed out. */
struct engine_object {
    void **bytes;
    size_t *n_bytes;
};

struct engine_message {
    struct call
        call; /* CALL_SEND, CALL_RECV, or the like of tensors, objects */
    uint64_t tag;
    uint32_t peer; /* rank of the context, or HOOP_ANY_SOURCE */
    void *bytes;   /* of a send: only read */
    /* What is sent, or expected; NULL: bytes, not a tensor. Of a
     * CALL_RECV_ANY_TENSOR, whose dtype may be FRAME_ANY_DTYPE, only the dtype
     * counts. Borrowed for the call that starts it. */
    const struct hoop_tensor *tensor;
    uint32_t part; /* wire/frame_tensor.h */
    /* A tensor's receive: what came is written here when it is waited for and has
     * ended well. NULL: to nobody. */
    struct hoop_tensor *out;
    struct engine_object object; /* of CALL_RECV_OBJECT, instead of *out */
    bool is_owned; /* ... and bytes are out's then, but freed otherwise */
    /* A tensor's receive that takes nothing: both end with HOOP_E_MISMATCH, and
     * the sender's text is bytes. Its dtype is FRAME_ANY_DTYPE. */
    bool is_refusal;
    enum engine_mode mode;
    struct hoop_received *received;
    uint32_t *received_part; /* of a tensor that did not fit; NULL: not told */
};

/* The buffers are borrowed until the operation is waited for. */
enum hoop_status
engine_start(struct comm_context *context,
             const struct engine_collective *collective,
             struct op **out_op);
/* n_messages operations, or none: the mode is the first one's. */
enum hoop_status
engine_start_messages(struct comm_context *context,
                      const struct engine_message *messages,
                      size_t n_messages,
                      struct op **out_ops);
/* As engine_start() and engine_wait(). Its mode is ENGINE_START_AND_WAIT. */
enum hoop_status
engine_run_message(struct comm_context *context,
                   const struct engine_message *message);
enum hoop_status
engine_run(struct comm_context *context,
           const struct engine_collective *collective);
/* Two messages that are one operation: a failure of one ends both. */
enum hoop_status
engine_start_pair(struct comm_context *context,
                  const struct engine_message pair[2],
                  struct op **out_op);
/* An operation that had nothing to do and has ended. */
struct op *
engine_start_nothing(void);

/*
 * Drive or sleep until op has ended, then free it and return how it ended.
 * Handle: HOOP_E_PENDING (deadline_ns came first: op lives on).
 */
enum hoop_status
engine_wait(struct op *op, uint64_t deadline_ns);
/* The same, by who holds cancellation off already; not of one that had nothing
 * to do. */
enum hoop_status
engine_wait_held(struct op *op, uint64_t deadline_ns);

/* Have 8 bytes written to fd when op has ended, or now if it has; -1: not any more.
 * Of what its waiter ends itself nothing is written. Handle: HOOP_E_CLOSED (a
 * forked child). */
enum hoop_status
engine_signal_end(struct op *op, int fd);
/* Whether to wait for op would return at once. */
bool
engine_has_ended(struct op *op);

/*
 * Have op end soon with HOOP_E_CANCELLED, if it has not ended; it is still to be
 * waited for. Of a message that was not received by then nothing is kept, but
 * one that was sent before it was asked for.
 */
void
engine_cancel(struct op *op);

enum engine_idle_state {
    ENGINE_PROGRESS_ELSEWHERE, /* another thread makes progress */
    ENGINE_PROGRESS_NONE,      /* nothing more can be done now */
    ENGINE_PROGRESS_MORE,      /* there is more to do */
};

/* For the background: bounded turns, without waiting. */
enum engine_idle_state
engine_progress_idle(struct engine *engine);
/* Readable when a turn would find work. */
int
engine_fd(const struct engine *engine);

/* In a forked child: the engine's descriptors are closed and its locks may be
 * held by nobody; from now on starting and waiting is HOOP_E_CLOSED. */
void
engine_mark_forked_child(struct engine *engine);

/* Say goodbye to all peers and wait, at most until the deadline, for theirs.
 * Operations that still run end with HOOP_E_CLOSED. */
void
engine_leave(struct engine *engine, uint64_t deadline_ns);
/* The same once more, of peers that connected meanwhile, when no more can. */
void
engine_leave_late(struct engine *engine, uint64_t deadline_ns);

struct engine_stats {
    uint64_t operations;
    struct transport_stats transport;
};

void
engine_stats(struct engine *engine, struct engine_stats *out_stats);

#endif
