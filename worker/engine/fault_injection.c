/*
 * engine/fault_injection.c - the faults of HOOP_DEBUG_FAULT that calls trigger
 */

#include "engine/fault_injection.h"

#include <string.h>

#include "base/cleanup.h"
#include "engine/state.h"

void
op_inject_fault(const struct op *op, enum fault_point point, uint32_t round)
{
    const struct fault_event event = {
        .point = point,
        .peer = op_is_message(op) ? step_flow_peer(&op->message.flow)
                                  : FAULT_ANY_RANK,
        .round = round + 1,
    };

    faults_trigger(op->engine->faults, op->run.label.faults, &event);
}

static const char *const recoveries[] = {"shrink", "agree", "grow"};

bool
fault_call_name_exists(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(recoveries); i++) {
        if (strcmp(recoveries[i], name) == 0)
            return true;
    }
    return call_name_exists(name);
}

uint32_t
recovery_fault_begin(struct engine *engine, const char *name)
{
    return FAULT_IS_BUILT && engine->faults ? faults_begin(engine->faults, name)
                                            : 0;
}

void
recovery_fault_inject(struct engine *engine,
                      uint32_t rules,
                      enum fault_point point,
                      uint64_t round)
{
    const struct fault_event event = {
        .point = point,
        .peer = FAULT_ANY_RANK,
        .round = round,
    };

    if (FAULT_IS_BUILT && rules)
        faults_trigger(engine->faults, rules, &event);
}
