/*
 * tests/integration/collectives/random_calls_test.c - random calls and plain
 * loops
 *
 * The test draws the collective, type, operator, root and count of each call,
 * whether it is in place, and whether it is even. All ranks draw the same
 * values and compute the inputs of all ranks. origin_of() says from the
 * definition where each element of the result must come from. A second test
 * also draws the algorithm, on nodes of two ranks, and checks the calls first.
 * HOOP_TEST_SEED repeats a run.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "integration/collectives/lossy_job.h"
#include "integration/reference.h"
#include "path.h"
#include "pseudo_random.h"
#include "ranks.h"
#include "session/comm.h"

enum {
    FIRST_SEED = 20260901,
#if defined(__SANITIZE_THREAD__)
    N_CASES = 75,
#elif defined(__SANITIZE_ADDRESS__)
    N_CASES = 200,
#else
    N_CASES = 500,
#endif
    GUARD_BYTES = 64,
};

static struct path path;

/* Says where an element of a result comes from: one rank, or the reduction of
 * the first n_ranks ranks. If n_ranks is 0, the element does not change. */
struct origin {
    uint32_t n_ranks;
    bool is_reduced;
    uint32_t rank;
    size_t index;
};

/* Element i of the concatenated blocks of all ranks, which have these
 * counts. */
static struct origin
of_blocks(const size_t *counts, uint32_t n, size_t i)
{
    for (uint32_t s = 0; s < n; s++) {
        if (i < counts[s])
            return (struct origin){1, false, s, i};
        i -= counts[s];
    }
    return (struct origin){0};
}

static struct origin
of_pairs(const struct draw *draw, uint32_t rank, size_t i)
{
    size_t coming[DRAW_RANKS_MAX];

    for (uint32_t s = 0; s < draw->size; s++)
        coming[s] = draw->pairs[s][rank];
    struct origin origin = of_blocks(coming, draw->size, i);
    if (origin.n_ranks > 0)
        origin.index += draw_sum(draw->pairs[origin.rank], rank);
    return origin;
}

static struct origin
reduced(uint32_t n_ranks, size_t index, size_t n)
{
    return (struct origin){index < n ? n_ranks : 0, true, 0, index};
}

/* This follows the definitions in hoop/coll.h. */
static struct origin
origin_of(const struct draw *draw, uint32_t rank, size_t i)
{
    const struct origin nowhere = {0};
    const size_t first = draw_sum(draw->counts, rank);
    const bool is_mine = i < draw->counts[rank];

    switch (draw->kind) {
    case DRAW_REDUCE:
        return rank == draw->root ? reduced(draw->size, i, draw->count)
                                  : nowhere;
    case DRAW_ALLREDUCE:
        return reduced(draw->size, i, draw->count);
    case DRAW_SCAN:
        return reduced(rank + 1, i, draw->count);
    case DRAW_EXSCAN:
        return reduced(rank, i, draw->count);
    case DRAW_BROADCAST:
        return (struct origin){i < draw->count, false, draw->root, i};
    case DRAW_GATHER:
        if (rank != draw->root)
            return nowhere;
        return of_blocks(draw->counts, draw->size, i);
    case DRAW_ALLGATHER:
        return of_blocks(draw->counts, draw->size, i);
    case DRAW_SCATTER:
        if (draw->is_in_place && rank == draw->root)
            return nowhere;
        return (struct origin){is_mine, false, draw->root, first + i};
    case DRAW_REDUCE_SCATTER:
        return is_mine ? reduced(draw->size, first + i, SIZE_MAX) : nowhere;
    case DRAW_ALLTOALL:
        return of_pairs(draw, rank, i);
    case DRAW_KINDS:
        break;
    }
    return nowhere;
}

/* Returns where a rank's own input lies in place, in elements. */
static size_t
place_of(const struct draw *draw, uint32_t rank)
{
    if (draw->kind == DRAW_ALLGATHER ||
        (draw->kind == DRAW_GATHER && rank == draw->root))
        return draw_sum(draw->counts, rank);
    return 0;
}

/* Returns the relative loss of a float that the path allows
 * (docs/compression.md). */
static double
loss_of(const struct draw *draw)
{
    /* The step of the encoding, relative to the value. */
    static const double losses[LOSS_COUNT] = {
        [LOSS_BF16] = 0x1p-7, [LOSS_FP16] = 0x1p-10, [LOSS_INT8] = 0x1p-5};
    enum {
        LOSSY_MIN = 4096
    };
    const bool is_whole =
        draw->kind == DRAW_ALLREDUCE || draw->kind == DRAW_REDUCE;
    const bool is_blocks = draw->kind == DRAW_REDUCE_SCATTER ||
                           draw->kind == DRAW_ALLGATHER ||
                           draw->kind == DRAW_GATHER;
    const size_t n =
        is_whole ? draw->count : draw_sum(draw->counts, draw->size);

    return path.is_tuned && (is_whole || is_blocks) &&
                   draw->dtype == HOOP_FLOAT32 && n >= LOSSY_MIN
               ? losses[path.loss]
               : 0;
}

/* Compares the result with a copy of what was given, except for the loss. */
static bool
is_near(struct reference reference,
        const void *given,
        size_t index,
        const void *result)
{
    reference.op = HOOP_MAX;
    reference.inputs = &given;
    reference.n_inputs = 1;
    return reference_allows(&reference, index, result);
}

/* Compares every element, and checks that nothing else has changed. */
static bool
is_right(const struct draw *draw,
         uint32_t rank,
         const uint8_t *before,
         const uint8_t *after,
         size_t n)
{
    const size_t size = draw->element_size;
    const bool keeps_rest = draw->kind != DRAW_ALLTOALL || !draw->is_in_place;
    struct reference reference = {
        .dtype = draw->dtype,
        .op = draw->op,
        .inputs = (const void *const *)draw->inputs,
        .loss = loss_of(draw),
    };
    bool is_equal = true;

    for (size_t i = 0; i < n && is_equal; i++) {
        const struct origin from = origin_of(draw, rank, i);
        const uint8_t *given = draw->inputs[from.rank];

        reference.n_inputs = from.n_ranks;
        if (from.n_ranks == 0)
            is_equal = !keeps_rest ||
                       memcmp(after + i * size, before + i * size, size) == 0;
        else if (from.is_reduced)
            is_equal =
                reference_allows(&reference, from.index, after + i * size);
        else if (reference.loss > 0)
            is_equal = is_near(reference, given, from.index, after + i * size);
        else
            is_equal =
                memcmp(after + i * size, given + from.index * size, size) == 0;
    }
    return is_equal &&
           memcmp(before + n * size, after + n * size, GUARD_BYTES) == 0;
}

/* Returns more than the size of any buffer of the call. */
static size_t
capacity_of(const struct draw *draw, uint32_t rank)
{
    size_t n = draw->count + draw_sum(draw->counts, draw->size) +
               draw_sum(draw->pairs[rank], draw->size);

    for (uint32_t s = 0; s < draw->size; s++)
        n += draw->pairs[s][rank];
    return n;
}

static int
one_call(struct rank *rank, const struct draw *draw)
{
    const size_t size = draw->element_size;
    const size_t n = capacity_of(draw, rank->rank);
    const size_t n_bytes = n * size + GUARD_BYTES;
    CLEANUP(free) uint8_t *before = malloc(n_bytes);
    CLEANUP(free) uint8_t *after = malloc(n_bytes);
    hoop_op_t *op = NULL;

    RANK_CHECK(before && after);
    memset(before, 0xa5, n_bytes);
    if (draw->is_in_place && draw_has_input(draw, rank->rank))
        memcpy(before + place_of(draw, rank->rank) * size,
               draw->inputs[rank->rank], draw_given(draw, rank->rank) * size);
    memcpy(after, before, n_bytes);
    const void *send = draw->inputs[rank->rank];
    void *recv = after;
    const bool is_started = draw->count % 2;
    /* A call is in place if either buffer says so, or if both are the same. */
    if (draw->is_in_place)
        send = draw->count % 3 == 0 ? HOOP_IN_PLACE : after;
    if (draw->is_in_place && draw->count % 3 == 1)
        recv = HOOP_IN_PLACE;
    RANK_CHECK(draw_call(draw, send, recv, rank->comm,
                         is_started ? &op : NULL) == HOOP_OK);
    RANK_CHECK(!is_started || hoop_wait(op, HOOP_FOREVER) == HOOP_OK);
    RANK_CHECK(is_right(draw, rank->rank, before, after, n));
    RANK_CHECK(draw->kind != DRAW_ALLREDUCE ||
               lossy_job_require_alike(rank, after, draw->count * size) == 0);
    return 0;
}

/* Draws the algorithm of the next call. Returns its name. */
static const char *
choose(struct rank *rank, const struct draw *draw, uint64_t seed)
{
    const char *collective = draw_name(draw->kind);
    uint32_t n_algorithms = 0;
    char text[64];

    while (hoop_algorithm_name(collective, n_algorithms))
        n_algorithms++;
    const char *chosen = hoop_algorithm_name(
        collective, (uint32_t)draw_below(&seed, n_algorithms));
    snprintf(text, sizeof(text), "%s:%s", collective, chosen);
    if (hoop_comm_set_algorithms(rank->comm, text) == HOOP_OK)
        return chosen;
    /* A flat algorithm is refused if memory is not shared. */
    return hoop_comm_set_algorithms(rank->comm, "") == HOOP_OK ? "auto" : NULL;
}

static int
calls(struct rank *rank, bool chooses)
{
    uint64_t seed = number_from_environment("HOOP_TEST_SEED", FIRST_SEED);

    for (unsigned i = 0; i < N_CASES; i++) {
        const uint64_t own = random_next(&seed);
        const char *algorithm = "default";
        struct draw draw;

        draw_init(&draw, rank->size, own);
        if (chooses)
            algorithm = choose(rank, &draw, own ^ i);
        const int result = algorithm ? one_call(rank, &draw) : 1;
        if (result != 0)
            fprintf(stderr,
                    "HOOP_TEST_SEED=%" PRIu64 ", call %u of %u ranks: %s%s "
                    "(%s, %s, root %u, %zu elements%s) by %s\n",
                    number_from_environment("HOOP_TEST_SEED", FIRST_SEED), i,
                    rank->size, draw_name(draw.kind), draw.is_even ? "" : "v",
                    hoop_dtype_name(draw.dtype), hoop_reduce_op_name(draw.op),
                    draw.root, draw.count, draw.is_in_place ? ", in place" : "",
                    algorithm);
        draw_deinit(&draw);
        RANK_CHECK(result == 0);
    }
    return 0;
}

static int
body(struct rank *rank)
{
    return calls(rank, false);
}

static int
choosing_body(struct rank *rank)
{
    /* The tested path has already set one, and has nodes of its own. */
    if (rank->comm->tuning)
        return calls(rank, true);
    const int result = lossy_job_begin(rank, LOSS_NONE) || calls(rank, true);

    lossy_job_end(rank);
    return result;
}

static void
every_call_gives_what_plain_loops_give(void **state)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 8};

    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        assert_int_equal(ranks_run_all(sizes[i], body), 0);
}

static void
every_algorithm_gives_the_same(void **state)
{
    static const uint32_t sizes[] = {2, 3, 4, 5, 8};

    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        assert_int_equal(ranks_run(&(struct ranks_options){
                             .size = sizes[i],
                             .body = choosing_body,
                             .is_checked = sizes[i] % 2 == 0,
                         }),
                         0);
}

/*
 * The rest of the file tests collectives along dimensions.
 *
 * It draws shapes of one to four dimensions, sizes that are 0 or cannot be
 * divided, four types, and dimensions counted from either end. All ranks
 * compute the tensors of all ranks. The indices of an element say where it must
 * come from.
 */

enum {
    DIM_N_CASES = 120,
    RANKS_USED = 4,
    ELEMENTS_MAX = 625 * RANKS_USED,
    BYTES_MAX = ELEMENTS_MAX * 8,
    GUARD = 0xd7,
};

struct test_case {
    struct hoop_shape shape; /* of a rank's own tensor */
    enum hoop_dtype dtype;
    int32_t dim; /* as given to the call */
    uint32_t at; /* the same, counted from the first */
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

/* The tensor has size length in the dimension. Returns the index of element i
 * in one that has other_length there, shifted by shift along the dimension. */
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
results_are_where_the_indices_say(struct rank *rank)
{
    struct test_case *test = malloc(sizeof(*test));
    int line = 0;

    RANK_CHECK(test);
    for (uint64_t seed = 1; seed <= DIM_N_CASES && line == 0; seed++) {
        case_draw(test, seed);
        line = check_gather(rank, test, seed);
        if (line == 0)
            line = check_scatter(rank, test, seed);
    }
    free(test);
    return line;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_call_gives_what_plain_loops_give),
        cmocka_unit_test(every_algorithm_gives_the_same),
        RANKS_TEST(results_are_where_the_indices_say, 1, RANKS_USED),
    };

    path_read(&path);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
