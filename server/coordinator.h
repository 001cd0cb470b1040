/* coordinator.h - what hoopd asks of the coordinator beside its interface */

#ifndef SERVER_COORDINATOR_H
#define SERVER_COORDINATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/coordinator.h"

/* Another coordinator uses its data, although they were locked; see
 * service_is_replaced(). Thread: any. */
bool
coordinator_is_replaced(const hoop_coordinator_t *coordinator);

struct coordinator_member_counts {
    uint64_t n_members; /* of all jobs, joining or active */
    uint64_t n_joins;   /* since its start */
};

/* Thread: any. */
struct coordinator_member_counts
coordinator_member_counts(const hoop_coordinator_t *coordinator);

#endif
