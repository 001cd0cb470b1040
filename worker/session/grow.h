/*
 * session/grow.h - members and newcomers meet in a world that their job grows by
 *
 * A world never takes anybody in. Members that want more ranks agree on the name
 * of a world that nobody had before, and join it as any job is joined, but say
 * which job grows by it: so the grown communicator has an epoch, a roster and
 * connections of its own, and nothing of the former can reach it. Newcomers join
 * the job by the name that they were told; the coordinator takes them into the
 * world that forms, and tells them its name (server/core/growth.h).
 */

#ifndef SESSION_GROW_H
#define SESSION_GROW_H

#include "session/comm.h"

/* domain's session is left: what it has grown to is left before. */
void
grow_end(struct comm_domain *domain);
/* ... gives up, for why: so does what it has grown to, of which the coordinator is
 * told by domain's session. */
void
grow_abort(struct comm_domain *domain, const char *why);

#endif
