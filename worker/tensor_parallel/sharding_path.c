/*
 * tensor_parallel/sharding_path.c - the cheapest path of specs by ColossalAI's
 * costs
 */

#include <stdio.h>

#include "hoop/redistribute.h"

#include "base/error.h"
#include "base/limits.h"
#include "mesh/redistribute/shortest_path.h"
#include "mesh/sharding.h"

static struct hoop_comm_dims
comm_dims_make_single(uint32_t dim)
{
    return (struct hoop_comm_dims){.n_dims = 1, .dims = {(int32_t)dim}};
}

/* Gathers and scatters reverse each other, so they name the dimension for both
 * ways. */
static void
comm_spec_set_pattern(struct hoop_comm_spec *spec,
                      const struct redistribution_step *step)
{
    switch (step->kind) {
    case HOOP_STEP_SLICE:
        spec->pattern = HOOP_COMM_SPLIT;
        break;
    case HOOP_STEP_ALLGATHER:
        spec->pattern = HOOP_COMM_GATHER;
        break;
    case HOOP_STEP_ALL_TO_ALL:
        spec->pattern = HOOP_COMM_ALL_TO_ALL;
        break;
    case HOOP_STEP_REDUCE_SCATTER:
        spec->pattern = HOOP_COMM_REDUCE_SCATTER;
        break;
    case HOOP_STEP_ALLREDUCE:
        spec->pattern = HOOP_COMM_ALLREDUCE;
        break;
    case HOOP_STEP_EXCHANGE:
    case HOOP_STEP_FILL:
        break;
    }
}

static struct hoop_comm_spec
comm_spec_from_step(const struct hoop_path_request *request,
                    const struct redistribution_step *step)
{
    struct hoop_comm_spec spec = {
        .axes = step->axes,
        .is_forward_only = request->is_forward_only,
        .sharding = step->before,
        .shape = *request->shape,
    };

    comm_spec_set_pattern(&spec, step);
    if (step->kind == HOOP_STEP_ALLREDUCE)
        return spec;
    spec.gather_dim = comm_dims_make_single(
        step->kind == HOOP_STEP_ALLGATHER || step->kind == HOOP_STEP_ALL_TO_ALL
            ? step->gather_dim
            : step->shard_dim);
    spec.shard_dim = comm_dims_make_single(
        step->kind == HOOP_STEP_ALLGATHER ? step->gather_dim : step->shard_dim);
    return spec;
}

static enum hoop_status
step_comm_cost(void *owner, struct redistribution_step *step)
{
    const struct hoop_path_request *request = owner;
    const struct hoop_comm_spec spec = comm_spec_from_step(request, step);
    struct hoop_comm_cost cost;
    const enum hoop_status status =
        hoop_comm_spec_cost(&spec, request->mesh, request->links, &cost);

    if (status != HOOP_OK)
        return error_pass(status);
    step->time_ns = cost.total;
    return HOOP_OK;
}

static enum hoop_status
path_sharding_check(const struct hoop_path_request *request,
                    const struct hoop_sharding *sharding,
                    const char *name)
{
    char text[LIMIT_ERROR_TEXT];
    struct hoop_sharding even;

    if (!sharding)
        return error_raise(HOOP_E_INVALID, "%s is NULL", name);
    even = *sharding;
    even.is_uneven = false;
    const enum hoop_status status =
        hoop_sharding_check(&even, request->mesh, request->shape);
    if (status != HOOP_OK) {
        snprintf(text, sizeof(text), "%s", error_text());
        return error_raise(status, "%s: %s", name, text);
    }
    if (even.partial.n_axes > 0 && even.partial_op != HOOP_SUM)
        return error_raise(HOOP_E_INVALID,
                           "%s has addends that are no sum: no spec adds them",
                           name);
    return HOOP_OK;
}

static enum hoop_status
path_request_check(const struct hoop_path_request *request)
{
    if (!request)
        return error_raise(HOOP_E_INVALID, "request is NULL");
    enum hoop_status status =
        path_sharding_check(request, request->from, "from");
    if (status == HOOP_OK)
        status = path_sharding_check(request, request->to, "to");
    if (status != HOOP_OK)
        return error_pass(status);
    const unsigned made =
        axes_mask(&request->to->partial) & ~axes_mask(&request->from->partial);
    if (made != 0)
        return error_raise(HOOP_E_INVALID,
                           "to has addends along axis %d, which from has not: "
                           "no spec makes any",
                           __builtin_ctz(made));
    return HOOP_OK;
}

/* All axes may cut and count as steps, also those of size 1. Replicas count as
 * equal. */
static struct shortest_path_request
path_request_to_shortest_path(const struct hoop_path_request *request)
{
    struct shortest_path_request shortest_path = {
        .kind = SHORTEST_PATH_MESH_STEPS,
        .from = *request->from,
        .to = *request->to,
        .from_rules = {.mesh = *request->mesh,
                       .shape = *request->shape,
                       .cutting = (1U << request->mesh->n_axes) - 1,
                       .reduced = axes_mask(&request->from->partial) &
                                  ~axes_mask(&request->to->partial),
                       .gathered = (1U << request->mesh->n_axes) - 1,
                       .n_axes_per_step_max = 1},
        .n_steps_max = HOOP_MAX_STEPS,
        .cost = step_comm_cost,
        .owner = (void *)(uintptr_t)request,
    };

    shortest_path.from.is_uneven = false;
    shortest_path.to.is_uneven = false;
    return shortest_path;
}

enum hoop_status
hoop_sharding_path(const struct hoop_path_request *request,
                   struct hoop_comm_path *out_path)
{
    struct redistribution_steps steps;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_path)
        return error_raise(HOOP_E_INVALID, "out_path is NULL");
    enum hoop_status status = path_request_check(request);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct shortest_path_request wanted =
        path_request_to_shortest_path(request);
    status = shortest_path_find(&wanted, &steps);
    if (status != HOOP_OK)
        return error_pass(status);
    struct hoop_comm_path path = {.n_steps = steps.n_steps,
                                  .after = *request->to};
    for (uint32_t i = 0; i < steps.n_steps; i++) {
        struct hoop_comm_cost cost;

        path.steps[i] = comm_spec_from_step(request, &steps.steps[i]);
        status = hoop_comm_spec_cost(&path.steps[i], request->mesh,
                                     request->links, &cost);
        if (status != HOOP_OK)
            return error_pass(status);
        path.cost.forward += cost.forward;
        path.cost.backward += cost.backward;
        path.cost.total += cost.total;
    }
    *out_path = path;
    return HOOP_OK;
}
