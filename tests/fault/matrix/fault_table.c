/* tests/fault/matrix/fault_table.c - the cells and a table of results */

#include "fault/matrix/fault_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"

/* The cells of the fault matrix and their meaning are defined here. */

const struct fault_row fault_rows[] = {
    {"kill", "do=kill", FAULT_KIND_DEATH, FAULT_BLAME_CULPRIT},
    {"exit", "do=exit:3", FAULT_KIND_DEATH, FAULT_BLAME_CULPRIT},
    {"stop", "do=stop", FAULT_KIND_FREEZE, FAULT_BLAME_CULPRIT},
    {"late", "do=delay:30ms", FAULT_KIND_LATE, FAULT_BLAME_NOBODY},
    {"very late", "do=delay:700ms", FAULT_KIND_LATE, FAULT_BLAME_NOBODY},
    {"reset", "do=reset", FAULT_KIND_LINK, FAULT_BLAME_HIGHER},
    {"half-close", "do=half-close", FAULT_KIND_LINK, FAULT_BLAME_HIGHER},
    /* A dropped frame is noticed by the next heartbeat, which has its
     * number. */
    {"drop", "do=drop", FAULT_KIND_MUTE, FAULT_BLAME_CULPRIT},
    {"corrupt", "do=corrupt", FAULT_KIND_LINK, FAULT_BLAME_CULPRIT},
    {"truncate", "do=truncate", FAULT_KIND_LINK, FAULT_BLAME_HIGHER},
    {"duplicate", "do=duplicate", FAULT_KIND_LINK, FAULT_BLAME_CULPRIT},
    {"unplug", "do=unplug", FAULT_KIND_MUTE, FAULT_BLAME_HIGHER},
    {"leave", NULL, FAULT_KIND_LEAVE, FAULT_BLAME_CULPRIT},
    {"differ", NULL, FAULT_KIND_DIFFER, FAULT_BLAME_CULPRIT},
};
const uint32_t n_fault_rows = COUNT_OF(fault_rows);

const char *const fault_place_names[FAULT_PLACES] = {"first", "middle", "last"};

static const uint32_t sizes[] = {2, 3, 4, 8};
static const char *const transports[] = {"tcp", "shm"};

uint32_t
fault_n_cells(void)
{
    return n_fault_rows * fault_n_calls() * FAULT_PLACES * COUNT_OF(sizes) *
           COUNT_OF(transports);
}

struct fault_cell
fault_cell_at(uint32_t number)
{
    struct fault_cell cell;

    cell.transport = transports[number % COUNT_OF(transports)];
    number /= COUNT_OF(transports);
    cell.size = sizes[number % COUNT_OF(sizes)];
    number /= COUNT_OF(sizes);
    cell.place = (enum fault_place)(number % FAULT_PLACES);
    number /= FAULT_PLACES;
    cell.call = fault_call_at(number % fault_n_calls());
    cell.fault = &fault_rows[number / fault_n_calls()];
    return cell;
}

static uint32_t
common_divisor(uint32_t a, uint32_t b)
{
    while (b > 0) {
        const uint32_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* A step that is coprime to the number of cells reaches all of them. */
uint32_t
fault_cell_shuffled(uint32_t i, uint64_t seed)
{
    const uint32_t n = fault_n_cells();
    const uint64_t mixed = (seed + 1) * 0x9e3779b97f4a7c15;
    uint32_t step = (uint32_t)(mixed % n) | 1;

    while (common_divisor(step, n) != 1)
        step += 2;
    return (uint32_t)(((uint64_t)i * step + mixed / n % n) % n);
}

uint32_t
fault_cell_culprit(const struct fault_cell *cell)
{
    const uint32_t last = cell->size - 1;

    switch (cell->place) {
    case FAULT_FIRST:
        return 0;
    case FAULT_MIDDLE:
        return cell->size / 2;
    case FAULT_LAST:
    case FAULT_PLACES:
        break;
    }
    return cell->call.parts & FAULT_CALL_UPWARD ? last - 1 : last;
}

uint32_t
fault_cell_root(const struct fault_cell *cell)
{
    const uint32_t culprit = fault_cell_culprit(cell);

    return cell->call.parts & FAULT_CALL_FROM_ROOT ? culprit
                                                   : (culprit + 1) % cell->size;
}

const char *
fault_cell_absence(const struct fault_cell *cell)
{
    const enum fault_kind kind = cell->fault->kind;

    if (kind == FAULT_KIND_LEAVE && strcmp(cell->call.name, "sendrecv") == 0)
        return "one half of it is given up for the other, and a rank that "
               "waits for that half is told that a send was given up";
    if (kind == FAULT_KIND_DIFFER && (cell->call.parts & FAULT_CALL_MESSAGES))
        return "a message that nobody sends is late, and differs from nothing";
    return NULL;
}

bool
fault_cell_needs_piece(const struct fault_cell *cell)
{
    return cell->fault->kind == FAULT_KIND_LINK ||
           cell->fault->kind == FAULT_KIND_MUTE;
}

struct fault_cell_rule
fault_cell_rule(const struct fault_cell *cell, uint32_t seq, int note_fd)
{
    /* Each list has alternatives, of which the first that happens counts. */
    static const char *const of_process[FAULT_PLACES][3] = {
        [FAULT_FIRST] = {"at=begin"},
        [FAULT_MIDDLE] = {"at=receive", "at=send,segment=2", "at=end"},
        [FAULT_LAST] = {"at=end"},
    };
    static const char *const of_piece[FAULT_PLACES][3] = {
        [FAULT_FIRST] = {"segment=1"},
        [FAULT_MIDDLE] = {"segment=2"},
        [FAULT_LAST] = {"segment=3"},
    };
    /* A rank that sleeps while it drives the engine is frozen rather than
     * late. */
    const bool is_caller =
        cell->fault->rule && strstr(cell->fault->name, "very");
    const char *const *places = fault_cell_needs_piece(cell)
                                    ? of_piece[cell->place]
                                : is_caller ? of_process[FAULT_FIRST]
                                            : of_process[cell->place];
    struct fault_cell_rule rule = {""};
    size_t n_used = 0;

    for (size_t i = 0; cell->fault->rule && i < 3 && places[i]; i++)
        n_used += (size_t)snprintf(
            rule.text + n_used, sizeof(rule.text) - n_used,
            "%srank=%u,op=%s,seq=%u,%s,note=%d,%s", i > 0 ? ";" : "",
            fault_cell_culprit(cell), cell->call.op, seq, places[i], note_fd,
            cell->fault->rule);
    return rule;
}

enum {
    ROWS_MAX = 32,
    CALLS_MAX = 32,
    COLUMNS = 8, /* four sizes, over two transports */
};

struct entry {
    unsigned n_passed;
    unsigned n_absent;
    unsigned n_failed;
    unsigned n_second; /* that passed, but not at the first attempt */
    uint64_t slowest_ns;
};

struct fault_table {
    struct entry entries[ROWS_MAX][FAULT_PLACES][COLUMNS];
    struct entry calls[CALLS_MAX][ROWS_MAX];
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
    entry->n_second += mark->is_second && mark->grade == FAULT_PASSED;
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

/* In the order of the cells, calls vary slower than places and faster than
 * faults. */
static uint32_t
call_of(uint32_t number)
{
    return number / (COLUMNS * FAULT_PLACES) % fault_n_calls();
}

/* Returns the first cell of a call with a fault. */
static struct fault_cell
cell_of(uint32_t call, uint32_t row)
{
    return fault_cell_at((row * fault_n_calls() + call) *
                         (COLUMNS * FAULT_PLACES));
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
    entry_add(&table->calls[call_of(number)][row], mark);
    entry_add(&table->all, mark);
}

/* Writes "24", or "23+1" with one that is absent, or "22!2" with two that
 * failed, and then the slowest time. */
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
        "\n%u of %u cells ran: %u passed (%u of them when run again), %u were "
        "not there, %u failed; the slowest took %.0f ms.\n",
        table->all.n_passed + table->all.n_absent + table->all.n_failed,
        fault_n_cells(), table->all.n_passed, table->all.n_second,
        table->all.n_absent, table->all.n_failed,
        (double)table->all.slowest_ns / (double)CLOCK_NS_PER_MS);
}

/* Writes a row per call and a column per fault. Each entry is of all places,
 * transports and sizes. */
static void
calls_write(const struct fault_table *table, FILE *out)
{
    fprintf(out, "| call |");
    for (uint32_t row = 0; row < n_fault_rows; row++)
        fprintf(out, " %s |", fault_rows[row].name);
    fprintf(out, "\n|---|");
    for (uint32_t row = 0; row < n_fault_rows; row++)
        fprintf(out, "---:|");
    for (uint32_t call = 0; call < fault_n_calls(); call++) {
        fprintf(out, "\n| %s", fault_call_at(call).name);
        for (uint32_t row = 0; row < n_fault_rows; row++)
            entry_write(&table->calls[call][row], out);
        fprintf(out, " |");
    }
    fprintf(out, "\n");
}

/* Writes why cells of a call with a fault are absent. */
static void
absence_write(const struct fault_table *table,
              uint32_t call,
              uint32_t row,
              FILE *out)
{
    const struct fault_cell cell = cell_of(call, row);
    const unsigned n_absent = table->calls[call][row].n_absent;
    const char *why = fault_cell_absence(&cell);

    if (n_absent == 0)
        return;
    fprintf(out, "| %s | %s | %u | %s |\n", cell.fault->name, cell.call.name,
            n_absent, why ? why : "the rank at that place sends fewer frames");
}

static void
absences_write(const struct fault_table *table, FILE *out)
{
    fprintf(out, "| fault | call | cells | why they are not there |\n"
                 "|---|---|---:|---|\n");
    for (uint32_t row = 0; row < n_fault_rows; row++) {
        for (uint32_t call = 0; call < fault_n_calls(); call++)
            absence_write(table, call, row, out);
    }
}

/* Writes the load of the machine, without which the times mean little. */
static void
load_write(unsigned lenience, FILE *out)
{
    double load = 0;

    (void)!getloadavg(&load, 1);
    if (lenience > 1)
        fprintf(
            out,
            "This time the machine was\nbusy (its load average was %.0f at "
            "the end), and %u times the promised 100\nand 200 + 250 ms were "
            "allowed: a call that failed may only have been late, or its rank "
            "was\ntaken for frozen.\n"
            "\n",
            load, lenience);
    else
        fprintf(
            out,
            "This time it was quiet: the load\naverage at the end was %.1f, "
            "from the cells themselves.\n\n",
            load);
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
        "Every other rank must return with the same culprit and the same\n"
        "reason, and no result may be wrong. Then the survivors shrink the\n"
        "communicator of the world, and a sum over all of them is compared\n"
        "element by element. Times are from the fault until the last rank\n"
        "knew, in ms; the failure timeout is 200 ms. An entry is\n"
        "`calls that passed · slowest`. A + precedes the calls in which the\n"
        "culprit sends no such piece, and a ! the calls that failed.\n\n"
        "`HOOPD=build/server/hoopd build/tests/fault/matrix/fault_matrix "
        "--all\n"
        "--jobs 3 --document docs/fault-matrix.md` writes this page.\n"
        "`--seconds N` ends it earlier, and `--strict` is for a quiet "
        "machine. ",
        fault_n_calls());
    load_write(lenience, out);
    fault_table_write(table, out);
    fprintf(out, "\n## By call\n\n");
    calls_write(table, out);
    fprintf(
        out,
        "\n## What is not there\n\n"
        "A fault of a frame happens to the first, second or third frame that\n"
        "the rank sends in its call. If the rank sends fewer, as a leaf of a\n"
        "tree does, or one of two ranks in a barrier, there is nothing to\n"
        "break, and the call must succeed. Over shm most collectives send no\n"
        "frames: their ranks use a shared region.\n\n");
    absences_write(table, out);
    fclose(out);
}

void
fault_table_append(const struct fault_table *table,
                   const struct fault_lab *lab,
                   const char *path)
{
    FILE *out = fopen(path, "a");

    if (!out) {
        perror(path);
        return;
    }
    if (lab->spaces.networks[0])
        fprintf(
            out,
            "\n## Over a bad network\n\n"
            "`tests/fault/matrix/fault_matrix_network.py` gives each rank a "
            "network\n"
            "namespace. Its `--help` says how many packets are lost there\n"
            "and how long a round trip takes. The failure timeout is the\n"
            "default, which adapts to the network. The limits are %u ms, and\n"
            "%u + %u ms for a silence.\n\n",
            lab->crash_ms, lab->failure_timeout_ms, lab->slack_ms);
    else
        fprintf(
            out,
            "\n## In PID namespaces\n\n"
            "With `--own-pids` no rank sees the process of another, as in\n"
            "containers on one host. A death has no proof there, so it may\n"
            "take 250 ms.\n\n");
    fault_table_write(table, out);
    fclose(out);
}
