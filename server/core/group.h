/*
 * core/group.h - communicators of a world: named ones, and what members joined
 *
 * The first who asks for a key creates the group and its communicator id, the
 * others are given the same; a named group stays as long as the world. Others
 * come and go with their members, see core/group_slot.h. Bounded in number and in
 * ranks.
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
    struct cluster_group shown; /* points to what follows */
    struct job *job;
    struct group_slot *slots; /* [n_ranks], in its order; NULL: a named group */
    uint32_t n_taken;         /* of the slots */
    bool is_formed;           /* all slots have been taken */
    STAILQ_ENTRY(group) retired_link; /* of the cluster */
    UT_hash_handle hh;                /* by key */
    uint32_t ranks[];
};

STAILQ_HEAD(group_list, group);

/* Zeroed: none. */
struct groups {
    struct group *by_key;  /* hash, in the order of creation */
    uint64_t communicator; /* the last id given */
    size_t n_groups;
    size_t n_ranks; /* in all */
};

void
groups_deinit(struct groups *groups);

/*
 * A group of these ranks with a key of its own, "@" and its communicator's
 * id, whose slots are free and not set yet.
 * Handle: HOOP_E_INVALID, HOOP_E_PRECONDITION (a rank has left), HOOP_E_ABORTED
 * (a rank is lost), HOOP_E_EXHAUSTED.
 */
enum hoop_status
group_gather(struct job *job,
             const struct cluster_group_slot_call *call,
             struct group **out_group);

/*
 * A group that was, without slots. The job's last id is known.
 * Handle: HOOP_E_DATA_LOSS and others (there cannot be such a group).
 */
enum hoop_status
group_recover(struct job *job,
              const struct cluster_group_call *call,
              uint64_t communicator,
              struct group **out_group);

/* What its members have joined under this id; NULL: nobody has, or all have
 * left it. */
struct group *
group_formed(const struct job *job, uint64_t communicator);

/* Actions of this step may still point to it. */
void
group_retire(struct cluster *cluster, struct group *group);
/* Free what the actions of the last step may have pointed to. */
void
groups_forget(struct cluster *cluster);

/* Answer CLUSTER_GROUP_CREATE, _GET, _LIST. */
enum hoop_status
group_create(struct cluster *cluster,
             struct job *job,
             const struct cluster_event *event);
enum hoop_status
group_get(struct cluster *cluster,
          struct job *job,
          const struct cluster_event *event);
enum hoop_status
group_list(struct cluster *cluster,
           struct job *job,
           const struct cluster_event *event);

#endif
