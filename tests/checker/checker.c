/* tests/checker/checker.c - proves an algorithm correct for one shape, in one process */

#include "checker/checker.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "checker/checker_messages.h"
#include "checker/checker_run.h"
#include "checker/checker_shm_run.h"

static const uint64_t socket_buffers[] = {0, 1, UINT64_MAX};

static enum hoop_status
checker_run_all_schedules(const struct checker_case *scenario,
                          struct checker_messages *checker_messages)
{
    CLEANUP(checker_run_destroy) struct checker_run *checker_run = NULL;
    enum hoop_status status =
        checker_run_create(scenario, checker_messages, &checker_run);

    if (status != HOOP_OK)
        return error_pass(status);
    for (uint32_t i = 0; i < scenario->n_schedules; i++) {
        const uint64_t seed = scenario->seed + i;

        status = checker_run_one_schedule(
            checker_run, socket_buffers[seed % COUNT_OF(socket_buffers)], seed);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
checker_verify_algorithm(const struct checker_case *scenario)
{
    if (scenario->algorithm->is_shm)
        return error_pass(checker_shm_run_verify_algorithm(scenario));

    struct checker_messages checker_messages = {0};
    enum hoop_status status =
        checker_messages_build(&checker_messages, scenario);

    if (status == HOOP_OK)
        status = checker_run_all_schedules(scenario, &checker_messages);
    checker_messages_deinit(&checker_messages);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
