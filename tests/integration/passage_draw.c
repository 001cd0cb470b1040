/* tests/integration/passage_draw.c - a mapping's call, drawn by chance */

#include "passage_draw.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "reference.h"

static size_t
below(uint64_t *seed, size_t bound)
{
    return (size_t)(reference_random(seed) % bound);
}

size_t
passage_draw_count(const struct hoop_shape *shape)
{
    size_t count = 1;

    for (uint32_t i = 0; i < shape->n_dims; i++)
        count *= shape->dims[i];
    return count;
}

static size_t
sum_of(const size_t *list, uint32_t n)
{
    size_t sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += list[i];
    return sum;
}

/* Rows of each rank, or to and from each, often none. */
static void
draw_rows(struct passage_draw *draw, uint64_t *seed)
{
    for (uint32_t s = 0; s < draw->size; s++) {
        draw->sizes[s] = below(seed, 3) == 0 ? 0 : below(seed, 5);
        for (uint32_t r = 0; r < draw->size; r++)
            draw->pairs[s][r] = below(seed, 3) == 0 ? 0 : below(seed, 5);
    }
}

/* What a rank begins with, along the first dimension. */
static size_t
rows_before(const struct passage_draw *draw, uint32_t rank)
{
    size_t n_rows = 0;

    switch (draw->passage->effect) {
    case EFFECT_JOIN_FIRST:
        return draw->sizes[rank];
    case EFFECT_SUM_CUT_FIRST:
        return sum_of(draw->sizes, draw->size);
    case EFFECT_ROWS:
        return sum_of(draw->pairs[rank], draw->size);
    case EFFECT_ROWS_BACK:
        for (uint32_t s = 0; s < draw->size; s++)
            n_rows += draw->pairs[s][rank];
        return n_rows;
    case EFFECT_SAME:
    case EFFECT_SUM:
    case EFFECT_CUT_LAST:
    case EFFECT_CUT_FIRST:
    case EFFECT_JOIN_LAST:
    case EFFECT_SUM_CUT_LAST:
    case EFFECT_SP2HP:
    case EFFECT_HP2SP:
        break;
    }
    return 0;
}

/* One to four dimensions, most of them such that parts are equal. */
static void
draw_shapes(struct passage_draw *draw, uint64_t *seed)
{
    const bool is_multiple = below(seed, 5) > 0;
    struct hoop_shape shape = {.n_dims = 1 + (uint32_t)below(seed, 4)};

    for (uint32_t i = 0; i < shape.n_dims; i++) {
        const bool is_end = i == 0 || i == shape.n_dims - 1;

        shape.dims[i] = below(seed, 12) == 0 ? 0 : 1 + below(seed, 5);
        shape.dims[i] *= is_end && is_multiple ? draw->size : 1;
    }
    for (uint32_t s = 0; s < draw->size; s++) {
        draw->shapes[s] = shape;
        if (draw->has_sizes || draw->has_splits)
            draw->shapes[s].dims[0] = rows_before(draw, s);
    }
}

void
passage_draw_init(struct passage_draw *draw, uint32_t size, uint64_t seed)
{
    static const enum hoop_dtype dtypes[] = {HOOP_FLOAT32, HOOP_BFLOAT16,
                                             HOOP_FLOAT16, HOOP_INT64};

    memset(draw, 0, sizeof(*draw));
    draw->passage = &passages[below(&seed, n_passages)];
    draw->size = size;
    draw->dtype = dtypes[below(&seed, COUNT_OF(dtypes))];
    draw->element_size = hoop_dtype_size(draw->dtype);
    draw->has_sizes = passage_takes_sizes(draw->passage) && below(&seed, 2);
    draw->has_splits = draw->passage->splits && below(&seed, 3) > 0;
    draw_rows(draw, &seed);
    draw_shapes(draw, &seed);
    for (uint32_t s = 0; s < size; s++) {
        const size_t n = passage_draw_count(&draw->shapes[s]);

        draw->inputs[s] = malloc(n * draw->element_size + 1);
        reference_fill(draw->inputs[s], draw->dtype, n, seed + s);
    }
}

void
passage_draw_deinit(struct passage_draw *draw)
{
    for (uint32_t s = 0; s < draw->size; s++)
        free(draw->inputs[s]);
}

/* Rows that rank s gives to rank r. */
static size_t
rows_between(const struct passage_draw *draw, uint32_t s, uint32_t r)
{
    if (!draw->has_splits)
        return draw->shapes[s].dims[0] / draw->size;
    return draw->passage->effect == EFFECT_ROWS_BACK ? draw->pairs[r][s]
                                                     : draw->pairs[s][r];
}

static bool
divide(size_t *size, uint32_t n)
{
    const bool is_equal = *size % n == 0;

    *size /= n;
    return is_equal;
}

static struct hoop_shape
flattened(const struct hoop_shape *shape)
{
    const size_t n_columns = shape->dims[shape->n_dims - 1];
    struct hoop_shape flat = {2, {1, n_columns}};

    for (uint32_t i = 0; i + 1 < shape->n_dims; i++)
        flat.dims[0] *= shape->dims[i];
    return flat;
}

bool
passage_draw_result(const struct passage_draw *draw,
                    uint32_t rank,
                    struct hoop_shape *out_shape)
{
    const uint32_t n = draw->size;
    struct hoop_shape *shape = out_shape;

    *shape = draw->shapes[rank];
    size_t *first = &shape->dims[0];
    size_t *last = &shape->dims[shape->n_dims - 1];
    switch (draw->passage->effect) {
    case EFFECT_SAME:
    case EFFECT_SUM:
        return true;
    case EFFECT_CUT_LAST:
    case EFFECT_SUM_CUT_LAST:
        return divide(last, n);
    case EFFECT_CUT_FIRST:
        return divide(first, n);
    case EFFECT_JOIN_LAST:
        *last *= n;
        return true;
    case EFFECT_JOIN_FIRST:
        *first = draw->has_sizes ? sum_of(draw->sizes, n) : *first * n;
        return true;
    case EFFECT_SUM_CUT_FIRST:
        if (!draw->has_sizes)
            return divide(first, n);
        *first = draw->sizes[rank];
        return true;
    case EFFECT_ROWS:
    case EFFECT_ROWS_BACK:
        if (!draw->has_splits && *first % n != 0)
            return false;
        *first = 0;
        for (uint32_t s = 0; s < n; s++)
            *first += rows_between(draw, s, rank);
        return true;
    case EFFECT_SP2HP:
        *shape = flattened(shape);
        shape->dims[0] *= n;
        return divide(&shape->dims[1], n);
    case EFFECT_HP2SP:
        *shape = flattened(shape);
        shape->dims[1] *= n;
        return divide(&shape->dims[0], n);
    }
    return false;
}

/* A tensor around a dimension, and an element of it. */
struct place {
    size_t inner_size;
    size_t length;
    size_t a; /* outer */
    size_t k;
    size_t c; /* inner */
};

static struct place
place_of(const struct hoop_shape *shape, uint32_t dim, size_t index)
{
    struct place place = {.inner_size = 1, .length = shape->dims[dim]};

    for (uint32_t i = dim + 1; i < shape->n_dims; i++)
        place.inner_size *= shape->dims[i];
    place.c = index % place.inner_size;
    place.k = index / place.inner_size % place.length;
    place.a = index / place.inner_size / place.length;
    return place;
}

static size_t
index_of(const struct place *place, size_t length, size_t k)
{
    return (place->a * length + k) * place->inner_size + place->c;
}

/* out[(a Lout + off_s + k) I + c] = in_s[(a L_s + k) I + c] */
static struct passage_origin
joined(const struct passage_draw *draw,
       const struct hoop_shape *result,
       uint32_t dim,
       size_t index)
{
    const struct place place = place_of(result, dim, index);
    size_t k = place.k;

    for (uint32_t s = 0; s < draw->size; s++) {
        const size_t length = draw->shapes[s].dims[dim];

        if (k < length)
            return (struct passage_origin){false, s,
                                           index_of(&place, length, k)};
        k -= length;
    }
    abort();
}

/* out_r[(a L_r + k) I + c] = in[(a L + off_r + k) I + c] */
static size_t
cut(const struct passage_draw *draw,
    const struct hoop_shape *result,
    uint32_t dim,
    uint32_t rank,
    size_t index)
{
    const struct place place = place_of(result, dim, index);
    const size_t offset =
        draw->has_sizes ? sum_of(draw->sizes, rank) : rank * result->dims[dim];

    return index_of(&place, draw->shapes[rank].dims[dim], offset + place.k);
}

/* out_r[roff_s + i] = in_s[soff_r + i] */
static struct passage_origin
exchanged(const struct passage_draw *draw,
          const struct hoop_shape *result,
          uint32_t rank,
          size_t index)
{
    const struct place place = place_of(result, 0, index);
    size_t i = place.k;

    for (uint32_t s = 0; s < draw->size; s++) {
        const size_t n_rows = rows_between(draw, s, rank);
        size_t offset = 0;

        for (uint32_t r = 0; r < rank; r++)
            offset += rows_between(draw, s, r);
        if (i < n_rows)
            return (struct passage_origin){false, s,
                                           index_of(&place, 0, offset + i)};
        i -= n_rows;
    }
    abort();
}

/* out_r[s t + i, c] = in_s[i, r h + c] */
static struct passage_origin
to_columns(const struct passage_draw *draw,
           const struct hoop_shape *result,
           uint32_t rank,
           size_t index)
{
    const size_t t = result->dims[0] / draw->size;
    const size_t h = result->dims[1];
    const size_t row = index / h;

    return (struct passage_origin){false, (uint32_t)(row / t),
                                   row % t * h * draw->size + rank * h +
                                       index % h};
}

/* out_r[i, s h + c] = in_s[r t + i, c] */
static struct passage_origin
to_rows(const struct passage_draw *draw,
        const struct hoop_shape *result,
        uint32_t rank,
        size_t index)
{
    const size_t t = result->dims[0];
    const size_t h = result->dims[1] / draw->size;
    const size_t column = index % result->dims[1];
    const size_t i = index / result->dims[1];

    return (struct passage_origin){false, (uint32_t)(column / h),
                                   (rank * t + i) * h + column % h};
}

struct passage_origin
passage_draw_origin(const struct passage_draw *draw,
                    uint32_t rank,
                    size_t index)
{
    struct passage_origin origin = {false, rank, index};
    struct hoop_shape result;

    (void)passage_draw_result(draw, rank, &result);
    const uint32_t last = result.n_dims - 1;
    switch (draw->passage->effect) {
    case EFFECT_SAME:
        return origin;
    case EFFECT_SUM:
        origin.is_sum = true;
        return origin;
    case EFFECT_CUT_LAST:
    case EFFECT_SUM_CUT_LAST:
        origin.is_sum = draw->passage->effect == EFFECT_SUM_CUT_LAST;
        origin.index = cut(draw, &result, last, rank, index);
        return origin;
    case EFFECT_CUT_FIRST:
    case EFFECT_SUM_CUT_FIRST:
        origin.is_sum = draw->passage->effect == EFFECT_SUM_CUT_FIRST;
        origin.index = cut(draw, &result, 0, rank, index);
        return origin;
    case EFFECT_JOIN_LAST:
        return joined(draw, &result, last, index);
    case EFFECT_JOIN_FIRST:
        return joined(draw, &result, 0, index);
    case EFFECT_ROWS:
    case EFFECT_ROWS_BACK:
        return exchanged(draw, &result, rank, index);
    case EFFECT_SP2HP:
        return to_columns(draw, &result, rank, index);
    case EFFECT_HP2SP:
        return to_rows(draw, &result, rank, index);
    }
    abort();
}
