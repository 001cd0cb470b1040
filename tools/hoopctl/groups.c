/* hoopctl/groups.c - hoopctl groups: lists the groups of a job, page by page */

#include <stdio.h>

#include "hoopctl/command.h"
#include "hoopctl/json.h"
#include "hoopctl/shown.h"

static json_t *
group_json(const struct hoop_control_group *group)
{
    json_t *ranks = json_array();

    for (size_t i = 0; i < group->n_ranks; i++)
        json_array_append_new(ranks, json_number(group->ranks[i]));
    return json_pack("{so so so so}", "key", json_text(group->key),
                     "communicator", json_number(group->communicator), "joined",
                     json_number(group->n_joined), "ranks", ranks);
}

static void
group_show(const struct hoop_control_group *group)
{
    struct shown key;
    char joined[32];

    snprintf(joined, sizeof(joined), "%u/%zu", group->n_joined, group->n_ranks);
    printf("%-32s %12llu %12s ", show(group->key, &key),
           (unsigned long long)group->communicator, joined);
    for (size_t i = 0; i < group->n_ranks; i++)
        printf("%s%u", i > 0 ? "," : "", group->ranks[i]);
    putchar('\n');
}

static void
page_show(const struct hoop_control_group_list *page, json_t *all)
{
    for (size_t i = 0; i < page->n_groups; i++) {
        if (all)
            json_array_append_new(all, group_json(&page->groups[i]));
        else
            group_show(&page->groups[i]);
    }
}

enum hoop_status
groups_run(const struct command_call *call)
{
    const struct hoop_control_group_list *page = NULL;
    const char *after = NULL;
    json_t *all = call->format == COMMAND_JSON ? json_array() : NULL;

    do {
        const enum hoop_status status =
            hoop_control_groups(call->control, after, &page);
        if (status != HOOP_OK) {
            json_decref(all);
            return status;
        }
        if (!all && !after)
            printf("%-32s %12s %12s %s\n", "GROUP", "COMMUNICATOR", "JOINED",
                   "RANKS");
        page_show(page, all);
        after = page->n_groups ? page->groups[page->n_groups - 1].key : NULL;
    } while (page->n_more > 0 && after);

    if (all)
        json_print(json_pack("{ss so}", "job",
                             hoop_control_job_name(call->control), "groups",
                             all));
    return HOOP_OK;
}
