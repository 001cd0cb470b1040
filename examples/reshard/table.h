/* reshard/table.h - prints what was done and how long it took */

#ifndef RESHARD_TABLE_H
#define RESHARD_TABLE_H

#include <stdint.h>
#include <stdio.h>

struct table_row {
    const char *part;    /* "save" */
    const char *layout;  /* from layout_describe() */
    uint64_t n_bytes;    /* bytes that all ranks moved together */
    uint64_t time_ns;    /* elapsed time until all ranks were done */
    const char *verdict; /* what the hash shows */
};

/* Prints the names of the columns. */
void
table_begin(FILE *file);

/* Prints one row at once. Its GB/s are n_bytes divided by time. */
void
table_add(const struct table_row *row, FILE *file);

#endif
