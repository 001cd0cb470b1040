/* hoop/group.h - Bagua's process groups: some ranks, and who shares a node
 *
 * A group has up to three communicators, each formed when it is first asked
 * for and kept: of all its ranks, of those on the caller's node, and of one
 * rank per node. A node is a host, or what HOOP_NODE says: processes with the
 * same HOOP_NODE share a node, wherever they run, so that one machine can play
 * several. The local rank of a process is its place among all ranks of the
 * world on its node, in ascending order. Both are known from the join: asking
 * communicates with nobody but the members of the communicator.
 *
 * A hierarchical operation reduces to rank 0 of the node's communicator, runs
 * among the members of the inter-node one, and broadcasts within the node.
 */

#ifndef HOOP_GROUP_H
#define HOOP_GROUP_H

#include <stdint.h>

#include "hoop/api.h"
#include "hoop/comm.h"
#include "hoop/status.h"

HOOP_BEGIN

typedef struct hoop_group hoop_group_t;

/*
 * A group of n_ranks world ranks, in ascending order whatever order they are
 * given in; ranks NULL: all. As in Bagua every process of the job calls it,
 * members or not, though only members take part in anything; it communicates
 * with nobody.
 *
 * ranks is borrowed for the call. *out_group is the caller's, who gives it to
 * hoop_group_free(), before hoop_leave(). It borrows the session.
 * Bagua: new_group(), and from_torch_group(), which sorts the ranks of the
 * group that it is given, too; both keep a rank that is given twice.
 *
 * Handle: HOOP_E_INVALID (no ranks, one out of range or twice). Thread: any.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_group_create(hoop_session_t *session,
                  const uint32_t *ranks,
                  uint32_t n_ranks,
                  hoop_group_t **out_group);

/*
 * As hoop_group_create(), but in the order given: rank i of the group's global
 * communicator is ranks[i], as some other library numbers the same processes.
 * Roots of its communicators, blocks of a gather and the first rank, by which
 * the inter-node communicator is chosen, follow that order. Bagua has no such
 * group; torch: the numbering of a ProcessGroup.
 */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_group_from_ranks(hoop_session_t *session,
                      const uint32_t *ranks,
                      uint32_t n_ranks,
                      hoop_group_t **out_group);

/*
 * Frees the communicators, too, as hoop_comm_free() does. NULL is fine.
 * Thread: any, when no other uses the group.
 */
HOOP_API void
hoop_group_free(hoop_group_t *group);

/* How many ranks group has; 0: group is NULL. Thread: any. */
HOOP_API uint32_t
hoop_group_size(const hoop_group_t *group);

/* The world ranks, in the group's order. Borrowed: they live as long as the
 * group, of which NULL has none. Thread: any. */
HOOP_API const uint32_t *
hoop_group_ranks(const hoop_group_t *group);

/*
 * The communicators, in the group's order. The first call of each waits for
 * the other members of that communicator, as hoop_comm_create() does; who is
 * no member gets, at once, one that it is no member of. Borrowed: *out_comm
 * lives as long as the group, which frees it.
 *
 * Handle (all): HOOP_E_INVALID (NULL), and as hoop_comm_create().
 * Thread (all): any.
 */

/* All ranks of the group. Bagua: get_global_communicator(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_group_global_comm(hoop_group_t *group, hoop_comm_t **out_comm);

/* The ranks whose local rank is that of the group's first rank: one at most of
 * each node, and none of a node that has no such rank in the group. Bagua:
 * get_inter_node_communicator(). */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_group_inter_comm(hoop_group_t *group, hoop_comm_t **out_comm);

/* The group's ranks on the caller's node. Bagua:
 * get_intra_node_communicator(), which fails where there are none; here the
 * caller is no member then. */
HOOP_API HOOP_NODISCARD enum hoop_status
hoop_group_intra_comm(hoop_group_t *group, hoop_comm_t **out_comm);

HOOP_END

#endif
