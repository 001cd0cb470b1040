/*
 * select/benchmark.h - measures all algorithms when a world forms
 *
 * For HOOP_TUNING=auto. Takes one sample for each of a few sizes of each
 * collective that has a choice of algorithms, as hoop-perf --tune does. Each
 * call begins with a barrier and takes as long as its slowest rank. The
 * benchmark ends when it is complete or when rank 0's time limit has passed.
 */

#ifndef SELECT_BENCHMARK_H
#define SELECT_BENCHMARK_H

#include <stddef.h>

#include "hoop/status.h"

#include "engine/engine.h"
#include "plan/nodes.h"
#include "plan/plan.h"

/*
 * All ranks of the context call this, and use the context for nothing else
 * meanwhile. The caller frees *out_text: on rank 0 it has a line for each
 * sample (select/samples.h), elsewhere it is "".
 * Handle: HOOP_E_TIMEOUT (the context's), HOOP_E_PEER_LOST.
 */
enum hoop_status
benchmark_run(struct comm_context *context,
              const struct plan_nodes *nodes,
              char **out_text);

/*
 * Measures whether ranks that can read each other's memory should do so: runs
 * an alltoall, of which each byte is read by one rank, a few times each way.
 * Requires context_plan_shm_region().has_cma. Each rank gets its own answer in
 * *out_is_faster; only rank 0's is used. Handle: as above.
 */
enum hoop_status
benchmark_compare_cma(struct comm_context *context,
                      const struct plan_nodes *nodes,
                      bool *out_is_faster);

#endif
