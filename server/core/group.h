/*
 * core/group.h - named communicators of a world
 *
 * The first who asks for a key creates the group and its communicator id, the
 * others are given the same. Bounded in number and in ranks.
 */

#ifndef CORE_GROUP_H
#define CORE_GROUP_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct group;
struct job;

/* Zeroed: none. */
struct groups {
    struct group *by_key;  /* hash, in the order of creation */
    uint64_t communicator; /* the last id given */
    size_t n_groups;
    size_t n_ranks; /* in all */
};

void
groups_deinit(struct groups *groups);

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
