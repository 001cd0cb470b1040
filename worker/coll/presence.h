/*
 * coll/presence.h - who takes part: the first question of every call
 *
 * A communicator may not have this process as a member. Every call on it
 * succeeds at once and touches nothing.
 */

#ifndef COLL_PRESENCE_H
#define COLL_PRESENCE_H

#include <stdbool.h>

#include "hoop/comm.h"

/* A new call begins: forgets the last error. Handle: HOOP_E_INVALID (NULL). */
enum hoop_status
presence_check(const hoop_comm_t *comm, bool *out_is_member);

#endif
