/*
 * engine/failure/state_query.h - a waiting rank asks others what they have
 * called
 *
 * Private to engine/. Thread: the progress owner's.
 */

#ifndef ENGINE_FAILURE_STATE_QUERY_H
#define ENGINE_FAILURE_STATE_QUERY_H

#include <stdint.h>

#include "engine/op.h"
#include "wire/frame.h"

/* Ask flow's peer what it has called. */
void
state_query_send(const struct step_flow *flow);
/* peer asks what this rank has called. */
void
state_query_receive(struct comm_context *context,
                    uint32_t peer,
                    const struct frame *frame);
/* peer asks about a communicator that is not here and will not come. */
void
state_query_answer_unknown_comm(struct engine *engine,
                                uint32_t peer,
                                const struct frame *frame);
/* peer answers this rank's question, or leaves and answers beforehand. */
void
state_query_apply_answer(struct comm_context *context,
                         uint32_t peer,
                         const struct frame *frame);
/* This rank leaves: answer beforehand what peer cannot ask any more. */
void
state_query_answer_before_leave(struct engine *engine, uint32_t peer);
/* This rank frees the communicator: answer beforehand what any peer may ask. */
void
state_query_answer_before_free(const struct comm_context *context);
/* op has just begun: compare it with the final states of departed ranks. */
void
state_query_apply_final(struct op *op);
/* Forget the final states of a context that ends. */
void
state_query_clear_final(struct comm_context *context);

#endif
