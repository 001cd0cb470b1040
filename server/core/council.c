/* core/council.c - members of a communicator decide together, whoever is lost */

#include "core/council.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "core/chronicle.h"
#include "core/group.h"
#include "core/job.h"
#include "core/membership.h"
#include "core/memory.h"
#include "core/seat.h"
#include "core/sentence.h"
#include "core/state.h"

enum {
    NAMES_MAX = 8, /* of the missing, in one text */
};

/* As programs name them, by kind. */
static const char *const call_names[] = {
    [CLUSTER_COUNCIL_AGREE] = "hoop_comm_agree",
    [CLUSTER_COUNCIL_SHRINK] = "hoop_comm_shrink",
    [CLUSTER_COUNCIL_CONFIRM] = "hoop_comm_shrink",
    [CLUSTER_COUNCIL_GROW] = "hoop_comm_grow",
};

/* Whether the seat's member is still there, and in the communicator. */
static bool
is_expected(const struct council_seat *seat)
{
    const struct council *council = seat->council;
    const size_t place = (size_t)(seat - council->seats);

    return seat->member->state == CLUSTER_MEMBER_ACTIVE &&
           (!council->group || council->group->seats[place].state != SEAT_LEFT);
}

static struct council_seat *
seat_of(struct council *council, const struct member *member)
{
    for (uint32_t i = 0; i < council->n_seats; i++) {
        if (council->seats[i].member == member)
            return &council->seats[i];
    }
    return NULL;
}

static struct council *
council_create(struct job *job,
               const struct council_key *key,
               struct group *group)
{
    const uint32_t n_seats = group ? group->shown.n_ranks : job->size;
    struct council *council = memory_take(
        &job->memory, 1, sizeof(*council) + n_seats * sizeof(*council->seats));

    council->key = *key;
    council->job = job;
    council->group = group;
    council->ranks =
        memory_take(&job->memory, n_seats, sizeof(*council->ranks));
    council->n_seats = n_seats;
    for (uint32_t i = 0; i < n_seats; i++) {
        council->seats[i].council = council;
        council->seats[i].member =
            group ? group->seats[i].member : job->ranks[i];
    }
    HASH_ADD(hh, job->councils, key, sizeof(council->key), council);
    job_count_tables(job);
    return council;
}

/* It has left the table. */
static void
council_free(struct council *council)
{
    struct job *job = council->job;

    memory_free(&job->memory, council->ranks);
    memory_free(&job->memory, council);
    job_count_tables(job);
}

/* The communicator has formed, and member is in it. */
static enum hoop_status
council_open(struct job *job,
             const struct member *member,
             const struct council_key *key,
             struct council **out_council)
{
    struct group *group = NULL;

    if (key->communicator != 0) {
        group = group_formed(job, key->communicator);
        if (!group)
            return error_raise(HOOP_E_PRECONDITION,
                               "job \"%s\" has no communicator %" PRIu64
                               ", or it has been freed",
                               job->name, key->communicator);
    }

    const uint32_t n_seats = group ? group->shown.n_ranks : job->size;
    const enum hoop_status status =
        memory_check(&job->memory, sizeof(struct council) +
                                       n_seats * (sizeof(struct council_seat) +
                                                  sizeof(uint32_t)));
    if (status != HOOP_OK)
        return error_pass(status);

    struct council *council = council_create(job, key, group);

    if (!seat_of(council, member)) {
        HASH_DEL(job->councils, council);
        council_free(council);
        return error_raise(HOOP_E_INVALID,
                           "%s is no member of communicator %" PRIu64,
                           member_label(member).text, key->communicator);
    }
    *out_council = council;
    return HOOP_OK;
}

static enum hoop_status
council_find(struct job *job,
             const struct member *member,
             const struct cluster_council_call *call,
             struct council **out_council)
{
    const struct council_key key = {call->communicator, call->kind};
    struct council *council = NULL;
    enum hoop_status status = HOOP_OK;

    HASH_FIND(hh, job->councils, &key, sizeof(key), council);
    if (!council)
        status = council_open(job, member, &key, &council);
    if (status != HOOP_OK)
        return error_pass(status);

    const struct council_seat *seat = seat_of(council, member);

    if (!seat || !is_expected(seat))
        return error_raise(HOOP_E_PRECONDITION,
                           "%s is not in communicator %" PRIu64
                           ", or has freed it",
                           member_label(member).text, call->communicator);
    if (council->turn == 0)
        council->turn = call->turn;
    if (call->turn != council->turn && call->turn != council->told)
        return error_raise(HOOP_E_ABORTED,
                           "turn %" PRIu64 " was asked for, but that of the "
                           "others is %" PRIu64,
                           call->turn, council->turn);
    *out_council = council;
    return HOOP_OK;
}

enum hoop_status
council_revive(struct job *job, const struct council_revival *former)
{
    const struct cluster_outcome *outcome = &former->outcome;
    const uint64_t communicator = former->key.communicator;
    struct group *group = communicator ? group_formed(job, communicator) : NULL;

    if ((communicator && !group) || !former->told || former->told == UINT64_MAX)
        return error_raise(HOOP_E_DATA_LOSS, "an outcome is of no council");

    struct council *council = council_create(job, &former->key, group);

    if (outcome->n_ranks > council->n_seats) {
        HASH_DEL(job->councils, council);
        council_free(council);
        return error_raise(HOOP_E_DATA_LOSS, "an outcome has too many ranks");
    }
    council->told = former->told;
    council->turn = former->told + 1;
    council->outcome = *outcome;
    council->outcome.ranks = council->ranks;
    memcpy(council->ranks, outcome->ranks,
           outcome->n_ranks * sizeof(*outcome->ranks));
    return HOOP_OK;
}

/* The outcome. */

static struct cluster_outcome
outcome_shared(struct cluster *cluster, const struct council *council)
{
    struct cluster_outcome outcome = council->outcome;
    uint32_t *ranks =
        outbox_memory(&cluster->outbox, outcome.n_ranks, sizeof(*ranks));

    memcpy(ranks, council->ranks, outcome.n_ranks * sizeof(*ranks));
    outcome.ranks = ranks;
    return outcome;
}

static void
outcome_reply(struct cluster *cluster,
              const struct cluster_outcome *outcome,
              struct cluster_reply *reply)
{
    if (outcome->status != HOOP_OK) {
        outbox_refuse(&cluster->outbox, reply, outcome->status,
                      "the %u survivors cannot form a communicator: the job "
                      "has as many as the coordinator keeps",
                      outcome->n_ranks);
        return;
    }
    reply->kind = CLUSTER_REPLY_OUTCOME;
    reply->outcome = *outcome;
}

/* Those who have come are the members, in the order of the old one. */
static void
survivors_gather(struct cluster *cluster, struct council *council)
{
    struct cluster_outcome *outcome = &council->outcome;
    const struct cluster_seat_call call = {.ranks = council->ranks,
                                           .n_ranks = outcome->n_ranks};
    uint64_t *numbers = memory_create(outcome->n_ranks, sizeof(*numbers));
    struct group *group = NULL;
    uint32_t n_numbers = 0;

    for (uint32_t i = 0; i < council->n_seats; i++) {
        if (is_expected(&council->seats[i]))
            numbers[n_numbers++] = council->seats[i].number;
    }
    outcome->status = group_gather(council->job, &call, &group);
    if (outcome->status == HOOP_OK) {
        seats_fill(group, numbers);
        outcome->communicator = group->shown.communicator;
        chronicle_write_job(cluster, council->job);
        chronicle_write_group(cluster, group);
    }
    free(numbers);
}

static void
outcome_make(struct cluster *cluster, struct council *council)
{
    struct cluster_outcome *outcome = &council->outcome;

    *outcome = (struct cluster_outcome){
        .flags = UINT64_MAX,
        .least = UINT64_MAX,
        .ranks = council->ranks,
    };
    for (uint32_t i = 0; i < council->n_seats; i++) {
        const struct council_seat *seat = &council->seats[i];

        if (!is_expected(seat))
            continue;
        outcome->flags &= seat->flags;
        if (seat->least < outcome->least)
            outcome->least = seat->least;
        council->ranks[outcome->n_ranks++] = seat->member->rank;
    }
    outcome->membership_epoch = council->job->membership_epoch;
    if (council->key.kind == CLUSTER_COUNCIL_SHRINK)
        survivors_gather(cluster, council);
}

static bool
is_complete(const struct council *council)
{
    uint32_t n_come = 0;

    for (uint32_t i = 0; i < council->n_seats; i++) {
        if (!is_expected(&council->seats[i]))
            continue;
        if (!council->seats[i].has_come)
            return false;
        n_come++;
    }
    return n_come > 0;
}

/* Its member has ended, or is in the communicator no more: nobody else will answer
 * it. */
static void
stranger_refuse(struct cluster *cluster, struct council_seat *seat)
{
    const struct member *member = seat->member;
    const bool is_active = member->state == CLUSTER_MEMBER_ACTIVE;

    outbox_refuse(
        &cluster->outbox, waiter_answer(cluster, seat->waiter),
        member_fate_status(member), "%s %s", member_label(member).text,
        is_active ? "has freed the communicator" : member_fate(member).text);
}

static void
council_decide(struct cluster *cluster, struct council *council)
{
    outcome_make(cluster, council);
    council->told = council->turn++;
    chronicle_write_council(cluster, council);

    const struct cluster_outcome outcome = outcome_shared(cluster, council);

    for (uint32_t i = 0; i < council->n_seats; i++) {
        struct council_seat *seat = &council->seats[i];

        seat->has_come = false;
        if (seat->waiter)
            outcome_reply(cluster, &outcome,
                          waiter_answer(cluster, seat->waiter));
    }
}

static void
council_check(struct cluster *cluster, struct council *council)
{
    for (uint32_t i = 0; i < council->n_seats; i++) {
        struct council_seat *seat = &council->seats[i];

        if (is_expected(seat))
            continue;
        seat->has_come = false;
        if (seat->waiter)
            stranger_refuse(cluster, seat);
    }
    if (is_complete(council))
        council_decide(cluster, council);
}

static enum hoop_status
call_check(const struct cluster_council_call *call)
{
    if (call->turn == 0 || call->turn == UINT64_MAX)
        return error_raise(HOOP_E_INVALID, "turns are counted from 1");
    if (call->kind < CLUSTER_COUNCIL_AGREE || call->kind > CLUSTER_COUNCIL_GROW)
        return error_raise(HOOP_E_INVALID, "there is no council of kind %u",
                           call->kind);
    return HOOP_OK;
}

/* The council of this kind on the same communicator as call; NULL: there is none. */
static struct council *
council_beside(const struct job *job,
               const struct cluster_council_call *call,
               uint64_t kind)
{
    const struct council_key key = {call->communicator, kind};
    struct council *council = NULL;

    HASH_FIND(hh, job->councils, &key, sizeof(key), council);
    return council;
}

/* Who shrinks a communicator does not wait for those who want it to grow. */
static void
growth_interrupt(struct cluster *cluster,
                 const struct member *member,
                 const struct cluster_council_call *call)
{
    struct council *growth =
        council_beside(member->job, call, CLUSTER_COUNCIL_GROW);

    for (uint32_t i = 0; growth && i < growth->n_seats; i++) {
        struct council_seat *seat = &growth->seats[i];

        seat->has_come = false;
        if (seat->waiter)
            outbox_refuse(&cluster->outbox,
                          waiter_answer(cluster, seat->waiter), HOOP_E_ABORTED,
                          "%s shrinks the communicator",
                          member_label(member).text);
    }
}

/* ... and who comes to make it grow then has to shrink it as well. */
static enum hoop_status
growth_check_shrink(const struct member *member,
                    const struct cluster_council_call *call)
{
    const struct council *shrink =
        council_beside(member->job, call, CLUSTER_COUNCIL_SHRINK);

    for (uint32_t i = 0; shrink && i < shrink->n_seats; i++) {
        const struct council_seat *seat = &shrink->seats[i];

        if (seat->member != member && seat->has_come && is_expected(seat))
            return error_raise(HOOP_E_ABORTED, "%s shrinks the communicator",
                               member_label(seat->member).text);
    }
    return HOOP_OK;
}

static void
seat_take(struct cluster *cluster,
          struct council_seat *seat,
          const struct cluster_council_call *call)
{
    if (seat->waiter)
        outbox_refuse(&cluster->outbox, waiter_answer(cluster, seat->waiter),
                      HOOP_E_CANCELLED, "the same call came again");
    if (call->turn != seat->council->turn)
        return;
    seat->has_come = true;
    seat->flags = call->flags;
    seat->least = call->least;
    seat->number = call->number;
    council_check(cluster, seat->council);
}

/* Once more: its answer was lost, or its member had given up meanwhile, and asks
 * for the same with another number. */
static void
outcome_repeat(struct cluster *cluster,
               const struct council_seat *seat,
               const struct cluster_event *event)
{
    const struct council *council = seat->council;
    const struct cluster_outcome outcome = outcome_shared(cluster, council);
    const struct group *group =
        outcome.communicator ? group_formed(council->job, outcome.communicator)
                             : NULL;

    if (group)
        seat_rename(cluster, group, seat->member, event->council.number);
    outcome_reply(cluster, &outcome,
                  outbox_reply(&cluster->outbox, event->ticket));
}

enum hoop_status
council_attend(struct cluster *cluster,
               struct job *job,
               const struct cluster_event *event)
{
    const struct cluster_council_call *call = &event->council;
    struct council *council = NULL;
    struct member *member = NULL;
    enum hoop_status status = membership_check(job, &call->member, &member);

    if (status == HOOP_OK)
        status = call_check(call);
    if (status == HOOP_OK && call->kind == CLUSTER_COUNCIL_GROW)
        status = growth_check_shrink(member, call);
    if (status == HOOP_OK)
        status = council_find(job, member, call, &council);
    if (status != HOOP_OK)
        return error_pass(status);

    struct council_seat *seat = seat_of(council, member);

    /* Of a member that has come again over another connection: who was away may
     * read the older one last. */
    if (seat->waiter && call->number < seat->number)
        return error_raise(HOOP_E_CANCELLED, "a later call has come already");
    if (call->kind == CLUSTER_COUNCIL_SHRINK && call->turn == council->turn)
        growth_interrupt(cluster, member, call);
    seat_take(cluster, seat, call);
    if (council->told == call->turn) {
        outcome_repeat(cluster, seat, event);
        return HOOP_OK;
    }
    status = waiter_park(cluster, job, event, &seat->waiter);
    if (status != HOOP_OK) {
        seat->has_come = false;
        return error_pass(status);
    }
    seat->waiter->chair = seat;
    return HOOP_OK;
}

/* title, then "rank 2 (a:7), rank 3 (b:9) and 5 others" */
static struct sentence
missing_name(const struct council *council, const char *title)
{
    struct sentence sentence = {0};
    uint32_t n_missing = 0;

    for (uint32_t i = 0; i < council->n_seats; i++) {
        const struct council_seat *seat = &council->seats[i];

        if (!is_expected(seat) || seat->has_come)
            continue;
        if (n_missing++ < NAMES_MAX)
            sentence_add(&sentence, "%s%s", n_missing > 1 ? ", " : title,
                         member_label(seat->member).text);
    }
    if (n_missing > NAMES_MAX)
        sentence_add(&sentence, " and %u others", n_missing - NAMES_MAX);
    return sentence;
}

/* Its member waits in council, by this number. */
static bool
is_waiting(const struct council_seat *seat, uint64_t number)
{
    return seat && seat->waiter && seat->has_come &&
           (seat->number == number || number == CLUSTER_NUMBER_ANY);
}

/* The seat in which member waits, of whatever council; NULL: it waits in none. By
 * the connection on which it spoke last: a search through all councils for each of
 * those that are missing, and of those that wait, would take too long. */
static const struct council_seat *
seat_waiting(const struct cluster *cluster, const struct member *member)
{
    const struct waiter *waiter = waiters_of_client(cluster, member->client);

    while (waiter &&
           (waiter->kind != WAITER_COUNCIL || waiter->chair->member != member))
        waiter = waiter->next;
    return waiter ? waiter->chair : NULL;
}

/* The first that is missing in council and waits in another one, if any does. */
static void
elsewhere_add(struct sentence *sentence,
              const struct cluster *cluster,
              const struct council *council)
{
    const struct council_seat *elsewhere = NULL;

    for (uint32_t i = 0; !elsewhere && i < council->n_seats; i++) {
        const struct council_seat *seat = &council->seats[i];

        if (is_expected(seat) && !seat->has_come)
            elsewhere = seat_waiting(cluster, seat->member);
    }
    if (elsewhere)
        sentence_add(sentence, "; %s waits in %s",
                     member_label(elsewhere->member).text,
                     call_names[elsewhere->council->key.kind]);
}

void
council_expire(struct cluster *cluster, struct waiter *waiter)
{
    struct council_seat *seat = waiter->chair;
    const struct council *council = seat->council;
    struct sentence missing = missing_name(council, ": not asked for by ");

    elsewhere_add(&missing, cluster, council);
    seat->has_come = false;
    outbox_refuse(
        &cluster->outbox, waiter_answer(cluster, waiter), HOOP_E_TIMEOUT,
        "%s: the survivors of %u ranks have not come together before "
        "the deadline%s",
        call_names[council->key.kind], council->n_seats, missing.text);
}

bool
councils_awaited(const struct member *member,
                 uint64_t number,
                 struct cluster_awaited *out_awaited,
                 struct sentence *out_missing)
{
    struct council *council = member->job->councils;

    while (council && !is_waiting(seat_of(council, member), number))
        council = council->hh.next;
    if (!council)
        return false;
    *out_awaited = (struct cluster_awaited){
        .call = call_names[council->key.kind],
        .since_ns = seat_of(council, member)->waiter->parked_ns,
    };
    for (uint32_t i = 0; i < council->n_seats; i++) {
        const struct council_seat *seat = &council->seats[i];

        out_awaited->n_ranks += is_expected(seat);
        out_awaited->n_here += is_expected(seat) && seat->has_come;
    }
    *out_missing = missing_name(council, "");
    return true;
}

void
councils_vacate(struct cluster *cluster, const struct member *member)
{
    struct council *council = member->job->councils;

    while (council) {
        struct council *next = council->hh.next;

        if (seat_of(council, member))
            council_check(cluster, council);
        council = next;
    }
}

void
councils_withdraw(struct cluster *cluster,
                  const struct member *member,
                  uint64_t number)
{
    for (struct council *council = member->job->councils; council;
         council = council->hh.next) {
        struct council_seat *seat = seat_of(council, member);

        if (!seat || !seat->has_come || seat->number != number)
            continue;
        seat->has_come = false;
        if (seat->waiter)
            outbox_refuse(&cluster->outbox,
                          waiter_answer(cluster, seat->waiter),
                          HOOP_E_CANCELLED, "the call has been taken back");
    }
}

void
councils_close(struct cluster *cluster, const struct group *group)
{
    struct council *council = group->job->councils;

    while (council) {
        struct council *next = council->hh.next;

        if (council->group == group) {
            council_check(cluster, council);
            chronicle_erase_council(cluster, council);
            HASH_DEL(group->job->councils, council);
            council_free(council);
        }
        council = next;
    }
}

void
councils_destroy(struct job *job)
{
    struct council *council = job->councils;

    HASH_CLEAR(hh, job->councils);
    while (council) {
        struct council *next = council->hh.next;

        council_free(council);
        council = next;
    }
}
