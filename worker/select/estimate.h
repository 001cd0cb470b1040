/*
 * select/estimate.h - estimates what one algorithm costs at one size
 *
 * Assumes elements of four bytes and rank 0 as root, because a table does not
 * distinguish more.
 */

#ifndef SELECT_ESTIMATE_H
#define SELECT_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "algorithms/registry.h"
#include "model/machine.h"
#include "plan/nodes.h"

/* Where the algorithm would run. */
struct estimate_environment {
    const struct plan_nodes *nodes;
    const struct simulation_machine *machine;
    struct plan_shm_region shm_region;
    /* Payloads are compressed, and sums of many ranks' data compress less well
     * than the data. */
    bool is_coded;
};

/* Ranks per processor on the fullest node, but at least 1. */
double
estimate_oversubscription(const struct estimate_environment *place);

/* May the model choose entry at this place? */
bool
estimate_can_choose(const struct estimate_environment *place,
                    const struct registry_algorithm *entry);

/* n_bytes has the meaning that select/tuning.h defines. Handle: none
 * (HOOP_E_EXHAUSTED). */
enum hoop_status
estimate_cost(const struct estimate_environment *place,
              const struct registry_algorithm *entry,
              uint64_t n_bytes,
              double *out_ns);

/* The average number of elements that a rank combines, per element of the
 * larger buffer. Combining uses processor time even where the ranks wait for a
 * link. n_bytes and Handle: as above. The time grows linearly with the ranks,
 * so use it for few. */
enum hoop_status
estimate_combined_share(const struct estimate_environment *place,
                        const struct registry_algorithm *entry,
                        uint64_t n_bytes,
                        double *out_share);

#endif
