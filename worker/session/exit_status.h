/*
 * session/exit_status.h - how the processes of this host have ended
 *
 * The kernel shows that a process has ended, but only its parent learns how. A
 * launcher writes that into the file that HOOP_ENDINGS names: one line for each
 * worker, in any order, as soon as it knows:
 *
 *   1234 killed by signal 9 (Killed)
 *   1235 exited with code 3
 *   rank 2 ended (exit code 3)
 *
 * The number at the beginning is the process id. The file is read only when a
 * rank is suspected, or when a join waits for a rank.
 */

#ifndef SESSION_EXIT_STATUS_H
#define SESSION_EXIT_STATUS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/limits.h"
#include "engine/engine.h"
#include "transport/roster.h"

/* Look up the process of rank. Writes to out_how how it ended, or "" if that is
 * not known. path is the launcher's file, or "". Thread: any. */
enum engine_process_status
exit_status_find(const struct roster *roster,
                 uint32_t rank,
                 const char *path,
                 char out_how[LIMIT_NAME]);

/* Look for a rank below world_size whose end is in the file at path, and write
 * its line ("rank 2 ended (exit code 0)") to out_text. Returns false if there
 * is none. Thread: any. */
bool
exit_status_find_ended_rank(const char *path,
                            uint32_t world_size,
                            char out_text[LIMIT_NAME]);

#endif
