/* train_3d/clock.h - what time it is, for measuring how long things take */

#ifndef TRAIN_3D_CLOCK_H
#define TRAIN_3D_CLOCK_H

#include <stdint.h>

/* Of the monotonic clock, as hoop's. */
uint64_t
clock_ns(void);

#endif
