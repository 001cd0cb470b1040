/* parameters/param_operands.c - the tensors among an operation's operands */

#include "parameters/param_operands.h"

#include "base/error.h"

/* Adds the operands to *counts. depth is how many lists they are nested in. */
static enum hoop_status
operands_count_nested(const struct hoop_operand *operands,
                      size_t n_operands,
                      uint32_t depth,
                      struct param_counts *counts)
{
    if (n_operands > 0 && !operands)
        return error_raise(HOOP_E_INVALID, "%zu operands, but they are NULL",
                           n_operands);
    if (depth > HOOP_MAX_NESTING)
        return error_raise(HOOP_E_INVALID,
                           "operands lie in more than %d lists of lists",
                           HOOP_MAX_NESTING);
    for (size_t i = 0; i < n_operands; i++) {
        const struct hoop_operand *operand = &operands[i];

        if (operand->param && (operand->items || operand->n_items > 0))
            return error_raise(HOOP_E_INVALID,
                               "operand %zu is both a tensor and a list", i);
        if (!operand->param && operand->n_items > 0) {
            const enum hoop_status status = operands_count_nested(
                operand->items, operand->n_items, depth + 1, counts);

            if (status != HOOP_OK)
                return error_pass(status);
        }
        if (!operand->param)
            continue;
        counts->n_tensors++;
        counts->n_params += operand->param->kind == HOOP_PARAM_MODEL;
        counts->n_need_grads += operand->param->requires_grad;
    }
    return HOOP_OK;
}

enum hoop_status
param_operands_check_count(const struct hoop_operand *operands,
                           size_t n_operands,
                           struct param_counts *out_counts)
{
    struct param_counts counts = {0};
    const enum hoop_status status =
        operands_count_nested(operands, n_operands, 0, &counts);

    if (status != HOOP_OK)
        return error_pass(status);
    *out_counts = counts;
    return HOOP_OK;
}

size_t
param_operands_collect(const struct hoop_operand *operands,
                       size_t n_operands,
                       struct hoop_param **params)
{
    size_t n = 0;

    for (size_t i = 0; i < n_operands; i++) {
        struct hoop_param *param = operands[i].param;

        if (!param)
            n += param_operands_collect(operands[i].items, operands[i].n_items,
                                        params + n);
        else if (param->kind == HOOP_PARAM_MODEL)
            params[n++] = param;
    }
    return n;
}
