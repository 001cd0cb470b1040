/*
 * engine/failure/wait_diagnosis.h - for whom an operation waits, how long, and
 * what then
 *
 * Private to engine/. Thread: the progress owner's, if nothing else is said.
 */

#ifndef ENGINE_FAILURE_WAIT_DIAGNOSIS_H
#define ENGINE_FAILURE_WAIT_DIAGNOSIS_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "engine/failure/heartbeat.h"
#include "engine/op.h"

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

/* Find a message with another tag that the peer of op, a receive of which
 * nothing has come, has sent and nobody has received; write its tag. Returns
 * false if there is none. */
bool
op_find_other_tag(const struct op *op, uint64_t *out_tag);

/* Append whom op waited for and how long to its text, after the reason of its
 * failure. */
void
op_append_wait_text(struct op *op, const struct failure_notice *failure_notice);

/* Set when the straggler warning of a new operation is due. Thread: any. */
void
straggler_warning_plan(struct op *op);
/* Warn that op is late: once, or again and again if its
 * call gives notice of its waits (context_set_wait_purpose()). */
void
straggler_warn(struct op *op, uint64_t now_ns);
/* Returns what the heartbeat says of the rank that op waits for. */
enum heartbeat_state
op_awaited_sign(const struct op *op);
/* The same as text: "; it lives", or "". */
const char *
op_awaited_sign_text(const struct op *op);

#endif
