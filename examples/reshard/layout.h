/*
 * reshard/layout.h - a short notation for how a tensor is laid out over ranks
 *
 *   2x4:S0,S1           a mesh of 2 x 4 ranks; its axis 0 cuts the tensor's
 *                       first dimension, axis 1 the second
 *   4x2:S01,R           both axes cut the first one (0 is the outer axis), the
 *                       second is whole on every rank
 *   3:R,S0+uneven       sizes need not be divisible by 3
 *   2x2@4:S1,S0         the mesh begins with rank 4: it has ranks 4, 5, 6 and 7
 *
 *   LAYOUT    = MESH ":" PLACEMENT { "," PLACEMENT } [ "+uneven" ]
 *   MESH      = N { "x" N } [ "@" RANK ]
 *   PLACEMENT = "R" | "S" AXIS { AXIS }, one for each dimension of the tensor
 *
 * hoop_sharding_describe() writes placements the same way.
 */

#ifndef RESHARD_LAYOUT_H
#define RESHARD_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "hoop/hoop.h"

#include "reshard/problem.h"

struct layout {
    struct hoop_mesh_shape mesh;
    uint32_t first_rank; /* a rank of the world; the next ones follow */
    uint32_t n_ranks;    /* the product of the mesh's sizes */
    uint32_t n_dims;     /* dimensions of the tensor */
    struct hoop_sharding sharding;
};

/* Returns whether text is a layout. Axes that do not exist, or are used twice,
 * are only found by layout_check(). */
bool
layout_parse(const char *text,
             struct layout *out_layout,
             struct problem *out_problem);

/* Returns whether a tensor of this shape can have this layout in a world of
 * n_ranks. */
bool
layout_check(const struct layout *layout,
             const struct hoop_shape *shape,
             uint32_t n_ranks,
             struct problem *out_problem);

/* Creates the mesh of the layout. Any process of the world may call it, also
 * one outside of the mesh. The caller frees it with hoop_mesh_free(). */
HOOP_NODISCARD enum hoop_status
layout_mesh_create(const struct layout *layout,
                   hoop_session_t *session,
                   hoop_mesh_t **out_mesh);

/* Returns the bytes that all ranks together have of a tensor of this shape. */
uint64_t
layout_n_bytes(const struct layout *layout,
               const struct hoop_shape *shape,
               enum hoop_dtype dtype);

struct layout_text {
    char text[256];
};

/* Returns a text such as "2x2@4 [S1, S0]". */
struct layout_text
layout_describe(const struct layout *layout);

#endif
