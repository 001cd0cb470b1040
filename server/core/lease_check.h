/*
 * core/lease_check.h - who has not been heard of since the coordinator came back
 *
 * A lease says little of a member while nobody could renew it. So who is revived
 * has a whole one and a grace, in parts: each that passes without a sign is
 * counted and kept, and the next revival takes up where this one has ended. So
 * a coordinator that dies again and again, sooner than a lease ends, still finds
 * out who is dead; and while nobody listens nobody loses time. One record for
 * each job, and only for as long as somebody is awaited.
 *
 * The same goes for a job whose world had not formed: nobody has come back to it.
 */

#ifndef CORE_LEASE_CHECK_H
#define CORE_LEASE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "core/timer_heap.h"

struct cluster;
struct job;
struct member;

enum {
    LEASE_CHECK_PARTS = 32,
};

/* Of a job. Zeroed: nobody is awaited. */
struct lease_check {
    struct timer_entry entry; /* the next look at those awaited */
    uint64_t part_ends_ns;    /* when one more is counted */
    uint8_t n_parts;          /* that passed: of a job that is forming */
    bool is_kept;             /* there is a record */
};

/* The job has been read: its members' leases begin, or its grace. */
void
lease_check_begin(struct cluster *cluster, struct job *job);

/* The member has given a sign. */
void
lease_check_notice(struct cluster *cluster, struct member *member);

/* The world has formed: nobody is awaited. */
void
lease_check_end(struct cluster *cluster, struct job *job);

/* The entry is due. */
void
lease_check_look(struct cluster *cluster, struct job *job);

/* Before lease_check_begin(): how many parts passed before, for each rank of a world
 * that has formed, else one number. Handle: HOOP_E_DATA_LOSS. */
enum hoop_status
lease_check_recover(struct job *job, const uint8_t *n_parts, size_t n_bytes);

#endif
