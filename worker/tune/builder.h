/*
 * tune/builder.h - a table of switch points, from the cost of the plans
 *
 * Every algorithm of every collective is simulated at a few sizes; between
 * them its cost is taken to be a straight line. Where the best one changes,
 * the place of the change is looked for. What is only a little better does
 * not displace what the registry lists before it: links are not known that
 * well. But of two that take as long, the one that combines less is taken.
 */

#ifndef TUNE_BUILDER_H
#define TUNE_BUILDER_H

#include "hoop/status.h"

#include "tune/estimate.h"
#include "tune/table.h"

/* Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
builder_run(const struct estimate_place *place, struct table *out_table);

#endif
