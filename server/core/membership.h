/*
 * core/membership.h - how members stay, leave or are declared lost
 *
 * A member is declared lost when another member has seen its end, when the
 * ranks that were asked agree on it (core/suspicion.h), or when its lease
 * expires and no rank hears it. A broken connection to the coordinator is no
 * reason. The first failure notice about a member is final.
 */

#ifndef CORE_MEMBERSHIP_H
#define CORE_MEMBERSHIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "core/event.h"
#include "core/member.h"

struct cluster;
struct job;
struct member;

/*
 * Find the member that makes a request, and check that it is active.
 * Handle: HOOP_E_PRECONDITION (another epoch, not a member, or has left),
 * HOOP_E_ABORTED (has been declared lost).
 */
enum hoop_status
membership_find_active(struct job *job,
                       const struct cluster_member_id *id,
                       struct member **out_member);

/* Declare an active member lost in all worlds of its job. reason is copied. */
void
membership_declare_lost(struct cluster *cluster,
                        struct member *member,
                        const char *reason);

/* Member by hears member: if member's lease has expired, renew it. */
void
membership_on_vouched(struct cluster *cluster,
                      struct member *member,
                      const struct member *by);

/* Copy reason, which may be NULL, with unprintable bytes replaced and without
 * the part that names the reporter. */
void
membership_sanitize_reason(const char *reason, size_t n_room, char *out_reason);

/* Called when a member's lease expires. */
void
membership_on_lease_expired(struct cluster *cluster, struct member *member);

/*
 * The coordinator was not stepped in time, so members may have been unable to
 * renew: extend every lease to at least half its length from now.
 */
void
membership_extend_leases(struct cluster *cluster, uint64_t late_ns);

/*
 * recovered
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

/* Restore the counts of passed parts, before recovery_lease_check_begin(): one for each
 * rank if the world has formed, else a single one. Handle: HOOP_E_DATA_LOSS. */
enum hoop_status
recovery_lease_check_restore(struct job *job,
                             const uint8_t *n_grace_parts_passed,
                             size_t n_bytes);

#endif
