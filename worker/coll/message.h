/*
 * coll/message.h - the part of every message that is the same
 *
 * All public calls speak of a struct hoop_message: it is checked and handed to
 * the engine.
 */

#ifndef COLL_MESSAGE_H
#define COLL_MESSAGE_H

#include "hoop/p2p.h"

#include "engine/engine.h"

/* comm is not NULL and has this process as a member. Handle: HOOP_E_INVALID. */
enum hoop_status
message_check(const struct hoop_message *message, const hoop_comm_t *comm);

/* A program's tag; a comm that is NULL, or has this process as no member, is
 * somebody else's affair. Handle: HOOP_E_INVALID. */
enum hoop_status
message_check_tag(int64_t tag, const hoop_comm_t *comm);

/* As the engine wants it; it has been checked. */
struct engine_message
message_request(const struct hoop_message *message, enum engine_mode mode);

#endif
