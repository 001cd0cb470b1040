/*
 * transport/stamp.h - names the rounds of a hall, in the order they are done in
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

#ifndef TRANSPORT_STAMP_H
#define TRANSPORT_STAMP_H

#include <stdbool.h>
#include <stdint.h>

enum {
    STAMP_ROUNDS = 1 << 12,
    STAMP_STAGES =
        1 << 4, /* the last is nobody's: behind all of an operation */
    STAMP_STAGE_SHIFT = 12,
    STAMP_NUMBER_SHIFT = 16,
};

/* number is not 0, stage < STAMP_STAGES - 1. */
static inline uint64_t
stamp_of(uint64_t number, uint32_t stage, uint32_t round)
{
    const uint32_t later =
        round == 0 ? 0 : 1 + (round - 1) % (STAMP_ROUNDS - 1);

    return number << STAMP_NUMBER_SHIFT | stage << STAMP_STAGE_SHIFT | later;
}

/* Behind every round of operation number, before those of the next. */
static inline uint64_t
stamp_end(uint64_t number)
{
    return stamp_of(number, STAMP_STAGES - 1, 0);
}

static inline uint64_t
stamp_number(uint64_t stamp)
{
    return stamp >> STAMP_NUMBER_SHIFT;
}

static inline uint32_t
stamp_stage(uint64_t stamp)
{
    return (uint32_t)(stamp >> STAMP_STAGE_SHIFT) % STAMP_STAGES;
}

/* As far as it is kept; 0 only for the first. */
static inline uint32_t
stamp_round(uint64_t stamp)
{
    return (uint32_t)stamp % STAMP_ROUNDS;
}

/* The round behind it, of the same stage. */
static inline uint64_t
stamp_next(uint64_t stamp)
{
    const uint64_t stage = stamp >> STAMP_STAGE_SHIFT << STAMP_STAGE_SHIFT;

    return stage | (1 + stamp_round(stamp) % (STAMP_ROUNDS - 1));
}

static inline bool
stamp_is_before(uint64_t stamp, uint64_t other)
{
    const uint32_t all = STAMP_ROUNDS - 1;
    const uint32_t here = stamp_round(stamp);
    const uint32_t there = stamp_round(other);

    if (stamp >> STAMP_STAGE_SHIFT != other >> STAMP_STAGE_SHIFT || here == 0 ||
        there == 0)
        return stamp < other;
    const uint32_t n_later = (there + all - here) % all;

    return n_later > 0 && n_later < STAMP_ROUNDS / 2;
}

#endif
