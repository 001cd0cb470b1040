/* mesh/redistribute/redistribute.c - hoop_redistribute_plan(): describes the steps */

#include "hoop/redistribute.h"

#include "base/error.h"
#include "mesh/redistribute/participants.h"
#include "mesh/redistribute/redistribution.h"

static const double NS_PER_US = 1e3;

static enum hoop_status
redistribution_step_describe(const struct participants *participants,
                             const struct redistribution *redistribution,
                             uint32_t number,
                             struct hoop_step *out_step)
{
    const struct redistribution_step *step =
        redistribution_step(redistribution, number);
    enum hoop_status status = HOOP_OK;

    *out_step = (struct hoop_step){
        .kind = step->kind,
        .mesh = step->mesh == REDISTRIBUTION_FROM
                    ? participants->request.from.mesh
                    : participants->request.to.mesh,
        .axes = step->axes,
        .gather_dim = step->gather_dim,
        .shard_dim = step->shard_dim,
        .after = step->after,
        .time_us = step->time_ns / NS_PER_US,
    };
    if (participants->here != HOOP_NO_RANK)
        status = redistribution_bytes_sent(
            redistribution, number, participants->here, &out_step->bytes_sent);
    if (status == HOOP_OK)
        status = redistribution_bytes_total(redistribution, number,
                                            &out_step->bytes_total);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
hoop_redistribute_plan(const hoop_dtensor_t *dtensor,
                       const struct hoop_tensor_spec *spec,
                       struct hoop_redistribution *out_plan)
{
    CLEANUP(redistribution_destroy)
    struct redistribution *redistribution = NULL;
    CLEANUP(participants_deinit) struct participants participants = {0};
    struct hoop_redistribution plan = {0};

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!out_plan)
        return error_raise(HOOP_E_INVALID, "out_plan is NULL");
    enum hoop_status status =
        participants_init(&participants, dtensor, spec, REDISTRIBUTION_FORWARD);
    if (status == HOOP_OK)
        status = redistribution_create(&participants.request, &redistribution);
    if (status != HOOP_OK)
        return error_pass(status);
    plan.n_steps = redistribution_n_steps(redistribution);
    for (uint32_t i = 0; i < plan.n_steps; i++) {
        status = redistribution_step_describe(&participants, redistribution, i,
                                              &plan.steps[i]);
        if (status != HOOP_OK)
            return error_pass(status);
        plan.bytes_sent += plan.steps[i].bytes_sent;
        plan.bytes_total += plan.steps[i].bytes_total;
        plan.time_us += plan.steps[i].time_us;
    }
    *out_plan = plan;
    return HOOP_OK;
}
