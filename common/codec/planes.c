/*
 * codec/planes.c - which kernel takes words of a size apart
 *
 * No test of its own: coder_planes_test.c drives all of them.
 */

#include "codec/planes_kernels.h"

const struct planes_kernel *
planes_find(size_t word_size)
{
    switch (word_size) {
    case 2:
        return &planes_of_2;
    case 4:
        return &planes_of_4;
    case 8:
        return &planes_of_8;
    default:
        return NULL;
    }
}
