/* plan/checker.c - proves an algorithm for one shape, in one process */

#include "plan/checker.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "plan/flat_rehearsal.h"
#include "plan/ledger.h"
#include "plan/rehearsal.h"

static const uint64_t socket_buffers[] = {0, 1, UINT64_MAX};

static enum hoop_status
checker_rehearse(const struct checker_case *proof, struct ledger *ledger)
{
    CLEANUP(rehearsal_destroy) struct rehearsal *rehearsal = NULL;
    enum hoop_status status = rehearsal_create(proof, ledger, &rehearsal);

    if (status != HOOP_OK)
        return error_pass(status);
    for (uint32_t i = 0; i < proof->n_schedules; i++) {
        const uint64_t seed = proof->seed + i;

        status = rehearsal_run(
            rehearsal, socket_buffers[seed % COUNT_OF(socket_buffers)], seed);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
checker_prove(const struct checker_case *proof)
{
    if (proof->algorithm->is_flat)
        return error_pass(flat_rehearsal_prove(proof));

    struct ledger ledger = {0};
    enum hoop_status status = ledger_build(&ledger, proof);

    if (status == HOOP_OK)
        status = checker_rehearse(proof, &ledger);
    ledger_deinit(&ledger);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
