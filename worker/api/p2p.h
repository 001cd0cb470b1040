/*
 * api/p2p.h - the code that all messages share
 *
 * Every public call describes its message by a struct hoop_message, which is
 * checked and converted for the engine by these functions.
 */

#ifndef API_P2P_H
#define API_P2P_H

#include "hoop/p2p.h"

#include "engine/engine.h"

/* Check a message on comm, which is not NULL and has this process as a member.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
message_check(const struct hoop_message *message, const hoop_comm_t *comm);

/* Check a tag that a program gave. Accepts any tag if comm is NULL or this
 * process is not a member; the caller handles that. Handle: HOOP_E_INVALID. */
enum hoop_status
message_check_tag(int64_t tag, const hoop_comm_t *comm);

/* Convert a checked message to the engine's request. */
struct engine_message
message_to_engine_request(const struct hoop_message *message,
                          enum engine_start_mode mode);

#endif
