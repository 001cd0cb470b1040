/*
 * model/simulate.c - the public simulator: checks, converts, runs
 *
 * Users give rates in GB/s and buffer sizes; the model needs ns per byte,
 * and plans need blocks.
 */

#include "hoop/simulate.h"

#include <math.h>

#include "algorithms/registry.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/limits.h"
#include "model/simulation.h"
#include "plan/nodes.h"

DEFINE_CLEANUP(struct plan_nodes *, plan_nodes_destroy)

const char *
hoop_simulate_collective(size_t number)
{
    if (number >= COLLECTIVE_KINDS)
        return NULL;
    return registry_collective_name((enum collective_kind)number);
}

const char *
hoop_simulate_algorithm(const char *collective, size_t number)
{
    enum collective_kind found = COLLECTIVE_BARRIER;
    size_t n_entries = 0;

    if (!collective || !registry_parse_collective(collective, &found))
        return NULL;

    const struct registry_algorithm *entries =
        registry_collective_entries(found, &n_entries);

    return number < n_entries ? entries[number].algorithm->name : NULL;
}

static enum hoop_status
simulated_algorithm_find(const struct hoop_simulation *simulation,
                         const struct registry_algorithm **out_entry)
{
    enum collective_kind collective = COLLECTIVE_BARRIER;
    const char *name = simulation->collective;

    if (!name || !registry_parse_collective(name, &collective))
        return error_raise(HOOP_E_INVALID, "there is no collective %s",
                           name ? name : "without a name");
    if (simulation->algorithm)
        *out_entry = registry_find_algorithm(collective, simulation->algorithm);
    if (!simulation->algorithm || !*out_entry)
        return error_raise(HOOP_E_INVALID, "%s has no algorithm %s", name,
                           simulation->algorithm ? simulation->algorithm
                                                 : "without a name");
    return HOOP_OK;
}

static enum hoop_status
simulation_check(const struct hoop_simulation *simulation)
{
    if (simulation->n_ranks == 0 ||
        simulation->n_ranks > LIMIT_SIMULATION_RANKS)
        return error_raise(HOOP_E_INVALID,
                           "cannot simulate %u ranks; 1 to %d can be",
                           simulation->n_ranks, LIMIT_SIMULATION_RANKS);
    if (simulation->n_per_node == 0)
        return error_raise(HOOP_E_INVALID,
                           "a node with no ranks; give 1 at least");
    if (simulation->element_size == 0)
        return error_raise(HOOP_E_INVALID,
                           "elements of 0 bytes; give 1 at least");
    return HOOP_OK;
}

static bool
is_finite_nonnegative(double value)
{
    return isfinite(value) && value >= 0;
}

static enum hoop_status
simulated_machine_check(const struct hoop_machine *machine)
{
    const double amounts[] = {
        machine->send_us,    machine->receive_us,
        machine->latency_us, machine->latency_inside_us,
        machine->link_gbs,   machine->link_inside_gbs,
        machine->send_gbs,   machine->receive_gbs,
        machine->copy_gbs,   machine->reduce_gbs,
        machine->wait_us,
    };

    for (size_t i = 0; i < COUNT_OF(amounts); i++)
        if (!is_finite_nonnegative(amounts[i]))
            return error_raise(HOOP_E_INVALID,
                               "a machine's times and rates are numbers from "
                               "0 on; one of these is %f",
                               amounts[i]);
    if (machine->n_processors == 0)
        return error_raise(HOOP_E_INVALID,
                           "a node without a processor; give 1 at least");
    return HOOP_OK;
}

static double
gbs_to_ns_per_byte(double gbs)
{
    return gbs > 0 ? 1 / gbs : 0;
}

static struct simulation_machine
machine_to_simulation_machine(const struct hoop_machine *machine)
{
    return (struct simulation_machine){
        .send_ns = machine->send_us * 1e3,
        .receive_ns = machine->receive_us * 1e3,
        .latency_inside_ns = machine->latency_inside_us * 1e3,
        .latency_between_ns = machine->latency_us * 1e3,
        .link_inside_ns = gbs_to_ns_per_byte(machine->link_inside_gbs),
        .link_between_ns = gbs_to_ns_per_byte(machine->link_gbs),
        .send_byte_ns = gbs_to_ns_per_byte(machine->send_gbs),
        .receive_byte_ns = gbs_to_ns_per_byte(machine->receive_gbs),
        .copy_byte_ns = gbs_to_ns_per_byte(machine->copy_gbs),
        .reduce_byte_ns = gbs_to_ns_per_byte(machine->reduce_gbs),
        .wait_ns = machine->wait_us * 1e3,
        .n_processors = machine->n_processors,
    };
}

static enum hoop_status
simulated_nodes_create(const struct hoop_simulation *simulation,
                       struct plan_nodes **out_nodes)
{
    CLEANUP(free)
    uint32_t *names = calloc(simulation->n_ranks, sizeof(*names));

    if (!names)
        return error_raise(HOOP_E_EXHAUSTED, "no memory for %u ranks",
                           simulation->n_ranks);
    for (uint32_t rank = 0; rank < simulation->n_ranks; rank++)
        names[rank] = rank / simulation->n_per_node;
    return plan_nodes_create(names, simulation->n_ranks, out_nodes);
}

/* Blocks are cut at the padding of frames, as in a real call. */
static struct plan_shape
simulated_plan_shape(const struct hoop_simulation *simulation,
                     enum collective_kind collective)
{
    const size_t element_size = simulation->element_size;
    const size_t n_blocks =
        registry_is_blockwise(collective) ? simulation->n_ranks : 1;
    const size_t count = simulation->n_bytes / element_size / n_blocks;
    struct plan_shape shape = {
        .size = simulation->n_ranks,
        .count = count > 0 ? count : 1,
        .granule =
            element_size < LIMIT_FRAME_PAD ? LIMIT_FRAME_PAD / element_size : 1,
    };

    if (collective == COLLECTIVE_BARRIER)
        shape.count = 0;
    /* All ranks are on one host, and few enough for a shared region. */
    if (simulation->n_per_node >= simulation->n_ranks &&
        simulation->n_ranks > 1 &&
        simulation->n_ranks <= LIMIT_SHM_REGION_RANKS)
        shape.slot_capacity =
            plan_shm_region_slot_bytes(simulation->n_ranks) / element_size;
    shape.has_cma = shape.slot_capacity > 0;
    return shape;
}

enum hoop_status
hoop_simulate(const struct hoop_simulation *simulation,
              const struct hoop_machine *machine,
              struct hoop_simulated *out_simulated)
{
    CLEANUP(plan_nodes_destroy) struct plan_nodes *nodes = NULL;
    const struct registry_algorithm *entry = NULL;
    struct simulation_result result;

    if (!error_begin_call())
        return error_pass(HOOP_E_EXHAUSTED);
    if (!simulation || !machine || !out_simulated)
        return error_raise(HOOP_E_INVALID,
                           "simulation, machine or out_simulated is NULL");
    enum hoop_status status = simulated_algorithm_find(simulation, &entry);
    if (status == HOOP_OK)
        status = simulation_check(simulation);
    if (status == HOOP_OK)
        status = simulated_machine_check(machine);
    if (status == HOOP_OK)
        status = simulated_nodes_create(simulation, &nodes);
    if (status != HOOP_OK)
        return error_pass(status);

    struct plan_shape shape =
        simulated_plan_shape(simulation, entry->collective);
    const struct simulation_machine model =
        machine_to_simulation_machine(machine);

    shape.nodes = nodes;
    if (!registry_algorithm_suits_shape(entry, &shape))
        return error_raise(HOOP_E_PRECONDITION,
                           "%s %s has no point with %u ranks on %u nodes",
                           simulation->collective, simulation->algorithm,
                           nodes->n_ranks, nodes->n_nodes);
    status = simulation_run(entry->algorithm, &shape, simulation->element_size,
                            &model, &result);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_simulated = (struct hoop_simulated){
        .time_us = result.time_ns / 1e3,
        .n_bytes = shape.count * simulation->element_size *
                   (registry_is_blockwise(entry->collective) ? shape.size : 1),
        .n_sent = result.bytes,
        .n_messages = result.messages,
        .is_extrapolated = result.is_extrapolated,
    };
    return HOOP_OK;
}
