/* core/admission.h - which workers may join a job, and why others are
 * refused */

#ifndef CORE_ADMISSION_H
#define CORE_ADMISSION_H

#include <stdint.h>

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct job;
struct member;

/* Remove a member that waits for the world. Its waiter must be gone already. */
void
admission_withdraw_join(struct cluster *cluster, struct member *member);

/* Count a refused join or request and log it with the reason in text. job is
 * not NULL if the worker will try again; then its later refusals are not
 * logged. */
void
admission_log_refusal(struct cluster *cluster,
                      struct job *job,
                      const struct cluster_event *event,
                      const char *text);

/*
 * A pure function. Requested ranks are kept. The other ranks are given so
 * that the ring 0, 1, ..., n-1, 0 rarely crosses between hosts. Without
 * requests, the members of a host get consecutive ranks, hosts in the order
 * of their first arrival and the members of a host in the order of theirs;
 * the ring then crosses once per host. Gaps between requested ranks are
 * filled greedily: first with members of the neighbouring ranks' hosts, then
 * with a host whose members fill the gap exactly, then by arrival. The
 * optimal filling would be a packing problem.
 */

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
