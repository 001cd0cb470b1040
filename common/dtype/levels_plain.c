/* dtype/levels_plain.c - the only level, on processors that are not x86-64 */

#include "dtype/kernels.h"

extern kernels_level level_plain;

enum reduction_level
reduction_level_best(void)
{
    return REDUCTION_PLAIN;
}

kernels_level *
kernels_at(enum reduction_level level)
{
    return level == REDUCTION_PLAIN ? &level_plain : NULL;
}
