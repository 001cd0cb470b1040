/*
 * session/exit_status.h - how the processes of this host have ended
 *
 * The kernel shows that a process is dead; how it ended, only its parent learns.
 * A launcher writes that into the file that HOOP_ENDINGS names, a line for each
 * worker, in any order, as soon as it knows:
 *
 *   1234 killed by signal 9 (Killed)
 *   1235 exited with code 3
 *   rank 2 ended (exit code 3)
 *
 * The number is the process. Nothing is read before a rank is suspected, or is
 * awaited in a join.
 */

#ifndef SESSION_EXIT_STATUS_H
#define SESSION_EXIT_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "engine/engine.h"
#include "transport/roster.h"

/* What is known of rank now; out_how is "" where nothing is. path: the file, or
 * "". Thread: any. */
enum engine_process_status
exit_status_find(const struct roster *roster,
                 uint32_t rank,
                 const char *path,
                 char out_how[LIMIT_NAME]);

/* A rank of a world of so many that has ended, as its line says it ("rank 2 ended
 * (exit code 0)"). False: none is known to have. Thread: any. */
bool
exit_status_find_absent(const char *path,
                        uint32_t world_size,
                        char out_text[LIMIT_NAME]);

#endif
