/*
 * engine/failure/heartbeat.h - asks ranks that are waited for whether they live
 *
 * Private to engine/. Thread: the progress owner's.
 */

#ifndef ENGINE_FAILURE_HEARTBEAT_H
#define ENGINE_FAILURE_HEARTBEAT_H

#include <stdint.h>

#include "base/limits.h"
#include "engine/engine.h"
#include "wire/frame.h"

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
/* peer asks whether this rank lives or what it has called, so it is heard. */
void
heartbeat_note_asker(struct engine *engine, uint32_t peer);
/* Check the ranks that are waited for, if that is due. Returns when to check
 * again. If a rank has been silent for too long, it is *out_rank, and out_why
 * says what is known of it; else *out_rank is HOOP_NO_RANK. */
uint64_t
heartbeat_check_awaited(struct engine *engine,
                        uint64_t now_ns,
                        uint32_t *out_rank,
                        char out_why[LIMIT_REPORT_REASON]);
/* Ask all connected peers for a sign of life, to answer question. */
void
peer_views_request_begin(struct engine *engine, uint64_t question);
/* Returns when to check again. */
uint64_t
engine_check_peer_views(struct engine *engine, uint64_t now_ns);
/* Returns the largest round trip to any peer. */
uint32_t
longest_peer_round_trip_ms(const struct engine *engine);
/* Returns what this host shows of rank's process. how says how it ended, or is
 * "". */
enum engine_process_status
engine_process_status_of(const struct engine *engine,
                         uint32_t rank,
                         char how[LIMIT_NAME]);

#endif
