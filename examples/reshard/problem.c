/* reshard/problem.c - writes a sentence about what is wrong */

#include "reshard/problem.h"

#include <stdarg.h>
#include <stdio.h>

bool
problem_say(struct problem *out_problem, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    vsnprintf(out_problem->text, sizeof(out_problem->text), format, list);
    va_end(list);
    return false;
}
