/*
 * select/builder.h - builds a table of switch points from the cost of the plans
 *
 * The builder simulates every algorithm of every collective at a few sizes and
 * interpolates linearly between them. Where the best algorithm changes, it
 * searches for the size of the change. An algorithm must be clearly better to
 * replace one that the registry lists before it, because the properties of
 * links are not known precisely. Of two algorithms that take equally long, the
 * one that combines fewer elements is chosen.
 */

#ifndef SELECT_BUILDER_H
#define SELECT_BUILDER_H

#include "hoop/status.h"

#include "model/estimate.h"
#include "select/table.h"

/* Fill in the rows of *out_table for place. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
builder_build_table(const struct estimate_environment *place,
                    struct table *out_table);

#endif
