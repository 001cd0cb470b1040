/*
 * tests/integration/dim_random_test.c - collectives along dimensions, by chance
 *
 * Shapes of one to four dimensions, sizes that are 0 or do not divide, four
 * types, every dimension counted from either end. All ranks make all ranks'
 * tensors; where an element of a result comes from is said from its indices.
 */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "draw.h"
#include "ranks.h"
#include "reference.h"

enum {
    N_CASES = 120,
    RANKS_USED = 4,
    ELEMENTS_MAX = 625 * RANKS_USED,
    BYTES_MAX = ELEMENTS_MAX * 8,
    GUARD = 0xd7,
};

struct test_case {
    struct hoop_shape shape; /* of what a rank has */
    enum hoop_dtype dtype;
    int32_t dim; /* as the call says it */
    uint32_t at; /* the same, from the first */
    size_t count;
    uint8_t inputs[RANKS_USED][BYTES_MAX];
    uint8_t result[BYTES_MAX + 1];
};

static void
case_draw(struct test_case *test, uint64_t seed)
{
    static const enum hoop_dtype dtypes[] = {HOOP_FLOAT32, HOOP_BFLOAT16,
                                             HOOP_FLOAT16, HOOP_INT64};

    test->dtype = dtypes[draw_below(&seed, COUNT_OF(dtypes))];
    test->shape.n_dims = 1 + (uint32_t)draw_below(&seed, 4);
    test->count = 1;
    for (uint32_t i = 0; i < test->shape.n_dims; i++) {
        const size_t size = draw_below(&seed, 31);

        test->shape.dims[i] = size == 30 ? 0 : size % 5 + 1;
        test->count *= test->shape.dims[i];
    }
    test->at = (uint32_t)draw_below(&seed, test->shape.n_dims);
    test->dim = (int32_t)test->at;
    if (draw_below(&seed, 2) == 0)
        test->dim -= (int32_t)test->shape.n_dims;
    for (uint32_t rank = 0; rank < RANKS_USED; rank++)
        reference_fill(test->inputs[rank], test->dtype, test->count,
                       seed * 7 + rank);
    memset(test->result, GUARD, sizeof(test->result));
}

/* Index i of a tensor, whose size of the dimension is length, as index of one
 * where it is other_length, and shifted by so much along it. */
static size_t
moved(const struct test_case *test,
      size_t i,
      size_t length,
      size_t other_length,
      size_t shift)
{
    size_t index = 0;
    size_t stride = 1;

    for (uint32_t d = test->shape.n_dims; d > 0; d--) {
        const bool is_it = d - 1 == test->at;
        const size_t size = is_it ? length : test->shape.dims[d - 1];

        index += (i % size + (is_it ? shift : 0)) * stride;
        stride *= is_it ? other_length : size;
        i /= size;
    }
    return index;
}

static enum hoop_status
finish(enum hoop_status status, hoop_op_t *const *op)
{
    return status == HOOP_OK ? hoop_wait(*op, HOOP_FOREVER) : status;
}

static int
check_gather(struct rank *rank, struct test_case *test, uint64_t seed)
{
    const size_t element_size = hoop_dtype_size(test->dtype);
    const size_t length = test->shape.dims[test->at];
    const void *mine = test->inputs[rank->rank];
    hoop_op_t *op = NULL;

    if (seed % 2 == 0)
        RANK_CHECK(hoop_allgather_dim(mine, test->result, &test->shape,
                                      test->dim, test->dtype,
                                      rank->comm) == HOOP_OK);
    else
        RANK_CHECK(finish(hoop_allgather_dim_start(
                              mine, test->result, &test->shape, test->dim,
                              test->dtype, rank->comm, &op),
                          &op) == HOOP_OK);
    for (uint32_t r = 0; r < rank->size; r++) {
        for (size_t i = 0; i < test->count; i++) {
            const size_t to =
                moved(test, i, length, length * rank->size, r * length);

            RANK_CHECK(memcmp(test->result + to * element_size,
                              test->inputs[r] + i * element_size,
                              element_size) == 0);
        }
    }
    RANK_CHECK(test->result[test->count * rank->size * element_size] == GUARD);
    return 0;
}

static int
check_scatter(struct rank *rank, struct test_case *test, uint64_t seed)
{
    const void *inputs[RANKS_USED] = {test->inputs[0], test->inputs[1],
                                      test->inputs[2], test->inputs[3]};
    const enum hoop_reduce_op ops[] = {HOOP_SUM, HOOP_MAX, HOOP_AVG};
    const struct reference reference = {.dtype = test->dtype,
                                        .op = ops[seed % COUNT_OF(ops)],
                                        .inputs = inputs,
                                        .n_inputs = rank->size};
    const size_t element_size = hoop_dtype_size(test->dtype);
    const size_t length = test->shape.dims[test->at];
    const size_t part = length / rank->size;
    const bool divides = length % rank->size == 0;
    hoop_op_t *op = NULL;

    memset(test->result, GUARD, sizeof(test->result));
    RANK_CHECK(
        finish(hoop_reduce_scatter_dim_start(
                   inputs[rank->rank], test->result, &test->shape, test->dim,
                   test->dtype, reference.op, rank->comm, &op),
               &op) == (divides ? HOOP_OK : HOOP_E_INVALID));
    const size_t n = divides ? test->count / rank->size : 0;
    for (size_t i = 0; i < n; i++) {
        const size_t from = moved(test, i, part, length, rank->rank * part);

        RANK_CHECK(reference_allows(&reference, from,
                                    test->result + i * element_size));
    }
    RANK_CHECK(test->result[n * element_size] == GUARD);
    return 0;
}

static int
body(struct rank *rank)
{
    struct test_case *test = malloc(sizeof(*test));
    int line = 0;

    RANK_CHECK(test);
    for (uint64_t seed = 1; seed <= N_CASES && line == 0; seed++) {
        case_draw(test, seed);
        line = check_gather(rank, test, seed);
        if (line == 0)
            line = check_scatter(rank, test, seed);
    }
    free(test);
    return line;
}

static void
results_are_where_the_indices_say(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= RANKS_USED; size++)
        assert_int_equal(ranks_run_all(size, body), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_where_the_indices_say),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
