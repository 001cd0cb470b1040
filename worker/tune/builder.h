/*
 * tune/builder.h - a table of switch points, from the cost of the plans
 *
 * Every algorithm of every collective is simulated at a few sizes; between
 * them its cost is taken to be a straight line. Where the best one changes,
 * the place of the change is looked for. What is only a little better does
 * not displace what the catalogue lists before it: links are not known that
 * well.
 */

#ifndef TUNE_BUILDER_H
#define TUNE_BUILDER_H

#include "hoop/status.h"

#include "plan/nodes.h"
#include "plan/simulation.h"
#include "tune/table.h"

/* Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
builder_run(const struct plan_nodes *nodes,
            const struct simulation_machine *machine,
            struct table *out_table);

#endif
