/* plan/flat_rehearsal.c - all ranks of a flat collective, out of step */

#include "plan/flat_rehearsal.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "plan/expectation.h"
#include "plan/flat_actor.h"

struct flat_rehearsal {
    const struct checker_case *proof;
    struct flat_actor *actors;
    uint64_t random;
    uint64_t move_bytes_max;
    uint32_t victim; /* moves only when nobody else can; size: nobody */
};

static uint64_t
random_below(struct flat_rehearsal *rehearsal, uint64_t bound)
{
    uint64_t x = rehearsal->random;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    rehearsal->random = x;
    return (x >> 16) % bound;
}

/* Some moves of one rank, until it must wait. */
static enum hoop_status
rehearsal_turn(struct flat_rehearsal *rehearsal,
               uint32_t rank,
               bool *out_has_moved)
{
    uint64_t n_moves = 1 + random_below(rehearsal, 8);
    bool has_moved = true;

    *out_has_moved = false;
    for (; n_moves > 0 && has_moved; n_moves--) {
        const uint64_t n_bytes =
            1 + random_below(rehearsal, rehearsal->move_bytes_max);
        const enum hoop_status status =
            flat_actor_move(&rehearsal->actors[rank], n_bytes, &has_moved);

        if (status != HOOP_OK)
            return error_pass(status);
        *out_has_moved |= has_moved;
    }
    return HOOP_OK;
}

/* Every rank once, the victim if nobody else could move. */
static enum hoop_status
rehearsal_sweep(struct flat_rehearsal *rehearsal, bool *out_has_moved)
{
    const uint32_t size = rehearsal->proof->shape.size;
    enum hoop_status status = HOOP_OK;
    bool has_any = false;

    for (uint32_t i = 0; status == HOOP_OK && i <= size; i++) {
        const uint32_t rank = i < size ? i : rehearsal->victim;
        bool has_moved = false;

        if (rank == size || (i < size ? rank == rehearsal->victim : has_any))
            continue;
        status = rehearsal_turn(rehearsal, rank, &has_moved);
        has_any |= has_moved;
    }
    *out_has_moved = has_any;
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
rehearsal_end(const struct flat_rehearsal *rehearsal)
{
    for (uint32_t rank = 0; rank < rehearsal->proof->shape.size; rank++) {
        const struct flat_actor *actor = &rehearsal->actors[rank];

        if (!flat_actor_is_done(actor))
            return error_raise(HOOP_E_INTERNAL,
                               "deadlock: rank %u waits in round %u", rank,
                               actor->round);
    }
    return HOOP_OK;
}

static enum hoop_status
rehearsal_play(struct flat_rehearsal *rehearsal)
{
    const uint32_t size = rehearsal->proof->shape.size;
    uint32_t n_in_vain = 0;

    for (;;) {
        const uint32_t rank = (uint32_t)random_below(rehearsal, size);
        const bool is_sweep = n_in_vain > size;
        bool has_moved = false;
        enum hoop_status status = HOOP_OK;

        if (is_sweep)
            status = rehearsal_sweep(rehearsal, &has_moved);
        else if (rank != rehearsal->victim)
            status = rehearsal_turn(rehearsal, rank, &has_moved);
        if (status != HOOP_OK)
            return error_pass(status);
        if (is_sweep && !has_moved)
            return rehearsal_end(rehearsal);
        n_in_vain = has_moved ? 0 : n_in_vain + 1;
    }
}

/* Do all outputs hold the same? */
static enum hoop_status
rehearsal_agree(const struct flat_rehearsal *rehearsal)
{
    const size_t n_bytes =
        expectation_size(rehearsal->proof, 0, PLAN_OUTPUT) * sizeof(uint64_t);
    const uint64_t *first = rehearsal->actors[0].memory[PLAN_OUTPUT];

    for (uint32_t rank = 1; rank < rehearsal->proof->shape.size; rank++)
        if (memcmp(first, rehearsal->actors[rank].memory[PLAN_OUTPUT],
                   n_bytes) != 0)
            return error_raise(HOOP_E_INTERNAL,
                               "rank %u has combined otherwise than rank 0; "
                               "look at sides and brackets",
                               rank);
    return HOOP_OK;
}

static enum hoop_status
rehearsal_check(const struct flat_rehearsal *rehearsal)
{
    enum hoop_status status = HOOP_OK;

    if (rehearsal->proof->arithmetic == ARITHMETIC_TANGLE)
        return error_pass(rehearsal_agree(rehearsal));
    for (uint32_t rank = 0;
         status == HOOP_OK && rank < rehearsal->proof->shape.size; rank++)
        status = flat_actor_check(&rehearsal->actors[rank]);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

static enum hoop_status
rehearsal_run(struct flat_rehearsal *rehearsal, uint64_t seed)
{
    static const uint64_t moves[] = {1, 3, 16, UINT32_MAX};
    const uint32_t size = rehearsal->proof->shape.size;

    rehearsal->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    rehearsal->move_bytes_max = moves[random_below(rehearsal, COUNT_OF(moves))];
    rehearsal->victim = (uint32_t)random_below(rehearsal, size + 1);
    for (uint32_t rank = 0; rank < size; rank++)
        flat_actor_reset(&rehearsal->actors[rank]);

    enum hoop_status status = rehearsal_play(rehearsal);
    if (status == HOOP_OK)
        status = rehearsal_check(rehearsal);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

/* All have as many rounds. */
static enum hoop_status
rehearsal_init(struct flat_rehearsal *rehearsal)
{
    const uint32_t size = rehearsal->proof->shape.size;

    rehearsal->actors = calloc(size, sizeof(*rehearsal->actors));
    if (!rehearsal->actors)
        return error_raise(HOOP_E_EXHAUSTED, "no memory to rehearse %u ranks",
                           size);
    for (uint32_t rank = 0; rank < size; rank++) {
        struct flat_actor *actor = &rehearsal->actors[rank];

        actor->proof = rehearsal->proof;
        actor->cast = rehearsal->actors;
        const enum hoop_status status = flat_actor_init(actor, rank);
        if (status != HOOP_OK)
            return error_pass(status);
        if (actor->n_rounds != rehearsal->actors[0].n_rounds)
            return error_raise(HOOP_E_INTERNAL,
                               "rank %u has %u rounds, rank 0 has %u", rank,
                               actor->n_rounds, rehearsal->actors[0].n_rounds);
    }
    return HOOP_OK;
}

static void
rehearsal_deinit(struct flat_rehearsal *rehearsal)
{
    const uint32_t size = rehearsal->proof->shape.size;

    for (uint32_t rank = 0; rehearsal->actors && rank < size; rank++)
        flat_actor_deinit(&rehearsal->actors[rank]);
    free(rehearsal->actors);
}

enum hoop_status
flat_rehearsal_prove(const struct checker_case *proof)
{
    struct flat_rehearsal rehearsal = {.proof = proof};
    enum hoop_status status = rehearsal_init(&rehearsal);

    for (uint32_t i = 0; status == HOOP_OK && i < proof->n_schedules; i++)
        status = rehearsal_run(&rehearsal, proof->seed + i);
    rehearsal_deinit(&rehearsal);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}
