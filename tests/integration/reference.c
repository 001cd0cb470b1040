/* tests/integration/reference.c - random calls and their expected results */

#include "integration/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "pseudo_random.h"

/* Says how to read the elements of a type. */
enum kind {
    KIND_SIGNED,
    KIND_UNSIGNED,
    KIND_FLOAT,
    KIND_COMPLEX,
    KIND_BOOL,
};

static const struct {
    enum kind kind;
    size_t size;
    double epsilon; /* of one rounding */
} types[] = {
    [HOOP_INT8] = {KIND_SIGNED, 1, 0},
    [HOOP_UINT8] = {KIND_UNSIGNED, 1, 0},
    [HOOP_INT16] = {KIND_SIGNED, 2, 0},
    [HOOP_UINT16] = {KIND_UNSIGNED, 2, 0},
    [HOOP_INT32] = {KIND_SIGNED, 4, 0},
    [HOOP_UINT32] = {KIND_UNSIGNED, 4, 0},
    [HOOP_INT64] = {KIND_SIGNED, 8, 0},
    [HOOP_UINT64] = {KIND_UNSIGNED, 8, 0},
    [HOOP_FLOAT16] = {KIND_FLOAT, 2, 0x1p-10},
    [HOOP_BFLOAT16] = {KIND_FLOAT, 2, 0x1p-7},
    [HOOP_FLOAT32] = {KIND_FLOAT, 4, 0x1p-23},
    [HOOP_FLOAT64] = {KIND_FLOAT, 8, 0x1p-52},
    [HOOP_COMPLEX64] = {KIND_COMPLEX, 8, 0x1p-23},
    [HOOP_COMPLEX128] = {KIND_COMPLEX, 16, 0x1p-52},
    [HOOP_BOOL] = {KIND_BOOL, 1, 0},
};

/* Encodes a random number of either sign and of an absolute value from 0.5 to
 * 2. */
static void
float_encode(void *at, enum hoop_dtype dtype, uint64_t random)
{
    const double size = 0.5 + (double)(random >> 12) * 0x1.8p-52;
    const double value = random & 1 ? -size : size;
    const float single = (float)value;
    uint32_t bits;

    memcpy(&bits, &single, sizeof(bits));
    if (dtype == HOOP_FLOAT64 || dtype == HOOP_COMPLEX128) {
        memcpy(at, &value, sizeof(value));
    } else if (dtype == HOOP_BFLOAT16) {
        memcpy(at, (uint16_t[]){(uint16_t)(bits >> 16)}, 2);
    } else if (dtype == HOOP_FLOAT16) {
        const uint32_t exponent = (bits >> 23 & 255) - 127 + 15;
        const uint16_t half = (uint16_t)((bits >> 16 & 0x8000) |
                                         exponent << 10 | (bits >> 13 & 1023));
        memcpy(at, &half, sizeof(half));
    } else {
        memcpy(at, &single, sizeof(single));
    }
}

static double
float_decode(const void *at, enum hoop_dtype dtype)
{
    uint16_t half;
    float single;
    double value;

    if (dtype == HOOP_FLOAT64 || dtype == HOOP_COMPLEX128) {
        memcpy(&value, at, sizeof(value));
        return value;
    }
    if (dtype == HOOP_FLOAT16) {
        memcpy(&half, at, sizeof(half));
        const int exponent = half >> 10 & 31;
        const int mantissa = half & 1023;
        value = exponent == 0 ? ldexp(mantissa, -24)
                              : ldexp(1024 + mantissa, exponent - 25);
        return half & 0x8000 ? -value : value;
    }
    if (dtype == HOOP_BFLOAT16) {
        memcpy(&half, at, sizeof(half));
        memcpy(&single, (uint32_t[]){(uint32_t)half << 16}, sizeof(single));
        return single;
    }
    memcpy(&single, at, sizeof(single));
    return single;
}

void
reference_fill(void *elements, enum hoop_dtype dtype, size_t n, uint64_t seed)
{
    const size_t size = types[dtype].size;
    uint8_t *at = elements;

    for (size_t i = 0; i < n; i++, at += size) {
        const uint64_t random = random_next(&seed);

        switch (types[dtype].kind) {
        case KIND_SIGNED:
        case KIND_UNSIGNED:
            memcpy(at, &random, size);
            break;
        case KIND_COMPLEX:
            float_encode(at, dtype, random);
            float_encode(at + size / 2, dtype, ~random * 0x9e3779b9u);
            break;
        case KIND_FLOAT:
            float_encode(at, dtype, random);
            break;
        case KIND_BOOL:
            *at = random & 1;
            break;
        }
    }
}

bool
reference_is_defined(enum hoop_dtype dtype, enum hoop_reduce_op op)
{
    const enum kind kind = types[dtype].kind;
    const bool is_integer = kind == KIND_SIGNED || kind == KIND_UNSIGNED;

    switch (op) {
    case HOOP_SUM:
    case HOOP_PRODUCT:
        return true;
    case HOOP_MIN:
    case HOOP_MAX:
        return kind != KIND_COMPLEX;
    case HOOP_BAND:
    case HOOP_BOR:
    case HOOP_BXOR:
        return is_integer || kind == KIND_BOOL;
    case HOOP_AVG:
        return kind != KIND_BOOL;
    }
    return false;
}

/* Truncates bits to the size of the type, and extends them to 64 bits again. */
static uint64_t
cut(uint64_t bits, const struct reference *reference)
{
    const unsigned n_unused = 64 - 8 * (unsigned)types[reference->dtype].size;

    bits <<= n_unused;
    return types[reference->dtype].kind == KIND_SIGNED
               ? (uint64_t)((int64_t)bits >> n_unused)
               : bits >> n_unused;
}

static bool
is_less(uint64_t a, uint64_t b, const struct reference *reference)
{
    return types[reference->dtype].kind == KIND_SIGNED ? (int64_t)a < (int64_t)b
                                                       : a < b;
}

static uint64_t
integer_combine(uint64_t a, uint64_t b, const struct reference *reference)
{
    switch (reference->op) {
    case HOOP_SUM:
    case HOOP_AVG:
        return cut(a + b, reference);
    case HOOP_PRODUCT:
        return cut(a * b, reference);
    case HOOP_MIN:
        return is_less(b, a, reference) ? b : a;
    case HOOP_MAX:
        return is_less(a, b, reference) ? b : a;
    case HOOP_BAND:
        return a & b;
    case HOOP_BOR:
        return a | b;
    case HOOP_BXOR:
        return a ^ b;
    }
    return 0;
}

static bool
integer_allows(const struct reference *reference,
               size_t offset,
               const void *result)
{
    const size_t size = types[reference->dtype].size;
    uint64_t total = 0;
    uint64_t value = 0;

    for (size_t i = 0; i < reference->n_inputs; i++) {
        memcpy(&value, (const uint8_t *)reference->inputs[i] + offset, size);
        value = cut(value, reference);
        total = i == 0 ? value : integer_combine(total, value, reference);
    }
    if (reference->op == HOOP_AVG)
        total = types[reference->dtype].kind == KIND_SIGNED
                    ? (uint64_t)((int64_t)total / (int64_t)reference->n_inputs)
                    : total / reference->n_inputs;
    return memcmp(&total, result, size) == 0;
}

static bool
bool_allows(const struct reference *reference,
            size_t offset,
            const void *result)
{
    size_t n_true = 0;

    for (size_t i = 0; i < reference->n_inputs; i++)
        n_true += ((const uint8_t *)reference->inputs[i])[offset] != 0;

    bool expected = n_true > 0;
    if (reference->op == HOOP_PRODUCT || reference->op == HOOP_MIN ||
        reference->op == HOOP_BAND)
        expected = n_true == reference->n_inputs;
    if (reference->op == HOOP_BXOR)
        expected = n_true % 2 == 1;
    return *(const uint8_t *)result == expected;
}

struct pair {
    double re;
    double im;
    double size; /* sum or product of the absolute values */
};

static struct pair
pair_at(const struct reference *reference, const void *element)
{
    const bool is_complex = types[reference->dtype].kind == KIND_COMPLEX;
    const size_t half = types[reference->dtype].size / 2;
    struct pair pair = {.re = float_decode(element, reference->dtype)};

    if (is_complex)
        pair.im =
            float_decode((const uint8_t *)element + half, reference->dtype);
    pair.size = hypot(pair.re, pair.im);
    return pair;
}

static struct pair
pair_combine(struct pair a, struct pair b, enum hoop_reduce_op op)
{
    switch (op) {
    case HOOP_SUM:
    case HOOP_AVG:
        return (struct pair){a.re + b.re, a.im + b.im, a.size + b.size};
    case HOOP_PRODUCT:
        return (struct pair){a.re * b.re - a.im * b.im,
                             a.re * b.im + a.im * b.re, a.size * b.size};
    case HOOP_MIN:
        return b.re < a.re ? b : a;
    case HOOP_MAX:
        return a.re < b.re ? b : a;
    case HOOP_BAND:
    case HOOP_BOR:
    case HOOP_BXOR:
        break;
    }
    return a;
}

static bool
float_allows(const struct reference *reference,
             size_t offset,
             const void *result)
{
    const struct pair got = pair_at(reference, result);
    const double loss = reference->loss;
    const double epsilon = types[reference->dtype].epsilon;
    const bool is_exact =
        loss <= 0 && (reference->op == HOOP_MIN || reference->op == HOOP_MAX);
    const double n = (double)reference->n_inputs;
    struct pair total = {0};

    for (size_t i = 0; i < reference->n_inputs; i++) {
        const struct pair value =
            pair_at(reference, (const uint8_t *)reference->inputs[i] + offset);

        total = i == 0 ? value : pair_combine(total, value, reference->op);
    }
    if (reference->op == HOOP_AVG)
        total = (struct pair){total.re / n, total.im / n, total.size / n};
    const double bound =
        is_exact ? 0 : 3 * n * total.size * (loss > 0 ? loss : epsilon);
    return fabs(got.re - total.re) <= bound && fabs(got.im - total.im) <= bound;
}

bool
reference_allows(const struct reference *reference,
                 size_t index,
                 const void *result)
{
    const size_t offset = index * types[reference->dtype].size;

    switch (types[reference->dtype].kind) {
    case KIND_SIGNED:
    case KIND_UNSIGNED:
        return integer_allows(reference, offset, result);
    case KIND_FLOAT:
    case KIND_COMPLEX:
        return float_allows(reference, offset, result);
    case KIND_BOOL:
        return bool_allows(reference, offset, result);
    }
    return false;
}

/* The rest of the file draws random calls of collectives. */

enum {
    COUNT_MAX = 4097,
};

static const char *const names[DRAW_KINDS] = {
    "allreduce", "reduce",         "broadcast", "allgather", "gather",
    "scatter",   "reduce_scatter", "alltoall",  "scan",      "exscan",
};

const char *
draw_name(enum draw_kind kind)
{
    return names[kind];
}

size_t
draw_below(uint64_t *seed, size_t bound)
{
    return (size_t)(random_next(seed) % bound);
}

/* All bit lengths are equally likely, so that small counts are more
 * frequent. */
static size_t
draw_count(uint64_t *seed, size_t bound)
{
    const size_t n = draw_below(seed, (size_t)1 << draw_below(seed, 14));

    return n > bound ? bound : n;
}

static void
draw_operator(struct draw *draw, uint64_t *seed)
{
    static const enum hoop_reduce_op ops[] = {
        HOOP_SUM, HOOP_PRODUCT, HOOP_MIN,  HOOP_MAX,
        HOOP_BOR, HOOP_BAND,    HOOP_BXOR, HOOP_AVG};
    const bool is_prefix = draw->kind == DRAW_SCAN || draw->kind == DRAW_EXSCAN;

    do {
        draw->dtype = (enum hoop_dtype)draw_below(seed, HOOP_BOOL + 1);
        draw->op = ops[draw_below(seed, COUNT_OF(ops))];
    } while (!reference_is_defined(draw->dtype, draw->op) ||
             (is_prefix && draw->op == HOOP_AVG));
    draw->element_size = hoop_dtype_size(draw->dtype);
}

static void
draw_counts(struct draw *draw, uint64_t *seed)
{
    draw->count = draw_count(seed, COUNT_MAX);
    for (uint32_t s = 0; s < draw->size; s++) {
        draw->counts[s] =
            draw->is_even ? draw->count : draw_count(seed, COUNT_MAX);
        for (uint32_t r = 0; r < draw->size; r++)
            draw->pairs[s][r] =
                draw->is_even ? draw->count : draw_count(seed, COUNT_MAX);
    }
}

size_t
draw_sum(const size_t *counts, uint32_t n)
{
    size_t sum = 0;

    for (uint32_t i = 0; i < n; i++)
        sum += counts[i];
    return sum;
}

size_t
draw_given(const struct draw *draw, uint32_t rank)
{
    switch (draw->kind) {
    case DRAW_ALLREDUCE:
    case DRAW_REDUCE:
    case DRAW_SCAN:
    case DRAW_EXSCAN:
    case DRAW_BROADCAST:
        return draw->count;
    case DRAW_ALLGATHER:
    case DRAW_GATHER:
        return draw->counts[rank];
    case DRAW_SCATTER:
    case DRAW_REDUCE_SCATTER:
        return draw_sum(draw->counts, draw->size);
    case DRAW_ALLTOALL:
        return draw_sum(draw->pairs[rank], draw->size);
    case DRAW_KINDS:
        break;
    }
    return 0;
}

void
draw_init(struct draw *draw, uint32_t size, uint64_t seed)
{
    memset(draw, 0, sizeof(*draw));
    draw->size = size;
    draw->kind = (enum draw_kind)draw_below(&seed, DRAW_KINDS);
    draw->root = (uint32_t)draw_below(&seed, size);
    draw->is_in_place = draw_below(&seed, 2);
    draw->is_even = draw_below(&seed, 2);
    draw_operator(draw, &seed);
    draw_counts(draw, &seed);
    for (uint32_t s = 0; s < size; s++) {
        const size_t n = draw_given(draw, s);

        draw->inputs[s] = malloc(n * draw->element_size + 1);
        reference_fill(draw->inputs[s], draw->dtype, n, seed + s);
    }
}

void
draw_deinit(struct draw *draw)
{
    for (uint32_t s = 0; s < draw->size; s++)
        free(draw->inputs[s]);
}

/* Calls the function, or its _start form. */
#define CALL(name, ...)                                                        \
    (op ? hoop_##name##_start(__VA_ARGS__, op) : hoop_##name(__VA_ARGS__))

static enum hoop_status
call_even(const struct draw *draw,
          const void *send,
          void *recv,
          hoop_comm_t *comm,
          hoop_op_t **op)
{
    const enum hoop_dtype dtype = draw->dtype;
    const size_t count = draw->count;
    const uint32_t root = draw->root;

    switch (draw->kind) {
    case DRAW_ALLREDUCE:
        return CALL(allreduce, send, recv, count, dtype, draw->op, comm);
    case DRAW_REDUCE:
        return CALL(reduce, send, recv, count, dtype, draw->op, root, comm);
    case DRAW_BROADCAST:
        return CALL(broadcast, send, recv, count, dtype, root, comm);
    case DRAW_ALLGATHER:
        return CALL(allgather, send, recv, count, dtype, comm);
    case DRAW_GATHER:
        return CALL(gather, send, recv, count, dtype, root, comm);
    case DRAW_SCATTER:
        return CALL(scatter, send, recv, count, dtype, root, comm);
    case DRAW_REDUCE_SCATTER:
        return CALL(reduce_scatter, send, recv, count, dtype, draw->op, comm);
    case DRAW_ALLTOALL:
        return CALL(alltoall, send, recv, count, dtype, comm);
    case DRAW_SCAN:
        return CALL(scan, send, recv, count, dtype, draw->op, comm);
    case DRAW_EXSCAN:
        return CALL(exscan, send, recv, count, dtype, draw->op, comm);
    case DRAW_KINDS:
        break;
    }
    return HOOP_E_INVALID;
}

bool
draw_has_input(const struct draw *draw, uint32_t rank)
{
    return rank == draw->root ||
           (draw->kind != DRAW_BROADCAST && draw->kind != DRAW_SCATTER);
}

/* Calls without an uneven form are the same in both cases. */
enum hoop_status
draw_call(const struct draw *draw,
          const void *send,
          void *recv,
          hoop_comm_t *comm,
          hoop_op_t **op)
{
    const uint32_t rank = hoop_comm_rank(comm);
    const enum hoop_dtype dtype = draw->dtype;
    const size_t *counts = draw->counts;
    const uint32_t root = draw->root;
    size_t coming[DRAW_RANKS_MAX];

    if (draw->is_even)
        return call_even(draw, send, recv, comm, op);
    if (draw->kind == DRAW_ALLGATHER)
        return CALL(allgatherv, send, recv, counts, dtype, comm);
    if (draw->kind == DRAW_GATHER)
        return CALL(gatherv, send, recv, counts, dtype, root, comm);
    if (draw->kind == DRAW_SCATTER)
        return CALL(scatterv, send, recv, counts, dtype, root, comm);
    if (draw->kind == DRAW_REDUCE_SCATTER)
        return CALL(reduce_scatterv, send, recv, counts, dtype, draw->op, comm);
    if (draw->kind != DRAW_ALLTOALL)
        return call_even(draw, send, recv, comm, op);
    for (uint32_t s = 0; s < draw->size; s++)
        coming[s] = draw->pairs[s][rank];
    return CALL(alltoallv, send, draw->pairs[rank], recv, coming, dtype, comm);
}
