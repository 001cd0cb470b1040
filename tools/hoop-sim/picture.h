/*
 * hoop-sim/picture.h - a study as SVG
 *
 * One panel for each operation and size, with time over ranks; where there is
 * one number of ranks only, one panel for each operation, with time over
 * sizes. Both axes are logarithmic, an algorithm has one colour everywhere.
 */

#ifndef HOOP_SIM_PICTURE_H
#define HOOP_SIM_PICTURE_H

#include "hoop-sim/options.h"
#include "hoop-sim/study.h"

/* Whether options->svg can be written, before a study that takes its time. What
 * it holds stays. Handle: HOOP_E_UNAVAILABLE (says so on stderr). */
HOOP_NODISCARD enum hoop_status
picture_check(const struct options *options);

/* To options->svg. Handle: HOOP_E_UNAVAILABLE, HOOP_E_DATA_LOSS (both say so on
 * stderr). */
HOOP_NODISCARD enum hoop_status
picture_write(const struct study *study, const struct options *options);

#endif
