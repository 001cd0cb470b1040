/*
 * tune/builder.c - a table of switch points, from the cost of the plans
 *
 * No test of its own: there is no simulation yet.
 */

#include "tune/builder.h"

enum hoop_status
builder_run(const struct plan_nodes *nodes,
            const struct simulation_machine *machine,
            struct table *out_table)
{
    (void)nodes;
    table_init(out_table);
    out_table->machine = *machine;
    return HOOP_OK;
}
