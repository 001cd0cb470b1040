/*
 * mesh/sharding_text.c - a sharding in ColossalAI's notation
 *
 * Axes are digits, since a mesh has few; an axis that no mesh has is "?".
 */

#include "mesh/sharding_text.h"

#include <stdio.h>
#include <string.h>

#include "dtype/dtype.h"

static uint32_t
axes_shown_count(const struct hoop_axes *axes)
{
    return axes->n_axes < HOOP_MAX_AXES ? axes->n_axes : HOOP_MAX_AXES;
}

static char
axis_digit(uint32_t axis)
{
    return axis < HOOP_MAX_AXES ? (char)('0' + axis) : '?';
}

struct axes_text
axes_text(const struct hoop_axes *axes)
{
    struct axes_text text = {.text = "R"};

    for (uint32_t i = 0; i < axes_shown_count(axes); i++) {
        text.text[0] = 'S';
        text.text[1 + i] = axis_digit(axes->axes[i]);
    }
    return text;
}

struct dim_text
dim_text(uint32_t dim)
{
    struct dim_text text;

    snprintf(text.text, sizeof(text.text), "dim %u", dim);
    return text;
}

/* Appends more, truncated if it does not fit. */
static void
sharding_text_append(struct hoop_sharding_text *text, const char *more)
{
    const size_t at = strlen(text->text);

    snprintf(text->text + at, sizeof(text->text) - at, "%s", more);
}

static void
sharding_text_append_partial(struct hoop_sharding_text *text,
                             const struct hoop_sharding *sharding)
{
    const struct axes_text axes = axes_text(&sharding->partial);

    sharding_text_append(text, " partial(");
    sharding_text_append(text, axes.text + 1);
    if (sharding->partial_op != HOOP_SUM) {
        sharding_text_append(text, ", ");
        sharding_text_append(text, reduce_op_name(sharding->partial_op));
    }
    sharding_text_append(text, ")");
}

struct hoop_sharding_text
hoop_sharding_describe(const struct hoop_sharding *sharding, uint32_t n_dims)
{
    struct hoop_sharding_text text = {.text = "["};

    for (uint32_t i = 0; sharding && i < n_dims && i < HOOP_MAX_DIMS; i++) {
        sharding_text_append(&text, i == 0 ? "" : ", ");
        sharding_text_append(&text, axes_text(&sharding->dims[i]).text);
    }
    sharding_text_append(&text, "]");
    if (sharding && sharding->partial.n_axes > 0)
        sharding_text_append_partial(&text, sharding);
    if (sharding && sharding->is_uneven)
        sharding_text_append(&text, " uneven");
    return text;
}

static bool
axes_equal(const struct hoop_axes *a, const struct hoop_axes *b)
{
    return a->n_axes == b->n_axes &&
           memcmp(a->axes, b->axes, axes_shown_count(a) * sizeof(*a->axes)) ==
               0;
}

bool
hoop_sharding_equal(const struct hoop_sharding *a,
                    const struct hoop_sharding *b)
{
    if (!a || !b || a->is_uneven != b->is_uneven)
        return false;
    for (uint32_t i = 0; i < HOOP_MAX_DIMS; i++) {
        if (!axes_equal(&a->dims[i], &b->dims[i]))
            return false;
    }
    return axes_equal(&a->partial, &b->partial) &&
           (a->partial.n_axes == 0 || a->partial_op == b->partial_op);
}
