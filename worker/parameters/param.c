/*
 * parameters/param.c - parameters: their layout, compute specs and names
 *
 * A parameter describes a tensor, or a distributed tensor whose layout it can
 * change. The second part lists the parameters of a tree of modules by their
 * full names.
 */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hoop/parameter.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "mesh/dtensor.h"

static const struct hoop_tensor empty = {.dtype = HOOP_FLOAT32,
                                         .shape = {.n_dims = 1}};

static bool
is_valid_compute_pattern(enum hoop_compute_pattern pattern)
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
    if (!is_valid_compute_pattern(pattern))
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

/* Parameters that are distributed tensors. */

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

/*
 * The tensors of a tree of modules by full name.
 *
 * The tree is traversed three times: to check and count, to list other
 * tensors, and to list parameters. Nothing is listed unless everything is
 * valid.
 */

/* The names from a module up to the root; the first may be "". */
struct module_path {
    const struct module_path *outer;
    const char *name;
};

/* A hash table of the tensors already listed. It is never full. */
struct param_set {
    const struct hoop_param **slots;
    size_t n_slots; /* a power of two */
};

struct param_listing {
    enum hoop_named_scope scope;
    bool is_registered; /* which kind is being listed */
    struct param_set param_set;
    struct hoop_param_names params;
};

static enum hoop_status
module_check_lists(const struct hoop_module *module)
{
    if (!module)
        return error_raise(HOOP_E_INVALID, "a module is NULL");
    if (module->n_params > 0 && !module->params)
        return error_raise(HOOP_E_INVALID, "a module's params are NULL");
    if (module->n_children > 0 && !module->children)
        return error_raise(HOOP_E_INVALID, "a module's children are NULL");
    return HOOP_OK;
}

static enum hoop_status
module_check_names(const struct hoop_module *module)
{
    for (size_t i = 0; i < module->n_params; i++) {
        const struct hoop_param *param = module->params[i];

        if (!param || !param->name || !*param->name)
            return error_raise(HOOP_E_INVALID, "params[%zu] of a module %s", i,
                               param ? "has no name" : "is NULL");
    }
    for (size_t i = 0; i < module->n_children; i++) {
        const struct hoop_module *child = module->children[i];

        if (!child || !child->name || !*child->name)
            return error_raise(HOOP_E_INVALID, "children[%zu] of a module %s",
                               i, child ? "has no name" : "is NULL");
    }
    return HOOP_OK;
}

/* Adds the number of tensors to *count. A tensor of several modules counts for
 * each of them. */
static enum hoop_status
module_tree_count_params(const struct hoop_module *module,
                         enum hoop_named_scope scope,
                         uint32_t depth,
                         size_t *count)
{
    enum hoop_status status = module_check_lists(module);

    if (status == HOOP_OK)
        status = module_check_names(module);
    if (status != HOOP_OK)
        return error_pass(status);
    if (depth > HOOP_MAX_MODULE_DEPTH)
        return error_raise(HOOP_E_INVALID,
                           "modules lie more than %d deep: is one in itself?",
                           HOOP_MAX_MODULE_DEPTH);
    *count += module->n_params;
    if (scope == HOOP_NAMED_OWN)
        return HOOP_OK;
    for (size_t i = 0; i < module->n_children; i++) {
        status = module_tree_count_params(module->children[i], scope, depth + 1,
                                          count);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* Returns false if the tensor is already in the table. */
static bool
param_set_add(struct param_set *param_set, const struct hoop_param *param)
{
    const size_t mask = param_set->n_slots - 1;
    /* Addresses are multiples of a small number, so high bits are used as
     * well. */
    uint64_t at = (uint64_t)(uintptr_t)param * UINT64_C(0x9e3779b97f4a7c15);

    at = at >> 32 & mask;
    while (param_set->slots[at] && param_set->slots[at] != param)
        at = (at + 1) & mask;
    if (param_set->slots[at])
        return false;
    param_set->slots[at] = param;
    return true;
}

/* Joins the names with dots. Returns NULL if there is no memory. */
static char *
module_path_join(const struct module_path *module_path, const char *name)
{
    size_t n_bytes = strlen(name) + 1;

    for (const struct module_path *at = module_path; at; at = at->outer)
        n_bytes += *at->name ? strlen(at->name) + 1 : 0;
    char *text = malloc(n_bytes);
    if (!text)
        return NULL;
    char *begin = text + n_bytes - strlen(name) - 1;
    memcpy(begin, name, strlen(name) + 1);
    for (const struct module_path *at = module_path; at; at = at->outer) {
        if (!*at->name)
            continue;
        *--begin = '.';
        begin -= strlen(at->name);
        memcpy(begin, at->name, strlen(at->name));
    }
    return text;
}

static enum hoop_status
module_tree_list_params(const struct hoop_module *module,
                        const struct module_path *module_path,
                        struct param_listing *param_listing)
{
    for (size_t i = 0; i < module->n_params; i++) {
        struct hoop_param *param = module->params[i];

        if (param->is_registered != param_listing->is_registered ||
            !param_set_add(&param_listing->param_set, param))
            continue;
        char *name = module_path_join(module_path, param->name);
        if (!name)
            return error_raise(HOOP_E_EXHAUSTED, "no memory for a name");
        param_listing->params.params[param_listing->params.n_params++] =
            (struct hoop_named_param){name, param};
    }
    if (param_listing->scope == HOOP_NAMED_OWN)
        return HOOP_OK;
    for (size_t i = 0; i < module->n_children; i++) {
        const struct module_path inner = {module_path,
                                          module->children[i]->name};
        const enum hoop_status status =
            module_tree_list_params(module->children[i], &inner, param_listing);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* Allocates for at most count tensors. */
static enum hoop_status
param_listing_init(struct param_listing *param_listing, size_t count)
{
    size_t n_slots = 2;

    while (n_slots < 2 * count)
        n_slots *= 2;
    param_listing->param_set.slots =
        calloc(n_slots, sizeof(*param_listing->param_set.slots));
    param_listing->param_set.n_slots = n_slots;
    param_listing->params.params =
        calloc(count > 0 ? count : 1, sizeof(*param_listing->params.params));
    if (!param_listing->param_set.slots || !param_listing->params.params)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %zu names", count);
    return HOOP_OK;
}

static enum hoop_status
param_listing_fill(struct param_listing *param_listing,
                   const struct hoop_module *module,
                   const char *prefix)
{
    const struct module_path first = {NULL, prefix ? prefix : ""};
    enum hoop_status status =
        module_tree_list_params(module, &first, param_listing);

    if (status == HOOP_OK) {
        param_listing->is_registered = true;
        status = module_tree_list_params(module, &first, param_listing);
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_named_params(const struct hoop_module *module,
                  const char *prefix,
                  enum hoop_named_scope scope,
                  struct hoop_param_names *out_params)
{
    struct param_listing param_listing = {.scope = scope};
    size_t count = 0;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!module || !out_params)
        return error_raise(HOOP_E_INVALID, "%s is NULL",
                           module ? "out_params" : "module");
    if (scope != HOOP_NAMED_ALL && scope != HOOP_NAMED_OWN)
        return error_raise(HOOP_E_INVALID, "there is no scope %d", (int)scope);
    enum hoop_status status =
        module_tree_count_params(module, scope, 0, &count);
    if (status != HOOP_OK)
        return error_pass(status);
    status = param_listing_init(&param_listing, count);
    if (status == HOOP_OK)
        status = param_listing_fill(&param_listing, module, prefix);
    free(param_listing.param_set.slots);
    if (status != HOOP_OK) {
        hoop_named_params_free(&param_listing.params);
        return error_pass(status);
    }
    *out_params = param_listing.params;
    return HOOP_OK;
}

void
hoop_named_params_free(struct hoop_param_names *params)
{
    if (!params)
        return;
    for (size_t i = 0; i < params->n_params; i++)
        free(params->params[i].name);
    free(params->params);
    *params = (struct hoop_param_names){0};
}
