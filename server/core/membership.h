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

#endif
