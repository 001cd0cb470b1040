/*
 * select/builder.h - builds a table of switch points from the cost of the plans
 *
 * The builder simulates every algorithm of every collective at a few sizes and
 * interpolates linearly between them. Where the best algorithm changes, it
 * searches for the size of the change. An algorithm must be clearly better to
 * replace one that the registry lists before it, because the properties of
 * links are not known precisely. Of two algorithms that take equally long, the
 * one that combines fewer elements is chosen.
 */

#ifndef SELECT_BUILDER_H
#define SELECT_BUILDER_H

#include <stdint.h>

#include "hoop/status.h"

#include "select/estimate.h"
#include "select/table.h"

/* Fill in the rows of *out_table for place. Handle: none (HOOP_E_EXHAUSTED). */
enum hoop_status
builder_build_table(const struct estimate_environment *place,
                    struct table *out_table);

/*
 * The cost of an algorithm as a function of size, from a few samples. The curve
 * is linear between samples and continues its first and last segments beyond
 * them.
 */

enum {
    CURVE_SAMPLES = 16
};

struct curve {
    uint32_t n_samples;
    struct {
        double bytes;
        double ns;
    } samples[CURVE_SAMPLES]; /* ascending by bytes */
};

/* Add a sample, unless the curve is full or has one at this size. */
void
curve_add_sample(struct curve *curve, double bytes, double ns);

/* The cost at a size. The curve must have a sample. */
double
curve_cost_at(const struct curve *curve, double bytes);

#endif
