/*
 * engine/op.h - one operation under way; private to engine/
 *
 * Made by engine_start*(), run by the progress owner, freed by its waiter. Its
 * memory, plan window and scratch are kept for the next one.
 */

#ifndef ENGINE_OP_H
#define ENGINE_OP_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "base/limits.h"
#include "base/wait_notice.h"
#include "dtype/reduction.h"
#include "engine/engine.h"
#include "fault/fault.h"
#include "plan/tracker.h"
#include "transport/flow.h"

/* A step's message: which of the two depends on the step. */
struct step_flow {
    TAILQ_ENTRY(step_flow) link;
    struct op *op;
    struct track *track;
    bool is_receive;
    bool is_answered;       /* the peer has called it, too */
    bool is_busy;           /* ... or not, and is in another call */
    uint64_t n_seen;        /* bytes done when it was last looked after */
    struct frame busy_with; /* op: its number */
    struct send_request out;
    struct recv_request in;
};

TAILQ_HEAD(step_flow_list, step_flow);

/* World rank, or FLOW_ANY_PEER. */
static inline uint32_t
step_flow_peer(const struct step_flow *flow)
{
    return flow->is_receive ? flow->in.key.peer : flow->out.key.peer;
}

/* Bytes. */
static inline uint64_t
step_flow_done(const struct step_flow *flow)
{
    return flow->is_receive ? flow->in.arrived : flow->out.handed;
}

/* Long for a network, short for a person; then less and less often. */
static const uint64_t OP_ASK_FIRST_NS = 100000000;
static const uint64_t OP_ASK_AGAIN_NS = 1000000000;
/* What an answer may take. */
static const uint64_t OP_ANSWER_NS = 250000000;

/*
 * NEW -> RUNNING -> ENDED
 *   \_________________/     refused before it began
 */
enum op_state {
    OP_NEW,
    OP_RUNNING,
    OP_ENDED,
};

/* How an operation ends badly: with which status, by whose fault, in words. */
struct failure_notice {
    enum hoop_status status;
    uint32_t rank; /* of the world; HOOP_NO_RANK: nobody's, or not known */
    char why[LIMIT_ERROR_TEXT];
};

struct waiter {
    TAILQ_ENTRY(waiter) link;
    pthread_cond_t cond;
    struct op *op;   /* NULL: it wants the progress right itself */
    bool is_elected; /* the progress right has been handed to it */
};

/* How far a flat plan is. */
struct rounds {
    struct plan plan; /* of the round */
    struct plan next; /* of the one behind it, if is_planned */
    bool is_planned;
    uint8_t *prefetch;   /* where that will be posted; NULL: nothing is there */
    size_t n_prefetched; /* ... bytes before what is, the post ... */
    size_t prefetch_post;    /* ... of that number, ... */
    size_t prefetch_combine; /* ... and the step that makes it */
    uint32_t n_rounds;
    uint32_t round;
    uint32_t n_before; /* rounds that were done before the operation began */
    bool was_posted;   /* ... and the next one was posted */
    bool is_posted;
    bool is_wake_pending;  /* ... and nobody was woken for it */
    bool is_mismatched;    /* a peer has called something else */
    size_t n_posts;        /* steps of the round that post */
    size_t n_posted;       /* ... so many elements */
    size_t n_moved;        /* elements that all its steps touch */
    size_t n_published;    /* steps whose peers have published it, too */
    bool is_retracted;     /* what was being read was taken back ... */
    uint32_t retracted_by; /* ... by that rank */
};

struct op {
    TAILQ_ENTRY(op) link; /* submit queue, running, ended or in the pool */
    TAILQ_ENTRY(op) dirty_link; /* progress was made */
    struct engine *engine;
    struct comm_context *context;
    uint64_t context_id;    /* also when the context is gone */
    uint64_t number;        /* operation, or message of this sender */
    uint64_t *message_next; /* of a send: what its number is, under the lock */
    uint64_t started_ns;
    uint64_t deadline_ns;
    uint64_t allowed_ns; /* from its start to its deadline, as it was set */
    uint64_t warn_ns;    /* when it is late, and nobody was told */
    const char
        *purpose; /* a collective's: the call of which it is a step ... */
    struct wait_notice notice; /* ... which tells while it waits; NULL: none */
    struct flow_label label;
    struct frame_call call;
    struct frame_call first_call; /* of the first stage */
    enum op_state state;
    bool is_dirty;
    bool is_message;
    bool is_held;     /* its waiter makes progress already, and begins it */
    bool is_checking; /* the ranks agree on the call first */
    bool has_failed;  /* itself: its status may tell of an earlier call */
    uint64_t ask_ns;  /* when those it waits for are asked */
    uint64_t ask_after_ns;    /* since they were asked before */
    unsigned n_graces;        /* times its deadline was put off for an answer */
    atomic_bool is_cancelled; /* its caller has given it up */
    atomic_bool is_done;      /* status and text are final: the waiter's */
    enum hoop_status status;
    struct waiter *waiter; /* under the lock */
    int notified_fd;       /* likewise: written to at its end; -1: none */
    struct op *partner;    /* waited for and freed together; NULL: none */
    char text[LIMIT_ERROR_TEXT];
    struct hoop_failure failure; /* the same facts, where status is not OK */

    /* A collective. */
    struct tracker tracker;
    struct rounds rounds;           /* instead, when it is flat */
    TAILQ_ENTRY(op) shm_queue_link; /* while it is queued */
    bool is_shm;                    /* the stage under way */
    bool is_inline;                 /* inline_collective.c: it is in no list */
    bool is_under_lock; /* ... and done under the lock: nothing ends */
    bool
        is_shm_queued; /* it is one of the context's shared-memory operations */
    struct plan_shape shape;
    const struct algorithm *algorithm;
    const uint32_t *members; /* NULL: all of the context's */
    struct chain chain;
    uint32_t stage;                  /* the one under way */
    uint64_t signatures[STAGES_MAX]; /* up to it */
    size_t *counts;                  /* copies of the shape's */
    size_t counts_capacity;
    size_t element_size;
    enum codec_loss loss;
    struct residual *residual; /* NULL: nothing is kept of what is lost */
    const uint8_t *input;
    uint8_t *output;
    uint8_t *scratch;
    size_t scratch_capacity;
    reduction_fn *reduce;
    division_fn *divide; /* NULL: not AVG */
    struct step_flow_list flows;
    struct step_flow_list free_flows;

    /* A message. */
    struct step_flow message;
    struct hoop_received *received;
    struct frame_tensor tensor;  /* label.tensor, if it is one: */
    bool is_refusal;             /* the message's bytes are why */
    uint32_t *received_part;     /* the caller's, for one that does not fit */
    struct hoop_tensor *out;     /* the caller's, for what comes */
    struct engine_object object; /* ... or where its bytes are handed out */
    struct hoop_tensor made;     /* what comes */
    bool is_made_owned;          /* its data are freed unless handed out */
};

/* executor.c: collectives. All by the progress owner. */

/* Make the first steps active. */
enum hoop_status
executor_begin(struct op *op);
/* Whether there is anything to do before something comes or goes: who begins
 * mostly has only to send. */
bool
executor_can_move(const struct op *op);
/* Do what the data permit; true when every step is done. */
enum hoop_status
executor_advance(struct op *op, bool *out_is_complete);
/* No step touches a buffer any more. */
void
executor_abort(struct op *op);
void
executor_handed(struct step_flow *flow, uint64_t n_bytes);
void
executor_arrived(struct step_flow *flow, const uint8_t *piece, size_t n_bytes);
/* What came by flow, or leaves by it, is encoded so: give it to those of the same
 * operation that will send it, too. */
void
executor_coded(struct step_flow *flow, const struct encoded *encoded);
/* The world rank of rank of the plan that is under way. */
uint32_t
op_member(const struct op *op, uint32_t rank);
/* Frees what a spare op keeps. */
void
executor_deinit(struct op *op);

/* Where span lies. */
uint8_t *
op_span(const struct op *op, const struct plan_span *span);
/* One more of op's flows, zeroed. NULL: no memory. */
struct step_flow *
op_flow_take(struct op *op);
void
op_flow_give_back(struct step_flow *flow);

/* shm_executor.c: collectives through a shared region. All by the progress owner, as above. */

enum hoop_status
shm_executor_begin(struct op *op);
enum hoop_status
shm_executor_advance(struct op *op, bool *out_is_complete);
/* Do one round, if that can be done now. */
enum hoop_status
shm_executor_try(struct op *op, bool *out_is_done);
/* As shm_executor_begin(), with the plan of one round that op has. */
void
shm_executor_restart(struct op *op);
/* Wake those who sleep and could go on: before who has tried a round waits. */
void
shm_executor_wake_peers(struct op *op);
/* What it waited for has come. */
bool
shm_executor_can_move(const struct op *op);
/* About how long the others may be busy with the round under way; 0: op is not
 * flat. */
uint64_t
shm_executor_work_ns(const struct op *op);
/* op has failed: nothing of it will be read any more, nor shall be found. */
void
shm_executor_abort(struct op *op);
/* Make op's flows those of the peers that it is waiting for. */
void
shm_executor_list_awaited(struct op *op);
/* The first of them, a world rank, without that; or HOOP_NO_RANK. */
uint32_t
shm_executor_awaited_rank(const struct op *op);

static inline bool
shm_executor_reads(const struct plan_step *step)
{
    return step->kind == PLAN_FETCH || step->kind == PLAN_FETCH_REDUCE;
}

/* prefetch.c: before shm_reduce_run(), in all rounds but the last. Plans the next; if
 * that posts what this one makes, and there is room, rounds.prefetch says where. */
void
prefetch_prepare(struct op *op);

/* shm_reduce.c: the steps behind the posts, when all have published. */
enum hoop_status
shm_reduce_run(struct op *op);
/* step, of which the other operand stands at arrived. */
void
shm_reduce_combine(const struct op *op,
                   const struct plan_step *step,
                   const uint8_t *own,
                   const uint8_t *arrived);
/* What step copies, from there. */
void
shm_reduce_copy(const struct op *op,
                const struct plan_step *step,
                const uint8_t *from);
/* What step brings to where next combines with it: both at once. */
bool
shm_reduce_is_pair(const struct plan_step *step, const struct plan_step *next);

/* shm_direct.c: the same of a direct plan. */

enum {
    SHM_DIRECT_LINE_BYTES = PLAN_EXPOSED_MAX * sizeof(uint64_t)
};

/* Say in a line where what is shown in this round stands; returns how many bytes
 * that are. */
size_t
shm_direct_publish(const struct op *op, uint8_t *line);
/* As shm_reduce_run(); the round may be retracted then. *out_n_fetched: bytes. */
enum hoop_status
shm_direct_run(struct op *op, size_t *out_n_fetched);

/* inline_collective.c */

/* The operation that a context with a shared region keeps. NULL: no memory. */
struct op *
cached_op_create(struct comm_context *context);

/* op_pool.c */

/* Ready for a call on context by algorithm, or for a message (NULL). NULL: no
 * memory. */
struct op *
op_take(struct comm_context *context, const struct algorithm *algorithm);
/* It is not needed any more: kept for the next, if there is room. */
void
op_free(struct op *op);
void
op_destroy(struct op *op);

/* submit.c */

/* Which faults are about a call; those that strike before it begins do. By its
 * caller, without the progress right. */
uint32_t
faults_of_call(const struct engine *engine, enum call_name name);
/* What strikes the process while op is under way; round is from 0. */
void
op_inject_fault(const struct op *op, enum fault_point point, uint32_t round);
/* As engine_start(), of a call whose faults are known. */
enum hoop_status
op_start(struct comm_context *context,
         const struct engine_collective *collective,
         uint32_t faults,
         struct op **out_op);

/* Make it op's next collective: a copy of all but buffers and nodes. */
enum hoop_status
op_set_collective(struct op *op, const struct engine_collective *collective);

/* What its bytes are: elements of the call, or what a barrier sends. */
void
op_set_kernels(struct op *op);
/* Part of the wire's step. */
uint32_t
op_stage(const struct op *op);

/* chain.c */

/* executor_advance(), and on into the next stage; complete after the last. */
enum hoop_status
chain_advance(struct op *op, bool *out_is_complete);
/* How op has ended, once its results are handed out. By its waiter. */
enum hoop_status
chain_finish(struct op *op);

/* receive_allocation.c: tensors and objects that are received. */

/* Receives of that name hand out what comes in memory of its size. */
static inline bool
receive_allocation_is_of(uint32_t name)
{
    return name == CALL_RECV_ANY_TENSOR || name == CALL_RECV_OBJECT;
}

/* op, a receive, will hand out what comes where message says. */
void
receive_allocation_expect(struct op *op, const struct engine_message *message);
/* The message is there, of any size: give it memory, or end op and tell the
 * sender. */
void
receive_allocation_begin(struct op *op,
                         const struct frame *frame,
                         const struct frame_tensor *tensor);

/* context.c */

/* The number of a collective that users are told: they count their own. */
uint64_t
context_call_number(const struct comm_context *context, uint64_t number);

/* Messages by which a context is formed are numbered behind this: users count their
 * own from 1, to each rank. */
static const uint64_t MESSAGES_FORMING = (uint64_t)1 << 32;

/* The number of a message that users are told. */
uint64_t
message_number(uint64_t number);

/* failure_details.c: what is known of a failure, beside its text. */

/* Of no operation. */
struct hoop_failure
failure_details(const struct roster *roster,
                const struct failure_notice *failure_notice);
/* Of op, which users know by number; while it runs, if it does. */
struct hoop_failure
failure_details_of_op(const struct op *op,
                      uint64_t number,
                      const struct failure_notice *failure_notice);

/* failure_notice.c: failures. */

struct failure_notice
failure_make(enum hoop_status status, uint32_t rank, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* End op with a status and a text that begins with the call. */
void
op_fail(struct op *op, const struct failure_notice *failure_notice);
/* ... with this thread's last error, of that status: it is at fault itself. */
void
op_fail_own(struct op *op, enum hoop_status status);
/* ... which the other ranks know already. */
void
op_fail_told(struct op *op, const struct failure_notice *failure_notice);
void
op_end(struct op *op, enum hoop_status status);
/* ... well, unless more came for it than it takes. */
void
op_complete(struct op *op);
/* Its partner has failed: it ends in the same way. */
bool
op_partner_has_failed(const struct op *op);
void
op_fail_as_partner(struct op *op);
void
op_touch(struct op *op);
/* When op must be looked at next, though nothing comes. */
uint64_t
op_due_ns(const struct op *op);

#endif
