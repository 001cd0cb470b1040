/* select/placement.c - finds the ranks of a context that share a host */

#include "select/placement.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

struct rank_host {
    const char *host_id;
    uint32_t rank;
};

static int
rank_host_compare(const void *left, const void *right)
{
    const struct rank_host *one = left;
    const struct rank_host *other = right;

    return strcmp(one->host_id, other->host_id);
}

enum hoop_status
placement_nodes_from_roster(const struct comm_context *context,
                            const struct roster *roster,
                            struct plan_nodes **out_nodes)
{
    const uint32_t size = context_size(context);
    CLEANUP(free)
    struct rank_host *placed = calloc(size, sizeof(*placed));
    CLEANUP(free)
    uint32_t *names = calloc(size, sizeof(*names));
    uint32_t n_hosts = 0;

    if (!placed || !names)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory for the nodes of %u ranks", size);
    for (uint32_t rank = 0; rank < size; rank++)
        placed[rank] = (struct rank_host){
            .host_id =
                roster->members[context_world_rank(context, rank)].host_id,
            .rank = rank,
        };
    qsort(placed, size, sizeof(*placed), rank_host_compare);
    for (uint32_t i = 0; i < size; i++) {
        if (i > 0 && rank_host_compare(&placed[i - 1], &placed[i]) != 0)
            n_hosts++;
        names[placed[i].rank] = n_hosts;
    }
    return plan_nodes_create(names, size, out_nodes);
}
