/*
 * train_3d/memory.h - memory, or the end of the program
 *
 * A training that has no memory cannot go on, so nobody asks whether there was
 * some. The other ranks are told by hoop that this one is gone.
 */

#ifndef TRAIN_3D_MEMORY_H
#define TRAIN_3D_MEMORY_H

#include <stddef.h>

/* n things of n_bytes each, all zero, for free(). */
void *
zeros_create(size_t n, size_t n_bytes);

#endif
