/*
 * core/seat.h - a member's place in a communicator that its members join
 *
 * The first who joins with a list of ranks sets up the group, the others take
 * their seats in the oldest group of the same list that waits for them. Its
 * id is told to all when the last has come, and no id is given twice: a frame
 * of a group that was can never be taken for one of its successor. When the
 * last has left, nothing remains.
 */

#ifndef CORE_SEAT_H
#define CORE_SEAT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "hoop/status.h"

#include "core/event.h"

struct cluster;
struct cluster_awaited;
struct group;
struct job;
struct member;
struct sentence;
struct waiter;

enum seat_state {
    SEAT_FREE,
    SEAT_TAKEN,
    SEAT_LEFT,
};

struct seat {
    enum seat_state state; /* changed by seat_move() only */
    struct group *group;
    struct member *member;
    uint64_t number;        /* TAKEN: what the member calls it */
    bool has_asked;         /* TAKEN, or FREE again: it gave up */
    struct waiter *waiter;  /* its join, while others are missing; or NULL */
    TAILQ_ENTRY(seat) link; /* of the member; LEFT: of nobody */
};

TAILQ_HEAD(seat_list, seat);

/* Answer (or park) CLUSTER_GROUP_JOIN, answer CLUSTER_GROUP_LEAVE. */
enum hoop_status
seat_join(struct cluster *cluster,
          struct job *job,
          const struct cluster_event *event);
enum hoop_status
seat_leave(struct cluster *cluster,
           struct job *job,
           const struct cluster_event *event);

/* Answer CLUSTER_AWAITED, also for a member that waits in a council. */
enum hoop_status
seat_awaited(struct cluster *cluster,
             struct job *job,
             const struct cluster_event *event);

/* Whether a join of member's waits, or its call of a council, of number, which may be
 * CLUSTER_NUMBER_ANY; and if one does, for whom. */
bool
seats_awaited(const struct member *member,
              uint64_t number,
              struct cluster_awaited *out_awaited,
              struct sentence *out_missing);

/* All of group's seats are taken at once: its i-th member calls it numbers[i]. */
void
seats_fill(struct group *group, const uint64_t *numbers);

/* member, of group, calls its seat by a later number from now on: what it leaves by
 * the one before is not this. One that has been left stays so. */
void
seat_rename(struct cluster *cluster,
            const struct group *group,
            const struct member *member,
            uint64_t number);

/* A join was parked until now: others are missing still. */
void
seat_expire(struct cluster *cluster, struct waiter *waiter);

/* All ranks of a group that was have taken their seats, by these numbers. */
void
seats_revive(struct group *group, const uint64_t *numbers);
/* And one has left. Handle: HOOP_E_DATA_LOSS (it cannot have). */
enum hoop_status
seat_revive_left(struct group *group, uint64_t place);

/* member has ended: its seats are as good as left, and what still waits for
 * it will never form. */
void
seats_vacate(struct cluster *cluster, struct member *member);

#endif
