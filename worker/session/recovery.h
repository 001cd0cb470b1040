/* session/recovery.h - agreement among the survivors of a communicator */

#ifndef SESSION_RECOVERY_H
#define SESSION_RECOVERY_H

#include <stdint.h>

#include "hoop/status.h"

#include "session/comm.h"

/*
 * hoop_comm_shrink() with a deadline, usable also inside a call on comm that
 * has just failed. The caller is a member. Handle: as there.
 */
enum hoop_status
comm_shrink(struct hoop_comm *comm,
            uint64_t deadline_ns,
            struct hoop_comm **out_comm);

/*
 * Wait until all surviving members have called this with the same kind. On
 * return *least is the smallest of the values given. Fails if a member of comm
 * is lost.
 * Handle: as hoop_comm_agree(), HOOP_E_PEER_LOST (comm must be shrunk first).
 */
enum hoop_status
comm_sync_survivors(struct hoop_comm *comm,
                    enum group_agree_kind kind,
                    uint64_t deadline_ns,
                    uint64_t *least);

/* hoop_comm_agree() with a deadline; on return *least is also the smallest of
 * the values given. The caller is a member. Handle: as there. */
enum hoop_status
comm_agree(struct hoop_comm *comm,
           uint64_t deadline_ns,
           uint64_t *flags,
           uint64_t *least);

#endif
