/* session/comm.h - a communicator: a channel of the engine, with its defaults */

#ifndef SESSION_COMM_H
#define SESSION_COMM_H

#include "hoop/comm.h"

#include "engine/engine.h"

struct hoop_comm {
    struct channel *channel;
    uint32_t session_timeout_ms; /* what 0 means to hoop_comm_set_timeout() */
};

#endif
