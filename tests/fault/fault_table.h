/* tests/fault/fault_table.h - what came of the cells, as people read it */

#ifndef TESTS_FAULT_TABLE_H
#define TESTS_FAULT_TABLE_H

#include <stdint.h>
#include <stdio.h>

#include "fault_run.h"

struct fault_table;

/* What is kept of a cell. */
struct fault_mark {
    bool has_run;
    bool is_second; /* it failed once */
    enum fault_grade grade;
    uint64_t took_ns;
};

struct fault_table *
fault_table_create(void);
/* NULL is fine. */
void
fault_table_destroy(struct fault_table *table);

void
fault_table_add(struct fault_table *table,
                uint32_t number,
                const struct fault_mark *mark);

/* Rows of faults and places, columns of ways and ranks: all calls in one. */
void
fault_table_write(const struct fault_table *table, FILE *out);
/* docs/fault-matrix.md, anew; lenience times what is promised was allowed. */
void
fault_table_document(const struct fault_table *table,
                     unsigned lenience,
                     const char *path);
/* Its part on ranks in namespaces of their own, behind what is there. */
void
fault_table_append(const struct fault_table *table,
                   const struct fault_lab *lab,
                   const char *path);

#endif
