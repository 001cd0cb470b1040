/* tests/integration/collectives/lossy_job.h - nodes of two ranks, and floats
 * that lose bits */

#ifndef TESTS_LOSSY_JOB_H
#define TESTS_LOSSY_JOB_H

#include "codec/loss.h"
#include "ranks.h"

/* On nodes of two ranks, one of the last when their number is odd; what rank
 * 0 says of loss counts. As a rank's body, as are all below: not 0 when it
 * failed, which was told. */
int
lossy_job_begin(struct rank *rank, enum codec_loss loss);
void
lossy_job_end(struct rank *rank);

/* What all ranks have must be one, bit by bit. */
int
lossy_job_require_alike(struct rank *rank, const void *bytes, size_t n_bytes);

/* Ranks of each of some numbers, up to largest, run body. */
void
lossy_job_run(rank_fn *body,
              const void *input,
              const char *codec,
              uint32_t largest);

#endif
