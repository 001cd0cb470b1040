/* transport/roster.c - who is in the job: ranks, addresses, incarnations */

#include "transport/roster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum hoop_status
roster_create(uint32_t size, struct roster **out_roster)
{
    if (size == 0 || size > LIMIT_RANKS)
        return error_raise(HOOP_E_EXHAUSTED,
                           "a job of %u ranks: between 1 and %d are possible",
                           size, LIMIT_RANKS);

    struct roster *roster = calloc(1, sizeof(*roster));
    struct member *members = calloc(size, sizeof(*members));

    if (!roster || !members) {
        free(roster);
        free(members);
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u members", size);
    }
    roster->size = size;
    roster->members = members;
    *out_roster = roster;
    return HOOP_OK;
}

void
roster_destroy(struct roster *roster)
{
    if (!roster)
        return;
    free(roster->members);
    free(roster);
}

enum {
    /* length of a UUID as text, with which a host_id may begin */
    BOOT_ID_BYTES = 36,
};

/* Containers of one machine have the same boot id and separate networks. */
static bool
is_same_boot(const char *host_id, const char *other_id)
{
    return strcspn(host_id, "/") == BOOT_ID_BYTES &&
           strncmp(host_id, other_id, BOOT_ID_BYTES + 1) == 0;
}

/* A machine that plays several nodes has one address, and its processors only
 * once. */
bool
roster_is_local(const struct roster *roster, uint32_t rank)
{
    const struct member *self = &roster->members[roster->rank];
    const struct member *member = &roster->members[rank];

    return strcmp(member->host_id, self->host_id) == 0 ||
           is_same_boot(member->host_id, self->host_id) ||
           address_same_host(&member->address, &self->address);
}

static uint32_t
count_local_ranks(const struct roster *roster, uint32_t end)
{
    uint32_t n_ranks = 0;

    for (uint32_t rank = 0; rank < end; rank++)
        n_ranks += roster_is_local(roster, rank);
    return n_ranks;
}

uint32_t
roster_local_size(const struct roster *roster)
{
    return count_local_ranks(roster, roster->size);
}

uint32_t
roster_local_rank(const struct roster *roster)
{
    return count_local_ranks(roster, roster->rank);
}

bool
roster_is_same_node(const struct roster *roster, uint32_t rank)
{
    return strcmp(roster->members[rank].host_id,
                  roster->members[roster->rank].host_id) == 0;
}

const char *
roster_format_name(const struct roster *roster,
                   uint32_t rank,
                   char text[ROSTER_NAME_MAX])
{
    if (rank < roster->size)
        snprintf(text, ROSTER_NAME_MAX, "rank %u (%s:%u)", rank,
                 roster->members[rank].host, roster->members[rank].pid);
    else
        snprintf(text, ROSTER_NAME_MAX, "rank %u", rank);
    return text;
}
