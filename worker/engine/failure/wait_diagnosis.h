/*
 * engine/failure/wait_diagnosis.h - for whom an operation waits, how long, and what
 * then; private
 *
 * It declares state queries, heartbeats, straggler warnings and deadlines.
 */

#ifndef ENGINE_FAILURE_WAIT_DIAGNOSIS_H
#define ENGINE_FAILURE_WAIT_DIAGNOSIS_H

#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "engine/op.h"

/* heartbeat.c, by the progress owner. */

enum heartbeat_state {
    HEARTBEAT_UNKNOWN, /* nobody waits for it, or not for long */
    HEARTBEAT_SEEN,
    HEARTBEAT_MISSED,
};

/* Returns what the last checks say of rank. */
enum heartbeat_state
heartbeat_state_of(const struct engine *engine, uint32_t rank);

/* peer asks for a sign of life, or gives one. */
void
heartbeat_receive(struct engine *engine,
                  uint32_t peer,
                  const struct frame *frame);
/* Declare ranks without a heartbeat suspect. Returns when to check again. */
uint64_t
engine_check_heartbeats(struct engine *engine, uint64_t now_ns);

/* Ask all connected peers for a sign of life, to answer question. */
void
peer_views_request_begin(struct engine *engine, uint64_t question);
/* Returns when to check again. */
uint64_t
engine_check_peer_views(struct engine *engine, uint64_t now_ns);
/* Returns the largest round trip to any peer. */
uint32_t
longest_peer_round_trip_ms(const struct engine *engine);

/* failure_detector.c, by the progress owner: returns what this host shows of
 * rank's process. how says how it ended, or is "". */
enum engine_process_status
engine_process_status_of(const struct engine *engine,
                         uint32_t rank,
                         char how[LIMIT_NAME]);

/* wait_diagnosis.c, by the progress owner. */

/* Returns whether flow's peer is known to have made the same call: it has said
 * so, or has sent or asked for some of the data. */
bool
step_flow_peer_has_called(const struct step_flow *flow);
/* Returns the flow to blame: the first whose peer is not known to have called,
 * else the first. NULL: none. */
const struct step_flow *
op_awaited_flow(const struct op *op);
/* Returns the peer of that flow: a world rank, or HOOP_NO_RANK. */
uint32_t
op_awaited_rank(const struct op *op);
/* Describe for whom op waits, and what that rank does instead as far as op's
 * flows tell: "rank 1 (a:70) to send (0 of 4 bytes; it has not called
 * this)". */
void
op_describe_wait(const struct op *op, char text[LIMIT_ERROR_TEXT]);

/* Append whom op waited for and how long to its text, after the reason of its
 * failure. */
void
op_append_wait_text(struct op *op, const struct failure_notice *failure_notice);

/* Set when the straggler warning of a new operation is due. Thread: any. */
void
straggler_warning_plan(struct op *op);
/* The progress owner warns that op is late: once, or again and again if its
 * call gives notice of its waits (context_set_wait_purpose()). */
void
straggler_warn(struct op *op, uint64_t now_ns);
/* The progress owner answers query with what this rank is doing. */
void
activity_report(struct engine *engine, uint64_t query);

/* deadline.c, by the progress owner. */

/* Returns when, after now, a message asks what its peer does. */
uint64_t
message_next_query_ns(const struct op *op, uint64_t now_ns);

/* End operations whose time limit has passed, and set the next deadline. */
void
engine_check_deadlines(struct engine *engine, uint64_t now_ns);

#endif
