/* plan/simulation_stage.c - runs a cast through some rounds of an algorithm */

#include "plan/simulation_stage.h"

#include "base/error.h"
#include "plan/simulation_heap.h"
#include "plan/simulation_host.h"
#include "plan/simulation_mail.h"

struct stage {
    struct simulation_graph graph;
    struct simulation_hosts hosts;
    struct simulation_heap heap;
    struct simulation_mail mail;
    uint32_t round_half;
    double now_ns;
    uint64_t n_open; /* steps that are not settled */
    struct simulation_run_result result;
};

static void
stage_deinit(struct stage *stage)
{
    simulation_graph_deinit(&stage->graph);
    simulation_hosts_deinit(&stage->hosts);
    simulation_heap_deinit(&stage->heap);
    simulation_mail_deinit(&stage->mail);
}

static enum hoop_status
stage_init(struct stage *stage, const struct simulation_scene *scene)
{
    enum hoop_status status = simulation_graph_init(&stage->graph, scene);

    if (status == HOOP_OK)
        status =
            simulation_hosts_init(&stage->hosts, scene->machine, scene->cast);
    stage->round_half =
        scene->rounds.first + (scene->rounds.end - scene->rounds.first) / 2;
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static struct simulation_step *
step_at(struct stage *stage, uint32_t step)
{
    return &stage->graph.steps[step];
}

/* What is ready begins now at the earliest: time does not run back. */
static enum hoop_status
step_rouse(struct stage *stage, uint32_t i)
{
    struct simulation_step *step = step_at(stage, i);

    if (step->n_awaited > 0)
        return HOOP_OK;
    if (step->flow.start_ns < stage->now_ns)
        step->flow.start_ns = stage->now_ns;
    return simulation_heap_push(&stage->heap, step->flow.start_ns, i);
}

static struct simulation_address
step_address(const struct stage *stage, const struct simulation_step *step)
{
    const struct plan_step message = {
        .kind = (enum plan_kind)step->kind,
        .peer = step->peer,
        .message = step->message,
    };

    return simulation_cast_address(stage->graph.scene.cast, step->actor,
                                   &message);
}

static bool
is_receive(const struct simulation_step *step)
{
    return step->kind == PLAN_STORE || step->kind == PLAN_REDUCE;
}

static enum hoop_status
step_await(struct stage *stage, uint32_t i)
{
    struct simulation_step *step = step_at(stage, i);
    const struct simulation_address address = step_address(stage, step);
    struct simulation_arrival arrival = {0};
    bool is_here = false;

    const enum hoop_status status =
        simulation_mail_await(&stage->mail, &address, i, &arrival, &is_here);
    if (status != HOOP_OK)
        return error_pass(status);
    if (is_here)
        simulation_flow_arrive(&step->flow, arrival.first_ns, arrival.last_ns);
    else
        step->n_awaited++;
    return HOOP_OK;
}

/* As many rounds of an actor as there is room for. */
static enum hoop_status
actor_open(struct stage *stage, uint32_t actor)
{
    enum hoop_status status = HOOP_OK;

    while (status == HOOP_OK &&
           simulation_graph_has_room(&stage->graph, actor)) {
        uint32_t i = SIMULATION_END;

        status = simulation_graph_open(&stage->graph, actor, &i);
        for (; status == HOOP_OK && i != SIMULATION_END;
             i = step_at(stage, i)->next) {
            stage->n_open++;
            if (is_receive(step_at(stage, i)))
                status = step_await(stage, i);
            if (status == HOOP_OK)
                status = step_rouse(stage, i);
        }
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
step_deliver(struct stage *stage, const struct simulation_step *step)
{
    const struct simulation_arrival arrival = simulation_hosts_carry(
        &stage->hosts, step->actor, step->peer, &step->flow);
    const struct simulation_address address = step_address(stage, step);
    uint32_t taker = SIMULATION_NOBODY;

    stage->result.bytes += step->flow.bytes;
    stage->result.messages += 1;

    const enum hoop_status status =
        simulation_mail_post(&stage->mail, &address, &arrival, &taker);
    if (status != HOOP_OK || taker == SIMULATION_NOBODY)
        return error_pass(status);
    simulation_flow_arrive(&step_at(stage, taker)->flow, arrival.first_ns,
                           arrival.last_ns);
    step_at(stage, taker)->n_awaited--;
    return step_rouse(stage, taker);
}

static void
step_count(struct stage *stage, const struct simulation_step *step)
{
    struct simulation_run_result *result = &stage->result;

    if (step->flow.end_ns > result->end_ns)
        result->end_ns = step->flow.end_ns;
    if (step->round < stage->round_half && step->flow.end_ns > result->half_ns)
        result->half_ns = step->flow.end_ns;
    stage->n_open--;
}

static enum hoop_status
step_settle(struct stage *stage, uint32_t i)
{
    struct simulation_step *step = step_at(stage, i);
    const uint32_t actor = step->actor;
    enum hoop_status status = HOOP_OK;
    uint32_t follower;

    step_count(stage, step);
    simulation_graph_settle(&stage->graph, i);
    if (step->kind == PLAN_SEND)
        status = step_deliver(stage, step);
    while (status == HOOP_OK && (follower = simulation_graph_next_follower(
                                     &stage->graph, i)) != SIMULATION_END)
        status = step_rouse(stage, follower);
    if (status == HOOP_OK)
        status = actor_open(stage, actor);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/*
 * Processors get their work when a step begins, networks when the first piece
 * of a message leaves its sender, which may be long after: until then, other
 * messages go first.
 */
static enum hoop_status
step_play(struct stage *stage, uint32_t i)
{
    struct simulation_step *step = step_at(stage, i);

    if (!step->is_begun) {
        step->is_begun = true;
        stage->now_ns = step->flow.start_ns;
        simulation_hosts_work(&stage->hosts, step->actor, &step->flow);
        if (step->kind == PLAN_SEND)
            return simulation_heap_push(
                &stage->heap, simulation_flow_first_ns(&step->flow), i);
    } else {
        stage->now_ns = simulation_flow_first_ns(&step->flow);
    }
    return step_settle(stage, i);
}

static enum hoop_status
stage_stuck(struct stage *stage)
{
    const uint32_t i = simulation_mail_release(&stage->mail);

    if (i == SIMULATION_NOBODY)
        return error_raise(HOOP_E_INTERNAL,
                           "%s: steps wait for each other, none for a message",
                           stage->graph.scene.algorithm->name);

    const struct simulation_step *step = step_at(stage, i);

    return error_raise(
        HOOP_E_INTERNAL,
        "%s: in round %u rank %u waits for message %u from rank %u, which "
        "does not send it",
        stage->graph.scene.algorithm->name, step->round,
        simulation_cast_rank(stage->graph.scene.cast, step->actor),
        step->message, step->peer);
}

static bool
has_all_rounds(const struct stage *stage)
{
    const struct simulation_scene *scene = &stage->graph.scene;

    return scene->rounds.first == 0 && scene->rounds.end == UINT32_MAX;
}

static enum hoop_status
stage_play(struct stage *stage)
{
    enum hoop_status status = HOOP_OK;

    for (uint32_t actor = 0;
         status == HOOP_OK && actor < stage->graph.scene.cast->n_actors;
         actor++)
        status = actor_open(stage, actor);
    while (status == HOOP_OK && stage->heap.n_entries > 0)
        status = step_play(stage, simulation_heap_pop(&stage->heap));
    if (status == HOOP_OK && stage->n_open > 0 && has_all_rounds(stage))
        return stage_stuck(stage);
    stage->result.n_unmatched = stage->mail.n_letters;
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
simulation_stage_run(const struct simulation_scene *scene,
                     struct simulation_run_result *out_result)
{
    struct stage stage = {0};
    enum hoop_status status = stage_init(&stage, scene);

    if (status == HOOP_OK)
        status = stage_play(&stage);
    if (status == HOOP_OK)
        *out_result = stage.result;
    stage_deinit(&stage);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
