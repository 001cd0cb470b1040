/*
 * transport/sequence.h - names and orders the rounds of a shared region
 *
 *   number << 16 | stage << 12 | round
 *
 * Rounds from 2^12 on count 1, 2 ... again. The number of an operation only
 * grows, and so do the stages within it.
 *
 * An operation may have more rounds than fit. Two ranks are only a few rounds
 * apart, since no rank posts before all have read what stood in the same line.
 * So within a stage, the shorter way round the counter gives the order. Round
 * 0 never recurs: a line that was not written since round 0 is not taken for a
 * later round. 0 is no sequence. Pure.
 */

#ifndef TRANSPORT_SEQUENCE_H
#define TRANSPORT_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SEQUENCE_N_ROUNDS = 1 << 12,
    /* The last stage is not used; it is behind all of an operation. */
    SEQUENCE_N_STAGES = 1 << 4,
    SEQUENCE_STAGE_SHIFT = 12,
    SEQUENCE_NUMBER_SHIFT = 16,
};

/* number must not be 0, and stage must be less than SEQUENCE_N_STAGES - 1. */
static inline uint64_t
sequence_make(uint64_t number, uint32_t stage, uint32_t round)
{
    const uint32_t later =
        round == 0 ? 0 : 1 + (round - 1) % (SEQUENCE_N_ROUNDS - 1);

    return number << SEQUENCE_NUMBER_SHIFT | stage << SEQUENCE_STAGE_SHIFT |
           later;
}

/* Returns a sequence behind every round of operation number and before the
 * rounds of the next operation. */
static inline uint64_t
sequence_end(uint64_t number)
{
    return sequence_make(number, SEQUENCE_N_STAGES - 1, 0);
}

static inline uint64_t
sequence_number(uint64_t sequence)
{
    return sequence >> SEQUENCE_NUMBER_SHIFT;
}

static inline uint32_t
sequence_stage(uint64_t sequence)
{
    return (uint32_t)(sequence >> SEQUENCE_STAGE_SHIFT) % SEQUENCE_N_STAGES;
}

/* Returns the counter of the round; it is 0 only for round 0. */
static inline uint32_t
sequence_round(uint64_t sequence)
{
    return (uint32_t)sequence % SEQUENCE_N_ROUNDS;
}

/* Returns the next round of the same stage. */
static inline uint64_t
sequence_next(uint64_t sequence)
{
    const uint64_t stage = sequence >> SEQUENCE_STAGE_SHIFT
                                           << SEQUENCE_STAGE_SHIFT;

    return stage | (1 + sequence_round(sequence) % (SEQUENCE_N_ROUNDS - 1));
}

static inline bool
sequence_is_before(uint64_t sequence, uint64_t other)
{
    const uint32_t all = SEQUENCE_N_ROUNDS - 1;
    const uint32_t here = sequence_round(sequence);
    const uint32_t there = sequence_round(other);

    if (sequence >> SEQUENCE_STAGE_SHIFT != other >> SEQUENCE_STAGE_SHIFT ||
        here == 0 || there == 0)
        return sequence < other;
    const uint32_t n_later = (there + all - here) % all;

    return n_later > 0 && n_later < SEQUENCE_N_ROUNDS / 2;
}

#endif
