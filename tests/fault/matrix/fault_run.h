/*
 * tests/fault/matrix/fault_run.h - runs one cell with real processes
 *
 * The ranks join a hoopd and make the call twice: once to learn the right
 * result, and once with the fault. Two barriers follow, whose errors reach
 * ranks whose calls had returned. Each survivor stores its first error and the
 * time of it. The parent watches all ranks and judges.
 */

#ifndef TESTS_FAULT_RUN_H
#define TESTS_FAULT_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fault/matrix/fault_rank.h"

/* The ranks live in these namespaces. If zeroed, they are those of the
 * caller. */
struct fault_spaces {
    bool has_own_pids; /* each rank has its own PID namespace and /proc */
    /* Each rank has the name of a network namespace, see ip-netns(8). NULL is
     * that of the caller. */
    const char *networks[FAULT_RANKS];
};

struct fault_lab {
    const char *coordinator;
    struct fault_spaces spaces;
    uint32_t failure_timeout_ms;
    bool is_default;   /* HOOP_FAILURE_TIMEOUT is not set */
    uint32_t crash_ms; /* within this all ranks know of a death */
    uint32_t slack_ms; /* the same for a silence, after the timeout */
    uint32_t op_ms;    /* the deadline of a call */
    uint32_t cell_ms;  /* a cell that takes longer hangs */
};

enum fault_grade {
    FAULT_PASSED,
    FAULT_ABSENT, /* the culprit sends no such frame, and no rank failed */
    FAULT_FAILED,
};

struct fault_outcome {
    enum fault_grade grade;
    bool is_wrong;    /* a result was wrong, which does not depend on time */
    uint64_t took_ns; /* until the last rank knew; 0: none had to */
    char text[4096];  /* the reasons of a failure */
};

void
fault_run(const struct fault_lab *lab,
          uint32_t number,
          struct fault_outcome *out_outcome);

#endif
