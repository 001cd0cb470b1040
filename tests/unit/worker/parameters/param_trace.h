/*
 * tests/unit/worker/parameters/param_trace.h - records calls as one line
 *
 * "A.pre_fwd(w) OP A.post_fwd(w) " has hooks with the parameters that they got,
 * and operations with their own text.
 */

#ifndef TESTS_PARAM_TRACE_H
#define TESTS_PARAM_TRACE_H

#include "hoop/parameter.h"

struct param_trace {
    char text[1024];
};

/* This hook writes name. It fails in the phase fails_at. */
struct trace_hook {
    hoop_param_hook_t hook;
    const char *name;
    const char *fails_at; /* "pre_fwd"; NULL: never */
    struct param_trace *trace;
};

void
trace_hook_init(struct trace_hook *hook,
                const char *name,
                struct param_trace *trace);

/* This owns operations and overrides. A forward call writes text, and a
 * backward call text'. */
struct trace_op {
    const char *text;
    struct param_trace *trace;
    enum hoop_status status; /* of both calls */
};

enum hoop_status
trace_op_forward(const struct hoop_param_op *op, void *owner);
enum hoop_status
trace_op_backward(const struct hoop_param_op *op, void *owner);

/* Compares the trace, and clears it. */
void
trace_expect(struct param_trace *trace, const char *expected);

#endif
