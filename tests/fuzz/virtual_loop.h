/*
 * tests/fuzz/virtual_loop.h - net/loop.h and base/clock.h on a clock of their
 * own
 *
 * Linked instead of those two: nothing waits. The clock goes on a little with
 * each look at it, which ends who looks again and again; and when the loop has
 * nothing left but timers, to the first of them. A loop that runs without
 * anything that could end it is a violation.
 */

#ifndef TESTS_FUZZ_VIRTUAL_LOOP_H
#define TESTS_FUZZ_VIRTUAL_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "net/loop.h"

/* From the beginning; the same for every input. */
void
virtual_clock_reset(void);
void
virtual_clock_advance(uint64_t ms);

/* One post or timer. False: there is none. */
bool
virtual_loop_turn(struct loop *loop);

#endif
