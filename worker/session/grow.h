/*
 * session/grow.h - growing a job: members and newcomers form a new world
 *
 * A world never admits new members. Members that want more ranks agree on a
 * world name that was never used before and join that world as any job is
 * joined, but with the name of the job that grows. So the grown communicator
 * has its own epoch, roster and connections, and no message of the former world
 * can reach it. Newcomers join by the job name that they were given; the
 * coordinator admits them to the world that is forming and tells them its name
 * (server/core/forming.h).
 */

#ifndef SESSION_GROW_H
#define SESSION_GROW_H

#include "session/comm.h"

/* Leave all sessions that domain's session has grown into. Called when that
 * session is being left. */
void
grow_leave_grown_sessions(struct comm_domain *domain);
/* Give up in all sessions that domain's session has grown into, for the reason
 * why. The caller tells the coordinator through domain's own session. */
void
grow_abort_grown_sessions(struct comm_domain *domain, const char *why);

#endif
