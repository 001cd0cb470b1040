/* session/session_stats.c - how much data a rank has moved so far */

#include "hoop/session.h"

#include "engine/engine.h"
#include "session/comm.h"

void
hoop_session_stats(hoop_session_t *session, struct hoop_stats *out_stats)
{
    const struct hoop_comm *world = hoop_world(session);
    struct engine_stats stats = {0};

    if (!out_stats)
        return;
    if (world)
        engine_stats(world->domain->engine, &stats);
    *out_stats = (struct hoop_stats){
        .operations = stats.operations,
        .bytes_sent = stats.transport.bytes_sent,
        .bytes_received = stats.transport.bytes_received,
        .wire_sent = stats.transport.wire_sent,
        .connections = stats.transport.connections,
    };
}
