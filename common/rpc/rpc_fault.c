/* rpc/rpc_fault.c - faults injected at three points of a coordinator's call */

#include "rpc/rpc_fault.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "fault/fault.h"
#include "rpc/method.h"
#include "rpc/rpc_exchange.h"

enum {
    /* A reply counts as sent when the socket has it; wait this long so that the
     * client has it too. */
    LINGER_MS = 20,
};

/* Turn "hoop.v1.Store/CompareSet" into "store_compare_set"; other names become
 * "". */
static void
fault_op_of_method(const char *method, char out_op[FAULT_OP_MAX])
{
    static const char prefix[] = "hoop.v1.";
    size_t n = 0;

    out_op[0] = '\0';
    if (strncmp(method, prefix, sizeof(prefix) - 1) != 0)
        return;
    for (const char *at = method + sizeof(prefix) - 1; *at; at++) {
        const bool is_capital = isupper((unsigned char)*at);

        if (*at == '/')
            continue;
        if (n + 2 >= FAULT_OP_MAX)
            break;
        if (is_capital && n > 0)
            out_op[n++] = '_';
        out_op[n++] = (char)tolower((unsigned char)*at);
    }
    out_op[n] = '\0';
}

static bool
fault_op_exists(const char *name)
{
    char op[FAULT_OP_MAX];

    for (size_t i = 0; i < METHOD_COUNT; i++) {
        fault_op_of_method(method_by_id((enum method_id)i)->name, op);
        if (strcmp(op, name) == 0)
            return true;
    }
    return false;
}

enum hoop_status
rpc_faults_create(struct faults **out_faults)
{
    return faults_create(NULL, FAULT_COORDINATOR, fault_op_exists, out_faults);
}

static void
reply_delivery_wait(void)
{
    nanosleep(&(struct timespec){.tv_nsec = LINGER_MS * CLOCK_NS_PER_MS}, NULL);
}

bool
rpc_fault_inject(struct rpc_exchange *exchange, enum fault_point point)
{
    const struct fault_event event = {
        .point = point, .peer = FAULT_ANY_RANK, .is_frame = true};

    if (!FAULT_IS_BUILT || !exchange->rules)
        return false;
    if (point == FAULT_AT_END &&
        faults_are_due(rpc_listener_faults(exchange->listener), exchange->rules,
                       &event))
        reply_delivery_wait();
    const struct fault_effect effect = faults_trigger(
        rpc_listener_faults(exchange->listener), exchange->rules, &event);
    if (effect.action == FAULT_RESET)
        rpc_exchange_shutdown(exchange);
    return effect.action == FAULT_RESET || effect.action == FAULT_DROP;
}

bool
rpc_exchange_begin(struct rpc_exchange *exchange, const char *method)
{
    char op[FAULT_OP_MAX];

    if (!FAULT_IS_BUILT || !rpc_listener_faults(exchange->listener))
        return true;
    fault_op_of_method(method, op);
    exchange->rules = faults_begin(rpc_listener_faults(exchange->listener), op);
    if (!rpc_fault_inject(exchange, FAULT_AT_BEGIN))
        return true;
    rpc_exchange_drop(exchange);
    return false;
}
