/* mesh/sharding.h - lists of axes, and their text in ColossalAI's notation */

#ifndef MESH_SHARDING_H
#define MESH_SHARDING_H

#include "hoop/sharding.h"

/* Returns whether both lists have the same axes in the same order. */
bool
axes_equal(const struct hoop_axes *a, const struct hoop_axes *b);

/* Returns a bit for each axis of the list. */
unsigned
axes_mask(const struct hoop_axes *axes);
/* Returns a bit for each axis that cuts a dimension. */
unsigned
sharding_cut_axes_mask(const struct hoop_sharding *sharding);

/* Appends an axis; there must be room for it. */
void
axes_append(struct hoop_axes *axes, uint32_t axis);
/* Removes the axes in mask; the others keep their order. */
void
axes_remove(struct hoop_axes *axes, unsigned mask);
/* Returns the last n axes. */
struct hoop_axes
axes_last(const struct hoop_axes *axes, uint32_t n);

/* Returns the number of ranks on a line along axes. */
uint32_t
axes_n_ranks(const struct hoop_axes *axes, const struct hoop_mesh_shape *mesh);

/* "S01", or "R" for no axes. Axes above HOOP_MAX_AXES in number are left
 * out. */
struct axes_text {
    char text[HOOP_MAX_AXES + 2];
};

struct axes_text
axes_text(const struct hoop_axes *axes);

/* "dim 2" */
struct dim_text {
    char text[16];
};

struct dim_text
dim_text(uint32_t dim);

#endif
