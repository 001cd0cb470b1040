/* tests/checker/checker_run.c - runs all ranks of a collective in random order */

#include "checker/checker_run.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "checker/expectation.h"
#include "checker/vrank.h"

/* Which steps of the chosen rank a turn tries to move. */
enum turn_step_selection {
    TURN_SOME, /* a random selection */
    TURN_ALL,
};

/* A turn of TURN_SOME ends after so many steps that could not move. Those that
 * can move are mostly among the oldest. */
enum {
    TURN_MISSES_MAX = 3
};

/* In large cases more than single bytes move at once, so that a schedule takes
 * about so many moves. */
enum {
    CHECKER_RUN_MOVES = 4000
};

struct checker_run {
    const struct checker_case *scenario;
    struct checker_messages *checker_messages;
    struct vrank *vranks;
    uint64_t *bytes; /* the contents of all messages */
    uint64_t n_bytes;
    /* The state of the schedule. */
    uint64_t random;
    uint64_t socket_buffer_bytes;
    uint64_t move_bytes_max;
    /* Moves only when no other rank can; equal to size if there is none. */
    uint32_t victim;
};

static uint64_t
random_below(struct checker_run *checker_run, uint64_t bound)
{
    uint64_t x = checker_run->random;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    checker_run->random = x;
    return (x >> 16) % bound;
}

/* One turn in eight tries the newest steps first. */
static struct tracked_step *
turn_first_step(struct vrank *vrank, uint64_t draw)
{
    struct tracked_step_list *active = &vrank->tracker.active;

    return draw % 8 == 0 ? TAILQ_LAST(active, tracked_step_list)
                         : TAILQ_FIRST(active);
}

static struct tracked_step *
turn_next_step(struct tracked_step *tracked_step, uint64_t draw)
{
    return draw % 8 == 0 ? TAILQ_PREV(tracked_step, tracked_step_list, link)
                         : TAILQ_NEXT(tracked_step, link);
}

static enum hoop_status
vrank_take_turn(struct checker_run *checker_run,
                struct vrank *vrank,
                enum turn_step_selection style,
                uint64_t *out_moved)
{
    const uint64_t draw = random_below(checker_run, UINT64_C(1) << 40);
    const struct vrank_move_limits limits = {
        .move_bytes_max =
            1 + random_below(checker_run, checker_run->move_bytes_max),
        .socket_buffer_bytes = checker_run->socket_buffer_bytes,
    };
    uint64_t skips = style == TURN_SOME ? draw >> 3 : 0;
    uint32_t n_in_vain = 0;
    uint64_t moved = 0;
    const enum hoop_status status = vrank_activate_steps(vrank);
    struct tracked_step *tracked_step = turn_first_step(vrank, draw);

    if (status != HOOP_OK)
        return error_pass(status);
    while (tracked_step && (style == TURN_ALL || n_in_vain < TURN_MISSES_MAX)) {
        struct tracked_step *const next = turn_next_step(tracked_step, draw);
        const uint64_t n =
            skips & 1 ? 0 : vrank_advance_step(vrank, tracked_step, &limits);

        n_in_vain += n > 0 ? 0 : 1;
        moved += n;
        skips >>= 1;
        tracked_step = next;
    }
    *out_moved = moved;
    return HOOP_OK;
}

/* Let every rank but the victim move, and the victim only if none of them
 * could. */
static enum hoop_status
checker_run_sweep_ranks(struct checker_run *checker_run, uint64_t *out_moved)
{
    const uint32_t size = checker_run->scenario->shape.size;
    uint64_t moved = 0;

    for (uint32_t i = 0; i <= size; i++) {
        const uint32_t rank = i < size ? i : checker_run->victim;
        const bool is_victim = rank == checker_run->victim;
        uint64_t n = 0;

        if (rank == size || (i < size ? is_victim : moved > 0))
            continue;
        const enum hoop_status status = vrank_take_turn(
            checker_run, &checker_run->vranks[rank], TURN_ALL, &n);
        if (status != HOOP_OK)
            return error_pass(status);
        moved += n;
    }
    *out_moved = moved;
    return HOOP_OK;
}

static bool
checker_run_is_done(const struct checker_run *checker_run)
{
    for (uint32_t rank = 0; rank < checker_run->scenario->shape.size; rank++) {
        if (!tracker_is_done(&checker_run->vranks[rank].tracker))
            return false;
    }
    return true;
}

static enum hoop_status
checker_run_raise_deadlock(const struct checker_run *checker_run)
{
    uint32_t rank = 0;

    while (tracker_is_done(&checker_run->vranks[rank].tracker))
        rank++;

    const struct tracker *tracker = &checker_run->vranks[rank].tracker;
    const struct tracked_step *tracked_step = TAILQ_FIRST(&tracker->active);

    return error_raise(
        HOOP_E_INTERNAL,
        "deadlock with socket buffers of %llu bytes: rank %u "
        "waits in round %u",
        (unsigned long long)checker_run->socket_buffer_bytes, rank,
        tracked_step ? tracked_step->round : tracker->round_next);
}

static enum hoop_status
checker_run_random_turns(struct checker_run *checker_run)
{
    const uint32_t size = checker_run->scenario->shape.size;
    uint32_t n_in_vain = 0;

    for (;;) {
        const uint32_t rank = (uint32_t)random_below(checker_run, size);
        uint64_t moved = 0;
        enum hoop_status status = HOOP_OK;

        if (n_in_vain <= size && rank != checker_run->victim) {
            status = vrank_take_turn(checker_run, &checker_run->vranks[rank],
                                     TURN_SOME, &moved);
        } else if (n_in_vain > size) {
            status = checker_run_sweep_ranks(checker_run, &moved);
            if (status == HOOP_OK && moved == 0)
                return checker_run_is_done(checker_run)
                           ? HOOP_OK
                           : checker_run_raise_deadlock(checker_run);
        }
        if (status != HOOP_OK)
            return error_pass(status);
        n_in_vain = moved > 0 ? 0 : n_in_vain + 1;
    }
}

static void
checker_run_reset(struct checker_run *checker_run)
{
    struct checker_message_list *sends = &checker_run->checker_messages->sends;
    uint64_t *bytes = checker_run->bytes;

    for (size_t i = 0; i < sends->n_messages; i++) {
        struct checker_message *message = &sends->messages[i];

        message->n_sent = 0;
        message->n_taken = 0;
        message->sender = NULL;
        message->receiver = NULL;
        message->bytes = bytes;
        bytes += message->n_bytes;
    }
    for (uint32_t rank = 0; rank < checker_run->scenario->shape.size; rank++)
        vrank_reset(&checker_run->vranks[rank]);
}

/* Are the outputs of all ranks equal? */
static enum hoop_status
checker_run_compare_outputs(const struct checker_run *checker_run)
{
    const struct checker_case *scenario = checker_run->scenario;
    const size_t n_bytes = expectation_buffer_bytes(scenario, 0, PLAN_OUTPUT);
    const uint64_t *first = checker_run->vranks[0].memory[PLAN_OUTPUT];

    for (uint32_t rank = 1; rank < scenario->shape.size; rank++) {
        const uint64_t *other = checker_run->vranks[rank].memory[PLAN_OUTPUT];

        assert(expectation_buffer_bytes(scenario, rank, PLAN_OUTPUT) ==
               n_bytes);
        if (n_bytes > 0 && memcmp(first, other, n_bytes * sizeof(*first)) != 0)
            return error_raise(HOOP_E_INTERNAL,
                               "rank %u has combined otherwise than rank 0; "
                               "look at sides and brackets",
                               rank);
    }
    return HOOP_OK;
}

static enum hoop_status
checker_run_check_results(const struct checker_run *checker_run)
{
    if (checker_run->scenario->arithmetic == ARITHMETIC_HASH)
        return checker_run_compare_outputs(checker_run);
    for (uint32_t rank = 0; rank < checker_run->scenario->shape.size; rank++) {
        const enum hoop_status status =
            vrank_check_result(&checker_run->vranks[rank]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
checker_run_one_schedule(struct checker_run *checker_run,
                         uint64_t socket_buffer_bytes,
                         uint64_t seed)
{
    static const uint64_t moves[] = {1, 3, 16, UINT32_MAX};
    enum hoop_status status;

    checker_run->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    checker_run->socket_buffer_bytes = socket_buffer_bytes;
    checker_run->move_bytes_max =
        moves[random_below(checker_run, COUNT_OF(moves))] +
        2 * checker_run->n_bytes / CHECKER_RUN_MOVES;
    checker_run->victim = (uint32_t)random_below(
        checker_run, checker_run->scenario->shape.size + 1);
    checker_run_reset(checker_run);

    status = checker_run_random_turns(checker_run);
    if (status == HOOP_OK)
        status = checker_run_check_results(checker_run);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
checker_run_create(const struct checker_case *scenario,
                   struct checker_messages *checker_messages,
                   struct checker_run **out_run)
{
    CLEANUP(checker_run_destroy)
    struct checker_run *checker_run = calloc(1, sizeof(*checker_run));
    uint64_t n_bytes = 1;

    for (size_t i = 0; i < checker_messages->sends.n_messages; i++)
        n_bytes += checker_messages->sends.messages[i].n_bytes;
    if (checker_run) {
        checker_run->scenario = scenario;
        checker_run->checker_messages = checker_messages;
        checker_run->vranks =
            calloc(scenario->shape.size, sizeof(struct vrank));
        checker_run->bytes = calloc(n_bytes, sizeof(uint64_t));
        checker_run->n_bytes = n_bytes;
    }
    if (!checker_run || !checker_run->vranks || !checker_run->bytes)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to rehearse %u ranks; check a smaller "
                           "case",
                           scenario->shape.size);

    for (uint32_t rank = 0; rank < scenario->shape.size; rank++) {
        struct vrank *vrank = &checker_run->vranks[rank];

        vrank->scenario = scenario;
        vrank->checker_messages = checker_messages;
        vrank->vranks = checker_run->vranks;
        vrank->rank = rank;
        const enum hoop_status status = vrank_init(vrank);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    *out_run = STEAL(checker_run);
    return HOOP_OK;
}

void
checker_run_destroy(struct checker_run *checker_run)
{
    if (!checker_run)
        return;
    for (uint32_t rank = 0;
         checker_run->vranks && rank < checker_run->scenario->shape.size;
         rank++)
        vrank_deinit(&checker_run->vranks[rank]);
    free(checker_run->vranks);
    free(checker_run->bytes);
    free(checker_run);
}
