/*
 * engine/failure/activity.h - what this rank is doing, for those who ask
 *
 * The coordinator asks on behalf of an operator. The answer says in which call
 * the rank is, whom it waits for and what is known of that rank, which calls it
 * has finished, and which processes of its host it sees, so that their state
 * can be told, too: a process that is stopped cannot answer itself.
 *
 * Private to engine/. Thread: the progress owner's.
 */

#ifndef ENGINE_FAILURE_ACTIVITY_H
#define ENGINE_FAILURE_ACTIVITY_H

#include <stdint.h>

#include "hoop/status.h"

struct engine;
struct op;

/* Answer query with what this rank is doing. */
void
activity_report(struct engine *engine, uint64_t query);
/* If this rank waits for one that has not made the same call, remember that.
 * Called now and then while operations run. */
void
activity_note_wait(struct engine *engine, uint64_t now_ns);
/* Keep the text of op, which has failed with status, for later answers. */
void
activity_note_failure(const struct op *op, enum hoop_status status);

#endif
