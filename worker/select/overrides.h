/* select/overrides.h - algorithms that the user chose by HOOP_ALGORITHM */

#ifndef SELECT_OVERRIDES_H
#define SELECT_OVERRIDES_H

#include <stdbool.h>

#include "hoop/status.h"

#include "algorithms/registry.h"
#include "engine/call.h"
#include "plan/nodes.h"

/* By collective; NULL: not overridden. */
struct overrides {
    const struct registry_algorithm *entries[COLLECTIVE_KINDS];
};

/*
 * text is like "allreduce:ring,broadcast:binomial"; "" overrides nothing. where
 * names its source in errors: "HOOP_ALGORITHM".
 *
 * Handle: HOOP_E_INVALID (the text lists the valid names).
 */
enum hoop_status
overrides_parse(const char *where,
                const char *text,
                struct overrides *out_overrides);

/* Can the ranks run the overrides?
 * Handle: HOOP_E_PRECONDITION (an override needs more than several ranks share;
 * the text says what). */
enum hoop_status
overrides_check_can_run(const struct overrides *overrides,
                        const struct plan_nodes *nodes,
                        const struct plan_shm_region *shm_region);
/* Remove the overrides that these ranks cannot run. */
void
overrides_drop_unsupported(struct overrides *overrides,
                           const struct plan_shm_region *shm_region);

/* name must be a collective. */
enum collective_kind
collective_kind_of(enum call_name name);

/* Can the blocks of this call differ in size? Then algorithms for even blocks
 * cannot be used. */
bool
collective_has_uneven_blocks(enum call_name name);

#endif
