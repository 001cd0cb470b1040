/*
 * core/recovery_lease_check.h - which members have come back since the
 * coordinator recovered
 *
 * While the coordinator was down nobody could renew a lease, so an expired
 * lease says little. A recovered member gets a whole lease plus a grace
 * period, divided into parts. Each part that passes without a sign of the
 * member is counted and recorded, and the next recovery continues the count.
 * So even a coordinator that restarts again and again, more often than a
 * lease lasts, finds out which members are dead; and members lose no time
 * while the coordinator is down. There is one record per job, kept only
 * while a member is unconfirmed.
 *
 * The same is done for a job whose world had not formed, to end it if no
 * worker comes back.
 */

#ifndef CORE_RECOVERY_LEASE_CHECK_H
#define CORE_RECOVERY_LEASE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "core/member.h"

struct cluster;
struct job;
struct member;

enum {
    LEASE_CHECK_GRACE_PARTS = 32,
};

/* The lease check of a job. Zeroed: no check is under way. */
struct lease_check {
    struct timer_entry entry; /* when to look at the unconfirmed members next */
    uint64_t next_part_ns;    /* when one more part has passed */
    uint8_t n_grace_parts_passed; /* passed parts of a job that is forming */
    bool is_recorded;             /* a record of this check exists */
};

/* Start the check of a job that has been read: start its members' leases, or
 * its grace period. */
void
recovery_lease_check_begin(struct cluster *cluster, struct job *job);

/* Stop the check and erase its record; also called when the world forms. */
void
recovery_lease_check_end(struct cluster *cluster, struct job *job);

/* Called when the timer of the check expires: count the part, and end the check
 * if no member is unconfirmed. */
void
recovery_lease_check_on_timer(struct cluster *cluster, struct job *job);

/* The member has given a sign of life. */
void
recovery_lease_check_confirm(struct cluster *cluster, struct member *member);

/* Restore the counts of passed parts, before recovery_lease_check_begin():
 * one for each rank if the world has formed, else a single one. Handle:
 * HOOP_E_DATA_LOSS. */
enum hoop_status
lease_grace_restore(struct job *job,
                    const uint8_t *n_grace_parts_passed,
                    size_t n_bytes);

#endif
