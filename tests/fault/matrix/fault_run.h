/*
 * tests/fault/matrix/fault_run.h - one cell of the fault matrix, with real
 * processes
 *
 * The ranks join a hoopd, make the call once, which shows what is right, and
 * once with the fault; then two barriers, which tell those that had returned.
 * Whoever survives writes down what it was told and when. The parent watches
 * all of them, and judges.
 */

#ifndef TESTS_FAULT_RUN_H
#define TESTS_FAULT_RUN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fault/matrix/fault_rank.h"

/* Zeroed: those of the caller. */
struct fault_spaces {
    bool
        has_own_pids; /* each rank has a PID namespace, and a /proc, of its own */
    /* [rank]: a network namespace that has a name, see ip-netns(8); NULL: the
     * caller's. */
    const char *networks[FAULT_RANKS];
};

struct fault_lab {
    const char *coordinator;
    struct fault_spaces spaces;
    uint32_t failure_timeout_ms;
    bool is_default;   /* it is the default, which knows the network */
    uint32_t crash_ms; /* within which all know of a death */
    uint32_t slack_ms; /* ... and of a silence, beyond the failure timeout */
    uint32_t op_ms;    /* a call's deadline */
    uint32_t cell_ms;  /* then it hangs */
};

enum fault_grade {
    FAULT_PASSED,
    FAULT_ABSENT, /* the culprit sends no such piece; nobody was hurt */
    FAULT_FAILED,
};

struct fault_outcome {
    enum fault_grade grade;
    bool is_wrong;    /* a result was, which is no matter of time */
    uint64_t took_ns; /* until the last one knew; 0: there was nothing */
    char text[4096];  /* why it failed */
};

void
fault_run(const struct fault_lab *lab,
          uint32_t number,
          struct fault_outcome *out_outcome);

#endif
