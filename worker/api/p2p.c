/* api/p2p.c - tagged messages between two ranks */

#include "hoop/p2p.h"

#include "api/comm_call.h"
#include "api/message.h"
#include "base/clock.h"
#include "base/error.h"
#include "engine/engine.h"
#include "session/comm.h"

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
