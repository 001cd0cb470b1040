/* engine/state.h - the engine's and a context's own state; private to engine/ */

#ifndef ENGINE_STATE_H
#define ENGINE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/process.h"
#include "engine/backoff.h"
#include "engine/cpu_placement.h"
#include "engine/engine.h"
#include "engine/op.h"
#include "engine/op_history.h"
#include "engine/reason.h"
#include "net/path.h"

struct shm_region_header;

TAILQ_HEAD(op_list, op);
TAILQ_HEAD(waiter_list, waiter);
TAILQ_HEAD(context_list, comm_context);
TAILQ_HEAD(residual_list, residual);

/* A connection that the control thread hands to the progress owner. */
enum command_kind {
    COMMAND_CONNECTED,
    COMMAND_STREAM,
    COMMAND_ENCRYPTED,
};

struct command {
    TAILQ_ENTRY(command) link;
    enum command_kind kind;
    uint32_t rank;
    int fd;
    unsigned stream;
    struct segment *segment;
    struct tls *tls;
};

TAILQ_HEAD(command_list, command);

/* What the control thread may tell the progress owner of a rank: bits, of which a higher
 * one is the graver. */
enum notice_kind {
    NOTICE_UNDECIDED = 1, /* the coordinator will not decide about it */
    NOTICE_SHORTAGE = 2,
    NOTICE_UNREACHABLE = 4,
    NOTICE_DECLARED_DEAD = 8,
};

/* All that the progress owner has not been told yet of one rank. Each rank has its own from
 * the beginning: a notice that found no memory would leave calls waiting. */
struct notice {
    TAILQ_ENTRY(notice) link;
    unsigned
        kinds; /* enum notice_kind; 0: none, else the progress owner will read it */
    uint32_t rank;
    enum evidence evidence;  /* NOTICE_DECLARED_DEAD */
    uint32_t of;             /* NOTICE_SHORTAGE: who lacks something ... */
    enum hoop_status status; /* ... and what operations end with */
    char why[REASON_BYTES];  /* of the gravest kind */
};

TAILQ_HEAD(notice_list, notice);

/* Once for what others have sent, once for what they then say of it. */
enum {
    POLLS_PENDING = 2
};

/* A failure notice on an operation that has not begun here. */
struct early_failure {
    TAILQ_ENTRY(early_failure) link;
    uint64_t op;
    struct failure_notice failure_notice;
};

TAILQ_HEAD(early_failure_list, early_failure);

/* What a rank that left had called, and this one has not yet. */
struct final_state {
    TAILQ_ENTRY(final_state) link;
    uint32_t peer;
    struct frame frame; /* its last answer: engine/state_query.c */
};

TAILQ_HEAD(final_state_list, final_state);
TAILQ_HEAD(failed_send_list, failed_send);

/* The last used first. */
struct residuals {
    struct residual_list list;
    size_t n;
    size_t n_bytes;
};

struct comm_context {
    TAILQ_ENTRY(comm_context) link;
    struct engine *engine;
    uint64_t id;
    uint32_t rank;
    uint32_t size;
    uint32_t *ranks;
    pthread_mutex_t name_lock;
    char name[LIMIT_NAME]; /* as the program calls it; "": it does not */
    _Atomic uint32_t timeout_ms;
    const char
        *_Atomic purpose;       /* context_set_purpose(); NULL: the program's */
    _Atomic uint64_t op_next;   /* number of the next collective */
    _Atomic uint64_t n_forming; /* of them, those by which it was formed */
    uint64_t *message_next; /* [size]: number of the next message sent there */
    struct residuals residuals; /* under the lock, as are the numbers above */
    /* The progress owner's, as is all below. */
    uint64_t begin_next; /* number of the next collective to begin */
    /* Sockets may hold what others have sent for another call than the last:
     * looks at all of them after which they do not, and flat ones' looks. */
    unsigned n_polls_pending, n_polls_pending_shm;
    struct shm_region *shm_region; /* NULL: there is none */
    uint64_t abandoned;     /* up to which operation failures were told there */
    struct op_list shm_ops; /* begun, and to be done one after another */
    TAILQ_ENTRY(comm_context) shm_contexts_link; /* while there are any */
    struct op
        *cached_op; /* of inline_collective.c; NULL: without a shared region */
    bool is_cached_op_plain;    /* what it called last had no counts */
    unsigned n_rounds_unpolled; /* inline rounds since sockets were looked at */
    /* A failure notice is passed on once: see failure_notice_on_ended(). */
    struct early_failure_list early_failures;
    unsigned n_early_failures;
    struct final_state_list final_states;
    unsigned n_final_states;
    struct failed_send_list failed_sends;
    unsigned n_failed_sends;
    struct op_history op_history;
    /* The last failure notice on an operation that has ended, for those who ask. */
    uint64_t failed_op;
    struct failure_notice failed;
    uint64_t failed_first; /* number of the first that ended badly here, or 0 */
    /* By one of its members: revocation.c. */
    bool is_revoked;
    struct failure_notice revoked;
    bool must_revoke_on_loss; /* revoke it when a member is lost */
    bool is_watched; /* somebody waits for its members, without an operation */
    TAILQ_ENTRY(comm_context) watched_link; /* then */
    /* One on what had returned here: the next call to end tells it. */
    bool has_deferred_failure;
    struct failure_notice deferred_failure;
};

TAILQ_HEAD(context_command_list, context_command);

/* A send to this rank that failed where it was called, and was told by others:
 * the receive that it was for fails, too. */
struct failed_send {
    TAILQ_ENTRY(failed_send) link;
    uint64_t n;      /* of them, all alike */
    uint32_t source; /* a world rank */
    uint64_t tag;
    struct failure_notice failure_notice;
};

struct lost_rank {
    bool is_lost;
    bool has_given_up; /* it has said so itself; then it is lost, too */
    bool has_left;
    bool is_suspect;  /* it is lost unless others know better in time */
    bool is_reported; /* ... and those who decide know */
    enum evidence evidence;
    uint64_t suspected_ns;
    uint64_t n_heard;       /* of it, until then */
    uint64_t rule_ns;       /* when the rule for ranks alone begins to hold */
    uint64_t next_check_ns; /* when it is looked after again */
    /* Not lost, but there is no connection, for want of what `why` says, by
     * short_of; HOOP_OK: nothing is known to be wanting. */
    enum hoop_status short_status;
    uint32_t short_of;
    struct failed_window *failed; /* its failed sends; NULL: none are known */
    uint64_t failed_told;         /* number of the last that it told itself */
    char why[REASON_BYTES];
};

/* Signs of life of a rank. */
struct heartbeat {
    uint64_t n_checks; /* the last one that was for it */
    uint64_t n_heard;
    uint64_t silent_ns;
    uint64_t ended_ns;   /* since when its process is seen to have; 0: is not */
    atomic_bool is_seen; /* its process can be: it has that number here */
    struct process_share share; /* when half the time had passed */
    unsigned n_grace_periods;
    struct probe probe; /* of its listener, when half the time had passed */
    bool has_baseline;  /* share is known, and probe has begun */
    bool is_asked;
    uint32_t round_trip_ms; /* just before it was asked */
};

/* Whom this rank hears, while that is asked. */
struct views {
    uint64_t question; /* 0: it is not */
    uint64_t asked_ns;
    uint64_t *n_heard; /* [world rank]: when it was asked; NULL: never yet */
    uint8_t *seen;     /* [world rank] */
};

struct engine {
    struct engine_options options;
    const struct roster *roster;
    struct transport *transport;
    struct faults *faults; /* NULL: none */
    bool is_forked_child;  /* in a forked child: nothing else may be touched */
    int local_ranks_fd;    /* this rank, as other jobs see it */
    /* How to wait beside the ranks that are on this host: unless it spins, they
     * are more than there are processors. */
    _Atomic enum wait_policy host_wait_policy;

    /* Under the lock. */
    pthread_mutex_t lock;
    bool is_progress_owned;
    struct waiter_list waiters;
    struct op_list submit_queue;
    struct command_list commands;
    struct notice *notices; /* [world rank] */
    struct notice_list noticed;
    struct op_list op_pool;
    unsigned n_pooled;
    struct context_list contexts;
    struct context_command_list context_commands;
    uint64_t asked;          /* a question that is to be looked at */
    uint64_t activity_query; /* likewise */
    bool has_cancelled;      /* operations, since the last look */
    bool must_sweep;         /* what came for communicators that are not kept */
    unsigned n_expected;     /* contexts that are being formed */
    uint64_t n_failed_told;  /* failed sends, to others: the progress owner's */
    uint64_t gone[LIMIT_CONTEXTS_GONE]; /* ids of the last that were closed */
    size_t n_gone;

    /* The operation that ended last, for the next of its kind: whoever calls
     * the same again does not need the lock for it. */
    _Atomic(struct op *) kept;

    struct cma_cookie cma_cookie; /* others find it before they read */
    _Atomic int *bells; /* [world rank]: those that were reached, or -1 */

    atomic_bool has_commands;
    atomic_bool is_asked;    /* a question is, or views.question is open */
    atomic_bool is_expelled; /* lost[own rank].why is there, and stays */
    atomic_bool is_sleeping;
    atomic_bool has_early_frames; /* something is kept for a context to come */
    _Atomic uint64_t n_ended;

    /* The progress owner's. */
    struct cpu_placement cpu_placement;
    struct op *own; /* what it waits for itself; NULL: it has ended, or none */
    struct op_list running;
    struct op_list dirty;
    struct op_list ended; /* their waiters do not know yet */
    uint64_t deadline_ns; /* not later than the earliest of the running */
    struct context_list shm_contexts;
    struct context_list watched;
    struct lost_rank *lost; /* [world rank] */
    uint32_t n_lost;
    uint32_t n_suspects;
    struct views views;
    struct heartbeat *heartbeats; /* [world rank] */
    uint64_t n_checks;            /* for heartbeats, and when the last was */
    uint64_t checked_ns;
    uint32_t n_left;     /* of them, in good order */
    uint64_t warned_ns;  /* when it was last said that somebody is late */
    unsigned n_unwarned; /* operations of which it was not said since */
    bool is_leaving;
    bool has_rest;   /* of what was sent at once, and has ended */
    bool must_flush; /* before the end of an operation is published */
    bool may_poll;   /* at the sockets that nothing waits for, before an end */
};

/* By the progress owner: one more operation has ended well. There is one writer: no
 * locked instruction is needed. */
static inline void
engine_count(struct engine *engine)
{
    const uint64_t n =
        atomic_load_explicit(&engine->n_ended, memory_order_relaxed);

    atomic_store_explicit(&engine->n_ended, n + 1, memory_order_relaxed);
}

/* command_queue.c */

/* Hand the connection in content, which is taken, to the progress owner or the next one.
 * Without memory for that it is closed, and its rank unreachable. */
void
engine_enqueue_connection(struct engine *engine, const struct command *content);
/* Close the connection in command: nobody takes it. */
void
command_discard(const struct command *command);
/* Tell the progress owner, or the next one, what content says of content->rank; of two
 * reasons that it has not read yet it is given the graver, or the first. Needs no
 * memory. */
void
engine_notify(struct engine *engine, const struct notice *content);
/* Have the progress owner call engine_sweep(). Needs no memory. */
void
engine_sweep_later(struct engine *engine);
/* By the progress owner: do what was handed in. Returns whether there was any. */
bool
engine_execute_commands(struct engine *engine);

/* A failure notice on a rank; others are on an operation of a communicator. */
static const uint64_t FAILURE_OF_RANK = 0;

/* cancel.c, by the progress owner */

/* End what has been cancelled. */
void
engine_end_cancelled(struct engine *engine);
/* ... before it began. */
bool
op_refuse_cancelled(struct op *op);

/* context.c */

/* By the progress owner: end what runs on context, and forget all of it. */
void
context_end(struct comm_context *context);
/* Nothing runs on it. */
void
context_destroy(struct comm_context *context);
/* Whether what comes for communicator id is of use: it is open, or may be one
 * that is just being formed. owner is the engine. */
bool
engine_keeps(void *owner, uint64_t id);
/* Forget what came for communicators that are not kept. */
void
engine_sweep(struct engine *engine);

/* events.c */

extern const struct transport_events engine_events;
/* By the progress owner: rank has left in good order. */
void
engine_left(struct engine *engine, uint32_t rank);

/* failure_notice.c, by the progress owner. */

/* rank, which may be this one, is dead or gone, which is certain by evidence
 * (EVIDENCE_TOLD: somebody else has found out): every operation that needs it
 * ends. */
void
engine_mark_lost(struct engine *engine,
                 uint32_t rank,
                 enum evidence evidence,
                 const char *why);
/* The same, seen here: who may conclude from evidence, base/evidence.h says. */
void
engine_suspect(struct engine *engine,
               uint32_t rank,
               enum evidence evidence,
               const char *why);
/* Nobody else decides about it. */
void
failure_detector_undecided(struct engine *engine, uint32_t rank);
/* Returns when to look again. */
uint64_t
engine_check_suspects(struct engine *engine, uint64_t now_ns);
/* "rank 2 (a:70) is lost: ...", or what it said when it gave up; of this rank, that it
 * was declared lost. */
const char *
lost_describe(const struct engine *engine,
              uint32_t rank,
              char text[LIMIT_ERROR_TEXT]);
/* text, why a call failed here, as other ranks should read it: of this rank, if it
 * was declared lost, by its name. Returns text or out_text. */
const char *
lost_describe_to_others(const struct engine *engine,
                        const char *text,
                        char out_text[LIMIT_ERROR_TEXT]);
/* world_rank is a member. */
bool
context_has_member(const struct comm_context *context, uint32_t world_rank);
/* Whether, and why, op cannot end any more: a member is lost, or one that is still
 * needed has left. */
bool
op_cannot_end(struct op *op, struct failure_notice *out_notice);
/* Whether a member is lost; which. */
bool
context_has_lost_member(const struct comm_context *context,
                        struct failure_notice *out_notice);
/* Only the part about members that left. */
bool
op_waits_for_departed(struct op *op, struct failure_notice *out_notice);
/* That rank, which is lost, is. */
struct failure_notice
lost_failure(const struct engine *engine, uint32_t rank);
/* What a peer's failure notice, of which text is the payload, ends operations with. */
struct failure_notice
failure_notice_decode(const struct engine *engine,
                      const struct frame *frame,
                      const char *text);
/* rank, of a struct failure_notice, as VERDICT frames have it in call.root. */
uint32_t
failure_notice_pack_rank(uint32_t rank);
/* Tell every peer of an operation's failure. */
void
failure_notice_send_all(struct engine *engine,
                        const struct comm_context *context,
                        uint64_t number,
                        const struct failure_notice *failure_notice);
/* Tell a peer to whom goodbye is said of all ranks that are lost. */
void
failure_notice_send_lost(struct engine *engine, uint32_t peer);
/* The one on operation number that came before it began, to be freed; or NULL. */
struct early_failure *
failure_notice_take_early(struct comm_context *context, uint64_t number);
/* A failure notice on operation number, which has ended here: pass it on if it is
 * new. A mismatch is told by the next call of context that ends. */
void
failure_notice_on_ended(struct comm_context *context,
                        uint64_t number,
                        const struct failure_notice *failure_notice);
/* What op's call has to tell beside its own end; op->text may change. Returns
 * the status of both. */
enum hoop_status
failure_notice_settle(struct op *op, enum hoop_status status);
/* Peer's failure notice on a message this rank sent to it, or on a collective. */
void
failure_notice_on_message(struct comm_context *context,
                          uint32_t peer,
                          const struct frame *frame,
                          const char *text);
void
failure_notice_on_op(struct engine *engine,
                     struct comm_context *context,
                     const struct frame *frame,
                     const char *text);

/* mismatch.c, by the progress owner. */

/* How the two sides of a collective's message differ in its length. */
struct size_mismatch {
    uint64_t number;
    const struct frame_call *call;
    uint64_t n_expected;
    uint64_t n_sent;
    bool is_sent; /* by this rank */
};

/* frame, of peer, is of another call than this rank's of the same number. */
void
mismatch_calls(struct comm_context *context,
               uint32_t peer,
               const struct frame *frame);
/* The calls are the same, but not the lengths of a message between the two. */
void
mismatch_bytes(struct comm_context *context,
               uint32_t peer,
               const struct size_mismatch *size_mismatch);
/* What came for op before it began: is it of the same call? */
void
mismatch_early(struct op *op);
/* op has all it needs; true when more came, and it has ended for that. */
bool
mismatch_surplus(struct op *op);

/* shortage.c, by the progress owner: the control thread's notice of one. */
void
shortage_take(struct engine *engine, const struct notice *notice);
/* That there is no connection to rank, as this thread's last error. */
enum hoop_status
shortage_raise(const struct engine *engine, uint32_t rank);
/* frame says that a send of some rank to some other has failed. */
void
shortage_came(struct engine *engine,
              uint32_t peer,
              const struct frame *frame,
              const char *text);
/* op, which begins, receives a message whose send is known to have failed: op
 * has ended then. */
bool
shortage_refuse(struct op *op);
void
shortage_forget(struct comm_context *context);

/* receive_mismatch.c, by the progress owner: op, a receive, has been matched with the message
 * that frame, and tensor if it is one, begins, but does not take it. Both ends
 * of it end. */

/* It is not what op expects. */
void
receive_mismatch_type(struct op *op,
                      const struct frame *frame,
                      const struct frame_tensor *tensor);
/* There is no memory for it: why. */
void
receive_mismatch_memory(struct op *op,
                        const struct frame *frame,
                        const struct frame_tensor *tensor,
                        const char *why);
/* Of a list, which op waits for more of, but its sender has begun the next list
 * with frame. Only op ends. */
void
receive_mismatch_next_list(struct op *op,
                           const struct frame *frame,
                           const struct frame_tensor *tensor);
/* No receive is left for it: its sender is told. */
void
receive_mismatch_stray(struct engine *engine,
                       uint32_t peer,
                       const struct frame *frame,
                       const struct frame_tensor *tensor);

/* state_query.c, by the progress owner. */

/* Ask the other side of flow what it has called. */
void
state_query_send(const struct step_flow *flow);
/* peer asks, or answers. */
void
state_query_receive(struct comm_context *context,
                    uint32_t peer,
                    const struct frame *frame);
/* ... after a communicator that is not here, and may not come. */
void
state_query_deny(struct engine *engine,
                 uint32_t peer,
                 const struct frame *frame);
void
state_query_answered(struct comm_context *context,
                     uint32_t peer,
                     const struct frame *frame);
/* Answer beforehand what peer cannot ask any more: this rank leaves. */
void
state_query_send_final(struct engine *engine, uint32_t peer);
/* ... nor any peer: this rank frees the communicator. */
void
state_query_send_freed(const struct comm_context *context);
/* op, which has just begun, and what those that left had called. */
void
state_query_apply_final(struct op *op);
void
state_query_forget(struct comm_context *context);

/* departure_record.c, by the progress owner. */

/* This rank leaves: say so in its shared regions. */
void
departure_record_write(struct engine *engine);
/* Whether rank has said so in one that it shares with this one. */
bool
departure_record_exists(struct engine *engine, uint32_t rank);
/* Take what it left there for its answers. */
void
departure_record_read(struct engine *engine, uint32_t rank);

/* shm_executor.c */

/* What the header tells, as a frame would. */
struct frame
shm_executor_frame(const struct comm_context *context,
                   const struct shm_region_header *header);

struct comm_context *
engine_context(struct engine *engine, uint64_t id);
/* The collective of that number that is under way here; NULL: none. */
struct op *
context_running(const struct comm_context *context, uint64_t number);

/* shm_queue.c, by the progress owner. */

/* op has begun, or has ended: is it, or was it, one of its context's shared-memory operations? */
void
shm_queue_add(struct op *op);
void
shm_queue_remove(struct op *op);
/* The one that may move. */
struct op *
shm_queue_first(const struct comm_context *context);
/* Touch what can move on. */
void
shm_queue_touch(struct engine *engine);
/* ... and sleep no more. */
void
shm_queue_stop_sleeping(struct engine *engine);
/* Before sleeping. False: something can move. */
bool
shm_queue_prepare_sleep(struct engine *engine);
/* op is the first: what was refused here, or failed before its turn came, will
 * not be read. Who has posted for it waits for that. */
void
shm_queue_abandon(const struct op *op);
/* Wake whoever sleeps, when this rank has published or finished a round. */
void
shm_queue_wake_peers(const struct comm_context *context);

/* engine.c */

/* How whoever waits does so, by the setting and the load of the host. */
enum wait_policy
engine_wait_policy(const struct engine *engine);

/* progress.c */

/* Take commands, move data, complete operations. Returns whether anything moved. */
bool
progress_poll(struct engine *engine, int timeout_ms);
/* Complete what the data that have come permit. */
bool
progress_advance(struct engine *engine);
/* Let the waiters of what has ended go, and free it: when nothing the progress owner
 * does still speaks of it. */
void
progress_publish(struct engine *engine);
/* Take the progress right; false: another thread has it. */
bool
progress_try_acquire(struct engine *engine);
/* ... or wait for it; false: not before the deadline. */
bool
progress_acquire_until(struct engine *engine, uint64_t deadline_ns);
/* Give it up and name a successor. */
void
progress_release(struct engine *engine);
/* By the progress owner: offer the processor to another rank. */
void
progress_yield(struct engine *engine);
/* The progress owner must look at the submit queue. */
void
progress_wake(struct engine *engine);
/* Have context_command->context ended by the progress owner, and wait for that. */
void
context_command_submit(struct engine *engine,
                       struct context_command *context_command);
/* op has all it needs: end it, unless what has come meanwhile ends it. */
void
op_conclude(struct op *op);
void
op_begin(struct op *op);
/* ... and its partner. */
void
op_begin_held(struct op *op);

#endif
