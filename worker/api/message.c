/* api/message.c - the code that all messages share */

#include "api/message.h"

#include "api/tags.h"
#include "base/error.h"
#include "dtype/dtype.h"
#include "session/comm.h"

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
    if (tag < 0 || tag > TAG_PROGRAM_MAX)
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
