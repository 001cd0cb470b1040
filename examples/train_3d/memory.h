/*
 * train_3d/memory.h - returns memory, or ends the program
 *
 * A training cannot continue without memory, so callers need not check. hoop
 * tells the other ranks that this one is gone.
 */

#ifndef TRAIN_3D_MEMORY_H
#define TRAIN_3D_MEMORY_H

#include <stddef.h>

/* Returns n zeroed objects of n_bytes each, to be freed with free(). */
void *
zeros_create(size_t n, size_t n_bytes);

#endif
