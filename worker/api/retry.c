/* api/retry.c - collectives that survive the loss of ranks */

#include "api/retry.h"

#include <stdio.h>
#include <string.h>

#include "hoop/elastic.h"

#include "api/comm_call.h"
#include "api/internal_collective.h"
#include "api/retry_request.h"
#include "api/retry_vote.h"
#include "base/cancel.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/status.h"
#include "session/comm.h"
#include "session/recovery.h"

static bool
comm_retries_on_failure(const hoop_comm_t *comm)
{
    return comm->context && comm->domain &&
           comm->domain->on_failure == COMM_POLICY_RETRY;
}

/* A rank is lost, or other ranks have found that and wait for this one. */
static bool
status_is_lost_rank(enum hoop_status status)
{
    return status_is_loss(status) || status == HOOP_E_ABORTED;
}

/* Agree on an outcome: the greatest status wins, and the lowest rank that has
 * it is named. */
static enum hoop_status
outcomes_agree_on_worst(hoop_comm_t *comm, enum hoop_status mine)
{
    const uint32_t rank = hoop_comm_rank(comm);
    uint64_t word =
        mine == HOOP_OK ? 0 : (uint64_t)mine << 32 | (UINT32_MAX - rank);
    char text[LIMIT_ERROR_TEXT] = "";

    if (mine != HOOP_OK)
        snprintf(text, sizeof(text), "%s", error_text());
    const enum hoop_status status = internal_allreduce_max(&word, comm);
    /* This rank's call differs from the others': it must not shrink and repeat
     * the call without them. */
    if (status != HOOP_OK && mine == HOOP_E_MISMATCH)
        return error_raise(mine, "%s", text);
    if (status != HOOP_OK)
        return error_pass(status);
    const enum hoop_status worst = (enum hoop_status)(word >> 32);
    if (worst == HOOP_OK)
        return HOOP_OK;
    if (worst == mine)
        return error_raise(mine, "%s", text);
    return error_raise(worst, "it failed on rank %u",
                       hoop_comm_world_rank(comm, UINT32_MAX - (uint32_t)word));
}

/* Tell the other ranks, which wait for this one, that it cannot take part. */
static enum hoop_status
retry_decline_call(hoop_comm_t *comm, enum hoop_status status)
{
    char text[LIMIT_ERROR_TEXT];

    snprintf(text, sizeof(text), "%s", error_text());
    context_fail_next_call(comm->context, status, text);
    return error_raise(status, "%s", text);
}

/* Attempt the call once. made is the status of preparing it. *out_work tells
 * whether all data arrived. */
static enum hoop_status
retry_attempt_once(struct retry_request *retry_request,
                   enum hoop_status made,
                   enum retry_vote_progress *out_work)
{
    hoop_comm_t *comm = retry_request->comm;
    enum hoop_status status = made == HOOP_OK
                                  ? collective_run(&retry_request->now, comm)
                                  : retry_decline_call(comm, made);

    *out_work = status == HOOP_OK ? RETRY_VOTE_FINISHED : RETRY_VOTE_UNFINISHED;
    /* A rank that its own program interrupts does not exchange outcomes. */
    if (!status_is_lost_rank(status) && status != HOOP_E_CANCELLED)
        status = outcomes_agree_on_worst(comm, status);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Shrink comm to the survivors and agree with them on *out_result. comm keeps
 * its handle. */
static enum hoop_status
retry_shrink_and_vote(struct retry_request *retry_request,
                      struct retry_vote *retry_vote,
                      struct retry_vote_result *out_result)
{
    CLEANUP(cancel_release) const int held = cancel_hold();
    hoop_comm_t *comm = retry_request->comm;
    const uint64_t deadline_ns =
        clock_deadline_ns(context_timeout(comm->context));
    struct hoop_comm *shrunk = NULL;
    char text[LIMIT_ERROR_TEXT];

    enum hoop_status status = comm_shrink(comm, deadline_ns, &shrunk);
    if (status != HOOP_OK)
        return error_pass(status);
    comm_replace_with_shrunk(comm, shrunk);
    retry_vote->is_rootless = retry_request_has_lost_root(retry_request);
    struct retry_vote_word word = retry_vote_word(retry_vote);
    status = comm_agree(comm, deadline_ns, &word.flags, &word.least);
    if (status != HOOP_OK) {
        /* The others may have agreed and wait in this call for a rank that goes
         * on to its next. The revocation makes them come and agree again. */
        snprintf(text, sizeof(text), "%s", error_text());
        context_revoke(comm->context, "by a rank that could not agree in time");
        return error_raise(status, "%s", text);
    }
    *out_result = retry_vote_decide(retry_vote, word);
    log_debug("coll", "%u ranks are left, for which %llu calls are over",
              hoop_comm_size(comm), (unsigned long long)out_result->n_over);
    return HOOP_OK;
}

static enum hoop_status
retried_call_end(struct retry_request *retry_request, enum hoop_status outcome)
{
    struct comm_retry *retry = &retry_request->comm->retry;

    retry->n_calls++;
    retry->outcome = outcome;
    if (outcome != HOOP_OK)
        return error_pass(outcome);
    free(retry->contributors);
    retry->contributors = STEAL(retry_request->members);
    retry->n_contributors = retry_request->n_members;
    return HOOP_OK;
}

/* End the call as the survivors in a later call decided; they may have given
 * this one up. */
static enum hoop_status
retried_call_end_as_voted(struct retry_request *retry_request,
                          const struct retry_vote_result *result)
{
    struct comm_retry *retry = &retry_request->comm->retry;

    retry->n_over = result->n_over;
    retry->is_next_over = result->is_next_over;
    if (result->outcome != HOOP_OK)
        (void)error_raise(result->outcome,
                          "it failed on a rank that is in a later call");
    return retried_call_end(retry_request, result->outcome);
}

/* End a call that was over on the other ranks while this rank was in an earlier
 * one. */
static enum hoop_status
retried_call_end_missed(struct retry_request *retry_request)
{
    struct comm_retry *retry = &retry_request->comm->retry;

    if (retry->n_calls < retry->n_over)
        return retried_call_end(
            retry_request, error_raise(HOOP_E_TIMEOUT,
                                       "it was over for the other ranks before "
                                       "this one called"));
    retry->is_next_over = false;
    return retried_call_end(
        retry_request, error_raise(HOOP_E_PEER_LOST,
                                   "the root was lost before this rank called: "
                                   "the others could not do it again"));
}

/* Run the call until it succeeds or fails for good. made is the status of
 * preparing retry_request. */
static enum hoop_status
retried_call_run(struct retry_request *retry_request, enum hoop_status made)
{
    struct comm_retry *retry = &retry_request->comm->retry;

    if (retry->n_calls < retry->n_over || retry->is_next_over)
        return retried_call_end_missed(retry_request);
    for (;;) {
        enum retry_vote_progress work;
        enum hoop_status status =
            retry_attempt_once(retry_request, made, &work);

        if (!status_is_lost_rank(status))
            return retried_call_end(retry_request, status);
        struct retry_vote retry_vote = {
            .n_calls = retry->n_calls, .outcome = retry->outcome, .work = work};
        struct retry_vote_result result = {0};
        status = retry_shrink_and_vote(retry_request, &retry_vote, &result);
        /* A rank that makes this call later is told that it is over. */
        if (status != HOOP_OK)
            return retried_call_end(retry_request, status);
        if (result.decision != RETRY_VOTE_AGAIN)
            return retried_call_end_as_voted(retry_request, &result);
        made = retry_request_rebuild(retry_request);
        if (made != HOOP_OK && made != HOOP_E_EXHAUSTED)
            return retried_call_end(retry_request, made);
    }
}

static enum hoop_status
retry_check_and_run(const struct collective *collective, hoop_comm_t *comm)
{
    struct retry_request retry_request = {0};
    bool is_member;

    enum hoop_status status = comm_call_begin(comm, &is_member);
    if (status == HOOP_OK)
        status = collective_check(collective, comm);
    if (status == HOOP_OK)
        status = retried_call_run(
            &retry_request,
            retry_request_init(&retry_request, collective, comm));
    retry_request_deinit(&retry_request);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* comm is NULL: use the default group's communicator. */
static enum hoop_status
retry_run_on_default_comm(const struct collective *collective)
{
    hoop_comm_t *comm = NULL;
    bool is_member;
    const enum hoop_status status =
        comm_call_begin_or_default(&comm, &is_member);

    return status == HOOP_OK ? retry_run_collective(collective, comm)
                             : error_pass(status);
}

enum hoop_status
retry_run_collective(const struct collective *collective, hoop_comm_t *comm)
{
    if (!comm)
        return retry_run_on_default_comm(collective);
    return comm_retries_on_failure(comm) ? retry_check_and_run(collective, comm)
                                         : collective_run(collective, comm);
}

enum hoop_status
retry_start_collective(const struct collective *collective,
                       hoop_comm_t *comm,
                       hoop_op_t **out_op)
{
    bool is_member;
    const enum hoop_status status =
        comm_call_begin_or_default(&comm, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!comm_retries_on_failure(comm))
        return collective_start(collective, comm, out_op);
    return error_raise(HOOP_E_UNIMPLEMENTED,
                       "what is only started cannot be done again: with "
                       "HOOP_ON_FAILURE=retry, make the call that waits");
}

enum hoop_status
hoop_comm_contributors(hoop_comm_t *comm,
                       uint32_t *ranks,
                       uint32_t capacity,
                       uint32_t *out_n_ranks)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!comm || !out_n_ranks)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           comm ? "out_n_ranks" : "comm");
    if (!ranks && capacity > 0)
        return error_raise(HOOP_E_INVALID, "ranks is NULL, for %u of them",
                           capacity);
    const struct comm_retry *retry = &comm->retry;
    const uint32_t n_ranks =
        retry->contributors ? retry->n_contributors : hoop_comm_size(comm);
    for (uint32_t i = 0; i < n_ranks && i < capacity; i++)
        ranks[i] = retry->contributors ? retry->contributors[i]
                                       : hoop_comm_world_rank(comm, i);
    *out_n_ranks = n_ranks;
    return HOOP_OK;
}
