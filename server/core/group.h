/*
 * core/group.h - the communicators of a world
 *
 * There are two kinds. A named group is created by the first member that asks
 * for its key; later requests get the same communicator id, and the group lives
 * as long as the world. A joined group forms when all of its members have
 * joined and goes when the last has left; see core/group_slot.h. The number of
 * groups and of their ranks is limited.
 */

#ifndef CORE_GROUP_H
#define CORE_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <uthash.h>

#include "hoop/status.h"

#include "core/action.h"
#include "core/event.h"
#include "core/group_slot.h"

struct cluster;
struct job;

struct group {
    struct cluster_group shown; /* the public view; points to the fields
                                   below */
    struct job *job;
    struct group_slot *slots; /* [n_ranks], in the order of the group; NULL:
                                 a named group */
    uint32_t n_taken_slots;   /* slots that are taken */
    bool is_formed;           /* all slots have been taken */
    STAILQ_ENTRY(group) retired_link; /* in cluster->retired_groups */
    UT_hash_handle hh;                /* by key */
    uint32_t ranks[];
};

STAILQ_HEAD(group_list, group);

/* A zeroed struct holds no groups. */
struct groups {
    struct group *group_table; /* hash, in the order of creation */
    uint64_t communicator;     /* the last id given */
    size_t n_groups;
    size_t n_ranks; /* ranks of all groups together */
};

void
groups_deinit(struct groups *groups);

/*
 * Create a joined group of these ranks. Its key is "@" and its communicator id;
 * its slots are free, and the caller initialises them.
 * Handle: HOOP_E_INVALID, HOOP_E_PRECONDITION (a rank has left), HOOP_E_ABORTED
 * (a rank is lost), HOOP_E_EXHAUSTED.
 */
enum hoop_status
group_create_joined(struct job *job,
                    const struct cluster_group_slot_call *call,
                    struct group **out_group);

/*
 * Restore a group from its record, without slots. The job's last communicator
 * id must be restored already.
 * Handle: HOOP_E_DATA_LOSS and others (the record does not fit the job).
 */
enum hoop_status
group_recover(struct job *job,
              const struct cluster_group_call *call,
              uint64_t communicator,
              struct group **out_group);

/* Return the joined group with this communicator id; NULL if it has not formed
 * or all members have left it. */
struct group *
group_find_formed(const struct job *job, uint64_t communicator);

/* Remove the group from its job. It is freed in the next step, because actions
 * of this step may point to it. */
void
group_remove_from_job(struct cluster *cluster, struct group *group);
/* Free the groups that were retired in the last step. */
void
groups_free_retired(struct cluster *cluster);

#endif
