/* session/control_recording.c - asks the coordinator what a rank called last */

#include <string.h>

#include "hoop/control.h"
#include "hoop/recorder.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "recorder/recording.h"
#include "session/control.h"
#include "wire/pack.h"

static enum hoop_status
recording_query(struct hoop_control *control,
                const struct hoop_control_recording_source *source,
                struct recording_reply *out_reply)
{
    CLEANUP(pack_deinit) struct pack pack;

    pack_init(&pack, LIMIT_RPC_MESSAGE);
    recording_request_encode(
        &(struct recording_request){source->rank, source->via}, &pack);
    enum hoop_status status =
        control_call(control, METHOD_STATUS_RECORDING, &pack);
    if (status == HOOP_E_UNIMPLEMENTED)
        return error_raise(HOOP_E_UNIMPLEMENTED,
                           "the coordinator at %s is of an earlier version, "
                           "which passes no records on",
                           control->coordinator);
    if (status == HOOP_OK)
        status =
            recording_reply_decode(control_answer_body(control), out_reply);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_control_recording(hoop_control_t *control,
                       const struct hoop_control_recording_source *source,
                       hoop_recording_t **out_recording)
{
    CLEANUP(free) uint8_t *memory = NULL;
    struct recording_reply reply = {{0}};

    enum hoop_status status = control_check_argument(control, source, "source");
    if (status == HOOP_OK && !out_recording)
        return error_raise(HOOP_E_INVALID, "out_recording is NULL");
    if (status == HOOP_OK)
        status = recording_query(control, source, &reply);
    if (status != HOOP_OK)
        return error_pass(status);

    /* The parser reads numbers where they are, so they must be aligned. */
    const size_t n_bytes = reply.memory.n_bytes;
    const size_t alignment = _Alignof(struct recorder_memory);
    memory =
        aligned_alloc(alignment, (n_bytes + alignment) / alignment * alignment);
    if (!memory)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a record");
    if (n_bytes > 0)
        memcpy(memory, reply.memory.bytes, n_bytes);
    status = recording_parse(memory, n_bytes, out_recording);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
