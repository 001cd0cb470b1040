/* reshard/table.c - prints what was done and how long it took */

#include "reshard/table.h"

#include "reshard/amount.h"

void
table_begin(FILE *file)
{
    fprintf(file, "%-12s  %-24s  %10s  %9s  %7s  %s\n", "part", "layout",
            "bytes", "seconds", "GB/s", "hash");
    fflush(file);
}

void
table_add(const struct table_row *row, FILE *file)
{
    char speed[16] = "-";

    if (row->n_bytes > 0 && row->time_ns > 0)
        snprintf(speed, sizeof(speed), "%.3f",
                 (double)row->n_bytes / (double)row->time_ns);
    fprintf(file, "%-12s  %-24s  %10s  %9.4f  %7s  %s\n", row->part,
            row->layout, amount_describe(row->n_bytes).text,
            (double)row->time_ns / 1e9, speed, row->verdict);
    fflush(file);
}
