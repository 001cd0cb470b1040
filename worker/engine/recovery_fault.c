/* engine/recovery_fault.c - fault injection during a recovery */

#include "engine/recovery_fault.h"

#include <string.h>

#include "base/cleanup.h"
#include "engine/call.h"
#include "engine/state.h"
#include "fault/fault.h"

static const char *const names[] = {"shrink", "agree", "grow"};

bool
recovery_fault_exists(const char *name)
{
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return call_exists(name);
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
