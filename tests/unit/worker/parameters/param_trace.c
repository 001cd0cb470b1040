/* tests/unit/worker/parameters/param_trace.c - what was called, as one line */

#include "param_trace.h"

#include <string.h>

#include "check.h"

static void
trace_add(struct param_trace *trace, const char *text)
{
    assert_true(strlen(trace->text) + strlen(text) < sizeof(trace->text));
    strcat(trace->text, text);
}

static enum hoop_status
trace_phase(struct trace_hook *hook,
            const char *phase,
            const struct hoop_param_list *params)
{
    struct param_trace *trace = hook->trace;

    trace_add(trace, hook->name);
    trace_add(trace, ".");
    trace_add(trace, phase);
    for (size_t i = 0; i < params->n_params; i++) {
        trace_add(trace, i == 0 ? "(" : ",");
        trace_add(trace, params->params[i]->name);
    }
    trace_add(trace, ") ");
    if (hook->fails_at && strcmp(hook->fails_at, phase) == 0)
        return HOOP_E_ABORTED;
    return HOOP_OK;
}

static enum hoop_status
pre_forward(const struct hoop_param_list *params, void *owner)
{
    return trace_phase(owner, "pre_fwd", params);
}

static enum hoop_status
post_forward(const struct hoop_param_list *params, void *owner)
{
    return trace_phase(owner, "post_fwd", params);
}

static enum hoop_status
pre_backward(const struct hoop_param_list *params, void *owner)
{
    return trace_phase(owner, "pre_bwd", params);
}

static enum hoop_status
post_backward(const struct hoop_param_list *params, void *owner)
{
    return trace_phase(owner, "post_bwd", params);
}

void
trace_hook_init(struct trace_hook *hook,
                const char *name,
                struct param_trace *trace)
{
    *hook = (struct trace_hook){
        .hook = {pre_forward, post_forward, pre_backward, post_backward, hook},
        .name = name,
        .trace = trace,
    };
}

enum hoop_status
trace_op_forward(const struct hoop_param_op *op, void *owner)
{
    const struct trace_op *work = owner;

    assert_non_null(op);
    trace_add(work->trace, work->text);
    trace_add(work->trace, " ");
    return work->status;
}

enum hoop_status
trace_op_backward(const struct hoop_param_op *op, void *owner)
{
    const struct trace_op *work = owner;

    assert_non_null(op);
    trace_add(work->trace, work->text);
    trace_add(work->trace, "' ");
    return work->status;
}

void
trace_expect(struct param_trace *trace, const char *expected)
{
    assert_string_equal(trace->text, expected);
    trace->text[0] = '\0';
}
