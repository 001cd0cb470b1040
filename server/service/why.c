/* service/why.c - explains a job: from what the core knows to a verdict */

#include "service/why.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "core/event.h"
#include "rpc/messages/status_messages.h"
#include "service/reply_encode.h"
#include "wire/pack.h"

enum {
    /* A rank that waits for a silent one asks it twice a second. */
    HEARING_MS_MIN = 1500,
    /* Between two ranks that hear each other, so much may lie between the last
     * thing that one hears and the next that the other hears: a rank that waits
     * asks at each second check, which are 100 ms apart, and the answer takes a
     * round trip. */
    HEARING_MS_SPREAD = 300,
    /* What a rank tells of a shorter time says little. */
    RECENT_MS_MIN = 1000,
    /* Of so many ranks, those furthest behind, the texts of failures are sent:
     * those of all would not fit into a message. */
    WHY_FAILURES_MAX = 256,
    WHY_STACKS_MAX = 64, /* likewise */
};

static_assert(SNAPSHOT_MINUTE_MS == STATUS_MINUTE_MS, "ranks tell of a minute");

void
job_snapshot_deinit(struct job_snapshot *job)
{
    for (size_t i = 0; job->details && i < job->snapshot.n_ranks; i++)
        activity_details_deinit(&job->details[i]);
    free(job->details);
    free(job->ranks);
}

static enum snapshot_job_state
job_state_of(enum cluster_job_state state)
{
    switch (state) {
    case CLUSTER_JOB_FORMING:
        return SNAPSHOT_FORMING;
    case CLUSTER_JOB_RUNNING:
        return SNAPSHOT_RUNNING;
    case CLUSTER_JOB_ENDED:
        break;
    }
    return SNAPSHOT_ENDED;
}

static enum snapshot_rank_state
rank_state_of(enum cluster_member_state state)
{
    switch (state) {
    case CLUSTER_MEMBER_JOINING:
        return SNAPSHOT_JOINING;
    case CLUSTER_MEMBER_ACTIVE:
        return SNAPSHOT_ACTIVE;
    case CLUSTER_MEMBER_LEFT:
        return SNAPSHOT_LEFT;
    case CLUSTER_MEMBER_LOST:
        break;
    }
    return SNAPSHOT_LOST;
}

static struct snapshot_rank
rank_of_member(const struct cluster_member *member)
{
    return (struct snapshot_rank){
        .rank = member->rank,
        .pid = member->pid,
        .host = member->host,
        .state = rank_state_of(member->state),
        .reason = member->reason,
        .end_revision = member->lost_revision,
        .lost_ms = member->lost_ns / CLOCK_NS_PER_MS,
        .last_sign_ms = SNAPSHOT_NO_TIME,
        .call = {.text = "",
                 .communicator = "",
                 .awaited_rank = SNAPSHOT_NO_RANK,
                 .awaited_call = "",
                 .awaited_silence_ms = SNAPSHOT_NO_TIME,
                 .waits_for = ""},
        .finished = "",
        .failure = "",
        .process = {.where = ""},
        .stack = "",
        .held_up = {.rank = SNAPSHOT_NO_RANK},
        .waited = {.rank = SNAPSHOT_NO_RANK},
        .waiting = {.rank = SNAPSHOT_NO_RANK},
        .backlog_rank = SNAPSHOT_NO_RANK,
    };
}

/* What a rank told comes from outside: only known numbers are taken over. */
static void
rank_fill_details(const struct activity_details *from,
                  struct snapshot_rank *rank)
{
    struct snapshot_call *call = &rank->call;

    rank->finished = from->finished;
    rank->failure = from->failure;
    rank->stack = status_span_text(from->stack);
    if (from->failure_status != HOOP_OK)
        rank->failure_status = status_from_peer(from->failure_status);
    if (call->is_setup)
        return;
    call->communicator_id =
        from->communicator_id > 0 ? from->communicator_id - 1 : 0;
    call->awaited_rank = from->awaited_rank;
    if (from->awaited_doing <= AWAITED_IN_NO_CALL)
        call->awaited_doing = (enum snapshot_doing)from->awaited_doing;
    if (from->awaited_sign <= AWAITED_IS_SILENT)
        call->awaited_sign = (enum snapshot_sign)from->awaited_sign;
    call->awaited_call = from->awaited_call;
    call->awaited_silence_ms = from->awaited_silence_ms;
    call->n_done_bytes = from->n_done_bytes;
    call->n_bytes = from->n_bytes;
    /* A tag alone says nothing. */
    if (from->receive_tag > 0 && from->sent_tag > 0) {
        call->receive_tag = from->receive_tag;
        call->sent_tag = from->sent_tag;
    }
}

static void
rank_fill_activity(const struct cluster_member_activity *activity,
                   struct activity_details *details,
                   struct snapshot_rank *rank)
{
    const struct message_span span = {activity->details, activity->n_details};

    rank->was_asked = true;
    rank->has_answered = activity->silence[0] == '\0';
    rank->last_sign_ms = activity->last_sign_ms;
    if (!rank->has_answered)
        return;
    rank->call.text = activity->call;
    rank->call.communicator = activity->communicator;
    rank->call.number = activity->number;
    rank->call.age_ms = activity->age_ms;
    rank->call.waits_for = activity->waits_for;
    rank->call.is_setup = activity->missing_rank != CLUSTER_RANK_ANY;
    rank->call.awaited_rank = activity->missing_rank;
    /* A rank that tells nonsense is described without it. */
    if (span.n_bytes > 0 && activity_details_decode(span, details) == HOOP_OK)
        rank_fill_details(details, rank);
}

/* Take over what rank `from` tells of the processes of its host. What a process
 * tells of itself counts more than what others see, except for its first
 * report being about itself. */
static void
processes_take_over(const struct job_snapshot *job, size_t from)
{
    const struct activity_details *details = &job->details[from];

    for (size_t i = 0; i < details->n_processes; i++) {
        const struct rank_process *seen = &details->processes[i];
        const bool is_own = seen->rank == job->ranks[from].rank;

        if (seen->rank >= job->snapshot.n_ranks)
            continue;
        struct snapshot_rank *rank = &job->ranks[seen->rank];
        /* A rank that has answered was not stopped when it did. */
        if (!is_own && (rank->has_answered || rank->process.state))
            continue;
        /* A thread that waits in a call polls or sleeps there, as its line
         * says. */
        if (is_own && rank->call.text[0] &&
            (seen->state == 'R' || seen->state == 'S'))
            continue;
        rank->process = (struct snapshot_process){
            .state = seen->state >= 'A' && seen->state <= 'z'
                         ? (char)seen->state
                         : '\0',
            .where = seen->where,
            .swapped_kib = seen->swapped_kib,
        };
    }
}

/* Keep the wait that took the larger share of its time. */
static void
wait_keep_larger(const struct snapshot_wait *wait, struct snapshot_wait *kept)
{
    if (snapshot_wait_is_longer(wait, kept))
        *kept = *wait;
}

/* The numbers come from a rank, and may be nonsense. */
static uint64_t
wait_bounded(uint64_t wait_ms, uint64_t span_ms)
{
    return wait_ms < span_ms ? wait_ms : span_ms;
}

/* Take over for whom rank `from` waited in a time. */
static void
wait_take_over(const struct job_snapshot *job,
               size_t from,
               const struct rank_wait *wait,
               uint64_t span_ms)
{
    const struct snapshot_wait waited = {
        wait->rank, wait_bounded(wait->wait_ms, span_ms), span_ms};
    const struct snapshot_wait held_up = {job->ranks[from].rank, waited.wait_ms,
                                          span_ms};

    if (wait->rank >= job->snapshot.n_ranks || wait->rank == from)
        return;
    wait_keep_larger(&waited, &job->ranks[from].waited);
    wait_keep_larger(&held_up, &job->ranks[wait->rank].held_up);
}

static void
waits_take_over(const struct job_snapshot *job, size_t from)
{
    const struct activity_details *details = &job->details[from];
    struct snapshot_rank *rank = &job->ranks[from];
    const uint64_t recent_ms = details->recent_ms < STATUS_MINUTE_MS
                                   ? details->recent_ms
                                   : STATUS_MINUTE_MS;

    for (size_t i = 0; i < details->n_waits; i++)
        wait_take_over(job, from, &details->waits[i], STATUS_MINUTE_MS);
    if (recent_ms >= RECENT_MS_MIN) {
        uint64_t waiting_ms = wait_bounded(details->moving_ms, recent_ms);

        for (size_t i = 0; i < details->n_recent_waits; i++) {
            wait_take_over(job, from, &details->recent_waits[i], recent_ms);
            waiting_ms +=
                wait_bounded(details->recent_waits[i].wait_ms, recent_ms);
        }
        rank->waiting = (struct snapshot_wait){
            rank->rank, wait_bounded(waiting_ms, recent_ms), recent_ms};
    }
    rank->backlog_rank = details->backlog_rank;
    rank->backlog_ms = details->backlog_ms;
}

/* Return whether the rank that rank `from` waits for, and does not hear, hears
 * rank `from`, which asks it for signs of life. It does if it has heard that one
 * after the silence had begun; it does not if it waits for that one in vain,
 * too. Either answer was made between the query and its arrival, which took
 * that of `from` answer_ms: the later the silence began and the earlier the
 * other one heard something, the less is certain. */
static enum snapshot_sign
is_heard_by_awaited(const struct job_snapshot *job,
                    size_t from,
                    uint64_t answer_ms)
{
    const uint32_t by = job->ranks[from].call.awaited_rank;
    const struct activity_details *details = &job->details[by];
    const uint64_t silence_ms = job->ranks[from].call.awaited_silence_ms;
    const uint64_t slack_ms = answer_ms + HEARING_MS_SPREAD;

    if (!job->ranks[by].has_answered || silence_ms == SNAPSHOT_NO_TIME)
        return SNAPSHOT_SIGN_UNKNOWN;
    for (size_t i = 0; i < details->n_askers; i++) {
        if (details->askers[i].rank == job->ranks[from].rank &&
            silence_ms > slack_ms &&
            details->askers[i].age_ms < silence_ms - slack_ms)
            return SNAPSHOT_LIVES;
    }
    const struct snapshot_call *back = &job->ranks[by].call;

    return silence_ms > HEARING_MS_MIN &&
                   back->awaited_rank == job->ranks[from].rank &&
                   back->awaited_sign == SNAPSHOT_IS_SILENT
               ? SNAPSHOT_IS_SILENT
               : SNAPSHOT_SIGN_UNKNOWN;
}

static void
hearing_fill(const struct job_snapshot *job,
             const struct cluster_member_activity *activities)
{
    for (size_t i = 0; i < job->snapshot.n_ranks; i++) {
        struct snapshot_call *call = &job->ranks[i].call;

        if (call->awaited_sign == SNAPSHOT_IS_SILENT &&
            call->awaited_rank < job->snapshot.n_ranks)
            call->awaited_hears =
                is_heard_by_awaited(job, i, activities[i].answer_ms);
    }
}

/* Take over what rank `from` tells of others. */
static void
job_take_over(const struct job_snapshot *job, size_t from)
{
    processes_take_over(job, from);
    waits_take_over(job, from);
}

enum hoop_status
job_snapshot_init(const struct cluster_job_detail *from,
                  struct job_snapshot *out_job)
{
    struct job_snapshot job = {
        .snapshot = {.state = job_state_of(from->line.state),
                     .size = from->line.size,
                     .has_formed = from->line.epoch > 0,
                     .n_members = from->line.n_members,
                     .n_lost = from->line.n_lost,
                     .age_ms = from->line.age_ns / CLOCK_NS_PER_MS,
                     .missing = from->missing,
                     .n_ranks = from->n_members},
        .ranks = calloc(from->n_members + 1, sizeof(*job.ranks)),
        .details = calloc(from->n_members + 1, sizeof(*job.details)),
    };

    if (!job.ranks || !job.details) {
        job_snapshot_deinit(&job);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the snapshot");
    }
    for (size_t i = 0; i < from->n_members; i++) {
        job.ranks[i] = rank_of_member(&from->members[i]);
        if (from->activities)
            rank_fill_activity(&from->activities[i], &job.details[i],
                               &job.ranks[i]);
    }
    for (size_t i = 0; from->activities && i < from->n_members; i++)
        job_take_over(&job, i);
    if (from->activities)
        hearing_fill(&job, from->activities);
    job.snapshot.ranks = job.ranks;
    *out_job = job;
    return HOOP_OK;
}

enum hoop_status
why_explain(const struct cluster_job_detail *job, struct verdict *out_verdict)
{
    CLEANUP(job_snapshot_deinit) struct job_snapshot seen = {0};
    const enum hoop_status status = job_snapshot_init(job, &seen);

    if (status != HOOP_OK)
        return error_pass(status);
    diagnosis_make(&seen.snapshot, out_verdict);
    return HOOP_OK;
}

static void
why_rank_write(const struct snapshot_rank *from, struct why_rank *to)
{
    *to = (struct why_rank){
        .last_sign_ms = from->last_sign_ms,
        .is_setup = from->call.is_setup,
        .communicator_id = from->call.communicator_id,
        .awaited_rank = from->call.awaited_rank,
        .awaited_doing = (uint32_t)from->call.awaited_doing,
        .awaited_sign = (uint32_t)from->call.awaited_sign,
        .awaited_silence_ms = from->call.awaited_silence_ms,
        .awaited_hears = (uint32_t)from->call.awaited_hears,
        .n_done_bytes = from->call.n_done_bytes,
        .n_bytes = from->call.n_bytes,
        .failure_status = (uint32_t)from->failure_status,
        .process_state = (uint32_t)from->process.state,
        .swapped_kib = from->process.swapped_kib,
        .held_up_ms = from->held_up.wait_ms,
        .held_up_rank = from->held_up.rank,
        .held_up_span_ms = from->held_up.span_ms,
        .lost_revision = from->end_revision,
    };
    snprintf(to->awaited_call, sizeof(to->awaited_call), "%s",
             from->call.awaited_call);
    snprintf(to->finished, sizeof(to->finished), "%s", from->finished);
    snprintf(to->where, sizeof(to->where), "%s", from->process.where);
}

/* What the reply lists. */
struct why_lists {
    struct encoded_job job;
    struct why_rank *ranks;
    uint32_t *order;
};

static void
why_lists_deinit_at(struct why_lists *lists)
{
    encoded_job_deinit(&lists->job);
    free(lists->ranks);
    free(lists->order);
}

static enum hoop_status
why_lists_init(const struct cluster_job_detail *job,
               struct why_lists *out_lists)
{
    out_lists->ranks = calloc(job->n_members + 1, sizeof(*out_lists->ranks));
    out_lists->order = calloc(job->n_members + 1, sizeof(*out_lists->order));
    if (!out_lists->ranks || !out_lists->order)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the reply");
    const enum hoop_status status = encoded_job_init(job, &out_lists->job);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static void
why_ranks_write(const struct snapshot *snapshot, struct why_lists *lists)
{
    for (size_t i = 0; i < snapshot->n_ranks; i++) {
        const uint32_t at = lists->order[i];
        struct why_rank *rank = &lists->ranks[at];

        why_rank_write(&snapshot->ranks[at], rank);
        if (i < WHY_FAILURES_MAX)
            snprintf(rank->failure, sizeof(rank->failure), "%s",
                     snapshot->ranks[at].failure);
        if (i < WHY_STACKS_MAX)
            rank->stack = (struct message_span){
                (const uint8_t *)snapshot->ranks[at].stack,
                strlen(snapshot->ranks[at].stack) + 1};
    }
}

enum hoop_status
why_encode(const struct cluster_job_detail *job, struct pack *pack)
{
    CLEANUP(job_snapshot_deinit) struct job_snapshot seen = {0};
    CLEANUP(why_lists_deinit) struct why_lists lists = {0};
    struct verdict verdict = {0};

    enum hoop_status status = job_snapshot_init(job, &seen);
    if (status == HOOP_OK)
        status = why_lists_init(job, &lists);
    if (status != HOOP_OK)
        return error_pass(status);
    diagnosis_make(&seen.snapshot, &verdict);
    diagnosis_order(&seen.snapshot, &verdict, lists.order);
    why_ranks_write(&seen.snapshot, &lists);
    struct why_reply reply = {
        .is_held_up = verdict.is_held_up,
        .n_culprits = verdict.n_culprits,
        .culprits = verdict.culprits,
        .job = lists.job.reply,
        .n_ranks = job->n_members,
        .ranks = lists.ranks,
        .n_order = job->n_members,
        .order = lists.order,
    };

    snprintf(reply.kind, sizeof(reply.kind), "%s", verdict.kind);
    memcpy(reply.sentence, verdict.sentence, sizeof(reply.sentence));
    memcpy(reply.advice, verdict.advice, sizeof(reply.advice));
    why_reply_encode(&reply, pack);
    return HOOP_OK;
}
