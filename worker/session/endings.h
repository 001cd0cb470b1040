/*
 * session/endings.h - how the processes of this host have ended
 *
 * The kernel shows that a process is dead; how it ended, only its parent learns.
 * A launcher writes that into the file that HOOP_ENDINGS names, a line for each
 * worker, in any order, as soon as it knows:
 *
 *   1234 killed by signal 9 (Killed)
 *   1235 exited with code 3
 *
 * The number is the process. Nothing is read before a rank is suspected.
 */

#ifndef SESSION_ENDINGS_H
#define SESSION_ENDINGS_H

#include "base/limits.h"
#include "engine/engine.h"
#include "transport/roster.h"

/* What is known of rank now; out_how is "" where nothing is. path: the file, or
 * "". Thread: any. */
enum engine_fate
endings_look(const struct roster *roster,
             uint32_t rank,
             const char *path,
             char out_how[LIMIT_NAME]);

#endif
