/* api/explain.c - tell the user which algorithm a collective uses */

#include <string.h>

#include "hoop/tuning.h"

#include "algorithms/registry.h"
#include "base/error.h"
#include "plan/nodes.h"
#include "select/overrides.h"
#include "select/tuning.h"
#include "session/comm.h"

static const double NS_PER_US = 1e3;

/* Accepts the collectives for which the table has an algorithm: no messages and
 * no internal operations. */
static enum call_name
collective_name_parse(const char *text)
{
    for (enum call_name name = CALL_ALLREDUCE; name <= CALL_SCATTER_OBJECT;
         name++) {
        const bool is_planned = name != CALL_SEND && name != CALL_RECV &&
                                (name < CALL_AGREE || name > CALL_REDISTRIBUTE);

        if (is_planned && text && strcmp(call_name_to_string(name), text) == 0)
            return name;
    }
    return CALL_UNKNOWN;
}

static bool
comm_has_context(const struct hoop_comm *comm)
{
    return comm && comm->context;
}

const char *
hoop_comm_algorithm(const hoop_comm_t *comm,
                    const char *collective,
                    size_t n_bytes)
{
    const enum call_name name = collective_name_parse(collective);

    if (name == CALL_UNKNOWN || !comm_has_context(comm))
        return NULL;
    return tuning_find_algorithm(comm->tuning, name, n_bytes)->name;
}

const char *
hoop_algorithm_name(const char *collective, uint32_t index)
{
    const enum call_name name = collective_name_parse(collective);
    const struct registry_algorithm *entries;
    size_t n_entries;
    uint32_t n_before = 0;

    if (name == CALL_UNKNOWN)
        return NULL;
    entries = registry_collective_entries(collective_kind_of(name), &n_entries);
    for (size_t i = 0; i < n_entries; i++) {
        if (entries[i].is_even_only && collective_has_uneven_blocks(name))
            continue;
        if (n_before++ == index)
            return entries[i].algorithm->name;
    }
    return NULL;
}

uint32_t
hoop_comm_nodes(const hoop_comm_t *comm)
{
    if (!comm_has_context(comm))
        return 0;
    const struct plan_nodes *nodes = tuning_nodes(comm->tuning);
    return nodes ? nodes->n_nodes : 1;
}

enum hoop_status
hoop_comm_explain(const hoop_comm_t *comm,
                  const char *collective,
                  size_t n_bytes,
                  struct hoop_choice *out_choice)
{
    const enum call_name name = collective_name_parse(collective);
    struct tuning_choice choice;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_choice)
        return error_raise(HOOP_E_INVALID, "out_choice is NULL");
    if (name == CALL_UNKNOWN)
        return error_raise(HOOP_E_INVALID, "there is no collective '%s'",
                           collective ? collective : "(null)");
    if (!comm_has_context(comm) || !comm->tuning)
        return error_raise(HOOP_E_INVALID,
                           "comm is NULL, or this process is no member of it");
    const enum hoop_status status =
        tuning_explain_choice(comm->tuning, name, n_bytes, &choice);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_choice = (struct hoop_choice){
        .algorithm = choice.algorithm->name,
        .estimate_us = choice.estimate_ns / NS_PER_US,
        .runner_up = choice.runner_up ? choice.runner_up->name : NULL,
        .runner_up_us = choice.runner_up_ns / NS_PER_US,
        .is_forced = choice.is_forced,
    };
    return HOOP_OK;
}

enum hoop_status
hoop_comm_set_algorithms(hoop_comm_t *comm, const char *algorithms)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!comm)
        return error_raise(HOOP_E_INVALID, "comm is NULL");
    if (!algorithms)
        return error_raise(HOOP_E_INVALID, "algorithms is NULL");
    if (!comm_has_context(comm) || !comm->tuning)
        return HOOP_OK;
    comm->cached_request = (struct comm_cached_request){0};
    const enum hoop_status status =
        tuning_override_algorithms(comm->tuning, algorithms);

    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
