/*
 * core/membership.h - members that live, leave, or are lost
 *
 * A member is lost when another one has seen the end of it, by the word of all
 * that are asked (core/suspicion.h), or by its lease, unless a rank hears it: that
 * its connection to the coordinator breaks is no death. The first verdict stays.
 */

#ifndef CORE_MEMBERSHIP_H
#define CORE_MEMBERSHIP_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct job;
struct member;

/* Answer CLUSTER_RENEW, _LEAVE, _REPORT. */
enum hoop_status
membership_renew(struct cluster *cluster,
                 struct job *job,
                 const struct cluster_event *event);
enum hoop_status
membership_leave(struct cluster *cluster,
                 struct job *job,
                 const struct cluster_event *event);
enum hoop_status
membership_report(struct cluster *cluster,
                  struct job *job,
                  const struct cluster_event *event);

/*
 * Who says that it is this member, and is it alive?
 * Handle: HOOP_E_PRECONDITION (another epoch, not a member, has left),
 * HOOP_E_ABORTED (has been declared lost).
 */
enum hoop_status
membership_check(struct job *job,
                 const struct cluster_member_id *id,
                 struct member **out_member);

/* The verdict on member, who is active. reason: copied. */
void
membership_declare_lost(struct cluster *cluster,
                        struct member *member,
                        const char *reason);

/* by hears member: whose lease, if it has expired, is renewed by that. */
void
membership_heard(struct cluster *cluster,
                 struct member *member,
                 const struct member *by);

/* reason, which may be NULL, printable, and without who reported it. */
void
membership_reason(const char *reason, size_t n_room, char *out_reason);

/* The lease of a member has expired. */
void
membership_expire(struct cluster *cluster, struct member *member);

/*
 * Time went on without us: whoever could not renew because nobody listened
 * keeps half a lease from now on.
 */
void
membership_extend_leases(struct cluster *cluster, uint64_t late_ns);

#endif
