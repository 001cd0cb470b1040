/* train_3d/clock.h - reads the clock with which durations are measured */

#ifndef TRAIN_3D_CLOCK_H
#define TRAIN_3D_CLOCK_H

#include <stdint.h>

/* Returns the time of the monotonic clock, which hoop uses, too. */
uint64_t
clock_ns(void);

#endif
