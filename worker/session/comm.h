/* session/comm.h - a communicator: a channel of the engine, with its defaults */

#ifndef SESSION_COMM_H
#define SESSION_COMM_H

#include "hoop/comm.h"

#include "engine/engine.h"
#include "tune/tuning.h"

/* On the wire, 0 stands for no communicator (a verdict on a rank): the ids
 * that the coordinator gives out, of which 0 is the world's, begin here. */
enum {
    COMM_ID_FIRST = 1
};

struct hoop_comm {
    struct channel *channel;
    struct tuning *tuning;       /* which algorithm; NULL: the first of each */
    uint32_t session_timeout_ms; /* what 0 means to hoop_comm_set_timeout() */
};

#endif
