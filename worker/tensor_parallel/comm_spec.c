/*
 * tensor_parallel/comm_spec.c - one collective on a tensor along axes of a mesh
 *
 * tensor_parallel/action.c derives the action, and this file performs it: by a
 * copy, or by one collective on blocks. If the blocks interleave in the tensor,
 * they are packed by rank before the collective and unpacked after it.
 */

#include "hoop/comm_spec.h"

#include "api/collective.h"
#include "base/error.h"
#include "dtype/reduction.h"
#include "session/comm.h"
#include "tensor/layout.h"
#include "tensor/operand.h"
#include "tensor_parallel/action.h"
#include "tensor_parallel/block_pack.h"
#include "tensor_parallel/target.h"

/*
 * ColossalAI's estimate of a spec's cost.
 *
 * A collective costs alpha to begin, and beta for each element that a rank
 * sends, which is a fraction of the x elements of its part. The constants
 * 0.1, 0.01 and 0.001 give collectives of equal cost an order.
 */

/* A nominal cost for a pattern that needs no other rank. */
static const double comm_split_cost = 100;

/* The variables of the formulas. */
struct cost_terms {
    double x; /* elements of a rank's part */
    double n;
    double alpha;
    double beta;
    double min_inverse_bandwidth;
};

/* The cost of a ring whose ranks each send beta for every element. */
static double
ring_cost(const struct cost_terms *cost_terms, double beta, double constant)
{
    return cost_terms->alpha +
           beta * (cost_terms->n - 1) / cost_terms->n * cost_terms->x +
           constant;
}

static double
all_gather_cost(const struct cost_terms *cost_terms)
{
    return ring_cost(cost_terms, cost_terms->beta, 0.1);
}

static double
all_reduce_cost(const struct cost_terms *cost_terms)
{
    return ring_cost(cost_terms, 2 * cost_terms->beta, 0.01);
}

static double
all_to_all_cost(const struct cost_terms *cost_terms)
{
    const double n = cost_terms->n;

    return cost_terms->alpha +
           cost_terms->beta * (n - 1) / (n * n) * cost_terms->x * (n / 2) +
           0.001;
}

/* Of the line's axes the largest alpha and beta count, and the smallest beta
 * for min_inverse_bandwidth. */
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
        if (i == 0 || beta < cost_terms.min_inverse_bandwidth)
            cost_terms.min_inverse_bandwidth = beta;
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
        return (struct hoop_comm_cost){all_gather_cost(cost_terms),
                                       comm_split_cost, 0};
    case HOOP_COMM_SPLIT:
        return (struct hoop_comm_cost){comm_split_cost,
                                       all_gather_cost(cost_terms), 0};
    case HOOP_COMM_ALL_TO_ALL:
        return (struct hoop_comm_cost){all_to_all_cost(cost_terms),
                                       all_to_all_cost(cost_terms), 0};
    case HOOP_COMM_ALLREDUCE:
        return (struct hoop_comm_cost){all_reduce_cost(cost_terms), 0, 0};
    case HOOP_COMM_IDENTITY:
        return (struct hoop_comm_cost){0, all_reduce_cost(cost_terms), 0};
    case HOOP_COMM_MIX_GATHER:
        return (struct hoop_comm_cost){
            ring_cost(cost_terms, cost_terms->min_inverse_bandwidth, 0.1),
            comm_split_cost, 0};
    case HOOP_COMM_REDUCE_SCATTER:
        return (struct hoop_comm_cost){
            ring_cost(cost_terms, cost_terms->beta, 0.001),
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

enum {
    /* The kind, both cuts, the number of dimensions, and each dimension. */
    SIGNATURE_NUMBERS_MAX = 2 + 2 * (1 + 2 * CUT_DIMS_MAX) + HOOP_MAX_DIMS,
};

static size_t *
signature_add_cuts(size_t *at, const struct cuts *cuts)
{
    *at++ = cuts->n_cuts;
    for (uint32_t i = 0; i < cuts->n_cuts; i++) {
        *at++ = cuts->cuts[i].dim;
        *at++ = cuts->cuts[i].n_parts;
    }
    return at;
}

static uint32_t
comm_spec_fill_signature(size_t agreed[SIGNATURE_NUMBERS_MAX],
                         const struct action *action,
                         const struct hoop_shape *shape)
{
    size_t *at = agreed;

    *at++ = (size_t)action->kind;
    at = signature_add_cuts(at, &action->cut);
    at = signature_add_cuts(at, &action->join);
    *at++ = shape->n_dims;
    for (uint32_t i = 0; i < shape->n_dims; i++)
        *at++ = shape->dims[i];
    return (uint32_t)(at - agreed);
}

/* Only for an action that is a collective. */
static struct collective
comm_action_to_collective(const struct action *action,
                          const struct hoop_tensor *input,
                          const struct hoop_tensor *output)
{
    static const enum call_name names[] = {
        [COMM_ACTION_ALL_GATHER] = CALL_ALLGATHER,
        [COMM_ACTION_REDUCE_SCATTER] = CALL_REDUCE_SCATTER,
        [COMM_ACTION_ALL_TO_ALL] = CALL_ALLTOALL,
        [COMM_ACTION_ALL_REDUCE] = CALL_ALLREDUCE,
    };
    struct collective collective =
        collective_describe(names[action->kind], input->data, output->data,
                            operand_count(input), input->dtype);

    collective.op = HOOP_SUM;
    if (collective.parts & COLL_SEND_ALL)
        collective.count /= action->n_ranks;
    return collective;
}

static const struct cuts no_cuts = {0};

/* Finds what the collective must pack and unpack. An action has both cuts,
 * since its backward needs them. */
static enum hoop_status
comm_action_attach_pack(const struct action *action,
                        const struct hoop_tensor *input,
                        const struct hoop_tensor *output,
                        struct collective *collective)
{
    const struct block_pack_request request = {
        .input = input,
        .output = output,
        .cut = collective->parts & COLL_SEND_ALL ? &action->cut : &no_cuts,
        .join = collective->parts & COLL_RECV_ALL ? &action->join : &no_cuts,
    };

    return block_pack_attach(collective, &request);
}

/* The state of one call. */
struct comm_spec_call {
    struct action action;
    struct hoop_mesh_shape sizes;
    uint32_t coordinates[HOOP_MAX_AXES];
    hoop_mesh_t *mesh;
    struct hoop_tensor input;
    struct hoop_tensor *output;
    hoop_op_t **out_op; /* NULL: blocking call */
};

static enum hoop_status
comm_spec_call_collective(const struct comm_spec_call *comm_spec_call)
{
    const struct action *action = &comm_spec_call->action;
    struct collective collective = comm_action_to_collective(
        action, &comm_spec_call->input, comm_spec_call->output);
    size_t agreed[SIGNATURE_NUMBERS_MAX];
    hoop_comm_t *comm = NULL;
    enum hoop_status status = hoop_mesh_comm(
        comm_spec_call->mesh, action->line.axes, action->line.n_axes, &comm);

    if (status != HOOP_OK)
        return error_pass(status);
    collective.agreed = agreed;
    collective.n_agreed =
        comm_spec_fill_signature(agreed, action, &comm_spec_call->input.shape);
    status = comm_action_attach_pack(action, &comm_spec_call->input,
                                     comm_spec_call->output, &collective);
    if (status != HOOP_OK)
        return error_pass(status);
    return comm_spec_call->out_op
               ? collective_start(&collective, comm, comm_spec_call->out_op)
               : collective_run(&collective, comm);
}

/* Performs an action that needs no other rank. */
static void
comm_spec_call_local(const struct comm_spec_call *comm_spec_call)
{
    const struct action *action = &comm_spec_call->action;
    const struct hoop_tensor *input = &comm_spec_call->input;
    const struct hoop_tensor *output = comm_spec_call->output;

    op_return_completed(comm_spec_call->out_op);
    block_copy(action->kind == COMM_ACTION_SLICE ? &action->cut : &no_cuts,
               comm_action_block_index(action, &comm_spec_call->sizes,
                                       comm_spec_call->coordinates),
               input, output);
    if (action->kind == COMM_ACTION_ALL_REDUCE ||
        action->kind == COMM_ACTION_REDUCE_SCATTER)
        reduction_of_one(input->dtype, output->data, operand_count(input));
}

/* Allocates the result before any communication. */
static enum hoop_status
comm_spec_call_run(const struct comm_spec_call *comm_spec_call)
{
    const struct action *action = &comm_spec_call->action;
    const struct move_call call = {.tensor = &comm_spec_call->input,
                                   .out = comm_spec_call->output};
    struct hoop_shape shape = comm_spec_call->input.shape;
    struct target target;
    enum hoop_status status = comm_action_output_shape(action, &shape);

    if (status == HOOP_OK)
        status = output_target_prepare(&call, &shape, &target);
    if (status != HOOP_OK)
        return error_pass(status);
    if (action->n_ranks == 1 || action->kind == COMM_ACTION_COPY ||
        action->kind == COMM_ACTION_SLICE) {
        comm_spec_call_local(comm_spec_call);
        return HOOP_OK;
    }
    status = comm_spec_call_collective(comm_spec_call);
    if (status == HOOP_OK)
        return HOOP_OK;
    output_target_withdraw(&target);
    return error_pass(status);
}

/* Returns false if the process is outside the mesh. */
static bool
comm_spec_call_find_coordinates(struct comm_spec_call *comm_spec_call)
{
    for (uint32_t axis = 0; axis < comm_spec_call->sizes.n_axes; axis++) {
        comm_spec_call->coordinates[axis] =
            hoop_mesh_coordinate(comm_spec_call->mesh, axis);
        if (comm_spec_call->coordinates[axis] == HOOP_NO_RANK)
            return false;
    }
    return true;
}

static enum hoop_status
comm_spec_run(struct comm_spec_call *comm_spec_call,
              const struct hoop_tensor *input,
              const struct hoop_comm_spec *spec,
              enum comm_action_direction way)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!comm_spec_call->mesh)
        return error_raise(HOOP_E_INVALID, "mesh is NULL");
    comm_spec_call->sizes = hoop_mesh_shape_of(comm_spec_call->mesh);
    if (!comm_spec_call_find_coordinates(comm_spec_call)) {
        op_return_completed(comm_spec_call->out_op);
        return HOOP_OK;
    }
    enum hoop_status status = operand_check(input, "the tensor");
    if (status == HOOP_OK)
        status =
            comm_action_init(&comm_spec_call->action, spec,
                             &comm_spec_call->sizes, input->shape.n_dims, way);
    if (status != HOOP_OK)
        return error_pass(status);
    /* input may be *output, which changes. */
    comm_spec_call->input = *input;
    status = comm_spec_call_run(comm_spec_call);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_comm_spec_forward(const struct hoop_tensor *input,
                       struct hoop_tensor *output,
                       const struct hoop_comm_spec *spec,
                       hoop_mesh_t *mesh)
{
    struct comm_spec_call comm_spec_call = {.mesh = mesh, .output = output};

    return comm_spec_run(&comm_spec_call, input, spec, COMM_ACTION_FORWARD);
}

enum hoop_status
hoop_comm_spec_forward_start(const struct hoop_tensor *input,
                             struct hoop_tensor *output,
                             const struct hoop_comm_spec *spec,
                             hoop_mesh_t *mesh,
                             hoop_op_t **out_op)
{
    struct comm_spec_call comm_spec_call = {
        .mesh = mesh, .output = output, .out_op = out_op};

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_op)
        return error_raise(HOOP_E_INVALID, "out_op is NULL");
    return comm_spec_run(&comm_spec_call, input, spec, COMM_ACTION_FORWARD);
}

enum hoop_status
hoop_comm_spec_backward(const struct hoop_tensor *output_grad,
                        struct hoop_tensor *input_grad,
                        const struct hoop_comm_spec *spec,
                        hoop_mesh_t *mesh)
{
    struct comm_spec_call comm_spec_call = {.mesh = mesh, .output = input_grad};

    return comm_spec_run(&comm_spec_call, output_grad, spec,
                         COMM_ACTION_BACKWARD);
}

enum hoop_status
hoop_comm_spec_backward_start(const struct hoop_tensor *output_grad,
                              struct hoop_tensor *input_grad,
                              const struct hoop_comm_spec *spec,
                              hoop_mesh_t *mesh,
                              hoop_op_t **out_op)
{
    struct comm_spec_call comm_spec_call = {
        .mesh = mesh, .output = input_grad, .out_op = out_op};

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_op)
        return error_raise(HOOP_E_INVALID, "out_op is NULL");
    return comm_spec_run(&comm_spec_call, output_grad, spec,
                         COMM_ACTION_BACKWARD);
}
