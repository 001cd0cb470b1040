/*
 * tune/estimate.h - what one algorithm would cost at one size
 *
 * Elements of four bytes and rank 0 as root stand for all: a table has no
 * place for more.
 */

#ifndef TUNE_ESTIMATE_H
#define TUNE_ESTIMATE_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "plan/nodes.h"
#include "plan/registry.h"
#include "plan/simulation.h"

/* Where it would run. */
struct estimate_place {
    const struct plan_nodes *nodes;
    const struct simulation_machine *machine;
    struct plan_shm_region shm_region;
    /* Payloads are compressed: sums of many ranks' data less than the data. */
    bool is_coded;
};

/* Ranks for each processor of the fullest node; 1 if that is less. */
double
estimate_oversubscription(const struct estimate_place *place);

/* Whether entry has a point there at all. */
bool
estimate_suits(const struct estimate_place *place,
               const struct registry_entry *entry);

/* n_bytes as in tune/tuning.h. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
estimate_cost(const struct estimate_place *place,
              const struct registry_entry *entry,
              uint64_t n_bytes,
              double *out_ns);

/* What a rank combines on average, for each element of the larger buffer: what
 * it takes of processors while they wait for a link anyway. n_bytes, handle: as
 * above. Linear in ranks: for few. */
enum hoop_status
estimate_combining(const struct estimate_place *place,
                   const struct registry_entry *entry,
                   uint64_t n_bytes,
                   double *out_share);

#endif
