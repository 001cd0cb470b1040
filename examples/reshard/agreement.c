/* reshard/agreement.c - all ranks continue, or none does */

#include "reshard/agreement.h"

#include <err.h>
#include <stdint.h>
#include <stdio.h>

enum {
    TEXT_BYTES = 1024,
};

enum hoop_status
agreement_reach(hoop_comm_t *world, enum hoop_status status)
{
    const uint32_t rank = hoop_comm_rank(world);
    uint32_t culprit = status == HOOP_OK ? HOOP_NO_RANK : rank;
    char text[TEXT_BYTES];

    /* The next call of hoop overwrites the text. */
    snprintf(text, sizeof(text), "%s", hoop_error_text());
    const enum hoop_status reached = hoop_allreduce(
        HOOP_IN_PLACE, &culprit, 1, HOOP_UINT32, HOOP_MIN, world);
    if (status != HOOP_OK) {
        if (reached != HOOP_OK || culprit == rank)
            warnx("rank %u: %s", rank, text);
        return status;
    }
    if (reached != HOOP_OK) {
        warnx("rank %u: %s", rank, hoop_error_text());
        return reached;
    }
    return culprit == HOOP_NO_RANK ? HOOP_OK : HOOP_E_ABORTED;
}
