/*
 * core/group_slot.h - a member's place in a communicator that its members join
 *
 * The first who joins with a list of ranks sets up the group, the others take
 * their slots in the oldest group of the same list that waits for them. Its
 * id is told to all when the last has come, and no id is given twice: a frame
 * of a group that was can never be taken for one of its successor. When the
 * last has left, nothing remains.
 */

#ifndef CORE_GROUP_SLOT_H
#define CORE_GROUP_SLOT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct cluster_pending;
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
    enum group_slot_state state; /* changed by group_slot_move() only */
    struct group *group;
    struct member *member;
    uint64_t number;       /* TAKEN: what the member calls it */
    bool has_asked;        /* TAKEN, or FREE again: it gave up */
    struct waiter *waiter; /* its join, while others are missing; or NULL */
    TAILQ_ENTRY(group_slot) link; /* of the member; LEFT: of nobody */
};

TAILQ_HEAD(group_slot_list, group_slot);

/* Answer (or park) CLUSTER_GROUP_JOIN, answer CLUSTER_GROUP_LEAVE. */
enum hoop_status
group_slot_join(struct cluster *cluster,
                struct job *job,
                const struct cluster_event *event);
enum hoop_status
group_slot_leave(struct cluster *cluster,
                 struct job *job,
                 const struct cluster_event *event);

/* Answer CLUSTER_PENDING, also for a member that waits in a vote. */
enum hoop_status
group_slot_pending(struct cluster *cluster,
                   struct job *job,
                   const struct cluster_event *event);

/* Whether a join of member's waits, or its call of a vote, of number, which may be
 * CLUSTER_NUMBER_ANY; and if one does, for whom. */
bool
group_slots_pending(const struct member *member,
                    uint64_t number,
                    struct cluster_pending *out_pending,
                    struct text_buffer *out_missing);

/* All of group's slots are taken at once: its i-th member calls it numbers[i]. */
void
group_slots_fill(struct group *group, const uint64_t *numbers);

/* member, of group, calls its slot by a later number from now on: what it leaves by
 * the one before is not this. One that has been left stays so. */
void
group_slot_rename(struct cluster *cluster,
                  const struct group *group,
                  const struct member *member,
                  uint64_t number);

/* A join was parked until now: others are missing still. */
void
group_slot_expire(struct cluster *cluster, struct waiter *waiter);

/* All ranks of a group that was have taken their slots, by these numbers. */
void
group_slots_recover(struct group *group, const uint64_t *numbers);
/* And one has left. Handle: HOOP_E_DATA_LOSS (it cannot have). */
enum hoop_status
group_slot_recover_left(struct group *group, uint64_t place);

/* member has ended: its slots are as good as left, and what still waits for
 * it will never form. */
void
group_slots_remove_member(struct cluster *cluster, struct member *member);

#endif
