/*
 * model/curve.c - cost of an algorithm as a function of size, from a few samples
 */

#include "model/curve.h"

#include <assert.h>
#include <string.h>

void
curve_add_sample(struct curve *curve, double bytes, double ns)
{
    uint32_t at = 0;

    if (curve->n_samples == CURVE_SAMPLES)
        return;
    while (at < curve->n_samples && curve->samples[at].bytes < bytes)
        at++;
    if (at < curve->n_samples && curve->samples[at].bytes <= bytes)
        return;
    memmove(&curve->samples[at + 1], &curve->samples[at],
            (curve->n_samples - at) * sizeof(curve->samples[0]));
    curve->samples[at].bytes = bytes;
    curve->samples[at].ns = ns;
    curve->n_samples++;
}

double
curve_cost_at(const struct curve *curve, double bytes)
{
    uint32_t right = 1;

    assert(curve->n_samples > 0);
    if (curve->n_samples == 1)
        return curve->samples[0].ns;
    while (right + 1 < curve->n_samples && curve->samples[right].bytes < bytes)
        right++;

    const double begin = curve->samples[right - 1].bytes;
    const double width = curve->samples[right].bytes - begin;
    const double rise = curve->samples[right].ns - curve->samples[right - 1].ns;
    return curve->samples[right - 1].ns + rise * (bytes - begin) / width;
}
