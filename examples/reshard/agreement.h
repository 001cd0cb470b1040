/* reshard/agreement.h - all ranks go on, or none does */

#ifndef RESHARD_AGREEMENT_H
#define RESHARD_AGREEMENT_H

#include "hoop/hoop.h"

/*
 * All ranks of world call it, each with how it fared. HOOP_OK if all did well.
 * Otherwise the first rank that failed says why on stderr, and it alone, unless
 * ranks cannot be reached any more.
 */
HOOP_NODISCARD enum hoop_status
agreement_reach(hoop_comm_t *world, enum hoop_status status);

#endif
