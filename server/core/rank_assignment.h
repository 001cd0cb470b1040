/*
 * core/rank_assignment.h - ranks for the members of a world that forms
 *
 * A pure function. Requested ranks are kept. The other ranks are given so
 * that the ring 0, 1, ..., n-1, 0 rarely crosses between hosts. Without
 * requests, the members of a host get consecutive ranks, hosts in the order
 * of their first arrival and the members of a host in the order of theirs;
 * the ring then crosses once per host. Gaps between requested ranks are
 * filled greedily: first with members of the neighbouring ranks' hosts, then
 * with a host whose members fill the gap exactly, then by arrival. The
 * optimal filling would be a packing problem.
 */

#ifndef CORE_RANK_ASSIGNMENT_H
#define CORE_RANK_ASSIGNMENT_H

#include <stdint.h>

struct member_placement {
    uint32_t host; /* hosts are numbered 0, 1, ... by first arrival */
    uint32_t rank; /* in: the requested rank or CLUSTER_RANK_ANY; out: the
                      rank */
};

/* Replace each member's rank. members are in the order of arrival; requested
 * ranks are distinct and below n_members. */
void
assign_ranks(struct member_placement *members, uint32_t n_members);

#endif
