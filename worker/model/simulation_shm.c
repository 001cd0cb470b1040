/* model/simulation_shm.c - estimates the cost of a shared-memory plan */

#include "model/simulation_shm.h"

#include <assert.h>

#include "base/error.h"

enum {
    SHM_SIMULATED_RANKS_MAX = 16, /* the most ranks that are simulated */
    /* Rounds that are simulated at the start, before the last ones. */
    SHM_ROUNDS_FIRST = 6,
    SHM_ROUNDS_LAST = 2,
};

/* Measured on two neighbouring processors: the time to begin and end a round,
 * to see what another processor has written, and to switch from one rank to the
 * next on a processor. */
static const double SHM_ROUND_OVERHEAD_NS = 100;
static const double PEER_POLL_NS = 50;
static const double OVERSUBSCRIBED_TURN_NS = 2400;
/* Posted data stays in a cache until it is combined: these are the fractions of
 * a byte's cost in a large buffer, and of its additional cost if the buffers do
 * not fit the cache. */
static const double POSTED_BYTE_COST_FRACTION = 0.67;
static const double CACHE_MISS_COST_FRACTION = 0.45;

struct shm_simulation_vrank {
    uint32_t rank;
    double now_ns;
    double published_ns; /* of the round that is being simulated */
    double finished_ns[2];
};

struct shm_simulation {
    const struct algorithm *algorithm;
    struct plan_shape shape; /* with the rank that is being planned */
    double element_size;
    const struct simulation_machine *machine;
    double oversubscription; /* ranks per processor; at least 1 */
    /* Additional time for a byte of the user's buffers. */
    double user_buffer_byte_ns;
    struct shm_simulation_vrank vranks[SHM_SIMULATED_RANKS_MAX];
    uint32_t n_vranks;
    struct plan plan;
    double bytes;   /* posted by the virtual ranks */
    double work_ns; /* of all virtual ranks */
};

/* The root, and other ranks evenly distributed. */
static void
shm_simulation_pick_ranks(struct shm_simulation *setup)
{
    const uint32_t size = setup->shape.size;
    const uint32_t n =
        size < SHM_SIMULATED_RANKS_MAX ? size : SHM_SIMULATED_RANKS_MAX;

    setup->n_vranks = n;
    for (uint32_t i = 0; i < n; i++)
        setup->vranks[i].rank =
            (uint32_t)((setup->shape.root + (uint64_t)size * i / n) % size);
}

/* A rank that is not simulated is taken to do what the last virtual rank
 * does. */
static const struct shm_simulation_vrank *
shm_simulation_vrank_of(const struct shm_simulation *setup, uint32_t rank)
{
    for (uint32_t i = 0; i < setup->n_vranks; i++)
        if (setup->vranks[i].rank == rank)
            return &setup->vranks[i];
    return &setup->vranks[setup->n_vranks - 1];
}

static double
later_time(double one, double other)
{
    return one > other ? one : other;
}

/* A copy is free because the same bytes are posted or combined at the same
 * time. Shared-memory plans have no messages. */
static double
step_byte_ns(const struct shm_simulation *setup, enum plan_step_type kind)
{
    if (kind == PLAN_COPY || kind == PLAN_EXPOSE)
        return 0;

    const bool combines = kind == PLAN_FETCH_REDUCE || kind == PLAN_COMBINE;

    return combines ? POSTED_BYTE_COST_FRACTION * setup->machine->reduce_byte_ns
                    : POSTED_BYTE_COST_FRACTION * setup->machine->copy_byte_ns +
                          setup->user_buffer_byte_ns;
}

static double
step_duration_ns(const struct shm_simulation *setup,
                 const struct plan_step *step)
{
    return (double)step->from.count * setup->element_size *
           step_byte_ns(setup, step->kind);
}

static enum hoop_status
vrank_plan_round(struct shm_simulation *setup,
                 const struct shm_simulation_vrank *vrank,
                 uint32_t round)
{
    plan_clear(&setup->plan);
    setup->shape.rank = vrank->rank;
    setup->algorithm->plan_round(&setup->plan, &setup->shape, round);
    return error_pass(plan_status(&setup->plan));
}

/* Simulates the round up to its publication. */
static void
vrank_simulate_post(struct shm_simulation *setup,
                    struct shm_simulation_vrank *vrank,
                    double free_ns)
{
    const double begin_ns = later_time(vrank->now_ns, free_ns);

    vrank->now_ns = begin_ns + SHM_ROUND_OVERHEAD_NS;
    for (size_t i = 0; i < setup->plan.n_steps; i++) {
        const struct plan_step *step = &setup->plan.steps[i];

        if (step->kind != PLAN_POST_TO_SLOT)
            break;
        vrank->now_ns += step_duration_ns(setup, step);
        setup->bytes += (double)step->from.count * setup->element_size;
    }
    vrank->published_ns = vrank->now_ns;
    setup->work_ns += vrank->now_ns - begin_ns;
}

/* Simulates the rest of the round. */
static void
vrank_simulate_fetch(struct shm_simulation *setup,
                     struct shm_simulation_vrank *vrank)
{
    bool has_waited = false;

    for (size_t i = 0; i < setup->plan.n_steps; i++) {
        const struct plan_step *step = &setup->plan.steps[i];

        if (step->kind == PLAN_FETCH || step->kind == PLAN_FETCH_REDUCE) {
            vrank->now_ns = later_time(
                vrank->now_ns,
                shm_simulation_vrank_of(setup, step->peer)->published_ns);
            vrank->now_ns += step->peer == vrank->rank ? 0 : PEER_POLL_NS;
            has_waited = true;
        }
        if (step->kind != PLAN_POST_TO_SLOT) {
            vrank->now_ns += step_duration_ns(setup, step);
            setup->work_ns += step_duration_ns(setup, step);
        }
    }
    if (has_waited && setup->oversubscription > 1)
        vrank->now_ns += OVERSUBSCRIBED_TURN_NS * setup->oversubscription;
}

/* A waiting rank leaves the processors to the others; all ranks together cannot
 * do more work than the processors have time for. */
static void
round_end_all_vranks(struct shm_simulation *setup, uint32_t round)
{
    const double all_ns =
        setup->work_ns / setup->n_vranks * setup->oversubscription;

    for (uint32_t i = 0; i < setup->n_vranks; i++) {
        struct shm_simulation_vrank *vrank = &setup->vranks[i];

        vrank->now_ns = later_time(vrank->now_ns, all_ns);
        vrank->finished_ns[round % 2] = vrank->now_ns;
    }
}

static enum hoop_status
round_simulate(struct shm_simulation *setup, uint32_t round)
{
    double free_ns = 0;

    for (uint32_t i = 0; round > 1 && i < setup->n_vranks; i++)
        free_ns = later_time(free_ns, setup->vranks[i].finished_ns[round % 2]);
    for (uint32_t i = 0; i < setup->n_vranks; i++) {
        const enum hoop_status status =
            vrank_plan_round(setup, &setup->vranks[i], round);

        if (status != HOOP_OK)
            return error_pass(status);
        vrank_simulate_post(setup, &setup->vranks[i], free_ns);
    }
    for (uint32_t i = 0; i < setup->n_vranks; i++) {
        const enum hoop_status status =
            vrank_plan_round(setup, &setup->vranks[i], round);

        if (status != HOOP_OK)
            return error_pass(status);
        vrank_simulate_fetch(setup, &setup->vranks[i]);
    }
    round_end_all_vranks(setup, round);
    return HOOP_OK;
}

static double
latest_vrank_end_ns(const struct shm_simulation *setup)
{
    double end_ns = 0;

    for (uint32_t i = 0; i < setup->n_vranks; i++)
        end_ns = later_time(end_ns, setup->vranks[i].now_ns);
    return end_ns;
}

/* Adds the time of the rounds that are skipped, given what the last round
 * took. */
static void
shm_simulation_skip_rounds(struct shm_simulation *setup,
                           double round_ns,
                           double round_bytes)
{
    setup->work_ns += round_ns / setup->oversubscription * setup->n_vranks;
    for (uint32_t i = 0; i < setup->n_vranks; i++) {
        setup->vranks[i].now_ns += round_ns;
        setup->vranks[i].finished_ns[0] += round_ns;
        setup->vranks[i].finished_ns[1] += round_ns;
    }
    setup->bytes += round_bytes;
}

static enum hoop_status
shm_simulation_run_rounds(struct shm_simulation *setup, uint32_t n_rounds)
{
    const uint32_t n_simulated_rounds = SHM_ROUNDS_FIRST + SHM_ROUNDS_LAST;
    double before_ns = 0;
    double before_bytes = 0;

    for (uint32_t round = 0; round < n_rounds; round++) {
        if (round == SHM_ROUNDS_FIRST && n_rounds > n_simulated_rounds) {
            const double n_skipped = n_rounds - n_simulated_rounds;

            shm_simulation_skip_rounds(
                setup, n_skipped * (latest_vrank_end_ns(setup) - before_ns),
                n_skipped * (setup->bytes - before_bytes));
            round = n_rounds - SHM_ROUNDS_LAST;
        }
        before_ns = latest_vrank_end_ns(setup);
        before_bytes = setup->bytes;

        const enum hoop_status status = round_simulate(setup, round);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

/* All inputs and outputs of the ranks, if they do not fit the cache. */
static double
user_buffer_byte_ns(const struct shm_simulation *setup)
{
    const double bytes = 2 * (double)setup->shape.count * setup->element_size *
                         setup->shape.size;

    return setup->machine->cache_bytes > 0 &&
                   bytes > (double)setup->machine->cache_bytes
               ? CACHE_MISS_COST_FRACTION * setup->machine->memory_byte_ns
               : 0;
}

enum hoop_status
simulation_shm_run(const struct algorithm *algorithm,
                   const struct plan_shape *shape,
                   size_t element_size,
                   const struct simulation_machine *machine,
                   struct simulation_result *out_result)
{
    const double per_processor = (double)shape->size / machine->n_processors;
    struct shm_simulation setup = {
        .algorithm = algorithm,
        .shape = *shape,
        .element_size = (double)element_size,
        .machine = machine,
        .oversubscription = per_processor > 1 ? per_processor : 1,
    };
    const uint32_t n_rounds = algorithm->n_rounds(shape);

    assert(algorithm->is_shm);
    assert(shape->slot_capacity >= shape->size);
    shm_simulation_pick_ranks(&setup);
    setup.user_buffer_byte_ns = user_buffer_byte_ns(&setup);
    const enum hoop_status status = shm_simulation_run_rounds(&setup, n_rounds);
    plan_deinit(&setup.plan);
    if (status != HOOP_OK)
        return error_pass(status);
    *out_result = (struct simulation_result){
        .time_ns = latest_vrank_end_ns(&setup),
        .bytes = (uint64_t)(setup.bytes / setup.n_vranks * (double)shape->size),
        .messages = (uint64_t)n_rounds * shape->size,
        .is_extrapolated = setup.n_vranks < shape->size,
    };
    return HOOP_OK;
}
