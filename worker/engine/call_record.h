/*
 * engine/call_record.h - what the flight recorder is told of calls
 *
 * Private to engine/. A call is recorded when it gets its number, under the
 * lock. Then its record belongs to whoever has the call: the caller that makes
 * it inline, or the progress owner.
 */

#ifndef ENGINE_CALL_RECORD_H
#define ENGINE_CALL_RECORD_H

#include "engine/op.h"
#include "engine/state.h"
#include "recorder/recorder.h"

/* Create the engine's recorder, if its settings want one. Handle: as
 * recorder_create(). */
enum hoop_status
call_record_start(struct engine *engine);

/* Record op, which has its number and all that it will do. The caller holds the
 * lock. */
void
op_record_called(struct op *op);
/* Returns the time of a call that is made now, for op_record_inline(); 0: calls
 * are not recorded. */
static inline uint64_t
call_record_time(const struct engine *engine)
{
    return engine->recorder ? recorder_now(engine->recorder) : 0;
}

/* What op_record_inline() does if there is a recorder. */
void
op_record_collective(struct op *op,
                     const struct engine_collective *collective,
                     uint64_t called);
/* Record a collective that its caller makes inline with op, which has its
 * number, and that was called at a time of call_record_time(). The caller holds
 * the lock. */
static inline void
op_record_inline(struct op *op,
                 const struct engine_collective *collective,
                 uint64_t called)
{
    if (called > 0)
        op_record_collective(op, collective, called);
}

/* What op_record_ended() does if op has a record. */
void
op_record_end(struct op *op, uint8_t path);
/* op has ended with its status, and its failure's details are known. path has
 * bits of enum recorder_path that op itself does not know. */
static inline void
op_record_ended(struct op *op, uint8_t path)
{
    if (op->run.record)
        op_record_end(op, path);
}

/* The same for a call that could not become an operation. */
void
op_record_failed(struct op *op, enum hoop_status status);

/* Record a message that its caller makes inline. Returns its slot, which may be
 * NULL. The caller holds the lock. */
struct recorder_slot *
message_record_called(struct comm_context *context,
                      const struct engine_message *message,
                      uint64_t number);
/* in, an inline receive, has got its message. */
void
message_record_received(const struct comm_context *context,
                        struct recorder_slot *slot,
                        const struct recv_request *in);
/* The inline message has ended well. */
void
message_record_ended(const struct comm_context *context,
                     struct recorder_slot *slot,
                     const struct engine_message *message);
/* The call of slot has ended with status, and waited for nobody. */
void
message_record_failed(const struct engine *engine,
                      struct recorder_slot *slot,
                      enum hoop_status status);

/* Which way bytes to or from a world rank take. */
static inline uint8_t
path_to_rank(const struct engine *engine, uint32_t world_rank)
{
    return transport_has_ring(engine->transport, world_rank)
               ? RECORDER_PATH_RING
               : RECORDER_PATH_SOCKET;
}

/* Bytes of op have been moved to or from a world rank. */
static inline void
op_record_moved(struct op *op, uint32_t world_rank)
{
    if (op->run.record)
        op->run.recorded_path |= path_to_rank(op->engine, world_rank);
}

/* Bytes of op have arrived from a world rank. */
static inline void
op_record_arrived(struct op *op, uint32_t world_rank)
{
    op_record_moved(op, world_rank);
    recorder_arrived(op->engine->recorder, op->run.record, world_rank);
}

/* op cannot go on without a rank of its context. */
static inline void
op_record_waits(struct op *op, uint32_t rank)
{
    recorder_waits(op->engine->recorder, op->run.record,
                   op->run.context->ranks[rank]);
}

/* op has waited for a while, and still does. */
void
op_record_awaited(struct op *op);

#endif
