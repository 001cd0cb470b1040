/* api/tensor_p2p.c - send and receive one tensor */

#include "hoop/tensor.h"

#include "api/comm_call.h"
#include "api/message.h"
#include "api/tensor_message.h"
#include "base/error.h"

static enum hoop_status
tensor_p2p_run(const struct tensor_message *message,
               int64_t tag,
               hoop_comm_t *comm)
{
    bool is_member;
    enum hoop_status status = comm_call_begin_or_default(&comm, &is_member);

    if (status == HOOP_OK)
        status = message_check_tag(tag, comm);

    return status == HOOP_OK ? tensor_message_run(message, 1, comm)
                             : error_pass(status);
}

static enum hoop_status
tensor_p2p_start(const struct tensor_message *message,
                 int64_t tag,
                 hoop_comm_t *comm,
                 hoop_op_t **out_op)
{
    bool is_member;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_op)
        return error_raise(HOOP_E_INVALID, "out_op is NULL");
    enum hoop_status status = comm_call_begin_or_default(&comm, &is_member);
    if (status == HOOP_OK)
        status = message_check_tag(tag, comm);
    return status == HOOP_OK ? tensor_message_start(message, 1, comm, out_op)
                             : error_pass(status);
}

static struct tensor_message
tensor_send_describe(const struct hoop_tensor *tensor,
                     uint32_t dest,
                     int64_t tag)
{
    return (struct tensor_message){
        .kind = HOOP_SEND,
        .tensor = tensor,
        .peer = dest,
        .tag = (uint64_t)tag,
    };
}

static struct tensor_message
tensor_recv_describe(const struct hoop_tensor *expected,
                     uint32_t source,
                     int64_t tag)
{
    return (struct tensor_message){
        .kind = HOOP_RECV,
        .tensor = expected,
        .peer = source,
        .tag = (uint64_t)tag,
    };
}

enum hoop_status
hoop_send_tensor(const struct hoop_tensor *tensor,
                 uint32_t dest,
                 int64_t tag,
                 hoop_comm_t *comm)
{
    const struct tensor_message message =
        tensor_send_describe(tensor, dest, tag);

    return tensor_p2p_run(&message, tag, comm);
}

enum hoop_status
hoop_send_tensor_start(const struct hoop_tensor *tensor,
                       uint32_t dest,
                       int64_t tag,
                       hoop_comm_t *comm,
                       hoop_op_t **out_op)
{
    const struct tensor_message message =
        tensor_send_describe(tensor, dest, tag);

    return tensor_p2p_start(&message, tag, comm, out_op);
}

enum hoop_status
hoop_recv_tensor(const struct hoop_tensor *expected,
                 uint32_t source,
                 int64_t tag,
                 hoop_comm_t *comm,
                 struct hoop_tensor *out_tensor)
{
    struct tensor_message message = tensor_recv_describe(expected, source, tag);

    message.received = out_tensor;
    return tensor_p2p_run(&message, tag, comm);
}

enum hoop_status
hoop_recv_tensor_start(const struct hoop_tensor *expected,
                       uint32_t source,
                       int64_t tag,
                       hoop_comm_t *comm,
                       struct hoop_tensor *out_tensor,
                       hoop_op_t **out_op)
{
    struct tensor_message message = tensor_recv_describe(expected, source, tag);

    message.received = out_tensor;
    return tensor_p2p_start(&message, tag, comm, out_op);
}
