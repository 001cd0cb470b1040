/*
 * engine/events.h - passes what the transport reports on to the operations
 *
 * Private to engine/.
 */

#ifndef ENGINE_EVENTS_H
#define ENGINE_EVENTS_H

#include <stdint.h>

#include "transport/transport.h"

struct engine;

extern const struct transport_events engine_events;

/* Rank has left in good order. Called by the progress owner. */
void
engine_mark_left(struct engine *engine, uint32_t rank);

#endif
