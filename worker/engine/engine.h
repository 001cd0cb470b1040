/*
 * engine/engine.h - executes plans and messages over the transport
 *
 * One thread at a time owns progress: it moves the data and completes
 * operations. A thread that waits for an operation takes progress ownership
 * when it is free. When the owner gives it up it names a successor: another
 * waiter, or else the background (engine/background.h). All other threads hand
 * in work through the submit and command queues, or make a small call inline
 * under the lock while nobody owns progress (engine/inline.h).
 *
 * This is all that other folders may call of engine/: a caller in session/ or
 * api/ mostly needs two or three of its parts, so they have one header. They
 * are, in this order: the engine; what it is told of connections and ranks;
 * contexts; their shared memory; operations; waiting; progress without a
 * waiter, and the end; what calls have cost; the points of a recovery at which
 * a rank may fail.
 */

#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/op.h"
#include "hoop/p2p.h"
#include "hoop/status.h"
#include "hoop/tensor.h"

#include "base/config.h"
#include "base/evidence.h"
#include "base/limits.h"
#include "codec/codec.h"
#include "engine/call.h"
#include "fault/fault_rule.h"
#include "net/wakeup.h"
#include "plan/plan.h"
#include "rpc/messages/status_messages.h"
#include "transport/connect/connector.h"
#include "transport/roster.h"
#include "transport/shm/cma.h"
#include "transport/transport.h"

struct engine;
struct comm_context;
struct engine_collective;
struct shm_region;
struct op;
struct recorder_round_trip;

/* On the wire, communicator 0 means "no communicator", as in a failure notice
 * about a rank. The coordinator gives out ids from 0 (the world's) on, so
 * COMM_ID_FIRST is added to each of them. */
enum {
    COMM_ID_FIRST = 1
};

/* What this host shows of a rank's process. */
enum engine_process_status {
    ENGINE_PROCESS_UNKNOWN, /* it is on another host, or it is stopped */
    ENGINE_PROCESS_ALIVE,   /* it runs, whatever its connections say */
    ENGINE_PROCESS_DYING,   /* it has ended, and its launcher will say how */
    ENGINE_PROCESS_DEAD,    /* it has ended, and no more will be said */
};

/* Why a rank is suspected. */
struct engine_suspicion {
    enum evidence evidence; /* EVIDENCE_BROKEN or EVIDENCE_SILENT */
    uint32_t slack_ms;      /* what the network adds to the time for answers */
    const char *why; /* "connection reset, 0.310 s after its last byte" */
};

/* What this rank is doing. */
struct engine_activity {
    /* The call that has waited longest, if one waits. Its details are not
     * set. */
    struct rank_activity line;
    /* The lists of details are the ones below; its pointers are not set. Of the
     * processes, only the ranks are named: to look at them is no work of the
     * progress owner. */
    struct activity_details details;
    uint32_t process_ranks[LIMIT_ACTIVITY_PROCESSES];
    struct rank_wait waits[LIMIT_ACTIVITY_WAITS];
    struct rank_wait recent_waits[LIMIT_ACTIVITY_WAITS];
    struct rank_asker askers[LIMIT_ACTIVITY_ASKERS];
};

struct engine_options {
    const struct roster *roster; /* borrowed for the engine's life */
    const struct config *config; /* borrowed for the engine's life */
    /* Returns what is known of a rank's process. Called by the progress owner
     * when a connection has ended or is silent. out_how of a dead process says
     * how it ended: "killed by signal 9 (Killed)" or "". NULL: nothing is
     * known. */
    enum engine_process_status (*process_status_of)(void *owner,
                                                    uint32_t rank,
                                                    char out_how[LIMIT_NAME]);
    /* A connection to rank is needed: engine_add_connection() or
     * engine_report_unreachable() must follow. Called by the progress owner. */
    void (*on_connection_needed)(void *owner, uint32_t rank);
    /* One more connection to rank is wanted: engine_attach_stream() may
     * follow. NULL: there are no further connections. */
    void (*on_stream_needed)(void *owner, uint32_t rank, unsigned stream);
    /* This rank is short of something, as why says, and has given up by itself
     * (not by engine_give_up()): tell the coordinator. Called by the progress
     * owner, once, before on_lost. May be NULL. */
    void (*on_gave_up)(void *owner, const char *why);
    /* This rank has found rank dead by evidence from which it may conclude that
     * alone. Called by the progress owner, once per rank. */
    void (*on_lost)(void *owner,
                    uint32_t rank,
                    enum evidence evidence,
                    const char *why);
    /* This rank does not hear rank any more, and may not conclude from that
     * alone that it is lost: engine_declare_dead() or
     * engine_report_undecided() should follow. Called by the progress owner.
     * NULL: nobody else decides. */
    void (*on_suspected)(void *owner,
                         uint32_t rank,
                         const struct engine_suspicion *suspicion);
    /* Answers engine_request_peer_views(). views[rank] is an enum
     * evidence_view, valid for the call. Called by the progress owner. May
     * be NULL. */
    void (*on_views)(void *owner, uint64_t question, const uint8_t *views);
    /* Answers engine_query_activity(). Called by the progress owner. May be
     * NULL. */
    void (*on_activity)(void *owner,
                        uint64_t query,
                        const struct engine_activity *activity);
    /* Work is left and no thread owns progress: call
     * engine_progress_background(). Thread: any. */
    void (*on_progress_needed)(void *owner);
    void *owner;
};

/* options is copied; see there what it borrows. Handle: HOOP_E_EXHAUSTED,
 * and what the transport and the fault rules say. */
enum hoop_status
engine_create(const struct engine_options *options, struct engine **out_engine);
/* Destroy the engine, which no other thread uses any more. NULL is allowed. */
void
engine_destroy(struct engine *engine);

/* Count the ranks of all jobs on this host again. Call it now and then, because
 * other jobs come and go. Thread: any, one at a time. */
void
engine_update_wait_policy(struct engine *engine);

/* Returns by which factor to look less often at what seldom changes: 1, or more
 * if so many ranks of this job share a processor that their polling would fill
 * it. */
uint64_t
engine_poll_divisor(const struct engine *engine);

/*
 * What the engine is told of connections and ranks, and asked about them.
 * Thread: any, for all functions below.
 */

/* Check that the engine can be used. Handle: HOOP_E_CLOSED (this is a forked
 * child). */
enum hoop_status
engine_check_not_forked(const struct engine *engine);

/* The control thread has asked the coordinator for its clock; the flight
 * recorder, if there is one, keeps the best of these. */
void
engine_compare_clocks(struct engine *engine,
                      const struct recorder_round_trip *trip);

/* The control thread has connected to rank. The engine takes ownership of
 * fd. */
void
engine_add_connection(struct engine *engine, uint32_t rank, int fd);
/* The same, with memory that rank shares, which the engine owns, too. NULL:
 * none. */
void
engine_add_shm_connection(struct engine *engine,
                          uint32_t rank,
                          int fd,
                          struct segment *segment);
/* fd is a further connection to rank, number stream. The engine takes
 * ownership. */
void
engine_attach_stream(struct engine *engine,
                     uint32_t rank,
                     unsigned stream,
                     int fd);
/* The same for a connection that tls encrypts; stream 0 is the first
 * connection. The engine takes ownership of fd and tls. */
void
engine_add_tls_connection(struct engine *engine,
                          uint32_t rank,
                          unsigned stream,
                          int fd,
                          struct tls *tls);
/* The control thread cannot connect to rank, as why says. */
void
engine_report_unreachable(struct engine *engine,
                          uint32_t rank,
                          const char *why);
/* One of the two ranks, shortage->of, lacks a descriptor or the like for a
 * connection between this rank and shortage->rank. Operations that need the
 * connection fail with shortage->status, but no rank is lost. shortage->why:
 * "its process may open 17 files (...)". */
void
engine_report_shortage(struct engine *engine,
                       const struct connector_shortage *shortage);
/* This rank has failed: tell why to all connected ranks, and end its own
 * operations. Returns false if the rank was lost or leaving already. Waits
 * until the progress owner has done it. */
bool
engine_give_up(struct engine *engine, const char *why);
/* Another rank or the coordinator has found rank dead. */
void
engine_declare_dead(struct engine *engine, uint32_t rank, const char *why);
/* The coordinator says that rank has given up. */
void
engine_report_given_up(struct engine *engine, uint32_t rank, const char *why);
/* Nobody else will decide about rank, which is suspected: apply the rule for
 * ranks alone. */
void
engine_report_undecided(struct engine *engine, uint32_t rank);
/* The coordinator asks which ranks this rank hears. options.on_views() answers
 * within EVIDENCE_ANSWER_MS plus what the slowest connection needs. A question
 * replaces an unanswered one. */
void
engine_request_peer_views(struct engine *engine, uint64_t question);
/* The coordinator asks what this rank is doing. options.on_activity() answers
 * when the progress owner next reads its commands. A query replaces an
 * unanswered one. */
void
engine_query_activity(struct engine *engine, uint64_t query);
/* Tell what this rank finished last and, unless calls have ended well since,
 * what its last failed call said. Call it after engine_shutdown(), when no other
 * thread uses the engine. */
void
engine_describe_end(struct engine *engine,
                    struct activity_details *out_details);
/* Returns whether engine_request_peer_views() has an answer pending. The
 * background then looks in more often. */
bool
engine_has_views_request(const struct engine *engine);
/* Describe to this rank its own loss, given why it was declared lost: "this
 * rank was declared lost by ranks 0 and 2 (connection reset, at ...)". */
void
engine_describe_expulsion(const char *why, char text[LIMIT_ERROR_TEXT]);
/* Check that this rank is still a member of the job. Handle: HOOP_E_ABORTED (it
 * has been declared lost), HOOP_E_RANK_FAILED (it has given up), HOOP_E_CLOSED
 * (this is a forked child). */
enum hoop_status
engine_check_not_expelled(struct engine *engine);
/* Block until connected to rank. Succeeds if rank had connected and left
 * cleanly before. Fails if any member is lost. Handle: HOOP_E_TIMEOUT,
 * HOOP_E_PEER_LOST, HOOP_E_RANK_FAILED, HOOP_E_CANCELLED, and the status of a
 * shortage. */
enum hoop_status
engine_connect(struct engine *engine, uint32_t rank, uint64_t deadline_ns);

/*
 * Contexts.
 */

/* Options of a communicator context. ranks[i] is the world rank of rank i, and
 * is copied. All members use the same id. */
struct context_options {
    uint64_t id;
    uint32_t rank;
    uint32_t size;
    const uint32_t *ranks;
    uint32_t timeout_ms; /* time limit of an operation */
};

/* A context is being formed: keep frames that arrive for it until
 * context_open() or engine_unexpect_context(). A new engine expects one
 * context. */
void
engine_expect_context(struct engine *engine);
void
engine_unexpect_context(struct engine *engine);

/* Open a context. This ends one engine_expect_context(), even on failure.
 * Handle: HOOP_E_DATA_LOSS (another open context has the id),
 * HOOP_E_EXHAUSTED. */
enum hoop_status
context_open(struct engine *engine,
             const struct context_options *options,
             struct comm_context **out_context);
/*
 * Close and free a context. Its operations end with HOOP_E_CLOSED, which their
 * waiters still receive; frames that were not received are dropped; what was
 * sent stays sent. Waits for the progress owner, not for peers. In a forked
 * child it does nothing.
 */
void
context_close(struct comm_context *context);
/* Set the name that errors and warnings use. It is copied, cut at LIMIT_NAME -
 * 1 bytes. */
void
context_set_name(struct comm_context *context, const char *name);
void
context_copy_name(struct comm_context *context, char out_name[LIMIT_NAME]);
/* All members have finished forming the context: errors number later calls from
 * 1. The numbers on the wire continue. */
void
context_mark_formed(struct comm_context *context);

/*
 * Revoke the context if it has failed, since this rank will not go on with it.
 * Returns the number, as errors name it, of the first call that did not end
 * well here, or of the next call if all did.
 */
uint64_t
context_revoke_if_failed(struct comm_context *context);

/*
 * Revoke the context: its running and later operations fail on all members that
 * can be reached, with HOOP_E_PEER_LOST if a member is known to be lost, else
 * with HOOP_E_ABORTED.
 */
void
context_revoke(struct comm_context *context, const char *why);
/* Whether a thread waits for a context's members without an operation. If so,
 * the members are asked for heartbeats. */
enum context_watch {
    CONTEXT_NOT_WATCHED,
    CONTEXT_WATCHED,
    CONTEXT_REVOKE_ON_LOSS, /* also revoke the context when a member is lost */
};

/* Watch the members of context or stop that. Waits until the progress owner
 * has done it. */
void
context_watch(struct comm_context *context, enum context_watch watch);
/* This rank cannot take part in the collective that all members call next: it
 * fails on all of them with status, which is HOOP_E_EXHAUSTED, and why. No
 * other thread may call a collective meanwhile. */
void
context_fail_next_call(struct comm_context *context,
                       enum hoop_status status,
                       const char *why);
/* Tell which members are known to be lost or to have left, by context rank. */
void
context_get_failed_members(struct comm_context *context, bool *out_has_failed);
/* Tell which members are known to be lost, by context rank. */
void
context_get_lost_members(struct comm_context *context, bool *out_is_lost);
uint64_t
context_id(const struct comm_context *context);
uint32_t
context_rank(const struct comm_context *context);
uint32_t
context_size(const struct comm_context *context);
/* Returns the world rank of a context rank. */
uint32_t
context_world_rank(const struct comm_context *context, uint32_t rank);
/* The time limit of operations that are started from now on. */
void
context_set_timeout(struct comm_context *context, uint32_t timeout_ms);
uint32_t
context_timeout(const struct comm_context *context);
/* Until this is called with NULL, collectives of context are steps of a library
 * call of that name, which must be a constant. If they wait longer than
 * wait_notice_ms they give notice for that call. Thread: the one that runs
 * those collectives. */
void
context_set_wait_purpose(struct comm_context *context, const char *purpose);
/* Until this is called with 0, collectives of context repeat a call that has
 * been tried n times before; what the recorder cannot hold counts as its
 * maximum. Thread: the one that runs those collectives. */
void
context_set_retries(struct comm_context *context, uint32_t n);
/* Returns this rank's settings, enum call_setting, which members compare. */
uint32_t
context_agreed_settings(const struct comm_context *context);

/*
 * The shared memory of a context, and of ranks of one host.
 */

/*
 * Give context a region that all its members share, and take ownership of it.
 * From now on shared-memory algorithms may run, with slots of
 * context_shm_slot_bytes() (0: there is no region).
 *
 * Call engine_import_wakeup() for all other members before. All members must
 * call it, or none, and before the first shared-memory operation.
 */
void
context_set_shm_region(struct comm_context *context,
                       struct shm_region *shm_region);
/* Returns the size of a slot of the shared region; 0: there is no region. */
size_t
context_shm_slot_bytes(const struct comm_context *context);
/* Returns what a plan must know of the region. If has_cma is set, direct
 * algorithms may run, too. */
struct plan_shm_region
context_plan_shm_region(const struct comm_context *context);

/* Get the address by which others can read this process's memory while the
 * engine exists. Handle: HOOP_E_UNAVAILABLE. */
enum hoop_status
engine_publish_cma_address(struct engine *engine,
                           struct cma_address *out_place);

/* Get the handle by which ranks of this host wake this engine. Handle:
 * HOOP_E_UNAVAILABLE. */
enum hoop_status
engine_wakeup_handle(const struct engine *engine,
                     struct wakeup_handle *out_place);
/* Open and keep the handle that wakes rank. Handle: HOOP_E_UNAVAILABLE. */
enum hoop_status
engine_import_wakeup(struct engine *engine,
                     uint32_t rank,
                     const struct wakeup_handle *place);

/*
 * Operations.
 *
 * A chain: one operation that runs several collectives in a row.
 *
 * The result of one collective decides about the next: first the lengths of
 * objects, then their bytes. All stages share the operation's number, deadline
 * and waiter. So no other call of the ranks can come in between, and a failure
 * of one stage ends the operation. On the wire the stage is part of the step. A
 * stage may run its plan among some of the ranks while others run theirs; a
 * rank that has no part in a stage goes on to the next.
 */
enum {
    STAGES_MAX = 12,
    /* The stage is in these bits of the wire's step; the plan uses those
     * below. */
    STAGE_IN_STEP_SHIFT = 28,
    /* The stage before the first, in which all ranks compare their calls. */
    STAGE_CALL_CHECK = 15,
};

/* What follows an operation's first collective. Zeroed: nothing. */
struct chain {
    /*
     * Fill *out_next with the collective of stage number stage, which counts
     * from 1. Its mode and chain are ignored; its buffers must live until
     * destroy. If algorithm stays NULL there is no further stage, which all
     * ranks must find alike. It may allocate memory but must not wait.
     *
     * Thread: the progress owner's.
     */
    enum hoop_status (*next)(void *owner,
                             uint32_t stage,
                             struct engine_collective *out_next);
    /* All stages have ended well: unpack and hand out results. Thread: the
     * waiter's, before engine_wait() returns the status. */
    enum hoop_status (*finish)(void *owner);
    /* Free owner, however the operation ended. Thread: the waiter's. */
    void (*destroy)(void *owner);
    void *owner; /* owned by engine_start_collective() even if it fails */
};

/* Destroy the owner of a chain that was never started, or has ended. */
void
op_chain_deinit(struct chain *chain);

/* Whether the caller waits at once. Then it begins the operation itself if
 * progress ownership is free. */
enum engine_start_mode {
    ENGINE_START,
    ENGINE_START_AND_WAIT,
};

/* A collective: the call, and the plan that executes it. */
struct engine_collective {
    struct call call;
    const struct algorithm *algorithm;
    /* Its counts are borrowed for the call that starts the operation; arrays of
     * block offsets are borrowed like the buffers. */
    struct plan_shape shape;
    /* Rank i of the plan is context rank members[i]; all ranks that run this
     * plan together must give the same. NULL: both are the same. Borrowed like
     * the buffers. Members outside the plan must run a part of the same
     * call. */
    const uint32_t *members;
    /* What float32 elements lose on the wire. All ranks end with the same
     * bits. */
    enum codec_loss loss;
    const void *place; /* LOSS_INT8: identifies the tensor; NULL: input does */
    const void *input; /* equals output if in place */
    void *output;
    enum engine_start_mode mode;
    struct chain chain; /* further stages */
};

/* Where an object is handed out. */
struct engine_object_out {
    void **bytes;
    size_t *n_bytes;
};

struct engine_message {
    struct call call; /* CALL_SEND, CALL_RECV, or those of tensors or objects */
    uint64_t tag;
    uint32_t peer; /* context rank, or HOOP_ANY_SOURCE */
    void *bytes;   /* a send only reads them */
    /* The tensor that is sent or expected; NULL: the message is bytes. Of a
     * CALL_RECV_ANY_TENSOR only the dtype counts, which may be FRAME_ANY_DTYPE.
     * Borrowed for the call that starts the message. */
    const struct hoop_tensor *tensor;
    uint32_t part; /* wire/frame_tensor.h */
    /* The waiter writes the received tensor here if the receive has ended well.
     * NULL: nowhere. */
    struct hoop_tensor *out;
    /* Used for CALL_RECV_OBJECT instead of out. */
    struct engine_object_out object;
    bool is_owned; /* bytes pass to out, or are freed on failure */
    /* This receive of a tensor takes nothing: it and the send end with
     * HOOP_E_MISMATCH, and bytes is the sender's error text. Its dtype is
     * FRAME_ANY_DTYPE. */
    bool is_error_text_payload;
    enum engine_start_mode mode;
    struct hoop_received *received;
    /* Part of a tensor that did not fit; may be NULL. */
    uint32_t *received_part;
};

/* Start a collective. The buffers are borrowed until the operation is waited
 * for. */
enum hoop_status
engine_start_collective(struct comm_context *context,
                        const struct engine_collective *collective,
                        struct op **out_op);
/* Start n_messages operations, or none of them. The mode is the first
 * message's. */
enum hoop_status
engine_start_messages(struct comm_context *context,
                      const struct engine_message *messages,
                      size_t n_messages,
                      struct op **out_ops);
/* Start a message and wait for it. Its mode is ENGINE_START_AND_WAIT. */
enum hoop_status
engine_run_message(struct comm_context *context,
                   const struct engine_message *message);
/* Start a collective and wait for it. Its mode is ENGINE_START_AND_WAIT. */
enum hoop_status
engine_run_collective(struct comm_context *context,
                      const struct engine_collective *collective);
/* Start two messages as one operation: if one fails, both end. */
enum hoop_status
engine_start_message_pair(struct comm_context *context,
                          const struct engine_message pair[2],
                          struct op **out_op);
/* Returns an operation that had nothing to do and has ended. */
struct op *
engine_null_op(void);

/*
 * Waiting.
 */

/*
 * Own progress or sleep until op has ended, then free it and return how it
 * ended. Handle: HOOP_E_PENDING (deadline_ns came first; op continues).
 */
enum hoop_status
engine_wait(struct op *op, uint64_t deadline_ns);
/* The same for a caller that has already deferred thread cancellation. op is
 * not that of engine_null_op(). */
enum hoop_status
engine_wait_no_cancel(struct op *op, uint64_t deadline_ns);

/* Write 8 bytes to fd when op ends, or now if it has ended. fd -1 stops that.
 * Nothing is written if the waiter itself ends op as progress owner. Handle:
 * HOOP_E_CLOSED (this is a forked child). */
enum hoop_status
engine_notify_fd_at_end(struct op *op, int fd);
/* Returns whether engine_wait() would return at once. */
bool
engine_is_op_done(struct op *op);

/*
 * Ask the progress owner to end op with HOOP_E_CANCELLED, unless it has ended.
 * The caller must still wait for op. A cancelled receive keeps nothing of a
 * message that it had matched; a message that no receive has asked for stays.
 */
void
engine_cancel_op(struct op *op);

/*
 * Progress without a waiter, and the end.
 */

enum engine_progress_result {
    ENGINE_PROGRESS_ELSEWHERE, /* another thread owns progress */
    ENGINE_PROGRESS_NONE,      /* nothing more can be done now */
    ENGINE_PROGRESS_MORE,      /* there is more to do */
};

/* Make progress for a bounded time without sleeping. Called by the
 * background. */
enum engine_progress_result
engine_progress_background(struct engine *engine);
/* Returns a descriptor that becomes readable when progress is possible. */
int
engine_fd(const struct engine *engine);

/* Call in a forked child, where the engine's descriptors are closed and locks
 * may be held by threads that do not exist: starting and waiting return
 * HOOP_E_CLOSED from now on. */
void
engine_mark_forked_child(struct engine *engine);

/* Say goodbye to all peers and wait for theirs, at most until the deadline.
 * Running operations end with HOOP_E_CLOSED. */
void
engine_shutdown(struct engine *engine, uint64_t deadline_ns);
/* Call when no more peers can connect: wait again for the goodbyes of those
 * that connected after engine_shutdown(). */
void
engine_await_peers_shutdown(struct engine *engine, uint64_t deadline_ns);

/*
 * What calls have cost.
 */

/* What a caller waited for. */
enum engine_wait_kind {
    ENGINE_WAIT_COLLECTIVE,
    ENGINE_WAIT_MESSAGE,
    ENGINE_WAIT_FORMING, /* for a communicator to form; counted by the caller */
    ENGINE_WAIT_KINDS,
    ENGINE_WAIT_UNCOUNTED, /* in a step of a longer call, see
                              context_set_wait_purpose() */
};

enum engine_failure_kind {
    ENGINE_FAILURE_TIMEOUT,
    ENGINE_FAILURE_LOST, /* a rank died or gave up */
    ENGINE_FAILURE_MISMATCH,
    ENGINE_FAILURE_CANCELLED, /* by the program, or as it left */
    ENGINE_FAILURE_OTHER,
    ENGINE_FAILURE_KINDS,
};

/* Totals since the engine was created. */
struct engine_stats {
    uint64_t operations;
    uint64_t wait_ns[ENGINE_WAIT_KINDS];
    uint64_t failures[ENGINE_FAILURE_KINDS];
    struct transport_stats transport;
};

/* Count that a thread waited. Thread: any. */
void
engine_count_wait(struct engine *engine,
                  enum engine_wait_kind kind,
                  uint64_t n_ns);

void
engine_stats(struct engine *engine, struct engine_stats *out_stats);

/*
 * Fault injection during a recovery. Shrinking, agreeing and growing are not
 * operations of the engine, but ranks die in them, too. HOOP_DEBUG_FAULT knows
 * them as "shrink", "agree" and "grow": at=begin acts before anything else,
 * at=send before the coordinator is asked, at=receive when it has decided,
 * at=end before the caller knows. A shrink asks the coordinator twice, the
 * second time for all ranks to confirm: segment=2. round=2 is its second
 * attempt.
 */

/* Returns whether HOOP_DEBUG_FAULT knows a call of that name: an operation or
 * one of the recoveries. */
bool
fault_call_name_exists(const char *name);

/* A recovery begins: returns the rules that apply to it, as bits. 0: none.
 * Thread: any. */
uint32_t
recovery_fault_begin(struct engine *engine, const char *name);

/* Trigger the rules that act at point. round counts from 1. Thread: any. */
void
recovery_fault_inject(struct engine *engine,
                      uint32_t rules,
                      enum fault_point point,
                      uint64_t round);

#endif
