/* tests/fault/matrix/fault_table.h - the cells and a table of results */

#ifndef TESTS_FAULT_TABLE_H
#define TESTS_FAULT_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fault/matrix/fault_rank.h"
#include "fault/matrix/fault_run.h"

struct fault_table;

/* This is kept of a cell's result. */
struct fault_mark {
    bool has_run;
    bool is_second; /* it failed at least once */
    enum fault_grade grade;
    uint64_t took_ns;
};

struct fault_table *
fault_table_create(void);
/* table may be NULL. */
void
fault_table_destroy(struct fault_table *table);

void
fault_table_add(struct fault_table *table,
                uint32_t number,
                const struct fault_mark *mark);

/* Writes a row per fault and place, and a column per transport and size. Each
 * entry is of all calls. */
void
fault_table_write(const struct fault_table *table, FILE *out);
/* Writes docs/fault-matrix.md anew. The ranks were allowed lenience times the
 * promised times. */
void
fault_table_document(const struct fault_table *table,
                     unsigned lenience,
                     const char *path);
/* Appends the part on ranks that have namespaces of their own. */
void
fault_table_append(const struct fault_table *table,
                   const struct fault_lab *lab,
                   const char *path);

/*
 * A cell is a fault, a call, a place in the call, a number of ranks and a
 * transport. Cells have numbers, so that a part of them can be chosen and one
 * can be run again. These functions have no side effects.
 */

/* The kind says what the survivors must find out. */
enum fault_kind {
    FAULT_KIND_DEATH,  /* the rank is named at once */
    FAULT_KIND_FREEZE, /* the rank is named within the failure timeout */
    FAULT_KIND_LINK,   /* one of two ranks is named, or no call fails */
    FAULT_KIND_MUTE,   /* the same, within the failure timeout */
    FAULT_KIND_LATE,   /* no call fails, as the rank is alive */
    FAULT_KIND_LEAVE,  /* the rank is named as one that left */
    FAULT_KIND_DIFFER, /* the rank is named for its call */
};

/* This says which rank must be named, according to docs/failure.md. */
enum fault_blame {
    FAULT_BLAME_NOBODY,  /* no rank may be named */
    FAULT_BLAME_CULPRIT, /* the rank that has the fault */
    FAULT_BLAME_HIGHER,  /* the higher of both ends of the link */
};

struct fault_row {
    const char *name;
    const char *rule; /* "do=kill"; NULL: the program causes the fault */
    enum fault_kind kind;
    enum fault_blame blame;
};

enum fault_place {
    FAULT_FIRST,
    FAULT_MIDDLE,
    FAULT_LAST,
    FAULT_PLACES,
};

struct fault_cell {
    const struct fault_row *fault;
    struct fault_call call;
    enum fault_place place;
    uint32_t size;
    const char *transport; /* a value of HOOP_TRANSPORT */
};

extern const struct fault_row fault_rows[];
extern const uint32_t n_fault_rows;
extern const char *const fault_place_names[FAULT_PLACES];

uint32_t
fault_n_cells(void);
/* Returns a cell; number is less than fault_n_cells(). */
struct fault_cell
fault_cell_at(uint32_t number);
/* Returns each cell once, for i from 0, in an order that depends on seed. */
uint32_t
fault_cell_shuffled(uint32_t i, uint64_t seed);

/* Returns the rank that has the fault. */
uint32_t
fault_cell_culprit(const struct fault_cell *cell);
/* Returns the root of the call. */
uint32_t
fault_cell_root(const struct fault_cell *cell);

/* Returns why the cell cannot exist, or NULL. */
const char *
fault_cell_absence(const struct fault_cell *cell);
/* Returns whether the fault hits a frame, of which the call may send too
 * few. */
bool
fault_cell_needs_piece(const struct fault_cell *cell);

/* This has the value of HOOP_DEBUG_FAULT, which reports to note_fd. It is "" if
 * the program causes the fault. */
struct fault_cell_rule {
    char text[512];
};

struct fault_cell_rule
fault_cell_rule(const struct fault_cell *cell, uint32_t seq, int note_fd);

#endif
