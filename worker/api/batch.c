/* api/batch.c - messages of a list, started together */

#include <stdlib.h>

#include "hoop/p2p.h"

#include "api/comm_call.h"
#include "api/message.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "engine/engine.h"
#include "session/comm.h"

static enum hoop_status
messages_check_all(const struct hoop_message *messages,
                   size_t n_messages,
                   const hoop_comm_t *comm)
{
    if (!messages && n_messages > 0)
        return error_raise(HOOP_E_INVALID, "messages is NULL");
    for (size_t i = 0; i < n_messages; i++) {
        const enum hoop_status status = message_check(&messages[i], comm);

        if (status != HOOP_OK)
            return error_raise(status, "message %zu of the batch: %s", i,
                               error_text());
    }
    return HOOP_OK;
}

static enum hoop_status
messages_start_all(const struct hoop_message *messages,
                   size_t n_messages,
                   hoop_comm_t *comm,
                   hoop_op_t **out_ops)
{
    CLEANUP(free)
    struct engine_message *requests = calloc(n_messages, sizeof(*requests));
    CLEANUP(free) struct op **ops = calloc(n_messages, sizeof(struct op *));

    if (!requests || !ops)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu messages",
                           n_messages);
    for (size_t i = 0; i < n_messages; i++)
        requests[i] = message_to_engine_request(&messages[i], ENGINE_START);
    const enum hoop_status status =
        engine_start_messages(comm->context, requests, n_messages, ops);
    if (status != HOOP_OK)
        return error_pass(status);
    for (size_t i = 0; i < n_messages; i++)
        out_ops[i] = (hoop_op_t *)ops[i];
    return HOOP_OK;
}

enum hoop_status
hoop_batch_start(const struct hoop_message *messages,
                 size_t n_messages,
                 hoop_comm_t *comm,
                 hoop_op_t **out_ops)
{
    bool is_member;
    enum hoop_status status = comm_call_begin_or_default(&comm, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!out_ops && n_messages > 0)
        return error_raise(HOOP_E_INVALID, "out_ops is NULL");
    if (!is_member) {
        for (size_t i = 0; i < n_messages; i++)
            out_ops[i] = (hoop_op_t *)engine_null_op();
        return HOOP_OK;
    }
    status = messages_check_all(messages, n_messages, comm);
    if (status == HOOP_OK && n_messages > 0)
        status = messages_start_all(messages, n_messages, comm, out_ops);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_batch(const struct hoop_message *messages,
           size_t n_messages,
           hoop_comm_t *comm)
{
    CLEANUP(free)
    hoop_op_t **ops = calloc(n_messages + 1, sizeof(hoop_op_t *));

    if (!ops)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu messages",
                           n_messages);
    const enum hoop_status status =
        hoop_batch_start(messages, n_messages, comm, ops);
    if (status != HOOP_OK)
        return error_pass(status);
    return hoop_wait_all(ops, n_messages, HOOP_FOREVER);
}
