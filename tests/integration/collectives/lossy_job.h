/* tests/integration/collectives/lossy_job.h - collectives with a lossy codec */

#ifndef TESTS_LOSSY_JOB_H
#define TESTS_LOSSY_JOB_H

#include "codec/loss.h"
#include "ranks.h"

/* Puts two ranks on each node, or one on the last node if their number is odd.
 * The loss that rank 0 passes counts. Like a body, this function and the others
 * below return something other than 0 after a failure, which they have
 * reported. */
int
lossy_job_begin(struct rank *rank, enum codec_loss loss);
void
lossy_job_end(struct rank *rank);

/* Checks that all ranks have the same bytes. */
int
lossy_job_require_alike(struct rank *rank, const void *bytes, size_t n_bytes);

/* Runs body on several numbers of ranks, up to largest. */
void
lossy_job_run(rank_fn *body,
              const void *input,
              const char *codec,
              uint32_t largest);

#endif
