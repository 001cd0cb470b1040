/* parameters/param.c - initialises parameters and compute specs */

#include "hoop/parameter.h"

#include "base/error.h"

static bool
is_compute_pattern(enum hoop_compute_pattern pattern)
{
    switch (pattern) {
    case HOOP_COMPUTE_TP1D:
    case HOOP_COMPUTE_TP2D:
    case HOOP_COMPUTE_TP2P5D:
    case HOOP_COMPUTE_TP3D:
        return true;
    }
    return false;
}

enum hoop_status
hoop_compute_spec(enum hoop_compute_pattern pattern,
                  struct hoop_compute *out_spec)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_spec)
        return error_raise(HOOP_E_INVALID, "out_spec is NULL");
    if (!is_compute_pattern(pattern))
        return error_raise(HOOP_E_INVALID, "there is no compute pattern %d",
                           (int)pattern);
    *out_spec = (struct hoop_compute){pattern, true};
    return HOOP_OK;
}

enum hoop_status
hoop_param_init(const char *name,
                const struct hoop_tensor *tensor,
                struct hoop_param *out_param)
{
    static const struct hoop_tensor empty = {.dtype = HOOP_FLOAT32,
                                             .shape = {.n_dims = 1}};
    size_t count = 0;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_param)
        return error_raise(HOOP_E_INVALID, "out_param is NULL");
    tensor = tensor ? tensor : &empty;
    const enum hoop_status status = hoop_shape_count(&tensor->shape, &count);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_param = (struct hoop_param){
        .name = name,
        .tensor = *tensor,
        .kind = HOOP_PARAM_MODEL,
        .is_registered = true,
        .requires_grad = true,
    };
    return HOOP_OK;
}
