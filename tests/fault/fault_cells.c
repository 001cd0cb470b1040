/* tests/fault/fault_cells.c - the cells of the fault matrix, and what each is */

#include "fault_cells.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

const struct fault_row fault_rows[] = {
    {"kill", "do=kill", FAULT_KIND_DEATH, FAULT_BLAME_CULPRIT},
    {"exit", "do=exit:3", FAULT_KIND_DEATH, FAULT_BLAME_CULPRIT},
    {"stop", "do=stop", FAULT_KIND_FREEZE, FAULT_BLAME_CULPRIT},
    {"late", "do=delay:30ms", FAULT_KIND_LATE, FAULT_BLAME_NOBODY},
    {"very late", "do=delay:700ms", FAULT_KIND_LATE, FAULT_BLAME_NOBODY},
    {"reset", "do=reset", FAULT_KIND_LINK, FAULT_BLAME_HIGHER},
    {"half-close", "do=half-close", FAULT_KIND_LINK, FAULT_BLAME_HIGHER},
    /* Found out by a sign of life, which numbers its frame. */
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

/* A step that has no divisor with their number in common comes by all. */
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
    /* Where each can be: whichever comes first. */
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
    /* Whoever sleeps while it drives is not late, but frozen. */
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
