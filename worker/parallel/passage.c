/*
 * parallel/passage.c - a distributed tensor laid out anew, once
 *
 * A tensor that changes in place is swapped with what has arrived, when all of
 * it has: until then, and after a failure, it is as it was.
 */

#include "parallel/passage.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "dtype/reduction.h"
#include "engine/engine.h"
#include "parallel/itinerary.h"
#include "parallel/junction.h"
#include "parallel/mesh.h"
#include "parallel/relay.h"
#include "parallel/transit.h"
#include "tensor/operand.h"
#include "tensor/result.h"

/* What an operation keeps until it has been waited for. */
struct passage {
    struct itinerary *itinerary;
    uint32_t rank;                /* HOOP_NO_RANK: it passes elsewhere */
    struct hoop_dtensor *arrived; /* NULL: it is the caller's */
    struct hoop_dtensor *changed; /* becomes what arrived; NULL: none does */
    /* The part that arrives, of which each element is a reduction; without data
     * if it is none. */
    struct hoop_tensor reduced;
};

static void
passage_destroy(void *owner)
{
    struct passage *passage = owner;

    if (!passage)
        return;
    itinerary_unref(passage->itinerary);
    hoop_dtensor_free(passage->arrived);
    free(passage);
}

DEFINE_CLEANUP(struct passage *, passage_destroy)

/* The call makes whole what is partial. */
static bool
passage_reduces(const struct passage_call *call)
{
    return call->way == REDISTRIBUTION_FORWARD &&
           call->from->spec.sharding.partial.n_axes > 0 &&
           call->spec.sharding.partial.n_axes == 0;
}

/* Along axes of size 1 an element has one addend, with which nothing was
 * combined. */
static void
part_finish(const struct hoop_tensor *reduced)
{
    if (reduced->data)
        reduction_of_one(reduced->dtype, reduced->data, operand_count(reduced));
}

static enum hoop_status
passage_finish(void *owner)
{
    struct passage *passage = owner;

    part_finish(&passage->reduced);
    if (passage->changed) {
        const struct hoop_dtensor before = *passage->changed;

        *passage->changed = *passage->arrived;
        *passage->arrived = before;
    }
    return HOOP_OK;
}

static enum hoop_status
passage_plan(const struct passage_call *call, struct passage **out_passage)
{
    CLEANUP(passage_destroy)
    struct passage *passage = calloc(1, sizeof(*passage));
    CLEANUP(transit_deinit) struct transit transit = {.here = HOOP_NO_RANK};

    if (!passage)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for a redistribution");
    enum hoop_status status =
        transit_init(&transit, call->from, &call->spec, call->way);
    if (status == HOOP_OK)
        status = itinerary_find(mesh_itineraries(call->from->spec.mesh),
                                &transit.request, &passage->itinerary);
    if (status != HOOP_OK)
        return error_pass(status);
    passage->rank = transit.here;
    *out_passage = STEAL(passage);
    return HOOP_OK;
}

/* Whether any rank does. */
static bool
passage_sends(const struct passage *passage)
{
    const struct redistribution *redistribution =
        itinerary_redistribution(passage->itinerary);

    for (uint32_t i = 0; i < redistribution_n_steps(redistribution); i++) {
        if (redistribution_step(redistribution, i)->algorithm)
            return true;
    }
    return false;
}

static enum hoop_status
nothing_to_wait_for(const struct passage_call *call)
{
    if (call->out_op)
        *call->out_op = (hoop_op_t *)engine_start_nothing();
    return HOOP_OK;
}

/* Takes passage. to: the part that arrives. */
static enum hoop_status
passage_run(struct passage *taken,
            const struct passage_call *call,
            const struct hoop_tensor *to)
{
    CLEANUP(passage_destroy) struct passage *passage = taken;
    struct relay_request request = {
        .redistribution = itinerary_redistribution(passage->itinerary),
        .rank = passage->rank,
        .dtype = call->from->local.dtype,
        .from = &call->from->local,
        .to = to,
        .hooks = {.finish = passage_finish, .destroy = passage_destroy},
    };
    enum hoop_status status;

    if (request.rank == HOOP_NO_RANK)
        return nothing_to_wait_for(call);
    status = hoop_shape_count(&call->from->shape, &request.count);
    if (status == HOOP_OK && passage_sends(passage))
        status = junction_comm(call->from->spec.mesh, call->spec.mesh,
                               &request.comm);
    if (status != HOOP_OK)
        return error_pass(status);
    if (passage_reduces(call))
        passage->reduced = *to;
    request.hooks.owner = STEAL(passage);
    status = call->out_op ? relay_start(&request, call->out_op)
                          : relay_run(&request);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
passage_begin(const struct passage_call *call, hoop_dtensor_t **out_dtensor)
{
    CLEANUP(hoop_dtensor_free) hoop_dtensor_t *arrived = NULL;
    CLEANUP(passage_destroy) struct passage *passage = NULL;
    enum hoop_status status = passage_plan(call, &passage);

    if (status == HOOP_OK)
        status = dtensor_allocate(call->from->local.dtype, &call->from->shape,
                                  &call->spec, &arrived);
    if (status == HOOP_OK)
        status = passage_run(STEAL(passage), call, &arrived->local);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_dtensor = STEAL(arrived);
    return HOOP_OK;
}

enum hoop_status
passage_return(const struct passage_call *call, struct hoop_dtensor *dtensor)
{
    CLEANUP(passage_destroy) struct passage *passage = NULL;
    enum hoop_status status = passage_plan(call, &passage);

    if (status != HOOP_OK)
        return error_pass(status);
    /* Who shall have something has it already, or it is not here. */
    if (passage->rank == HOOP_NO_RANK ||
        redistribution_n_steps(itinerary_redistribution(passage->itinerary)) ==
            0) {
        if (passage_reduces(call))
            part_finish(&dtensor->local);
        dtensor_lie(dtensor, &call->spec);
        return nothing_to_wait_for(call);
    }
    status = dtensor_allocate(call->from->local.dtype, &call->from->shape,
                              &call->spec, &passage->arrived);
    if (status != HOOP_OK)
        return error_pass(status);
    passage->changed = dtensor;
    /* The passage has it moved away from here when it ends. */
    const struct hoop_tensor to = passage->arrived->local;
    status = passage_run(STEAL(passage), call, &to);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
check_apart(const struct hoop_tensor *from, const struct hoop_tensor *to)
{
    const uintptr_t from_begin = (uintptr_t)from->data;
    const uintptr_t to_begin = (uintptr_t)to->data;

    if (from->data && to->data && from_begin < to_begin + operand_bytes(to) &&
        to_begin < from_begin + operand_bytes(from))
        return error_raise(HOOP_E_INVALID,
                           "out overlaps the tensor: give it memory of its "
                           "own, or none");
    return HOOP_OK;
}

enum hoop_status
passage_deliver(const struct passage_call *call, struct hoop_tensor *out)
{
    CLEANUP(passage_destroy) struct passage *passage = NULL;
    CLEANUP(hoop_dtensor_free) hoop_dtensor_t *label = NULL;
    struct result result = {.out = NULL};
    enum hoop_status status = passage_plan(call, &passage);

    if (status == HOOP_OK)
        status = dtensor_label(call->from->local.dtype, &call->from->shape,
                               &call->spec, &label);
    if (status != HOOP_OK)
        return error_pass(status);
    if (!dtensor_is_here(label)) {
        status = passage_run(STEAL(passage), call, &label->local);
        return status == HOOP_OK ? HOOP_OK : error_pass(status);
    }
    status = result_prepare(out, "out", label->local.dtype, &label->local.shape,
                            &result);
    if (status != HOOP_OK)
        return error_pass(status);
    status = check_apart(&call->from->local, out);
    if (status == HOOP_OK)
        status = passage_run(STEAL(passage), call, out);
    if (status == HOOP_OK)
        return HOOP_OK;
    result_withdraw(&result);
    return error_pass(status);
}
