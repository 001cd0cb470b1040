/*
 * session/registrar.c - communicators of a session, as the coordinator knows
 * them
 *
 * A join whose answer was lost may have been granted all the same: whatever
 * goes wrong, its number is left.
 */

#include "session/registrar.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/wait_notice.h"
#include "rpc/messages/group_messages.h"
#include "rpc/messages/rendezvous_messages.h"
#include "rpc/method.h"
#include "session/comm.h"
#include "wire/pack.h"

enum {
    LEAVE_MS = 5000,   /* one call */
    AWAITED_MS = 1000, /* likewise */
    ROUND_MS = 1000,
    RETRY_MS = 1000,
    RANK_SHIFT = 40,
};

/* In ids of communicators of one rank, which the coordinator does not know,
 * followed by the rank and its number. */
static const uint64_t ID_ALONE = 1ULL << 63;

STAILQ_HEAD(registration_list, registration);

struct registrar {
    struct registrar_options options;
    struct member_request self;
    pthread_mutex_t lock;
    uint64_t number;                  /* the last one given, under the lock */
    struct registration_list parting; /* to be told, under the lock */
    /* The loop's. */
    struct registration_list told; /* not answered yet */
    struct loop_timer *retry;
};

static void
leaves_send(void *owner);

/* A call that waits for others says for whom, on its thread. */
struct registrar_wait {
    struct registrar *registrar;
    struct wait_notice notice;
    uint64_t number;
    const char *what; /* they are to do, too; static */
    uint64_t deadline_ns;
};

/* Ask what is packed, and wait for the answer: as rpc_client_call_wait(). */
static enum hoop_status
packed_ask(struct registrar *registrar,
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
    status = rpc_client_call_wait(registrar->options.client, &call, out_body,
                                  out_n_body);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* While a call waits. */

static enum hoop_status
awaited_ask(const struct registrar_wait *wait,
            struct group_awaited_reply *out_reply)
{
    const int left_ms = clock_left_ms(wait->deadline_ns);
    const struct group_awaited_request request = {
        .member = wait->registrar->self,
        .number = wait->number,
    };
    const struct rpc_call call = {
        .method = method_of(METHOD_GROUPS_AWAITED)->name,
        .timeout_ms = left_ms > 0 && left_ms < AWAITED_MS ? (uint64_t)left_ms
                                                          : AWAITED_MS,
    };
    CLEANUP(pack_deinit) struct pack pack = {0};
    CLEANUP(free) uint8_t *body = NULL;
    size_t n_body = 0;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    group_awaited_request_encode(&request, &pack);
    enum hoop_status status =
        packed_ask(wait->registrar, call, &pack, &body, &n_body);
    if (status == HOOP_OK)
        status = group_awaited_reply_decode((struct message_span){body, n_body},
                                            out_reply);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* An older coordinator names nobody. */
static enum hoop_status
wait_on_due(void *owner)
{
    struct registrar_wait *wait = owner;
    struct group_awaited_reply reply;
    char text[LIMIT_ERROR_TEXT];

    const enum hoop_status status = awaited_ask(wait, &reply);
    if (status == HOOP_OK)
        snprintf(text, sizeof(text),
                 "waiting for %s to %s, too; %u of %u are here", reply.missing,
                 wait->what, reply.n_here, reply.n_ranks);
    else if (status == HOOP_E_UNIMPLEMENTED)
        snprintf(text, sizeof(text), "waiting for others to %s, too",
                 wait->what);
    else if (status == HOOP_E_UNAVAILABLE || status == HOOP_E_TIMEOUT)
        snprintf(text, sizeof(text), "waiting for others to %s, too; %.700s",
                 wait->what, error_text());
    else
        text[0] = '\0'; /* They have all come, or the call fails now. */
    if (text[0])
        wait_notice_say(&wait->notice, text);
    else
        wait_notice_put_off(&wait->notice);
    return status;
}

/* Before anybody else hears that this rank waits no longer. */
static void
wait_on_interrupt(void *owner)
{
    const struct registrar_wait *wait = owner;
    struct registration *registration = calloc(1, sizeof(*registration));

    if (!registration)
        return;
    registration->number = wait->number;
    registration->is_withdrawn = true;
    registrar_leave(wait->registrar, registration);
}

static int
wait_due_ms(const void *owner)
{
    const struct registrar_wait *wait = owner;

    return clock_is_past(wait->deadline_ns)
               ? -1
               : wait_notice_left_ms(&wait->notice);
}

static void
wait_begin(struct registrar_wait *wait,
           struct rpc_call *call,
           struct registrar *registrar)
{
    const struct registrar_options *options = &registrar->options;
    /* A little of it has passed. */
    const bool is_whole = call->timeout_ms + ROUND_MS > options->timeout_ms;

    wait->registrar = registrar;
    wait->deadline_ns = clock_deadline_ns(call->timeout_ms);
    wait_notice_begin(&wait->notice, options->wait_notice_ms,
                      is_whole ? "HOOP_TIMEOUT" : "the call's deadline",
                      is_whole ? options->timeout_ms : call->timeout_ms);
    call->due_ms = wait_due_ms;
    call->on_due = wait_on_due;
    call->on_interrupt = wait_on_interrupt;
    call->owner = wait;
}

/* A join. */

static enum hoop_status
join_ask(struct registrar *registrar,
         const struct group_join_request *request,
         uint64_t timeout_ms,
         uint64_t *out_id)
{
    CLEANUP(pack_deinit) struct pack pack = {0};
    CLEANUP(free) uint8_t *body = NULL;
    struct rpc_call call = {
        .method = method_of(METHOD_GROUPS_JOIN)->name,
        .timeout_ms = timeout_ms,
    };
    struct registrar_wait wait = {
        .number = request->number,
        .what = "create the same communicator",
    };
    struct group_join_reply reply;
    size_t n_body = 0;

    wait_begin(&wait, &call, registrar);

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    group_join_request_encode(request, &pack);
    enum hoop_status status =
        packed_ask(registrar, call, &pack, &body, &n_body);
    /* On the control plane there is no better word for it. */
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
number_draw(struct registrar *registrar)
{
    pthread_mutex_lock(&registrar->lock);
    const uint64_t number = ++registrar->number;
    pthread_mutex_unlock(&registrar->lock);
    return number;
}

enum hoop_status
registrar_join(struct registrar *registrar,
               const struct registrar_list *list,
               uint64_t timeout_ms,
               struct registration **out_registration)
{
    struct registration *registration = calloc(1, sizeof(*registration));

    if (!registration)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a communicator");
    registration->number = number_draw(registrar);
    if (list->n_ranks == 1) {
        registration->id = ID_ALONE | (uint64_t)list->ranks[0] << RANK_SHIFT |
                           registration->number;
        *out_registration = registration;
        return HOOP_OK;
    }

    const struct group_join_request request = {
        .member = registrar->self,
        .number = registration->number,
        .n_ranks = list->n_ranks,
        .ranks = (uint32_t *)(uintptr_t)list->ranks, /* only read */
    };
    const enum hoop_status status =
        join_ask(registrar, &request, timeout_ms, &registration->id);
    if (status != HOOP_OK) {
        registrar_leave(registrar, registration);
        return error_pass(status);
    }
    *out_registration = registration;
    return HOOP_OK;
}

/* An agreement. */

static enum hoop_status
agree_ask(struct registrar *registrar,
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
        .method = method_of(METHOD_GROUPS_AGREE)->name,
        .timeout_ms = timeout_ms,
    };
    struct registrar_wait wait = {
        .number = request->number,
        .what = whats[request->kind],
    };
    size_t n_body = 0;

    wait_begin(&wait, &call, registrar);

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    group_agree_request_encode(request, &pack);
    enum hoop_status status =
        packed_ask(registrar, call, &pack, &body, &n_body);
    if (status == HOOP_OK)
        status = group_agree_reply_decode((struct message_span){body, n_body},
                                          out_reply);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
registrar_agree(struct registrar *registrar,
                const struct registrar_say *say,
                uint64_t timeout_ms,
                struct group_agree_reply *out_reply,
                struct registration **out_registration)
{
    struct registration *registration = calloc(1, sizeof(*registration));

    if (!registration)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for an agreement");
    registration->number = number_draw(registrar);

    const struct group_agree_request request = {
        .member = registrar->self,
        .communicator = say->comm - COMM_ID_FIRST,
        .kind = say->kind,
        .turn = say->turn,
        .flags = say->flags,
        .least = say->least,
        .number = registration->number,
    };
    const enum hoop_status status =
        agree_ask(registrar, &request, timeout_ms, out_reply);
    /* Taken back: of what was interrupted, the coordinator hears nothing else. */
    if (status == HOOP_E_CANCELLED ||
        (status != HOOP_OK && say->kind == GROUP_SHRINK))
        registrar_leave(registrar, STEAL(registration));
    if (say->kind != GROUP_SHRINK)
        free(STEAL(registration));
    if (status != HOOP_OK)
        return error_pass(status);
    if (!registration)
        return HOOP_OK;
    out_reply->communicator += COMM_ID_FIRST;
    registration->id = out_reply->communicator;
    *out_registration = registration;
    return HOOP_OK;
}

void
registrar_report(struct registrar *registrar,
                 uint32_t rank,
                 uint64_t timeout_ms)
{
    const struct report_request request = {
        .reporter = registrar->self,
        .rank = rank,
        .incarnation = registrar->options.roster->members[rank].incarnation,
        .reason = "found lost while its communicator was shrunk",
    };
    CLEANUP(pack_deinit) struct pack pack = {0};
    const struct rpc_call call = {
        .method = method_of(METHOD_RENDEZVOUS_REPORT)->name,
        .timeout_ms = timeout_ms,
    };

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    report_request_encode(&request, &pack);
    if (packed_ask(registrar, call, &pack, NULL, NULL) != HOOP_OK)
        log_debug("session", "a report was not heard: %s", error_text());
}

/* Leaving. */

void
registrar_leave(struct registrar *registrar, struct registration *registration)
{
    if (!registration)
        return;
    if (registration->id & ID_ALONE) {
        free(registration);
        return;
    }
    pthread_mutex_lock(&registrar->lock);
    const bool is_first = STAILQ_EMPTY(&registrar->parting);
    STAILQ_INSERT_TAIL(&registrar->parting, registration, link);
    pthread_mutex_unlock(&registrar->lock);
    if (is_first &&
        loop_post(registrar->options.loop, leaves_send, registrar) != HOOP_OK)
        log_debug("session", "leaving a communicator later: %s", error_text());
}

static void
registrations_free(struct registration_list *list)
{
    struct registration *registration;

    while ((registration = STAILQ_FIRST(list))) {
        STAILQ_REMOVE_HEAD(list, link);
        free(registration);
    }
}

/* They are told first, the next time. */
static void
leaves_retry(struct registrar *registrar, const char *why)
{
    log_debug("session", "leaving communicators in %d ms: %s", RETRY_MS, why);
    pthread_mutex_lock(&registrar->lock);
    STAILQ_CONCAT(&registrar->told, &registrar->parting);
    STAILQ_CONCAT(&registrar->parting, &registrar->told);
    pthread_mutex_unlock(&registrar->lock);
    loop_timer_start(registrar->retry, RETRY_MS);
}

static void
leaves_on_answer(void *owner, const struct rpc_answer *answer)
{
    struct registrar *registrar = owner;

    if (answer->status == HOOP_E_TIMEOUT ||
        answer->status == HOOP_E_UNAVAILABLE ||
        answer->status == HOOP_E_EXHAUSTED) {
        leaves_retry(registrar, answer->message);
        return;
    }
    /* Any other answer is final: such a membership has left everything. */
    registrations_free(&registrar->told);
    if (answer->status != HOOP_E_CANCELLED)
        leaves_send(registrar);
}

/* Moves the first of those that part, which part alike, to those that are told. */
static void
leaves_take(struct registrar *registrar, struct group_leave_request *request)
{
    struct registration *registration;

    pthread_mutex_lock(&registrar->lock);
    while (request->n_numbers < LIMIT_GROUP_NUMBERS &&
           (registration = STAILQ_FIRST(&registrar->parting)) &&
           (request->n_numbers == 0 ||
            registration->is_withdrawn == (request->is_withdrawal != 0))) {
        STAILQ_REMOVE_HEAD(&registrar->parting, link);
        STAILQ_INSERT_TAIL(&registrar->told, registration, link);
        request->numbers[request->n_numbers++] = registration->number;
        request->is_withdrawal = registration->is_withdrawn;
    }
    pthread_mutex_unlock(&registrar->lock);
}

static enum hoop_status
leaves_tell(struct registrar *registrar,
            const struct group_leave_request *request)
{
    CLEANUP(pack_deinit) struct pack pack = {0};
    CLEANUP(free) uint8_t *bytes = NULL;
    struct rpc_call call = {
        .method = method_of(METHOD_GROUPS_LEAVE)->name,
        .timeout_ms = LEAVE_MS,
        .on_answer = leaves_on_answer,
        .owner = registrar,
    };

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    group_leave_request_encode(request, &pack);
    enum hoop_status status = pack_take(&pack, &bytes, &call.body.n_bytes);
    if (status != HOOP_OK)
        return error_pass(status);
    call.body.bytes = bytes;
    status = rpc_client_call(registrar->options.client, &call, NULL);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* One call at a time: what is left meanwhile goes with the next. */
static void
leaves_send(void *owner)
{
    struct registrar *registrar = owner;
    uint64_t numbers[LIMIT_GROUP_NUMBERS];
    struct group_leave_request request = {
        .member = registrar->self,
        .numbers = numbers,
    };

    if (!STAILQ_EMPTY(&registrar->told))
        return;
    leaves_take(registrar, &request);
    if (request.n_numbers > 0 && leaves_tell(registrar, &request) != HOOP_OK)
        leaves_retry(registrar, error_text());
}

enum hoop_status
registrar_create(const struct registrar_options *options,
                 struct registrar **out_registrar)
{
    const struct roster *roster = options->roster;
    struct registrar *registrar = calloc(1, sizeof(*registrar));

    if (!registrar)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a registrar");
    registrar->options = *options;
    registrar->self = (struct member_request){
        .epoch = roster->epoch,
        .incarnation = roster->credential,
    };
    pthread_mutex_init(&registrar->lock, NULL);
    STAILQ_INIT(&registrar->parting);
    STAILQ_INIT(&registrar->told);

    const enum hoop_status status = loop_timer_create(
        options->loop, leaves_send, registrar, &registrar->retry);
    if (status != HOOP_OK) {
        registrar_destroy(registrar);
        return error_pass(status);
    }
    *out_registrar = registrar;
    return HOOP_OK;
}

void
registrar_destroy(struct registrar *registrar)
{
    if (!registrar)
        return;
    loop_cancel_posts(registrar->options.loop, registrar);
    loop_timer_destroy(registrar->retry);
    registrations_free(&registrar->parting);
    registrations_free(&registrar->told);
    pthread_mutex_destroy(&registrar->lock);
    free(registrar);
}
