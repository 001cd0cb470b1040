/*
 * transport/sequence.h - names the rounds of a shared region, in the order they are done in
 *
 *   number << 16 | stage << 12 | round, or from 2^12 on 1, 2 ... again
 *
 * The number of an operation only grows, and so do the stages within it. Rounds
 * may be more than fit: those of two ranks that are compared are a few apart,
 * since nobody posts before all have read what he posted two rounds ago. So
 * within a stage the nearer way round is the order. Round 0 never comes again:
 * what stands where nothing else was written since is of no later one. None is
 * 0. Pure.
 */

#ifndef TRANSPORT_SEQUENCE_H
#define TRANSPORT_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    SEQUENCE_ROUNDS = 1 << 12,
    SEQUENCE_STAGES =
        1 << 4, /* the last is nobody's: behind all of an operation */
    SEQUENCE_STAGE_SHIFT = 12,
    SEQUENCE_NUMBER_SHIFT = 16,
};

/* number is not 0, stage < SEQUENCE_STAGES - 1. */
static inline uint64_t
sequence_of(uint64_t number, uint32_t stage, uint32_t round)
{
    const uint32_t later =
        round == 0 ? 0 : 1 + (round - 1) % (SEQUENCE_ROUNDS - 1);

    return number << SEQUENCE_NUMBER_SHIFT | stage << SEQUENCE_STAGE_SHIFT |
           later;
}

/* Behind every round of operation number, before those of the next. */
static inline uint64_t
sequence_end(uint64_t number)
{
    return sequence_of(number, SEQUENCE_STAGES - 1, 0);
}

static inline uint64_t
sequence_number(uint64_t sequence)
{
    return sequence >> SEQUENCE_NUMBER_SHIFT;
}

static inline uint32_t
sequence_stage(uint64_t sequence)
{
    return (uint32_t)(sequence >> SEQUENCE_STAGE_SHIFT) % SEQUENCE_STAGES;
}

/* As far as it is kept; 0 only for the first. */
static inline uint32_t
sequence_round(uint64_t sequence)
{
    return (uint32_t)sequence % SEQUENCE_ROUNDS;
}

/* The round behind it, of the same stage. */
static inline uint64_t
sequence_next(uint64_t sequence)
{
    const uint64_t stage = sequence >> SEQUENCE_STAGE_SHIFT
                                           << SEQUENCE_STAGE_SHIFT;

    return stage | (1 + sequence_round(sequence) % (SEQUENCE_ROUNDS - 1));
}

static inline bool
sequence_is_before(uint64_t sequence, uint64_t other)
{
    const uint32_t all = SEQUENCE_ROUNDS - 1;
    const uint32_t here = sequence_round(sequence);
    const uint32_t there = sequence_round(other);

    if (sequence >> SEQUENCE_STAGE_SHIFT != other >> SEQUENCE_STAGE_SHIFT ||
        here == 0 || there == 0)
        return sequence < other;
    const uint32_t n_later = (there + all - here) % all;

    return n_later > 0 && n_later < SEQUENCE_ROUNDS / 2;
}

#endif
