/* hoop-perf/pattern.c - the input of each rank, and the expected result */

#include "hoop-perf/pattern.h"

#include <string.h>

static int64_t
smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* A number from 0 to span - 1, in an order that a wrong block does not
 * share. */
static int64_t
scatter(uint32_t rank, size_t index, int64_t span)
{
    uint64_t mixed = index * 0x9e3779b97f4a7c15 + rank * 0xbf58476d1ce4e5b9 + 1;

    /* The low bits of a product depend only on the low bits of its factors. */
    mixed = (mixed ^ mixed >> 32) * 0x94d049bb133111eb;
    return (int64_t)((mixed >> 32) % (uint64_t)span);
}

/*
 * The sum over all ranks must stay exact. With more ranks than that allows,
 * only one in several ranks contributes at an index.
 */
static int64_t
sum_input(const struct pattern *pattern, uint32_t rank, size_t index)
{
    const int64_t exact_max = element_exact_max(pattern->dtype);
    const int64_t share = exact_max / pattern->n_ranks;

    if (share >= 1)
        return scatter(rank, index, smaller(share, 7) + 1);

    const uint32_t stride = pattern->n_ranks / (uint32_t)exact_max + 1;
    return rank % stride == index % stride ? scatter(rank, index, 2) : 0;
}

/* Two ranks cancel each other: the sum is n times the average, and exact. */
static int64_t
average_input(const struct pattern *pattern, uint32_t rank, size_t index)
{
    const uint32_t n = pattern->n_ranks;
    const int64_t share = (element_exact_max(pattern->dtype) - 1) / n;
    const int64_t average =
        share >= 1 ? 1 + scatter(0, index, smaller(share, 5)) : 0;

    if (n < 2 || average == 0)
        return average;
    if (rank == index % n)
        return average + 1;
    return rank == (index + 1) % n ? average - 1 : average;
}

/* Only two ranks contribute a factor, so the product stays small. */
static struct number
product_input(const struct pattern *pattern, uint32_t rank, size_t index)
{
    const size_t place = (rank + index) % pattern->n_ranks;
    const int64_t i = element_is_complex(pattern->dtype) ? 1 : 0;

    if (pattern->dtype == HOOP_BOOL)
        return (struct number){index % 3 == 0 || place != 0, 0};
    if (place == 0)
        return (struct number){2 + (int64_t)(index % 3), i};
    if (place == 1)
        return (struct number){1 + (int64_t)(index % 2), i};
    return (struct number){1, 0};
}

struct number
pattern_input(const struct pattern *pattern, uint32_t rank, size_t index)
{
    const int64_t span = smaller(element_exact_max(pattern->dtype), 101) + 1;
    struct number number = {scatter(rank, index, span), 0};

    if (pattern->use == PATTERN_REDUCED) {
        switch (pattern->reduce_op) {
        case HOOP_SUM:
            number.real = sum_input(pattern, rank, index);
            break;
        case HOOP_AVG:
            number.real = average_input(pattern, rank, index);
            break;
        case HOOP_PRODUCT:
            return product_input(pattern, rank, index);
        case HOOP_MIN:
        case HOOP_MAX:
        case HOOP_BOR:
        case HOOP_BAND:
        case HOOP_BXOR:
            break;
        }
    }
    if (element_is_complex(pattern->dtype))
        number.imaginary = number.real;
    return number;
}

static struct number
number_multiply(struct number a, struct number b)
{
    return (struct number){
        a.real * b.real - a.imaginary * b.imaginary,
        a.real * b.imaginary + a.imaginary * b.real,
    };
}

static struct number
number_combine(enum hoop_reduce_op op, struct number a, struct number b)
{
    switch (op) {
    case HOOP_SUM:
    case HOOP_AVG:
        return (struct number){a.real + b.real, a.imaginary + b.imaginary};
    case HOOP_PRODUCT:
        return number_multiply(a, b);
    case HOOP_MIN:
        return a.real < b.real ? a : b;
    case HOOP_MAX:
        return a.real > b.real ? a : b;
    case HOOP_BOR:
        return (struct number){a.real | b.real, 0};
    case HOOP_BAND:
        return (struct number){a.real & b.real, 0};
    case HOOP_BXOR:
        return (struct number){a.real ^ b.real, 0};
    }
    return a;
}

struct number
pattern_prefix(const struct pattern *pattern, uint32_t n_first, size_t index)
{
    struct number total = pattern_input(pattern, 0, index);

    for (uint32_t rank = 1; rank < n_first; rank++)
        total = number_combine(pattern->reduce_op, total,
                               pattern_input(pattern, rank, index));
    return total;
}

struct number
pattern_output(const struct pattern *pattern, size_t index)
{
    struct number total = pattern_prefix(pattern, pattern->n_ranks, index);

    if (pattern->reduce_op == HOOP_AVG) {
        total.real /= pattern->n_ranks;
        total.imaginary /= pattern->n_ranks;
    }
    return total;
}

void
period_of_input(const struct pattern *pattern,
                uint32_t rank,
                struct period *out_period)
{
    const size_t size = hoop_dtype_size(pattern->dtype);

    out_period->element_size = size;
    for (size_t i = 0; i < PATTERN_PERIOD; i++)
        element_encode(pattern->dtype, pattern_input(pattern, rank, i),
                       &out_period->bytes[i * size]);
}

void
period_of_output(const struct pattern *pattern, struct period *out_period)
{
    const size_t size = hoop_dtype_size(pattern->dtype);

    out_period->element_size = size;
    for (size_t i = 0; i < PATTERN_PERIOD; i++)
        element_encode(pattern->dtype, pattern_output(pattern, i),
                       &out_period->bytes[i * size]);
}

void
period_of_prefix(const struct pattern *pattern,
                 uint32_t n_first,
                 struct period *out_period)
{
    const size_t size = hoop_dtype_size(pattern->dtype);

    out_period->element_size = size;
    for (size_t i = 0; i < PATTERN_PERIOD; i++)
        element_encode(pattern->dtype, pattern_prefix(pattern, n_first, i),
                       &out_period->bytes[i * size]);
}

/* Return how many elements are left until the period ends or count is
 * reached. */
static size_t
piece_count(size_t place, size_t count)
{
    const size_t left = PATTERN_PERIOD - place;

    return count < left ? count : left;
}

void
period_fill(const struct period *period,
            size_t first,
            size_t count,
            void *out_elements)
{
    const size_t size = period->element_size;
    unsigned char *at = out_elements;

    for (size_t place = first % PATTERN_PERIOD; count > 0; place = 0) {
        const size_t n = piece_count(place, count);

        memcpy(at, &period->bytes[place * size], n * size);
        at += n * size;
        count -= n;
    }
}

static size_t
piece_count_wrong(const unsigned char *expected,
                  const unsigned char *found,
                  size_t count,
                  size_t size)
{
    size_t n_wrong = 0;

    if (memcmp(expected, found, count * size) == 0)
        return 0;
    for (size_t i = 0; i < count; i++)
        n_wrong += memcmp(&expected[i * size], &found[i * size], size) != 0;
    return n_wrong;
}

size_t
period_count_wrong(const struct period *period,
                   size_t first,
                   size_t count,
                   const void *elements)
{
    const size_t size = period->element_size;
    const unsigned char *at = elements;
    size_t n_wrong = 0;

    for (size_t place = first % PATTERN_PERIOD; count > 0; place = 0) {
        const size_t n = piece_count(place, count);

        n_wrong += piece_count_wrong(&period->bytes[place * size], at, n, size);
        at += n * size;
        count -= n;
    }
    return n_wrong;
}
