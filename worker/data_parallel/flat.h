/*
 * data_parallel/flat.h - a list of tensors as one flat array
 *
 * The array has the elements of the first tensor, then those of the second, and
 * so on. All tensors are dense and of one dtype.
 */

#ifndef DATA_PARALLEL_FLAT_H
#define DATA_PARALLEL_FLAT_H

#include <stddef.h>
#include <stdint.h>

#include "hoop/tensor.h"

#include "base/cleanup.h"

struct flat_piece {
    uint8_t *bytes;
    size_t count; /* number of elements */
};

struct flat {
    enum hoop_dtype dtype;
    size_t element_size;
    size_t count;
    /* For each tensor the number of its dimensions, then their sizes. Ranks
     * compare them, since they must be the same everywhere. */
    size_t *shapes;
    uint32_t n_shape_entries; /* entries of shapes */
    size_t n_pieces;
    struct flat_piece pieces[];
};

/* Creates a flat view of tensors. Their data are borrowed until
 * flat_tensors_destroy(), the list only during the call. Error texts call a
 * tensor name.
 * Handle: HOOP_E_INVALID, HOOP_E_EXHAUSTED. */
enum hoop_status
flat_tensors_create(const struct hoop_tensor *tensors,
                    size_t n_tensors,
                    const char *name,
                    struct flat **out_flat);
/* NULL is allowed. */
void
flat_tensors_destroy(struct flat *flat);
DEFINE_CLEANUP(struct flat *, flat_tensors_destroy)

/* Checks that a list of as many tensors has the same dtype and shapes.
 * Handle: HOOP_E_INVALID. */
enum hoop_status
flat_tensors_check_match(const struct flat *flat,
                         const struct hoop_tensor *tensors,
                         const char *name);

/* Copies count elements, starting at element first, to to. */
void
flat_tensors_pack_range(const struct flat *flat,
                        size_t first,
                        size_t count,
                        void *to);

/* Copies the whole array from from to the tensors. */
void
flat_tensors_unpack(const struct flat *flat, const void *from);

#endif
