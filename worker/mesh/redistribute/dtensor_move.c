/* mesh/redistribute/dtensor_move.c - the calls that redistribute tensors */

#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "mesh/redistribute/redistribute_call.h"

/* Pointer arguments of a call with their names. */
struct pointer_arguments {
    const char *names[3];
    const void *given[3];
};

static enum hoop_status
call_arguments_check(const struct pointer_arguments *pointer_arguments)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    for (size_t i = 0; i < COUNT_OF(pointer_arguments->names); i++) {
        if (pointer_arguments->names[i] && !pointer_arguments->given[i])
            return error_raise(HOOP_E_INVALID, "%s is NULL",
                               pointer_arguments->names[i]);
    }
    return HOOP_OK;
}

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
    const struct pointer_arguments pointer_arguments = {
        {"dtensor", "spec", "out_dtensor"},
        {dtensor, spec, out_dtensor},
    };
    enum hoop_status status = call_arguments_check(&pointer_arguments);

    if (status == HOOP_OK)
        status = redistribute_call_into_new(
            &(struct redistribute_call_request){
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
input_spec_check(const hoop_dtensor_t *grad,
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
    const struct pointer_arguments pointer_arguments = {
        {"grad", "input_spec", "out_grad"},
        {grad, input_spec, out_grad},
    };
    enum hoop_status status = call_arguments_check(&pointer_arguments);

    if (status == HOOP_OK)
        status = input_spec_check(grad, input_spec);
    if (status == HOOP_OK) {
        struct redistribute_call_request call = {.from = grad,
                                                 .spec = *input_spec,
                                                 .way = REDISTRIBUTION_BACKWARD,
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
    const struct pointer_arguments pointer_arguments = {
        {"dtensor", "spec"},
        {dtensor, spec},
    };
    enum hoop_status status = call_arguments_check(&pointer_arguments);

    if (status == HOOP_OK)
        status = redistribute_call_in_place(
            &(struct redistribute_call_request){
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
    const struct pointer_arguments pointer_arguments = {
        {"dtensor", "out"},
        {dtensor, out},
    };
    enum hoop_status status = call_arguments_check(&pointer_arguments);

    if (status == HOOP_OK)
        status = redistribute_call_into_tensor(
            &(struct redistribute_call_request){
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
