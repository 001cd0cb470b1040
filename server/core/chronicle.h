/*
 * core/chronicle.h - what must outlive the coordinator, written as it changes
 *
 * Whoever changes a thing calls the thing's verb here in the same step: a
 * record is an action like a reply, and all records of a step are kept or none
 * of them. What nobody was told is no record: requests that are parked, members
 * that still wait for their world, communicators that have not formed. Their
 * clients ask again by themselves. core/revival.h reads it all.
 *
 * A key is a kind, for what belongs to a job the job's number before it, and
 * up to two more numbers, all big-endian: the records of a job stand together,
 * in the order in which they can be read. A value is an array of msgpack, and
 * fields are only ever added at its end. Times of what has happened are those of
 * the wall clock, since people are told them; nothing is decided by them. What
 * is to happen is written as the time that was left, and has all of it again.
 */

#ifndef CORE_CHRONICLE_H
#define CORE_CHRONICLE_H

#include <stddef.h>
#include <stdint.h>

#include "core/action.h"

struct cluster;
struct council;
struct ending;
struct group;
struct job;
struct member;
struct seat;
struct store_entry;

enum {
    CHRONICLE_VERSION = 1, /* of the cluster's record: of all of them */
    CHRONICLE_KEY_MAX = 32,
};

/* The first byte of a key ... */
enum chronicle_kind {
    CHRONICLE_CLUSTER = 'C',
    CHRONICLE_ENDING = 'E', /* place in the ring */
    CHRONICLE_JOB = 'J',    /* number, then one of the following */
};

/* ... and of a job's, the byte behind its number. */
enum chronicle_part {
    CHRONICLE_HEAD = 0,
    CHRONICLE_REVISION = 1, /* of the store */
    CHRONICLE_MEMBER = 2,   /* incarnation */
    CHRONICLE_CHANGE = 3,   /* revision */
    CHRONICLE_GROUP = 4,    /* communicator; and place: a seat that was left */
    CHRONICLE_ENTRY = 5,    /* number */
    CHRONICLE_COUNCIL = 6,  /* communicator, kind */
    CHRONICLE_MUSTER = 7,   /* those that have not come back */
};

/* Epochs, numbers: what must never be given twice. */
void
chronicle_write_cluster(struct cluster *cluster);
void
chronicle_write_ending(struct cluster *cluster, const struct ending *ending);

void
chronicle_write_job(struct cluster *cluster, const struct job *job);
/* With all that belongs to it. */
void
chronicle_erase_job(struct cluster *cluster, const struct job *job);

/* One that is no longer joining. */
void
chronicle_write_member(struct cluster *cluster, const struct member *member);
void
chronicle_write_change(struct cluster *cluster,
                       const struct job *job,
                       const struct cluster_change *change);

/* A named one, or one that has formed; the seats as they were taken. */
void
chronicle_write_group(struct cluster *cluster, const struct group *group);
/* Its member has left the seat. */
void
chronicle_write_seat(struct cluster *cluster, const struct seat *seat);
/* With its seats. */
void
chronicle_erase_group(struct cluster *cluster, const struct group *group);

/* Its last outcome. */
void
chronicle_write_council(struct cluster *cluster, const struct council *council);
void
chronicle_erase_council(struct cluster *cluster, const struct council *council);

/* n_bytes of them, see core/muster.h. */
void
chronicle_write_muster(struct cluster *cluster,
                       const struct job *job,
                       const uint8_t *n_parts,
                       size_t n_bytes);
void
chronicle_erase_muster(struct cluster *cluster, const struct job *job);

void
chronicle_write_entry(struct cluster *cluster, const struct store_entry *entry);
void
chronicle_erase_entry(struct cluster *cluster, const struct store_entry *entry);

#endif
