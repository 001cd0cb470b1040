/* hoopctl/token.c - hoopctl token: makes a token that allows less than the
 * job's */

#include <stdio.h>

#include "hoopctl/command.h"
#include "hoopctl/json.h"

enum hoop_status
token_run(const struct command_call *call)
{
    const char *role = call->arguments[0];
    struct hoop_control_token_text token;

    const enum hoop_status status =
        hoop_control_token(call->options, role, &token);
    if (status != HOOP_OK)
        return status;

    if (call->format == COMMAND_JSON)
        json_print(json_pack("{ss ss}", "role", role, "token", token.text));
    else
        printf("%s\n", token.text);
    return HOOP_OK;
}
