/* reshard/table.h - what was done, in how much time */

#ifndef RESHARD_TABLE_H
#define RESHARD_TABLE_H

#include <stdint.h>
#include <stdio.h>

struct table_row {
    const char *part;    /* "save" */
    const char *layout;  /* as layout_describe() */
    uint64_t n_bytes;    /* that were moved, by all ranks */
    uint64_t time_ns;    /* of the wall's clock, for all of them */
    const char *verdict; /* on the hash */
};

/* The names of the columns. */
void
table_begin(FILE *file);

/* One row, at once; GB/s is n_bytes by time. */
void
table_add(const struct table_row *row, FILE *file);

#endif
