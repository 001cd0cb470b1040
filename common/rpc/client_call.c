/* rpc/client_call.c - one call of a client, from its start to its answer */

#include "rpc/client_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "rpc/sp_stream.h"

void
client_call_destroy(struct client_call *call)
{
    if (!call)
        return;
    free(call->body);
    free(call->message);
    free(call->answer);
    free(call);
}

DEFINE_CLEANUP(struct client_call *, client_call_destroy)

/* *out_copy is not written if there are no bytes. */
static enum hoop_status
span_duplicate(struct message_span span, uint8_t **out_copy)
{
    if (span.n_bytes == 0)
        return HOOP_OK;
    *out_copy = malloc(span.n_bytes);
    if (!*out_copy)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu bytes",
                           span.n_bytes);
    memcpy(*out_copy, span.bytes, span.n_bytes);
    return HOOP_OK;
}

enum hoop_status
client_call_create(const struct rpc_call *call, struct client_call **out_call)
{
    CLEANUP(client_call_destroy)
    struct client_call *made = calloc(1, sizeof(*made));

    if (!made)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a call of %s",
                           call->method);
    const enum hoop_status status = span_duplicate(call->body, &made->body);
    if (status != HOOP_OK)
        return error_pass(status);

    snprintf(made->method, sizeof(made->method), "%s", call->method);
    made->n_body = call->body.n_bytes;
    made->timeout_ms = call->timeout_ms;
    made->grace_ms = call->grace_ms;
    made->is_poll = call->is_poll;
    made->tries_once = call->tries_once;
    made->deadline_ns = clock_deadline_ns(call->timeout_ms);
    made->on_answer = call->on_answer;
    made->owner = call->owner;
    *out_call = STEAL(made);
    return HOOP_OK;
}

void
client_call_store_answer(struct client_call *call,
                         const struct rpc_answer *answer)
{
    call->status = answer->status;
    call->message = answer->message[0] ? strdup(answer->message) : NULL;
    if (span_duplicate(answer->body, &call->answer) != HOOP_OK)
        call->status = HOOP_E_EXHAUSTED;
    else
        call->n_answer = answer->body.n_bytes;
}

void
client_call_deliver_answer(struct client_call *call)
{
    const struct rpc_answer answer = {
        .status = call->status,
        .message = call->message ? call->message : "",
        .body = {call->answer, call->n_answer},
    };

    call->on_answer(call->owner, &answer);
}

struct client_call *
client_calls_find(const struct client_calls *calls, uint32_t id)
{
    struct client_call *call;

    TAILQ_FOREACH(call, calls, link)
    {
        if (((uint32_t)call->id & SP_ID_MAX) == id)
            return call;
    }
    return NULL;
}

struct client_call *
client_calls_take(struct client_calls *calls, uint64_t id)
{
    struct client_call *call;

    TAILQ_FOREACH(call, calls, link)
    {
        if (call->id == id) {
            TAILQ_REMOVE(calls, call, link);
            return call;
        }
    }
    return NULL;
}
