/* tests/integration/parallel/mapping_cases.c - a common form for calls of
 * mappings */

#include "integration/parallel/mapping_cases.h"

#include <string.h>

const struct mapping_case mapping_cases[] = {
    {.name = "tp_reduce",
     .effect = EFFECT_SUM,
     .plain = hoop_tp_reduce,
     .plain_start = hoop_tp_reduce_start},
    {.name = "tp_split_last",
     .effect = EFFECT_CUT_LAST,
     .plain = hoop_tp_split_last},
    {.name = "tp_split_first",
     .effect = EFFECT_CUT_FIRST,
     .plain = hoop_tp_split_first},
    {.name = "tp_gather_last",
     .effect = EFFECT_JOIN_LAST,
     .plain = hoop_tp_gather_last,
     .plain_start = hoop_tp_gather_last_start},
    {.name = "tp_gather_first",
     .effect = EFFECT_JOIN_FIRST,
     .rows = hoop_tp_gather_first,
     .rows_start = hoop_tp_gather_first_start},
    {.name = "tp_reduce_scatter_last",
     .effect = EFFECT_SUM_CUT_LAST,
     .plain = hoop_tp_reduce_scatter_last,
     .plain_start = hoop_tp_reduce_scatter_last_start},
    {.name = "tp_reduce_scatter_first",
     .effect = EFFECT_SUM_CUT_FIRST,
     .rows = hoop_tp_reduce_scatter_first,
     .rows_start = hoop_tp_reduce_scatter_first_start},
    {.name = "copy_to_tp forward",
     .effect = EFFECT_SAME,
     .plain = hoop_copy_to_tp_forward,
     .plain_start = hoop_copy_to_tp_forward_start},
    {.name = "copy_to_tp backward",
     .effect = EFFECT_SUM,
     .plain = hoop_copy_to_tp_backward,
     .plain_start = hoop_copy_to_tp_backward_start},
    {.name = "reduce_from_tp forward",
     .effect = EFFECT_SUM,
     .plain = hoop_reduce_from_tp_forward,
     .plain_start = hoop_reduce_from_tp_forward_start},
    {.name = "reduce_from_tp backward",
     .effect = EFFECT_SAME,
     .plain = hoop_reduce_from_tp_backward,
     .plain_start = hoop_reduce_from_tp_backward_start},
    {.name = "scatter_to_tp forward",
     .effect = EFFECT_CUT_LAST,
     .plain = hoop_scatter_to_tp_forward,
     .plain_start = hoop_scatter_to_tp_forward_start},
    {.name = "scatter_to_tp backward",
     .effect = EFFECT_JOIN_LAST,
     .plain = hoop_scatter_to_tp_backward,
     .plain_start = hoop_scatter_to_tp_backward_start},
    {.name = "gather_from_tp forward",
     .effect = EFFECT_JOIN_LAST,
     .plain = hoop_gather_from_tp_forward,
     .plain_start = hoop_gather_from_tp_forward_start},
    {.name = "gather_from_tp backward",
     .effect = EFFECT_CUT_LAST,
     .plain = hoop_gather_from_tp_backward,
     .plain_start = hoop_gather_from_tp_backward_start},
    {.name = "scatter_to_sp forward",
     .effect = EFFECT_CUT_FIRST,
     .plain = hoop_scatter_to_sp_forward,
     .plain_start = hoop_scatter_to_sp_forward_start},
    {.name = "scatter_to_sp backward",
     .effect = EFFECT_JOIN_FIRST,
     .plain = hoop_scatter_to_sp_backward,
     .plain_start = hoop_scatter_to_sp_backward_start},
    {.name = "gather_from_sp sharded forward",
     .effect = EFFECT_JOIN_FIRST,
     .consuming = hoop_gather_from_sp_forward,
     .consuming_start = hoop_gather_from_sp_forward_start,
     .consumer = HOOP_CONSUMER_SHARDED},
    {.name = "gather_from_sp sharded backward",
     .effect = EFFECT_SUM_CUT_FIRST,
     .consuming = hoop_gather_from_sp_backward,
     .consuming_start = hoop_gather_from_sp_backward_start,
     .consumer = HOOP_CONSUMER_SHARDED},
    {.name = "gather_from_sp replicated forward",
     .effect = EFFECT_JOIN_FIRST,
     .consuming = hoop_gather_from_sp_forward,
     .consuming_start = hoop_gather_from_sp_forward_start,
     .consumer = HOOP_CONSUMER_REPLICATED},
    {.name = "gather_from_sp replicated backward",
     .effect = EFFECT_CUT_FIRST,
     .consuming = hoop_gather_from_sp_backward,
     .consuming_start = hoop_gather_from_sp_backward_start,
     .consumer = HOOP_CONSUMER_REPLICATED},
    {.name = "reduce_scatter_to_sp forward",
     .effect = EFFECT_SUM_CUT_FIRST,
     .rows = hoop_reduce_scatter_to_sp_forward,
     .rows_start = hoop_reduce_scatter_to_sp_forward_start},
    {.name = "reduce_scatter_to_sp backward",
     .effect = EFFECT_JOIN_FIRST,
     .rows = hoop_reduce_scatter_to_sp_backward,
     .rows_start = hoop_reduce_scatter_to_sp_backward_start},
    {.name = "all_gather_last_from_tp forward",
     .effect = EFFECT_JOIN_LAST,
     .plain = hoop_all_gather_last_from_tp_forward,
     .plain_start = hoop_all_gather_last_from_tp_forward_start},
    {.name = "all_gather_last_from_tp backward",
     .effect = EFFECT_SUM_CUT_LAST,
     .plain = hoop_all_gather_last_from_tp_backward,
     .plain_start = hoop_all_gather_last_from_tp_backward_start},
    {.name = "reduce_scatter_last_to_tp forward",
     .effect = EFFECT_SUM_CUT_LAST,
     .plain = hoop_reduce_scatter_last_to_tp_forward,
     .plain_start = hoop_reduce_scatter_last_to_tp_forward_start},
    {.name = "reduce_scatter_last_to_tp backward",
     .effect = EFFECT_JOIN_LAST,
     .plain = hoop_reduce_scatter_last_to_tp_backward,
     .plain_start = hoop_reduce_scatter_last_to_tp_backward_start},
    {.name = "all_to_all_rows forward",
     .effect = EFFECT_ROWS,
     .splits = hoop_all_to_all_rows_forward,
     .splits_start = hoop_all_to_all_rows_forward_start},
    {.name = "all_to_all_rows backward",
     .effect = EFFECT_ROWS_BACK,
     .splits = hoop_all_to_all_rows_backward,
     .splits_start = hoop_all_to_all_rows_backward_start},
    {.name = "all_to_all_sp2hp forward",
     .effect = EFFECT_SP2HP,
     .plain = hoop_all_to_all_sp2hp_forward,
     .plain_start = hoop_all_to_all_sp2hp_forward_start},
    {.name = "all_to_all_sp2hp backward",
     .effect = EFFECT_HP2SP,
     .plain = hoop_all_to_all_sp2hp_backward,
     .plain_start = hoop_all_to_all_sp2hp_backward_start},
    {.name = "all_to_all_hp2sp forward",
     .effect = EFFECT_HP2SP,
     .plain = hoop_all_to_all_hp2sp_forward,
     .plain_start = hoop_all_to_all_hp2sp_forward_start},
    {.name = "all_to_all_hp2sp backward",
     .effect = EFFECT_SP2HP,
     .plain = hoop_all_to_all_hp2sp_backward,
     .plain_start = hoop_all_to_all_hp2sp_backward_start},
};

const size_t n_mapping_cases = sizeof(mapping_cases) / sizeof(*mapping_cases);

const struct mapping_case *
mapping_case_find(const char *name)
{
    for (size_t i = 0; i < n_mapping_cases; i++) {
        if (strcmp(mapping_cases[i].name, name) == 0)
            return &mapping_cases[i];
    }
    return NULL;
}

bool
mapping_case_takes_rows(const struct mapping_case *mapping_case)
{
    return mapping_case->rows || mapping_case->consuming;
}

bool
mapping_case_takes_sizes(const struct mapping_case *mapping_case)
{
    return mapping_case_takes_rows(mapping_case) &&
           mapping_case->effect != EFFECT_CUT_FIRST;
}

bool
mapping_case_has_start(const struct mapping_case *mapping_case)
{
    return mapping_case->plain_start || mapping_case->rows_start ||
           mapping_case->consuming_start || mapping_case->splits_start;
}

enum hoop_status
mapping_case_run(const struct mapping_case *mapping_case,
                 const struct redistribute_call_arguments *call)
{
    if (mapping_case->plain)
        return mapping_case->plain(call->tensor, call->out, call->comm);
    if (mapping_case->rows)
        return mapping_case->rows(call->tensor, call->out, call->rows,
                                  call->comm);
    if (mapping_case->consuming)
        return mapping_case->consuming(call->tensor, call->out,
                                       mapping_case->consumer, call->rows,
                                       call->comm);
    return mapping_case->splits(call->tensor, call->out, call->splits,
                                call->comm);
}

enum hoop_status
mapping_case_start(const struct mapping_case *mapping_case,
                   const struct redistribute_call_arguments *call,
                   hoop_op_t **out_op)
{
    if (mapping_case->plain_start)
        return mapping_case->plain_start(call->tensor, call->out, call->comm,
                                         out_op);
    if (mapping_case->rows_start)
        return mapping_case->rows_start(call->tensor, call->out, call->rows,
                                        call->comm, out_op);
    if (mapping_case->consuming_start)
        return mapping_case->consuming_start(call->tensor, call->out,
                                             mapping_case->consumer, call->rows,
                                             call->comm, out_op);
    return mapping_case->splits_start(call->tensor, call->out, call->splits,
                                      call->comm, out_op);
}

enum hoop_status
mapping_case_run_started(const struct mapping_case *mapping_case,
                         const struct redistribute_call_arguments *call)
{
    hoop_op_t *op = NULL;
    const enum hoop_status status = mapping_case_start(mapping_case, call, &op);

    return status == HOOP_OK ? hoop_wait(op, HOOP_FOREVER) : status;
}

bool
effect_stays_here(enum effect effect)
{
    return effect == EFFECT_SAME || effect == EFFECT_CUT_LAST ||
           effect == EFFECT_CUT_FIRST;
}

int64_t mapping_values[MAPPING_VALUES];

struct hoop_tensor
mapping_table(size_t n_rows, size_t n_columns)
{
    return (struct hoop_tensor){.data = mapping_values,
                                .dtype = HOOP_INT64,
                                .shape = {2, {n_rows, n_columns}}};
}
