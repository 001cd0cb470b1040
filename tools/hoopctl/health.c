/* hoopctl/health.c - hoopctl health: asks whether the coordinator serves */

#include <stdio.h>

#include "hoopctl/command.h"
#include "hoopctl/json.h"

enum hoop_status
health_run(const struct command_call *call)
{
    const enum hoop_status status = hoop_control_health(call->control);
    if (status != HOOP_OK)
        return status;

    if (call->format == COMMAND_JSON)
        json_print(json_pack("{ss ss}", "coordinator",
                             hoop_control_coordinator(call->control), "health",
                             "serving"));
    else
        printf("%s serves\n", hoop_control_coordinator(call->control));
    return HOOP_OK;
}
