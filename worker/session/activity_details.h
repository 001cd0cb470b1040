/*
 * session/activity_details.h - encodes what a rank tells beyond its call
 *
 * Thread: any.
 */

#ifndef SESSION_ACTIVITY_DETAILS_H
#define SESSION_ACTIVITY_DETAILS_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "engine/engine.h"

/* Encode what the engine has told beyond the call. The caller frees the bytes.
 * An answer without them is better than none, so the caller deals with every
 * error. */
enum hoop_status
activity_details_pack(const struct engine_activity *activity,
                      uint8_t **out_bytes,
                      size_t *out_n_bytes);

#endif
