/* session/recovery.h - the survivors of a communicator */

#ifndef SESSION_RECOVERY_H
#define SESSION_RECOVERY_H

#include <stdint.h>

#include "hoop/status.h"

#include "session/comm.h"

/*
 * hoop_comm_shrink(), also for whoever is within a call on comm that has just
 * failed. The caller is a member. Handle: as there.
 */
enum hoop_status
comm_shrink(struct hoop_comm *comm,
            uint64_t deadline_ns,
            struct hoop_comm **out_comm);

/*
 * Wait until all that survive have come to the same point, of a kind of its own;
 * *least becomes the least of theirs. Handle: as of an agreement.
 */
enum hoop_status
comm_sync_survivors(struct hoop_comm *comm,
                    enum group_agree_kind kind,
                    uint64_t deadline_ns,
                    uint64_t *least);

/* hoop_comm_agree(), and *least becomes the least of theirs. The caller is a
 * member. Handle: as there. */
enum hoop_status
comm_agree(struct hoop_comm *comm,
           uint64_t deadline_ns,
           uint64_t *flags,
           uint64_t *least);

#endif
