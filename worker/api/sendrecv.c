/* api/sendrecv.c - a send and a receive as one operation */

#include "hoop/p2p.h"

#include "api/comm_call.h"
#include "api/message.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/engine.h"
#include "session/comm.h"

struct sendrecv_call {
    const struct hoop_message *send;
    const struct hoop_message *recv;
    hoop_comm_t *comm;
    struct hoop_received *received;
};

static enum hoop_status
sendrecv_check_half(const struct hoop_message *half,
                    enum hoop_message_kind kind,
                    const hoop_comm_t *comm)
{
    const char *name = kind == HOOP_SEND ? "send" : "recv";

    if (!half)
        return error_raise(HOOP_E_INVALID, "%s is NULL", name);
    if (half->kind != kind)
        return error_raise(HOOP_E_INVALID, "%s must be of kind %s", name,
                           kind == HOOP_SEND ? "HOOP_SEND" : "HOOP_RECV");
    const enum hoop_status status = message_check(half, comm);
    if (status != HOOP_OK)
        return error_raise(status, "%s: %s", name, error_text());
    return HOOP_OK;
}

static enum hoop_status
sendrecv_check_and_start(struct sendrecv_call *exchange,
                         enum engine_start_mode mode,
                         struct op **out_op)
{
    bool is_member;
    enum hoop_status status =
        comm_call_begin_or_default(&exchange->comm, &is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member) {
        *out_op = engine_null_op();
        return HOOP_OK;
    }
    status = sendrecv_check_half(exchange->send, HOOP_SEND, exchange->comm);
    if (status == HOOP_OK)
        status = sendrecv_check_half(exchange->recv, HOOP_RECV, exchange->comm);
    if (status != HOOP_OK)
        return error_pass(status);

    struct engine_message pair[2] = {
        message_to_engine_request(exchange->send, mode),
        message_to_engine_request(exchange->recv, mode),
    };
    if (exchange->received)
        pair[1].received = exchange->received;
    return engine_start_message_pair(exchange->comm->context, pair, out_op);
}

enum hoop_status
hoop_sendrecv(const struct hoop_message *send,
              const struct hoop_message *recv,
              hoop_comm_t *comm,
              struct hoop_received *out_received)
{
    struct sendrecv_call exchange = {send, recv, comm, out_received};
    struct op *op = NULL;

    const enum hoop_status status =
        sendrecv_check_and_start(&exchange, ENGINE_START_AND_WAIT, &op);
    if (status != HOOP_OK)
        return error_pass(status);
    return engine_wait(op, CLOCK_NEVER);
}

enum hoop_status
hoop_sendrecv_start(const struct hoop_message *send,
                    const struct hoop_message *recv,
                    hoop_comm_t *comm,
                    struct hoop_received *out_received,
                    hoop_op_t **out_op)
{
    struct sendrecv_call exchange = {send, recv, comm, out_received};
    struct op *op = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_op)
        return error_raise(HOOP_E_INVALID, "out_op is NULL");
    const enum hoop_status status =
        sendrecv_check_and_start(&exchange, ENGINE_START, &op);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_op = (hoop_op_t *)op;
    return HOOP_OK;
}
