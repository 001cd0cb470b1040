/*
 * session/activity_details.h - encodes what a rank tells beyond its call
 *
 * Thread: any. That of the session's loop owns progress only while no thread
 * waits in a call, so that to look at processes delays no such call.
 */

#ifndef SESSION_ACTIVITY_DETAILS_H
#define SESSION_ACTIVITY_DETAILS_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "engine/engine.h"
#include "transport/roster.h"

/* Encode what the engine has told beyond the call, the state of the processes
 * that it has named, and the program's stack. The caller frees the bytes. An
 * answer without them is better than none, so the caller deals with every
 * error. */
enum hoop_status
activity_details_pack(const struct roster *roster,
                      const struct engine_activity *activity,
                      uint8_t **out_bytes,
                      size_t *out_n_bytes);

/* Encode what engine_describe_end() has told of an engine that has been shut
 * down. Writes no bytes if no call has failed. The caller frees them, and deals
 * with every error. */
enum hoop_status
activity_end_pack(struct engine *engine,
                  uint8_t **out_bytes,
                  size_t *out_n_bytes);

#endif
