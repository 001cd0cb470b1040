/*
 * model/simulation_scheduler.c - simulates some rounds of an algorithm
 *
 * A heap holds the steps that are ready, with the earliest start first. The
 * scheduler takes one step at a time, works out when it ends, delivers its
 * message, and makes the steps that depended on it ready. If the heap is empty
 * before all steps have run, the plan has a deadlock.
 */

#include "model/simulation_scheduler.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "model/simulation_host.h"

/* Steps that may begin, earliest first. */

struct simulation_heap_entry {
    double at_ns;
    uint64_t order;
    uint32_t step;
};

enum {
    HEAP_CAPACITY_MIN = 256
};

void
simulation_heap_deinit(struct simulation_heap *heap)
{
    free(heap->entries);
    *heap = (struct simulation_heap){0};
}

static bool
heap_entry_is_before(const struct simulation_heap_entry *one,
                     const struct simulation_heap_entry *other)
{
    if (one->at_ns < other->at_ns)
        return true;
    return !(one->at_ns > other->at_ns) && one->order < other->order;
}

static enum hoop_status
heap_grow(struct simulation_heap *heap)
{
    const size_t capacity =
        heap->capacity ? 2 * heap->capacity : HEAP_CAPACITY_MIN;
    struct simulation_heap_entry *entries =
        reallocarray(heap->entries, capacity, sizeof(*entries));

    if (!entries)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to simulate %zu steps at once", capacity);
    heap->entries = entries;
    heap->capacity = capacity;
    return HOOP_OK;
}

enum hoop_status
simulation_heap_push(struct simulation_heap *heap, double at_ns, uint32_t step)
{
    if (heap->n_entries == heap->capacity) {
        const enum hoop_status status = heap_grow(heap);
        if (status != HOOP_OK)
            return error_pass(status);
    }

    const struct simulation_heap_entry entry = {at_ns, heap->n_pushed++, step};
    size_t hole = heap->n_entries++;

    while (hole > 0 &&
           heap_entry_is_before(&entry, &heap->entries[(hole - 1) / 2])) {
        heap->entries[hole] = heap->entries[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap->entries[hole] = entry;
    return HOOP_OK;
}

uint32_t
simulation_heap_pop(struct simulation_heap *heap)
{
    assert(heap->n_entries > 0);

    const uint32_t step = heap->entries[0].step;
    const struct simulation_heap_entry last = heap->entries[--heap->n_entries];
    const size_t n = heap->n_entries;
    size_t hole = 0;

    for (size_t child = 1; child < n; child = 2 * hole + 1) {
        if (child + 1 < n && heap_entry_is_before(&heap->entries[child + 1],
                                                  &heap->entries[child]))
            child++;
        if (!heap_entry_is_before(&heap->entries[child], &last))
            break;
        heap->entries[hole] = heap->entries[child];
        hole = child;
    }
    heap->entries[hole] = last;
    return step;
}

struct scheduler {
    struct simulation_graph graph;
    struct simulation_hosts hosts;
    struct simulation_heap heap;
    struct simulation_match_queue match_queue;
    uint32_t second_half_first_round;
    double now_ns;
    uint64_t n_open; /* steps that are open but not settled */
    struct simulation_scheduler_result result;
};

static void
simulation_scheduler_deinit(struct scheduler *scheduler)
{
    simulation_graph_deinit(&scheduler->graph);
    simulation_hosts_deinit(&scheduler->hosts);
    simulation_heap_deinit(&scheduler->heap);
    simulation_match_queue_deinit(&scheduler->match_queue);
}

static enum hoop_status
scheduler_init(struct scheduler *scheduler,
               const struct simulation_setup *setup)
{
    enum hoop_status status = simulation_graph_init(&scheduler->graph, setup);

    if (status == HOOP_OK)
        status = simulation_hosts_init(&scheduler->hosts, setup->machine,
                                       setup->mapping);
    scheduler->second_half_first_round =
        setup->rounds.first + (setup->rounds.end - setup->rounds.first) / 2;
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static struct simulation_step *
step_by_index(struct scheduler *scheduler, uint32_t step)
{
    return &scheduler->graph.steps[step];
}

/* A step that has become ready starts now at the earliest, so that time never
 * runs backwards. */
static enum hoop_status
step_push_if_ready(struct scheduler *scheduler, uint32_t i)
{
    struct simulation_step *step = step_by_index(scheduler, i);

    if (step->n_awaited > 0)
        return HOOP_OK;
    if (step->flow.start_ns < scheduler->now_ns)
        step->flow.start_ns = scheduler->now_ns;
    return simulation_heap_push(&scheduler->heap, step->flow.start_ns, i);
}

static struct simulation_message_address
step_message_address(const struct scheduler *scheduler,
                     const struct simulation_step *step)
{
    const struct plan_step message = {
        .kind = (enum plan_step_type)step->kind,
        .peer = step->peer,
        .message = step->message,
    };

    return simulation_mapping_address_of(scheduler->graph.setup.mapping,
                                         step->vrank, &message);
}

static bool
is_receive_step(const struct simulation_step *step)
{
    return step->kind == PLAN_STORE || step->kind == PLAN_REDUCE;
}

static enum hoop_status
step_match_message(struct scheduler *scheduler, uint32_t i)
{
    struct simulation_step *step = step_by_index(scheduler, i);
    const struct simulation_message_address address =
        step_message_address(scheduler, step);
    struct simulation_arrival_times arrival = {0};
    bool is_here = false;

    const enum hoop_status status = simulation_match_queue_await(
        &scheduler->match_queue, &address, i, &arrival, &is_here);
    if (status != HOOP_OK)
        return error_pass(status);
    if (is_here)
        simulation_flow_delay_to_arrival(&step->flow, arrival.first_ns,
                                         arrival.last_ns);
    else
        step->n_awaited++;
    return HOOP_OK;
}

/* Opens as many rounds of a virtual rank as its window has room for. */
static enum hoop_status
vrank_open_rounds(struct scheduler *scheduler, uint32_t vrank)
{
    enum hoop_status status = HOOP_OK;

    while (status == HOOP_OK &&
           simulation_graph_can_open_round(&scheduler->graph, vrank)) {
        uint32_t i = SIMULATION_LIST_END;

        status = simulation_graph_open_round(&scheduler->graph, vrank, &i);
        for (; status == HOOP_OK && i != SIMULATION_LIST_END;
             i = step_by_index(scheduler, i)->next) {
            scheduler->n_open++;
            if (is_receive_step(step_by_index(scheduler, i)))
                status = step_match_message(scheduler, i);
            if (status == HOOP_OK)
                status = step_push_if_ready(scheduler, i);
        }
    }
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
step_deliver_message(struct scheduler *scheduler,
                     const struct simulation_step *step)
{
    const struct simulation_arrival_times arrival = simulation_hosts_transmit(
        &scheduler->hosts, step->vrank, step->peer, &step->flow);
    const struct simulation_message_address address =
        step_message_address(scheduler, step);
    uint32_t taker = SIMULATION_NO_STEP;

    scheduler->result.bytes += step->flow.bytes;
    scheduler->result.messages += 1;

    const enum hoop_status status = simulation_match_queue_post(
        &scheduler->match_queue, &address, &arrival, &taker);
    if (status != HOOP_OK || taker == SIMULATION_NO_STEP)
        return error_pass(status);
    simulation_flow_delay_to_arrival(&step_by_index(scheduler, taker)->flow,
                                     arrival.first_ns, arrival.last_ns);
    step_by_index(scheduler, taker)->n_awaited--;
    return step_push_if_ready(scheduler, taker);
}

static void
step_record_end(struct scheduler *scheduler, const struct simulation_step *step)
{
    struct simulation_scheduler_result *result = &scheduler->result;

    if (step->flow.end_ns > result->end_ns)
        result->end_ns = step->flow.end_ns;
    if (step->round < scheduler->second_half_first_round &&
        step->flow.end_ns > result->half_ns)
        result->half_ns = step->flow.end_ns;
    scheduler->n_open--;
}

static enum hoop_status
step_settle_and_release(struct scheduler *scheduler, uint32_t i)
{
    struct simulation_step *step = step_by_index(scheduler, i);
    const uint32_t vrank = step->vrank;
    enum hoop_status status = HOOP_OK;
    uint32_t follower;

    step_record_end(scheduler, step);
    simulation_graph_settle_step(&scheduler->graph, i);
    if (step->kind == PLAN_SEND)
        status = step_deliver_message(scheduler, step);
    while (status == HOOP_OK &&
           (follower = simulation_graph_pop_follower(&scheduler->graph, i)) !=
               SIMULATION_LIST_END)
        status = step_push_if_ready(scheduler, follower);
    if (status == HOOP_OK)
        status = vrank_open_rounds(scheduler, vrank);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/*
 * A processor gets its work when a step starts. A network gets its work when
 * the first piece of a message leaves the sender, which may be much later;
 * until then, other messages go first.
 */
static enum hoop_status
scheduler_run_step(struct scheduler *scheduler, uint32_t i)
{
    struct simulation_step *step = step_by_index(scheduler, i);

    if (!step->is_begun) {
        step->is_begun = true;
        scheduler->now_ns = step->flow.start_ns;
        simulation_hosts_add_work(&scheduler->hosts, step->vrank, &step->flow);
        if (step->kind == PLAN_SEND)
            return simulation_heap_push(
                &scheduler->heap, simulation_flow_first_piece_ns(&step->flow),
                i);
    } else {
        scheduler->now_ns = simulation_flow_first_piece_ns(&step->flow);
    }
    return step_settle_and_release(scheduler, i);
}

static enum hoop_status
scheduler_raise_deadlock(struct scheduler *scheduler)
{
    const uint32_t i =
        simulation_match_queue_pop_waiter(&scheduler->match_queue);

    if (i == SIMULATION_NO_STEP)
        return error_raise(HOOP_E_INTERNAL,
                           "%s: steps wait for each other, none for a message",
                           scheduler->graph.setup.algorithm->name);

    const struct simulation_step *step = step_by_index(scheduler, i);

    return error_raise(
        HOOP_E_INTERNAL,
        "%s: in round %u rank %u waits for message %u from rank %u, which "
        "does not send it",
        scheduler->graph.setup.algorithm->name, step->round,
        simulation_mapping_rank_of(scheduler->graph.setup.mapping, step->vrank),
        step->message, step->peer);
}

static bool
simulates_all_rounds(const struct scheduler *scheduler)
{
    const struct simulation_setup *setup = &scheduler->graph.setup;

    return setup->rounds.first == 0 && setup->rounds.end == UINT32_MAX;
}

static enum hoop_status
scheduler_run(struct scheduler *scheduler)
{
    enum hoop_status status = HOOP_OK;

    for (uint32_t vrank = 0;
         status == HOOP_OK && vrank < scheduler->graph.setup.mapping->n_vranks;
         vrank++)
        status = vrank_open_rounds(scheduler, vrank);
    while (status == HOOP_OK && scheduler->heap.n_entries > 0)
        status = scheduler_run_step(scheduler,
                                    simulation_heap_pop(&scheduler->heap));
    if (status == HOOP_OK && scheduler->n_open > 0 &&
        simulates_all_rounds(scheduler))
        return scheduler_raise_deadlock(scheduler);
    scheduler->result.n_unpaired_messages = scheduler->match_queue.n_entries;
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
simulation_scheduler_run(const struct simulation_setup *setup,
                         struct simulation_scheduler_result *out_result)
{
    struct scheduler scheduler = {0};
    enum hoop_status status = scheduler_init(&scheduler, setup);

    if (status == HOOP_OK)
        status = scheduler_run(&scheduler);
    if (status == HOOP_OK)
        *out_result = scheduler.result;
    simulation_scheduler_deinit(&scheduler);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
