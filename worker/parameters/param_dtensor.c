/* parameters/param_dtensor.c - parameters that are distributed tensors */

#include "base/cleanup.h"
#include "base/error.h"
#include "mesh/dtensor.h"

static const struct hoop_tensor empty = {.dtype = HOOP_FLOAT32,
                                         .shape = {.n_dims = 1}};

void
hoop_param_refresh(struct hoop_param *param)
{
    if (!param || !param->dtensor)
        return;
    const struct hoop_tensor *local = hoop_dtensor_local(param->dtensor);

    param->tensor = local ? *local : empty;
    param->tensor.dtype = hoop_dtensor_dtype(param->dtensor);
    param->compute = hoop_dtensor_spec(param->dtensor)->compute;
}

enum hoop_status
hoop_param_init_dtensor(const char *name,
                        hoop_dtensor_t *dtensor,
                        struct hoop_param *out_param)
{
    struct hoop_param param;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!dtensor || !out_param)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           dtensor ? "out_param" : "dtensor");
    const enum hoop_status status = hoop_param_init(name, NULL, &param);
    if (status != HOOP_OK)
        return error_pass(status);
    param.dtensor = dtensor;
    hoop_param_refresh(&param);
    *out_param = param;
    return HOOP_OK;
}

enum hoop_status
hoop_param_init_spec(const char *name,
                     const struct hoop_tensor *tensor,
                     const struct hoop_tensor_spec *spec,
                     struct hoop_param *out_param)
{
    CLEANUP(hoop_dtensor_free) hoop_dtensor_t *dtensor = NULL;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_param)
        return error_raise(HOOP_E_INVALID, "out_param is NULL");
    enum hoop_status status =
        hoop_dtensor_from_local(tensor ? tensor : &empty, NULL, spec, &dtensor);
    if (status == HOOP_OK)
        status = hoop_param_init_dtensor(name, dtensor, out_param);
    if (status != HOOP_OK)
        return error_pass(status);
    dtensor = NULL;
    return HOOP_OK;
}

static enum hoop_status
param_check_has_dtensor(const struct hoop_param *param)
{
    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!param)
        return error_raise(HOOP_E_INVALID, "param is NULL");
    if (!param->dtensor)
        return error_raise(HOOP_E_PRECONDITION,
                           "parameter \"%s\" lies over no ranks: make it with "
                           "hoop_param_init_spec()",
                           param->name ? param->name : "");
    return HOOP_OK;
}

enum hoop_status
hoop_param_redistribute(const struct hoop_param *param,
                        const struct hoop_group_sharding *dist,
                        hoop_pg_t *group,
                        hoop_dtensor_t **out_dtensor)
{
    enum hoop_status status = param_check_has_dtensor(param);

    if (status == HOOP_OK)
        status = hoop_dtensor_redistribute_over(param->dtensor, dist, group,
                                                out_dtensor);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_param_set_spec(struct hoop_param *param,
                    const struct hoop_tensor_spec *spec)
{
    enum hoop_status status = param_check_has_dtensor(param);

    if (status == HOOP_OK)
        status = hoop_dtensor_set_spec(param->dtensor, spec);
    if (status != HOOP_OK)
        return error_pass(status);
    hoop_param_refresh(param);
    return HOOP_OK;
}

enum hoop_status
hoop_param_set_dist_spec(struct hoop_param *param,
                         const struct hoop_group_sharding *dist)
{
    enum hoop_status status = param_check_has_dtensor(param);

    if (status == HOOP_OK)
        status = hoop_dtensor_set_dist_spec(param->dtensor, dist);
    if (status != HOOP_OK)
        return error_pass(status);
    hoop_param_refresh(param);
    return HOOP_OK;
}

void
hoop_param_deinit(struct hoop_param *param)
{
    if (!param || !param->dtensor)
        return;
    hoop_dtensor_free(param->dtensor);
    param->dtensor = NULL;
    param->tensor = empty;
    param->compute = NULL;
}
