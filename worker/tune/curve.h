/*
 * tune/curve.h - what an algorithm costs over the size, from a few samples
 *
 * Between samples a straight line; before the first and after the last, the
 * line goes on.
 */

#ifndef TUNE_CURVE_H
#define TUNE_CURVE_H

#include <stdint.h>

enum {
    CURVE_SAMPLES = 16
};

struct curve {
    uint32_t n_samples;
    struct {
        double bytes;
        double ns;
    } samples[CURVE_SAMPLES]; /* by bytes */
};

/* One more sample, unless there is one at this size or no room. */
void
curve_add(struct curve *curve, double bytes, double ns);

/* The curve has a sample. */
double
curve_at(const struct curve *curve, double bytes);

#endif
