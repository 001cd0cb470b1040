/* tests/checker/checker_shm_run.c - runs all ranks of a shared-memory plan randomly */

#include "checker/checker_shm_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "checker/expectation.h"
#include "checker/shm_vrank.h"

struct checker_shm_run {
    const struct checker_case *scenario;
    struct shm_vrank *vranks;
    uint64_t random;
    uint64_t move_bytes_max;
    /* Moves only when no other rank can; equal to size if there is none. */
    uint32_t victim;
};

static uint64_t
random_below(struct checker_shm_run *checker_run, uint64_t bound)
{
    uint64_t x = checker_run->random;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    checker_run->random = x;
    return (x >> 16) % bound;
}

/* Let one rank make some moves, until it must wait. */
static enum hoop_status
checker_shm_run_take_turn(struct checker_shm_run *checker_run,
                          uint32_t rank,
                          bool *out_has_moved)
{
    uint64_t n_moves = 1 + random_below(checker_run, 8);
    bool has_moved = true;

    *out_has_moved = false;
    for (; n_moves > 0 && has_moved; n_moves--) {
        const uint64_t n_bytes =
            1 + random_below(checker_run, checker_run->move_bytes_max);
        const enum hoop_status status =
            shm_vrank_advance(&checker_run->vranks[rank], n_bytes, &has_moved);

        if (status != HOOP_OK)
            return error_pass(status);
        *out_has_moved |= has_moved;
    }
    return HOOP_OK;
}

/* Let every rank but the victim take a turn, and the victim only if none of
 * them could move. */
static enum hoop_status
checker_shm_run_sweep_ranks(struct checker_shm_run *checker_run,
                            bool *out_has_moved)
{
    const uint32_t size = checker_run->scenario->shape.size;
    enum hoop_status status = HOOP_OK;
    bool has_any = false;

    for (uint32_t i = 0; status == HOOP_OK && i <= size; i++) {
        const uint32_t rank = i < size ? i : checker_run->victim;
        bool has_moved = false;

        if (rank == size || (i < size ? rank == checker_run->victim : has_any))
            continue;
        status = checker_shm_run_take_turn(checker_run, rank, &has_moved);
        has_any |= has_moved;
    }
    *out_has_moved = has_any;
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
checker_shm_run_check_done(const struct checker_shm_run *checker_run)
{
    for (uint32_t rank = 0; rank < checker_run->scenario->shape.size; rank++) {
        const struct shm_vrank *vrank = &checker_run->vranks[rank];

        if (!shm_vrank_is_done(vrank))
            return error_raise(HOOP_E_INTERNAL,
                               "deadlock: rank %u waits in round %u", rank,
                               vrank->round);
    }
    return HOOP_OK;
}

static enum hoop_status
checker_shm_run_random_turns(struct checker_shm_run *checker_run)
{
    const uint32_t size = checker_run->scenario->shape.size;
    uint32_t n_in_vain = 0;

    for (;;) {
        const uint32_t rank = (uint32_t)random_below(checker_run, size);
        const bool is_sweep = n_in_vain > size;
        bool has_moved = false;
        enum hoop_status status = HOOP_OK;

        if (is_sweep)
            status = checker_shm_run_sweep_ranks(checker_run, &has_moved);
        else if (rank != checker_run->victim)
            status = checker_shm_run_take_turn(checker_run, rank, &has_moved);
        if (status != HOOP_OK)
            return error_pass(status);
        if (is_sweep && !has_moved)
            return checker_shm_run_check_done(checker_run);
        n_in_vain = has_moved ? 0 : n_in_vain + 1;
    }
}

/* Are the outputs of all ranks equal? */
static enum hoop_status
checker_shm_run_compare_outputs(const struct checker_shm_run *checker_run)
{
    const size_t n_bytes =
        expectation_buffer_bytes(checker_run->scenario, 0, PLAN_OUTPUT) *
        sizeof(uint64_t);
    const uint64_t *first = checker_run->vranks[0].memory[PLAN_OUTPUT];

    for (uint32_t rank = 1; rank < checker_run->scenario->shape.size; rank++)
        if (memcmp(first, checker_run->vranks[rank].memory[PLAN_OUTPUT],
                   n_bytes) != 0)
            return error_raise(HOOP_E_INTERNAL,
                               "rank %u has combined otherwise than rank 0; "
                               "look at sides and brackets",
                               rank);
    return HOOP_OK;
}

static enum hoop_status
checker_shm_run_check_results(const struct checker_shm_run *checker_run)
{
    enum hoop_status status = HOOP_OK;

    if (checker_run->scenario->arithmetic == ARITHMETIC_HASH)
        return error_pass(checker_shm_run_compare_outputs(checker_run));
    for (uint32_t rank = 0;
         status == HOOP_OK && rank < checker_run->scenario->shape.size; rank++)
        status = shm_vrank_check_result(&checker_run->vranks[rank]);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
checker_shm_run_one_schedule(struct checker_shm_run *checker_run, uint64_t seed)
{
    static const uint64_t moves[] = {1, 3, 16, UINT32_MAX};
    const uint32_t size = checker_run->scenario->shape.size;

    checker_run->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    checker_run->move_bytes_max =
        moves[random_below(checker_run, COUNT_OF(moves))];
    checker_run->victim = (uint32_t)random_below(checker_run, size + 1);
    for (uint32_t rank = 0; rank < size; rank++)
        shm_vrank_reset(&checker_run->vranks[rank]);

    enum hoop_status status = checker_shm_run_random_turns(checker_run);
    if (status == HOOP_OK)
        status = checker_shm_run_check_results(checker_run);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* All ranks must have the same number of rounds. */
static enum hoop_status
checker_shm_run_init(struct checker_shm_run *checker_run)
{
    const uint32_t size = checker_run->scenario->shape.size;

    checker_run->vranks = calloc(size, sizeof(*checker_run->vranks));
    if (!checker_run->vranks)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to rehearse %u ranks",
                           size);
    for (uint32_t rank = 0; rank < size; rank++) {
        struct shm_vrank *vrank = &checker_run->vranks[rank];

        vrank->scenario = checker_run->scenario;
        vrank->vranks = checker_run->vranks;
        const enum hoop_status status = shm_vrank_init(vrank, rank);
        if (status != HOOP_OK)
            return error_pass(status);
        if (vrank->n_rounds != checker_run->vranks[0].n_rounds)
            return error_raise(
                HOOP_E_INTERNAL, "rank %u has %u rounds, rank 0 has %u", rank,
                vrank->n_rounds, checker_run->vranks[0].n_rounds);
    }
    return HOOP_OK;
}

static void
checker_shm_run_deinit(struct checker_shm_run *checker_run)
{
    const uint32_t size = checker_run->scenario->shape.size;

    for (uint32_t rank = 0; checker_run->vranks && rank < size; rank++)
        shm_vrank_deinit(&checker_run->vranks[rank]);
    free(checker_run->vranks);
}

enum hoop_status
checker_shm_run_verify_algorithm(const struct checker_case *scenario)
{
    struct checker_shm_run checker_run = {.scenario = scenario};
    enum hoop_status status = checker_shm_run_init(&checker_run);

    for (uint32_t i = 0; status == HOOP_OK && i < scenario->n_schedules; i++)
        status = checker_shm_run_one_schedule(&checker_run, scenario->seed + i);
    checker_shm_run_deinit(&checker_run);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
