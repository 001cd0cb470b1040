/*
 * session/growth.h - members and newcomers meet in a job that succeeds theirs
 *
 * A world never takes anybody in. Members that want more ranks agree on the name
 * of a job that nobody had before, write it where newcomers look, and join it
 * together, as any job is joined: so the grown communicator has an epoch, a
 * roster and connections of its own, and nothing of the former can reach it.
 * Where newcomers look is the store of the job that they were told to join, the
 * root, which lives for as long as one of its first members does.
 */

#ifndef SESSION_GROWTH_H
#define SESSION_GROWTH_H

#include <stdint.h>

#include "hoop/control.h"
#include "hoop/session.h"
#include "hoop/status.h"

#include "session/comm.h"
#include "session/lifetime.h"
#include "session/terms.h"

/* A place in the job that takes newcomers instead of terms', which nobody else
 * is given for PLACES_MS; out_successor->job is "" if there is none now. *control is made
 * when it is NULL, for the next time; the caller destroys it. Waits for the
 * coordinator until deadline_ns, and for a few seconds at most. */
void
growth_look(const struct terms *terms,
            uint64_t deadline_ns,
            hoop_control_t **control,
            struct successor *out_successor);

/* family's session is left: what it has grown to is left before. */
void
growth_end(struct comm_family *family);

#endif
