/* hooprun/crew.h - all workers of a run, from start to end */

#ifndef HOOPRUN_CREW_H
#define HOOPRUN_CREW_H

#include "hooprun/keeper.h"
#include "hooprun/outcome.h"
#include "hooprun/worker.h"

/*
 * Start the workers, forward their output, end all when one fails or hooprun
 * is asked to end. The signals of crew_block() must be blocked. keeper may be
 * NULL. *out_outcome is written if the workers could be started. Returns
 * hooprun's exit code.
 */
int
crew_run(struct worker_setup *setup,
         struct keeper *keeper,
         struct outcome *out_outcome);

/* The signals that crew_run() reads. */
void
crew_mask(sigset_t *out_mask);

/* Block the signals that crew_run() reads, and have SIGCHLD sent even if it was
 * ignored. The former mask is for workers. */
void
crew_block(sigset_t *out_mask, sigset_t *out_old_mask);

#endif
