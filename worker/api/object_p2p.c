/*
 * api/object_p2p.c - send and receive an object
 *
 * An object travels like a tensor of bytes, with its length, under tags of its
 * own: it matches neither a tensor nor a message of known count.
 */

#include "hoop/object.h"

#include "api/collective.h"
#include "api/p2p.h"
#include "api/tags.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/limits.h"
#include "engine/engine.h"
#include "session/comm.h"

struct object_message {
    struct hoop_message message;
    struct engine_object_out
        place; /* of a receive: where the object is stored */
    /* of bytes; a receive accepts any number of them */
    struct hoop_tensor tensor;
};

static enum hoop_status
object_message_check(const struct object_message *object,
                     const hoop_comm_t *comm)
{
    const struct hoop_message *message = &object->message;
    const bool is_receive = message->kind == HOOP_RECV;

    if (is_receive && (!object->place.bytes || !object->place.n_bytes))
        return error_raise(HOOP_E_INVALID, "out_bytes or out_n_bytes is NULL");
    if (!is_receive && message->count > (size_t)LIMIT_OBJECT)
        return error_raise(HOOP_E_INVALID,
                           "an object of %zu bytes is too large",
                           message->count);
    if (message->tag < 0 || message->tag > TAG_OBJECT_MAX)
        return error_raise(HOOP_E_INVALID,
                           "tag %lld of an object is not between 0 and 2^61",
                           (long long)message->tag);
    const enum hoop_status status = message_check(message, comm);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static struct engine_message
object_message_to_request(struct object_message *object,
                          enum engine_start_mode mode)
{
    const struct hoop_message *message = &object->message;
    const bool is_send = message->kind == HOOP_SEND;

    object->tensor = (struct hoop_tensor){
        .data = message->buffer,
        .dtype = HOOP_UINT8,
        .shape = {.n_dims = is_send ? 1 : HOOP_ANY_SHAPE,
                  .dims = {message->count}},
    };
    return (struct engine_message){
        .call = {.name = is_send ? CALL_SEND_OBJECT : CALL_RECV_OBJECT,
                 .dtype = HOOP_UINT8,
                 .root = message->peer,
                 .count = message->count},
        .tag = tag_of_object(message->tag),
        .peer = message->peer,
        .bytes = message->buffer,
        .tensor = &object->tensor,
        .object = object->place,
        .received = message->received,
        .mode = mode,
    };
}

static enum hoop_status
object_message_check_and_start(struct object_message *object,
                               hoop_comm_t *comm,
                               enum engine_start_mode mode,
                               struct op **out_op)
{
    bool is_member;
    enum hoop_status status = comm_call_begin_or_default(&comm, &is_member);

    if (status == HOOP_OK && is_member)
        status = object_message_check(object, comm);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!is_member) {
        *out_op = engine_null_op();
        return HOOP_OK;
    }
    const struct engine_message request =
        object_message_to_request(object, mode);
    return engine_start_messages(comm->context, &request, 1, out_op);
}

static enum hoop_status
object_message_run(struct object_message *object, hoop_comm_t *comm)
{
    struct op *op = NULL;
    const enum hoop_status status = object_message_check_and_start(
        object, comm, ENGINE_START_AND_WAIT, &op);

    if (status != HOOP_OK)
        return error_pass(status);
    return engine_wait(op, CLOCK_NEVER);
}

static enum hoop_status
object_message_start(struct object_message *object,
                     hoop_comm_t *comm,
                     hoop_op_t **out_op)
{
    struct op *op = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_op)
        return error_raise(HOOP_E_INVALID, "out_op is NULL");
    const enum hoop_status status =
        object_message_check_and_start(object, comm, ENGINE_START, &op);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_op = (hoop_op_t *)op;
    return HOOP_OK;
}

/* The buffer is not written. */
static struct object_message
object_send_describe(const void *send,
                     size_t n_send,
                     uint32_t dest,
                     int64_t tag)
{
    return (struct object_message){
        .message = {.kind = HOOP_SEND,
                    .buffer = (void *)(uintptr_t)send,
                    .count = n_send,
                    .dtype = HOOP_UINT8,
                    .peer = dest,
                    .tag = tag}};
}

static struct object_message
object_recv_describe(void **out_bytes,
                     size_t *out_n_bytes,
                     uint32_t source,
                     int64_t tag)
{
    return (struct object_message){.message = {.kind = HOOP_RECV,
                                               .dtype = HOOP_UINT8,
                                               .peer = source,
                                               .tag = tag},
                                   .place = {out_bytes, out_n_bytes}};
}

enum hoop_status
hoop_send_object(const void *send,
                 size_t n_send,
                 uint32_t dest,
                 int64_t tag,
                 hoop_comm_t *comm)
{
    struct object_message object =
        object_send_describe(send, n_send, dest, tag);

    return object_message_run(&object, comm);
}

enum hoop_status
hoop_send_object_start(const void *send,
                       size_t n_send,
                       uint32_t dest,
                       int64_t tag,
                       hoop_comm_t *comm,
                       hoop_op_t **out_op)
{
    struct object_message object =
        object_send_describe(send, n_send, dest, tag);

    return object_message_start(&object, comm, out_op);
}

enum hoop_status
hoop_recv_object(void **out_bytes,
                 size_t *out_n_bytes,
                 uint32_t source,
                 int64_t tag,
                 hoop_comm_t *comm,
                 struct hoop_received *out_received)
{
    struct object_message object =
        object_recv_describe(out_bytes, out_n_bytes, source, tag);

    object.message.received = out_received;
    return object_message_run(&object, comm);
}

enum hoop_status
hoop_recv_object_start(void **out_bytes,
                       size_t *out_n_bytes,
                       uint32_t source,
                       int64_t tag,
                       hoop_comm_t *comm,
                       struct hoop_received *out_received,
                       hoop_op_t **out_op)
{
    struct object_message object =
        object_recv_describe(out_bytes, out_n_bytes, source, tag);

    object.message.received = out_received;
    return object_message_start(&object, comm, out_op);
}
