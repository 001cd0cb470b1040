/*
 * select/tuner.h - the inputs of a session's tables of switch points
 *
 * Each session has one tuner, which the tunings of all its communicators
 * borrow. It starts with this rank's settings; once the world has agreed, it
 * has the settings and measurements of the world's rank 0. It caches the tables
 * it has built, because groups of the same layout have the same table.
 */

#ifndef SELECT_TUNER_H
#define SELECT_TUNER_H

#include <stdbool.h>
#include <stddef.h>

#include "hoop/status.h"

#include "base/cleanup.h"
#include "base/config.h"
#include "codec/loss.h"
#include "plan/nodes.h"
#include "select/link_probe.h"
#include "select/samples.h"
#include "select/table.h"
#include "transport/roster.h"

struct tuner;

/* Check the settings of a tuner before they are used: HOOP_ALGORITHM,
 * HOOP_DEBUG_LINK and HOOP_TUNING. Handle: HOOP_E_INVALID (error_text() lists
 * the valid values), HOOP_E_NOT_FOUND (the file). */
enum hoop_status
tuner_config_check(const struct config *config);

/*
 * roster is borrowed until tuner_destroy(), which the caller calls. HOOP_TUNING
 * is used only on rank 0.
 * Handle: HOOP_E_INVALID, HOOP_E_NOT_FOUND (as tuner_config_check()).
 */
enum hoop_status
tuner_create(const struct roster *roster,
             const struct config *config,
             struct tuner **out_tuner);

/* tuner may be NULL. */
void
tuner_destroy(struct tuner *tuner);
DEFINE_CLEANUP(struct tuner *, tuner_destroy)

const struct roster *
tuner_roster(const struct tuner *tuner);

/* Thread: any, for all functions below. */

/* The role in which rank 0 calls link_probe_run(): whether HOOP_TRANSPORT lets
 * the ranks of a host share memory. */
enum link_probe_role
tuner_measuring_role(const struct tuner *tuner);
/* Is the machine neither configured nor measured nor agreed on? */
bool
tuner_needs_machine_costs(struct tuner *tuner);
/* Has the world agreed? All its ranks then have the same inputs. */
bool
tuner_has_agreed(struct tuner *tuner);
/* Does HOOP_CMA=on require that ranks read each other's memory where they can?
 * Only rank 0's setting is used. */
bool
tuner_requires_cma(struct tuner *tuner);
/* Prefer reading each other's memory where ranks share a region. */
void
tuner_prefer_cma(struct tuner *tuner);
void
tuner_set_machine_costs(struct tuner *tuner,
                        const struct simulation_machine *machine);

/* The inputs of tables; after the agreement, they are the same on all ranks. */
void
tuner_machine_and_overrides(struct tuner *tuner,
                            struct simulation_machine *out_machine,
                            struct overrides *out_overrides);

/*
 * Build a table, or find it in the cache, for ranks on these nodes that share
 * shm_region, or no region (NULL). Takes up to tens of milliseconds, or tenths
 * of a second for thousands of ranks. overrides replace the job's; NULL: use
 * the job's. The job's overrides that need more than the ranks share are left
 * out once the world has agreed.
 *
 * Handle: HOOP_E_PRECONDITION (the caller's overrides, or the job's before the
 * agreement, need a shared region or reading each other's memory, and the ranks
 * have not got it).
 */
enum hoop_status
tuner_build_table(struct tuner *tuner,
                  const struct plan_nodes *nodes,
                  const struct plan_shm_region *shm_region,
                  const struct overrides *overrides,
                  struct table *out_table);

/* The text of the samples, to be sent to other ranks; *out_n_bytes is 0 if
 * there are none. Borrowed until the samples are replaced. */
const char *
tuner_samples_text(struct tuner *tuner, size_t *out_n_bytes);
/* Replace the samples. Takes ownership of samples. */
void
tuner_replace_samples(struct tuner *tuner, struct samples *samples);

/* Is HOOP_TUNING=auto, and are there too few samples of ranks on nodes like
 * these? */
bool
tuner_wants_samples(struct tuner *tuner, const struct plan_nodes *nodes);
/* Add the samples that were measured, and keep them for other jobs. */
void
tuner_add_samples(struct tuner *tuner, const char *text);

/* Use the inputs in agreed instead of this rank's own from now on. Only the
 * first call, for the world's table, changes anything. */
void
tuner_adopt_agreed_table(struct tuner *tuner, const struct table *agreed);

#endif
