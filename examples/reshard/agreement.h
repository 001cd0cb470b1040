/* reshard/agreement.h - all ranks continue, or none does */

#ifndef RESHARD_AGREEMENT_H
#define RESHARD_AGREEMENT_H

#include "hoop/hoop.h"

/*
 * All ranks of world call it, each with its own status. Returns HOOP_OK if all
 * statuses are. Otherwise only the first rank that failed prints the reason to
 * stderr, unless ranks cannot be reached any more.
 */
HOOP_NODISCARD enum hoop_status
agreement_reach(hoop_comm_t *world, enum hoop_status status);

#endif
