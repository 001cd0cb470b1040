/* tests/fault/fault_spaces.h - the namespaces that the ranks of a cell live in */

#ifndef TESTS_FAULT_SPACES_H
#define TESTS_FAULT_SPACES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fault_rank.h"

/* Zeroed: those of the caller. */
struct fault_spaces {
    bool
        has_own_pids; /* each rank has a PID namespace, and a /proc, of its own */
    /* [rank]: a network namespace that has a name, see ip-netns(8); NULL: the
     * caller's. */
    const char *networks[FAULT_RANKS];
};

/*
 * As fork(), for a rank in its namespaces. The process that the caller gets stops
 * and ends as the rank does, and takes it along where it is killed. Prints why and
 * exits with 99, in the child, where namespaces cannot be made.
 */
pid_t
fault_spaces_fork(const struct fault_spaces *spaces, uint32_t rank);

#endif
