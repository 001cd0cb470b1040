/* reshard/problem.h - a sentence about what is in the way */

#ifndef RESHARD_PROBLEM_H
#define RESHARD_PROBLEM_H

#include <stdbool.h>

/* Cut where it does not fit. */
struct problem {
    char text[512];
};

/* Returns false, for those who return whether all is well. */
__attribute__((format(printf, 2, 3))) bool
problem_say(struct problem *out_problem, const char *format, ...);

#endif
