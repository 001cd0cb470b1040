/* tune/overrides.h - algorithms that somebody insists on: HOOP_ALGORITHM */

#ifndef TUNE_OVERRIDES_H
#define TUNE_OVERRIDES_H

#include "hoop/status.h"

#include "plan/nodes.h"
#include "plan/registry.h"

/* NULL: not overridden. */
struct overrides {
    const struct registry_entry *entries[COLLECTIVE_KINDS];
};

/*
 * "allreduce:ring,broadcast:binomial"; "" forces none. Where the text comes
 * from, for the error's: "HOOP_ALGORITHM".
 *
 * Handle: HOOP_E_INVALID (the text lists what there is).
 */
enum hoop_status
overrides_parse(const char *where,
                const char *text,
                struct overrides *out_overrides);

/* Handle: HOOP_E_PRECONDITION (what is overridden for several ranks needs more than
 * they share; the text says what). */
enum hoop_status
overrides_check_shm_region(const struct overrides *overrides,
                           const struct plan_nodes *nodes,
                           const struct plan_shm_region *shm_region);
/* Leave that out. */
void
overrides_drop_unshared(struct overrides *overrides,
                        const struct plan_shm_region *shm_region);

#endif
