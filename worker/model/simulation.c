/*
 * model/simulation.c - estimates what a collective costs on a machine
 *
 * All ranks are followed through all rounds if these have few enough steps.
 * Otherwise one node is followed if the nodes are alike. If they are not, or if
 * one node still has too many steps, several short stretches of the rounds are
 * simulated, each from a clean start. The first and the last round_stretch count as
 * they are. For each stretch of rounds between them, the time per round in its second
 * half is used for all rounds up to the next round_stretch:
 *
 *     rounds   |====|===>- - - - -|===>- - - - -|===>- - - - -|====|
 */

#include "model/simulation.h"

#include <assert.h>

#include "algorithms/registry.h"
#include "base/error.h"
#include "base/limits.h"
#include "model/simulation_scheduler.h"
#include "model/simulation_shm.h"
#include "plan/nodes.h"

enum {
    N_MIDDLE_ROUND_STRETCHES =
        3, /* in addition to the first and the last one */
    ROUND_STRETCH_ROUNDS_MIN = 16,
    /* With no more rounds than this, each may differ, and none is left out. */
    FULL_SIMULATION_ROUNDS_MAX = 256,
    /* Simulating these costs less than testing whether nodes are alike. */
    ESTIMATE_STEPS_FULL = 512,
};

/* All ranks have as many rounds, including those that have nothing to do in
 * them. */
static uint32_t
simulated_round_count(const struct simulation_setup *setup)
{
    struct plan_shape shape = *setup->mapping->shape;

    shape.rank = 0;
    return algorithm_n_rounds(setup->algorithm, &shape);
}

/* The steps of one rank in all rounds. */
static enum hoop_status
rank_step_count(const struct algorithm *algorithm,
                const struct plan_shape *shape,
                uint64_t *out_n_steps)
{
    const uint32_t n_rounds = algorithm_n_rounds(algorithm, shape);
    struct plan plan = {0};
    uint64_t n_steps = n_rounds; /* even an empty round takes time */

    for (uint32_t round = 0; round < n_rounds; round++) {
        plan_clear(&plan);
        algorithm_plan_round(algorithm, &plan, shape, round);
        n_steps += plan.n_steps;
    }

    const enum hoop_status status = plan_status(&plan);
    plan_deinit(&plan);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_n_steps = n_steps;
    return HOOP_OK;
}

/* At least about half of all ranks' steps: the root may have most of them, and
 * the rank in the middle is like the others. */
static enum hoop_status
total_steps_estimate(const struct simulation_setup *setup,
                     uint64_t *out_n_steps)
{
    struct plan_shape shape = *setup->mapping->shape;
    uint64_t n_root = 0;
    uint64_t n_other = 0;

    shape.rank = shape.root;
    enum hoop_status status =
        rank_step_count(setup->algorithm, &shape, &n_root);
    if (status != HOOP_OK)
        return error_pass(status);
    shape.rank = simulation_mapping_rank_of(setup->mapping,
                                            setup->mapping->n_vranks / 2);
    status = rank_step_count(setup->algorithm, &shape, &n_other);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_n_steps = n_root + n_other * setup->mapping->n_vranks;
    return HOOP_OK;
}

static struct simulation_result
simulation_result_of_run(const struct simulation_setup *setup,
                         const struct simulation_scheduler_result *run)
{
    const double n = setup->mapping->is_reduced
                         ? (double)setup->mapping->shape->size /
                               (double)setup->mapping->n_vranks
                         : 1;

    return (struct simulation_result){
        .time_ns = run->end_ns,
        .bytes = (uint64_t)(run->bytes * n),
        .messages = (uint64_t)(run->messages * n),
        .is_extrapolated = setup->mapping->is_reduced,
    };
}

/* n_rounds beginning with first, of which the first n_simulated_rounds are
 * simulated. */
struct round_stretch {
    uint32_t first;
    uint32_t n_simulated_rounds;
    uint32_t n_rounds;
};

static enum hoop_status
round_stretch_run(const struct simulation_setup *setup,
                  const struct round_stretch *round_stretch,
                  struct simulation_scheduler_result *sum)
{
    struct simulation_setup part = *setup;
    struct simulation_scheduler_result run;

    part.rounds = (struct simulation_round_range){
        round_stretch->first,
        round_stretch->first + round_stretch->n_simulated_rounds};

    const enum hoop_status status = simulation_scheduler_run(&part, &run);
    if (status != HOOP_OK)
        return error_pass(status);

    const double times = (double)round_stretch->n_rounds /
                         (double)round_stretch->n_simulated_rounds;
    const uint32_t n_second = round_stretch->n_simulated_rounds -
                              round_stretch->n_simulated_rounds / 2;

    sum->end_ns += round_stretch->n_rounds == round_stretch->n_simulated_rounds
                       ? run.end_ns
                       : (run.end_ns - run.half_ns) / (double)n_second *
                             round_stretch->n_rounds;
    sum->bytes += run.bytes * times;
    sum->messages += run.messages * times;
    return HOOP_OK;
}

static enum hoop_status
round_stretches_run(const struct simulation_setup *setup,
                    uint32_t n_each,
                    struct simulation_result *out_result)
{
    const uint32_t n_rounds = simulated_round_count(setup);
    const uint32_t n_between = n_rounds - 2 * n_each;
    struct simulation_scheduler_result sum = {0};
    enum hoop_status status = round_stretch_run(
        setup, &(struct round_stretch){0, n_each, n_each}, &sum);

    for (uint64_t i = 0; status == HOOP_OK && i < N_MIDDLE_ROUND_STRETCHES;
         i++) {
        const uint32_t begin =
            (uint32_t)(n_between * i / N_MIDDLE_ROUND_STRETCHES);
        const uint32_t end =
            (uint32_t)(n_between * (i + 1) / N_MIDDLE_ROUND_STRETCHES);

        status = round_stretch_run(
            setup, &(struct round_stretch){n_each + begin, n_each, end - begin},
            &sum);
    }
    if (status == HOOP_OK)
        status = round_stretch_run(
            setup, &(struct round_stretch){n_rounds - n_each, n_each, n_each},
            &sum);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_result = simulation_result_of_run(setup, &sum);
    out_result->is_extrapolated = true;
    return HOOP_OK;
}

/* The rounds per round_stretch that keep the total within the limit. */
static uint32_t
rounds_per_stretch(const struct simulation_setup *setup, uint64_t n_steps)
{
    const uint32_t n_rounds = simulated_round_count(setup);
    const double part = (double)LIMIT_SIMULATION_STEPS / (double)n_steps;
    const uint32_t n_each =
        (uint32_t)(part * n_rounds / (N_MIDDLE_ROUND_STRETCHES + 2));

    return n_each > ROUND_STRETCH_ROUNDS_MIN ? n_each
                                             : ROUND_STRETCH_ROUNDS_MIN;
}

static enum hoop_status
simulate_all_rounds(const struct simulation_setup *setup,
                    struct simulation_result *out_result)
{
    struct simulation_scheduler_result run;

    const enum hoop_status status = simulation_scheduler_run(setup, &run);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_result = simulation_result_of_run(setup, &run);
    return HOOP_OK;
}

/* For too many steps and nodes that differ: simulates only a part of the
 * rounds. */
static enum hoop_status
simulate_some_rounds(const struct simulation_setup *setup,
                     uint64_t n_steps,
                     struct simulation_result *out_result)
{
    const uint32_t n_each = rounds_per_stretch(setup, n_steps);

    if (simulated_round_count(setup) <= FULL_SIMULATION_ROUNDS_MAX)
        return simulate_all_rounds(setup, out_result);
    return round_stretches_run(setup, n_each, out_result);
}

/* Where the library cuts the buffer into blocks, the largest blocks determine
 * the time, and a single virtual rank would see all sizes: make all blocks as
 * large. */
static struct plan_shape
shape_with_even_blocks(const struct simulation_setup *setup)
{
    const struct registry_algorithm *entry =
        registry_entry_of_algorithm(setup->algorithm);
    struct plan_shape shape = *setup->mapping->shape;
    const size_t row = shape.granule * shape.size;

    if (entry && entry->collective != COLLECTIVE_BARRIER &&
        !registry_is_blockwise(entry->collective) && shape.count > row)
        shape.count = (shape.count + row - 1) / row * row;
    return shape;
}

/* The samples that led to the mapping may have missed a node that differs. Then
 * a message has no receiver, or a receiver has no message. */
static enum hoop_status
simulate_if_matched(const struct simulation_setup *setup,
                    struct simulation_result *out_result,
                    bool *out_is_done)
{
    struct simulation_scheduler_result run;
    const enum hoop_status status = simulation_scheduler_run(setup, &run);

    *out_is_done = status == HOOP_OK && run.n_unpaired_messages == 0;
    if (*out_is_done)
        *out_result = simulation_result_of_run(setup, &run);
    return status == HOOP_E_INTERNAL ? HOOP_OK : error_pass(status);
}

/* Simulates one node for all, if that is valid. */
static enum hoop_status
simulate_one_node(const struct simulation_setup *full,
                  struct simulation_result *out_result,
                  bool *out_is_done)
{
    const struct plan_shape shape = shape_with_even_blocks(full);
    struct simulation_setup setup = *full;
    struct simulation_mapping mapping;
    uint64_t n_steps = 0;

    enum hoop_status status = simulation_mapping_make_reduced(
        &shape, full->algorithm, &mapping, out_is_done);
    if (status != HOOP_OK || !*out_is_done)
        return error_pass(status);
    setup.mapping = &mapping;
    status = total_steps_estimate(&setup, &n_steps);
    if (status != HOOP_OK)
        return error_pass(status);
    status = n_steps > LIMIT_SIMULATION_STEPS
                 ? simulate_some_rounds(&setup, n_steps, out_result)
                 : simulate_if_matched(&setup, out_result, out_is_done);
    if (status != HOOP_OK)
        return error_pass(status);
    if (*out_is_done && shape.count > full->mapping->shape->count)
        out_result->bytes =
            (uint64_t)((double)out_result->bytes / (double)shape.count *
                       (double)full->mapping->shape->count);
    return HOOP_OK;
}

/* Beyond n_steps_full steps, simulates one node for all if that is valid. */
static enum hoop_status
simulate_within_limit(const struct simulation_setup *setup,
                      uint64_t n_steps_full,
                      struct simulation_result *out_result)
{
    uint64_t n_steps = 0;
    bool is_done = false;

    enum hoop_status status = total_steps_estimate(setup, &n_steps);
    if (status != HOOP_OK)
        return error_pass(status);
    if (n_steps <= n_steps_full)
        return simulate_all_rounds(setup, out_result);
    status = simulate_one_node(setup, out_result, &is_done);
    if (status != HOOP_OK || is_done)
        return error_pass(status);
    if (n_steps <= LIMIT_SIMULATION_STEPS)
        return simulate_all_rounds(setup, out_result);
    return simulate_some_rounds(setup, n_steps, out_result);
}

static struct simulation_setup
simulation_setup_make(const struct simulation_mapping *mapping,
                      const struct algorithm *algorithm,
                      size_t element_size,
                      const struct simulation_machine *machine)
{
    const struct plan_nodes *nodes = mapping->shape->nodes;

    assert(mapping->shape->size > 0);
    assert(element_size > 0);
    assert(!nodes || nodes->n_ranks == mapping->shape->size);

    return (struct simulation_setup){
        .mapping = mapping,
        .algorithm = algorithm,
        .machine = machine,
        .element_size = element_size,
        .rounds = {.end = UINT32_MAX},
    };
}

enum hoop_status
simulation_run(const struct algorithm *algorithm,
               const struct plan_shape *shape,
               size_t element_size,
               const struct simulation_machine *machine,
               struct simulation_result *out_result)
{
    if (algorithm->is_shm)
        return error_pass(simulation_shm_run(algorithm, shape, element_size,
                                             machine, out_result));

    const struct simulation_mapping mapping =
        simulation_mapping_make_full(shape);
    const struct simulation_setup setup =
        simulation_setup_make(&mapping, algorithm, element_size, machine);

    return simulate_within_limit(&setup, LIMIT_SIMULATION_STEPS, out_result);
}

enum hoop_status
simulation_run_fast(const struct algorithm *algorithm,
                    const struct plan_shape *shape,
                    size_t element_size,
                    const struct simulation_machine *machine,
                    struct simulation_result *out_result)
{
    if (algorithm->is_shm)
        return error_pass(simulation_shm_run(algorithm, shape, element_size,
                                             machine, out_result));

    const struct simulation_mapping mapping =
        simulation_mapping_make_full(shape);
    const struct simulation_setup setup =
        simulation_setup_make(&mapping, algorithm, element_size, machine);

    return simulate_within_limit(&setup, ESTIMATE_STEPS_FULL, out_result);
}
