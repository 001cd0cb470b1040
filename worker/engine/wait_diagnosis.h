/*
 * engine/wait_diagnosis.h - who waits: for whom, how long, and what then; private
 *
 * Asking, feeling heartbeats, warning, giving up.
 */

#ifndef ENGINE_WAIT_DIAGNOSIS_H
#define ENGINE_WAIT_DIAGNOSIS_H

#include <stdint.h>

#include "hoop/status.h"

#include "base/limits.h"
#include "engine/op.h"

/* heartbeat.c, by the progress owner. */

enum heartbeat_state {
    HEARTBEAT_UNKNOWN, /* nobody waits for it, or not for long */
    HEARTBEAT_SEEN,
    HEARTBEAT_MISSED, /* for a moment */
};

enum heartbeat_state
heartbeat_state_of(const struct engine *engine, uint32_t rank);

/* peer asks for a sign of life, or gives one. */
void
heartbeat_receive(struct engine *engine,
                  uint32_t peer,
                  const struct frame *frame);
/* Who has none is lost. Returns when to look again. */
uint64_t
engine_check_heartbeats(struct engine *engine, uint64_t now_ns);

/* Ask peer for a sign of life. */
void
heartbeat_request(struct engine *engine, uint32_t peer);
/* Whether nothing has come of peer for the failure timeout, which waits for it. */
bool
heartbeat_has_timed_out(struct engine *engine, uint32_t peer);
/* The round trip to peer, and four times its variation: of one that is silent what
 * was measured while it still spoke. */
uint32_t
heartbeat_round_trip_ms(const struct engine *engine, uint32_t peer);

/* views.c, by the progress owner. */

void
views_begin(struct engine *engine, uint64_t question);
/* Returns when to look again. */
uint64_t
engine_check_views(struct engine *engine, uint64_t now_ns);
/* The largest round trip to a peer. */
uint32_t
views_slack_ms(const struct engine *engine);

/* failure_detector.c, by the progress owner: what this host shows of rank's process. how: how it
 * ended, or "". */
enum engine_process_status
engine_process_status_of(const struct engine *engine,
                         uint32_t rank,
                         char how[LIMIT_NAME]);

/* wait_diagnosis.c, by the progress owner. */

/* Whether flow's peer is known to have called the same: it has said so, has sent
 * some of it, or has asked for some of it. */
bool
step_flow_has_called(const struct step_flow *flow);
/* The flow to blame: the first whose peer is not known to have called, else the
 * first. NULL: none. */
const struct step_flow *
op_awaited_flow(const struct op *op);
/* Its peer: a world rank, or HOOP_NO_RANK. */
uint32_t
op_awaited_rank(const struct op *op);
/* Whom op waits for, and what that one does instead, as far as op's flows tell:
 * "rank 1 (a:70) to send (0 of 4 bytes; it has not called this)". */
void
op_describe_wait(const struct op *op, char text[LIMIT_ERROR_TEXT]);

enum {
    TIME_TEXT_MAX = 96
};

/* Whose the deadline is: "HOOP_TIMEOUT". */
const char *
op_deadline_origin(const struct op *op);
/* "0.310 s of the 600 s that HOOP_TIMEOUT allows" */
void
op_describe_time(const struct op *op, char text[TIME_TEXT_MAX]);
/* Both, behind why op fails, in its text. */
void
op_add_wait(struct op *op, const struct failure_notice *failure_notice);

/* straggler.c. */

/* Sets when an operation that has just been made is late. Thread: any. */
void
straggler_plan(struct op *op);
/* By the progress owner: op is late. Says so, once; again and again where its call gives
 * notice of its waits (context_set_purpose()). */
void
straggler_warn(struct op *op, uint64_t now_ns);
/* By the progress owner: answer query with what this rank is in. */
void
activity_report(struct engine *engine, uint64_t query);

/* deadline.c, by the progress owner. */

/* When a message asks what its peer does, after now. */
uint64_t
message_asks_ns(const struct op *op, uint64_t now_ns);

/* End what has taken too long; sets the next deadline. */
void
engine_check_deadlines(struct engine *engine, uint64_t now_ns);

#endif
