/*
 * core/journal.h - what must outlive the coordinator, written as it changes
 *
 * Whoever changes a thing calls the thing's verb here in the same step: a
 * record is an action like a reply, and all records of a step are kept or none
 * of them. What nobody was told is no record: requests that are parked, members
 * that still wait for their world, communicators that have not formed. Their
 * clients ask again by themselves. core/recovery.h reads it all.
 *
 * A key is a kind, for what belongs to a job the job's number before it, and
 * up to two more numbers, all big-endian: the records of a job stand together,
 * in the order in which they can be read. A value is an array of msgpack, and
 * fields are only ever added at its end. Times of what has happened are those of
 * the wall clock, since people are told them; nothing is decided by them. What
 * is to happen is written as the time that was left, and has all of it again.
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
    JOURNAL_VERSION = 1, /* of the cluster's record: of all of them */
    JOURNAL_KEY_MAX = 32,
};

/* The first byte of a key ... */
enum journal_kind {
    JOURNAL_CLUSTER = 'C',
    JOURNAL_ENDED_JOB = 'E', /* place in the ring */
    JOURNAL_JOB = 'J',       /* number, then one of the following */
};

/* ... and of a job's, the byte behind its number. */
enum journal_part {
    JOURNAL_HEAD = 0,
    JOURNAL_REVISION = 1,    /* of the store */
    JOURNAL_MEMBER = 2,      /* incarnation */
    JOURNAL_CHANGE = 3,      /* revision */
    JOURNAL_GROUP = 4,       /* communicator; and place: a slot that was left */
    JOURNAL_ENTRY = 5,       /* number */
    JOURNAL_VOTE = 6,        /* communicator, kind */
    JOURNAL_LEASE_CHECK = 7, /* those that have not come back */
};

/* Epochs, numbers: what must never be given twice. */
void
journal_write_cluster(struct cluster *cluster);
void
journal_write_ended_job(struct cluster *cluster,
                        const struct ended_job *ended_job);

void
journal_write_job(struct cluster *cluster, const struct job *job);
/* With all that belongs to it. */
void
journal_erase_job(struct cluster *cluster, const struct job *job);

/* One that is no longer joining. */
void
journal_write_member(struct cluster *cluster, const struct member *member);
void
journal_write_change(struct cluster *cluster,
                     const struct job *job,
                     const struct cluster_change *change);

/* A named one, or one that has formed; the slots as they were taken. */
void
journal_write_group(struct cluster *cluster, const struct group *group);
/* Its member has left the slot. */
void
journal_write_group_slot(struct cluster *cluster,
                         const struct group_slot *group_slot);
/* With its slots. */
void
journal_erase_group(struct cluster *cluster, const struct group *group);

/* Its last outcome. */
void
journal_write_vote(struct cluster *cluster, const struct vote *vote);
void
journal_erase_vote(struct cluster *cluster, const struct vote *vote);

/* n_bytes of them, see core/lease_check.h. */
void
journal_write_lease_check(struct cluster *cluster,
                          const struct job *job,
                          const uint8_t *n_parts,
                          size_t n_bytes);
void
journal_erase_lease_check(struct cluster *cluster, const struct job *job);

void
journal_write_entry(struct cluster *cluster, const struct store_entry *entry);
void
journal_erase_entry(struct cluster *cluster, const struct store_entry *entry);

#endif
