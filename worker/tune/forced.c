/* tune/forced.c - algorithms that somebody insists on: HOOP_ALGORITHM */

#include "tune/forced.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/limits.h"

/* As many as a shared region has room for. */
enum {
    FLAT_RANKS = 64
};

struct names {
    char text[LIMIT_SETTING];
    size_t n_used;
};

/* "ring, chain" */
static void
names_add(struct names *names, const char *name)
{
    const size_t room = sizeof(names->text) - names->n_used;
    const int n = snprintf(names->text + names->n_used, room, "%s%s",
                           names->n_used > 0 ? ", " : "", name);

    if (n > 0 && (size_t)n < room)
        names->n_used += (size_t)n;
}

static enum hoop_status
collective_refuse(const char *where, const char *name)
{
    struct names names = {.n_used = 0};

    for (size_t i = 0; i < CATALOG_COLLECTIVES; i++)
        names_add(&names, catalog_name((enum catalog_collective)i));
    return error_raise(HOOP_E_INVALID,
                       "%s: there is no collective '%s' to choose an algorithm "
                       "for; there are: %s",
                       where, name, names.text);
}

static enum hoop_status
algorithm_refuse(const char *where,
                 enum catalog_collective collective,
                 const char *name)
{
    struct names names = {.n_used = 0};
    size_t n_entries;
    const struct catalog_entry *entries = catalog_of(collective, &n_entries);

    for (size_t i = 0; i < n_entries; i++)
        names_add(&names, entries[i].algorithm->name);
    return error_raise(HOOP_E_INVALID,
                       "%s: there is no algorithm '%s' for %s; there are: %s",
                       where, name, catalog_name(collective), names.text);
}

/* One "collective:algorithm". */
static enum hoop_status
item_take(const char *where, char *item, struct forced *forced)
{
    enum catalog_collective collective;
    char *colon = strchr(item, ':');

    if (!colon)
        return error_raise(HOOP_E_INVALID,
                           "%s: '%s' is not of the form collective:algorithm",
                           where, item);
    *colon = '\0';
    if (!catalog_parse(item, &collective))
        return collective_refuse(where, item);
    if (forced->entries[collective])
        return error_raise(HOOP_E_INVALID, "%s: two algorithms for %s", where,
                           item);
    forced->entries[collective] = catalog_find(collective, colon + 1);
    if (!forced->entries[collective])
        return algorithm_refuse(where, collective, colon + 1);
    return HOOP_OK;
}

enum hoop_status
forced_parse(const char *where, const char *text, struct forced *out_forced)
{
    struct forced forced = {{NULL}};
    char copy[LIMIT_SETTING];
    char *rest = copy;
    char *item;

    if (strlen(text) >= sizeof(copy))
        return error_raise(HOOP_E_INVALID, "%s: more than %zu characters",
                           where, sizeof(copy) - 1);
    snprintf(copy, sizeof(copy), "%s", text);
    while (text[0] && (item = strsep(&rest, ","))) {
        const enum hoop_status status = item_take(where, item, &forced);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    *out_forced = forced;
    return HOOP_OK;
}

/* It needs more than these ranks share. */
static bool
is_amiss(const struct catalog_entry *entry, const struct plan_hall *shm_region)
{
    return entry && !plan_hall_suits(shm_region, entry->algorithm);
}

static enum hoop_status
direct_refuse(const struct catalog_entry *entry)
{
    return error_raise(HOOP_E_PRECONDITION,
                       "%s:%s needs ranks that may read each other's memory, "
                       "and these must not: process_vm_readv() is refused (by "
                       "ptrace_scope or seccomp), or HOOP_CMA is off",
                       catalog_name(entry->collective), entry->algorithm->name);
}

enum hoop_status
forced_check_hall(const struct forced *forced,
                  const struct plan_nodes *nodes,
                  const struct plan_hall *shm_region)
{
    for (size_t i = 0; i < CATALOG_COLLECTIVES && nodes->n_ranks > 1; i++) {
        if (is_amiss(forced->entries[i], shm_region) && shm_region->n_slot > 0)
            return direct_refuse(forced->entries[i]);
        if (is_amiss(forced->entries[i], shm_region))
            return error_raise(
                HOOP_E_PRECONDITION,
                "%s:%s needs memory that all ranks share, and these %u ranks "
                "on %u hosts have none: they must be on one host, %u at most, "
                "able to reach each other's memory, and not started with "
                "HOOP_TRANSPORT=tcp",
                catalog_name((enum catalog_collective)i),
                forced->entries[i]->algorithm->name, nodes->n_ranks,
                nodes->n_nodes, FLAT_RANKS);
    }
    return HOOP_OK;
}

void
forced_drop_unshared(struct forced *forced, const struct plan_hall *shm_region)
{
    for (size_t i = 0; i < CATALOG_COLLECTIVES; i++)
        if (is_amiss(forced->entries[i], shm_region))
            forced->entries[i] = NULL;
}
