/*
 * tests/fuzz/virtual_loop.h - a loop that runs on virtual time
 *
 * It is linked in place of net/loop.h and base/clock.h, and nothing waits. Each
 * reading advances the clock a little, which ends code that reads it again and
 * again. If the loop has only timers left, the clock advances to the first one.
 * A loop that runs with nothing that could end it is a violation.
 */

#ifndef TESTS_FUZZ_VIRTUAL_LOOP_H
#define TESTS_FUZZ_VIRTUAL_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "net/loop.h"

/* Sets the clock to its start, which is the same for every input. */
void
virtual_clock_reset(void);
void
virtual_clock_advance(uint64_t ms);

/* Runs one post or timer. Returns false if there is none. */
bool
virtual_loop_turn(struct loop *loop);

#endif
