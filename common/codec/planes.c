/* codec/planes.c - finds the kernel for a word size */

#include "codec/planes.h"

#include "codec/tier.h"

const struct planes_kernel *
planes_find(size_t word_size)
{
    const struct tier *tier = tier_get(0);

    switch (word_size) {
    case 1:
        return tier->planes[0];
    case 2:
        return tier->planes[1];
    case 4:
        return tier->planes[2];
    case 8:
        return tier->planes[3];
    default:
        return NULL;
    }
}
