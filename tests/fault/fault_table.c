/* tests/fault/fault_table.c - what came of the cells, as people read it */

#include "fault_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum {
    ROWS_MAX = 32,
    COLUMNS = 8, /* sizes by transports */
};

struct entry {
    unsigned n_passed;
    unsigned n_absent;
    unsigned n_failed;
    uint64_t slowest_ns;
};

struct fault_table {
    struct entry entries[ROWS_MAX][FAULT_PLACES][COLUMNS];
    struct entry all;
};

struct fault_table *
fault_table_create(void)
{
    return calloc(1, sizeof(struct fault_table));
}

void
fault_table_destroy(struct fault_table *table)
{
    free(table);
}

static void
entry_add(struct entry *entry, const struct fault_mark *mark)
{
    entry->n_passed += mark->grade == FAULT_PASSED;
    entry->n_absent += mark->grade == FAULT_ABSENT;
    entry->n_failed += mark->grade == FAULT_FAILED;
    if (mark->grade == FAULT_PASSED && mark->took_ns > entry->slowest_ns)
        entry->slowest_ns = mark->took_ns;
}

static unsigned
column_of(const struct fault_cell *cell)
{
    const unsigned by_size = cell->size == 2   ? 0
                             : cell->size == 3 ? 1
                             : cell->size == 4 ? 2
                                               : 3;

    return by_size + (strcmp(cell->transport, "tcp") == 0 ? 0 : COLUMNS / 2);
}

void
fault_table_add(struct fault_table *table,
                uint32_t number,
                const struct fault_mark *mark)
{
    if (!mark->has_run)
        return;
    const struct fault_cell cell = fault_cell_at(number);
    const size_t row = (size_t)(cell.fault - fault_rows);

    entry_add(&table->entries[row][cell.place][column_of(&cell)], mark);
    entry_add(&table->all, mark);
}

/* "24", "23+1" with one that was not there, "22!2" with two that failed; and
 * the slowest. */
static void
entry_write(const struct entry *entry, FILE *out)
{
    const unsigned n = entry->n_passed + entry->n_absent + entry->n_failed;

    fprintf(out, " |");
    if (n == 0)
        return;
    fprintf(out, " %u", entry->n_passed);
    if (entry->n_absent > 0)
        fprintf(out, "+%u", entry->n_absent);
    if (entry->n_failed > 0)
        fprintf(out, "!%u", entry->n_failed);
    if (entry->slowest_ns > 0)
        fprintf(out, " · %.0f",
                (double)entry->slowest_ns / (double)CLOCK_NS_PER_MS);
}

void
fault_table_write(const struct fault_table *table, FILE *out)
{
    fprintf(out, "| fault | place | tcp, 2 ranks | 3 | 4 | 8 | shm, 2 ranks | "
                 "3 | 4 | 8 |\n|---|---|---:|---:|---:|---:|---:|---:|---:|"
                 "---:|\n");
    for (uint32_t row = 0; row < n_fault_rows; row++) {
        for (int place = 0; place < FAULT_PLACES; place++) {
            fprintf(out, "| %s | %s", fault_rows[row].name,
                    fault_place_names[place]);
            for (unsigned column = 0; column < COLUMNS; column++)
                entry_write(&table->entries[row][place][column], out);
            fprintf(out, " |\n");
        }
    }
    fprintf(
        out,
        "\n%u of %u cells ran: %u passed, %u were not there, %u failed; the "
        "slowest took %.0f ms.\n",
        table->all.n_passed + table->all.n_absent + table->all.n_failed,
        fault_n_cells(), table->all.n_passed, table->all.n_absent,
        table->all.n_failed,
        (double)table->all.slowest_ns / (double)CLOCK_NS_PER_MS);
}

void
fault_table_document(const struct fault_table *table,
                     unsigned lenience,
                     const char *path)
{
    FILE *out = fopen(path, "w");

    if (!out) {
        perror(path);
        return;
    }
    fprintf(
        out,
        "# The fault matrix\n\n"
        "One rank fails in one of %u calls: all collectives, and messages.\n"
        "Every rank that is left must return, with the same culprit and the\n"
        "same reason, and no result may be wrong; then those that are left\n"
        "shrink the world's communicator, and a sum of all of them is\n"
        "compared element by element. Times are from the fault until the\n"
        "last rank knew, in ms; the failure timeout is 200 ms. An entry is\n"
        "`calls that passed · slowest`; behind a + are those in which the\n"
        "culprit sends no such piece, behind a ! those that failed.\n\n"
        "`build/tests/fault/fault_matrix --all --jobs 4 --document\n"
        "docs/fault-matrix.md` writes this page; `--seconds N` lets it end\n"
        "earlier, `--strict` is for a quiet machine. ",
        fault_n_calls());
    if (lenience > 1)
        fprintf(out,
                "This time the machine was busy,\n"
                "and %u times the promised 100 and 200 + 250 ms were "
                "allowed.\n\n",
                lenience);
    else
        fprintf(out, "This time it was.\n\n");
    fault_table_write(table, out);
    fclose(out);
}
