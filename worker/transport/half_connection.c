/* transport/half_connection.c - which state of a half may follow which */

#include "transport/half_connection.h"

/* A socket that took no more (BROKEN) becomes ENDED when all is closed. OPEN
 * becomes ENDED if our GOODBYE frame could not be queued when the peer left. */
const struct state_table_row send_state_table[SEND_STATES] = {
    [SEND_NEW] = {"send new",
                  SM_TO(SEND_CONNECTING) | SM_TO(SEND_OPEN) | SM_TO(SEND_LOST)},
    [SEND_CONNECTING] = {"send connecting",
                         SM_TO(SEND_NEW) | SM_TO(SEND_OPEN) | SM_TO(SEND_LOST)},
    [SEND_OPEN] = {"send open", SM_TO(SEND_GOODBYE) | SM_TO(SEND_ENDED) |
                                    SM_TO(SEND_BROKEN) | SM_TO(SEND_LOST)},
    [SEND_GOODBYE] = {"send goodbye", SM_TO(SEND_ENDED) | SM_TO(SEND_BROKEN) |
                                          SM_TO(SEND_LOST)},
    [SEND_ENDED] = {"send ended", SM_TO(SEND_BROKEN) | SM_TO(SEND_LOST)},
    [SEND_BROKEN] = {"send broken", SM_TO(SEND_ENDED) | SM_TO(SEND_LOST)},
    [SEND_LOST] = {"send lost", 0},
};

const struct state_table_row receive_state_table[RECEIVE_STATES] = {
    [RECEIVE_NEW] = {"receive new", SM_TO(RECEIVE_OPEN) | SM_TO(RECEIVE_LOST)},
    [RECEIVE_OPEN] = {"receive open",
                      SM_TO(RECEIVE_GOODBYE) | SM_TO(RECEIVE_LOST)},
    [RECEIVE_GOODBYE] = {"receive goodbye",
                         SM_TO(RECEIVE_ENDED) | SM_TO(RECEIVE_LOST)},
    [RECEIVE_ENDED] = {"receive ended", SM_TO(RECEIVE_LOST)},
    [RECEIVE_LOST] = {"receive lost", 0},
};
