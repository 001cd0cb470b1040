/* plan/rehearsal.c - all ranks of a collective in one process, out of step */

#include "plan/rehearsal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/actor.h"
#include "plan/expectation.h"

/* How a schedule treats the steps of the rank that moves. */
enum turn_style {
    TURN_SOME, /* by chance, and not all are tried */
    TURN_ALL,
};

/* In a turn of some: so many steps are tried in vain, and no more. What can
 * move stands mostly among the oldest. */
enum {
    TURN_PATIENCE = 3
};

/* Large cases move by more than single bytes, to end within about so many. */
enum {
    REHEARSAL_MOVES = 4000
};

struct rehearsal {
    const struct checker_case *proof;
    struct ledger *ledger;
    struct actor *actors;
    uint64_t *bytes; /* of all messages */
    uint64_t n_bytes;
    /* The schedule. */
    uint64_t random;
    uint64_t socket_buffer_bytes;
    uint64_t move_bytes_max;
    uint32_t victim; /* moves only when nobody else can; size: nobody */
};

static uint64_t
random_below(struct rehearsal *rehearsal, uint64_t bound)
{
    uint64_t x = rehearsal->random;

    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    rehearsal->random = x;
    return (x >> 16) % bound;
}

/* One step in eight turns is sought from the newest on. */
static struct track *
turn_first(struct actor *actor, uint64_t draw)
{
    struct track_list *active = &actor->tracker.active;

    return draw % 8 == 0 ? TAILQ_LAST(active, track_list) : TAILQ_FIRST(active);
}

static struct track *
turn_next(struct track *track, uint64_t draw)
{
    return draw % 8 == 0 ? TAILQ_PREV(track, track_list, link)
                         : TAILQ_NEXT(track, link);
}

static enum hoop_status
actor_turn(struct rehearsal *rehearsal,
           struct actor *actor,
           enum turn_style style,
           uint64_t *out_moved)
{
    const uint64_t draw = random_below(rehearsal, UINT64_C(1) << 40);
    const struct actor_pace pace = {
        .move_bytes_max =
            1 + random_below(rehearsal, rehearsal->move_bytes_max),
        .socket_buffer_bytes = rehearsal->socket_buffer_bytes,
    };
    uint64_t skips = style == TURN_SOME ? draw >> 3 : 0;
    uint32_t n_in_vain = 0;
    uint64_t moved = 0;
    const enum hoop_status status = actor_refill(actor);
    struct track *track = turn_first(actor, draw);

    if (status != HOOP_OK)
        return error_pass(status);
    while (track && (style == TURN_ALL || n_in_vain < TURN_PATIENCE)) {
        struct track *const next = turn_next(track, draw);
        const uint64_t n = skips & 1 ? 0 : actor_move(actor, track, &pace);

        n_in_vain += n > 0 ? 0 : 1;
        moved += n;
        skips >>= 1;
        track = next;
    }
    *out_moved = moved;
    return HOOP_OK;
}

/* Every rank but the victim; the victim only if that is in vain. */
static enum hoop_status
rehearsal_sweep(struct rehearsal *rehearsal, uint64_t *out_moved)
{
    const uint32_t size = rehearsal->proof->shape.size;
    uint64_t moved = 0;

    for (uint32_t i = 0; i <= size; i++) {
        const uint32_t rank = i < size ? i : rehearsal->victim;
        const bool is_victim = rank == rehearsal->victim;
        uint64_t n = 0;

        if (rank == size || (i < size ? is_victim : moved > 0))
            continue;
        const enum hoop_status status =
            actor_turn(rehearsal, &rehearsal->actors[rank], TURN_ALL, &n);
        if (status != HOOP_OK)
            return error_pass(status);
        moved += n;
    }
    *out_moved = moved;
    return HOOP_OK;
}

static bool
rehearsal_is_over(const struct rehearsal *rehearsal)
{
    for (uint32_t rank = 0; rank < rehearsal->proof->shape.size; rank++) {
        if (!tracker_is_done(&rehearsal->actors[rank].tracker))
            return false;
    }
    return true;
}

static enum hoop_status
rehearsal_stuck(const struct rehearsal *rehearsal)
{
    uint32_t rank = 0;

    while (tracker_is_done(&rehearsal->actors[rank].tracker))
        rank++;

    const struct tracker *tracker = &rehearsal->actors[rank].tracker;
    const struct track *track = TAILQ_FIRST(&tracker->active);

    return error_raise(HOOP_E_INTERNAL,
                       "deadlock with socket buffers of %llu bytes: rank %u "
                       "waits in round %u",
                       (unsigned long long)rehearsal->socket_buffer_bytes, rank,
                       track ? track->round : tracker->round_next);
}

static enum hoop_status
rehearsal_play(struct rehearsal *rehearsal)
{
    const uint32_t size = rehearsal->proof->shape.size;
    uint32_t n_in_vain = 0;

    for (;;) {
        const uint32_t rank = (uint32_t)random_below(rehearsal, size);
        uint64_t moved = 0;
        enum hoop_status status = HOOP_OK;

        if (n_in_vain <= size && rank != rehearsal->victim) {
            status = actor_turn(rehearsal, &rehearsal->actors[rank], TURN_SOME,
                                &moved);
        } else if (n_in_vain > size) {
            status = rehearsal_sweep(rehearsal, &moved);
            if (status == HOOP_OK && moved == 0)
                return rehearsal_is_over(rehearsal)
                           ? HOOP_OK
                           : rehearsal_stuck(rehearsal);
        }
        if (status != HOOP_OK)
            return error_pass(status);
        n_in_vain = moved > 0 ? 0 : n_in_vain + 1;
    }
}

static void
rehearsal_set(struct rehearsal *rehearsal)
{
    struct ledger_list *sends = &rehearsal->ledger->sends;
    uint64_t *bytes = rehearsal->bytes;

    for (size_t i = 0; i < sends->n_messages; i++) {
        struct ledger_message *message = &sends->messages[i];

        message->n_sent = 0;
        message->n_taken = 0;
        message->sender = NULL;
        message->receiver = NULL;
        message->bytes = bytes;
        bytes += message->n_bytes;
    }
    for (uint32_t rank = 0; rank < rehearsal->proof->shape.size; rank++)
        actor_reset(&rehearsal->actors[rank]);
}

/* Do all outputs hold the same? */
static enum hoop_status
rehearsal_agree(const struct rehearsal *rehearsal)
{
    const struct checker_case *proof = rehearsal->proof;
    const size_t n_bytes = expectation_size(proof, 0, PLAN_OUTPUT);
    const uint64_t *first = rehearsal->actors[0].memory[PLAN_OUTPUT];

    for (uint32_t rank = 1; rank < proof->shape.size; rank++) {
        const uint64_t *other = rehearsal->actors[rank].memory[PLAN_OUTPUT];

        assert(expectation_size(proof, rank, PLAN_OUTPUT) == n_bytes);
        if (n_bytes > 0 && memcmp(first, other, n_bytes * sizeof(*first)) != 0)
            return error_raise(HOOP_E_INTERNAL,
                               "rank %u has combined otherwise than rank 0; "
                               "look at sides and brackets",
                               rank);
    }
    return HOOP_OK;
}

static enum hoop_status
rehearsal_check(const struct rehearsal *rehearsal)
{
    if (rehearsal->proof->arithmetic == ARITHMETIC_TANGLE)
        return rehearsal_agree(rehearsal);
    for (uint32_t rank = 0; rank < rehearsal->proof->shape.size; rank++) {
        const enum hoop_status status = actor_check(&rehearsal->actors[rank]);

        if (status != HOOP_OK)
            return error_pass(status);
    }
    return HOOP_OK;
}

enum hoop_status
rehearsal_run(struct rehearsal *rehearsal,
              uint64_t socket_buffer_bytes,
              uint64_t seed)
{
    static const uint64_t moves[] = {1, 3, 16, UINT32_MAX};
    enum hoop_status status;

    rehearsal->random = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15);
    rehearsal->socket_buffer_bytes = socket_buffer_bytes;
    rehearsal->move_bytes_max =
        moves[random_below(rehearsal, COUNT_OF(moves))] +
        2 * rehearsal->n_bytes / REHEARSAL_MOVES;
    rehearsal->victim =
        (uint32_t)random_below(rehearsal, rehearsal->proof->shape.size + 1);
    rehearsal_set(rehearsal);

    status = rehearsal_play(rehearsal);
    if (status == HOOP_OK)
        status = rehearsal_check(rehearsal);
    return status == HOOP_OK ? HOOP_OK : error_pass(status);
}

enum hoop_status
rehearsal_create(const struct checker_case *proof,
                 struct ledger *ledger,
                 struct rehearsal **out_rehearsal)
{
    CLEANUP(rehearsal_destroy)
    struct rehearsal *rehearsal = calloc(1, sizeof(*rehearsal));
    uint64_t n_bytes = 1;

    for (size_t i = 0; i < ledger->sends.n_messages; i++)
        n_bytes += ledger->sends.messages[i].n_bytes;
    if (rehearsal) {
        rehearsal->proof = proof;
        rehearsal->ledger = ledger;
        rehearsal->actors = calloc(proof->shape.size, sizeof(struct actor));
        rehearsal->bytes = calloc(n_bytes, sizeof(uint64_t));
        rehearsal->n_bytes = n_bytes;
    }
    if (!rehearsal || !rehearsal->actors || !rehearsal->bytes)
        return error_raise(HOOP_E_EXHAUSTED,
                           "no memory to rehearse %u ranks; check a smaller "
                           "case",
                           proof->shape.size);

    for (uint32_t rank = 0; rank < proof->shape.size; rank++) {
        struct actor *actor = &rehearsal->actors[rank];

        actor->proof = proof;
        actor->ledger = ledger;
        actor->cast = rehearsal->actors;
        actor->rank = rank;
        const enum hoop_status status = actor_init(actor);
        if (status != HOOP_OK)
            return error_pass(status);
    }
    *out_rehearsal = STEAL(rehearsal);
    return HOOP_OK;
}

void
rehearsal_destroy(struct rehearsal *rehearsal)
{
    if (!rehearsal)
        return;
    for (uint32_t rank = 0;
         rehearsal->actors && rank < rehearsal->proof->shape.size; rank++)
        actor_deinit(&rehearsal->actors[rank]);
    free(rehearsal->actors);
    free(rehearsal->bytes);
    free(rehearsal);
}
