/*
 * core/journal.h - records of what must outlive the coordinator
 *
 * Code that changes a thing calls the journal function of that thing in the
 * same step. A record is an action like a reply; all records of a step are
 * stored or none. State that no client has been told is not recorded: parked
 * requests, members that wait for their world, communicators that have not
 * formed. Their clients ask again. core/recovery.h reads the records.
 *
 * A key consists of a kind byte, for parts of a job then the job's number and a
 * part byte, and up to two more numbers, all big-endian. The records of a job
 * are therefore adjacent, in the order in which they can be read. A value is a
 * msgpack array; new fields are only added at its end. Times of past events are
 * wall clock times, because they are shown to people; no decision depends on
 * them. A time limit is recorded as the time that was left, and starts again in
 * full after a recovery.
 */

#ifndef CORE_JOURNAL_H
#define CORE_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "core/action.h"

struct cluster;
struct vote;
struct ended_job;
struct group;
struct job;
struct member;
struct group_slot;
struct store_entry;

enum {
    JOURNAL_VERSION = 1, /* version of all records; stored in the cluster's
                            record */
    JOURNAL_KEY_MAX = 32,
};

/* The first byte of a key. The comments name the numbers that follow. */
enum journal_key_kind {
    JOURNAL_CLUSTER = 'C',
    JOURNAL_ENDED_JOB = 'E', /* place in the ring */
    JOURNAL_JOB = 'J',       /* the job's number, then one of the parts below */
};

/* The byte after a job's number, in the key of one of the job's parts. */
enum journal_job_part {
    JOURNAL_JOB_HEADER = 0,
    JOURNAL_STORE_REVISION = 1,    /* the store's last revision */
    JOURNAL_MEMBER = 2,            /* incarnation */
    JOURNAL_MEMBERSHIP_CHANGE = 3, /* revision */
    JOURNAL_GROUP = 4,             /* communicator; then a place: that slot was
                                left */
    JOURNAL_STORE_ENTRY = 5,       /* number */
    JOURNAL_VOTE = 6,              /* communicator, kind */
    JOURNAL_LEASE_CHECK = 7,       /* members that have not come back; see
                                core/membership.h */
};

/* Record the last epoch and the last numbers given, so that none is given
 * twice. */
void
journal_write_cluster(struct cluster *cluster);
void
journal_write_ended_job(struct cluster *cluster,
                        const struct ended_job *ended_job);

void
journal_write_job(struct cluster *cluster, const struct job *job);
/* Erase the job with all of its parts. */
void
journal_erase_job(struct cluster *cluster, const struct job *job);

/* Record a member that is no longer joining. */
void
journal_write_member(struct cluster *cluster, const struct member *member);
void
journal_write_membership_change(struct cluster *cluster,
                                const struct job *job,
                                const struct cluster_membership_change *change);

/* Record a named group, or a joined group that has formed, with the join
 * numbers of its slots. */
void
journal_write_group(struct cluster *cluster, const struct group *group);
/* Record that the member has left this slot. */
void
journal_write_group_slot(struct cluster *cluster,
                         const struct group_slot *group_slot);
/* Erase the group with its slots. */
void
journal_erase_group(struct cluster *cluster, const struct group *group);

/* Record the last outcome of the vote. */
void
journal_write_vote(struct cluster *cluster, const struct vote *vote);
void
journal_erase_vote(struct cluster *cluster, const struct vote *vote);

/* Record the lease check of a job: n_bytes counts, see core/membership.h. */
void
journal_write_recovery_leases(struct cluster *cluster,
                              const struct job *job,
                              const uint8_t *n_grace_parts_passed,
                              size_t n_bytes);
void
journal_erase_recovery_leases(struct cluster *cluster, const struct job *job);

void
journal_write_store_entry(struct cluster *cluster,
                          const struct store_entry *entry);
void
journal_erase_store_entry(struct cluster *cluster,
                          const struct store_entry *entry);

#endif
