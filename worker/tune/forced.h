/* tune/forced.h - algorithms that somebody insists on: HOOP_ALGORITHM */

#ifndef TUNE_FORCED_H
#define TUNE_FORCED_H

#include "hoop/status.h"

#include "plan/catalog.h"
#include "plan/nodes.h"

/* NULL: not forced. */
struct forced {
    const struct catalog_entry *entries[CATALOG_COLLECTIVES];
};

/*
 * "allreduce:ring,broadcast:binomial"; "" forces none. Where the text comes
 * from, for the error's: "HOOP_ALGORITHM".
 *
 * Handle: HOOP_E_INVALID (the text lists what there is).
 */
enum hoop_status
forced_parse(const char *where, const char *text, struct forced *out_forced);

/* Handle: HOOP_E_PRECONDITION (what is forced for several ranks needs more than
 * they share; the text says what). */
enum hoop_status
forced_check_hall(const struct forced *forced,
                  const struct plan_nodes *nodes,
                  const struct plan_hall *shm_region);
/* Leave that out. */
void
forced_drop_unshared(struct forced *forced, const struct plan_hall *shm_region);

#endif
