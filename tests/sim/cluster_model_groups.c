/*
 * tests/sim/cluster_model_groups.c - the groups' half of the model
 *
 * A member's joins are its entries: it has entered when it asks, is in when the
 * group has formed, which needs an entry of every rank with the same list, and
 * is out when it left, gave up, or ended.
 */

#include <string.h>

#include "cluster_model.h"

static bool
list_equal(const struct model_list *one, const struct model_list *other)
{
    return one->n_ranks == other->n_ranks &&
           memcmp(one->ranks, other->ranks,
                  one->n_ranks * sizeof(*one->ranks)) == 0;
}

struct model_entry *
model_entry_find(struct model_client *client, uint64_t number)
{
    return number > 0 && number <= client->n_entries
               ? &client->entries[number - 1]
               : NULL;
}

/* The one of this list that waits, of which there is one at most. */
static struct model_entry *
entry_waiting(struct model_client *client, const struct model_list *list)
{
    for (uint64_t i = 0; i < client->n_entries; i++)
        if (client->entries[i].state == ENTRY_ENTERED &&
            list_equal(&client->entries[i].list, list))
            return &client->entries[i];
    return NULL;
}

uint64_t
model_group_enter(struct model_client *client, const struct model_list *list)
{
    struct model_entry *given_up = entry_waiting(client, list);

    /* Its connection broke: the new join takes its slot. */
    if (given_up)
        given_up->state = ENTRY_OUT;
    client->entries[client->n_entries] = (struct model_entry){
        .list = *list,
        .state = ENTRY_ENTERED,
    };
    return ++client->n_entries;
}

static struct model_client *
member_find(struct model *model, uint64_t epoch, uint32_t rank)
{
    for (int i = 0; i < MODEL_CLIENTS; i++)
        if (model->clients[i].epoch == epoch &&
            model->clients[i].rank == rank &&
            model->clients[i].state == CLIENT_ACTIVE)
            return &model->clients[i];
    return NULL;
}

static struct model_group *
group_find(struct model *model, uint64_t epoch, uint64_t communicator)
{
    for (unsigned int i = 0; i < model->n_groups; i++)
        if (model->groups[i].epoch == epoch &&
            model->groups[i].communicator == communicator)
            return &model->groups[i];
    return NULL;
}

/* The first of its members is told: every other must be there as well. */
static void
group_form(struct model *model,
           uint64_t epoch,
           uint64_t communicator,
           const struct model_list *list)
{
    model_expect(model, model->n_groups < MODEL_GROUPS, "too many groups");
    struct model_group *group = &model->groups[model->n_groups++];

    *group = (struct model_group){
        .epoch = epoch,
        .communicator = communicator,
        .list = *list,
        .n_in = list->n_ranks,
    };
    for (uint32_t i = 0; i < list->n_ranks; i++) {
        struct model_client *member = member_find(model, epoch, list->ranks[i]);
        struct model_entry *entry = member ? entry_waiting(member, list) : NULL;

        model_expect(model, entry != NULL,
                     "a group has formed without one of its members");
        entry->state = ENTRY_IN;
        entry->communicator = communicator;
    }
}

static void
entry_end(struct model *model, uint64_t epoch, struct model_entry *entry)
{
    struct model_group *group =
        entry->state == ENTRY_IN ? group_find(model, epoch, entry->communicator)
                                 : NULL;

    if (group)
        group->n_in--;
    entry->state = ENTRY_OUT;
}

void
model_groups_leave(struct model *model, struct model_client *client)
{
    for (uint64_t i = 0; i < client->n_entries; i++)
        entry_end(model, client->epoch, &client->entries[i]);
}

static void
group_join_reply(struct model *model,
                 const struct model_ticket *ticket,
                 const struct cluster_reply *reply)
{
    struct model_client *client = &model->clients[ticket->client];
    const uint64_t epoch = ticket->event.group_slot.member.epoch;
    struct model_entry *entry =
        model_entry_find(client, ticket->event.group_slot.number);
    const uint64_t communicator = reply->group_slot.communicator;

    if (client->epoch != epoch || !entry)
        return;
    if (reply->status == HOOP_E_TIMEOUT)
        model_expect(model, strstr(reply->text, "by rank ") != NULL,
                     "nobody says who has not joined");
    if (reply->status != HOOP_OK) {
        /* Replaced by its repetition, it is still waited for. */
        if (reply->status != HOOP_E_CANCELLED)
            entry->state = ENTRY_OUT;
        return;
    }
    if (!group_find(model, epoch, communicator)) {
        group_form(model, epoch, communicator, &entry->list);
        model->n_formed++;
    }
    model_expect(
        model, entry->state == ENTRY_IN && entry->communicator == communicator,
        "a join was answered with another's group");
}

static void
group_leave_reply(struct model *model, const struct model_ticket *ticket)
{
    struct model_client *client = &model->clients[ticket->client];
    struct model_entry *entry = model_entry_find(client, ticket->number);

    /* What has formed is not withdrawn. */
    if (ticket->event.group_slot.is_withdrawal && entry &&
        entry->state == ENTRY_IN)
        return;
    if (client->epoch == ticket->event.group_slot.member.epoch && entry)
        entry_end(model, client->epoch, entry);
}

static void
group_list_reply(struct model *model,
                 const struct model_ticket *ticket,
                 const struct cluster_groups *groups)
{
    const uint64_t epoch = model->jobs[ticket->job].epoch;
    size_t n_formed = 0;

    for (size_t i = 0; i < groups->n_items; i++) {
        const struct cluster_group *item = &groups->items[i];
        const struct model_group *group =
            group_find(model, epoch, item->communicator);

        model_expect(model, item->n_joined > 0, "an empty group is listed");
        model_expect(model, group || item->n_joined < item->n_ranks,
                     "a full group has not formed");
        if (!group)
            continue;
        n_formed++;
        model_expect(model, item->n_joined == group->n_in,
                     "not as many as have not left");
    }
    for (unsigned int i = 0; i < model->n_groups; i++)
        n_formed -=
            model->groups[i].epoch == epoch && model->groups[i].n_in > 0;
    model_expect(model, n_formed == 0, "not the groups that there are");
}

void
model_group_reply(struct model *model,
                  const struct model_ticket *ticket,
                  const struct cluster_reply *reply)
{
    if (ticket->event.kind == CLUSTER_GROUP_JOIN)
        group_join_reply(model, ticket, reply);
    if (ticket->event.kind == CLUSTER_GROUP_LEAVE && reply->status == HOOP_OK)
        group_leave_reply(model, ticket);
    if (ticket->event.kind == CLUSTER_GROUP_LIST && reply->status == HOOP_OK)
        group_list_reply(model, ticket, &reply->groups);
}

static bool
waits_for(const struct model *model, int client, const struct model_list *list)
{
    for (int i = 0; i < MODEL_TICKETS; i++)
        if (model->tickets[i].is_open && model->tickets[i].client == client &&
            model->tickets[i].event.kind == CLUSTER_GROUP_JOIN &&
            list_equal(&model->tickets[i].list, list))
            return true;
    return false;
}

bool
model_group_is_over(const struct model *model,
                    const struct model_ticket *ticket)
{
    const uint64_t epoch = ticket->event.group_slot.member.epoch;
    uint32_t n_waiting = 0;

    if (ticket->event.kind != CLUSTER_GROUP_JOIN)
        return false;
    for (int i = 0; i < MODEL_CLIENTS; i++)
        n_waiting += model->clients[i].epoch == epoch &&
                     waits_for(model, i, &ticket->list);
    return n_waiting == ticket->list.n_ranks;
}
