/* api/retry.c - collectives that survive the loss of ranks */

#include "api/retry.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "hoop/elastic.h"

#include "api/collective.h"
#include "api/internal_collective.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "dtype/dtype.h"
#include "session/comm.h"
#include "session/recovery.h"

/*
 * A call that can be repeated among fewer ranks.
 *
 * It keeps what the call began with: the members, and a copy of the input if
 * the result overwrites it. A repeated call is what the call would have been
 * with only the surviving members: with their inputs alone, their blocks
 * packed, and the root's new rank.
 */

struct retry_request {
    const struct collective *asked; /* borrowed, as is comm */
    hoop_comm_t *comm;
    uint32_t root; /* world rank; HOOP_NO_RANK: the call has no root */
    bool is_kept;  /* everything that a repetition needs was saved */
    /* the call to make on comm with its current members */
    struct collective now;
    uint32_t *entry; /* world ranks that were members at first */
    uint32_t n_ranks_at_entry;
    uint32_t *members; /* world ranks that are members now, n_members of them */
    uint32_t n_members;
    const void *input; /* the saved copy; NULL: the input is where it was */
    void *output;
    size_t *counts; /* of the current members */
    void *packed;   /* blocks for the current members */
    uint32_t n_tries;
};

static void
retry_request_store_members(struct retry_request *retry_request)
{
    retry_request->n_members = hoop_comm_size(retry_request->comm);
    for (uint32_t i = 0; i < retry_request->n_members; i++)
        retry_request->members[i] =
            hoop_comm_world_rank(retry_request->comm, i);
}

/* Whether the result overwrites the input: only in place and, in calls with a
 * root, only on the root of a call whose result is there. */
static bool
input_is_overwritten(const struct collective *asked,
                     const struct collective_buffers *buffers,
                     const hoop_comm_t *comm)
{
    const bool is_root = hoop_comm_rank(comm) == asked->root;

    if (!buffers->is_in_place || buffers->n_input == 0)
        return false;
    return !(asked->parts & COLL_HAS_ROOT) ||
           ((asked->parts & COLL_RECV_AT_ROOT) && is_root);
}

static enum hoop_status
retry_input_buffer_reserve(struct comm_retry_state *retry, size_t n_bytes)
{
    if (n_bytes <= retry->n_kept)
        return HOOP_OK;
    free(STEAL(retry->kept));
    retry->n_kept = 0;
    retry->kept = malloc(n_bytes);
    if (!retry->kept)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to keep %zu bytes of input, in case that "
                           "a rank is lost",
                           n_bytes);
    retry->n_kept = n_bytes;
    return HOOP_OK;
}

/* In an in-place gather, a rank's input block lies where it stays in the
 * output. */
static const uint8_t *
own_input_block(const struct collective *asked,
                const struct collective_buffers *buffers,
                const hoop_comm_t *comm)
{
    const uint32_t rank = hoop_comm_rank(comm);
    const uint8_t *begin = buffers->input;
    size_t before = asked->count * rank;

    if (!(asked->parts & COLL_RECV_ALL))
        return begin;
    if (asked->counts) {
        before = 0;
        for (uint32_t i = 0; i < rank; i++)
            before += asked->counts[i];
    }
    return begin + before * dtype_size(asked->dtype);
}

static enum hoop_status
retry_request_save_input(struct retry_request *retry_request)
{
    const struct collective *asked = retry_request->asked;
    const struct collective_buffers buffers =
        buffers_from_collective(asked, retry_request->comm);
    const size_t n_bytes = buffers.n_input * dtype_size(asked->dtype);
    struct comm_retry_state *retry = &retry_request->comm->retry;

    retry_request->output = buffers.output;
    if (!input_is_overwritten(asked, &buffers, retry_request->comm))
        return HOOP_OK;
    const enum hoop_status status = retry_input_buffer_reserve(retry, n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    memcpy(retry->kept, own_input_block(asked, &buffers, retry_request->comm),
           n_bytes);
    retry_request->input = retry->kept;
    return HOOP_OK;
}

/*
 * Save what a repetition of asked, which has been checked, needs. Copies of
 * inputs are kept in comm->retry.
 * Handle: HOOP_E_EXHAUSTED (this rank cannot make the call, but
 * retry_request_has_lost_root() and retry_request_rebuild() can be called).
 */
static enum hoop_status
retry_request_init(struct retry_request *retry_request,
                   const struct collective *asked,
                   hoop_comm_t *comm)
{
    const uint32_t size = hoop_comm_size(comm);

    *retry_request = (struct retry_request){
        .asked = asked,
        .comm = comm,
        .root = asked->parts & COLL_HAS_ROOT
                    ? hoop_comm_world_rank(comm, asked->root)
                    : HOOP_NO_RANK,
        .now = *asked,
        .entry = calloc(size, sizeof(uint32_t)),
        .members = calloc(size, sizeof(uint32_t)),
        .n_ranks_at_entry = size,
    };
    if (!retry_request->entry || !retry_request->members)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks", size);
    retry_request_store_members(retry_request);
    memcpy(retry_request->entry, retry_request->members,
           size * sizeof(uint32_t));
    if (!(asked->parts & COLL_NO_BUFFERS)) {
        const enum hoop_status status = retry_request_save_input(retry_request);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    retry_request->is_kept = true;
    return HOOP_OK;
}

/* Zeroed memory is fine. */
static void
retry_request_deinit(struct retry_request *retry_request)
{
    free(retry_request->entry);
    free(retry_request->members);
    free(retry_request->counts);
    free(retry_request->packed);
}

/* The index in entry of a current member, at from or later: survivors keep
 * their order. */
static uint32_t
original_rank_of_member(const struct retry_request *retry_request,
                        uint32_t member,
                        uint32_t from)
{
    uint32_t at = from;

    while (retry_request->entry[at] != retry_request->members[member])
        at++;
    return at;
}

/* The root's current rank; HOOP_NO_RANK: it is lost. */
static uint32_t
root_current_rank(const struct retry_request *retry_request)
{
    const uint32_t size = hoop_comm_size(retry_request->comm);

    for (uint32_t i = 0; i < size; i++) {
        if (hoop_comm_world_rank(retry_request->comm, i) == retry_request->root)
            return i;
    }
    return HOOP_NO_RANK;
}

/* Whether the call has a root that is no longer a member of comm. */
static bool
retry_request_has_lost_root(const struct retry_request *retry_request)
{
    return retry_request->root != HOOP_NO_RANK &&
           root_current_rank(retry_request) == HOOP_NO_RANK;
}

/* The loss of the root is checked first, so that all ranks find the same even
 * if one of them could not save its input. */
static enum hoop_status
retry_request_check_repeatable(const struct retry_request *retry_request)
{
    if (retry_request_has_lost_root(retry_request))
        return error_raise(HOOP_E_PEER_LOST,
                           "rank %u, the root, is lost: nobody can do it again",
                           retry_request->root);
    if (!retry_request->is_kept)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to keep what it was called with, in case "
                           "that a rank is lost");
    return HOOP_OK;
}

static enum hoop_status
retry_request_select_counts(struct retry_request *retry_request)
{
    uint32_t at = 0;

    if (!retry_request->counts)
        retry_request->counts =
            calloc(retry_request->n_ranks_at_entry, sizeof(size_t));
    if (!retry_request->counts)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u counts",
                           retry_request->n_ranks_at_entry);
    for (uint32_t i = 0; i < retry_request->n_members; i++) {
        at = original_rank_of_member(retry_request, i, at);
        retry_request->counts[i] = retry_request->asked->counts[at++];
    }
    retry_request->now.counts = retry_request->counts;
    return HOOP_OK;
}

/* Bytes of the block of the rank that had this number at first. */
static size_t
original_block_bytes(const struct collective *asked, uint32_t rank)
{
    return (asked->counts ? asked->counts[rank] : asked->count) *
           dtype_size(asked->dtype);
}

/* Copy the blocks for the current members one behind the other. */
static enum hoop_status
retry_request_pack_blocks(struct retry_request *retry_request,
                          const void *input)
{
    const uint8_t *from = input;
    size_t total = 0;
    uint32_t member = 0;

    for (uint32_t rank = 0; rank < retry_request->n_ranks_at_entry; rank++)
        total += original_block_bytes(retry_request->asked, rank);
    if (!retry_request->packed)
        retry_request->packed = malloc(total + 1);
    if (!retry_request->packed)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to pack %zu bytes",
                           total);
    uint8_t *to = retry_request->packed;
    for (uint32_t rank = 0; rank < retry_request->n_ranks_at_entry; rank++) {
        const size_t n_bytes = original_block_bytes(retry_request->asked, rank);

        if (member < retry_request->n_members &&
            retry_request->entry[rank] == retry_request->members[member]) {
            if (n_bytes > 0)
                memcpy(to, from, n_bytes);
            to += n_bytes;
            member++;
        }
        from += n_bytes;
    }
    retry_request->now.send = retry_request->packed;
    retry_request->now.recv = retry_request->output;
    return HOOP_OK;
}

/* Update retry_request->now after the members of comm have changed.
 * Handle: HOOP_E_PEER_LOST (the root is lost), HOOP_E_EXHAUSTED (no memory now,
 * or when the call began). */
static enum hoop_status
retry_request_rebuild(struct retry_request *retry_request)
{
    const struct collective *asked = retry_request->asked;
    enum hoop_status status = retry_request_check_repeatable(retry_request);

    if (status != HOOP_OK)
        return error_pass(status);
    retry_request_store_members(retry_request);
    retry_request->now = *asked;
    if (retry_request->input) {
        retry_request->now.send = retry_request->input;
        retry_request->now.recv = retry_request->output;
        /* Error feedback belongs to the program's tensor, not to the copy. */
        if (!asked->place)
            retry_request->now.place = retry_request->output;
    }
    if (asked->parts & COLL_HAS_ROOT)
        retry_request->now.root = root_current_rank(retry_request);
    if (asked->counts)
        status = retry_request_select_counts(retry_request);
    if (status == HOOP_OK && (asked->parts & COLL_SEND_ALL))
        status =
            retry_request_pack_blocks(retry_request, retry_request->now.send);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* How survivors agree on the outcome of a call. */

enum {
    /* The layout of flags: one bit; the number of calls that have ended; and
     * the same number inverted. The bitwise and clears, in the number or in its
     * inverse, each bit in which ranks differ. */
    VOTE_UNFINISHED_BIT = 0,
    VOTE_CALL_NUMBER_SHIFT = 1,
    VOTE_CALL_INVERSE_SHIFT = 32,
    VOTE_CALL_NUMBER_BITS = 31,
    /* The layout of least. The ranks furthest ahead have the smallest value. */
    VOTE_OUTCOME_SHIFT = 1,
    VOTE_OUTCOME_BITS = 8,
    VOTE_N_CALLS_SHIFT = VOTE_OUTCOME_SHIFT + VOTE_OUTCOME_BITS,
};

static const uint64_t VOTE_CALL_NUMBER_MASK =
    ((uint64_t)1 << VOTE_CALL_NUMBER_BITS) - 1;
static const uint64_t VOTE_OUTCOME_MASK =
    ((uint64_t)1 << VOTE_OUTCOME_BITS) - 1;
static const uint64_t VOTE_N_CALLS_MAX = UINT64_MAX >> VOTE_N_CALLS_SHIFT;

struct retry_vote_word
retry_vote_word(const struct retry_vote *retry_vote)
{
    const uint64_t outcome =
        retry_vote->n_calls > 0 ? (uint64_t)retry_vote->outcome : 0;

    assert(outcome <= VOTE_OUTCOME_MASK &&
           retry_vote->n_calls < VOTE_N_CALLS_MAX);
    return (struct retry_vote_word){
        .flags = (uint64_t)(retry_vote->work == RETRY_VOTE_FINISHED)
                     << VOTE_UNFINISHED_BIT |
                 (retry_vote->n_calls & VOTE_CALL_NUMBER_MASK)
                     << VOTE_CALL_NUMBER_SHIFT |
                 (~retry_vote->n_calls & VOTE_CALL_NUMBER_MASK)
                     << VOTE_CALL_INVERSE_SHIFT,
        .least = (VOTE_N_CALLS_MAX - retry_vote->n_calls)
                     << VOTE_N_CALLS_SHIFT |
                 outcome << VOTE_OUTCOME_SHIFT | !retry_vote->has_lost_root,
    };
}

/* Whether all ranks are in the same call and have finished it. */
static bool
vote_all_in_call_finished(uint64_t flags)
{
    const uint64_t alike =
        flags >> VOTE_CALL_NUMBER_SHIFT | flags >> VOTE_CALL_INVERSE_SHIFT;

    return (flags >> VOTE_UNFINISHED_BIT & 1) &&
           (alike & VOTE_CALL_NUMBER_MASK) == VOTE_CALL_NUMBER_MASK;
}

/* The outcome that another rank has sent. */
static enum hoop_status
outcome_from_peer(uint64_t number)
{
    return number == HOOP_OK ? HOOP_OK : status_from_peer(number);
}

struct retry_vote_result
retry_vote_decide(const struct retry_vote *retry_vote,
                  struct retry_vote_word word)
{
    const uint64_t n_furthest =
        VOTE_N_CALLS_MAX - (word.least >> VOTE_N_CALLS_SHIFT);
    struct retry_vote_result result = {.decision = RETRY_VOTE_OVER,
                                       .n_ended_calls = n_furthest};

    if (n_furthest > retry_vote->n_calls) {
        /* If this rank is behind by more than one call, nobody tells how the
         * first of them ended. The calls after it could not succeed without
         * this rank. */
        result.outcome =
            n_furthest == retry_vote->n_calls + 1
                ? outcome_from_peer(word.least >> VOTE_OUTCOME_SHIFT &
                                    VOTE_OUTCOME_MASK)
                : HOOP_E_TIMEOUT;
        result.is_next_call_over = !(word.least & 1);
        return result;
    }
    if (vote_all_in_call_finished(word.flags))
        result.n_ended_calls++;
    else
        result.decision = RETRY_VOTE_AGAIN;
    return result;
}

/* The calls themselves: attempt, shrink, vote, repeat or end. */

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
    const enum hoop_status worst = outcome_from_peer(word >> 32);
    if (worst == HOOP_OK)
        return HOOP_OK;
    if (worst == mine)
        return error_raise(mine, "%s", text);
    return error_raise(worst, "it failed on rank %u",
                       hoop_comm_world_rank(comm, UINT32_MAX - (uint32_t)word));
}

/* Tell the other ranks, which wait for this one, that it cannot take part. */
static enum hoop_status
retry_fail_call_on_peers(hoop_comm_t *comm, enum hoop_status status)
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

    context_set_retries(comm->context, retry_request->n_tries++);
    enum hoop_status status = made == HOOP_OK
                                  ? collective_run(&retry_request->now, comm)
                                  : retry_fail_call_on_peers(comm, made);
    context_set_retries(comm->context, 0);
    *out_work = status == HOOP_OK ? RETRY_VOTE_FINISHED : RETRY_VOTE_UNFINISHED;
    /* A program interrupted this call or that of another rank. Its outcome is
     * not exchanged, but some ranks may have done their part and wait for it. */
    if (status == HOOP_E_CANCELLED)
        return retry_fail_call_on_peers(comm, status);
    if (!status_is_lost_rank(status))
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
    retry_vote->has_lost_root = retry_request_has_lost_root(retry_request);
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
              hoop_comm_size(comm),
              (unsigned long long)out_result->n_ended_calls);
    return HOOP_OK;
}

static enum hoop_status
retried_call_end(struct retry_request *retry_request, enum hoop_status outcome)
{
    struct comm_retry_state *retry = &retry_request->comm->retry;

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
    struct comm_retry_state *retry = &retry_request->comm->retry;

    retry->n_ended_calls = result->n_ended_calls;
    retry->is_next_call_over = result->is_next_call_over;
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
    struct comm_retry_state *retry = &retry_request->comm->retry;

    if (retry->n_calls < retry->n_ended_calls)
        return retried_call_end(
            retry_request, error_raise(HOOP_E_TIMEOUT,
                                       "it was over for the other ranks before "
                                       "this one called"));
    retry->is_next_call_over = false;
    return retried_call_end(
        retry_request, error_raise(HOOP_E_PEER_LOST,
                                   "the root was lost before this rank called: "
                                   "the others could not do it again"));
}

/* Run the call until it succeeds or fails for good. made is the status of
 * preparing retry_request. */
static enum hoop_status
collective_run_with_retries(struct retry_request *retry_request,
                            enum hoop_status made)
{
    struct comm_retry_state *retry = &retry_request->comm->retry;

    if (retry->n_calls < retry->n_ended_calls || retry->is_next_call_over)
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
        status = collective_run_with_retries(
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
retry_run_by_policy(const struct collective *collective, hoop_comm_t *comm)
{
    return comm ? retry_check_and_run(collective, comm)
                : retry_run_on_default_comm(collective);
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
    const struct comm_retry_state *retry = &comm->retry;
    const uint32_t n_ranks =
        retry->contributors ? retry->n_contributors : hoop_comm_size(comm);
    for (uint32_t i = 0; i < n_ranks && i < capacity; i++)
        ranks[i] = retry->contributors ? retry->contributors[i]
                                       : hoop_comm_world_rank(comm, i);
    *out_n_ranks = n_ranks;
    return HOOP_OK;
}
