/*
 * engine/deadline.h - operations that make no progress: asks peers, then ends
 * them
 *
 * Private to engine/. Thread: the progress owner's.
 */

#ifndef ENGINE_DEADLINE_H
#define ENGINE_DEADLINE_H

#include <stdint.h>

struct engine;
struct op;

/* Returns when op must be looked at next even if nothing arrives. */
uint64_t
op_next_check_ns(const struct op *op);
/* Returns when, after now, a message asks what its peer does. */
uint64_t
message_next_query_ns(const struct op *op, uint64_t now_ns);
/* End operations whose time limit has passed, and set the next deadline. */
void
engine_check_deadlines(struct engine *engine, uint64_t now_ns);

#endif
