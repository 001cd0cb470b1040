/* hooprun/process_group.h - all workers of a run, from start to end */

#ifndef HOOPRUN_PROCESS_GROUP_H
#define HOOPRUN_PROCESS_GROUP_H

#include "hooprun/outcome.h"
#include "hooprun/supervisor.h"
#include "hooprun/worker.h"

/*
 * Start the workers, forward their output, and end all when one fails or
 * hooprun is asked to end. The signals of process_group_block() must be
 * blocked. supervisor may be NULL. *out_outcome is set if the workers could be
 * started. Returns hooprun's exit code.
 */
int
process_group_run(struct worker_setup *setup,
                  struct supervisor *supervisor,
                  struct outcome *out_outcome);

/* The signals that process_group_run() reads. */
void
process_group_mask(sigset_t *out_mask);

/* Block the signals that process_group_run() reads, and enable SIGCHLD even if
 * it was ignored. Workers get the old mask. */
void
process_group_block(sigset_t *out_mask, sigset_t *out_old_mask);

#endif
