/*
 * engine/op.h - one operation under way; private to engine/
 *
 * op_start_collective() or message_op_create() makes an operation, the progress
 * owner runs it, and the thread that waits for it frees it. A freed operation
 * goes to the operation pool with its memory, plan window and scratch buffer,
 * for the next call to reuse.
 */

#ifndef ENGINE_OP_H
#define ENGINE_OP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/limits.h"
#include "base/log.h"
#include "dtype/reduction.h"
#include "engine/engine.h"
#include "engine/failure/failure_record.h"
#include "engine/wait_policy.h"
#include "fault/fault.h"
#include "plan/tracker.h"
#include "recorder/recorder.h"
#include "transport/flow.h"

/* The message of one plan step. is_receive says whether out or in is used. */
struct step_flow {
    TAILQ_ENTRY(step_flow) link;
    struct op *op;
    struct tracked_step *tracked_step;
    bool is_receive;
    bool has_peer_called; /* the peer has said that it made this call */
    /* The peer has said that it is in another call. */
    bool is_peer_in_other_call;
    /* Bytes done when the flow was last checked. */
    uint64_t n_done_bytes_at_last_check;
    /* The peer's current call; .op is its number. */
    struct frame current_peer_call;
    struct send_request out;
    struct recv_request in;
};

TAILQ_HEAD(step_flow_list, step_flow);

/* Returns the peer's world rank, or FLOW_ANY_PEER. */
static inline uint32_t
step_flow_peer(const struct step_flow *flow)
{
    return flow->is_receive ? flow->in.key.peer : flow->out.key.peer;
}

/* Returns the number of bytes that have been moved. */
static inline uint64_t
step_flow_done_bytes(const struct step_flow *flow)
{
    return flow->is_receive ? flow->in.arrived : flow->out.handed;
}

/* An operation first asks its peers after OP_QUERY_INTERVAL_FIRST_NS, which
 * is long for a network and short for a person; the interval then doubles up
 * to OP_QUERY_INTERVAL_MAX_NS. */
static const uint64_t OP_QUERY_INTERVAL_FIRST_NS = 100000000;
static const uint64_t OP_QUERY_INTERVAL_MAX_NS = 1000000000;
/* Time allowed for an answer. */
static const uint64_t OP_QUERY_ANSWER_WAIT_NS = 250000000;

/*
 * NEW -> RUNNING -> ENDED or FAILED
 *   \__________________________/     refused before it began
 */
enum op_state {
    OP_NEW,
    OP_RUNNING,
    OP_ENDED,
    OP_FAILED, /* itself; the status of others may report an earlier call */
};

struct waiter {
    TAILQ_ENTRY(waiter) link;
    pthread_cond_t cond;
    struct op *op;   /* NULL: the waiter wants progress ownership itself */
    bool is_elected; /* progress ownership has been handed to it */
};

/* What the current round of a shared-memory plan waits for. */
enum shm_round_wait {
    SHM_ROUND_AWAITS_POSTS, /* of peers, or that they free this rank's slot */
    /* The failure notice on an earlier operation, which a peer's post mentions
     * and a socket brings. */
    SHM_ROUND_AWAITS_NOTICE,
    /* A thread that owns progress: it may compare an earlier post, which this
     * rank has not read, and end the operation of that post. */
    SHM_ROUND_AWAITS_OWNER,
    SHM_ROUND_MISMATCHED, /* nothing: a peer has called something else */
};

/* How far a shared-memory plan has been executed. */
struct shm_execution {
    bool is_next_round_planned; /* cache.next_round_plan is valid */
    /* Slot in which the next round's posts will be published, already partly
     * written; NULL: nothing has been prefetched. prefetch_offset_bytes is
     * the offset of the prefetched post in bytes, prefetch_post_index its
     * index, and prefetch_combine_step the step of this round that produces
     * it. */
    uint8_t *prefetch;
    size_t prefetch_offset_bytes;
    size_t prefetch_post_index;
    size_t prefetch_combine_step;
    uint32_t n_rounds;
    uint32_t round;
    /* Rounds that the inline path had finished before it handed over to this
     * operation; was_next_round_posted says whether it had also posted the
     * next one. */
    uint32_t n_rounds_done_inline;
    bool was_next_round_posted;
    bool is_posted;
    bool is_wake_pending; /* peers have not been woken since the last change */
    enum shm_round_wait wait;  /* since the last attempt at the round */
    size_t n_posts;            /* steps of the round that post */
    size_t n_posted_elements;  /* elements that they post */
    size_t n_touched_elements; /* elements that all steps of the round touch */
    /* Steps at the front of the plan whose peers are known to have published
     * the round. */
    size_t n_steps_with_published_peers;
    bool is_retracted;     /* a peer withdrew what was being read */
    uint32_t retracted_by; /* that peer's rank in the context */
    /* What a peer published cannot be: it is at fault, not this rank. */
    bool is_peer_at_fault;
    uint32_t peer_at_fault; /* its world rank */
};

/* How long an operation may take, and who is told. Set by the caller that
 * starts it, then the progress owner's. */
struct op_wait {
    uint64_t started_ns;    /* 0: the inline path has not waited */
    struct backoff backoff; /* so far, of the inline path */
    uint64_t time_limit_ns; /* as it was set, from started_ns */
    uint64_t deadline_ns;
    unsigned n_deadline_extensions; /* how often the deadline was extended */
    uint64_t next_query_ns;         /* when to ask the awaited peers next */
    uint64_t query_interval_ns;    /* interval before the question after that */
    uint64_t straggler_warning_ns; /* when the straggler warning is due */
    /* Library call of which this collective is a step; NULL: a program's own
     * call. It gives notice of its waits through notice. */
    const char *purpose;
    struct wait_notice notice;
};

enum {
    /* One bit each of an operation's steps_done_inline. */
    INLINE_PLAN_STEPS_MAX = 64,
};

/* A plan for the inline path. */
struct inline_plan {
    bool is_made;     /* n_steps is known, and the scratch has room for them */
    unsigned n_steps; /* of the tracker's cached plan; 0: it is not for the
                         inline path */
    uint8_t order[INLINE_PLAN_STEPS_MAX]; /* indices of them */
};

/* All of the current call. It is zeroed in one statement when the operation is
 * taken: op_alloc(). */
struct op_run {
    /* Set by the caller that starts the operation, before other threads see
     * it. */
    struct comm_context *context;
    struct op *partner; /* is waited for and freed with it; NULL: none */
    uint64_t number;    /* of the collective or the message; under the lock */
    struct chain chain;
    bool is_begun_by_waiter;      /* who owns progress already */
    struct recorder_slot *record; /* the call's; NULL: it is not recorded */

    /* The current stage: set by that caller and, of later stages, by the
     * progress owner. */
    const struct algorithm *algorithm; /* NULL: a message */
    struct plan_shape shape;
    const uint32_t *members; /* NULL: all of the context's */
    struct flow_label label;
    struct frame_call first_call;    /* the first stage's */
    uint64_t signatures[STAGES_MAX]; /* of all stages up to the current one */
    uint32_t stage;
    bool is_call_check_stage; /* the ranks first agree on the call */
    enum codec_loss loss;
    struct residual *residual; /* NULL: no error feedback */
    const uint8_t *input;
    uint8_t *output;
    size_t element_size;
    reduction_fn *reduce;
    division_fn *divide; /* NULL: the reduction is not an average */

    /* The progress owner's: */
    enum op_state state;
    bool is_dirty;              /* progress was made */
    uint8_t recorded_path;      /* enum recorder_path of what has moved */
    TAILQ_ENTRY(op) dirty_link; /* while is_dirty */
    /* In the context's shared-memory run queue. */
    bool is_shm_queued;
    TAILQ_ENTRY(op) shm_queue_link; /* while is_shm_queued */
    struct step_flow_list step_flows;
    /* Used instead of the tracker if op_is_shm(). */
    struct shm_execution rounds;
    /* Of the inline path: how many steps of cache.inline_plan are done. */
    unsigned n_inline_steps;
    /* Steps of the plan that the inline path had done before it handed over to
     * this operation, one bit each. */
    uint64_t steps_done_inline;
    struct op_wait wait;
    enum hoop_status status;

    /* Written by any thread: */
    atomic_bool is_cancelled; /* its caller has cancelled it */
    struct waiter *waiter;    /* protected by the lock */
    int notified_fd; /* under the lock; written to at the end; -1: none */
    /* Written last by the progress owner: status and failure are final and the
     * waiter's. */
    atomic_bool is_done;
};

/* What the next like call reuses. The waiter returns it to the pool, and the
 * next caller or the progress owner uses it. */
struct op_cache {
    uint64_t context_id; /* stays valid after the context is gone */
    const struct algorithm *algorithm; /* the last collective's; NULL: none */
    /* The algorithm that was recorded last, and its number there. */
    const struct algorithm *recorded;
    uint16_t recorded_id;
    bool has_recorded_call;
    struct tracker tracker;
    struct inline_plan inline_plan;
    struct plan round_plan;      /* of the current round in shared memory */
    struct plan next_round_plan; /* if rounds.is_next_round_planned */
    struct step_flow_list free_flows;
    size_t *counts; /* copies of the shape's */
    size_t counts_capacity;
    uint8_t *scratch;
    size_t scratch_capacity;
    /* If has_recorded_call: what the record says of a like call. */
    struct recorder_call recorded_call;
};

/* Of a message; zeroed by message_op_create(), which writes it before other
 * threads see the operation. */
struct op_message {
    struct step_flow flow; /* the progress owner's from then on */
    /* Of a send: where its number comes from, under the lock. */
    uint64_t *next_message_number;
    struct hoop_received *received;
    struct frame_tensor tensor; /* label.tensor points here, if set */
    bool is_error_text_payload; /* bytes is an error text for the sender */
    /* The caller's: which part did not fit a tensor receive that was
     * refused. */
    uint32_t *received_part;
    struct hoop_tensor *out;         /* the caller's, for the received tensor */
    struct engine_object_out object; /* where an object's bytes are returned */
    struct hoop_tensor made;         /* the received tensor */
    bool is_made_owned;              /* its data are freed unless returned */
};

/* How an operation has failed. Written by the progress owner if status is not
 * OK, and not zeroed because it is large. */
struct op_failure {
    char text[LIMIT_ERROR_TEXT];
    struct hoop_failure details; /* the same facts */
};

struct op {
    TAILQ_ENTRY(op) link; /* in the submit queue, running, ended or pooled */
    struct engine *engine;
    struct op_run run;
    struct op_cache cache;
    struct op_message message;
    struct op_failure failure;
};

static inline bool
op_is_message(const struct op *op)
{
    return !op->run.algorithm;
}

/* Returns whether the current stage of a collective uses shared memory. */
static inline bool
op_is_shm(const struct op *op)
{
    return op->run.algorithm && op->run.algorithm->is_shm &&
           !op->run.is_call_check_stage;
}

/* Returns the address of span. */
static inline uint8_t *
op_span_address(const struct op *op, const struct plan_span *span)
{
    const size_t offset = span->first * op->run.element_size;

    switch (span->buffer) {
    case PLAN_INPUT:
        /* Nobody writes through this: no plan names the input as a target. */
        return (uint8_t *)(uintptr_t)(op->run.input + offset);
    case PLAN_OUTPUT:
        return op->run.output + offset;
    case PLAN_SCRATCH:
        break;
    }
    return op->cache.scratch + offset;
}

/* Returns the stage, which is part of the step on the wire. */
static inline uint32_t
op_stage(const struct op *op)
{
    return op->run.is_call_check_stage ? STAGE_CALL_CHECK : op->run.stage;
}

#endif
