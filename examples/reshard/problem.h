/* reshard/problem.h - a sentence about what is wrong */

#ifndef RESHARD_PROBLEM_H
#define RESHARD_PROBLEM_H

#include <stdbool.h>

/* A text that is too long is truncated. */
struct problem {
    char text[512];
};

/* Returns false, so that functions which return whether all is well can return
 * its result. */
__attribute__((format(printf, 2, 3))) bool
problem_say(struct problem *out_problem, const char *format, ...);

#endif
