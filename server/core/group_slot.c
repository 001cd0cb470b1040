/* core/group_slot.c - a member's slot in a communicator that its members
 * join */

#include "core/group_slot.h"

#include <assert.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"
#include "core/group.h"
#include "core/job.h"
#include "core/journal.h"
#include "core/memory.h"
#include "core/vote.h"

enum {
    MISSING_NAMED_MEMBERS_MAX = 8, /* missing members named in one text */
};

/*
 *   FREE <-> TAKEN -> LEFT
 *      \_____________/
 *
 * A slot may go back from TAKEN to FREE while other members are missing,
 * because no member knows the id yet. A member that ends leaves all of its
 * slots, taken or not.
 */
static const unsigned int group_slot_next_states[] = {
    [GROUP_SLOT_FREE] = 1U << GROUP_SLOT_TAKEN | 1U << GROUP_SLOT_LEFT,
    [GROUP_SLOT_TAKEN] = 1U << GROUP_SLOT_FREE | 1U << GROUP_SLOT_LEFT,
    [GROUP_SLOT_LEFT] = 0,
};

static void
group_slot_set_state(struct group_slot *group_slot, enum group_slot_state state)
{
    assert(group_slot_next_states[group_slot->state] & 1U << state);
    group_slot->group->n_taken_slots -= group_slot->state == GROUP_SLOT_TAKEN;
    group_slot->group->n_taken_slots += state == GROUP_SLOT_TAKEN;
    group_slot->state = state;
}

static bool
is_formed(const struct group *group)
{
    return group->is_formed;
}

static struct group_slot *
group_slot_find_by_number(const struct member *member, uint64_t number)
{
    struct group_slot *group_slot = NULL;

    TAILQ_FOREACH(group_slot, &member->pending, link)
    {
        if (group_slot->state == GROUP_SLOT_TAKEN &&
            group_slot->number == number)
            return group_slot;
    }
    TAILQ_FOREACH(group_slot, &member->slots, link)
    {
        if (group_slot->number == number)
            return group_slot;
    }
    return NULL;
}

/*
 * Return member's slot in the oldest group of these ranks for which it has no
 * parked join: it has not joined that group yet, or its earlier call was given
 * up.
 */
static struct group_slot *
group_slot_find_unjoined(const struct member *member,
                         const struct cluster_group_slot_call *call)
{
    struct group_slot *group_slot = NULL;

    TAILQ_FOREACH(group_slot, &member->pending, link)
    {
        const struct cluster_group *shown = &group_slot->group->shown;

        if (!group_slot->waiter && shown->n_ranks == call->n_ranks &&
            memcmp(shown->ranks, call->ranks,
                   call->n_ranks * sizeof(*call->ranks)) == 0)
            return group_slot;
    }
    return NULL;
}

static struct group_slot *
group_slot_of_member(const struct group *group, const struct member *member)
{
    for (uint32_t i = 0; i < group->shown.n_ranks; i++) {
        if (group->slots[i].member == member)
            return &group->slots[i];
    }
    return NULL;
}

static enum hoop_status
caller_is_member_check(const struct member *member,
                       const struct cluster_group_slot_call *call)
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

/* Create the group and its slots. From now on all of its members are
 * expected. */
static enum hoop_status
group_create_with_slots(struct job *job,
                        const struct member *member,
                        const struct cluster_group_slot_call *call,
                        struct group_slot **out_group_slot)
{
    struct group *group = NULL;
    enum hoop_status status = caller_is_member_check(member, call);

    if (status == HOOP_OK)
        status = group_create_joined(job, call, &group);
    if (status != HOOP_OK)
        return error_pass(status);
    for (uint32_t i = 0; i < call->n_ranks; i++) {
        struct group_slot *group_slot = &group->slots[i];

        group_slot->group = group;
        group_slot->member = job->world.ranks[call->ranks[i]];
        TAILQ_INSERT_TAIL(&group_slot->member->pending, group_slot, link);
    }
    *out_group_slot = group_slot_of_member(group, member);
    return HOOP_OK;
}

static enum hoop_status
group_slot_find_or_create(struct job *job,
                          const struct member *member,
                          const struct cluster_group_slot_call *call,
                          struct group_slot **out_group_slot)
{
    struct group_slot *group_slot =
        group_slot_find_by_number(member, call->number);

    if (!group_slot)
        group_slot = group_slot_find_unjoined(member, call);
    if (!group_slot) {
        const enum hoop_status status =
            group_create_with_slots(job, member, call, &group_slot);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    if (group_slot->state == GROUP_SLOT_FREE)
        group_slot_set_state(group_slot, GROUP_SLOT_TAKEN);
    group_slot->has_ever_joined = true;
    group_slot->number = call->number;
    *out_group_slot = group_slot;
    return HOOP_OK;
}

static void
group_slot_reply(const struct group_slot *group_slot,
                 struct cluster_reply *reply)
{
    reply->kind = CLUSTER_REPLY_GROUP_SLOT;
    reply->group_slot.communicator = group_slot->group->shown.communicator;
}

/* The last member has joined: answer all parked joins. */
static void
group_form_and_answer(struct cluster *cluster, struct group *group)
{
    group->is_formed = true;
    journal_write_job(cluster, group->job);
    journal_write_group(cluster, group);
    for (uint32_t i = 0; i < group->shown.n_ranks; i++) {
        struct group_slot *group_slot = &group->slots[i];

        TAILQ_REMOVE(&group_slot->member->pending, group_slot, link);
        TAILQ_INSERT_TAIL(&group_slot->member->slots, group_slot, link);
        if (group_slot->waiter)
            group_slot_reply(
                group_slot, waiter_end_with_reply(cluster, group_slot->waiter));
    }
}

static void
group_slot_cancel_waiter(struct cluster *cluster,
                         struct group_slot *group_slot,
                         const char *why)
{
    if (group_slot->waiter)
        action_list_fail_reply(
            &cluster->action_list,
            waiter_end_with_reply(cluster, group_slot->waiter),
            HOOP_E_CANCELLED, "%s", why);
}

enum hoop_status
group_slot_join(struct cluster *cluster,
                struct job *job,
                const struct cluster_event *event)
{
    const struct cluster_group_slot_call *call = &event->group_slot;
    struct member *member = NULL;
    struct group_slot *group_slot = NULL;
    enum hoop_status status =
        job_find_active_member(job, &call->member, &member);

    if (status == HOOP_OK)
        status = group_slot_find_or_create(job, member, call, &group_slot);
    if (status != HOOP_OK)
        return error_pass(status);

    struct group *group = group_slot->group;

    group_slot_cancel_waiter(cluster, group_slot, "the same join came again");
    if (!is_formed(group) && group->n_taken_slots == group->shown.n_ranks)
        group_form_and_answer(cluster, group);
    if (is_formed(group)) {
        group_slot_reply(group_slot, action_list_add_reply(
                                         &cluster->action_list, event->ticket));
        return HOOP_OK;
    }
    status = waiter_park(cluster, job, event, &group_slot->waiter);
    if (status != HOOP_OK)
        return error_pass(status);
    group_slot->waiter->group_slot = group_slot;
    return HOOP_OK;
}

/* No member knows the group's id yet, so undo the join. */
static void
group_slot_undo_join(struct cluster *cluster, struct group_slot *group_slot)
{
    struct group *group = group_slot->group;

    group_slot_set_state(group_slot, GROUP_SLOT_FREE);
    if (group->n_taken_slots > 0)
        return;
    for (uint32_t i = 0; i < group->shown.n_ranks; i++)
        TAILQ_REMOVE(&group->slots[i].member->pending, &group->slots[i], link);
    group_remove_from_job(cluster, group);
}

static void
group_slot_leave_formed(struct cluster *cluster, struct group_slot *group_slot)
{
    struct group *group = group_slot->group;

    TAILQ_REMOVE(&group_slot->member->slots, group_slot, link);
    group_slot_set_state(group_slot, GROUP_SLOT_LEFT);
    if (group->n_taken_slots > 0) {
        journal_write_group_slot(cluster, group_slot);
        return;
    }
    journal_erase_group(cluster, group);
    group_remove_from_job(cluster, group);
}

void
group_slots_mark_taken(struct group *group, const uint64_t *numbers)
{
    group->is_formed = true;
    for (uint32_t i = 0; i < group->shown.n_ranks; i++) {
        struct group_slot *group_slot = &group->slots[i];

        group_slot->group = group;
        group_slot->member = group->job->world.ranks[group->ranks[i]];
        group_slot->number = numbers[i];
        group_slot->has_ever_joined = true;
        group_slot_set_state(group_slot, GROUP_SLOT_TAKEN);
        TAILQ_INSERT_TAIL(&group_slot->member->slots, group_slot, link);
    }
}

enum hoop_status
group_slot_leave(struct cluster *cluster,
                 struct job *job,
                 const struct cluster_event *event)
{
    const struct cluster_group_slot_call *call = &event->group_slot;
    struct member *member = NULL;
    const enum hoop_status status =
        job_find_active_member(job, &call->member, &member);

    if (status != HOOP_OK)
        return error_pass(status);
    for (size_t i = 0; i < call->n_numbers; i++) {
        struct group_slot *group_slot =
            group_slot_find_by_number(member, call->numbers[i]);

        if (group_slot)
            group_slot_cancel_waiter(cluster, group_slot,
                                     "the join has been taken back");
        /* The group has formed for all members, so it is too late to take a
         * join back. */
        if (group_slot && is_formed(group_slot->group) && call->is_withdrawal)
            continue;
        if (group_slot && is_formed(group_slot->group))
            group_slot_leave_formed(cluster, group_slot);
        else if (group_slot)
            group_slot_undo_join(cluster, group_slot);
        else
            votes_withdraw_call(cluster, member, call->numbers[i]);
    }
    votes_remove_member(cluster, member);
    action_list_add_reply(&cluster->action_list, event->ticket);
    return HOOP_OK;
}

void
group_slot_update_join_number(struct cluster *cluster,
                              const struct group *group,
                              const struct member *member,
                              uint64_t number)
{
    struct group_slot *group_slot = group_slot_of_member(group, member);

    if (!group_slot || group_slot->state != GROUP_SLOT_TAKEN ||
        group_slot->number >= number)
        return;
    group_slot->number = number;
    journal_write_group(cluster, group);
}

/* Members that never joined are named apart from those that gave up: the member
 * with the shortest deadline gives up first and is not to blame. */
enum missing_reason {
    MISSING_NEVER_JOINED,
    MISSING_JOIN_TIMED_OUT,
};

static bool
group_slot_is_missing(const struct group_slot *group_slot,
                      enum missing_reason absence)
{
    return group_slot->state != GROUP_SLOT_TAKEN &&
           group_slot->has_ever_joined == (absence == MISSING_JOIN_TIMED_OUT);
}

/* Add title and "rank 2 (a:7), rank 3 (b:9) and 5 others", or nothing if no
 * member is missing. */
static void
missing_members_write(struct text_buffer *text_buffer,
                      const struct group *group,
                      enum missing_reason absence,
                      const char *title)
{
    uint32_t n_missing = 0;

    for (uint32_t i = 0; i < group->shown.n_ranks; i++) {
        const struct group_slot *group_slot = &group->slots[i];

        if (!group_slot_is_missing(group_slot, absence))
            continue;
        if (n_missing++ < MISSING_NAMED_MEMBERS_MAX)
            text_buffer_append(text_buffer, "%s%s",
                               n_missing > 1 ? ", " : title,
                               member_label(group_slot->member).text);
    }
    if (n_missing > MISSING_NAMED_MEMBERS_MAX)
        text_buffer_append(text_buffer, " and %u others",
                           n_missing - MISSING_NAMED_MEMBERS_MAX);
}

void
group_slot_on_join_deadline(struct cluster *cluster, struct waiter *waiter)
{
    struct group_slot *group_slot = waiter->group_slot;
    struct text_buffer missing = {0};

    missing_members_write(
        &missing, group_slot->group, MISSING_NEVER_JOINED,
        ": not asked for, with the same ranks in the same order, by ");
    missing_members_write(&missing, group_slot->group, MISSING_JOIN_TIMED_OUT,
                          "; given up by ");
    action_list_fail_reply(
        &cluster->action_list, waiter_end_with_reply(cluster, waiter),
        HOOP_E_TIMEOUT,
        "the communicator of %u ranks has not formed before the "
        "deadline%s",
        group_slot->group->shown.n_ranks, missing.text);
    group_slot_undo_join(cluster, group_slot);
}

static struct group_slot *
group_slot_find_waiting(const struct member *member, uint64_t number)
{
    struct group_slot *group_slot = NULL;

    TAILQ_FOREACH(group_slot, &member->pending, link)
    {
        if (group_slot->waiter &&
            (group_slot->number == number || number == CLUSTER_ANY_CALL_NUMBER))
            return group_slot;
    }
    return NULL;
}

static uint32_t
first_missing_rank(const struct group *group)
{
    for (uint32_t i = 0; i < group->shown.n_ranks; i++) {
        if (group->slots[i].state != GROUP_SLOT_TAKEN)
            return group->slots[i].member->rank;
    }
    return CLUSTER_RANK_ANY;
}

bool
group_slots_missing_members(const struct member *member,
                            uint64_t number,
                            struct cluster_missing_members *out_pending,
                            struct text_buffer *out_missing)
{
    const struct group_slot *group_slot =
        group_slot_find_waiting(member, number);
    struct text_buffer missing = {0};

    if (!group_slot)
        return votes_missing_members(member, number, out_pending, out_missing);
    *out_pending = (struct cluster_missing_members){
        .call = "hoop_comm_create or hoop_comm_split",
        .since_ns = group_slot->waiter->parked_ns,
        .n_ranks = group_slot->group->shown.n_ranks,
        .n_present_ranks = group_slot->group->n_taken_slots,
        .missing_rank = first_missing_rank(group_slot->group),
    };
    missing_members_write(&missing, group_slot->group, MISSING_NEVER_JOINED,
                          "");
    missing_members_write(&missing, group_slot->group, MISSING_JOIN_TIMED_OUT,
                          missing.n_bytes ? "; again for " : "");
    *out_missing = missing;
    return true;
}

enum hoop_status
group_slot_query_missing(struct cluster *cluster,
                         struct job *job,
                         const struct cluster_event *event)
{
    const struct cluster_missing_query *call = &event->pending;
    struct cluster_missing_members pending = {0};
    struct text_buffer missing = {0};
    struct member *member = NULL;
    const enum hoop_status status =
        job_find_active_member(job, &call->member, &member);

    if (status != HOOP_OK)
        return error_pass(status);
    if (!group_slots_missing_members(member, call->number, &pending, &missing))
        return error_raise(HOOP_E_NOT_FOUND,
                           "nothing of number %llu waits for others",
                           (unsigned long long)call->number);
    struct cluster_reply *reply =
        action_list_add_reply(&cluster->action_list, event->ticket);

    reply->kind = CLUSTER_REPLY_MISSING;
    reply->pending = pending;
    reply->pending.missing =
        action_list_copy_text(&cluster->action_list, missing.text);
    return HOOP_OK;
}

/* The group can never form, because a member it waits for has ended: fail all
 * parked joins. */
static void
group_fail_joins(struct cluster *cluster,
                 struct group *group,
                 const struct member *ended)
{
    for (uint32_t i = 0; i < group->shown.n_ranks; i++) {
        struct group_slot *group_slot = &group->slots[i];

        TAILQ_REMOVE(&group_slot->member->pending, group_slot, link);
        group_slot_set_state(group_slot, GROUP_SLOT_LEFT);
        if (group_slot->waiter)
            action_list_fail_reply(
                &cluster->action_list,
                waiter_end_with_reply(cluster, group_slot->waiter),
                member_end_status(ended),
                "the communicator of %u ranks cannot form: %s %s",
                group->shown.n_ranks, member_label(ended).text,
                member_end_text(ended).text);
    }
    group_remove_from_job(cluster, group);
}

void
group_slots_remove_member(struct cluster *cluster, struct member *member)
{
    struct group_slot *group_slot = NULL;

    while ((group_slot = TAILQ_FIRST(&member->pending)))
        group_fail_joins(cluster, group_slot->group, member);
    while ((group_slot = TAILQ_FIRST(&member->slots)))
        group_slot_leave_formed(cluster, group_slot);
}

void
group_slots_recover(struct group *group, const uint64_t *numbers)
{
    group->slots = memory_alloc_charged(
        &group->job->memory, group->shown.n_ranks, sizeof(*group->slots));
    group_slots_mark_taken(group, numbers);
}

enum hoop_status
group_slot_recover_left(struct group *group, uint64_t place)
{
    if (!group->slots || place >= group->shown.n_ranks ||
        group->slots[place].state != GROUP_SLOT_TAKEN ||
        group->n_taken_slots == 1)
        return error_raise(HOOP_E_DATA_LOSS,
                           "a group slot was left that was not taken");

    struct group_slot *group_slot = &group->slots[place];

    TAILQ_REMOVE(&group_slot->member->slots, group_slot, link);
    group_slot_set_state(group_slot, GROUP_SLOT_LEFT);
    return HOOP_OK;
}
