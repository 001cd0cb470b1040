/*
 * tests/integration/parallel/mappings_random_test.c - random calls of the
 * mappings
 *
 * The test calls each function with shapes of one to four dimensions, and with
 * rows that are the same on all ranks, or different, or none. Results go into
 * new memory, the test's own memory, that of the tensor, or a scratch; calls
 * are blocking or started. If a tensor cannot be cut, all ranks must learn of
 * it. HOOP_TEST_SEED repeats a run.
 */

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/parallel/mapping_cases.h"
#include "integration/reference.h"
#include "pseudo_random.h"
#include "ranks.h"

/*
 * A random call of a mapping.
 *
 * All ranks draw the same call, with the tensors of all ranks. From where an
 * element of a result must come follows from the definition of the effect. The
 * index formulas treat a tensor as [outer, length, inner] around a dimension.
 */

enum {
    MAPPING_CASE_RANKS_MAX = 4,
};

struct mapping_case_draw {
    const struct mapping_case *mapping_case;
    uint32_t size;
    enum hoop_dtype dtype;
    size_t element_size;
    bool has_sizes;  /* of rows */
    bool has_splits; /* of rows to and from each rank */
    size_t sizes[MAPPING_CASE_RANKS_MAX];
    size_t pairs[MAPPING_CASE_RANKS_MAX]
                [MAPPING_CASE_RANKS_MAX];             /* [from][to] */
    struct hoop_shape shapes[MAPPING_CASE_RANKS_MAX]; /* those of the tensors */
    void *inputs[MAPPING_CASE_RANKS_MAX];
};

struct mapping_case_origin {
    bool is_sum; /* of all ranks */
    uint32_t rank;
    size_t index;
};

static size_t
below(uint64_t *seed, size_t bound)
{
    return (size_t)(random_next(seed) % bound);
}

static size_t
mapping_case_draw_count(const struct hoop_shape *shape)
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

/* Draws the rows of each rank, or to and from each rank, which are often
 * none. */
static void
draw_rows(struct mapping_case_draw *draw, uint64_t *seed)
{
    for (uint32_t s = 0; s < draw->size; s++) {
        draw->sizes[s] = below(seed, 3) == 0 ? 0 : below(seed, 5);
        for (uint32_t r = 0; r < draw->size; r++)
            draw->pairs[s][r] = below(seed, 3) == 0 ? 0 : below(seed, 5);
    }
}

/* Returns how many rows a rank has along the first dimension before the
 * call. */
static size_t
rows_before(const struct mapping_case_draw *draw, uint32_t rank)
{
    size_t n_rows = 0;

    switch (draw->mapping_case->effect) {
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

/* Draws one to four dimensions. In most cases they can be cut into equal
 * parts. */
static void
draw_shapes(struct mapping_case_draw *draw, uint64_t *seed)
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

static void
mapping_case_draw_init(struct mapping_case_draw *draw,
                       uint32_t size,
                       uint64_t seed)
{
    static const enum hoop_dtype dtypes[] = {HOOP_FLOAT32, HOOP_BFLOAT16,
                                             HOOP_FLOAT16, HOOP_INT64};

    memset(draw, 0, sizeof(*draw));
    draw->mapping_case = &mapping_cases[below(&seed, n_mapping_cases)];
    draw->size = size;
    draw->dtype = dtypes[below(&seed, COUNT_OF(dtypes))];
    draw->element_size = hoop_dtype_size(draw->dtype);
    draw->has_sizes =
        mapping_case_takes_sizes(draw->mapping_case) && below(&seed, 2);
    draw->has_splits = draw->mapping_case->splits && below(&seed, 3) > 0;
    draw_rows(draw, &seed);
    draw_shapes(draw, &seed);
    for (uint32_t s = 0; s < size; s++) {
        const size_t n = mapping_case_draw_count(&draw->shapes[s]);

        draw->inputs[s] = malloc(n * draw->element_size + 1);
        reference_fill(draw->inputs[s], draw->dtype, n, seed + s);
    }
}

static void
mapping_case_draw_deinit(struct mapping_case_draw *draw)
{
    for (uint32_t s = 0; s < draw->size; s++)
        free(draw->inputs[s]);
}

/* Returns how many rows rank s gives to rank r. */
static size_t
rows_between(const struct mapping_case_draw *draw, uint32_t s, uint32_t r)
{
    if (!draw->has_splits)
        return draw->shapes[s].dims[0] / draw->size;
    return draw->mapping_case->effect == EFFECT_ROWS_BACK ? draw->pairs[r][s]
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

/* Sets the shape of a rank's result. Returns false if the tensor cannot be
 * cut. */
static bool
mapping_case_draw_result(const struct mapping_case_draw *draw,
                         uint32_t rank,
                         struct hoop_shape *out_shape)
{
    const uint32_t n = draw->size;
    struct hoop_shape *shape = out_shape;

    *shape = draw->shapes[rank];
    size_t *first = &shape->dims[0];
    size_t *last = &shape->dims[shape->n_dims - 1];
    switch (draw->mapping_case->effect) {
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

/* A position in a tensor, relative to one dimension. */
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
static struct mapping_case_origin
joined(const struct mapping_case_draw *draw,
       const struct hoop_shape *result,
       uint32_t dim,
       size_t index)
{
    const struct place place = place_of(result, dim, index);
    size_t k = place.k;

    for (uint32_t s = 0; s < draw->size; s++) {
        const size_t length = draw->shapes[s].dims[dim];

        if (k < length)
            return (struct mapping_case_origin){false, s,
                                                index_of(&place, length, k)};
        k -= length;
    }
    abort();
}

/* out_r[(a L_r + k) I + c] = in[(a L + off_r + k) I + c] */
static size_t
cut(const struct mapping_case_draw *draw,
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
static struct mapping_case_origin
exchanged(const struct mapping_case_draw *draw,
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
            return (struct mapping_case_origin){
                false, s, index_of(&place, 0, offset + i)};
        i -= n_rows;
    }
    abort();
}

/* out_r[s t + i, c] = in_s[i, r h + c] */
static struct mapping_case_origin
to_columns(const struct mapping_case_draw *draw,
           const struct hoop_shape *result,
           uint32_t rank,
           size_t index)
{
    const size_t t = result->dims[0] / draw->size;
    const size_t h = result->dims[1];
    const size_t row = index / h;

    return (struct mapping_case_origin){false, (uint32_t)(row / t),
                                        row % t * h * draw->size + rank * h +
                                            index % h};
}

/* out_r[i, s h + c] = in_s[r t + i, c] */
static struct mapping_case_origin
to_rows(const struct mapping_case_draw *draw,
        const struct hoop_shape *result,
        uint32_t rank,
        size_t index)
{
    const size_t t = result->dims[0];
    const size_t h = result->dims[1] / draw->size;
    const size_t column = index % result->dims[1];
    const size_t i = index / result->dims[1];

    return (struct mapping_case_origin){false, (uint32_t)(column / h),
                                        (rank * t + i) * h + column % h};
}

/* Returns the origin of element index of a rank's result. */
static struct mapping_case_origin
mapping_case_draw_origin(const struct mapping_case_draw *draw,
                         uint32_t rank,
                         size_t index)
{
    struct mapping_case_origin origin = {false, rank, index};
    struct hoop_shape result;

    (void)mapping_case_draw_result(draw, rank, &result);
    const uint32_t last = result.n_dims - 1;
    switch (draw->mapping_case->effect) {
    case EFFECT_SAME:
        return origin;
    case EFFECT_SUM:
        origin.is_sum = true;
        return origin;
    case EFFECT_CUT_LAST:
    case EFFECT_SUM_CUT_LAST:
        origin.is_sum = draw->mapping_case->effect == EFFECT_SUM_CUT_LAST;
        origin.index = cut(draw, &result, last, rank, index);
        return origin;
    case EFFECT_CUT_FIRST:
    case EFFECT_SUM_CUT_FIRST:
        origin.is_sum = draw->mapping_case->effect == EFFECT_SUM_CUT_FIRST;
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

enum {
    N_CASES = 600,
    FIRST_SEED = 20261121,
    GUARD_BYTES = 64,
};

/* Says where the result is stored. */
enum memory {
    MEMORY_NEW,
    MEMORY_OWN,
    MEMORY_IN_PLACE,
    MEMORY_SCRATCH,
    MEMORY_KINDS,
};

struct trial {
    const struct mapping_case_draw *draw;
    enum memory memory;
    bool is_started;
    hoop_scratch_t *scratch;
    uint8_t *bytes; /* the test's own memory, with a guard after the result */
};

static bool
is_right(const struct mapping_case_draw *draw,
         uint32_t rank,
         const uint8_t *result)
{
    const size_t element_size = draw->element_size;
    const struct reference sum = {
        .dtype = draw->dtype,
        .op = HOOP_SUM,
        .inputs = (const void *const *)draw->inputs,
        .n_inputs = draw->size,
    };
    struct hoop_shape shape;
    bool is_equal = mapping_case_draw_result(draw, rank, &shape);

    for (size_t i = 0; i < mapping_case_draw_count(&shape) && is_equal; i++) {
        const struct mapping_case_origin from =
            mapping_case_draw_origin(draw, rank, i);
        const uint8_t *given = draw->inputs[from.rank];
        const uint8_t *at = result + i * element_size;

        is_equal = from.is_sum ? reference_allows(&sum, from.index, at)
                               : memcmp(at, given + from.index * element_size,
                                        element_size) == 0;
    }
    return is_equal;
}

/* In-place calls need the same shape, and a scratch is only used if there are
 * rows. */
static enum memory
memory_for(const struct mapping_case_draw *draw,
           uint32_t rank,
           const struct hoop_shape *result,
           enum memory wanted)
{
    if (wanted == MEMORY_SCRATCH &&
        !mapping_case_takes_rows(draw->mapping_case))
        return MEMORY_OWN;
    if (wanted == MEMORY_IN_PLACE &&
        !hoop_shape_equal(&draw->shapes[rank], result))
        return MEMORY_NEW;
    return wanted;
}

static void
lists_of(const struct mapping_case_draw *draw,
         uint32_t rank,
         size_t *input,
         size_t *output)
{
    for (uint32_t i = 0; i < draw->size; i++) {
        input[i] = draw->pairs[rank][i];
        output[i] = draw->pairs[i][rank];
    }
}

static enum hoop_status
call(const struct trial *trial,
     const struct hoop_tensor *tensor,
     struct hoop_tensor *out,
     hoop_comm_t *comm)
{
    const struct mapping_case_draw *draw = trial->draw;
    const bool in_scratch = trial->memory == MEMORY_SCRATCH;
    const struct hoop_rows rows = {
        .sizes = draw->has_sizes ? draw->sizes : NULL,
        .scratch = in_scratch ? trial->scratch : NULL};
    size_t input[MAPPING_CASE_RANKS_MAX];
    size_t output[MAPPING_CASE_RANKS_MAX];
    const struct hoop_row_splits splits = {input, output};
    const struct redistribute_call_arguments redistribute_call_arguments = {
        .tensor = tensor,
        .out = out,
        .rows = draw->has_sizes || in_scratch ? &rows : NULL,
        .splits = draw->has_splits ? &splits : NULL,
        .comm = comm,
    };

    lists_of(draw, hoop_comm_rank(comm), input, output);
    return trial->is_started
               ? mapping_case_run_started(draw->mapping_case,
                                          &redistribute_call_arguments)
               : mapping_case_run(draw->mapping_case,
                                  &redistribute_call_arguments);
}

static int
one_call(struct rank *rank, const struct trial *trial)
{
    const struct mapping_case_draw *draw = trial->draw;
    const uint32_t self = rank->rank;
    struct hoop_tensor tensor = {.data = draw->inputs[self],
                                 .dtype = draw->dtype,
                                 .shape = draw->shapes[self]};
    struct hoop_tensor out = {.dtype = draw->dtype};
    const bool is_valid = mapping_case_draw_result(draw, self, &out.shape);
    const size_t n_bytes =
        mapping_case_draw_count(&out.shape) * draw->element_size;
    const size_t n_given =
        mapping_case_draw_count(&tensor.shape) * draw->element_size;

    memset(trial->bytes, 0xa5, n_bytes + n_given + GUARD_BYTES);
    if (trial->memory == MEMORY_OWN || trial->memory == MEMORY_IN_PLACE)
        out.data = trial->bytes;
    if (trial->memory == MEMORY_IN_PLACE) {
        memcpy(trial->bytes, tensor.data, n_given);
        tensor.data = trial->bytes;
    }
    const void *before = out.data;
    const enum hoop_status status = call(trial, &tensor, &out, rank->comm);
    if (!is_valid) {
        RANK_CHECK(status == HOOP_E_INVALID && out.data == before);
        return 0;
    }
    RANK_CHECK(status == HOOP_OK);
    RANK_CHECK(!before || out.data == before);
    RANK_CHECK(is_right(draw, self, out.data));
    for (size_t i = 0; i < GUARD_BYTES && out.data == trial->bytes; i++)
        RANK_CHECK(trial->bytes[n_bytes + i] == 0xa5);
    if (trial->memory == MEMORY_NEW)
        hoop_tensor_free(&out);
    return 0;
}

static int
trials(struct rank *rank, uint8_t *bytes, hoop_scratch_t *scratch)
{
    uint64_t seed = number_from_environment("HOOP_TEST_SEED", FIRST_SEED);

    for (unsigned i = 0; i < N_CASES; i++) {
        const uint64_t own = random_next(&seed);
        struct mapping_case_draw draw;
        struct hoop_shape result;

        mapping_case_draw_init(&draw, rank->size, own);
        (void)mapping_case_draw_result(&draw, rank->rank, &result);
        const struct trial trial = {
            .draw = &draw,
            .memory = memory_for(&draw, rank->rank, &result,
                                 (enum memory)(own % MEMORY_KINDS)),
            .is_started =
                own / 8 % 2 && mapping_case_has_start(draw.mapping_case),
            .scratch = scratch,
            .bytes = bytes + own / 16 % 2, /* also at odd addresses */
        };
        const int failure = one_call(rank, &trial);
        if (failure)
            fprintf(stderr,
                    "HOOP_TEST_SEED=%" PRIu64 ", call %u of %u ranks: %s "
                    "(%s, memory %d): %s\n",
                    number_from_environment("HOOP_TEST_SEED", FIRST_SEED), i,
                    rank->size, draw.mapping_case->name,
                    hoop_dtype_name(draw.dtype), trial.memory,
                    hoop_error_text());
        mapping_case_draw_deinit(&draw);
        if (failure)
            return failure;
    }
    return 0;
}

static int
each_call_gives_what_the_definition_says(struct rank *rank)
{
    CLEANUP(free) uint8_t *bytes = malloc((size_t)1 << 20);
    hoop_scratch_t *scratch = NULL;

    RANK_CHECK(bytes);
    RANK_CHECK(hoop_scratch_create(&scratch) == HOOP_OK);
    const int failure = trials(rank, bytes, scratch);
    hoop_scratch_free(scratch);
    return failure;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        RANKS_TEST(each_call_gives_what_the_definition_says, 1,
                   MAPPING_CASE_RANKS_MAX),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
