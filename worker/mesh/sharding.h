/* mesh/sharding.h - a sharding in ColossalAI's notation */

#ifndef MESH_SHARDING_H
#define MESH_SHARDING_H

#include "hoop/sharding.h"

/* Returns whether both lists have the same axes in the same order. */
bool
axes_equal(const struct hoop_axes *a, const struct hoop_axes *b);

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
