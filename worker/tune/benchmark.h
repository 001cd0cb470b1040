/*
 * tune/benchmark.h - all algorithms in turns, when a world forms
 *
 * HOOP_TUNING=auto: a sample for each collective with a choice and each of a few
 * sizes, as hoop-perf --tune would run it, each call behind a barrier and
 * counted as on its slowest rank. It ends when it is through, or when rank 0's
 * time for it is over.
 */

#ifndef TUNE_BENCHMARK_H
#define TUNE_BENCHMARK_H

#include <stddef.h>

#include "hoop/status.h"

#include "engine/engine.h"
#include "plan/nodes.h"
#include "plan/plan.h"

/*
 * All ranks of the context call it, and nothing else meanwhile. *out_text is the
 * caller's: on rank 0 a line for each sample (tune/samples.h), elsewhere "".
 * Handle: HOOP_E_TIMEOUT (the context's), HOOP_E_PEER_LOST.
 */
enum hoop_status
benchmark_run(struct comm_context *context,
              const struct plan_nodes *nodes,
              char **out_text);

/*
 * Whether ranks that may read each other's memory should: an alltoall, of which
 * each byte is read by one, in a few turns each way, where context_shm_region().has_cma.
 * *out_is_faster is each rank's own answer; rank 0's counts. Handle: as above.
 */
enum hoop_status
benchmark_direct(struct comm_context *context,
                 const struct plan_nodes *nodes,
                 bool *out_is_faster);

#endif
