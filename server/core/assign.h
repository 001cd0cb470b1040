/*
 * core/assign.h - which rank each member of a new world has
 *
 * Pure. Requested ranks are kept. The others are given so that the ring
 * 0, 1, ..., n-1, 0 changes hosts seldom: without requests the members of a
 * host are one run, the hosts in the order of their first arrival and the
 * members of a host in theirs, so the ring crosses between hosts exactly once
 * for each of several hosts. Between requested ranks the gaps are filled
 * greedily: next to the neighbour's host first, then hosts that fill the gap
 * exactly, then by arrival (the best filling is a packing problem).
 */

#ifndef CORE_ASSIGN_H
#define CORE_ASSIGN_H

#include <stdint.h>

struct assign_member {
    uint32_t host; /* hosts are numbered 0, 1, ... by first arrival */
    uint32_t rank; /* requested, or CLUSTER_RANK_ANY; replaced by the rank */
};

/* members: in the order of arrival. Requests are distinct and below n. */
void
assign_ranks(struct assign_member *members, uint32_t n_members);

#endif
