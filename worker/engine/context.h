/*
 * engine/context.h - the contexts of an engine: expected, open and closed
 *
 * Private to engine/.
 */

#ifndef ENGINE_CONTEXT_H
#define ENGINE_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

struct comm_context;
struct engine;

/* Destroy context, on which nothing runs. */
void
context_destroy(struct comm_context *context);

/* Returns whether frames for communicator id must be kept: it is open, or may
 * be one that is being formed. owner is the engine. */
bool
engine_keeps_frames_of_context(void *owner, uint64_t id);

/* Drop kept frames of communicators for which
 * engine_keeps_frames_of_context() is false. */
void
engine_drop_stale_frames(struct engine *engine);

/* Returns the number that users are told of a collective: they count only their
 * own calls. */
uint64_t
context_user_call_number(const struct comm_context *context, uint64_t number);

/* Messages that form a context are numbered from here. Users' messages to each
 * rank are numbered from 1. */
static const uint64_t FIRST_FORMING_MESSAGE_NUMBER = (uint64_t)1 << 32;

/* Returns the number that users are told of a message. */
uint64_t
message_user_number(uint64_t number);

#endif
