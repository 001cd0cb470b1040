/*
 * engine/events.h - passes what the transport reports on to the operations
 *
 * Private to engine/.
 */

#ifndef ENGINE_EVENTS_H
#define ENGINE_EVENTS_H

#include "transport/transport.h"

extern const struct transport_events engine_events;

#endif
