/* tests/sim/cluster_sim_groups.c - members that join groups and leave them */

#include <string.h>

#include "cluster_sim.h"

/* A list with the client in it, of one of a few kinds. */
static struct model_list
list_choose(struct sim *sim, const struct model_client *client)
{
    const uint32_t size = sim->model.jobs[client->job].size;
    struct model_list list = {.n_ranks = size};
    const uint64_t kind = sim_random(sim, 4);

    for (uint32_t i = 0; i < size; i++)
        list.ranks[i] = kind == 3 ? size - 1 - i : i;
    if (kind < 2 && size > 1) {
        list.n_ranks = 2;
        list.ranks[0] = client->rank & ~1U;
        list.ranks[1] = (client->rank | 1U) < size ? client->rank | 1U : 0;
    }
    return list;
}

static bool
is_joining_list(const struct sim *sim, int index, const struct model_list *list)
{
    for (int i = 0; i < MODEL_TICKETS; i++) {
        const struct model_ticket *ticket = &sim->model.tickets[i];

        if (ticket->is_open && ticket->client == index &&
            ticket->event.kind == CLUSTER_GROUP_JOIN &&
            memcmp(&ticket->list, list, sizeof(*list)) == 0)
            return true;
    }
    return false;
}

static void
group_join_send(struct sim *sim, int index)
{
    struct model_client *client = &sim->model.clients[index];
    const struct model_list list = list_choose(sim, client);
    const struct model_entry *last =
        model_entry_find(client, client->n_entries);
    const bool is_again =
        last && last->state != ENTRY_OUT && sim_random(sim, 5) == 0;

    if (!is_again && (client->n_entries == MODEL_ENTRIES ||
                      is_joining_list(sim, index, &list)))
        return;

    struct model_ticket *ticket = ticket_open(sim, client->job, index);

    ticket->list = is_again ? last->list : list;
    ticket->event.kind = CLUSTER_GROUP_JOIN;
    ticket->event.group_slot = (struct cluster_group_slot_call){
        .member = {client->epoch, client->incarnation},
        .number =
            is_again ? client->n_entries : model_group_enter(client, &list),
        .ranks = ticket->list.ranks,
        .n_ranks = ticket->list.n_ranks,
    };
    sim_step(sim, &ticket->event);
}

static void
group_leave_send(struct sim *sim, int index)
{
    const struct model_client *client = &sim->model.clients[index];
    struct model_ticket *ticket = ticket_open(sim, client->job, index);

    ticket->number = 1 + sim_random(sim, client->n_entries + 1);
    ticket->event.kind = CLUSTER_GROUP_LEAVE;
    ticket->event.group_slot = (struct cluster_group_slot_call){
        .member = {client->epoch, client->incarnation},
        .numbers = &ticket->number,
        .n_numbers = 1,
        .is_withdrawal = sim_random(sim, 3) == 0,
    };
    sim_step(sim, &ticket->event);
}

void
group_send(struct sim *sim, int index)
{
    const uint64_t choice = sim_random(sim, 10);

    if (choice < 7) {
        group_join_send(sim, index);
    } else if (choice < 9) {
        group_leave_send(sim, index);
    } else {
        struct model_ticket *ticket =
            ticket_open(sim, sim->model.clients[index].job, index);

        ticket->event.kind = CLUSTER_GROUP_LIST;
        sim_step(sim, &ticket->event);
    }
}
