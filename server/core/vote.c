/* core/vote.c - a collective decision of the surviving members of a
 * communicator */

#include "core/vote.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "core/group.h"
#include "core/group_slot.h"
#include "core/job.h"
#include "core/journal.h"
#include "core/memory.h"

enum {
    MISSING_NAMED_VOTERS_MAX = 8, /* missing members named in one text */
};

/* The public function of each kind of vote. */
static const char *const vote_call_names[] = {
    [CLUSTER_VOTE_AGREE] = "hoop_comm_agree",
    [CLUSTER_VOTE_SHRINK] = "hoop_comm_shrink",
    [CLUSTER_VOTE_CONFIRM] = "hoop_comm_shrink",
    [CLUSTER_VOTE_GROW] = "hoop_comm_grow",
};

/* Return whether the voter's member is active and has not left the
 * communicator. */
static bool
voter_is_expected(const struct voter *voter)
{
    const struct vote *vote = voter->vote;
    const size_t place = (size_t)(voter - vote->slots);

    return voter->member->state == CLUSTER_MEMBER_ACTIVE &&
           (!vote->group || vote->group->slots[place].state != GROUP_SLOT_LEFT);
}

static struct voter *
vote_find_voter(struct vote *vote, const struct member *member)
{
    for (uint32_t i = 0; i < vote->n_voters; i++) {
        if (vote->slots[i].member == member)
            return &vote->slots[i];
    }
    return NULL;
}

static struct vote *
vote_create(struct job *job, const struct vote_key *key, struct group *group)
{
    const uint32_t n_voters = group ? group->shown.n_ranks : job->world.size;
    struct vote *vote = memory_alloc_charged(
        &job->memory, 1, sizeof(*vote) + n_voters * sizeof(*vote->slots));

    vote->key = *key;
    vote->job = job;
    vote->group = group;
    vote->ranks =
        memory_alloc_charged(&job->memory, n_voters, sizeof(*vote->ranks));
    vote->n_voters = n_voters;
    for (uint32_t i = 0; i < n_voters; i++) {
        vote->slots[i].vote = vote;
        vote->slots[i].member =
            group ? group->slots[i].member : job->world.ranks[i];
    }
    HASH_ADD(hh, job->votes, key, sizeof(vote->key), vote);
    job_recount_table_bytes(job);
    return vote;
}

/* Free a vote that has been removed from the hash table. */
static void
vote_free(struct vote *vote)
{
    struct job *job = vote->job;

    memory_free_charged(&job->memory, vote->ranks);
    memory_free_charged(&job->memory, vote);
    job_recount_table_bytes(job);
}

/* Create the vote, after checking that the communicator has formed and has
 * member. */
static enum hoop_status
vote_check_and_create(struct job *job,
                      const struct member *member,
                      const struct vote_key *key,
                      struct vote **out_vote)
{
    struct group *group = NULL;

    if (key->communicator != 0) {
        group = group_find_formed(job, key->communicator);
        if (!group)
            return error_raise(HOOP_E_PRECONDITION,
                               "job \"%s\" has no communicator %" PRIu64
                               ", or it has been freed",
                               job->name, key->communicator);
    }

    const uint32_t n_voters = group ? group->shown.n_ranks : job->world.size;
    const enum hoop_status status = memory_check_limit(
        &job->memory, sizeof(struct vote) +
                          n_voters * (sizeof(struct voter) + sizeof(uint32_t)));
    if (status != HOOP_OK)
        return error_pass(status);

    struct vote *vote = vote_create(job, key, group);

    if (!vote_find_voter(vote, member)) {
        HASH_DEL(job->votes, vote);
        vote_free(vote);
        return error_raise(HOOP_E_INVALID,
                           "%s is no member of communicator %" PRIu64,
                           member_label(member).text, key->communicator);
    }
    *out_vote = vote;
    return HOOP_OK;
}

static enum hoop_status
vote_find_or_create(struct job *job,
                    const struct member *member,
                    const struct cluster_vote_call *call,
                    struct vote **out_vote)
{
    const struct vote_key key = {call->communicator, call->kind};
    struct vote *vote = NULL;
    enum hoop_status status = HOOP_OK;

    HASH_FIND(hh, job->votes, &key, sizeof(key), vote);
    if (!vote)
        status = vote_check_and_create(job, member, &key, &vote);
    if (status != HOOP_OK)
        return error_pass(status);

    const struct voter *voter = vote_find_voter(vote, member);

    if (!voter || !voter_is_expected(voter))
        return error_raise(HOOP_E_PRECONDITION,
                           "%s is not in communicator %" PRIu64
                           ", or has freed it",
                           member_label(member).text, call->communicator);
    if (vote->turn == 0)
        vote->turn = call->turn;
    if (call->turn != vote->turn && call->turn != vote->told)
        return error_raise(HOOP_E_ABORTED,
                           "turn %" PRIu64 " was asked for, but that of the "
                           "others is %" PRIu64,
                           call->turn, vote->turn);
    *out_vote = vote;
    return HOOP_OK;
}

enum hoop_status
vote_recover(struct job *job, const struct vote_recovered_outcome *former)
{
    const struct cluster_vote_outcome *outcome = &former->outcome;
    const uint64_t communicator = former->key.communicator;
    struct group *group =
        communicator ? group_find_formed(job, communicator) : NULL;

    if ((communicator && !group) || !former->told || former->told == UINT64_MAX)
        return error_raise(HOOP_E_DATA_LOSS, "an outcome is of no vote");

    struct vote *vote = vote_create(job, &former->key, group);

    if (outcome->n_ranks > vote->n_voters) {
        HASH_DEL(job->votes, vote);
        vote_free(vote);
        return error_raise(HOOP_E_DATA_LOSS, "an outcome has too many ranks");
    }
    vote->told = former->told;
    vote->turn = former->told + 1;
    vote->outcome = *outcome;
    vote->outcome.ranks = vote->ranks;
    memcpy(vote->ranks, outcome->ranks,
           outcome->n_ranks * sizeof(*outcome->ranks));
    return HOOP_OK;
}

/* Return the outcome with its ranks copied into the action list. */

static struct cluster_vote_outcome
vote_outcome_copy(struct cluster *cluster, const struct vote *vote)
{
    struct cluster_vote_outcome outcome = vote->outcome;
    uint32_t *ranks = action_list_alloc(&cluster->action_list, outcome.n_ranks,
                                        sizeof(*ranks));

    memcpy(ranks, vote->ranks, outcome.n_ranks * sizeof(*ranks));
    outcome.ranks = ranks;
    return outcome;
}

static void
vote_outcome_reply(struct cluster *cluster,
                   const struct cluster_vote_outcome *outcome,
                   struct cluster_reply *reply)
{
    if (outcome->status != HOOP_OK) {
        action_list_fail_reply(
            &cluster->action_list, reply, outcome->status,
            "the %u survivors cannot form a communicator: the job "
            "has as many as the coordinator keeps",
            outcome->n_ranks);
        return;
    }
    reply->kind = CLUSTER_REPLY_VOTE_OUTCOME;
    reply->outcome = *outcome;
}

static void
shrink_log(struct cluster *cluster, const struct vote *vote)
{
    const uint64_t former = vote->key.communicator;
    struct text_buffer of = {.text = ""};

    if (former)
        text_buffer_append(&of, "communicator @%" PRIu64 " of ", former);
    action_list_add_notice(
        &cluster->action_list,
        &(struct cluster_log_notice){.kind = CLUSTER_NOTICE_SHRUNK,
                                     .job = job_public_name(vote->job),
                                     .epoch = vote->job->world.epoch,
                                     .rank = CLUSTER_RANK_ANY},
        "%sjob \"%s\" has shrunk from %u to %u %s, communicator @%" PRIu64,
        of.text, job_public_name(vote->job), vote->n_voters,
        vote->outcome.n_ranks, vote->outcome.n_ranks == 1 ? "rank" : "ranks",
        vote->outcome.communicator);
}

/* Create the new communicator of the survivors, in the order of the old one. */
static void
survivors_create_group(struct cluster *cluster, struct vote *vote)
{
    struct cluster_vote_outcome *outcome = &vote->outcome;
    const struct cluster_group_slot_call call = {.ranks = vote->ranks,
                                                 .n_ranks = outcome->n_ranks};
    uint64_t *numbers = memory_calloc(outcome->n_ranks, sizeof(*numbers));
    struct group *group = NULL;
    uint32_t n_numbers = 0;

    for (uint32_t i = 0; i < vote->n_voters; i++) {
        if (voter_is_expected(&vote->slots[i]))
            numbers[n_numbers++] = vote->slots[i].number;
    }
    outcome->status = group_create_joined(vote->job, &call, &group);
    if (outcome->status == HOOP_OK) {
        group_slots_mark_taken(group, numbers);
        outcome->communicator = group->shown.communicator;
        journal_write_job(cluster, vote->job);
        journal_write_group(cluster, group);
        shrink_log(cluster, vote);
    }
    free(numbers);
}

static void
vote_outcome_compute(struct cluster *cluster, struct vote *vote)
{
    struct cluster_vote_outcome *outcome = &vote->outcome;

    *outcome = (struct cluster_vote_outcome){
        .flags = UINT64_MAX,
        .least = UINT64_MAX,
        .ranks = vote->ranks,
    };
    for (uint32_t i = 0; i < vote->n_voters; i++) {
        const struct voter *voter = &vote->slots[i];

        if (!voter_is_expected(voter))
            continue;
        outcome->flags &= voter->flags;
        if (voter->least < outcome->least)
            outcome->least = voter->least;
        vote->ranks[outcome->n_ranks++] = voter->member->rank;
    }
    outcome->membership_epoch = vote->job->world.membership_epoch;
    if (vote->key.kind == CLUSTER_VOTE_SHRINK)
        survivors_create_group(cluster, vote);
}

static bool
vote_is_complete(const struct vote *vote)
{
    uint32_t n_come = 0;

    for (uint32_t i = 0; i < vote->n_voters; i++) {
        if (!voter_is_expected(&vote->slots[i]))
            continue;
        if (!vote->slots[i].has_reported)
            return false;
        n_come++;
    }
    return n_come > 0;
}

/* Fail the parked call of a member that has ended or left the communicator. */
static void
ended_voter_refuse(struct cluster *cluster, struct voter *voter)
{
    const struct member *member = voter->member;
    const bool is_active = member->state == CLUSTER_MEMBER_ACTIVE;

    action_list_fail_reply(
        &cluster->action_list, waiter_end_with_reply(cluster, voter->waiter),
        member_end_status(member), "%s %s", member_label(member).text,
        is_active ? "has freed the communicator"
                  : member_end_text(member).text);
}

static void
vote_decide(struct cluster *cluster, struct vote *vote)
{
    vote_outcome_compute(cluster, vote);
    vote->told = vote->turn++;
    journal_write_vote(cluster, vote);

    const struct cluster_vote_outcome outcome =
        vote_outcome_copy(cluster, vote);

    for (uint32_t i = 0; i < vote->n_voters; i++) {
        struct voter *voter = &vote->slots[i];

        voter->has_reported = false;
        if (voter->waiter)
            vote_outcome_reply(cluster, &outcome,
                               waiter_end_with_reply(cluster, voter->waiter));
    }
}

static void
vote_decide_if_complete(struct cluster *cluster, struct vote *vote)
{
    for (uint32_t i = 0; i < vote->n_voters; i++) {
        struct voter *voter = &vote->slots[i];

        if (voter_is_expected(voter))
            continue;
        voter->has_reported = false;
        if (voter->waiter)
            ended_voter_refuse(cluster, voter);
    }
    if (vote_is_complete(vote))
        vote_decide(cluster, vote);
}

static enum hoop_status
vote_call_check(const struct cluster_vote_call *call)
{
    if (call->turn == 0 || call->turn == UINT64_MAX)
        return error_raise(HOOP_E_INVALID, "turns are counted from 1");
    if (call->kind < CLUSTER_VOTE_AGREE || call->kind > CLUSTER_VOTE_GROW)
        return error_raise(HOOP_E_INVALID, "there is no vote of kind %u",
                           call->kind);
    return HOOP_OK;
}

/* Return the vote of this kind on the communicator of call, or NULL. */
static struct vote *
vote_find_by_kind(const struct job *job,
                  const struct cluster_vote_call *call,
                  uint64_t kind)
{
    const struct vote_key key = {call->communicator, kind};
    struct vote *vote = NULL;

    HASH_FIND(hh, job->votes, &key, sizeof(key), vote);
    return vote;
}

/* A shrink of the communicator fails the calls that wait for it to grow, so
 * that their members can shrink it too. */
static void
grow_vote_fail(struct cluster *cluster,
               const struct member *member,
               const struct cluster_vote_call *call)
{
    struct vote *growth =
        vote_find_by_kind(member->job, call, CLUSTER_VOTE_GROW);

    for (uint32_t i = 0; growth && i < growth->n_voters; i++) {
        struct voter *voter = &growth->slots[i];

        voter->has_reported = false;
        if (voter->waiter)
            action_list_fail_reply(
                &cluster->action_list,
                waiter_end_with_reply(cluster, voter->waiter), HOOP_E_ABORTED,
                "%s shrinks the communicator", member_label(member).text);
    }
}

/* Likewise a call to grow fails while another member shrinks the
 * communicator. */
static enum hoop_status
grow_vote_check_no_shrink(const struct member *member,
                          const struct cluster_vote_call *call)
{
    const struct vote *shrink =
        vote_find_by_kind(member->job, call, CLUSTER_VOTE_SHRINK);

    for (uint32_t i = 0; shrink && i < shrink->n_voters; i++) {
        const struct voter *voter = &shrink->slots[i];

        if (voter->member != member && voter->has_reported &&
            voter_is_expected(voter))
            return error_raise(HOOP_E_ABORTED, "%s shrinks the communicator",
                               member_label(voter->member).text);
    }
    return HOOP_OK;
}

static void
voter_add_call(struct cluster *cluster,
               struct voter *voter,
               const struct cluster_vote_call *call)
{
    if (voter->waiter)
        action_list_fail_reply(&cluster->action_list,
                               waiter_end_with_reply(cluster, voter->waiter),
                               HOOP_E_CANCELLED, "the same call came again");
    if (call->turn != voter->vote->turn)
        return;
    voter->has_reported = true;
    voter->flags = call->flags;
    voter->least = call->least;
    voter->number = call->number;
    vote_decide_if_complete(cluster, voter->vote);
}

/* Answer again: the reply was lost, or the member gave up and now asks with
 * another number. */
static void
vote_outcome_reply_again(struct cluster *cluster,
                         const struct voter *voter,
                         const struct cluster_event *event)
{
    const struct vote *vote = voter->vote;
    const struct cluster_vote_outcome outcome =
        vote_outcome_copy(cluster, vote);
    const struct group *group =
        outcome.communicator
            ? group_find_formed(vote->job, outcome.communicator)
            : NULL;

    if (group)
        group_slot_update_join_number(cluster, group, voter->member,
                                      event->vote.number);
    vote_outcome_reply(
        cluster, &outcome,
        action_list_add_reply(&cluster->action_list, event->ticket));
}

enum hoop_status
vote_handle_call(struct cluster *cluster,
                 struct job *job,
                 const struct cluster_event *event)
{
    const struct cluster_vote_call *call = &event->vote;
    struct vote *vote = NULL;
    struct member *member = NULL;
    enum hoop_status status =
        job_find_active_member(job, &call->member, &member);

    if (status == HOOP_OK)
        status = vote_call_check(call);
    if (status == HOOP_OK && call->kind == CLUSTER_VOTE_GROW)
        status = grow_vote_check_no_shrink(member, call);
    if (status == HOOP_OK)
        status = vote_find_or_create(job, member, call, &vote);
    if (status != HOOP_OK)
        return error_pass(status);

    struct voter *voter = vote_find_voter(vote, member);

    /* The member has called again over another connection, and its older call
     * is read last. */
    if (voter->waiter && call->number < voter->number)
        return error_raise(HOOP_E_CANCELLED, "a later call has come already");
    if (call->kind == CLUSTER_VOTE_SHRINK && call->turn == vote->turn)
        grow_vote_fail(cluster, member, call);
    voter_add_call(cluster, voter, call);
    if (vote->told == call->turn) {
        vote_outcome_reply_again(cluster, voter, event);
        return HOOP_OK;
    }
    status = waiter_park(cluster, job, event, &voter->waiter);
    if (status != HOOP_OK) {
        voter->has_reported = false;
        return error_pass(status);
    }
    voter->waiter->voter = voter;
    return HOOP_OK;
}

/* Return title and "rank 2 (a:7), rank 3 (b:9) and 5 others". */
static struct text_buffer
missing_voters_describe(const struct vote *vote, const char *title)
{
    struct text_buffer text_buffer = {0};
    uint32_t n_missing = 0;

    for (uint32_t i = 0; i < vote->n_voters; i++) {
        const struct voter *voter = &vote->slots[i];

        if (!voter_is_expected(voter) || voter->has_reported)
            continue;
        if (n_missing++ < MISSING_NAMED_VOTERS_MAX)
            text_buffer_append(&text_buffer, "%s%s",
                               n_missing > 1 ? ", " : title,
                               member_label(voter->member).text);
    }
    if (n_missing > MISSING_NAMED_VOTERS_MAX)
        text_buffer_append(&text_buffer, " and %u others",
                           n_missing - MISSING_NAMED_VOTERS_MAX);
    return text_buffer;
}

/* Return whether the voter has a parked call with this number. */
static bool
voter_is_waiting(const struct voter *voter, uint64_t number)
{
    return voter && voter->waiter && voter->has_reported &&
           (voter->number == number || number == CLUSTER_ANY_CALL_NUMBER);
}

/* Return the voter whose parked call belongs to member, or NULL. Only the
 * connection on which the member spoke last is searched: searching all votes
 * for each missing member of each waiting call would take too long. */
static const struct voter *
voter_find_waiting(const struct cluster *cluster, const struct member *member)
{
    const struct waiter *waiter = waiters_of_client(cluster, member->client);

    while (waiter &&
           (waiter->kind != WAITER_VOTE || waiter->voter->member != member))
        waiter = waiter->next;
    return waiter ? waiter->voter : NULL;
}

/* Add the first member that is missing in vote but waits in another vote. */
static void
other_vote_describe(struct text_buffer *text_buffer,
                    const struct cluster *cluster,
                    const struct vote *vote)
{
    const struct voter *elsewhere = NULL;

    for (uint32_t i = 0; !elsewhere && i < vote->n_voters; i++) {
        const struct voter *voter = &vote->slots[i];

        if (voter_is_expected(voter) && !voter->has_reported)
            elsewhere = voter_find_waiting(cluster, voter->member);
    }
    if (elsewhere)
        text_buffer_append(text_buffer, "; %s waits in %s",
                           member_label(elsewhere->member).text,
                           vote_call_names[elsewhere->vote->key.kind]);
}

void
vote_on_call_deadline(struct cluster *cluster, struct waiter *waiter)
{
    struct voter *voter = waiter->voter;
    const struct vote *vote = voter->vote;
    struct text_buffer missing =
        missing_voters_describe(vote, ": not asked for by ");

    other_vote_describe(&missing, cluster, vote);
    voter->has_reported = false;
    action_list_fail_reply(
        &cluster->action_list, waiter_end_with_reply(cluster, waiter),
        HOOP_E_TIMEOUT,
        "%s: the survivors of %u ranks have not come together before "
        "the deadline%s",
        vote_call_names[vote->key.kind], vote->n_voters, missing.text);
}

bool
votes_missing_members(const struct member *member,
                      uint64_t number,
                      struct cluster_missing_members *out_pending,
                      struct text_buffer *out_missing)
{
    struct vote *vote = member->job->votes;

    while (vote && !voter_is_waiting(vote_find_voter(vote, member), number))
        vote = vote->hh.next;
    if (!vote)
        return false;
    *out_pending = (struct cluster_missing_members){
        .call = vote_call_names[vote->key.kind],
        .since_ns = vote_find_voter(vote, member)->waiter->parked_ns,
        .missing_rank = CLUSTER_RANK_ANY,
    };
    for (uint32_t i = 0; i < vote->n_voters; i++) {
        const struct voter *voter = &vote->slots[i];

        if (voter_is_expected(voter) && !voter->has_reported &&
            out_pending->missing_rank == CLUSTER_RANK_ANY)
            out_pending->missing_rank = voter->member->rank;

        out_pending->n_ranks += voter_is_expected(voter);
        out_pending->n_present_ranks +=
            voter_is_expected(voter) && voter->has_reported;
    }
    *out_missing = missing_voters_describe(vote, "");
    return true;
}

void
votes_remove_member(struct cluster *cluster, const struct member *member)
{
    struct vote *vote = member->job->votes;

    while (vote) {
        struct vote *next = vote->hh.next;

        if (vote_find_voter(vote, member))
            vote_decide_if_complete(cluster, vote);
        vote = next;
    }
}

void
votes_withdraw_call(struct cluster *cluster,
                    const struct member *member,
                    uint64_t number)
{
    for (struct vote *vote = member->job->votes; vote; vote = vote->hh.next) {
        struct voter *voter = vote_find_voter(vote, member);

        if (!voter || !voter->has_reported || voter->number != number)
            continue;
        voter->has_reported = false;
        if (voter->waiter)
            action_list_fail_reply(
                &cluster->action_list,
                waiter_end_with_reply(cluster, voter->waiter), HOOP_E_CANCELLED,
                "the call has been taken back");
    }
}

void
votes_remove_of_group(struct cluster *cluster, const struct group *group)
{
    struct vote *vote = group->job->votes;

    while (vote) {
        struct vote *next = vote->hh.next;

        if (vote->group == group) {
            vote_decide_if_complete(cluster, vote);
            journal_erase_vote(cluster, vote);
            HASH_DEL(group->job->votes, vote);
            vote_free(vote);
        }
        vote = next;
    }
}

void
votes_destroy(struct job *job)
{
    struct vote *vote = job->votes;

    HASH_CLEAR(hh, job->votes);
    while (vote) {
        struct vote *next = vote->hh.next;

        vote_free(vote);
        vote = next;
    }
}
