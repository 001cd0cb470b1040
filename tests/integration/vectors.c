/* tests/integration/vectors.c - runs one function of the interface on
 * processes */

#include "integration/vectors.h"

#include <string.h>

int
vectors_run(const struct rank_case *cases, size_t n_cases)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 8};

    return ranks_run_cases(&(struct rank_cases){
        .cases = cases,
        .n_cases = n_cases,
        .sizes = sizes,
        .n_sizes = COUNT_OF(sizes),
    });
}

struct vector
vector_empty(void)
{
    struct vector vector;

    for (size_t i = 0; i < VECTOR_MAX; i++)
        vector.at[i] = SENTINEL;
    return vector;
}

struct vector
vector_from(int64_t first, size_t n)
{
    struct vector vector = vector_empty();

    for (size_t i = 0; i < n; i++)
        vector.at[i] = first + (int64_t)i;
    return vector;
}

struct vector
vector_pair(uint32_t rank)
{
    return vector_from(10 * (int64_t)rank + 1, 2);
}

struct vector
vector_pairs(uint32_t size)
{
    struct vector vector = vector_empty();

    for (uint32_t s = 0; s < size; s++) {
        vector.at[2 * s] = 10 * (int64_t)s + 1;
        vector.at[2 * s + 1] = 10 * (int64_t)s + 2;
    }
    return vector;
}

struct vector
vector_ramp(uint32_t rank, uint32_t size)
{
    return vector_from(10 * (int64_t)rank, 2 * (size_t)size);
}

bool
vector_is(const struct vector *vector, const int64_t *expected, size_t n)
{
    bool is_equal =
        n == 0 || memcmp(vector->at, expected, n * sizeof(*expected)) == 0;

    for (size_t i = n; i < VECTOR_MAX; i++)
        is_equal &= vector->at[i] == SENTINEL;
    return is_equal;
}

bool
vector_equal(const struct vector *a, const struct vector *b)
{
    return memcmp(a, b, sizeof(*a)) == 0;
}

enum hoop_status
vector_finish(enum hoop_status status, hoop_op_t *const *op)
{
    return status == HOOP_OK ? hoop_wait(*op, HOOP_FOREVER) : status;
}
