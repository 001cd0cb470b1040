/*
 * core/group_slot.h - a member's slot in a communicator that its members join
 *
 * The first member that joins with a list of ranks creates the group. Each
 * later member takes its slot in the oldest group with the same list that still
 * waits for it. When the last member has joined, all are told the communicator
 * id. No id is given twice, so that a frame of an old group can never be taken
 * for one of its successor. When the last member has left, the group is
 * removed.
 */

#ifndef CORE_GROUP_SLOT_H
#define CORE_GROUP_SLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct cluster_missing_members;
struct group;
struct job;
struct member;
struct text_buffer;
struct waiter;

enum group_slot_state {
    GROUP_SLOT_FREE,
    GROUP_SLOT_TAKEN,
    GROUP_SLOT_LEFT,
};

struct group_slot {
    enum group_slot_state state; /* changed only by group_slot_move() */
    struct group *group;
    struct member *member;
    uint64_t number;       /* TAKEN: the number of the member's join */
    bool has_ever_joined;  /* TAKEN; or FREE again after the member gave up */
    struct waiter *waiter; /* the parked join, while other members are
                              missing; or NULL */
    TAILQ_ENTRY(group_slot)
    link; /* in the member's list of slots; LEFT: in
                                     no list */
};

TAILQ_HEAD(group_slot_list, group_slot);

/* Return whether a join or a vote call of member with this number waits, and if
 * so, which members it waits for. number may be CLUSTER_ANY_CALL_NUMBER. */
bool
group_slots_missing_members(const struct member *member,
                            uint64_t number,
                            struct cluster_missing_members *out_pending,
                            struct text_buffer *out_missing);

/* Mark all slots of group as taken at once; its i-th member's join has
 * numbers[i]. */
void
group_slots_mark_taken(struct group *group, const uint64_t *numbers);

/* Give member's slot in group a higher join number, so that a leave with the
 * former number does not leave this slot. A slot that has been left stays
 * so. */
void
group_slot_update_join_number(struct cluster *cluster,
                              const struct group *group,
                              const struct member *member,
                              uint64_t number);

/* The deadline of a parked join has passed while other members are missing:
 * fail it. */
void
group_slot_on_join_deadline(struct cluster *cluster, struct waiter *waiter);

/* Restore a formed group: all slots are taken, with these join numbers. */
void
group_slots_recover(struct group *group, const uint64_t *numbers);
/* Restore that one slot was left. Handle: HOOP_E_DATA_LOSS (the slot was not
 * taken). */
enum hoop_status
group_slot_recover_left(struct group *group, uint64_t place);

/* member has ended: leave all of its slots, and fail every group that still
 * waits for it. */
void
group_slots_remove_member(struct cluster *cluster, struct member *member);

#endif
