/* api/p2p.c - tagged messages between two ranks */

#include "api/p2p.h"

#include <stdlib.h>

#include "hoop/p2p.h"

#include "api/collective.h"
#include "api/tags.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "dtype/dtype.h"
#include "engine/engine.h"
#include "session/comm.h"

/* Messages of a list, started together. */

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

/* A send and a receive as one operation. */

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

/* Checks and conversions that all messages share. */

static enum hoop_status
message_check_peer(const struct hoop_message *message, const hoop_comm_t *comm)
{
    const uint32_t size = context_size(comm->context);

    switch (message->kind) {
    case HOOP_SEND:
        break;
    case HOOP_RECV:
        if (message->peer == HOOP_ANY_SOURCE)
            return HOOP_OK;
        break;
    }
    if (message->peer >= size)
        return error_raise(HOOP_E_INVALID,
                           "rank %u is not below the communicator's size, %u",
                           message->peer, size);
    return HOOP_OK;
}

enum hoop_status
message_check_tag(int64_t tag, const hoop_comm_t *comm)
{
    if (!comm || !comm->context)
        return HOOP_OK;
    if (tag < 0 || tag > TAG_USER_MAX)
        return error_raise(HOOP_E_INVALID, "tag %lld is not between 0 and 2^62",
                           (long long)tag);
    return HOOP_OK;
}

enum hoop_status
message_check(const struct hoop_message *message, const hoop_comm_t *comm)
{
    size_t n_bytes;

    if (message->kind != HOOP_SEND && message->kind != HOOP_RECV)
        return error_raise(HOOP_E_INVALID,
                           "kind %d is neither HOOP_SEND nor HOOP_RECV",
                           (int)message->kind);
    enum hoop_status status = message_check_peer(message, comm);
    if (status != HOOP_OK)
        return error_pass(status);
    if (dtype_size(message->dtype) == 0)
        return error_raise(HOOP_E_INVALID, "dtype %d is not known to hoop",
                           (int)message->dtype);
    status = message_check_tag(message->tag, comm);
    if (status != HOOP_OK)
        return error_pass(status);
    if (__builtin_mul_overflow(message->count, dtype_size(message->dtype),
                               &n_bytes) ||
        n_bytes > INT64_MAX)
        return error_raise(HOOP_E_INVALID, "%zu elements of %s are too many",
                           message->count, dtype_name(message->dtype));
    if (!message->buffer && message->count > 0)
        return error_raise(HOOP_E_INVALID, "buffer is NULL");
    return HOOP_OK;
}

struct engine_message
message_to_engine_request(const struct hoop_message *message,
                          enum engine_start_mode mode)
{
    return (struct engine_message){
        .call =
            {
                .name = message->kind == HOOP_SEND ? CALL_SEND : CALL_RECV,
                .dtype = message->dtype,
                .root = message->peer,
                .count = message->count,
            },
        .tag = (uint64_t)message->tag,
        .peer = message->peer,
        .bytes = message->buffer,
        .received = message->received,
        .mode = mode,
    };
}

/* Send and receive one message. */

/* Begin a call and check the message, if this process is a member. *comm NULL
 * becomes the default group's. */
static enum hoop_status
p2p_message_check(const struct hoop_message *message,
                  hoop_comm_t **comm,
                  bool *out_is_member)
{
    const enum hoop_status status =
        comm_call_begin_or_default(comm, out_is_member);

    if (status != HOOP_OK)
        return error_pass(status);
    return *out_is_member ? message_check(message, *comm) : HOOP_OK;
}

static enum hoop_status
p2p_message_run(const struct hoop_message *message, hoop_comm_t *comm)
{
    bool is_member;
    const enum hoop_status status =
        p2p_message_check(message, &comm, &is_member);

    if (status != HOOP_OK || !is_member)
        return status == HOOP_OK ? HOOP_OK : error_pass(status);
    const struct engine_message request =
        message_to_engine_request(message, ENGINE_START_AND_WAIT);
    return engine_run_message(comm->context, &request);
}

static enum hoop_status
p2p_message_start(const struct hoop_message *message,
                  hoop_comm_t *comm,
                  hoop_op_t **out_op)
{
    struct op *op = NULL;
    bool is_member;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_op)
        return error_raise(HOOP_E_INVALID, "out_op is NULL");
    enum hoop_status status = p2p_message_check(message, &comm, &is_member);
    if (status != HOOP_OK)
        return error_pass(status);
    if (is_member) {
        const struct engine_message request =
            message_to_engine_request(message, ENGINE_START);

        status = engine_start_messages(comm->context, &request, 1, &op);
    } else {
        op = engine_null_op();
    }
    if (status != HOOP_OK)
        return error_pass(status);
    *out_op = (hoop_op_t *)op;
    return HOOP_OK;
}

/* The buffer is not written. */
static struct hoop_message
send_message_describe(const void *buffer,
                      size_t count,
                      enum hoop_dtype dtype,
                      uint32_t dest,
                      int64_t tag)
{
    return (struct hoop_message){
        .kind = HOOP_SEND,
        .buffer = (void *)(uintptr_t)buffer,
        .count = count,
        .dtype = dtype,
        .peer = dest,
        .tag = tag,
    };
}

static struct hoop_message
recv_message_describe(void *buffer,
                      size_t count,
                      enum hoop_dtype dtype,
                      uint32_t source,
                      int64_t tag)
{
    return (struct hoop_message){
        .kind = HOOP_RECV,
        .buffer = buffer,
        .count = count,
        .dtype = dtype,
        .peer = source,
        .tag = tag,
    };
}

enum hoop_status
hoop_send(const void *buffer,
          size_t count,
          enum hoop_dtype dtype,
          uint32_t dest,
          int64_t tag,
          hoop_comm_t *comm)
{
    const struct hoop_message message =
        send_message_describe(buffer, count, dtype, dest, tag);

    return p2p_message_run(&message, comm);
}

enum hoop_status
hoop_send_start(const void *buffer,
                size_t count,
                enum hoop_dtype dtype,
                uint32_t dest,
                int64_t tag,
                hoop_comm_t *comm,
                hoop_op_t **out_op)
{
    const struct hoop_message message =
        send_message_describe(buffer, count, dtype, dest, tag);

    return p2p_message_start(&message, comm, out_op);
}

enum hoop_status
hoop_recv(void *buffer,
          size_t count,
          enum hoop_dtype dtype,
          uint32_t source,
          int64_t tag,
          hoop_comm_t *comm,
          struct hoop_received *out_received)
{
    struct hoop_message message =
        recv_message_describe(buffer, count, dtype, source, tag);

    message.received = out_received;
    return p2p_message_run(&message, comm);
}

enum hoop_status
hoop_recv_start(void *buffer,
                size_t count,
                enum hoop_dtype dtype,
                uint32_t source,
                int64_t tag,
                hoop_comm_t *comm,
                struct hoop_received *out_received,
                hoop_op_t **out_op)
{
    struct hoop_message message =
        recv_message_describe(buffer, count, dtype, source, tag);

    message.received = out_received;
    return p2p_message_start(&message, comm, out_op);
}
