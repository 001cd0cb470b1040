/*
 * session/group_client.c - the coordinator's view of a session's communicators
 *
 * A join whose answer was lost may have succeeded at the coordinator. So the
 * client leaves its number whenever a join fails.
 */

#include "session/group_client.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "rpc/messages/group_messages.h"
#include "rpc/messages/rendezvous_messages.h"
#include "rpc/method.h"
#include "session/comm.h"
#include "wire/pack.h"

enum {
    GROUP_LEAVE_TIMEOUT_MS = 5000,   /* of one call */
    MISSING_QUERY_TIMEOUT_MS = 1000, /* of one call */
    WHOLE_TIMEOUT_TOLERANCE_MS = 1000,
    GROUP_LEAVE_RETRY_MS = 1000,
    SINGLE_RANK_ID_SHIFT = 40,
};

/* Ids of communicators of one rank, which the coordinator does not know: this
 * bit, the rank and the membership's number. */
static const uint64_t SINGLE_RANK_ID_FLAG = 1ULL << 63;

STAILQ_HEAD(group_membership_list, group_membership);

struct group_client {
    struct group_client_options options;
    struct member_request self;
    pthread_mutex_t lock;
    uint64_t number; /* the last one drawn; guarded by lock */
    /* leaves not yet sent; guarded by lock */
    struct group_membership_list unsent_leaves;
    /* Used by the loop's thread. */
    struct group_membership_list
        unanswered_leaves; /* leaves sent, not answered yet */
    struct loop_timer *retry;
};

static void
leave_requests_send(void *owner);

/* A call that waits for other members gives notice, on its own thread, of whom
 * it waits for. */
struct group_client_wait {
    struct group_client *group_client;
    struct wait_notice notice;
    uint64_t number;
    const char *what; /* what the others have to do; static */
    uint64_t deadline_ns;
};

/* Send what pack holds and wait for the answer, as rpc_client_call_wait(). */
static enum hoop_status
group_client_call_packed(struct group_client *group_client,
                         struct rpc_call call,
                         struct pack *pack,
                         uint8_t **out_body,
                         size_t *out_n_body)
{
    CLEANUP(free) uint8_t *bytes = NULL;

    enum hoop_status status = pack_take(pack, &bytes, &call.body.n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    call.body.bytes = bytes;
    status = rpc_client_call_wait(group_client->options.client, &call, out_body,
                                  out_n_body);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* While a call waits, ask the coordinator which members are missing. */

static enum hoop_status
missing_members_query(const struct group_client_wait *wait,
                      struct group_awaited_reply *out_reply)
{
    const int left_ms = clock_left_ms(wait->deadline_ns);
    const struct group_awaited_request request = {
        .member = wait->group_client->self,
        .number = wait->number,
    };
    const struct rpc_call call = {
        .method = method_by_id(METHOD_GROUPS_AWAITED)->name,
        .timeout_ms = left_ms > 0 && left_ms < MISSING_QUERY_TIMEOUT_MS
                          ? (uint64_t)left_ms
                          : MISSING_QUERY_TIMEOUT_MS,
    };
    CLEANUP(pack_deinit) struct pack pack = {0};
    CLEANUP(free) uint8_t *body = NULL;
    size_t n_body = 0;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    group_awaited_request_encode(&request, &pack);
    enum hoop_status status = group_client_call_packed(wait->group_client, call,
                                                       &pack, &body, &n_body);
    if (status == HOOP_OK)
        status = group_awaited_reply_decode((struct message_span){body, n_body},
                                            out_reply);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* An older coordinator does not say who is missing. */
static enum hoop_status
group_wait_notice_on_due(void *owner)
{
    struct group_client_wait *wait = owner;
    struct group_awaited_reply reply;
    char text[LIMIT_ERROR_TEXT];

    const enum hoop_status status = missing_members_query(wait, &reply);
    if (status == HOOP_OK)
        snprintf(text, sizeof(text),
                 "waiting for %s to %s, too; %u of %u are here", reply.missing,
                 wait->what, reply.n_present_ranks, reply.n_ranks);
    else if (status == HOOP_E_UNIMPLEMENTED)
        snprintf(text, sizeof(text), "waiting for others to %s, too",
                 wait->what);
    else if (status == HOOP_E_UNAVAILABLE || status == HOOP_E_TIMEOUT)
        snprintf(text, sizeof(text), "waiting for others to %s, too; %.700s",
                 wait->what, error_text());
    else
        text[0] = '\0'; /* All have come, or the call fails now. */
    if (text[0])
        wait_notice_log(&wait->notice, text);
    else
        wait_notice_postpone(&wait->notice);
    return status;
}

/* The call was interrupted: withdraw this rank's request before anybody else
 * can learn of the interruption. */
static void
group_wait_on_interrupt(void *owner)
{
    const struct group_client_wait *wait = owner;
    struct group_membership *group_membership =
        calloc(1, sizeof(*group_membership));

    if (!group_membership)
        return;
    group_membership->number = wait->number;
    group_membership->is_join_withdrawn = true;
    group_client_leave(wait->group_client, group_membership);
}

static int
group_wait_notice_due_ms(const void *owner)
{
    const struct group_client_wait *wait = owner;

    return clock_is_past(wait->deadline_ns)
               ? -1
               : wait_notice_left_ms(&wait->notice);
}

static void
group_wait_begin_notices(struct group_client_wait *wait,
                         struct rpc_call *call,
                         struct group_client *group_client)
{
    const struct config *config = group_client->options.config;
    /* The timeout is smaller than the setting by what the call has used up. */
    const bool is_whole =
        call->timeout_ms + WHOLE_TIMEOUT_TOLERANCE_MS > config->op_timeout_ms;

    wait->group_client = group_client;
    wait->deadline_ns = clock_deadline_ns(call->timeout_ms);
    wait_notice_begin(&wait->notice, config->wait_notice_ms,
                      is_whole ? "HOOP_TIMEOUT" : "the call's deadline",
                      is_whole ? config->op_timeout_ms : call->timeout_ms);
    call->due_ms = group_wait_notice_due_ms;
    call->on_due = group_wait_notice_on_due;
    call->on_interrupt = group_wait_on_interrupt;
    call->owner = wait;
}

/* Join a communicator. */

static enum hoop_status
group_join_call(struct group_client *group_client,
                const struct group_join_request *request,
                uint64_t timeout_ms,
                uint64_t *out_id)
{
    CLEANUP(pack_deinit) struct pack pack = {0};
    CLEANUP(free) uint8_t *body = NULL;
    struct rpc_call call = {
        .method = method_by_id(METHOD_GROUPS_JOIN)->name,
        .timeout_ms = timeout_ms,
    };
    struct group_client_wait wait = {
        .number = request->number,
        .what = "create the same communicator",
    };
    struct group_join_reply reply;
    size_t n_body = 0;

    group_wait_begin_notices(&wait, &call, group_client);

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    group_join_request_encode(request, &pack);
    enum hoop_status status =
        group_client_call_packed(group_client, call, &pack, &body, &n_body);
    /* The coordinator has no status that says more exactly that a member is
     * lost. */
    if (status == HOOP_E_ABORTED)
        return error_raise(HOOP_E_PEER_LOST, "%s", error_text());
    if (status != HOOP_OK)
        return error_pass(status);
    status =
        group_join_reply_decode((struct message_span){body, n_body}, &reply);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_id = reply.communicator + COMM_ID_FIRST;
    return HOOP_OK;
}

static uint64_t
group_membership_next_number(struct group_client *group_client)
{
    pthread_mutex_lock(&group_client->lock);
    const uint64_t number = ++group_client->number;
    pthread_mutex_unlock(&group_client->lock);
    return number;
}

enum hoop_status
group_client_join(struct group_client *group_client,
                  const struct rank_list *list,
                  uint64_t timeout_ms,
                  struct group_membership **out_registration)
{
    struct group_membership *group_membership =
        calloc(1, sizeof(*group_membership));

    if (!group_membership)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a communicator");
    group_membership->number = group_membership_next_number(group_client);
    if (list->n_ranks == 1) {
        group_membership->id = SINGLE_RANK_ID_FLAG |
                               (uint64_t)list->ranks[0]
                                   << SINGLE_RANK_ID_SHIFT |
                               group_membership->number;
        *out_registration = group_membership;
        return HOOP_OK;
    }

    const struct group_join_request request = {
        .member = group_client->self,
        .number = group_membership->number,
        .n_ranks = list->n_ranks,
        .ranks = (uint32_t *)(uintptr_t)list->ranks, /* not written */
    };
    const enum hoop_status status = group_join_call(
        group_client, &request, timeout_ms, &group_membership->id);
    if (status != HOOP_OK) {
        group_client_leave(group_client, group_membership);
        return error_pass(status);
    }
    *out_registration = group_membership;
    return HOOP_OK;
}

/* Agree with the other members. */

static enum hoop_status
group_agree_call(struct group_client *group_client,
                 const struct group_agree_request *request,
                 uint64_t timeout_ms,
                 struct group_agree_reply *out_reply)
{
    CLEANUP(pack_deinit) struct pack pack = {0};
    CLEANUP(free) uint8_t *body = NULL;
    static const char *const whats[] = {
        [GROUP_AGREE] = "agree",
        [GROUP_SHRINK] = "shrink the communicator",
        [GROUP_CONFIRM] = "open the shrunk communicator",
        [GROUP_GROW] = "grow the communicator",
    };
    struct rpc_call call = {
        .method = method_by_id(METHOD_GROUPS_AGREE)->name,
        .timeout_ms = timeout_ms,
    };
    struct group_client_wait wait = {
        .number = request->number,
        .what = whats[request->kind],
    };
    size_t n_body = 0;

    group_wait_begin_notices(&wait, &call, group_client);

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    group_agree_request_encode(request, &pack);
    enum hoop_status status =
        group_client_call_packed(group_client, call, &pack, &body, &n_body);
    if (status == HOOP_OK)
        status = group_agree_reply_decode((struct message_span){body, n_body},
                                          out_reply);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
group_client_agree(struct group_client *group_client,
                   const struct group_client_proposal *say,
                   uint64_t timeout_ms,
                   struct group_agree_reply *out_reply,
                   struct group_membership **out_registration)
{
    struct group_membership *group_membership =
        calloc(1, sizeof(*group_membership));

    if (!group_membership)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for an agreement");
    group_membership->number = group_membership_next_number(group_client);

    const struct group_agree_request request = {
        .member = group_client->self,
        .communicator = say->comm - COMM_ID_FIRST,
        .kind = say->kind,
        .turn = say->turn,
        .flags = say->flags,
        .least = say->least,
        .number = group_membership->number,
    };
    const enum hoop_status status =
        group_agree_call(group_client, &request, timeout_ms, out_reply);
    /* Withdraw the request: the coordinator does not learn of an interruption
     * in any other way. */
    if (status == HOOP_E_CANCELLED ||
        (status != HOOP_OK && say->kind == GROUP_SHRINK))
        group_client_leave(group_client, STEAL(group_membership));
    if (say->kind != GROUP_SHRINK)
        free(STEAL(group_membership));
    if (status != HOOP_OK)
        return error_pass(status);
    if (!group_membership)
        return HOOP_OK;
    out_reply->communicator += COMM_ID_FIRST;
    group_membership->id = out_reply->communicator;
    *out_registration = group_membership;
    return HOOP_OK;
}

void
group_client_report_lost(struct group_client *group_client,
                         uint32_t rank,
                         uint64_t timeout_ms)
{
    const struct report_request request = {
        .reporter = group_client->self,
        .rank = rank,
        .incarnation = group_client->options.roster->members[rank].incarnation,
        .reason = "found lost while its communicator was shrunk",
    };
    CLEANUP(pack_deinit) struct pack pack = {0};
    const struct rpc_call call = {
        .method = method_by_id(METHOD_RENDEZVOUS_REPORT)->name,
        .timeout_ms = timeout_ms,
    };

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    report_request_encode(&request, &pack);
    if (group_client_call_packed(group_client, call, &pack, NULL, NULL) !=
        HOOP_OK)
        log_debug("session", "a report was not heard: %s", error_text());
}

/* Leave communicators, as often as it takes. */

void
group_client_leave(struct group_client *group_client,
                   struct group_membership *group_membership)
{
    if (!group_membership)
        return;
    if (group_membership->id & SINGLE_RANK_ID_FLAG) {
        free(group_membership);
        return;
    }
    pthread_mutex_lock(&group_client->lock);
    const bool is_first = STAILQ_EMPTY(&group_client->unsent_leaves);
    STAILQ_INSERT_TAIL(&group_client->unsent_leaves, group_membership, link);
    pthread_mutex_unlock(&group_client->lock);
    if (is_first && loop_post(group_client->options.loop, leave_requests_send,
                              group_client) != HOOP_OK)
        log_debug("session", "leaving a communicator later: %s", error_text());
}

static void
membership_list_clear(struct group_membership_list *list)
{
    struct group_membership *group_membership;

    while ((group_membership = STAILQ_FIRST(list))) {
        STAILQ_REMOVE_HEAD(list, link);
        free(group_membership);
    }
}

/* Put the unanswered leaves back at the head of the queue, and send them
 * later. */
static void
leave_requests_retry(struct group_client *group_client, const char *why)
{
    log_debug("session", "leaving communicators in %d ms: %s",
              GROUP_LEAVE_RETRY_MS, why);
    pthread_mutex_lock(&group_client->lock);
    STAILQ_CONCAT(&group_client->unanswered_leaves,
                  &group_client->unsent_leaves);
    STAILQ_CONCAT(&group_client->unsent_leaves,
                  &group_client->unanswered_leaves);
    pthread_mutex_unlock(&group_client->lock);
    loop_timer_start(group_client->retry, GROUP_LEAVE_RETRY_MS);
}

static void
leave_requests_on_answer(void *owner, const struct rpc_answer *answer)
{
    struct group_client *group_client = owner;

    if (answer->status == HOOP_E_TIMEOUT ||
        answer->status == HOOP_E_UNAVAILABLE ||
        answer->status == HOOP_E_EXHAUSTED) {
        leave_requests_retry(group_client, answer->message);
        return;
    }
    /* Any other answer is final: such a membership has left all
     * communicators. */
    membership_list_clear(&group_client->unanswered_leaves);
    if (answer->status != HOOP_E_CANCELLED)
        leave_requests_send(group_client);
}

/* Move the first leaves of the queue to those being sent. One request holds
 * only leaves of one kind, withdrawn or not. */
static void
leave_requests_dequeue(struct group_client *group_client,
                       struct group_leave_request *request)
{
    struct group_membership *group_membership;

    pthread_mutex_lock(&group_client->lock);
    while (request->n_numbers < LIMIT_GROUP_NUMBERS &&
           (group_membership = STAILQ_FIRST(&group_client->unsent_leaves)) &&
           (request->n_numbers == 0 || group_membership->is_join_withdrawn ==
                                           (request->is_withdrawal != 0))) {
        STAILQ_REMOVE_HEAD(&group_client->unsent_leaves, link);
        STAILQ_INSERT_TAIL(&group_client->unanswered_leaves, group_membership,
                           link);
        request->numbers[request->n_numbers++] = group_membership->number;
        request->is_withdrawal = group_membership->is_join_withdrawn;
    }
    pthread_mutex_unlock(&group_client->lock);
}

static enum hoop_status
leave_request_call(struct group_client *group_client,
                   const struct group_leave_request *request)
{
    CLEANUP(pack_deinit) struct pack pack = {0};
    CLEANUP(free) uint8_t *bytes = NULL;
    struct rpc_call call = {
        .method = method_by_id(METHOD_GROUPS_LEAVE)->name,
        .timeout_ms = GROUP_LEAVE_TIMEOUT_MS,
        .on_answer = leave_requests_on_answer,
        .owner = group_client,
    };

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    group_leave_request_encode(request, &pack);
    enum hoop_status status = pack_take(&pack, &bytes, &call.body.n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    call.body.bytes = bytes;
    status = rpc_client_call(group_client->options.client, &call, NULL);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* One call runs at a time. Leaves that come meanwhile go with the next one. */
static void
leave_requests_send(void *owner)
{
    struct group_client *group_client = owner;
    uint64_t numbers[LIMIT_GROUP_NUMBERS];
    struct group_leave_request request = {
        .member = group_client->self,
        .numbers = numbers,
    };

    if (!STAILQ_EMPTY(&group_client->unanswered_leaves))
        return;
    leave_requests_dequeue(group_client, &request);
    if (request.n_numbers > 0 &&
        leave_request_call(group_client, &request) != HOOP_OK)
        leave_requests_retry(group_client, error_text());
}

enum hoop_status
group_client_create(const struct group_client_options *options,
                    struct group_client **out_client)
{
    const struct roster *roster = options->roster;
    struct group_client *group_client = calloc(1, sizeof(*group_client));

    if (!group_client)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for the group client");
    group_client->options = *options;
    group_client->self = (struct member_request){
        .epoch = roster->epoch,
        .incarnation = roster->credential,
    };
    pthread_mutex_init(&group_client->lock, NULL);
    STAILQ_INIT(&group_client->unsent_leaves);
    STAILQ_INIT(&group_client->unanswered_leaves);

    const enum hoop_status status = loop_timer_create(
        options->loop, leave_requests_send, group_client, &group_client->retry);
    if (status != HOOP_OK) {
        group_client_destroy(group_client);
        return error_pass(status);
    }
    *out_client = group_client;
    return HOOP_OK;
}

void
group_client_destroy(struct group_client *group_client)
{
    if (!group_client)
        return;
    loop_cancel_posts(group_client->options.loop, group_client);
    loop_timer_destroy(group_client->retry);
    membership_list_clear(&group_client->unsent_leaves);
    membership_list_clear(&group_client->unanswered_leaves);
    pthread_mutex_destroy(&group_client->lock);
    free(group_client);
}
