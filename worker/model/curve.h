/*
 * model/curve.h - cost of an algorithm as a function of size, from a few samples
 *
 * The curve is linear between samples and continues its first and last segments
 * beyond them.
 */

#ifndef MODEL_CURVE_H
#define MODEL_CURVE_H

#include <stdint.h>

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
