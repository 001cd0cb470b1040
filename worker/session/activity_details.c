/* session/activity_details.c - encodes what a rank tells beyond its call */

#include "session/activity_details.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "rpc/messages/status_messages.h"
#include "wire/pack.h"

enum hoop_status
activity_details_pack(const struct engine_activity *activity,
                      uint8_t **out_bytes,
                      size_t *out_n_bytes)
{
    struct activity_details details = activity->details;
    CLEANUP(pack_deinit) struct pack pack = {0};

    /* The lists are read, never written. */
    details.processes = (struct rank_process *)activity->processes;
    details.waits = (struct rank_wait *)activity->waits;
    details.askers = (struct rank_asker *)activity->askers;
    pack_init(&pack, LIMIT_ACTIVITY_DETAILS);
    activity_details_encode(&details, &pack);
    const enum hoop_status status = pack_take(&pack, out_bytes, out_n_bytes);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
