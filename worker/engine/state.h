/*
 * engine/state.h - the state of an engine and of its contexts; private to
 * engine/
 */

#ifndef ENGINE_STATE_H
#define ENGINE_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/process.h"
#include "engine/engine.h"
#include "engine/failure/op_history.h"
#include "engine/op.h"
#include "engine/wait_policy.h"
#include "net/path.h"

TAILQ_HEAD(op_list, op);
TAILQ_HEAD(waiter_list, waiter);
TAILQ_HEAD(context_list, comm_context);
TAILQ_HEAD(residual_list, residual);

/* Why a rank is lost, in as many bytes as travel. */
enum {
    /* Room for a reported reason (LIMIT_REPORT_REASON), what hoopd infers
     * from it, who reported it, and when. */
    LOST_REASON_TEXT_MAX = 400,
};

/* A connection that the control thread hands to the progress owner. */
enum connection_command_kind {
    COMMAND_ADD_TCP_CONNECTION,
    COMMAND_ATTACH_STREAM,
    COMMAND_ADD_TLS_CONNECTION,
};

struct command {
    TAILQ_ENTRY(command) link;
    enum connection_command_kind kind;
    uint32_t rank;
    int fd;
    unsigned stream;
    struct segment *segment;
    struct tls *tls;
};

TAILQ_HEAD(command_list, command);

/* What the control thread may tell the progress owner about a rank. The kinds
 * are bits; a higher one is graver. */
enum rank_notice_kind {
    NOTICE_UNDECIDED = 1, /* the coordinator will not decide about it */
    NOTICE_SHORTAGE = 2,
    NOTICE_UNREACHABLE = 4,
    NOTICE_NO_MEMORY = 8, /* here, for the connection to it */
    NOTICE_DECLARED_DEAD = 16,
};

/* All that the progress owner has not yet read about one rank. Every rank has
 * one from the start: if a notice needed memory and found none, calls would
 * wait for ever. */
struct notice {
    TAILQ_ENTRY(notice) link;
    /* Bits of enum rank_notice_kind. 0: the notice is in no list; else the
     * progress owner will read it. */
    unsigned kinds;
    uint32_t rank;
    enum evidence evidence;  /* for NOTICE_DECLARED_DEAD */
    uint32_t of;             /* for NOTICE_SHORTAGE: who lacks something */
    enum hoop_status status; /* for NOTICE_SHORTAGE: what operations end with */
    char why[LOST_REASON_TEXT_MAX]; /* the reason of the gravest kind */
};

TAILQ_HEAD(notice_list, notice);

enum {
    POLLS_AFTER_OP = 2
};

/* Polls of all sockets that the next collectives have to make:
 * engine/pending_polls.h. */
struct pending_polls {
    unsigned n;     /* those that use sockets */
    unsigned n_shm; /* those through shared memory */
};

/* A collective that a departed rank had entered and this rank has not. */
struct final_state {
    TAILQ_ENTRY(final_state) link;
    uint32_t peer;
    struct frame frame; /* the departed rank's last answer: state_query.c */
};

TAILQ_HEAD(final_state_list, final_state);

/* The most recently used residual is first. */
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
    char name[LIMIT_NAME]; /* what the program calls it; "": nothing */
    _Atomic uint32_t timeout_ms;
    const char *_Atomic purpose; /* context_set_wait_purpose(); NULL: none */
    _Atomic uint8_t n_retries;   /* context_set_retries() */
    _Atomic uint64_t next_op_number; /* number of the next collective */
    /* How many of them formed the context. */
    _Atomic uint64_t n_forming_collectives;
    /* [size]: number of the next message to each rank. */
    uint64_t *next_message_number;
    struct residuals residuals; /* under the lock, like the numbers above */
    /* The rest belongs to the progress owner or, while nobody owns progress, to
     * the inline path under the lock. */
    /* Number of the next collective to begin. */
    uint64_t next_op_number_to_begin;
    struct pending_polls polls;
    struct shm_region *shm_region; /* NULL: there is none */
    /* Failures of operations up to this number have been announced in the
     * shared region. */
    uint64_t last_announced_failed_op;
    struct op_list shm_ops; /* shared-memory run queue: begun, run in order */
    /* While shm_ops is not empty. */
    TAILQ_ENTRY(comm_context) shm_contexts_link;
    /* Of the inline path; NULL: there was no memory. It is a whole operation,
     * because what does the steps of operations does its steps, too. There is
     * one, for a call that is repeated: calls that alternate are operations,
     * whose plans the pool keeps (op_pool.c). */
    struct op *cached_op;
    /* The cached operation's last call had no counts. */
    bool is_cached_op_without_counts;
    /* The inline path holds the lock, so that no operation may end
     * meanwhile. */
    bool is_inline_under_lock;
    /* Inline rounds since sockets were polled. */
    unsigned n_rounds_since_socket_poll;
    struct final_state_list final_states;
    unsigned n_final_states;
    /* Whether a member was lost or had left when so many ranks had. */
    bool has_gone_member;
    uint32_t n_gone_when_checked;
    /* Collectives that the check of deadlines at checked_ns has seen. */
    unsigned n_checked_collectives;
    uint64_t checked_ns;
    struct op_history op_history;
    struct failure_record failure;
    bool must_revoke_on_loss; /* revoke it when a member is lost */
    bool is_watched; /* somebody waits for members without an operation */
    TAILQ_ENTRY(comm_context) watched_link; /* while is_watched */
};

TAILQ_HEAD(context_command_list, context_command);

struct rank_liveness {
    bool is_lost;
    bool has_given_up; /* it has said so itself; is_lost is set, too */
    bool has_left;
    bool is_suspect; /* it is lost unless others decide otherwise in time */
    bool is_suspicion_reported; /* those who decide know of the suspicion */
    enum evidence evidence;
    uint64_t suspected_ns;
    uint64_t peer_activity_count; /* signs of life of it before the suspicion */
    /* When the rule for ranks alone begins to hold. */
    uint64_t decide_by_rule_ns;
    uint64_t next_check_ns; /* when to check it again */
    /* The rank is not lost, but there is no connection to it because
     * shortage_rank lacks what `why` says. HOOP_OK: no shortage is known. */
    enum hoop_status shortage_status;
    uint32_t shortage_rank;
    /* Its failed sends; NULL: none are known. */
    struct failed_send_report_windows *failed;
    uint64_t n_failed_sends_received; /* number of the last that it reported */
    char why[LOST_REASON_TEXT_MAX];
};

/* Returns whether nothing more will come from the rank: it is lost, or has
 * left. */
static inline bool
rank_is_gone(const struct rank_liveness *rank)
{
    return rank->is_lost || rank->has_left;
}

/* What is known of a rank's signs of life. */
struct heartbeat {
    uint64_t n_checks; /* the last check that waited for it */
    uint64_t peer_activity_count;
    uint64_t silent_ns;
    uint64_t ended_ns; /* when its process was seen to have ended; 0: not */
    /* Its process is visible here under its pid. */
    atomic_bool is_process_visible_by_pid;
    struct process_cpu_time share; /* when half the timeout had passed */
    unsigned n_grace_periods;
    struct probe probe; /* of its listener, begun at half the timeout */
    bool has_starvation_baseline; /* share is known and probe has begun */
    bool is_asked;
    uint64_t next_question_ns; /* the silence after which to ask again */
    uint32_t round_trip_ms;    /* just before the first question */
};

/* Which ranks this rank hears, while the coordinator asks for that. */
struct views {
    uint64_t question; /* 0: none is open */
    uint64_t views_asked_ns;
    /* [world rank]: count when asked; NULL: never asked. */
    uint64_t *peer_activity_count;
    uint8_t *seen; /* [world rank] */
};

/* What other threads hand to the progress owner, under the lock. */
struct engine_inbox {
    struct op_list submit_queue;
    struct command_list commands;
    struct notice *notices; /* [world rank] */
    struct notice_list noticed;
    struct context_command_list context_commands;
    uint64_t views_question;        /* question waiting to be read; 0: none */
    uint64_t activity_query;        /* query waiting to be read; 0: none */
    bool has_cancelled;             /* an operation has been cancelled */
    bool must_drop_stale_frames;    /* engine_drop_stale_frames() is due */
    atomic_bool has_commands;       /* something of all this is there */
    atomic_bool has_views_question; /* engine_has_views_request() */
};

/* Operations that have ended, for later calls. */
struct op_pool {
    struct op_list ops; /* under the lock, as their number */
    unsigned n_ops;
    /* The operation that ended last. A caller that repeats the same call takes
     * it without the lock. */
    _Atomic(struct op *) kept;
};

struct engine_contexts {
    /* Under the lock: */
    struct context_list open;
    unsigned n_expected; /* contexts that are being formed */
    uint64_t closed_ids[LIMIT_CLOSED_CONTEXTS]; /* of those closed last */
    size_t n_closed_ids;
    /* Frames are kept for a context that is not open yet. */
    atomic_bool has_early_frames;
    /* The progress owner's: */
    struct context_list shm_running; /* their shm_ops are not empty */
    struct context_list watched;
};

/* The last call that failed, for those who ask what this rank is doing. */
struct last_failure {
    enum hoop_status status; /* HOOP_OK: none has failed */
    uint64_t n_ended;        /* calls that had ended well by then */
    char text[LIMIT_ERROR_TEXT];
};

/* A rank that has asked for a sign of life, which shows that it is heard. */
struct asker {
    uint32_t rank;
    uint64_t when_ns; /* of its last question; 0: none */
};

/* For whom this rank has waited in a span of time. */
struct wait_window {
    uint64_t began_ns;
    uint64_t moving_ms; /* for bytes of ranks that had called */
    size_t n_waits;
    struct rank_wait waits[LIMIT_ACTIVITY_WAITS]; /* for ranks that had not */
};

/* The span that is under way, and the one before. */
struct wait_windows {
    struct wait_window spans[2];
};

/* What the progress owner knows of the other ranks' lives. */
struct engine_liveness {
    struct rank_liveness *ranks; /* [world rank] */
    uint32_t n_lost;
    uint32_t n_suspects;
    uint32_t n_left; /* ranks that left in good order */
    struct views views;
    struct heartbeat *heartbeats; /* [world rank] */
    uint64_t n_checks;            /* heartbeat checks done */
    uint64_t checked_ns;
    uint64_t n_failed_sends_broadcast; /* failed sends reported to others */
    struct last_failure last_failure;
    uint64_t wait_noted_ns;           /* when a wait was last looked for */
    struct wait_windows minute_waits; /* of half a minute each */
    struct wait_windows recent_waits; /* of a moment each */
    struct asker askers[LIMIT_ACTIVITY_ASKERS]; /* the last ones */
    /* Final, and for any thread to read: ranks[own rank].why says the
     * reason. */
    atomic_bool is_expelled;
};

/* What the progress owner does at present. */
struct engine_progress {
    struct op *own; /* operation it waits for; NULL: ended, or none */
    struct op_list running;
    struct op_list dirty;
    struct op_list ended; /* not yet published to their waiters */
    uint64_t deadline_ns; /* not later than the earliest of the running */
    /* When the last straggler warning was written, and how many late operations
     * were not warned of since then. */
    uint64_t last_straggler_warning_ns;
    unsigned n_suppressed_warnings;
    bool must_flush; /* before the end of an operation is published */
    /* Sockets that nothing waits for may be polled before an operation ends. */
    bool may_poll_idle_sockets;
    /* For any thread to read: */
    atomic_bool is_sleeping;
    _Atomic uint64_t n_ended;
};

/* What calls have cost so far, for any thread to read. */
struct engine_totals {
    _Atomic uint64_t wait_ns[ENGINE_WAIT_KINDS];
    _Atomic uint64_t failures[ENGINE_FAILURE_KINDS];
    unsigned n_yields; /* the progress owner's */
};

struct engine {
    struct engine_options options;
    const struct roster *roster;
    const struct config *config;
    struct transport *transport;
    struct recorder *recorder; /* NULL: none */
    struct faults *faults;     /* NULL: none */
    bool is_forked_child;      /* nothing else may be touched then */
    bool is_leaving;           /* the progress owner's */
    int local_ranks_fd;        /* shows this rank to other jobs */
    /* How to wait, given all ranks on this host: any policy but SPIN means that
     * they outnumber the processors. */
    _Atomic enum wait_policy host_wait_policy;
    /* Peers find it before they read this process's memory. */
    struct cma_cookie cma_cookie;
    _Atomic int *wakeup_fds; /* [world rank]: descriptor that wakes it, or -1 */

    pthread_mutex_t lock;
    bool is_progress_owned;     /* under the lock */
    struct waiter_list waiters; /* under the lock */
    struct engine_inbox inbox;
    struct op_pool pool;
    struct engine_contexts contexts;
    struct engine_liveness liveness;
    struct engine_progress progress;
    struct engine_totals totals;
    struct cpu_placement cpu_placement; /* the progress owner's */
};

/* Returns whether op is its context's cached operation, which is in no list. */
static inline bool
op_is_inline(const struct op *op)
{
    return op == op->run.context->cached_op;
}

/* Returns the number of the next collective. The caller holds the lock, so that
 * no other thread writes it, and no locked instruction is needed. */
static inline uint64_t
context_take_op_number(struct comm_context *context)
{
    const uint64_t number =
        atomic_load_explicit(&context->next_op_number, memory_order_relaxed);

    atomic_store_explicit(&context->next_op_number, number + 1,
                          memory_order_release);
    return number;
}

/* Returns the shared-memory operation of context that may move; NULL: none. */
static inline struct op *
shm_queue_first(const struct comm_context *context)
{
    return TAILQ_FIRST(&context->shm_ops);
}

/* Returns whether op is the library's own and not a program's. */
static inline bool
op_is_internal(const struct op *op)
{
    return op->run.label.call.name == CALL_AGREE ||
           (op_is_message(op) &&
            op->run.label.tag == CALL_TAG_LIBRARY_INTERNAL);
}

/* Returns what a caller that waits for op waits for. NULL: a collective that is
 * completed inline. */
static inline enum engine_wait_kind
op_wait_kind(const struct op *op)
{
    if (!op)
        return ENGINE_WAIT_COLLECTIVE;
    if (op->run.wait.purpose || op_is_internal(op))
        return ENGINE_WAIT_UNCOUNTED;
    return op_is_message(op) ? ENGINE_WAIT_MESSAGE : ENGINE_WAIT_COLLECTIVE;
}

/* Have progress_advance_ops() look at op. */
static inline void
op_mark_dirty(struct op *op)
{
    if (op->run.is_dirty || op->run.state != OP_RUNNING)
        return;
    op->run.is_dirty = true;
    TAILQ_INSERT_TAIL(&op->engine->progress.dirty, op, run.dirty_link);
}

/* Returns how a waiter should wait, by the setting and the load of the host. */
static inline enum wait_policy
engine_wait_policy(const struct engine *engine)
{
    switch (engine->config->spinning) {
    case ENGINE_SPIN_NEVER:
        return WAIT_POLICY_SLEEP;
    case ENGINE_SPIN_ALWAYS:
        return WAIT_POLICY_SPIN;
    case ENGINE_SPIN_AUTO:
        break;
    }
    return atomic_load_explicit(&engine->host_wait_policy,
                                memory_order_relaxed);
}

/* Count an operation that ended well. The caller owns progress, or holds the lock
 * while nobody does. So there is one writer, and no locked instruction is
 * needed. */
static inline void
engine_count_ended_op(struct engine *engine)
{
    const uint64_t n =
        atomic_load_explicit(&engine->progress.n_ended, memory_order_relaxed);

    atomic_store_explicit(&engine->progress.n_ended, n + 1,
                          memory_order_relaxed);
}

#endif
