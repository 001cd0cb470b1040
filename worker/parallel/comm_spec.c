/*
 * parallel/comm_spec.c - one collective on a tensor along axes of a mesh
 *
 * parallel/action.c derives the action, and this file performs it: by a copy,
 * or by one collective on blocks. If the blocks interleave in the tensor, they
 * are packed by rank before the collective and unpacked after it.
 */

#include "hoop/comm_spec.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "coll/collective.h"
#include "dtype/reduction.h"
#include "parallel/action.h"
#include "parallel/target.h"
#include "session/comm.h"
#include "tensor/operand.h"

enum {
    /* The kind, both cuts, the number of dimensions, and each dimension. */
    AGREED_MAX = 2 + 2 * (1 + 2 * CUTS_MAX) + HOOP_MAX_DIMS,
};

/* Owned by an operation: packed blocks, and where blocks are to be unpacked. */
struct pack_buffer {
    struct cuts join;
    struct hoop_tensor whole; /* the result; its data are the caller's */
    uint8_t *coming;          /* received blocks; NULL: nothing to unpack */
    uint8_t blocks[];
};

static enum hoop_status
pack_buffer_unload(void *owner)
{
    const struct pack_buffer *pack_buffer = owner;

    if (pack_buffer->coming)
        blocks_join(&pack_buffer->join, &pack_buffer->whole,
                    pack_buffer->coming);
    return HOOP_OK;
}

/* Packs the outgoing blocks, and allocates memory for incoming ones, if
 * needed. */
static enum hoop_status
pack_buffer_load(struct collective *collective,
                 const struct action *action,
                 const struct hoop_tensor *input,
                 const struct hoop_tensor *output)
{
    const bool packs = action->kind != ACTION_GATHER &&
                       cuts_interleave(&action->cut, &input->shape);
    const bool unpacks = action->kind != ACTION_SCATTER &&
                         cuts_interleave(&action->join, &output->shape);
    const size_t n_packed = packs ? operand_bytes(input) : 0;
    const size_t n_coming = unpacks ? operand_bytes(output) : 0;

    if (n_packed + n_coming == 0)
        return HOOP_OK;
    struct pack_buffer *pack_buffer =
        malloc(sizeof(*pack_buffer) + n_packed + n_coming);
    if (!pack_buffer)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to sort %zu bytes by rank",
                           n_packed + n_coming);
    pack_buffer->join = action->join;
    pack_buffer->whole = *output;
    pack_buffer->coming = n_coming > 0 ? pack_buffer->blocks + n_packed : NULL;
    collective->chain = (struct chain){
        .finish = pack_buffer_unload, .destroy = free, .owner = pack_buffer};
    if (n_packed > 0) {
        blocks_divide(&action->cut, input, pack_buffer->blocks);
        collective->send = pack_buffer->blocks;
    }
    if (n_coming > 0)
        collective->recv = pack_buffer->coming;
    return HOOP_OK;
}

static size_t *
agree_on_cuts(size_t *at, const struct cuts *cuts)
{
    *at++ = cuts->n_cuts;
    for (uint32_t i = 0; i < cuts->n_cuts; i++) {
        *at++ = cuts->cuts[i].dim;
        *at++ = cuts->cuts[i].n_parts;
    }
    return at;
}

static uint32_t
agree(size_t agreed[AGREED_MAX],
      const struct action *action,
      const struct hoop_shape *shape)
{
    size_t *at = agreed;

    *at++ = (size_t)action->kind;
    at = agree_on_cuts(at, &action->cut);
    at = agree_on_cuts(at, &action->join);
    *at++ = shape->n_dims;
    for (uint32_t i = 0; i < shape->n_dims; i++)
        *at++ = shape->dims[i];
    return (uint32_t)(at - agreed);
}

/* Only for an action that is a collective. */
static struct collective
describe(const struct action *action,
         const struct hoop_tensor *input,
         const struct hoop_tensor *output)
{
    struct collective collective = {
        .send = input->data,
        .recv = output->data,
        .count = operand_count(input),
        .dtype = input->dtype,
        .op = HOOP_SUM,
    };

    switch (action->kind) {
    case ACTION_COPY:
    case ACTION_TAKE:
        break;
    case ACTION_GATHER:
        collective.name = CALL_ALLGATHER;
        collective.parts = COLL_RECV_ALL;
        break;
    case ACTION_SCATTER:
        collective.name = CALL_REDUCE_SCATTER;
        collective.parts = COLL_REDUCES | COLL_SEND_ALL;
        collective.count /= action->n_ranks;
        break;
    case ACTION_EXCHANGE:
        collective.name = CALL_ALLTOALL;
        collective.parts = COLL_SEND_ALL | COLL_RECV_ALL;
        collective.count /= action->n_ranks;
        break;
    case ACTION_SUM:
        collective.name = CALL_ALLREDUCE;
        collective.parts = COLL_REDUCES;
        break;
    }
    return collective;
}

/* The state of one call. */
struct request {
    struct action action;
    struct hoop_mesh_shape sizes;
    uint32_t coordinates[HOOP_MAX_AXES];
    hoop_mesh_t *mesh;
    struct hoop_tensor input;
    struct hoop_tensor *output;
    hoop_op_t **out_op; /* NULL: blocking call */
};

static enum hoop_status
exchange(const struct request *request)
{
    const struct action *action = &request->action;
    struct collective collective =
        describe(action, &request->input, request->output);
    size_t agreed[AGREED_MAX];
    hoop_comm_t *comm = NULL;
    enum hoop_status status = hoop_mesh_comm(request->mesh, action->line.axes,
                                             action->line.n_axes, &comm);

    if (status != HOOP_OK)
        return error_pass(status);
    collective.agreed = agreed;
    collective.n_agreed = agree(agreed, action, &request->input.shape);
    status =
        pack_buffer_load(&collective, action, &request->input, request->output);
    if (status != HOOP_OK)
        return error_pass(status);
    return request->out_op
               ? collective_start(&collective, comm, request->out_op)
               : collective_run(&collective, comm);
}

static void
nothing_to_wait_for(hoop_op_t **out_op)
{
    if (out_op)
        *out_op = (hoop_op_t *)engine_null_op();
}

/* Performs an action that needs no other rank. Input and output may be the same
 * if their shapes are equal. */
static void
copy_here(const struct request *request)
{
    const struct action *action = &request->action;
    const struct hoop_tensor *input = &request->input;
    const struct hoop_tensor *output = request->output;
    const size_t n_bytes = operand_bytes(input);

    nothing_to_wait_for(request->out_op);
    if (output->data != input->data && action->kind == ACTION_TAKE)
        block_take(&action->cut, input,
                   action_number(action, &request->sizes, request->coordinates),
                   output->data);
    else if (output->data != input->data && n_bytes > 0)
        memcpy(output->data, input->data, n_bytes);
    if (action->kind == ACTION_SUM || action->kind == ACTION_SCATTER)
        reduction_of_one(input->dtype, output->data, operand_count(input));
}

/* Allocates the result before any communication. */
static enum hoop_status
request_run(const struct request *request)
{
    const struct action *action = &request->action;
    const struct move_call call = {.tensor = &request->input,
                                   .out = request->output};
    struct hoop_shape shape = request->input.shape;
    struct target target;
    enum hoop_status status = action_reshape(action, &shape);

    if (status == HOOP_OK)
        status = target_prepare(&call, &shape, &target);
    if (status != HOOP_OK)
        return error_pass(status);
    if (action->n_ranks == 1 || action->kind == ACTION_COPY ||
        action->kind == ACTION_TAKE) {
        copy_here(request);
        return HOOP_OK;
    }
    status = exchange(request);
    if (status == HOOP_OK)
        return HOOP_OK;
    target_withdraw(&target);
    return error_pass(status);
}

/* Returns false if the process is outside the mesh. */
static bool
find_place(struct request *request)
{
    for (uint32_t axis = 0; axis < request->sizes.n_axes; axis++) {
        request->coordinates[axis] = hoop_mesh_coordinate(request->mesh, axis);
        if (request->coordinates[axis] == HOOP_NO_RANK)
            return false;
    }
    return true;
}

static enum hoop_status
act(struct request *request,
    const struct hoop_tensor *input,
    const struct hoop_comm_spec *spec,
    enum action_way way)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!request->mesh)
        return error_raise(HOOP_E_INVALID, "mesh is NULL");
    request->sizes = hoop_mesh_shape_of(request->mesh);
    if (!find_place(request)) {
        nothing_to_wait_for(request->out_op);
        return HOOP_OK;
    }
    enum hoop_status status = operand_check(input, "the tensor");
    if (status == HOOP_OK)
        status = action_init(&request->action, spec, &request->sizes,
                             input->shape.n_dims, way);
    if (status != HOOP_OK)
        return error_pass(status);
    /* input may be *output, which changes. */
    request->input = *input;
    status = request_run(request);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_comm_spec_forward(const struct hoop_tensor *input,
                       struct hoop_tensor *output,
                       const struct hoop_comm_spec *spec,
                       hoop_mesh_t *mesh)
{
    struct request request = {.mesh = mesh, .output = output};

    return act(&request, input, spec, ACTION_FORWARD);
}

enum hoop_status
hoop_comm_spec_forward_start(const struct hoop_tensor *input,
                             struct hoop_tensor *output,
                             const struct hoop_comm_spec *spec,
                             hoop_mesh_t *mesh,
                             hoop_op_t **out_op)
{
    struct request request = {.mesh = mesh, .output = output, .out_op = out_op};

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_op)
        return error_raise(HOOP_E_INVALID, "out_op is NULL");
    return act(&request, input, spec, ACTION_FORWARD);
}

enum hoop_status
hoop_comm_spec_backward(const struct hoop_tensor *output_grad,
                        struct hoop_tensor *input_grad,
                        const struct hoop_comm_spec *spec,
                        hoop_mesh_t *mesh)
{
    struct request request = {.mesh = mesh, .output = input_grad};

    return act(&request, output_grad, spec, ACTION_BACKWARD);
}

enum hoop_status
hoop_comm_spec_backward_start(const struct hoop_tensor *output_grad,
                              struct hoop_tensor *input_grad,
                              const struct hoop_comm_spec *spec,
                              hoop_mesh_t *mesh,
                              hoop_op_t **out_op)
{
    struct request request = {
        .mesh = mesh, .output = input_grad, .out_op = out_op};

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_op)
        return error_raise(HOOP_E_INVALID, "out_op is NULL");
    return act(&request, output_grad, spec, ACTION_BACKWARD);
}
