/*
 * engine/failure/failure_detector.h - finds lost ranks, or believes others who
 * found them
 *
 * Private to engine/. Thread: the progress owner's.
 */

#ifndef ENGINE_FAILURE_FAILURE_DETECTOR_H
#define ENGINE_FAILURE_FAILURE_DETECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/evidence.h"
#include "engine/failure/failure_record.h"

struct engine;
struct op;

/* Record that rank, which may be this one, is certainly dead or gone by
 * evidence (EVIDENCE_TOLD: another rank has found out). Every operation that
 * needs it ends. */
void
engine_mark_lost(struct engine *engine,
                 uint32_t rank,
                 enum evidence evidence,
                 const char *why);
/* This rank has "no memory for ..." its connection to peer, as why says. peer,
 * which is about to lose the connection, is not at fault: operations with it
 * fail with HOOP_E_EXHAUSTED, and this rank gives up. */
void
engine_fail_without_memory(struct engine *engine,
                           uint32_t peer,
                           const char *why);
/* This rank has seen evidence that rank is dead. base/evidence.h says who may
 * conclude from which evidence; until then rank is only suspected. */
void
engine_suspect_rank(struct engine *engine,
                    uint32_t rank,
                    enum evidence evidence,
                    const char *why);
/* The coordinator will not decide about rank: apply the rule for ranks
 * alone. */
void
failure_detector_decide_now(struct engine *engine, uint32_t rank);
/* Check all suspected ranks. Returns when to check again. */
uint64_t
engine_check_suspects(struct engine *engine, uint64_t now_ns);
/* Returns whether op cannot end any more, and why: a member is lost, or one
 * that is still needed has left. */
bool
op_cannot_end(struct op *op, struct failure_notice *out_notice);
/* This rank gives up. Returns whether it was neither lost nor leaving. */
bool
engine_give_up_execute(struct engine *engine, const char *why);
/* Declare ranks without a heartbeat suspect. Returns when to check again. */
uint64_t
engine_check_heartbeats(struct engine *engine, uint64_t now_ns);

#endif
