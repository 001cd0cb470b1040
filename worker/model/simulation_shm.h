/*
 * model/simulation_shm.h - estimates the cost of a shared-memory plan
 *
 * A rank posts as soon as it has finished the previous round and its slot is
 * free, and fetches data as soon as it is published. A round also costs the
 * time to see another rank's header and, if ranks outnumber the processors, the
 * time until each rank has had its turn on a processor.
 *
 * Only some of the ranks are simulated, and only the first and last rounds,
 * because the rounds between them are alike.
 */

#ifndef MODEL_SIMULATION_SHM_H
#define MODEL_SIMULATION_SHM_H

#include <stddef.h>

#include "hoop/status.h"

#include "model/simulation.h"
#include "plan/plan.h"

/* Like simulation_run(), for shared-memory algorithms; nodes are ignored.
 * Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_shm_run(const struct algorithm *algorithm,
                   const struct plan_shape *shape,
                   size_t element_size,
                   const struct simulation_machine *machine,
                   struct simulation_result *out_result);

#endif
