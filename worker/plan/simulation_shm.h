/*
 * plan/simulation_shm.h - what a shared-memory plan would cost on a machine
 *
 * Rounds in step: a rank that has finished the one before posts, as soon as its
 * slot is free, and fetches, as soon as what it wants is published. A round
 * costs what it takes to see another's header, and where ranks outnumber the
 * processors, that each gets one in turn.
 *
 * A few ranks stand for all, and a few rounds: those in between are alike.
 */

#ifndef PLAN_SIMULATION_SHM_H
#define PLAN_SIMULATION_SHM_H

#include <stddef.h>

#include "hoop/status.h"

#include "plan/plan.h"
#include "plan/simulation.h"

/* As simulation_run(), for shared-memory algorithms; nodes play no part.
 * Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
simulation_shm_run(const struct algorithm *algorithm,
                   const struct plan_shape *shape,
                   size_t element_size,
                   const struct simulation_machine *machine,
                   struct simulation_result *out_result);

#endif
