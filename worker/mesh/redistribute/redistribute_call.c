/*
 * mesh/redistribute/redistribute_call.c - one call that redistributes a tensor
 *
 * A call plans the redistribution, which also checks the arguments. Then it
 * allocates the result, forms a communicator if anything is sent, and runs the
 * steps (mesh/redistribute/redistribute_runner.h). A tensor that is
 * redistributed in place is swapped with the result when all of it has arrived.
 * Until then, and after a failure, it is unchanged.
 */

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "hoop/redistribute.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "dtype/reduction.h"
#include "engine/engine.h"
#include "mesh/dtensor.h"
#include "mesh/mesh.h"
#include "mesh/redistribute/participants.h"
#include "mesh/redistribute/plan_cache.h"
#include "mesh/redistribute/redistribute_runner.h"
#include "mesh/redistribute/redistribution.h"
#include "tensor/operand.h"
#include "tensor/result.h"

struct redistribute_call_arguments {
    const struct hoop_dtensor *from;
    struct hoop_tensor_spec spec; /* layout of the result */
    enum redistribution_direction way;
    hoop_op_t **out_op; /* NULL: blocking call */
};

/* Owned by an operation until it has been waited for. */
struct redistribute_call {
    struct redistribution *plan;
    uint32_t rank;                /* HOOP_NO_RANK: not a participant */
    struct hoop_dtensor *arrived; /* the result; NULL: memory of the caller */
    /* changed in place to the result; NULL: none */
    struct hoop_dtensor *changed;
    /* The part of the result if each of its elements is a reduction; otherwise
     * it has no data. */
    struct hoop_tensor reduced;
};

static void
redistribute_call_destroy(void *owner)
{
    struct redistribute_call *redistribute_call = owner;

    if (!redistribute_call)
        return;
    redistribution_unref(redistribute_call->plan);
    hoop_dtensor_free(redistribute_call->arrived);
    free(redistribute_call);
}

DEFINE_CLEANUP(struct redistribute_call *, redistribute_call_destroy)

/* Returns whether the call reduces partial axes and keeps none. */
static bool
redistribute_call_is_reduction(const struct redistribute_call_arguments *call)
{
    return call->way == REDISTRIBUTION_FORWARD &&
           call->from->spec.sharding.partial.n_axes > 0 &&
           call->spec.sharding.partial.n_axes == 0;
}

/* Bools become 0 or 1: along axes of size 1 an element has a single addend,
 * which no reduction has normalised. */
static void
reduced_part_reduce_single(const struct hoop_tensor *reduced)
{
    if (reduced->data)
        reduction_of_one(reduced->dtype, reduced->data, operand_count(reduced));
}

static enum hoop_status
redistribute_call_finish(void *owner)
{
    struct redistribute_call *redistribute_call = owner;

    reduced_part_reduce_single(&redistribute_call->reduced);
    if (redistribute_call->changed) {
        const struct hoop_dtensor before = *redistribute_call->changed;

        *redistribute_call->changed = *redistribute_call->arrived;
        *redistribute_call->arrived = before;
    }
    return HOOP_OK;
}

static enum hoop_status
redistribute_call_create(const struct redistribute_call_arguments *call,
                         struct redistribute_call **out_redistribute_call)
{
    CLEANUP(redistribute_call_destroy)
    struct redistribute_call *redistribute_call =
        calloc(1, sizeof(*redistribute_call));
    CLEANUP(participants_deinit)
    struct participants participants = {.here = HOOP_NO_RANK};

    if (!redistribute_call)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a redistribution");
    enum hoop_status status =
        participants_init(&participants, call->from, &call->spec, call->way);
    if (status == HOOP_OK)
        status = plan_cache_get_or_create(
            mesh_plan_cache(call->from->spec.mesh), &participants.request,
            &redistribute_call->plan);
    if (status != HOOP_OK)
        return error_pass(status);
    redistribute_call->rank = participants.here;
    *out_redistribute_call = STEAL(redistribute_call);
    return HOOP_OK;
}

/* Returns whether any rank sends anything. */
static bool
redistribute_call_has_sends(const struct redistribute_call *redistribute_call)
{
    const struct redistribution *redistribution = redistribute_call->plan;

    for (uint32_t i = 0; i < redistribution_n_steps(redistribution); i++) {
        if (redistribution_step(redistribution, i)->algorithm)
            return true;
    }
    return false;
}

static enum hoop_status
op_return_completed(const struct redistribute_call_arguments *call)
{
    if (call->out_op)
        *call->out_op = (hoop_op_t *)engine_null_op();
    return HOOP_OK;
}

/* Takes ownership of redistribute_call. to is the part that arrives. */
static enum hoop_status
redistribute_call_run(struct redistribute_call *taken,
                      const struct redistribute_call_arguments *call,
                      const struct hoop_tensor *to)
{
    CLEANUP(redistribute_call_destroy)
    struct redistribute_call *redistribute_call = taken;
    struct redistribute_runner_request request = {
        .redistribution = redistribute_call->plan,
        .rank = redistribute_call->rank,
        .dtype = call->from->local.dtype,
        .from = &call->from->local,
        .to = to,
        .hooks = {.finish = redistribute_call_finish,
                  .destroy = redistribute_call_destroy},
    };
    const struct rank_list ranks =
        redistribution_world_ranks(redistribute_call->plan);
    enum hoop_status status;

    if (request.rank == HOOP_NO_RANK)
        return op_return_completed(call);
    status = hoop_shape_count(&call->from->shape, &request.count);
    if (status == HOOP_OK && redistribute_call_has_sends(redistribute_call))
        status =
            mesh_comm_with_others(call->from->spec.mesh, &ranks, &request.comm);
    if (status != HOOP_OK)
        return error_pass(status);
    if (redistribute_call_is_reduction(call))
        redistribute_call->reduced = *to;
    request.hooks.owner = STEAL(redistribute_call);
    status = redistribute_runner_run(&request, call->out_op);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Redistributes to a new tensor, which the caller frees. */
static enum hoop_status
redistribute_call_into_new(const struct redistribute_call_arguments *call,
                           hoop_dtensor_t **out_dtensor)
{
    CLEANUP(hoop_dtensor_free) hoop_dtensor_t *arrived = NULL;
    CLEANUP(redistribute_call_destroy)
    struct redistribute_call *redistribute_call = NULL;
    enum hoop_status status =
        redistribute_call_create(call, &redistribute_call);

    if (status == HOOP_OK)
        status = dtensor_create_allocated(
            call->from->local.dtype, &call->from->shape, &call->spec, &arrived);
    if (status == HOOP_OK)
        status = redistribute_call_run(STEAL(redistribute_call), call,
                                       &arrived->local);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_dtensor = STEAL(arrived);
    return HOOP_OK;
}

/* Redistributes a tensor in place. It changes when all data have arrived, and
 * stays as it was after a failure. */
static enum hoop_status
redistribute_call_in_place(const struct redistribute_call_arguments *call,
                           struct hoop_dtensor *dtensor)
{
    CLEANUP(redistribute_call_destroy)
    struct redistribute_call *redistribute_call = NULL;
    enum hoop_status status =
        redistribute_call_create(call, &redistribute_call);

    if (status != HOOP_OK)
        return error_pass(status);
    /* Nothing moves: every rank of the target has its part already, or this
     * process takes no part. */
    if (redistribute_call->rank == HOOP_NO_RANK ||
        redistribution_n_steps(redistribute_call->plan) == 0) {
        if (redistribute_call_is_reduction(call))
            reduced_part_reduce_single(&dtensor->local);
        dtensor_set_layout(dtensor, &call->spec);
        return op_return_completed(call);
    }
    status =
        dtensor_create_allocated(call->from->local.dtype, &call->from->shape,
                                 &call->spec, &redistribute_call->arrived);
    if (status != HOOP_OK)
        return error_pass(status);
    redistribute_call->changed = dtensor;
    /* This is a copy, since the end of the operation swaps the content of
     * arrived. */
    const struct hoop_tensor to = redistribute_call->arrived->local;
    status = redistribute_call_run(STEAL(redistribute_call), call, &to);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* Redistributes to memory of the caller by the rule of hoop/tensor.h. Nothing
 * is written on ranks outside the spec's mesh. */
static enum hoop_status
redistribute_call_into_tensor(const struct redistribute_call_arguments *call,
                              struct hoop_tensor *out)
{
    CLEANUP(redistribute_call_destroy)
    struct redistribute_call *redistribute_call = NULL;
    CLEANUP(hoop_dtensor_free) hoop_dtensor_t *label = NULL;
    struct result result = {.out = NULL};
    enum hoop_status status =
        redistribute_call_create(call, &redistribute_call);

    if (status == HOOP_OK)
        status = dtensor_create_without_data(
            call->from->local.dtype, &call->from->shape, &call->spec, &label);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!dtensor_is_rank_in_mesh(label)) {
        status = redistribute_call_run(STEAL(redistribute_call), call,
                                       &label->local);
        return status == HOOP_OK ? HOOP_OK : error_pass(status);
    }
    status = result_prepare(out, "out", label->local.dtype, &label->local.shape,
                            &result);
    if (status != HOOP_OK)
        return error_pass(status);
    if (operands_overlap(&call->from->local, out))
        status = error_raise(HOOP_E_INVALID,
                             "out overlaps the tensor: give it memory of its "
                             "own, or none");
    if (status == HOOP_OK)
        status = redistribute_call_run(STEAL(redistribute_call), call, out);
    if (status == HOOP_OK)
        return HOOP_OK;
    result_withdraw(&result);
    return error_pass(status);
}

/* Describes the steps of a redistribution without running them. */

static const double NS_PER_US = 1e3;

static enum hoop_status
redistribution_step_describe(const struct participants *participants,
                             const struct redistribution *redistribution,
                             uint32_t number,
                             struct hoop_step *out_step)
{
    const struct redistribution_step *step =
        redistribution_step(redistribution, number);
    enum hoop_status status = HOOP_OK;

    *out_step = (struct hoop_step){
        .kind = step->kind,
        .mesh = step->mesh == REDISTRIBUTION_MESH_FROM
                    ? participants->request.from.mesh
                    : participants->request.to.mesh,
        .axes = step->axes,
        .gather_dim = step->gather_dim,
        .shard_dim = step->shard_dim,
        .after = step->after,
        .time_us = step->time_ns / NS_PER_US,
    };
    if (participants->here != HOOP_NO_RANK)
        status = redistribution_bytes_sent(
            redistribution, number, participants->here, &out_step->bytes_sent);
    if (status == HOOP_OK)
        status = redistribution_bytes_total(redistribution, number,
                                            &out_step->bytes_total);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_redistribute_plan(const hoop_dtensor_t *dtensor,
                       const struct hoop_tensor_spec *spec,
                       struct hoop_redistribution *out_plan)
{
    CLEANUP(redistribution_unref)
    struct redistribution *redistribution = NULL;
    CLEANUP(participants_deinit) struct participants participants = {0};
    struct hoop_redistribution plan = {0};

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_plan)
        return error_raise(HOOP_E_INVALID, "out_plan is NULL");
    enum hoop_status status =
        participants_init(&participants, dtensor, spec, REDISTRIBUTION_FORWARD);
    if (status == HOOP_OK)
        status = redistribution_create(&participants.request, &redistribution);
    if (status != HOOP_OK)
        return error_pass(status);
    plan.n_steps = redistribution_n_steps(redistribution);
    for (uint32_t i = 0; i < plan.n_steps; i++) {
        status = redistribution_step_describe(&participants, redistribution, i,
                                              &plan.steps[i]);
        if (status != HOOP_OK)
            return error_pass(status);
        plan.bytes_sent += plan.steps[i].bytes_sent;
        plan.bytes_total += plan.steps[i].bytes_total;
        plan.time_us += plan.steps[i].time_us;
    }
    *out_plan = plan;
    return HOOP_OK;
}

/* The calls that redistribute tensors. */

/* For the start forms. */
static enum hoop_status
out_op_check(hoop_op_t *const *out_op)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    return out_op ? HOOP_OK : error_raise(HOOP_E_INVALID, "out_op is NULL");
}

static enum hoop_status
dtensor_redistribute(const hoop_dtensor_t *dtensor,
                     const struct hoop_tensor_spec *spec,
                     hoop_dtensor_t **out_dtensor,
                     hoop_op_t **out_op)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!dtensor || !spec || !out_dtensor)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           !dtensor ? "dtensor"
                           : !spec  ? "spec"
                                    : "out_dtensor");
    const enum hoop_status status = redistribute_call_into_new(
        &(struct redistribute_call_arguments){
            .from = dtensor, .spec = *spec, .out_op = out_op},
        out_dtensor);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_dtensor_redistribute(const hoop_dtensor_t *dtensor,
                          const struct hoop_tensor_spec *spec,
                          hoop_dtensor_t **out_dtensor)
{
    return dtensor_redistribute(dtensor, spec, out_dtensor, NULL);
}

enum hoop_status
hoop_dtensor_redistribute_start(const hoop_dtensor_t *dtensor,
                                const struct hoop_tensor_spec *spec,
                                hoop_dtensor_t **out_dtensor,
                                hoop_op_t **out_op)
{
    const enum hoop_status status = out_op_check(out_op);

    return status == HOOP_OK
               ? dtensor_redistribute(dtensor, spec, out_dtensor, out_op)
               : error_pass(status);
}

/* Checks the spec as given, since its partial axes are dropped afterwards. */
static enum hoop_status
backward_input_spec_check(const hoop_dtensor_t *grad,
                          const struct hoop_tensor_spec *spec)
{
    if (!spec->mesh)
        return error_raise(HOOP_E_INVALID, "spec->mesh is NULL");
    const struct hoop_mesh_shape mesh = hoop_mesh_shape_of(spec->mesh);
    const enum hoop_status status =
        hoop_sharding_check(&spec->sharding, &mesh, &grad->shape);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
dtensor_redistribute_backward(const hoop_dtensor_t *grad,
                              const struct hoop_tensor_spec *input_spec,
                              hoop_dtensor_t **out_grad,
                              hoop_op_t **out_op)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!grad || !input_spec || !out_grad)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           !grad         ? "grad"
                           : !input_spec ? "input_spec"
                                         : "out_grad");
    enum hoop_status status = backward_input_spec_check(grad, input_spec);
    if (status == HOOP_OK) {
        struct redistribute_call_arguments call = {.from = grad,
                                                   .spec = *input_spec,
                                                   .way =
                                                       REDISTRIBUTION_BACKWARD,
                                                   .out_op = out_op};

        /* The gradient of an addend is that of the sum. */
        call.spec.sharding.partial.n_axes = 0;
        status = redistribute_call_into_new(&call, out_grad);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_dtensor_redistribute_backward(const hoop_dtensor_t *grad,
                                   const struct hoop_tensor_spec *input_spec,
                                   hoop_dtensor_t **out_grad)
{
    return dtensor_redistribute_backward(grad, input_spec, out_grad, NULL);
}

enum hoop_status
hoop_dtensor_redistribute_backward_start(
    const hoop_dtensor_t *grad,
    const struct hoop_tensor_spec *input_spec,
    hoop_dtensor_t **out_grad,
    hoop_op_t **out_op)
{
    const enum hoop_status status = out_op_check(out_op);

    return status == HOOP_OK ? dtensor_redistribute_backward(grad, input_spec,
                                                             out_grad, out_op)
                             : error_pass(status);
}

static enum hoop_status
dtensor_set_spec(hoop_dtensor_t *dtensor,
                 const struct hoop_tensor_spec *spec,
                 hoop_op_t **out_op)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!dtensor || !spec)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           !dtensor ? "dtensor" : "spec");
    const enum hoop_status status = redistribute_call_in_place(
        &(struct redistribute_call_arguments){
            .from = dtensor, .spec = *spec, .out_op = out_op},
        dtensor);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_dtensor_set_spec(hoop_dtensor_t *dtensor,
                      const struct hoop_tensor_spec *spec)
{
    return dtensor_set_spec(dtensor, spec, NULL);
}

enum hoop_status
hoop_dtensor_set_spec_start(hoop_dtensor_t *dtensor,
                            const struct hoop_tensor_spec *spec,
                            hoop_op_t **out_op)
{
    const enum hoop_status status = out_op_check(out_op);

    return status == HOOP_OK ? dtensor_set_spec(dtensor, spec, out_op)
                             : error_pass(status);
}

static enum hoop_status
dtensor_gather(const hoop_dtensor_t *dtensor,
               struct hoop_tensor *out,
               hoop_op_t **out_op)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!dtensor || !out)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           !dtensor ? "dtensor" : "out");
    const enum hoop_status status = redistribute_call_into_tensor(
        &(struct redistribute_call_arguments){
            .from = dtensor,
            .spec = {.mesh = dtensor->spec.mesh},
            .out_op = out_op},
        out);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_dtensor_gather(const hoop_dtensor_t *dtensor, struct hoop_tensor *out)
{
    return dtensor_gather(dtensor, out, NULL);
}

enum hoop_status
hoop_dtensor_gather_start(const hoop_dtensor_t *dtensor,
                          struct hoop_tensor *out,
                          hoop_op_t **out_op)
{
    const enum hoop_status status = out_op_check(out_op);

    return status == HOOP_OK ? dtensor_gather(dtensor, out, out_op)
                             : error_pass(status);
}
