/*
 * api/retry.h - collectives that survive the loss of ranks
 *
 * With HOOP_ON_FAILURE=retry, the surviving ranks repeat a blocking collective
 * that a loss has interrupted, with the inputs that they gave at first. After
 * each attempt all ranks exchange their outcomes, so that no rank returns
 * before all have finished. If a rank is lost meanwhile, the survivors shrink
 * the communicator (session/recovery.h), which keeps its handle, and agree:
 * either all had finished, and the result is valid with the lost rank's input
 * in it; or all repeat the call. If they do not come together in time, the call
 * ends on all of them (docs/decisions/0024-retry.md).
 */

#ifndef API_RETRY_H
#define API_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "api/collective.h"

/* Returns whether the session's policy asks for retries. */
static inline bool
comm_retries_on_failure(const hoop_comm_t *comm)
{
    return comm->context && comm->domain &&
           comm->domain->config->on_failure == COMM_POLICY_RETRY;
}

/* retry_run_collective() on a comm with retries, or on the default group's
 * (NULL). */
enum hoop_status
retry_run_by_policy(const struct collective *collective, hoop_comm_t *comm);

/* collective_run(), with retries if the session's policy asks for them. */
static inline enum hoop_status
retry_run_collective(const struct collective *collective, hoop_comm_t *comm)
{
    return comm && !comm_retries_on_failure(comm)
               ? collective_run(collective, comm)
               : retry_run_by_policy(collective, comm);
}

/* collective_start(). An operation that is only started is never retried.
 * Handle: also HOOP_E_UNIMPLEMENTED (the session's policy is to retry). */
enum hoop_status
retry_start_collective(const struct collective *collective,
                       hoop_comm_t *comm,
                       hoop_op_t **out_op);

/*
 * How survivors agree on the outcome of a call.
 *
 * A retried call ends when each rank knows that all have finished it. When a
 * rank is lost, one survivor may know that already and be in its next call,
 * while another does not. Survivors whose calls have timed out, waiting for
 * a late rank, may be further ahead.
 *
 * So each survivor contributes two words to an agreement. The result of
 * flags is their bitwise and: whether all survivors are in the same call and
 * have finished it. The result of least is the minimum, which is that of the
 * ranks furthest ahead: in which call they are, how the one before ended,
 * and whether their call has lost its root.
 *
 * A survivor in the next call may find that the call has lost its root. A
 * survivor in the call before cannot know that, and would later make the
 * next call alone, with a root of its own. So both calls end for it.
 *
 * Pure functions.
 */

/* The state of one rank in its current call. */
struct retry_vote {
    uint64_t n_calls;         /* calls that have ended before */
    enum hoop_status outcome; /* of the last of them, if there is one */
    enum retry_vote_progress {
        RETRY_VOTE_UNFINISHED,
        RETRY_VOTE_FINISHED, /* all data have arrived */
    } work;
    bool has_lost_root; /* the root is lost: the call cannot be repeated */
};

/* A rank's contribution, or the result for all. */
struct retry_vote_word {
    uint64_t flags;
    uint64_t least;
};

struct retry_vote_word
retry_vote_word(const struct retry_vote *retry_vote);

struct retry_vote_result {
    enum retry_vote_decision {
        RETRY_VOTE_OVER,  /* the call has ended, with outcome */
        RETRY_VOTE_AGAIN, /* the call must be repeated */
    } decision;
    enum hoop_status outcome;
    /* calls that have ended; includes this one if it is over */
    uint64_t n_ended_calls;
    /* the call after these has ended, too: its root is lost */
    bool is_next_call_over;
};

/* Decide from the result over all survivors, of which this rank is one. */
struct retry_vote_result
retry_vote_decide(const struct retry_vote *retry_vote,
                  struct retry_vote_word word);

#endif
