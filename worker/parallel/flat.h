/*
 * parallel/flat.h - a list of tensors as one flat array
 *
 * The elements of the first tensor, then those of the second, and so on. All
 * are dense and of one dtype.
 */

#ifndef PARALLEL_FLAT_H
#define PARALLEL_FLAT_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/tensor.h"

#include "base/cleanup.h"

struct flat_piece {
    uint8_t *bytes;
    size_t count; /* elements */
};

struct flat {
    enum hoop_dtype dtype;
    size_t element_size;
    size_t count;
    /* Of each tensor the number of its dimensions, then their sizes: what must
     * be the same on all ranks. */
    size_t *shapes;
    uint32_t n_shapes; /* words */
    size_t n_pieces;
    struct flat_piece pieces[];
};

/* Their data is borrowed for life, the list for the call. name is what texts
 * call one of them. Handle: HOOP_E_INVALID, HOOP_E_EXHAUSTED. */
enum hoop_status
flat_create(const struct hoop_tensor *tensors,
            size_t n_tensors,
            const char *name,
            struct flat **out_flat);
/* NULL is fine. */
void
flat_destroy(struct flat *flat);
DEFINE_CLEANUP(struct flat *, flat_destroy)

/* Whether as many other tensors have the same dtype and shapes.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
flat_check(const struct flat *flat,
           const struct hoop_tensor *tensors,
           const char *name);

/* Copies count elements from element first on. */
void
flat_read(const struct flat *flat, size_t first, size_t count, void *to);

/* Copies all. */
void
flat_write(const struct flat *flat, const void *from);

#endif
