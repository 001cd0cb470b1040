/*
 * tests/integration/mappings_random_test.c - seeded calls of the mappings
 *
 * Each function with shapes of one to four dimensions, with rows that are the
 * same on all ranks and those that are not, or are none; into new memory, the
 * test's own, the tensor's or a scratch; blocking and started. Where a tensor
 * cannot be cut, all ranks must hear of it. HOOP_TEST_SEED repeats a run.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check.h"
#include "passage_draw.h"
#include "ranks.h"
#include "reference.h"

enum {
    N_CASES = 600,
    GUARD_BYTES = 64,
};

/* Where the result is put. */
enum memory {
    MEMORY_NEW,
    MEMORY_OWN,
    MEMORY_IN_PLACE,
    MEMORY_SCRATCH,
    MEMORY_KINDS,
};

struct trial {
    const struct passage_draw *draw;
    enum memory memory;
    bool is_started;
    hoop_scratch_t *scratch;
    uint8_t *bytes; /* the test's own, with a guard behind the result */
};

static bool
is_right(const struct passage_draw *draw, uint32_t rank, const uint8_t *result)
{
    const size_t element_size = draw->element_size;
    const struct reference sum = {
        .dtype = draw->dtype,
        .op = HOOP_SUM,
        .inputs = (const void *const *)draw->inputs,
        .n_inputs = draw->size,
    };
    struct hoop_shape shape;
    bool is_equal = passage_draw_result(draw, rank, &shape);

    for (size_t i = 0; i < passage_draw_count(&shape) && is_equal; i++) {
        const struct passage_origin from = passage_draw_origin(draw, rank, i);
        const uint8_t *given = draw->inputs[from.rank];
        const uint8_t *at = result + i * element_size;

        is_equal = from.is_sum ? reference_allows(&sum, from.index, at)
                               : memcmp(at, given + from.index * element_size,
                                        element_size) == 0;
    }
    return is_equal;
}

/* In place of the same shape only, a scratch where there are rows. */
static enum memory
memory_for(const struct passage_draw *draw,
           uint32_t rank,
           const struct hoop_shape *result,
           enum memory wanted)
{
    if (wanted == MEMORY_SCRATCH && !passage_takes_rows(draw->passage))
        return MEMORY_OWN;
    if (wanted == MEMORY_IN_PLACE &&
        !hoop_shape_equal(&draw->shapes[rank], result))
        return MEMORY_NEW;
    return wanted;
}

static void
lists_of(const struct passage_draw *draw,
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
    const struct passage_draw *draw = trial->draw;
    const bool in_scratch = trial->memory == MEMORY_SCRATCH;
    const struct hoop_rows rows = {
        .sizes = draw->has_sizes ? draw->sizes : NULL,
        .scratch = in_scratch ? trial->scratch : NULL};
    size_t input[PASSAGE_RANKS_MAX];
    size_t output[PASSAGE_RANKS_MAX];
    const struct hoop_row_splits splits = {input, output};
    const struct redistribute_call_request redistribute_call_request = {
        .tensor = tensor,
        .out = out,
        .rows = draw->has_sizes || in_scratch ? &rows : NULL,
        .splits = draw->has_splits ? &splits : NULL,
        .comm = comm,
    };

    lists_of(draw, hoop_comm_rank(comm), input, output);
    return trial->is_started
               ? passage_run_started(draw->passage, &redistribute_call_request)
               : passage_run(draw->passage, &redistribute_call_request);
}

static int
one_call(struct rank *rank, const struct trial *trial)
{
    const struct passage_draw *draw = trial->draw;
    const uint32_t self = rank->rank;
    struct hoop_tensor tensor = {.data = draw->inputs[self],
                                 .dtype = draw->dtype,
                                 .shape = draw->shapes[self]};
    struct hoop_tensor out = {.dtype = draw->dtype};
    const bool is_valid = passage_draw_result(draw, self, &out.shape);
    const size_t n_bytes = passage_draw_count(&out.shape) * draw->element_size;
    const size_t n_given =
        passage_draw_count(&tensor.shape) * draw->element_size;

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

static uint64_t
first_seed(void)
{
    const char *given = getenv("HOOP_TEST_SEED");

    return given ? strtoull(given, NULL, 0) : 20261121;
}

static int
trials(struct rank *rank, uint8_t *bytes, hoop_scratch_t *scratch)
{
    uint64_t seed = first_seed();

    for (unsigned i = 0; i < N_CASES; i++) {
        const uint64_t own = reference_random(&seed);
        struct passage_draw draw;
        struct hoop_shape result;

        passage_draw_init(&draw, rank->size, own);
        (void)passage_draw_result(&draw, rank->rank, &result);
        const struct trial trial = {
            .draw = &draw,
            .memory = memory_for(&draw, rank->rank, &result,
                                 (enum memory)(own % MEMORY_KINDS)),
            .is_started = own / 8 % 2 && passage_has_start(draw.passage),
            .scratch = scratch,
            .bytes = bytes + own / 16 % 2, /* also at odd addresses */
        };
        const int failure = one_call(rank, &trial);
        if (failure)
            fprintf(stderr,
                    "HOOP_TEST_SEED=%" PRIu64 ", call %u of %u ranks: %s "
                    "(%s, memory %d): %s\n",
                    first_seed(), i, rank->size, draw.passage->name,
                    hoop_dtype_name(draw.dtype), trial.memory,
                    hoop_error_text());
        passage_draw_deinit(&draw);
        if (failure)
            return failure;
    }
    return 0;
}

static int
body(struct rank *rank)
{
    CLEANUP(free) uint8_t *bytes = malloc((size_t)1 << 20);
    hoop_scratch_t *scratch = NULL;

    RANK_CHECK(bytes);
    RANK_CHECK(hoop_scratch_create(&scratch) == HOOP_OK);
    const int failure = trials(rank, bytes, scratch);
    hoop_scratch_free(scratch);
    return failure;
}

static void
each_call_gives_what_the_definition_says(void **state)
{
    (void)state;
    for (uint32_t size = 1; size <= PASSAGE_RANKS_MAX; size++)
        assert_int_equal(ranks_run_all(size, body), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_call_gives_what_the_definition_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
