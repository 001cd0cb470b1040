/* tests/fault/matrix/fault_table.h - what came of the cells, as people read
 * it */

#ifndef TESTS_FAULT_TABLE_H
#define TESTS_FAULT_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fault/matrix/fault_rank.h"
#include "fault/matrix/fault_run.h"

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

/*
 * A cell is a fault, a call, a place in the call, a number of ranks and a
 * way between them. Cells are numbered, so that a part of them can be
 * chosen, and one be run again. Pure.
 */

/* What must come of it. */
enum fault_kind {
    FAULT_KIND_DEATH,  /* the rank is named, at once */
    FAULT_KIND_FREEZE, /* the rank is named, within the failure timeout */
    FAULT_KIND_LINK,   /* one of the two is named, or nobody is hurt */
    FAULT_KIND_MUTE,   /* the same, within the failure timeout */
    FAULT_KIND_LATE,   /* nothing: it is alive */
    FAULT_KIND_LEAVE,  /* the rank is named as one that left */
    FAULT_KIND_DIFFER, /* the rank is named for its call */
};

/* Who must be named, as docs/failure.md has it. */
enum fault_blame {
    FAULT_BLAME_NOBODY,  /* whoever is named is named wrongly */
    FAULT_BLAME_CULPRIT, /* the rank with the fault */
    FAULT_BLAME_HIGHER,  /* of the two between which it struck: both live, and
                            what lies between them is lost */
};

struct fault_row {
    const char *name;
    const char *rule; /* "do=kill"; NULL: the program does it itself */
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
    const char *transport; /* as HOOP_TRANSPORT has it */
};

extern const struct fault_row fault_rows[];
extern const uint32_t n_fault_rows;
extern const char *const fault_place_names[FAULT_PLACES];

uint32_t
fault_n_cells(void);
/* number is below that. */
struct fault_cell
fault_cell_at(uint32_t number);
/* All of them, each once, in an order that depends on seed. */
uint32_t
fault_cell_shuffled(uint32_t i, uint64_t seed);

/* Who fails. */
uint32_t
fault_cell_culprit(const struct fault_cell *cell);
/* The root of its call. */
uint32_t
fault_cell_root(const struct fault_cell *cell);

/* Why there is no such thing; NULL: there is. */
const char *
fault_cell_absence(const struct fault_cell *cell);
/* It happens to something that is sent, of which there may be too little. */
bool
fault_cell_needs_piece(const struct fault_cell *cell);

/* HOOP_DEBUG_FAULT, with a note to note_fd; "" where the program does it
 * itself. */
struct fault_cell_rule {
    char text[512];
};

struct fault_cell_rule
fault_cell_rule(const struct fault_cell *cell, uint32_t seq, int note_fd);

#endif
