/*
 * tensor_parallel/comm_cost.c - ColossalAI's estimate of a spec's cost
 *
 * A collective costs alpha to begin, and beta for each element that a rank
 * sends, which is a fraction of the x elements of its part. The constants 0.1,
 * 0.01 and 0.001 give collectives of equal cost an order.
 */

#include "hoop/comm_spec.h"

#include "base/error.h"
#include "tensor/shape.h"
#include "tensor_parallel/action.h"

/* A nominal cost for a pattern that needs no other rank. */
static const double split_cost = 100;

/* The variables of the formulas. */
struct cost_terms {
    double x; /* elements of a rank's part */
    double n;
    double alpha;
    double beta;
    double beta_min;
};

static double
all_gather_cost(const struct cost_terms *cost_terms)
{
    return cost_terms->alpha +
           cost_terms->beta * (cost_terms->n - 1) / cost_terms->n *
               cost_terms->x +
           0.1;
}

static double
all_reduce_cost(const struct cost_terms *cost_terms)
{
    return cost_terms->alpha +
           2 * cost_terms->beta * (cost_terms->n - 1) / cost_terms->n *
               cost_terms->x +
           0.01;
}

static double
reduce_scatter_cost(const struct cost_terms *cost_terms)
{
    return cost_terms->alpha +
           cost_terms->beta * (cost_terms->n - 1) / cost_terms->n *
               cost_terms->x +
           0.001;
}

static double
all_to_all_cost(const struct cost_terms *cost_terms)
{
    const double n = cost_terms->n;

    return cost_terms->alpha +
           cost_terms->beta * (n - 1) / (n * n) * cost_terms->x * (n / 2) +
           0.001;
}

static double
mix_gather_cost(const struct cost_terms *cost_terms)
{
    return cost_terms->alpha +
           cost_terms->beta_min * (cost_terms->n - 1) / cost_terms->n *
               cost_terms->x +
           0.1;
}

/* Of the line's axes the largest alpha and beta count, and the smallest beta
 * for beta_min. */
static struct cost_terms
cost_terms_init(const struct hoop_axes *line,
                const struct hoop_mesh_shape *mesh,
                const struct hoop_mesh_links *links,
                size_t x)
{
    struct cost_terms cost_terms = {.x = (double)x, .n = 1};

    for (uint32_t i = 0; i < line->n_axes; i++) {
        const uint32_t axis = line->axes[i];
        const double alpha = links ? links->alpha[axis] : 1;
        const double beta = links ? links->beta[axis] : 1;

        cost_terms.n *= mesh->sizes[axis];
        if (i == 0 || alpha > cost_terms.alpha)
            cost_terms.alpha = alpha;
        if (i == 0 || beta > cost_terms.beta)
            cost_terms.beta = beta;
        if (i == 0 || beta < cost_terms.beta_min)
            cost_terms.beta_min = beta;
    }
    return cost_terms;
}

/* Leaves the total at 0. */
static struct hoop_comm_cost
comm_pattern_cost(enum hoop_comm_pattern pattern,
                  const struct cost_terms *cost_terms)
{
    switch (pattern) {
    case HOOP_COMM_GATHER:
        return (struct hoop_comm_cost){all_gather_cost(cost_terms), split_cost,
                                       0};
    case HOOP_COMM_SPLIT:
        return (struct hoop_comm_cost){split_cost, all_gather_cost(cost_terms),
                                       0};
    case HOOP_COMM_ALL_TO_ALL:
        return (struct hoop_comm_cost){all_to_all_cost(cost_terms),
                                       all_to_all_cost(cost_terms), 0};
    case HOOP_COMM_ALLREDUCE:
        return (struct hoop_comm_cost){all_reduce_cost(cost_terms), 0, 0};
    case HOOP_COMM_IDENTITY:
        return (struct hoop_comm_cost){0, all_reduce_cost(cost_terms), 0};
    case HOOP_COMM_MIX_GATHER:
        return (struct hoop_comm_cost){mix_gather_cost(cost_terms), split_cost,
                                       0};
    case HOOP_COMM_REDUCE_SCATTER:
        return (struct hoop_comm_cost){reduce_scatter_cost(cost_terms),
                                       all_gather_cost(cost_terms), 0};
    }
    return (struct hoop_comm_cost){0, 0, 0};
}

enum hoop_status
hoop_comm_spec_cost(const struct hoop_comm_spec *spec,
                    const struct hoop_mesh_shape *mesh,
                    const struct hoop_mesh_links *links,
                    struct hoop_comm_cost *out_cost)
{
    struct hoop_axes line;
    struct hoop_part part;
    size_t x;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_cost)
        return error_raise(HOOP_E_INVALID, "out_cost is NULL");
    enum hoop_status status = comm_action_axes_find(spec, mesh, &line);
    /* The first place has the largest part. */
    if (status == HOOP_OK)
        status =
            hoop_sharding_part(&spec->sharding, mesh, &spec->shape, 0, &part);
    if (status == HOOP_OK)
        status = shape_count(&part.shape, &x);
    if (status != HOOP_OK)
        return error_pass(status);
    const struct cost_terms cost_terms = cost_terms_init(&line, mesh, links, x);
    struct hoop_comm_cost cost = comm_pattern_cost(spec->pattern, &cost_terms);
    if (spec->is_forward_only)
        cost.backward = 0;
    cost.total = cost.forward + cost.backward;
    *out_cost = cost;
    return HOOP_OK;
}
