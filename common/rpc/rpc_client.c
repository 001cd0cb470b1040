/*
 * rpc/rpc_client.c - the client of a coordinator: NNG's request protocol on a
 * loop
 *
 * A call is in one of three lists: queued (to be sent, for the first time or
 * again), sent, finished. When the connection is lost, the sent calls are put
 * before the queued ones; they keep their ids, so the server recognises
 * repetitions. Answers are delivered in a turn of the loop of their own: no
 * caller and no connection is on the stack when on_answer runs.
 */

#include "rpc/rpc_client.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "net/loop.h"
#include "rpc/authentication.h"
#include "rpc/client_call.h"
#include "rpc/envelope.h"
#include "rpc/rpc_call_queue.h"
#include "rpc/rpc_link.h"
#include "rpc/rpc_tls.h"

enum client_stage {
    CLIENT_OPEN,
    CLIENT_DELIVERING, /* on_answer is on the stack */
    CLIENT_DESTROYED,  /* on_answer has destroyed the client */
};

struct rpc_client {
    enum client_stage stage;
    struct envelope_client id;
    char address[LIMIT_ADDRESS];
    char job[LIMIT_NAME];
    struct auth_keys keys; /* empty without a token */
    uint64_t last_id;
    bool is_away; /* nothing was received since the connection was lost */
    void (*on_change)(void *owner); /* called when is_away changes; may be
                                       NULL */
    void *watcher;                  /* owner of on_change */

    struct client_calls queued;
    struct client_calls sent; /* every sent call is older than every queued
                                 one */
    struct client_calls finished;
    size_t n_calls; /* calls in queued and sent */

    struct rpc_tls *rpc_tls; /* NULL: no TLS */
    struct rpc_link *link;
    struct rpc_call_queue *call_queue;
    struct loop_timer *deliver;
    struct loop_timer *deadline;
    uint64_t deadline_ns; /* the time for which the timer is set, or
                             CLOCK_NEVER */
};

DEFINE_CLEANUP(struct rpc_client *, rpc_client_destroy)

/* Move a call from its list (queued or sent) to finished, and schedule its
 * answer. */
static void
call_finish(struct rpc_client *client,
            struct client_calls *list,
            struct client_call *call,
            const struct rpc_answer *answer)
{
    TAILQ_REMOVE(list, call, link);
    client->n_calls--;

    client_call_store_answer(call, answer);
    TAILQ_INSERT_TAIL(&client->finished, call, link);
    loop_timer_start(client->deliver, 0);
}

static void
client_free(struct rpc_client *client)
{
    loop_timer_destroy(client->deliver);
    loop_timer_destroy(client->deadline);
    rpc_link_destroy(client->link);
    rpc_tls_destroy(client->rpc_tls);
    rpc_call_queue_destroy(client->call_queue);
    auth_keys_deinit(&client->keys);
    free(client);
}

static void
client_deliver_answers(void *owner)
{
    struct rpc_client *client = owner;
    struct client_call *call;

    while ((call = TAILQ_FIRST(&client->finished))) {
        TAILQ_REMOVE(&client->finished, call, link);
        client->stage = CLIENT_DELIVERING;
        client_call_deliver_answer(call);
        client_call_destroy(call);
        if (client->stage == CLIENT_DESTROYED) {
            client_free(client);
            return;
        }
        client->stage = CLIENT_OPEN;
    }
}

static void
calls_finish_all(struct rpc_client *client, const struct rpc_answer *answer)
{
    while (!TAILQ_EMPTY(&client->sent))
        call_finish(client, &client->sent, TAILQ_FIRST(&client->sent), answer);
    while (!TAILQ_EMPTY(&client->queued))
        call_finish(client, &client->queued, TAILQ_FIRST(&client->queued),
                    answer);
}

void
rpc_client_destroy(struct rpc_client *client)
{
    struct client_call *call;

    if (!client)
        return;
    /* on_answer may destroy the client only once, and must not start calls
     * after that. */
    assert(client->stage != CLIENT_DESTROYED);
    const enum client_stage stage = client->stage;
    client->stage = CLIENT_DESTROYED;

    rpc_call_queue_close(client->call_queue);
    calls_finish_all(client,
                     &(struct rpc_answer){
                         .status = HOOP_E_CANCELLED,
                         .message = "the client of the coordinator was closed",
                     });
    while ((call = TAILQ_FIRST(&client->finished))) {
        TAILQ_REMOVE(&client->finished, call, link);
        client_call_deliver_answer(call);
        client_call_destroy(call);
    }
    if (stage == CLIENT_OPEN)
        client_free(client);
}

/* Set the timer unless it fires early enough already. */
static void
deadline_timer_advance(struct rpc_client *client, uint64_t deadline_ns)
{
    const int left_ms = clock_left_ms(deadline_ns);

    if (deadline_ns >= client->deadline_ns || left_ms < 0)
        return;
    client->deadline_ns = deadline_ns;
    loop_timer_start(client->deadline, (uint64_t)left_ms);
}

/* Return why there is no connection, without the address if it is the
 * client's. */
static const char *
disconnect_reason(const struct rpc_client *client)
{
    const char *reason = rpc_link_reason(client->link);
    const size_t n_address = strlen(client->address);
    const bool is_named = strncmp(reason, client->address, n_address) == 0 &&
                          strncmp(reason + n_address, ": ", 2) == 0;

    return is_named ? reason + n_address + 2 : reason;
}

/* Say why call was not answered, in words of a user, to whom the name of the
 * method means nothing. If this side lacks the means to connect, the text does
 * not blame the coordinator. */
static void
call_timeout_describe(const struct rpc_client *client,
                      const struct client_call *call,
                      char out_text[LIMIT_ERROR_TEXT])
{
    const double seconds = (double)call->timeout_ms / 1000;
    const char *reason = disconnect_reason(client);

    if (rpc_link_local_failure(client->link) != HOOP_OK)
        snprintf(out_text, LIMIT_ERROR_TEXT,
                 "this process could not connect to hoopd at %s for %.1f s: "
                 "%.500s",
                 client->address, seconds, reason);
    else if (call->n_sent == 0 && reason[0])
        snprintf(out_text, LIMIT_ERROR_TEXT,
                 "hoopd at %s did not answer for %.1f s: %.500s",
                 client->address, seconds, reason);
    else
        snprintf(out_text, LIMIT_ERROR_TEXT,
                 "hoopd at %s did not answer for %.1f s%s%.500s; look there "
                 "whether it runs, is stopped or has too much to do",
                 client->address, seconds,
                 reason[0] ? "; the connection failed: " : "", reason);
}

/* A call that was sent may have been applied. A connection that is forbidden
 * here does not yield HOOP_E_DENIED, which would look like a final answer of
 * the coordinator. */
static enum hoop_status
call_timeout_status(const struct rpc_client *client,
                    const struct client_call *call)
{
    if (call->n_sent > 0)
        return HOOP_E_TIMEOUT;
    return rpc_link_local_failure(client->link) == HOOP_E_EXHAUSTED
               ? HOOP_E_EXHAUSTED
               : HOOP_E_UNAVAILABLE;
}

static void
call_expire(struct rpc_client *client,
            struct client_calls *list,
            struct client_call *call)
{
    char text[LIMIT_ERROR_TEXT];
    const struct rpc_answer late = {
        .status = call_timeout_status(client, call),
        .message = text,
    };

    call_timeout_describe(client, call, text);
    call_finish(client, list, call, &late);
}

/* A call that was sent may wait for its grace period. */
static void
calls_extend_by_grace(struct client_calls *sent)
{
    struct client_call *call;

    TAILQ_FOREACH(call, sent, link)
    {
        if (!clock_is_past(call->deadline_ns))
            continue;
        call->deadline_ns += call->grace_ms * CLOCK_NS_PER_MS;
        call->grace_ms = 0;
    }
}

static void
calls_expire(struct rpc_client *client, struct client_calls *list)
{
    struct client_call *call = TAILQ_FIRST(list);

    while (call) {
        struct client_call *next = TAILQ_NEXT(call, link);

        if (clock_is_past(call->deadline_ns))
            call_expire(client, list, call);
        else
            deadline_timer_advance(client, call->deadline_ns);
        call = next;
    }
}

static void
client_on_deadline(void *owner)
{
    struct rpc_client *client = owner;

    client->deadline_ns = CLOCK_NEVER;
    calls_extend_by_grace(&client->sent);
    calls_expire(client, &client->sent);
    calls_expire(client, &client->queued);
}

static enum hoop_status
call_encode(const struct rpc_client *client,
            const struct client_call *call,
            struct rpc_link_frame *out_frame)
{
    struct envelope_request request = {
        .client = client->id,
        .id = call->id,
        .deadline_ms = (uint64_t)clock_left_ms(call->deadline_ns) +
                       (call->is_poll ? 0 : call->grace_ms),
        .body = {call->body, call->n_body},
    };

    snprintf(request.method, sizeof(request.method), "%s", call->method);
    memcpy(request.job, client->job, sizeof(request.job));

    /* Far fewer calls wait than there are frame ids, so this one is unique. */
    out_frame->id = (uint32_t)call->id & SP_ID_MAX;
    const enum hoop_status status = envelope_request_encode(
        &request, &out_frame->bytes, &out_frame->n_bytes);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
client_on_pull(void *owner, struct rpc_link_frame *out_frame)
{
    struct rpc_client *client = owner;
    struct client_call *call;

    while ((call = TAILQ_FIRST(&client->queued))) {
        const enum hoop_status status = call_encode(client, call, out_frame);

        if (status == HOOP_OK) {
            TAILQ_REMOVE(&client->queued, call, link);
            TAILQ_INSERT_TAIL(&client->sent, call, link);
            call->n_sent++;
            return HOOP_OK;
        }
        const struct rpc_answer failed = {status, error_text(), {0}};
        call_finish(client, &client->queued, call, &failed);
    }
    return HOOP_E_PENDING;
}

/* Asking again would not change the coordinator's release. */
static enum hoop_status
calls_fail_version(struct rpc_client *client)
{
    char text[LIMIT_ERROR_TEXT];

    snprintf(text, sizeof(text), "%s", error_text());
    calls_finish_all(client, &(struct rpc_answer){
                                 .status = HOOP_E_UNIMPLEMENTED,
                                 .message = text,
                             });
    return error_raise(HOOP_E_DATA_LOSS, "%s", text);
}

static void
away_change_notify(const struct rpc_client *client)
{
    if (client->on_change)
        client->on_change(client->watcher);
}

static enum hoop_status
client_on_frame(void *owner, const struct sp_frame *frame)
{
    struct rpc_client *client = owner;
    struct envelope_reply reply;

    if (client->is_away) {
        client->is_away = false;
        away_change_notify(client);
    }

    const enum hoop_status status = envelope_reply_decode(frame->body, &reply);
    if (status == HOOP_E_UNIMPLEMENTED)
        return calls_fail_version(client);
    if (status != HOOP_OK)
        return error_pass(status);

    /* No such call if it has expired or was cancelled meanwhile. */
    struct client_call *call = client_calls_find(&client->sent, frame->id);
    if (!call)
        return HOOP_OK;

    /* The server answers with id 0 if it could not read the request. */
    if (reply.id != call->id && (reply.id != 0 || reply.status == HOOP_OK))
        return error_raise(HOOP_E_DATA_LOSS,
                           "the coordinator's reply to %s names request %llu, "
                           "not %llu",
                           call->method, (unsigned long long)reply.id,
                           (unsigned long long)call->id);

    const struct rpc_answer answer = {
        .status = reply.status,
        .message = reply.message,
        .body = reply.body,
    };
    call_finish(client, &client->sent, call, &answer);
    return HOOP_OK;
}

/* Fail the calls with tries_once, when no address could be connected to. */
static void
try_once_calls_fail(struct rpc_client *client)
{
    struct client_call *call = TAILQ_FIRST(&client->queued);
    char text[LIMIT_ERROR_TEXT];

    snprintf(text, sizeof(text), "no connection to the coordinator at %.900s",
             rpc_link_reason(client->link));
    while (call) {
        struct client_call *next = TAILQ_NEXT(call, link);

        if (call->tries_once)
            call_finish(client, &client->queued, call,
                        &(struct rpc_answer){.status = HOOP_E_UNAVAILABLE,
                                             .message = text});
        call = next;
    }
}

static void
client_on_lost(void *owner)
{
    struct rpc_client *client = owner;
    const bool was_disconnected = client->is_away;

    client->is_away = true;
    TAILQ_CONCAT(&client->sent, &client->queued, link);
    TAILQ_CONCAT(&client->queued, &client->sent, link);
    if (rpc_link_is_unreachable(client->link))
        try_once_calls_fail(client);
    if (!TAILQ_EMPTY(&client->queued))
        rpc_link_request_send(client->link);
    if (!was_disconnected)
        away_change_notify(client);
}

static void
client_on_refused(void *owner)
{
    struct rpc_client *client = owner;
    char text[LIMIT_ERROR_TEXT];

    snprintf(text, sizeof(text), "no connection to the coordinator at %.900s",
             rpc_link_reason(client->link));
    calls_finish_all(client, &(struct rpc_answer){
                                 .status = HOOP_E_UNAUTHENTICATED,
                                 .message = text,
                             });
}

static enum hoop_status
client_link_create(struct rpc_client *client,
                   const struct rpc_client_options *options)
{
    if (options->tls) {
        const enum hoop_status status = rpc_tls_create_client(
            options->tls, options->token, &client->rpc_tls);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    const struct rpc_link_options link = {
        .loop = options->loop,
        .address = options->address,
        .rpc_tls = client->rpc_tls,
        .keys = &client->keys,
        .client = client->id,
        .events =
            {
                .on_pull = client_on_pull,
                .on_frame = client_on_frame,
                .on_lost = client_on_lost,
                .on_refused = client_on_refused,
            },
        .owner = client,
    };
    const enum hoop_status status = rpc_link_create(&link, &client->link);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
client_open(struct rpc_client *client, const struct rpc_client_options *options)
{
    enum hoop_status status =
        random_fill(client->id.bytes, sizeof(client->id.bytes));
    if (status == HOOP_OK)
        status = client_link_create(client, options);
    if (status != HOOP_OK)
        return error_pass(status);
    status = loop_timer_create(options->loop, client_deliver_answers, client,
                               &client->deliver);
    if (status != HOOP_OK)
        return error_pass(status);
    status = loop_timer_create(options->loop, client_on_deadline, client,
                               &client->deadline);
    if (status != HOOP_OK)
        return error_pass(status);
    status = rpc_call_queue_create(options->loop, client, &client->call_queue);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
option_text_copy(const char *what, const char *text, char *out, size_t n_out)
{
    if (text && strlen(text) >= n_out)
        return error_raise(HOOP_E_INVALID, "the %s is longer than %zu bytes",
                           what, n_out - 1);
    snprintf(out, n_out, "%s", text ? text : "");
    return HOOP_OK;
}

void
rpc_client_set_job(struct rpc_client *client, const char *job)
{
    snprintf(client->job, sizeof(client->job), "%s", job);
}

enum hoop_status
rpc_client_create(const struct rpc_client_options *options,
                  struct rpc_client **out_client)
{
    CLEANUP(rpc_client_destroy)
    struct rpc_client *client = calloc(1, sizeof(*client));

    if (!client)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a client");
    TAILQ_INIT(&client->queued);
    TAILQ_INIT(&client->sent);
    TAILQ_INIT(&client->finished);
    client->deadline_ns = CLOCK_NEVER;

    enum hoop_status status =
        option_text_copy("coordinator's address", options->address,
                         client->address, sizeof(client->address));
    if (status != HOOP_OK)
        return error_pass(status);
    status = option_text_copy("name of the job", options->job, client->job,
                              sizeof(client->job));
    if (status != HOOP_OK)
        return error_pass(status);
    if (options->token && strlen(options->token) >= LIMIT_TOKEN)
        return error_raise(HOOP_E_INVALID, "the token is longer than %d bytes",
                           LIMIT_TOKEN - 1);
    status = auth_keys_init_client(&client->keys, options->token);
    if (status != HOOP_OK)
        return error_pass(status);
    status = client_open(client, options);
    if (status != HOOP_OK)
        return error_pass(status);

    *out_client = STEAL(client);
    return HOOP_OK;
}

enum hoop_status
rpc_client_call(struct rpc_client *client,
                const struct rpc_call *call,
                uint64_t *out_id)
{
    struct client_call *made = NULL;

    assert(client->stage != CLIENT_DESTROYED);
    if (client->n_calls >= LIMIT_RPC_CALLS)
        return error_raise(HOOP_E_EXHAUSTED,
                           "%d calls wait for the coordinator already",
                           LIMIT_RPC_CALLS);
    if (call->body.n_bytes > LIMIT_RPC_BODY)
        return error_raise(HOOP_E_EXHAUSTED,
                           "%s: a request of %zu bytes, allowed are %d",
                           call->method, call->body.n_bytes, LIMIT_RPC_BODY);

    const enum hoop_status status = client_call_create(call, &made);
    if (status != HOOP_OK)
        return error_pass(status);
    made->id = ++client->last_id;
    TAILQ_INSERT_TAIL(&client->queued, made, link);
    client->n_calls++;

    deadline_timer_advance(client, made->deadline_ns);
    rpc_link_request_send(client->link);
    if (out_id)
        *out_id = made->id;
    return HOOP_OK;
}

bool
rpc_client_is_disconnected(const struct rpc_client *client)
{
    return client->is_away;
}

void
rpc_client_watch_connection(struct rpc_client *client,
                            void (*fn)(void *owner),
                            void *owner)
{
    client->on_change = fn;
    client->watcher = owner;
}

const char *
rpc_client_disconnect_reason(const struct rpc_client *client)
{
    return rpc_link_is_ready(client->link) ? NULL : disconnect_reason(client);
}

bool
rpc_client_local_address(const struct rpc_client *client,
                         struct address *out_address)
{
    return rpc_link_local_address(client->link, out_address);
}

void
rpc_client_finish_all_calls(struct rpc_client *client,
                            const struct rpc_answer *answer)
{
    calls_finish_all(client, answer);
}

void
rpc_client_cancel(struct rpc_client *client, uint64_t id)
{
    struct client_call *call = client_calls_take(&client->sent, id);

    if (!call)
        call = client_calls_take(&client->queued, id);
    if (call)
        client->n_calls--;
    else
        call = client_calls_take(&client->finished, id);
    client_call_destroy(call);
}

enum hoop_status
rpc_client_call_wait(struct rpc_client *client,
                     const struct rpc_call *call,
                     uint8_t **out_body,
                     size_t *out_n_bytes)
{
    struct rpc_call_queue_answer answer = {0};

    const enum hoop_status status =
        rpc_call_queue_call(client->call_queue, call, &answer);
    if (status != HOOP_OK)
        return error_pass(status);
    if (out_body) {
        *out_body = STEAL(answer.body);
        *out_n_bytes = answer.n_body;
    }
    free(answer.body);
    return HOOP_OK;
}
