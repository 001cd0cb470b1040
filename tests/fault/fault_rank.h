/* tests/fault/fault_rank.h - a rank of a cell, and what it leaves behind */

#ifndef TESTS_FAULT_RANK_H
#define TESTS_FAULT_RANK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fault_cells.h"
#include "fault_shrink.h"

enum {
    FAULT_RANKS = 8,
};

/* What a rank was told first. */
struct fault_report {
    atomic_bool is_done;
    bool is_wrong; /* a call went well, with another result */
    enum hoop_status status;
    uint64_t when_ns;
    char text[1024];
    struct fault_rest rest; /* after that */
};

/* Shared by all processes of a cell, zero at first. */
struct fault_room {
    struct fault_report ranks[FAULT_RANKS];
    atomic_uint n_ready;
    atomic_bool may_leave;
    _Atomic uint64_t began_ns; /* the culprit's call */
};

struct fault_rank_options {
    const struct fault_cell *cell;
    uint32_t number;
    unsigned turn; /* of cells, in this process: no two share a job */
    uint32_t rank;
    const char *coordinator;
    uint32_t failure_timeout_ms; /* 0: the default */
    uint32_t op_ms;              /* a call's deadline */
    int note_fd;
    struct fault_room *room;
};

/* In a process of its own; returns its exit code. */
int
fault_rank_main(const struct fault_rank_options *options);

#endif
