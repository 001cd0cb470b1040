/*
 * hoop-sim/picture.h - draws a study as SVG
 *
 * There is one panel for each operation and size, with time over ranks. With
 * only one number of ranks there is one panel for each operation, with time
 * over sizes. Both axes are logarithmic, and an algorithm has the same colour
 * everywhere.
 */

#ifndef HOOP_SIM_PICTURE_H
#define HOOP_SIM_PICTURE_H

#include "hoop-sim/options.h"
#include "hoop-sim/study.h"

/* Check that options->svg can be written, before a long study. Its content is
 * kept. Handle: HOOP_E_UNAVAILABLE (printed to stderr). */
HOOP_NODISCARD enum hoop_status
picture_check(const struct options *options);

/* Write options->svg. Handle: HOOP_E_UNAVAILABLE, HOOP_E_DATA_LOSS (both
 * printed to stderr). */
HOOP_NODISCARD enum hoop_status
picture_write(const struct study *study, const struct options *options);

#endif
