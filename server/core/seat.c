/* core/seat.c - a member's place in a communicator that its members join */

#include "core/seat.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "core/chronicle.h"
#include "core/council.h"
#include "core/group.h"
#include "core/job.h"
#include "core/membership.h"
#include "core/memory.h"
#include "core/sentence.h"
#include "core/state.h"

enum {
    NAMES_MAX = 8, /* of the missing, in one text */
};

/*
 * FREE <-> TAKEN -> LEFT
 *    \_____________/
 *
 * There is a way back from TAKEN while others are missing: nobody knows the
 * id yet. A member that ends leaves every seat, taken or not.
 */
static const unsigned int seat_moves[] = {
    [SEAT_FREE] = 1U << SEAT_TAKEN | 1U << SEAT_LEFT,
    [SEAT_TAKEN] = 1U << SEAT_FREE | 1U << SEAT_LEFT,
    [SEAT_LEFT] = 0,
};

static void
seat_move(struct seat *seat, enum seat_state state)
{
    assert(seat_moves[seat->state] & 1U << state);
    seat->group->n_taken -= seat->state == SEAT_TAKEN;
    seat->group->n_taken += state == SEAT_TAKEN;
    seat->state = state;
}

static bool
is_formed(const struct group *group)
{
    return group->is_formed;
}

static struct seat *
seat_numbered(const struct member *member, uint64_t number)
{
    struct seat *seat = NULL;

    TAILQ_FOREACH(seat, &member->awaited, link)
    {
        if (seat->state == SEAT_TAKEN && seat->number == number)
            return seat;
    }
    TAILQ_FOREACH(seat, &member->seats, link)
    {
        if (seat->number == number)
            return seat;
    }
    return NULL;
}

/*
 * The oldest group of these ranks that waits for member. Or that waits with
 * it, though nobody waits here: that call has been given up.
 */
static struct seat *
seat_awaiting(const struct member *member, const struct cluster_seat_call *call)
{
    struct seat *seat = NULL;

    TAILQ_FOREACH(seat, &member->awaited, link)
    {
        const struct cluster_group *shown = &seat->group->shown;

        if (!seat->waiter && shown->n_ranks == call->n_ranks &&
            memcmp(shown->ranks, call->ranks,
                   call->n_ranks * sizeof(*call->ranks)) == 0)
            return seat;
    }
    return NULL;
}

static struct seat *
seat_of(const struct group *group, const struct member *member)
{
    for (uint32_t i = 0; i < group->shown.n_ranks; i++) {
        if (group->seats[i].member == member)
            return &group->seats[i];
    }
    return NULL;
}

static enum hoop_status
caller_check(const struct member *member, const struct cluster_seat_call *call)
{
    for (uint32_t i = 0; i < call->n_ranks; i++) {
        if (call->ranks[i] == member->rank)
            return HOOP_OK;
    }
    return error_raise(HOOP_E_INVALID,
                       "%s joins a communicator of %u ranks that it is not "
                       "among",
                       member_label(member).text, call->n_ranks);
}

/* Everybody is expected from now on. */
static enum hoop_status
seats_set(struct job *job,
          const struct member *member,
          const struct cluster_seat_call *call,
          struct seat **out_seat)
{
    struct group *group = NULL;
    enum hoop_status status = caller_check(member, call);

    if (status == HOOP_OK)
        status = group_gather(job, call, &group);
    if (status != HOOP_OK)
        return error_pass(status);
    for (uint32_t i = 0; i < call->n_ranks; i++) {
        struct seat *seat = &group->seats[i];

        seat->group = group;
        seat->member = job->ranks[call->ranks[i]];
        TAILQ_INSERT_TAIL(&seat->member->awaited, seat, link);
    }
    *out_seat = seat_of(group, member);
    return HOOP_OK;
}

static enum hoop_status
seat_find(struct job *job,
          const struct member *member,
          const struct cluster_seat_call *call,
          struct seat **out_seat)
{
    struct seat *seat = seat_numbered(member, call->number);

    if (!seat)
        seat = seat_awaiting(member, call);
    if (!seat) {
        const enum hoop_status status = seats_set(job, member, call, &seat);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    if (seat->state == SEAT_FREE)
        seat_move(seat, SEAT_TAKEN);
    seat->has_asked = true;
    seat->number = call->number;
    *out_seat = seat;
    return HOOP_OK;
}

static void
seat_reply(const struct seat *seat, struct cluster_reply *reply)
{
    reply->kind = CLUSTER_REPLY_SEAT;
    reply->seat.communicator = seat->group->shown.communicator;
}

/* The last has come: all who wait are told. */
static void
group_form(struct cluster *cluster, struct group *group)
{
    group->is_formed = true;
    chronicle_write_job(cluster, group->job);
    chronicle_write_group(cluster, group);
    for (uint32_t i = 0; i < group->shown.n_ranks; i++) {
        struct seat *seat = &group->seats[i];

        TAILQ_REMOVE(&seat->member->awaited, seat, link);
        TAILQ_INSERT_TAIL(&seat->member->seats, seat, link);
        if (seat->waiter)
            seat_reply(seat, waiter_answer(cluster, seat->waiter));
    }
}

static void
waiter_replace(struct cluster *cluster, struct seat *seat, const char *why)
{
    if (seat->waiter)
        outbox_refuse(&cluster->outbox, waiter_answer(cluster, seat->waiter),
                      HOOP_E_CANCELLED, "%s", why);
}

enum hoop_status
seat_join(struct cluster *cluster,
          struct job *job,
          const struct cluster_event *event)
{
    const struct cluster_seat_call *call = &event->seat;
    struct member *member = NULL;
    struct seat *seat = NULL;
    enum hoop_status status = membership_check(job, &call->member, &member);

    if (status == HOOP_OK)
        status = seat_find(job, member, call, &seat);
    if (status != HOOP_OK)
        return error_pass(status);

    struct group *group = seat->group;

    waiter_replace(cluster, seat, "the same join came again");
    if (!is_formed(group) && group->n_taken == group->shown.n_ranks)
        group_form(cluster, group);
    if (is_formed(group)) {
        seat_reply(seat, outbox_reply(&cluster->outbox, event->ticket));
        return HOOP_OK;
    }
    status = waiter_park(cluster, job, event, &seat->waiter);
    if (status != HOOP_OK)
        return error_pass(status);
    seat->waiter->seat = seat;
    return HOOP_OK;
}

/* Nobody knows of the group yet: as if this one had not come. */
static void
seat_withdraw(struct cluster *cluster, struct seat *seat)
{
    struct group *group = seat->group;

    seat_move(seat, SEAT_FREE);
    if (group->n_taken > 0)
        return;
    for (uint32_t i = 0; i < group->shown.n_ranks; i++)
        TAILQ_REMOVE(&group->seats[i].member->awaited, &group->seats[i], link);
    group_retire(cluster, group);
}

static void
seat_part(struct cluster *cluster, struct seat *seat)
{
    struct group *group = seat->group;

    TAILQ_REMOVE(&seat->member->seats, seat, link);
    seat_move(seat, SEAT_LEFT);
    if (group->n_taken > 0) {
        chronicle_write_seat(cluster, seat);
        return;
    }
    chronicle_erase_group(cluster, group);
    group_retire(cluster, group);
}

void
seats_fill(struct group *group, const uint64_t *numbers)
{
    group->is_formed = true;
    for (uint32_t i = 0; i < group->shown.n_ranks; i++) {
        struct seat *seat = &group->seats[i];

        seat->group = group;
        seat->member = group->job->ranks[group->ranks[i]];
        seat->number = numbers[i];
        seat->has_asked = true;
        seat_move(seat, SEAT_TAKEN);
        TAILQ_INSERT_TAIL(&seat->member->seats, seat, link);
    }
}

enum hoop_status
seat_leave(struct cluster *cluster,
           struct job *job,
           const struct cluster_event *event)
{
    const struct cluster_seat_call *call = &event->seat;
    struct member *member = NULL;
    const enum hoop_status status =
        membership_check(job, &call->member, &member);

    if (status != HOOP_OK)
        return error_pass(status);
    for (size_t i = 0; i < call->n_numbers; i++) {
        struct seat *seat = seat_numbered(member, call->numbers[i]);

        if (seat)
            waiter_replace(cluster, seat, "the join has been taken back");
        /* What has formed has formed for all: whoever takes its join back is late. */
        if (seat && is_formed(seat->group) && call->is_withdrawal)
            continue;
        if (seat && is_formed(seat->group))
            seat_part(cluster, seat);
        else if (seat)
            seat_withdraw(cluster, seat);
        else
            councils_withdraw(cluster, member, call->numbers[i]);
    }
    councils_vacate(cluster, member);
    outbox_reply(&cluster->outbox, event->ticket);
    return HOOP_OK;
}

void
seat_rename(struct cluster *cluster,
            const struct group *group,
            const struct member *member,
            uint64_t number)
{
    struct seat *seat = seat_of(group, member);

    if (!seat || seat->state != SEAT_TAKEN || seat->number >= number)
        return;
    seat->number = number;
    chronicle_write_group(cluster, group);
}

/* Not the same guilt: who has the shortest deadline gives up first. */
enum absence {
    ABSENCE_NEVER_ASKED,
    ABSENCE_GAVE_UP,
};

static bool
is_absent(const struct seat *seat, enum absence absence)
{
    return seat->state != SEAT_TAKEN &&
           seat->has_asked == (absence == ABSENCE_GAVE_UP);
}

/* title, then "rank 2 (a:7), rank 3 (b:9) and 5 others"; or nothing. */
static void
missing_write(struct sentence *sentence,
              const struct group *group,
              enum absence absence,
              const char *title)
{
    uint32_t n_missing = 0;

    for (uint32_t i = 0; i < group->shown.n_ranks; i++) {
        const struct seat *seat = &group->seats[i];

        if (!is_absent(seat, absence))
            continue;
        if (n_missing++ < NAMES_MAX)
            sentence_add(sentence, "%s%s", n_missing > 1 ? ", " : title,
                         member_label(seat->member).text);
    }
    if (n_missing > NAMES_MAX)
        sentence_add(sentence, " and %u others", n_missing - NAMES_MAX);
}

void
seat_expire(struct cluster *cluster, struct waiter *waiter)
{
    struct seat *seat = waiter->seat;
    struct sentence missing = {0};

    missing_write(
        &missing, seat->group, ABSENCE_NEVER_ASKED,
        ": not asked for, with the same ranks in the same order, by ");
    missing_write(&missing, seat->group, ABSENCE_GAVE_UP, "; given up by ");
    outbox_refuse(&cluster->outbox, waiter_answer(cluster, waiter),
                  HOOP_E_TIMEOUT,
                  "the communicator of %u ranks has not formed before the "
                  "deadline%s",
                  seat->group->shown.n_ranks, missing.text);
    seat_withdraw(cluster, seat);
}

static struct seat *
seat_waiting(const struct member *member, uint64_t number)
{
    struct seat *seat = NULL;

    TAILQ_FOREACH(seat, &member->awaited, link)
    {
        if (seat->waiter &&
            (seat->number == number || number == CLUSTER_NUMBER_ANY))
            return seat;
    }
    return NULL;
}

bool
seats_awaited(const struct member *member,
              uint64_t number,
              struct cluster_awaited *out_awaited,
              struct sentence *out_missing)
{
    const struct seat *seat = seat_waiting(member, number);
    struct sentence missing = {0};

    if (!seat)
        return councils_awaited(member, number, out_awaited, out_missing);
    *out_awaited = (struct cluster_awaited){
        .call = "hoop_comm_create or hoop_comm_split",
        .since_ns = seat->waiter->parked_ns,
        .n_ranks = seat->group->shown.n_ranks,
        .n_here = seat->group->n_taken,
    };
    missing_write(&missing, seat->group, ABSENCE_NEVER_ASKED, "");
    missing_write(&missing, seat->group, ABSENCE_GAVE_UP,
                  missing.n_bytes ? "; again for " : "");
    *out_missing = missing;
    return true;
}

enum hoop_status
seat_awaited(struct cluster *cluster,
             struct job *job,
             const struct cluster_event *event)
{
    const struct cluster_awaited_call *call = &event->awaited;
    struct cluster_awaited awaited = {0};
    struct sentence missing = {0};
    struct member *member = NULL;
    const enum hoop_status status =
        membership_check(job, &call->member, &member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!seats_awaited(member, call->number, &awaited, &missing))
        return error_raise(HOOP_E_NOT_FOUND,
                           "nothing of number %llu waits for others",
                           (unsigned long long)call->number);
    struct cluster_reply *reply = outbox_reply(&cluster->outbox, event->ticket);

    reply->kind = CLUSTER_REPLY_AWAITED;
    reply->awaited = awaited;
    reply->awaited.missing = outbox_text(&cluster->outbox, missing.text);
    return HOOP_OK;
}

/* One of those it waits for will not come. */
static void
group_dissolve(struct cluster *cluster,
               struct group *group,
               const struct member *ended)
{
    for (uint32_t i = 0; i < group->shown.n_ranks; i++) {
        struct seat *seat = &group->seats[i];

        TAILQ_REMOVE(&seat->member->awaited, seat, link);
        seat_move(seat, SEAT_LEFT);
        if (seat->waiter)
            outbox_refuse(&cluster->outbox,
                          waiter_answer(cluster, seat->waiter),
                          member_fate_status(ended),
                          "the communicator of %u ranks cannot form: %s %s",
                          group->shown.n_ranks, member_label(ended).text,
                          member_fate(ended).text);
    }
    group_retire(cluster, group);
}

void
seats_vacate(struct cluster *cluster, struct member *member)
{
    struct seat *seat = NULL;

    while ((seat = TAILQ_FIRST(&member->awaited)))
        group_dissolve(cluster, seat->group, member);
    while ((seat = TAILQ_FIRST(&member->seats)))
        seat_part(cluster, seat);
}

void
seats_revive(struct group *group, const uint64_t *numbers)
{
    group->seats = memory_take(&group->job->memory, group->shown.n_ranks,
                               sizeof(*group->seats));
    seats_fill(group, numbers);
}

enum hoop_status
seat_revive_left(struct group *group, uint64_t place)
{
    if (!group->seats || place >= group->shown.n_ranks ||
        group->seats[place].state != SEAT_TAKEN || group->n_taken == 1)
        return error_raise(HOOP_E_DATA_LOSS,
                           "a seat was left that was not taken");

    struct seat *seat = &group->seats[place];

    TAILQ_REMOVE(&seat->member->seats, seat, link);
    seat_move(seat, SEAT_LEFT);
    return HOOP_OK;
}
