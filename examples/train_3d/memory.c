/* train_3d/memory.c - returns memory, or ends the program */

#include "train_3d/memory.h"

#include <err.h>
#include <stdlib.h>

void *
zeros_create(size_t n, size_t n_bytes)
{
    void *zeros = calloc(n, n_bytes);

    if (!zeros && n > 0)
        err(EXIT_FAILURE, "no memory for %zu times %zu bytes", n, n_bytes);
    return zeros;
}
