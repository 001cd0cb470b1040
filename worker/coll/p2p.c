/* coll/p2p.c - tagged messages between two ranks */

#include "hoop/p2p.h"

#include "base/clock.h"
#include "base/error.h"
#include "dtype/dtype.h"
#include "engine/engine.h"
#include "session/comm.h"

/* A message in either direction, as it was asked for. */
struct request {
    enum call_name name;
    const void *buffer;
    size_t count;
    enum hoop_dtype dtype;
    uint32_t peer;
    int64_t tag;
    hoop_comm_t *comm;
    struct hoop_received *received;
};

static enum hoop_status
check_peer(const struct request *request)
{
    const struct channel *channel = request->comm->channel;
    const uint32_t size = channel_size(channel);

    if (request->name == CALL_RECV && request->peer == HOOP_ANY_SOURCE)
        return HOOP_OK;
    if (request->peer >= size)
        return error_raise(HOOP_E_INVALID,
                           "rank %u is not below the communicator's size, %u",
                           request->peer, size);
    return HOOP_OK;
}

static enum hoop_status
check(const struct request *request)
{
    size_t n_bytes;

    error_clear();
    if (!request->comm)
        return error_raise(HOOP_E_INVALID, "comm is NULL");
    const enum hoop_status status = check_peer(request);
    if (status != HOOP_OK)
        return error_pass(status);
    if (dtype_size(request->dtype) == 0)
        return error_raise(HOOP_E_INVALID, "dtype %d is not known to hoop",
                           (int)request->dtype);
    if (request->tag < 0 || request->tag > (int64_t)1 << 62)
        return error_raise(HOOP_E_INVALID, "tag %lld is not between 0 and 2^62",
                           (long long)request->tag);
    if (__builtin_mul_overflow(request->count, dtype_size(request->dtype),
                               &n_bytes) ||
        n_bytes > INT64_MAX)
        return error_raise(HOOP_E_INVALID, "%zu elements of %s are too many",
                           request->count, dtype_name(request->dtype));
    if (!request->buffer && request->count > 0)
        return error_raise(HOOP_E_INVALID, "buffer is NULL");
    return HOOP_OK;
}

static enum hoop_status
start(const struct request *request, enum engine_mode mode, struct op **out_op)
{
    const enum hoop_status status = check(request);

    if (status != HOOP_OK)
        return error_pass(status);
    const struct engine_message message = {
        .call =
            {
                .name = request->name,
                .dtype = request->dtype,
                .root = request->peer,
                .count = request->count,
            },
        .tag = (uint64_t)request->tag,
        .peer = request->peer,
        /* A send's buffer is only read. */
        .bytes = (void *)(uintptr_t)request->buffer,
        .received = request->received,
        .mode = mode,
    };
    if (request->name == CALL_SEND)
        return engine_start_send(request->comm->channel, &message, out_op);
    return engine_start_receive(request->comm->channel, &message, out_op);
}

static enum hoop_status
run(const struct request *request)
{
    struct op *op = NULL;
    const enum hoop_status status = start(request, ENGINE_START_AND_WAIT, &op);

    if (status != HOOP_OK)
        return error_pass(status);
    return engine_wait(op, CLOCK_NEVER);
}

static enum hoop_status
run_later(const struct request *request, hoop_op_t **out_op)
{
    struct op *op = NULL;

    if (!out_op)
        return error_raise(HOOP_E_INVALID, "out_op is NULL");
    const enum hoop_status status = start(request, ENGINE_START, &op);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_op = (hoop_op_t *)op;
    return HOOP_OK;
}

enum hoop_status
hoop_send(const void *buffer,
          size_t count,
          enum hoop_dtype dtype,
          uint32_t dest,
          int64_t tag,
          hoop_comm_t *comm)
{
    return run(&(struct request){CALL_SEND, buffer, count, dtype, dest, tag,
                                 comm, NULL});
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
    return run_later(&(struct request){CALL_SEND, buffer, count, dtype, dest,
                                       tag, comm, NULL},
                     out_op);
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
    return run(&(struct request){CALL_RECV, buffer, count, dtype, source, tag,
                                 comm, out_received});
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
    return run_later(&(struct request){CALL_RECV, buffer, count, dtype, source,
                                       tag, comm, out_received},
                     out_op);
}
