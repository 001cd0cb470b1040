/* select/overrides.c - algorithms that the user chose by HOOP_ALGORITHM */

#include "select/overrides.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"

/* The registry's collective that a call belongs to. */

static const struct {
    enum collective_kind collective;
    enum {
        BLOCKS_NONE, /* the call is not a collective */
        BLOCKS_EVEN,
        BLOCKS_MAY_DIFFER,
    } blocks;
} calls[CALL_RECV_OBJECT + 1] = {
    [CALL_ALLREDUCE] = {COLLECTIVE_ALLREDUCE, BLOCKS_EVEN},
    [CALL_ALLREDUCE_COALESCED] = {COLLECTIVE_ALLREDUCE, BLOCKS_EVEN},
    [CALL_REDUCE] = {COLLECTIVE_REDUCE, BLOCKS_EVEN},
    [CALL_BROADCAST] = {COLLECTIVE_BROADCAST, BLOCKS_EVEN},
    [CALL_BROADCAST_OBJECT] = {COLLECTIVE_BROADCAST, BLOCKS_EVEN},
    [CALL_AGREE] = {COLLECTIVE_BROADCAST, BLOCKS_EVEN},
    [CALL_ALLGATHER] = {COLLECTIVE_ALLGATHER, BLOCKS_EVEN},
    [CALL_ALLGATHERV] = {COLLECTIVE_ALLGATHER, BLOCKS_MAY_DIFFER},
    [CALL_ALLGATHER_OBJECT] = {COLLECTIVE_ALLGATHER, BLOCKS_MAY_DIFFER},
    [CALL_REDUCE_SCATTER] = {COLLECTIVE_REDUCE_SCATTER, BLOCKS_EVEN},
    [CALL_REDUCE_SCATTERV] = {COLLECTIVE_REDUCE_SCATTER, BLOCKS_MAY_DIFFER},
    [CALL_GATHER] = {COLLECTIVE_GATHER, BLOCKS_EVEN},
    [CALL_GATHERV] = {COLLECTIVE_GATHER, BLOCKS_MAY_DIFFER},
    [CALL_GATHER_OBJECT] = {COLLECTIVE_GATHER, BLOCKS_MAY_DIFFER},
    [CALL_SCATTER] = {COLLECTIVE_SCATTER, BLOCKS_EVEN},
    [CALL_SCATTERV] = {COLLECTIVE_SCATTER, BLOCKS_MAY_DIFFER},
    [CALL_SCATTER_OBJECT] = {COLLECTIVE_SCATTER, BLOCKS_MAY_DIFFER},
    [CALL_ALLTOALL] = {COLLECTIVE_ALLTOALL, BLOCKS_EVEN},
    [CALL_ALLTOALLV] = {COLLECTIVE_ALLTOALL, BLOCKS_MAY_DIFFER},
    [CALL_SCAN] = {COLLECTIVE_SCAN, BLOCKS_EVEN},
    [CALL_EXSCAN] = {COLLECTIVE_EXSCAN, BLOCKS_EVEN},
    [CALL_BARRIER] = {COLLECTIVE_BARRIER, BLOCKS_EVEN},
};

enum collective_kind
collective_kind_of(enum call_name name)
{
    assert(calls[name].blocks != BLOCKS_NONE);
    return calls[name].collective;
}

bool
collective_has_uneven_blocks(enum call_name name)
{
    return calls[name].blocks == BLOCKS_MAY_DIFFER;
}

/* Parse, check and drop overrides. */

/* The most ranks that can share a region. */
enum {
    FLAT_RANKS = 64
};

struct comma_separated_list {
    char text[LIMIT_SETTING];
    size_t n_used;
};

/* Builds a list like "ring, chain". */
static void
comma_separated_list_add(struct comma_separated_list *comma_separated_list,
                         const char *name)
{
    const size_t room =
        sizeof(comma_separated_list->text) - comma_separated_list->n_used;
    const int n = snprintf(
        comma_separated_list->text + comma_separated_list->n_used, room, "%s%s",
        comma_separated_list->n_used > 0 ? ", " : "", name);

    if (n > 0 && (size_t)n < room)
        comma_separated_list->n_used += (size_t)n;
}

static enum hoop_status
raise_unknown_collective(const char *where, const char *name)
{
    struct comma_separated_list comma_separated_list = {.n_used = 0};

    for (size_t i = 0; i < COLLECTIVE_KINDS; i++)
        comma_separated_list_add(
            &comma_separated_list,
            registry_collective_name((enum collective_kind)i));
    return error_raise(HOOP_E_INVALID,
                       "%s: there is no collective '%s' to choose an algorithm "
                       "for; there are: %s",
                       where, name, comma_separated_list.text);
}

static enum hoop_status
raise_unknown_algorithm(const char *where,
                        enum collective_kind collective,
                        const char *name)
{
    struct comma_separated_list comma_separated_list = {.n_used = 0};
    size_t n_entries;
    const struct registry_algorithm *entries =
        registry_collective_entries(collective, &n_entries);

    for (size_t i = 0; i < n_entries; i++)
        comma_separated_list_add(&comma_separated_list,
                                 entries[i].algorithm->name);
    return error_raise(HOOP_E_INVALID,
                       "%s: there is no algorithm '%s' for %s; there are: %s",
                       where, name, registry_collective_name(collective),
                       comma_separated_list.text);
}

/* Takes one "collective:algorithm". */
static enum hoop_status
override_item_parse(const char *where, char *item, struct overrides *overrides)
{
    enum collective_kind collective;
    char *colon = strchr(item, ':');

    if (!colon)
        return error_raise(HOOP_E_INVALID,
                           "%s: '%s' is not of the form collective:algorithm",
                           where, item);
    *colon = '\0';
    if (!registry_parse_collective(item, &collective))
        return raise_unknown_collective(where, item);
    if (overrides->entries[collective])
        return error_raise(HOOP_E_INVALID, "%s: two algorithms for %s", where,
                           item);
    overrides->entries[collective] =
        registry_find_algorithm(collective, colon + 1);
    if (!overrides->entries[collective])
        return raise_unknown_algorithm(where, collective, colon + 1);
    return HOOP_OK;
}

enum hoop_status
overrides_parse(const char *where,
                const char *text,
                struct overrides *out_overrides)
{
    struct overrides overrides = {{NULL}};
    char copy[LIMIT_SETTING];
    char *rest = copy;
    char *item;

    if (strlen(text) >= sizeof(copy))
        return error_raise(HOOP_E_INVALID, "%s: more than %zu characters",
                           where, sizeof(copy) - 1);
    snprintf(copy, sizeof(copy), "%s", text);
    while (text[0] && (item = strsep(&rest, ","))) {
        const enum hoop_status status =
            override_item_parse(where, item, &overrides);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    *out_overrides = overrides;
    return HOOP_OK;
}

/* Does entry need more than these ranks share? */
static bool
override_cannot_run(const struct registry_algorithm *entry,
                    const struct plan_shm_region *shm_region)
{
    return entry && !plan_shm_region_can_run(shm_region, entry->algorithm);
}

static enum hoop_status
raise_cma_unavailable(const struct registry_algorithm *entry)
{
    return error_raise(HOOP_E_PRECONDITION,
                       "%s:%s needs ranks that may read each other's memory, "
                       "and these must not: process_vm_readv() is refused (by "
                       "ptrace_scope or seccomp), or HOOP_CMA is off",
                       registry_collective_name(entry->collective),
                       entry->algorithm->name);
}

enum hoop_status
overrides_check_can_run(const struct overrides *overrides,
                        const struct plan_nodes *nodes,
                        const struct plan_shm_region *shm_region)
{
    for (size_t i = 0; i < COLLECTIVE_KINDS && nodes->n_ranks > 1; i++) {
        if (override_cannot_run(overrides->entries[i], shm_region) &&
            shm_region->slot_capacity > 0)
            return raise_cma_unavailable(overrides->entries[i]);
        if (override_cannot_run(overrides->entries[i], shm_region))
            return error_raise(
                HOOP_E_PRECONDITION,
                "%s:%s needs memory that all ranks share, and these %u ranks "
                "on %u hosts have none: they must be on one host, %u at most, "
                "able to reach each other's memory, and not started with "
                "HOOP_TRANSPORT=tcp",
                registry_collective_name((enum collective_kind)i),
                overrides->entries[i]->algorithm->name, nodes->n_ranks,
                nodes->n_nodes, FLAT_RANKS);
    }
    return HOOP_OK;
}

void
overrides_drop_unsupported(struct overrides *overrides,
                           const struct plan_shm_region *shm_region)
{
    for (size_t i = 0; i < COLLECTIVE_KINDS; i++)
        if (override_cannot_run(overrides->entries[i], shm_region))
            overrides->entries[i] = NULL;
}
